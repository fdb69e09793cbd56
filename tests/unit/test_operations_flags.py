"""The table of flags in docs/operations.md is that of the command."""

import re
from pathlib import Path

import click
import pytest

from node.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
ROW = re.compile(r"^\| `(--[\w-]+)` \| `(\w+)` \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def start() -> click.Command:
    command = main.get_command(click.Context(main), "start")
    assert command is not None
    return command


def test_every_flag_of_start_is_in_the_table(start):
    flags = {option for parameter in start.params for option in parameter.opts}
    assert {flag for flag, _, _ in ROW.findall(PAGE.read_text())} == flags


def test_every_flag_has_the_variable_of_its_name(start):
    prefix = start.context_settings["auto_envvar_prefix"]
    names = {p.opts[0]: f"{prefix}_{(p.name or '').upper()}" for p in start.params}
    rows = ROW.findall(PAGE.read_text())
    assert {flag: variable for flag, variable, _ in rows} == names


def test_every_default_of_a_flag_is_the_one_in_the_table(start):
    defaults = {
        parameter.opts[0]: parameter.default
        for parameter in start.params
        if isinstance(parameter.default, str)
    }
    rows = {flag: default for flag, _, default in ROW.findall(PAGE.read_text())}
    assert {
        flag: default
        for flag, default in defaults.items()
        if f"`{default}`" not in rows[flag]
    } == {}
