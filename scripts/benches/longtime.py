"""What users of the devnet wait for: tests with the fixture, years, empty heights."""

import sys
import tempfile
import time
from pathlib import Path
from subprocess import run

from benches.nodes import ROOT, running_node
from benches.report import Row, Section, interleave, median
from node.chain.block import ReceiptKind
from node.client import Client
from node.testing import Devnet

TESTS = 1_000
TEST_ROUNDS = 3
TEST_MS_MAX = 5
ACTORS = 10
TIMERS = 10_000
YEAR_MINUTES = 365 * 24 * 60
YEAR_ROUNDS = 3
YEAR_SECONDS_MAX = 4
HEIGHTS = 1_000_000
ADVANCES = 15
ADVANCE_MS_MAX = 60

_MILLI = 1_000
_LIMITS = {"cycles_limit": 19_000_000, "cells_limit": 3_000_000}

_ACTOR = """
import pvm_host

def arm(payload):
    first, step, count = [int(word) for word in payload.decode().split()]
    for i in range(count):
        pvm_host.schedule_timer(
            first + i * step, b"", gas_limit=2_000, expires_at=first + i * step + 100
        )

def handle_timer(payload):
    pass
"""


def measure_plugin() -> Section:
    """Tests that ask for a chain and do nothing, against tests that ask for nothing."""
    with tempfile.TemporaryDirectory(prefix="cowboy-bench-") as folder:
        with_chain, without = interleave(
            TEST_ROUNDS,
            lambda: _seconds_of_tests(Path(folder), "devnet"),
            lambda: _seconds_of_tests(Path(folder), ""),
        )
    milliseconds = (median(with_chain) - median(without)) / TESTS * _MILLI
    row = Row(
        "a trivial test with the fixture `devnet`, over an empty test",
        f"{milliseconds:.2f} ms",
        f"{TESTS:,} empty tests: {median(without):.2f} s; with the fixture: "
        f"{median(with_chain):.2f} s",
        f"< {TEST_MS_MAX} ms",
        milliseconds < TEST_MS_MAX,
    )
    method = (
        f"pytest over {TESTS:,} tests of `pass` in a process of its own, with the "
        f"plugin and nothing else, {TEST_ROUNDS} times each; the import and the chain "
        "of the session are in the figure."
    )
    return Section("The pytest plugin", method, (row,))


def _seconds_of_tests(folder: Path, fixture: str) -> float:
    lines = (f"def test_{i}({fixture}):\n    pass\n" for i in range(TESTS))
    tests = folder / "test_trivial.py"
    tests.write_text("\n".join(lines), encoding="utf-8")
    command = (
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        *("-p", "node.testing.plugin", "-c", "/dev/null", str(tests)),
    )
    variables = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    began = time.perf_counter()
    run(command, cwd=folder, env=variables, check=True, capture_output=True)
    return time.perf_counter() - began


def measure_year() -> Section:
    """Timers spread over a virtual year, all fired in order."""
    years, empties = interleave(YEAR_ROUNDS, _year, _empty_blocks)
    row = Row(
        f"{TIMERS:,} timers over one virtual year, all fired in order",
        f"{median(years):.2f} s (greatest {max(years):.2f})",
        f"as many empty blocks, made one by one: {median(empties):.2f} s",
        f"< {YEAR_SECONDS_MAX} s",
        median(years) < YEAR_SECONDS_MAX,
    )
    method = (
        f"A chain in memory with an interval of 60 s, so that a year is "
        f"{YEAR_MINUTES:,} heights and the TTL reaches; `Devnet.advance` over all of "
        f"them, {YEAR_ROUNDS} times. Each timer has its own height; that all fired, in "
        "that order, is checked after the clock stopped."
    )
    return Section("A virtual year", method, (row,))


def _year() -> float:
    step = YEAR_MINUTES // TIMERS
    each = TIMERS // ACTORS
    with Devnet(block_interval_ms=60_000) as chain:
        actors = [chain.deploy(_ACTOR, value="1000 CBY") for _ in range(ACTORS)]
        begin = chain.height + 2 * ACTORS * ACTORS
        for number, actor in enumerate(actors):
            # In parts, since one call's limits do not reach for all.
            for part in range(0, each, 500):
                first = begin + step * (ACTORS * part + number)
                count = min(500, each - part)
                words = f"{first} {step * ACTORS} {count}".encode()
                actor.call("arm", words, **_LIMITS)
        due = [timer.timer_id for timer in chain.timers()]
        assert len(due) == TIMERS
        began = time.perf_counter()
        chain.advance(height=begin + YEAR_MINUTES)
        spent = time.perf_counter() - began
        fires = chain.receipts(ReceiptKind.FIRE)
        assert [receipt.id for receipt in fires] == due
        assert all(receipt.is_success for receipt in fires)
        assert chain.timers() == []
    return spent


def _empty_blocks() -> float:
    with Devnet() as chain:
        began = time.perf_counter()
        for _ in range(TIMERS):
            chain.mine()
        return time.perf_counter() - began


def measure_advance() -> Section:
    """`Advance` over heights at which nothing happens, asked for by a client."""
    with running_node("--mining", "manual") as node, Client(node.address) as client:

        def advance() -> float:
            before = client.height
            began = time.perf_counter()
            client.advance(blocks=HEIGHTS)
            spent = time.perf_counter() - began
            assert client.height == before + HEIGHTS
            return spent

        def ask() -> float:
            began = time.perf_counter()
            assert client.height >= 0
            return time.perf_counter() - began

        advances, questions = interleave(ADVANCES, advance, ask)
    milliseconds = median(advances) * _MILLI
    row = Row(
        f"`Advance` of {HEIGHTS:,} empty heights over gRPC",
        f"{milliseconds:.2f} ms (greatest {max(advances) * _MILLI:.2f})",
        f"the head asked for over the same connection: "
        f"{median(questions) * _MILLI:.2f} ms",
        f"< {ADVANCE_MS_MAX} ms",
        milliseconds < ADVANCE_MS_MAX,
    )
    method = (
        f"`Client.advance` to a node in another process, on LevelDB, {ADVANCES} times: "
        "from the call to the last message of its stream."
    )
    return Section("Empty heights", method, (row,))
