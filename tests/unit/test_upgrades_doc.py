"""docs/upgrades.md: what it prints comes out, and its tables are the code's."""

import re
import shlex
from pathlib import Path

import pytest

from node.archive.upgrade_differences import DifferenceName
from node.cli.rehearsal import rehearse_upgrade
from node.testing import Devnet
from tests.console_blocks import blocks, is_what_came, sessions
from tests.unit.test_upgrade_rehearsal import KEEPER

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "upgrades.md").read_text()
ACTORS = ROOT / "genesis" / "actors"


def test_the_names_are_those_of_the_code():
    section = PAGE.split("| name | what differs |")[1].split("\n\n")[0]
    cells = re.findall(r"^\| (.+?) \|", section, re.MULTILINE)
    told = re.findall(r"`(\w+)`", " ".join(cells))
    assert told == [name.value for name in DifferenceName]


def test_the_flags_of_the_commands_exist():
    known = {word for option in rehearse_upgrade.params for word in option.opts}
    commands = [code for language, code in blocks(PAGE) if language == "sh"]
    used = re.findall(r"--[a-z-]+", " ".join(commands))
    assert used
    assert set(used) <= known


def test_the_rehearsal_that_is_printed_comes_out():
    ((_, answer),) = [
        one
        for language, code in blocks(PAGE)
        if language == "console"
        for one in sessions(code)
    ]
    with Devnet() as chain:
        keeper = chain.deploy(KEEPER, value="50 CBY")
        chain.advance(height=100)
        renamed = KEEPER.replace("def sweep(", "def clean(")
        rehearsal = chain.rehearse_upgrade(keeper, renamed)
    assert is_what_came(answer, f"{rehearsal}\n"), rehearsal


@pytest.fixture
def visitors(monkeypatch):
    monkeypatch.chdir(ACTORS)
    with Devnet() as chain:
        actor = chain.deploy(Path("visitors.py").read_text(), value="5 CBY")
        actor.call("visit")
        chain.advance(height=250)
        yield chain, actor


def test_the_examples_in_python_run(visitors, tmp_path):
    chain, actor = visitors
    (tmp_path / "v2.py").write_text(actor.source + "\n# two\n")
    examples = [code for language, code in blocks(PAGE) if language == "python"]
    upgrade, rehearse = examples
    names = {"chain": chain, "actor": actor, "Path": Path}
    here = rehearse.replace('"v2.py"', repr(str(tmp_path / "v2.py")))
    exec(compile(here, "upgrades.md", "exec"), names)
    exec(compile(upgrade, "upgrades.md", "exec"), names)


def test_the_last_command_allows_what_the_example_changes(visitors):
    chain, actor = visitors
    last = [code for language, code in blocks(PAGE) if language == "sh"][-1]
    words = shlex.split(last.replace("\\\n", ""))
    allow = [words[i + 1] for i, word in enumerate(words) if word == "--allow"]
    further = int(words[words.index("--further") + 1])
    within = int(words[words.index("--costs-within") + 1])
    rehearsal = chain.rehearse_upgrade(
        actor,
        Path("visitors_2.py"),
        over=range(240, 251),
        allow=allow,
        further=further,
        costs_within=within,
    )
    assert rehearsal.differences
    assert rehearsal.refused == (), rehearsal
