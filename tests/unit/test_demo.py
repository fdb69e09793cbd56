"""`make demo` as a person sees it: what it prints, how it ends, what it leaves."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "demo.py"
DEADLINE_SECONDS = 60
AMOUNT = r"([\d,]+\.\d{9}) CBY"


def start(folder, *arguments):
    environment = os.environ | {
        "TMPDIR": str(folder),
        "PYTHONPATH": str(ROOT),
        "COWBOY_DEVNET_MINING": "manual",  # a person's own choice must not matter
    }
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def base_units(text):
    return int(text.replace(",", "").replace(".", ""))


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What the demo printed; it ended well, in time, and left nothing behind."""
    folder = tmp_path_factory.mktemp("demo")
    process = start(folder)
    output, errors = process.communicate(timeout=DEADLINE_SECONDS)
    assert (process.returncode, errors) == (0, "")
    assert list(folder.iterdir()) == []
    return output.replace(str(folder), "/tmp")


def test_it_says_how_long_it_took(shown):
    assert re.search(r"^Done in \d+\.\d s", shown, re.MULTILINE)


def test_each_fire_is_shown_with_height_cycles_cells_fee_and_payer(shown):
    rows = re.findall(
        rf"^ +(\d+) +([\d,]+) +([\d,]+) +{AMOUNT}  (.*)$", shown, re.MULTILINE
    )
    assert [int(row[0]) for row in rows] == [11, 21, 31, 41, 51]
    assert all(2_000 < base_units(cycles) < 3_000 for _, cycles, _, _, _ in rows)
    assert all(20 < base_units(cells) < 100 for _, _, cells, _, _ in rows)
    fees = [base_units(fee) for _, _, _, fee, _ in rows]
    assert fees == sorted(fees, reverse=True), "the basefees fall in a quiet chain"
    assert {row[4] for row in rows} == {"the actor"}
    paid = re.search(
        rf"the actor +{AMOUNT} - {AMOUNT} of fees = {AMOUNT}", shown
    ).groups()
    had, spent, left = map(base_units, paid)
    assert spent == sum(fees)
    assert left == had - spent


def test_the_timer_that_waits_is_listed(shown):
    (row,) = re.findall(
        r"^ +0x[0-9a-f]{64} +(\d+) +([\d,]+) +(.*)$", shown, re.MULTILINE
    )
    assert row == ("61", "20,000", "the actor")


def test_the_supply_equation_is_shown_and_holds(shown):
    """The sum of what is minted is kept in three places (D10)."""
    minted, balances, burned, held = (
        base_units(re.search(rf"^ +{name} +{AMOUNT}$", shown, re.MULTILINE)[1])
        for name in ("minted", "= balances", r"\+ burned", r"\+ held")
    )
    assert minted == balances + burned + held == 10_000_000 * 10**9
    assert burned > 0


def test_the_output_is_plain_and_narrow(shown):
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_takes_node_and_folder_with_it(tmp_path, number):
    process = start(tmp_path, "--blocks", "1000000")
    for line in process.stdout:
        if line.startswith("3."):
            break
    (node,) = psutil.Process(process.pid).children()
    process.send_signal(number)
    output, errors = process.communicate(timeout=DEADLINE_SECONDS)
    assert (process.returncode, errors) == (130, "")
    assert output.endswith("Interrupted; node and folder are gone.\n")
    assert not node.is_running()
    assert list(tmp_path.iterdir()) == []


def test_a_demo_without_a_fire_is_no_success(tmp_path):
    process = start(tmp_path, "--blocks", "5")
    _, errors = process.communicate(timeout=DEADLINE_SECONDS)
    assert (process.returncode, errors) == (1, "demo: no timer fired\n")
    assert list(tmp_path.iterdir()) == []
