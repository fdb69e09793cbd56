"""Profiles: where cycles and cells went, to the unit of the receipts.

`tests.profiled` compares whole blocks with and without a profile; here is what a
person sees of one.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from node.chain.block import ReceiptKind
from node.chain.transaction import intrinsic_cost
from node.chain.transition import build_next
from node.query.costs.profiles import ENTRY
from node.testing import Devnet, DevnetClosed, InvalidArgument, Profile
from node.testing.profiles import RunProfile
from pvm import NO_LINE
from tests.profiled import build_both, compiling
from tests.profiled import require_exact as require_parts

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = "https://www.speedscope.app/file-format-schema.json"

CALLEE = """import pvm_host


def work(payload):
    for i in range(20):
        pvm_host.set_state(b"k", b"v" * i)
    if payload == b"fail":
        raise ValueError("no")
    return b"done"
"""

CALLER = """import pvm_host


def go(payload):
    target, what = payload[:20], payload[20:]
    total = 0
    try:
        pvm_host.call_actor(target, "work", what)
    except pvm_host.RevertError:
        total = 1
    return total


def loop(payload):
    while True:
        helper()


def helper():
    return b"x" * 100


def later(payload):
    due = pvm_host.block_height() + 2
    pvm_host.schedule_timer(due, payload, gas_limit=50_000)
    pvm_host.send_message(pvm_host.self_address(), "helped", b"", cycles=9_000)


def handle_timer(payload):
    pvm_host.set_state(b"fired", payload)


def helped(payload):
    helper()
