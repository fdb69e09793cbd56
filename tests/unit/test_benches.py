"""Each measurement of `make bench` runs, at a tiny size, and yields its rows."""

import importlib
import sys
from pathlib import Path

import pytest

from node.chain.timers import calendar
from node.state import keys
from node.state.journal import Journal
from node.state.leveldb import LevelStore
from node.state.memory import MemoryStore

SCRIPTS = Path(__file__).parents[2] / "scripts"

# What makes each measurement small: module → names and values.
TINY = {
    "inprocess": {
        "DEVNETS": 2,
        "EMPTY_BLOCKS": 5,
        "ROUNDS": 2,
        "TRACES": 2,
        "MESSAGES": 20,
    },
    "longtime": {
        "TESTS": 3,
        "TEST_ROUNDS": 1,
        "TIMERS": 40,
        "YEAR_ROUNDS": 1,
        "ADVANCES": 1,
    },
    "rewinding": {
        "ACCOUNTS": 20,
        "TIMERS_PER_ACTOR": 4,
        "ROUNDS": 1,
        "BLOCKS": 3,
        "TRANSFERS_PER_BLOCK": (2,),
        "REPLAY_ROUNDS": 1,
    },
    "starting": {"STARTS": 1, "IMPORTS": 1, "IDLE_SECONDS": 0.1},
    "traffic": {
        "SERIAL_ROUNDS": 1,
        "SERIAL_CALLS": 3,
        "FLIGHT_ROUNDS": 1,
        "IN_FLIGHT": 3,
        "CALLS_PER_SENDER": 3,
    },
    "overhttp": {"ROUNDS": 1, "CALLS": 3},
    "auction": {"ROUNDS": 1, "FIRES_ROUNDS": 1, "FIRING_ACTORS": 2_000},
    "bidding": {
        "FIRES_ROUNDS": 1,
        "ACTORS": 20,
        "TIMERS_PER_ACTOR": 90,
        "EPOCHS": 2,
    },
    "globalbox": {
        "QUEUED": 400,
        "FEW": 20,
        "CANDIDATES": 10,
        "CROWD": 40,
        "WATCHES": 300,
        "BLOCKS": 2,
        "FIRES_ROUNDS": 1,
        "WRITING_BLOCKS": 2,
    },
    "simulation": {"BLOCKS": 10, "ROUNDS": 1},
    "load": {
        "MEASURED_SECONDS": 0.3,
        "SETTLE_SECONDS": 0.1,
        "STREAMS": 20,
        "SOAK_SAMPLE_SECONDS": 0.2,
    },
    "siege": {"SECONDS": 1.5, "IDLE_SECONDS": 0.1, "SAMPLE_SECONDS": 0.2},
    "filling": {"SETTLED_SECONDS": 0.05, "PER_ACTOR": 50},
    "atscale": {
        "TIMERS": 2_000,
        "FEW_TIMERS": 200,
        "BATCHES": 2,
        "BATCH_TIMERS": 30,
        "EMPTY_BLOCKS": 3,
        "OPENINGS": 1,
        "JUMPED_HEIGHTS": 1_000,
        "JUMPED_TIMERS": 5,
        "DRAINED_TIMERS": 2_500,
        "PUT_OFF_TIMERS": 60,
        "PUT_OFF_BLOCKS": 3,
    },
    "heights": {"TIMERS": 2_000, "BLOCKS": 300, "ROUNDS": 2, "WALKED": 500},
    "atscale_state": {"PROOFS": 5, "SNAPSHOTS": 2, "CHANGED_KEYS": 5},
    "longchain": {
        "EMPTY_BLOCKS": 60,
        "BLOCKS": 100,
        "SAMPLES": 2,
        "ROUNDS": 2,
        "SENDERS": 4,
        "TRANSFERS_PER_SENDER": 3,
        "STARTS": 1,
        "KILLS": 1,
        "RATE_ROUNDS": 1,
        "RATE_SENDERS": 4,
        "RATE_TRANSFERS": 3,
    },
}
IN_PROCESS = ("devnet", "empty", "heights", "scale", "vm")


