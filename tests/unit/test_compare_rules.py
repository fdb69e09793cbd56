"""The comparison of rules runs, at a small size, on the real chain.

Every world passes under every rule set of the chain's table; what is noted of it
follows from receipts, and agrees with what its actors have less.
"""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from node.chain.timers.rules import RULE_SETS
from tests.interpreters import others

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"
PAGE = (ROOT / "docs" / "rules-compared.md").read_text()
MODULES = ("actors", "living", "measures", "noting", "tables", "worlds")
OURS = ("comparing", "simulating", "compare_rules")


@pytest.fixture(scope="module")
def comparing():
    """The package beside the script."""
    sys.path.insert(0, str(SCRIPTS))
    modules = {name: importlib.import_module(f"comparing.{name}") for name in MODULES}
    modules["books"] = importlib.import_module("simulating.books")
    yield SimpleNamespace(**modules)
    sys.path.remove(str(SCRIPTS))
    for name in [n for n in sys.modules if n.partition(".")[0] in OURS]:
        del sys.modules[name]


@pytest.fixture
def live(comparing):
    def live(name, rules, blocks, seed=1):
        return comparing.living.live(comparing.worlds.worlds(blocks)[name], rules, seed)

    return live


@pytest.mark.parametrize("rules", RULE_SETS)
def test_where_there_is_room_every_turn_is_served_in_its_block(comparing, live, rules):
    record = live("steady", rules, 30)
    measures = comparing.measures
    assert measures.fires(record) == measures.turns(record) > 100
    assert set(measures.lateness(record)) == {0}
    assert measures.jain_of_actors(record) == 1
    assert record.used < record.lane == 30 * 2_000_000
    assert record.unused_while_late == 0
    assert measures.spent(record).burned > record.used * comparing.living.BASEFEE


@pytest.mark.parametrize("rules", RULE_SETS)
def test_where_there_is_none_no_turn_is_served_twice(comparing, live, rules):
    record = live("congested", rules, 30)
    measures = comparing.measures
    waiting = sum(record.waiting["actors"].values())
    assert 200 < measures.fires(record) <= measures.turns(record) - waiting
    assert max(measures.lateness(record)) > 0
    assert record.unused_while_late <= record.lane - record.used
    for fires, turns in zip(
        record.fires["actors"], record.turns["actors"], strict=True
    ):
        assert fires <= turns


def test_agents_bid_under_rules_that_ask_them(comparing, live):
    """D57: the actor's own agent; the others never ask, and cost nothing."""
    spent = {
        rules: comparing.measures.spent(live("need", rules, 8), "urgent")
        for rules in RULE_SETS
    }
    for rules in ("fifo", "globalbox"):
        assert spent[rules].tipped == spent[rules].asked == 0
    for rules in ("auction", "bidding"):
        assert min(spent[rules].tipped, spent[rules].asked) > 0


def test_a_world_is_the_same_whenever_it_passes(comparing, live):
    first = live("spam", "auction", 6)
    assert live("spam", "auction", 6) == first
    assert live("spam", "auction", 6, seed=2).head != first.head
    noting = comparing.noting
    assert noting.read_record(noting.write_record(first)) == first


def test_idle_time_passes_in_runs_and_counts(comparing, live):
    record = live("long idle", "fifo", 20)
    assert record.blocks == 20 * comparing.worlds.IDLE_TIMES
    assert comparing.measures.fires(record) == 7 * 60


def test_money_that_fires_do_not_account_for_is_found(comparing, monkeypatch):
    living = comparing.living
    world = comparing.worlds.worlds(10)["steady"]
    monkeypatch.setattr(living, "spent", lambda *_: comparing.measures.Spent(0, 0, 0))
    with pytest.raises(comparing.books.SupplyError, match=r"actors: .* are gone"):
        living.live(world, "fifo", 1)