"""


@pytest.fixture
def chain():
    with Devnet() as devnet:
        devnet._build = build_both
        devnet.callee = devnet.deploy(CALLEE)
        devnet.caller = devnet.deploy(CALLER, value="5 CBY")
        devnet._build = build_next
        yield devnet


def require_exact(chain, profile):
    assert profile.executions
    sent = [t for result in chain.results for t in result.block.transactions]
    base = chain.params.timer_config.fire_base_cycles
    require_parts(profile.executions, sent, base)
    whole = profile.costs().values()
    assert profile.cycles == sum(cost.cycles for cost in whole)
    assert profile.cells == sum(cost.cells for cost in whole)


def shown(stack):
    return [place.name or "(module)" for place in stack]


# --- what is counted -----------------------------------------------------------------


def test_what_is_paid_before_the_actor_runs_is_the_intrinsic_cost(chain):
    with chain.profile() as profile:
        chain.deploy(CALLEE, salt=b"\1" * 32)
        chain.caller.call("helped")
        chain.transfer(chain.accounts[1], 5)
    sent = [chain.result_at(h).block.transactions[0] for h in (3, 4, 5)]
    for each, transaction in zip(profile.executions, sent, strict=True):
        cycles, cells = intrinsic_cost(transaction.body, transaction.body_bytes)
        cycles += compiling(transaction.instruction)
        assert each.costs[ENTRY] == (cycles, cells)
    moved = profile.executions[-1]
    assert [*moved.costs] == [ENTRY]
    require_exact(chain, profile)


def test_a_called_actor_stands_below_the_line_that_calls_it(chain):
    with chain.profile() as profile:
        chain.caller.call("go", chain.callee.address)
    require_exact(chain, profile)
    lines = profile.lines(chain.callee.address)
    assert set(lines) == {1, 4, 5, 6, 7, 9, NO_LINE}
    assert lines[6].cells >= sum(range(20))
    (execution,) = profile.executions
    (stack,) = [
        stack
        for stack in execution.costs
        if shown(stack) == ["go", "call_actor", "work", "set_state"]
    ]
    assert [place.line for place in stack] == [8, NO_LINE, 6, NO_LINE]
    assert [place.actor for place in stack] == [
        chain.caller.address, b"", chain.callee.address, b"",
    ]  # fmt: skip


def test_a_callee_that_fails_is_counted_like_any_other(chain):
    with chain.profile() as profile:
        chain.caller.call("go", chain.callee.address + b"fail")
    require_exact(chain, profile)
    assert profile.lines(chain.callee.address)[8].cycles > 0
    assert profile.lines(chain.caller.address)[10].cycles > 0


@pytest.mark.parametrize("limit", [5_300, 6_000, 50_000])
def test_what_runs_out_of_cycles_adds_up_to_its_limit(chain, limit):
    """Out of cycles uses up the whole budget (D16)."""
    with chain.profile() as profile:
        receipt = chain.caller.call(
            "loop", cycles_limit=limit, cells_limit=2_000, expect_failure=True
        )
    assert receipt.failure.kind == "OutOfCycles"
    assert profile.cycles == limit
    require_exact(chain, profile)


def test_what_cannot_even_begin_is_intrinsic_cost_alone(chain):
    with chain.profile() as profile:
        chain.caller.call("absent", expect_failure=True)
        chain.deploy("def broken(:", expect_failure=True)
    require_exact(chain, profile)
    assert [[*each.costs] for each in profile.executions] == [[ENTRY], [ENTRY]]


def test_fires_and_messages_have_their_entry_charge_and_their_lines(chain):
    with chain.profile() as profile:
        chain.caller.call("later", b"x", cycles_limit=30_000, cells_limit=3_000)
        chain.advance(until_idle=10)
    require_exact(chain, profile)
    kinds = [each.receipt.kind for each in profile.executions]
    assert kinds == [
        ReceiptKind.TRANSACTION, ReceiptKind.MAILBOX_MESSAGE, ReceiptKind.FIRE,
    ]  # fmt: skip
    base = chain.params.timer_config.fire_base_cycles
    assert [each.costs[ENTRY].cycles for each in profile.executions[1:]] == [base, base]
    assert profile.lines(chain.caller.address)[30].cells > 0


def test_recursion_through_another_actor_keeps_the_two_apart(chain):
    """An actor that is called by what it called: each execution has its own stack."""
    source = (
        "import pvm_host\n"
        "def down(payload):\n"
        "    if payload:\n"
        "        me = pvm_host.self_address()\n"
        "        pvm_host.call_actor(me, 'down', payload[1:], 50_000)\n"
    )
    actor = chain.deploy(source)
    with chain.profile() as profile:
        actor.call("down", b"123", cycles_limit=200_000, cells_limit=3_000)
    require_exact(chain, profile)
    depths = {shown(stack).count("down") for stack in profile.costs() if stack}
    assert depths == {0, 1, 2, 3, 4}


@pytest.mark.slow
def test_a_profile_changes_nothing_and_adds_up_in_all_that_the_specifications_say():
    """Every block of the CIPs' tests and of the examples, built with and without."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", "auto", "-p"),
            *("tests.profiled", "-m", "not slow", "-p", "no:cacheprovider"),
            *("tests/spec", "tests/unit/test_examples.py"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout


# --- as a chain offers it ------------------------------------------------------------


def test_without_a_profile_the_chain_is_what_it_was(chain):
    assert chain._build is build_next
    with chain.profile():
        assert chain._build != build_next
    assert chain._build is build_next
    assert sys.gettrace() is None or "coverage" in sys.modules


def test_a_profile_inside_of_another_takes_its_part_of_both(chain):
    with chain.profile() as outer:
        chain.caller.call("helped")
        with chain.profile() as inner:
            chain.caller.call("helped")
        chain.caller.call("helped")
    chain.caller.call("helped")
    assert (len(inner.executions), len(outer.executions)) == (1, 3)
    assert outer.cycles == 3 * inner.cycles


def test_estimating_limits_is_no_part_of_a_profile(chain):
    with chain.profile() as profile:
        receipt = chain.caller.call("helped")
    assert profile.cycles == receipt.cycles_used


def test_a_closed_chain_has_no_profile(chain):
    chain.close()
    with pytest.raises(DevnetClosed), chain.profile():
        pass


# --- the report and the file ---------------------------------------------------------


@pytest.fixture
def profile(chain):
    with chain.profile() as found:
        chain.caller.call("go", chain.callee.address)
        chain.caller.call("later", b"x", cycles_limit=30_000, cells_limit=3_000)
        chain.advance(until_idle=10)
    return found


def test_the_report_adds_up_and_shows_the_source(profile):
    head, *parts = str(profile).split("\n\n")
    used = f"{profile.cycles:,} cycles, {profile.cells:,} cells"
    assert head == f"4 executions: {used}"
    rows = [row.split() for row in parts[1].split("  of the actors'")[0].splitlines()]
    assert rows[-1][-5:] == ["total,", "as", "the", "receipts", "say"]
    number = [
        (int(r[0].replace(",", "")), int(r[3].replace(",", ""))) for r in rows[1:]
    ]
    *some, total = number
    assert total == (profile.cycles, profile.cells)
    assert (sum(n for n, _ in some), sum(n for _, n in some)) == total
    for part, source in zip(parts[2:], (CALLER, CALLEE), strict=True):
        title, _, *lines = part.splitlines()
        cycles = int(title.split()[2].replace(",", ""))
        assert sum(int(line[6:20].replace(",", "")) for line in lines) == cycles
        for line in lines[:-1]:
            number = int(line[:6])
            assert line.endswith(source.splitlines()[number - 1])
        assert lines[-1].endswith("(payload and answer)")


def test_the_file_is_one_of_speedscope(profile, tmp_path):
    """The rules of its schema: indexes of frames, as many weights as samples."""
    profile.save(tmp_path / "run.json")
    document = json.loads((tmp_path / "run.json").read_text())
    assert (document["$schema"], document["name"]) == (SCHEMA, "run")
    frames = document["shared"]["frames"]
    assert all(set(frame) <= {"name", "file", "line"} for frame in frames)
    assert all(type(frame["name"]) is str for frame in frames)
    assert len({json.dumps(frame) for frame in frames}) == len(frames)
    names = {"cycles": profile.cycles, "cells": profile.cells}
    assert [part["name"] for part in document["profiles"]] == [*names]
    for part in document["profiles"]:
        assert (part["type"], part["unit"], part["startValue"]) == (
            "sampled",
            "none",
            0,
        )
        assert len(part["samples"]) == len(part["weights"])
        assert sum(part["weights"]) == part["endValue"] == names[part["name"]]
        assert all(0 <= i < len(frames) for stack in part["samples"] for i in stack)


def test_a_profile_is_saved_where_a_file_can_be(profile):
    with pytest.raises(InvalidArgument, match="path: a file's name"):
        profile.save(7)


def test_an_empty_profile_is_told_and_saved(tmp_path):
    profile = Profile()
    assert str(profile).startswith("0 executions: 0 cycles, 0 cells\n")
    profile.save(tmp_path / "none.json")


# --- a run of tests ------------------------------------------------------------------

SUITE = f"""
import pytest
SOURCE = {CALLER!r}

@pytest.fixture
def caller(devnet):
    return devnet.deploy(SOURCE, value="5 CBY")

def test_one(caller):
    caller.call("helped")

@pytest.mark.devnet(chain_id=7)
def test_two(caller):
    caller.call("helped")
    assert False
"""


@pytest.fixture
def run(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(SUITE)
    plugins = ("-p", "node.testing.plugin", "-p", "no:cacheprovider")
    return lambda *arguments: pytester.runpytest_inprocess(*plugins, *arguments)


def test_a_run_of_tests_is_profiled_whole(run, pytester):
    result = run("--devnet-profile", "all.json")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["devnet profile: <profile of 4 executions: *> in all.json and as .txt"]
    )
    assert json.loads((pytester.path / "all.json").read_text())["name"] == "all"
    assert (pytester.path / "all.txt").read_text().startswith("4 executions: ")


def test_a_run_without_chains_says_that_there_is_no_profile(run, pytester):
    result = run("--devnet-profile", "all.json", "-k", "nothing")
    result.stdout.fnmatch_lines(
        ["devnet profile: no fixture `devnet` executed anything"]
    )
    assert not (pytester.path / "all.json").exists()


@pytest.mark.slow
def test_workers_of_xdist_have_one_profile_together(pytester, monkeypatch):
    """The same file and report as of one process: equal totals, nothing twice."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(SUITE)
    plugins = ("-p", "xdist", "-p", "node.testing.plugin", "-p", "no:cacheprovider")
    for arguments in (("-n", "0"), ("-n", "2")):
        file = f"all{arguments[1]}.json"
        result = pytester.runpytest_subprocess(
            *plugins, *arguments, "--devnet-profile", file
        )
        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines([f"devnet profile: <profile of 4 *> in {file}*"])
    names = sorted(path.name for path in pytester.path.glob("all*"))
    assert names == ["all0.json", "all0.txt", "all2.json", "all2.txt"]
    alone, together = (
        json.loads((pytester.path / f"all{count}.json").read_text()) for count in (0, 2)
    )
    assert together["name"] == "all2"
    for one, other in zip(alone["profiles"], together["profiles"], strict=True):
        assert one["endValue"] == other["endValue"] > 0
        assert sorted(one["weights"]) == sorted(other["weights"])
    report, merged = (
        (pytester.path / f"all{count}.txt").read_text().splitlines() for count in (0, 2)
    )
    assert sorted(report) == sorted(merged)


def test_a_worker_that_crashed_is_named(tmp_path):
    class Lines(list):
        write_line = list.append

    class Node:
        gateway = type("Gateway", (), {"id": "gw3"})

    run = RunProfile(str(tmp_path / "all.json"), type("Config", (), {}))
    run.pytest_testnodedown(Node())
    run.pytest_sessionfinish()
    lines = Lines()
    run.pytest_terminal_summary(lines)
    assert lines == [
        "devnet profile: no fixture `devnet` executed anything",
        "devnet profile: without what gw3 executed before it crashed",
    ]
