"""A process beside the loop: what it leaves, and that it leaves nothing running."""

import os
import time

import pytest

from node.cli.loop.background import OUTPUT_BYTES_KEPT, BackgroundProcess

DEADLINE_SECONDS = 60


@pytest.fixture
def talking(tmp_path, monkeypatch):
    """Runs `python -m talks` with a text as its source."""
    monkeypatch.chdir(tmp_path)

    def start(source):
        (tmp_path / "talks.py").write_text(source)
        process = BackgroundProcess()
        process.start(["-m", "talks"])
        return process

    return start


def ended(process):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while (found := process.look()) is None:
        assert time.monotonic() < deadline
        os.sched_yield()
    return found


def test_what_it_left_is_told_once(talking):
    process = talking("print('a word')\nraise SystemExit(5)\n")
    found = ended(process)
    assert (found.code, found.text) == (5, "a word")
    assert process.look() is None


def test_of_a_long_output_whole_lines_of_the_end_are_kept(talking):
    found = ended(talking("for number in range(5_000): print(number)"))
    assert OUTPUT_BYTES_KEPT - 10 < len(found.text) <= OUTPUT_BYTES_KEPT
    first, *_, last = found.text.removeprefix("…").splitlines()
    assert found.text.startswith("…")
    assert int(last) == 4_999
    assert len(first) == len("4000")