def test_the_poor_get_money_at_the_same_heights(comparing, live):
    record = live("poor and rich", "fifo", 12)
    assert comparing.measures.fires(record, "poor") > 0


# --- measures -------------------------------------------------------------------------


@pytest.fixture
def record(comparing):
    return comparing.noting.Record(
        "world",
        "rules",
        blocks=40,
        fires={"a": [2, 2], "b": [4, 0], "once": [1]},
        turns={"a": [3, 3], "b": [4, 0], "once": [1]},
        late={"a": {0: 3, 5: 1}, "b": {1: 4}, "once": {0: 1}},
        waiting={"a": {7: 1}, "b": {}, "once": {}},
        one_deployer=["b"],
        occasional=["once"],
    )


def test_jains_index_is_that_of_the_textbook(comparing):
    jain = comparing.measures.jain
    assert jain([3, 3, 3]) == 1
    assert jain([5, 0, 0, 0]) == 0.25
    assert jain([4, 2]) == 36 / 40


def test_one_deployers_actors_count_as_one(comparing, record):
    """Of those with standing orders: 2, 2, 4, 0 fires, and 2, 2, 4 by deployer."""
    assert comparing.measures.jain_of_actors(record) == 64 / (4 * 24)
    assert comparing.measures.jain_of_deployers(record) == 64 / (3 * 24)


def test_who_still_waits_was_never_served_and_is_late(comparing, record):
    measures = comparing.measures
    assert measures.lost(record, "a") == 1 - 4 / 6
    assert measures.lateness(record, "a") == {0: 3, 5: 1, 7: 1}
    served = measures.served_within(record, "a", 6)
    assert served[0] == (0, 3 / 6)
    assert served[6] == (6, 4 / 6)


# --- the page -------------------------------------------------------------------------


def test_the_page_has_a_table_for_each_world_and_every_picture(comparing):
    tables = set(re.findall(r"<!-- (?!end )([a-z ]+) -->", PAGE))
    wanted = set()
    for name, world in comparing.worlds.worlds().items():
        wanted |= {name} | ({f"{name} by group"} if len(world.groups) > 1 else set())
    assert tables == wanted
    for name in comparing.tables.PICTURES:
        assert f"]({name})" in PAGE
        assert ET.parse(ROOT / "docs" / name).getroot().tag.endswith("svg")


def test_every_table_of_the_page_speaks_of_all_rules():
    for table in re.findall(r"<!-- (?!end ).*?<!-- end -->", PAGE, re.DOTALL):
        rules = set(re.findall(r"^\|.*?`(\w+)` \|", table, re.MULTILINE))
        assert rules == set(RULE_SETS)


@pytest.mark.slow
def test_every_world_passes_and_every_table_and_picture_is_made(comparing, live):
    records = {}
    for world in comparing.worlds.worlds():
        for rules in RULE_SETS:
            record = live(world, rules, 40)
            records[record.name] = record
    for name in re.findall(r"<!-- (?!end )([a-z ]+) -->", PAGE):
        assert comparing.tables.table_of(records, name).count("\n") > len(RULE_SETS)
    for picture in comparing.tables.PICTURES.values():
        assert ET.fromstring(picture(records)).tag.endswith("svg")


@pytest.mark.slow
def test_any_workers_hash_seed_and_interpreter_print_the_same_tables(tmp_path):
    """D40, and the promise of the page that anybody can repeat its figures."""
    found = set()
    for python in map(str, [sys.executable, *others()]):
        for workers in ("1", "3"):
            command = [python, str(SCRIPTS / "compare_rules.py"), "--blocks", "24"]
            command += ["--workers", workers, "--only", "spam", "need"]
            environment = {**os.environ, "PYTHONHASHSEED": workers}
            done = subprocess.run(
                command,
                env=environment,
                check=True,
                cwd=tmp_path,
                capture_output=True,
                text=True,
            )
            found.add(done.stdout[done.stdout.index("\nspam\n") :])
    assert len(found) == 1