@pytest.fixture
def bench(monkeypatch):
    """The script, with everything small."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    known = set(sys.modules)
    for name, values in TINY.items():
        module = importlib.import_module(f"benches.{name}")
        for constant, value in values.items():
            assert hasattr(module, constant), f"{name}.{constant}"
            monkeypatch.setattr(module, constant, value)
    yield importlib.import_module("bench")
    for name in set(sys.modules) - known:
        if name == "bench" or name.partition(".")[0] == "benches":
            del sys.modules[name]


def require_rows(section):
    assert section.title
    assert section.method
    assert section.rows
    for row in section.rows:
        assert row.what
        assert row.measured
        assert row.baseline, "each figure stands beside one of the same run"
        assert (row.is_reached is None) == (row.target == "")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name == "vm"))
        for name in IN_PROCESS
    ],
)
def test_a_measurement_in_this_process_yields_its_rows(bench, name):
    require_rows(bench.MEASUREMENTS[name]())


@pytest.mark.usefixtures("bench")
def test_a_filled_folder_holds_what_the_calendar_would_have_written(
    monkeypatch, tmp_path
):
    filling = importlib.import_module("benches.filling")
    monkeypatch.setattr(filling, "BATCH", 70)
    with LevelStore(tmp_path / "data") as store:
        state = filling.fill(store, filling.all_tiers(300), str, schedulers=1)
        filling.check(state)
        journal = Journal(MemoryStore().snapshot())
        for timer in calendar.timers_between(state.snapshot, 0, 2**64 - 1):
            calendar.insert(journal, timer)
            assert timer in calendar.timers_of(state.snapshot, timer.actor)
        wanted = journal.write_set().changes
        assert sum(key.startswith(keys.TIMER_PREFIX) for key in wanted) == 300
        held = {
            key: value
            for family in (keys.TIMER_PREFIX, b"ia", b"ic", b"ii")
            for key, value in state.snapshot.range(family, keys.prefix_stop(family))
        }
    assert held == wanted


@pytest.mark.slow
def test_every_measurement_yields_its_rows(bench):
    for name, measure in bench.MEASUREMENTS.items():
        if name not in IN_PROCESS:
            require_rows(measure())


@pytest.mark.slow
def test_a_soak_yields_its_rows(bench):
    require_rows(bench.load.measure_soak(minutes=0.01))


def test_a_new_report_keeps_the_soak_and_a_new_soak_all_else(
    bench, monkeypatch, tmp_path
):
    row = bench.load.Row("this", "1", "2", "", None)
    section = bench.load.Section
    monkeypatch.setattr(bench, "REPORT", tmp_path / "report")
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    bench.REPORT.write_text(bench.render(["fast"], [section("Start", "so", (row,))]))
    for method in ("long ago", "lately"):
        soak = section(bench.SOAK_TITLE, method, (row,))
        monkeypatch.setattr(bench.load, "measure_soak", lambda _, soak=soak: soak)
        bench._soak(1)
    text = bench.REPORT.read_text()
    assert text == bench.render(["fast"], [section("Start", "so", (row,)), soak])
    monkeypatch.setattr(
        bench, "MEASUREMENTS", {"start": lambda: section("Start", "now", (row,))}
    )
    monkeypatch.setattr(bench, "machine", lambda: ["fast"])
    monkeypatch.setattr(sys, "argv", ["bench.py"])
    monkeypatch.setattr(bench.signal, "signal", lambda *_: None)
    assert bench.main() == 0
    text = bench.REPORT.read_text()
    assert text == bench.render(["fast"], [section("Start", "now", (row,)), soak])
    filled = section(bench.atscale.FILLED_TITLE, "many", (row,))
    monkeypatch.setattr(bench.atscale, "measure_scale", lambda _folder: filled)
    for argv in (["--filled", "folder"], []):
        monkeypatch.setattr(sys, "argv", ["bench.py", *argv])
        assert bench.main() == 0
    kept = {soak.title: soak, filled.title: filled}
    rest = [kept[title] for title in bench.KEPT_TITLES]
    text = bench.REPORT.read_text()
    assert text == bench.render(["fast"], [section("Start", "now", (row,)), *rest])
