"""NodeLog: lines for whoever reads them, and no waiting for whoever does not."""

import fcntl
import json
import logging
import os
import pty
import re
import termios
import time
from contextlib import contextmanager, suppress

import pytest

from node.runtime.clock import SystemClock
from node.runtime.log import LINES_WAITING_MAX, NodeLog

DEADLINE_SECONDS = 30


@contextmanager
def pipe():
    """Two ends; the reader closes what it has read."""
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


def test_a_line_fits_the_terminal():
    """Whole fields go to the next line; a hash is cut, nothing is not said."""
    master, end = pty.openpty()
    termios.tcsetwinsize(end, (24, 80))
    log = NodeLog(SystemClock(), level="info", is_console=True, descriptor=end)
    with os.fdopen(master, "rb") as terminal:
        log.info(
            "block_committed",
            height=7,
            hash="ab" * 32,
            events=0,
            **{f"field_number_{n}": n + 1 for n in range(9)},
        )
        log.open()
        log.close()
        os.close(end)
        text = b""
        with suppress(OSError):  # as a terminal says that nobody writes any more
            while part := terminal.read1(65_536):
                text += part
    lines = re.sub("\x1b\\[[0-9;]*m", "", text.decode()).splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 80
    assert "height=7" in lines[0]
    assert "hash=abababababab…" in "".join(lines)
    assert "events" not in "".join(lines)
    assert sum(line.count("field_number_") for line in lines) == 9


def fill(end: int) -> int:
    """Write until there is no room; the bytes."""
    os.set_blocking(end, False)
    written = 0
    try:
        while True:
            written += os.write(end, b"." * 512)
    except BlockingIOError:
        os.set_blocking(end, True)
    return written


def read(end: int, wanted: int) -> bytes:
    """So many bytes."""
    data = b""
    while len(data) < wanted:
        data += os.read(end, wanted - len(data))
    return data


def read_lines(end: int, count: int) -> list[dict[str, object]]:
    """Lines until there are so many, those that were lost counted with them."""
    data = b""
    found: list[dict[str, object]] = []
    deadline = time.monotonic() + DEADLINE_SECONDS
    while count_told(found) < count:
        assert time.monotonic() < deadline
        data += os.read(end, 65_536)
        found = [json.loads(line) for line in data.split(b"\n")[:-1]]
    return found


def count_told(lines: list[dict[str, object]]) -> int:
    """What was said, as far as these lines know."""
    return sum(int(str(line.get("lines", 1))) for line in lines)


def make(descriptor: int, *, level: str = "info", is_console: bool = False) -> NodeLog:
    return NodeLog(
        SystemClock(), level=level, is_console=is_console, descriptor=descriptor
    )


def test_what_was_said_before_it_opens_comes_first_with_its_time() -> None:
    with pipe() as (reading, writing):
        log = make(writing)
        log.debug("hidden")
        log.info("first", height=1)
        log.open()
        log.open()
        log.warning("second", height=2)
        log.close()
        first, second = read_lines(reading, 2)
    assert (first["event"], first["level"], first["height"]) == ("first", "info", 1)
    assert (second["event"], second["level"]) == ("second", "warning")
    assert str(first["timestamp"]) <= str(second["timestamp"])


def test_lines_of_people_and_sentences_are_as_they_are() -> None:
    with pipe() as (reading, writing):
        log = make(writing, is_console=True)
        log.sentence("cowboy-devnet: no")
        log.error("failed", height=7)
        log.close()
        text = os.read(reading, 4_096).decode()
    assert text.startswith("cowboy-devnet: no\n")
    assert "failed" in text
    assert "height=7" in text
    assert "\x1b" not in text, "a pipe has no colours"


def test_a_reader_who_does_not_read_stops_nobody_and_learns_what_was_lost() -> None:
    """Nothing that is said waits, and close gives up.

    Whether the writer has taken the first line before the queue is full is open: so
    is whether one more line fits.
    """
    total = LINES_WAITING_MAX + 11
    with pipe() as (reading, writing):
        filled = fill(writing)
        log = make(writing)
        log.open()
        for number in range(total):
            log.info("said", number=number)
        log.close()
        read(reading, filled)
        lines = read_lines(reading, total)
    said = [line["number"] for line in lines if line["event"] == "said"]
    lost = [line["lines"] for line in lines if line["event"] == "log_lines_dropped"]
    assert said == list(range(len(said)))
    assert lost in ([10], [11])


def test_a_reader_who_has_gone_stops_nobody() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    log = make(writing)
    log.info("first")
    log.info("second")
    log.close()
    os.close(writing)


def test_a_pipe_that_another_process_made_nonblocking_gets_whole_lines() -> None:
    with pipe() as (reading, writing):
        filled = fill(writing)
        flags = fcntl.fcntl(writing, fcntl.F_GETFL)
        fcntl.fcntl(writing, fcntl.F_SETFL, flags | os.O_NONBLOCK)
        log = make(writing)
        log.open()
        log.info("said", text="x" * 10_000)
        read(reading, filled)
        log.close()
        (line,) = read_lines(reading, 1)
    assert line["text"] == "x" * 10_000


@pytest.mark.parametrize("level", ["warning", "error"])
def test_what_libraries_say_has_the_same_form(level: str) -> None:
    logger = logging.getLogger("a.library")
    with pipe() as (reading, writing):
        log = make(writing)
        handler = log.handler()
        logger.addHandler(handler)
        logger.propagate = False
        try:
            logger.info("hidden")
            getattr(logger, level)("%s failed", "this", exc_info=ValueError("why"))
        finally:
            logger.removeHandler(handler)
        log.close()
        (line,) = read_lines(reading, 1)
    assert (line["level"], line["event"]) == (level, "library_says")
    assert (line["logger"], line["text"]) == ("a.library", "this failed")
    assert "ValueError: why" in str(line["traceback"])
