"""The simulation of CIP-1 §16 runs, at a small size, on the real chain.

Its agents act through actors, its variants change only what they name, its books find
money that comes from nowhere; and the same scenario is the same to the byte.
"""

import importlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from tests.interpreters import others

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"
MODULES = ("agents", "answers", "books", "charts", "figures", "gathering", "scenarios")
OURS = ("simulating", "simulate_auction")


@pytest.fixture(scope="module")
def simulating():
    """The package beside the script."""
    sys.path.insert(0, str(SCRIPTS))
    modules = {name: importlib.import_module(f"simulating.{name}") for name in MODULES}
    script = importlib.import_module("simulate_auction")
    yield SimpleNamespace(**modules, script=script)
    sys.path.remove(str(SCRIPTS))
    for name in [n for n in sys.modules if n.partition(".")[0] in OURS]:
        del sys.modules[name]


@pytest.fixture
def live(simulating):
    def live(name, blocks):
        scenario = simulating.scenarios.scenarios()[name]
        return simulating.script.simulate(replace(scenario, blocks=blocks))

    return live


def test_a_scenario_is_the_same_whenever_it_runs(live):
    first, second = live("liquidations/auction", 40), live("liquidations/auction", 40)
    assert first == second
    assert sum(map(sum, first.fires.values())) > 60
    assert sum(first.waits["heartbeats"].values()) == sum(first.fires["heartbeats"])


def test_a_seed_makes_another_one(simulating, live):
    scenario = simulating.scenarios.scenarios()["steady/auction"]
    other = simulating.script.simulate(replace(scenario, blocks=20, seed=2))
    assert other.head != live("steady/auction", 20).head


def test_rules_for_comparison_hold_only_while_they_are_asked_for(live):
    before = live("whale/auction", 30)
    first_price = live("whale/first-price", 30)
    assert set(first_price.basefees[1:]) == {1}
    assert max(first_price.tipped) > 0 == max(before.tipped)
    assert live("whale/auction", 30) == before


def test_the_weight_of_a_deployer_is_that_of_all_its_actors(live):
    """Fragments of a whale are boosted as the quiet are, unless they count as one."""

    def weights(rules):
        course = live(f"fragments:100/{rules}", 100).courses["whale"]
        return course.weights[-1] / course.fires[-1]

    assert weights("auction") > weights("per-deployer") == 1_000_000


def test_the_books_find_what_does_not_add_up(simulating, devnet):
    books = simulating.books.Books(devnet.state.snapshot)
    devnet.transfer(devnet.accounts[1], 5)
    result, snapshot = devnet.last, devnet.state.snapshot
    books.check(result)
    books.recount(snapshot)
    with pytest.raises(simulating.books.SupplyError):
        books.check(result)  # what was burned is entered twice
    devnet.fund(devnet.accounts[1], 5)
    with pytest.raises(simulating.books.SupplyError):
        books.recount(devnet.state.snapshot)


def test_dice_are_those_of_splitmix64(simulating):
    """The first outputs for seed 1234567, as the published generator has them."""
    dice = simulating.agents.Dice(1234567)
    assert [dice.below(2**64) for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_inequality_and_quantiles_are_those_of_the_textbook(simulating):
    figures = simulating.figures
    assert figures.gini([3, 3, 3]) == 0
    assert figures.gini([0, 0, 0, 8]) == 0.75
    waits = Counter({0: 50, 4: 40, 9: 10})
    assert [figures.quantile(waits, p) for p in (500, 501, 900, 1_000)] == [0, 4, 4, 9]
    assert figures.mean(waits) == 2.5


def test_who_still_waits_at_the_end_has_waited_so_long_at_least(simulating):
    record = simulating.gathering.Record(
        "one", fires={"a": [2]}, waits={"a": {0: 2}}, waiting={"a": {70: 1}}
    )
    waits = simulating.figures.waits_of(record)
    assert simulating.figures.quantiles(waits) == "0 / 70 / 70 / 70"


def test_a_record_comes_back_from_its_file_as_it_was(simulating, live):
    record = live("steady/auction", 30)
    gathering = simulating.gathering
    assert gathering.read_record(gathering.write_record(record)) == record


def test_a_chart_is_a_picture_with_every_series(simulating):
    charts = simulating.charts
    series = (("a & b", [(1, 0), (10, 5)]), ("c", [(1, 2), (1_000, 3)]))
    panel = charts.Panel("title", "x", "y", series, is_x_log=True)
    root = ET.fromstring(charts.draw([panel, panel]))
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("a & b") == 2
    assert {"1", "10", "100", "1000"} <= set(texts)


@pytest.mark.slow
def test_every_scenario_is_simulated_and_every_table_and_picture_made(simulating, live):
    records = {n: live(n, 100) for n in simulating.scenarios.scenarios()}
    page = "".join(f"<!-- {n} -->\n<!-- end -->\n" for n in simulating.answers.TABLES)

    def fill_in(page):
        tables = simulating.answers.TABLES
        return simulating.script.fill_in(page, lambda name: tables[name](records))

    filled = fill_in(page)
    assert filled.count("\n| --- |") == len(simulating.answers.TABLES)
    assert fill_in(filled) == filled
    for picture in simulating.answers.PICTURES.values():
        assert ET.fromstring(picture(records)).tag.endswith("svg")


@pytest.mark.slow
def test_any_hash_seed_and_interpreter_simulate_the_same_bytes(tmp_path):
    """D40, and the promise of the page that anybody can repeat its figures."""
    names = ("liquidations/auction", "spam/first-price", "fragments:10/per-deployer")
    found = set()
    for python in map(str, [sys.executable, *others()]):
        for seed in ("0", "7"):
            folder = tmp_path / f"{Path(python).parents[1].name}-{seed}"
            command = [python, str(SCRIPTS / "simulate_auction.py"), "--blocks", "200"]
            command += ["--jobs", "1", "--results", str(folder), "--only", *names]
            environment = {**os.environ, "PYTHONHASHSEED": seed}
            subprocess.run(command, env=environment, check=True, cwd=tmp_path)
            records = sorted(folder.iterdir())
            assert len(records) == len(names)
            found.add(b"".join(path.read_bytes() for path in records))
    assert len(found) == 1
