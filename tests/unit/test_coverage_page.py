"""docs/coverage.md: what is typed gives what is printed; its tables are the code's."""

import re

import pytest

from node.cli.coverage import coverage
from node.coverage.reports import KINDS
from node.testing import Devnet
from node.testing.plugin import pytest_addoption
from tests.console_blocks import blocks, is_what_came
from tests.doc_runner import ROOT, commands, files, page, save, type_in

PAGE = page("coverage.md")


@pytest.mark.slow
def test_the_page_as_somebody_follows_it(tmp_path):
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    for name, code in files(PAGE).items():
        save(tmp_path, name, code)
    with Devnet() as chain:
        chain.deploy(tmp_path / "actors" / "vault.py")
        chain.export_bundle(tmp_path / "chain.bundle")
    typed = [one for one in commands(PAGE) if not one[0].startswith("pip ")]
    for command, answer in typed:
        done = type_in(command, tmp_path)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        assert is_what_came(answer, done.stdout + done.stderr), (command, done)
    assert len(typed) == 7


def test_every_kind_of_report_is_described():
    row = PAGE.partition("| `--devnet-cov-report")[2].partition("\n")[0]
    assert [one for one in re.findall(r"`([\w-]+)`", row) if one in KINDS] == [*KINDS]


def test_every_option_that_is_named_exists():
    class Options(list):
        def addoption(self, name, **_told):
            self.append(name)

    class Parser:
        options = Options()

        def getgroup(self, _name):
            return self.options

    pytest_addoption(Parser())
    used = set(re.findall(r"--devnet-[a-z-]+", PAGE))
    assert {one for one in Parser.options if "-cov" in one} <= used
    assert used <= {*Parser.options}
    ours = {word for option in coverage.params for word in option.opts}
    scripts = [code for language, code in blocks(PAGE) if language == "sh"]
    lines = [
        line
        for script in scripts
        for line in script.splitlines()
        if line.startswith("cowboy-devnet coverage")
    ]
    assert len(lines) == 2
    assert set(re.findall(r"--[a-z]+", " ".join(lines))) <= ours
