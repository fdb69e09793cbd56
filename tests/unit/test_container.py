"""The files of the container agree with the command line and with their document.

What they do is tried by `make e2e`.
"""

import re
from pathlib import Path

import click
import pytest

from node.cli import main

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = (ROOT / "docker-compose.yml").read_text()
IMAGE = (ROOT / "Dockerfile").read_text()
DOCUMENT = (ROOT / "docs" / "docker.md").read_text()

LISTEN = re.compile(r"\w+_LISTEN")
SETTING = re.compile(r"^      (COWBOY_DEVNET_\w+):(?: \$\{\1:-(.+)\})?$", re.MULTILINE)
BUSINESS_OF_COMPOSE = re.compile(r"\$\{(\w+):-([^}]*)\}")


@pytest.fixture(scope="module")
def flags():
    """Variable of each flag of `start` → the flag."""
    command = main.get_command(click.Context(main), "start")
    return {f"COWBOY_DEVNET_{p.name.upper()}": p for p in command.params}


def settings():
    """Variables that the node's service is given, with their defaults."""
    node = COMPOSE.split("\n  node:\n")[1].split("\n\n")[0]
    return dict(SETTING.findall(node))


def test_every_setting_is_a_variable_of_the_node_s_service(flags):
    """But where it listens, which the image says, and its input: it has none."""
    settable = {name for name in flags if not LISTEN.fullmatch(name)}
    assert set(settings()) == settable - {"COWBOY_DEVNET_END_WITH_STDIN"}


def test_every_default_that_compose_shows_is_the_flag_s(flags):
    shown = {name: value for name, value in settings().items() if value}
    assert shown.pop("COWBOY_DEVNET_DATA_DIR") == "/data"
    assert shown == {name: flags[name].default for name in shown}


def test_what_the_image_sets_are_settings_of_the_node(flags):
    named = set(re.findall(r"\b(COWBOY_DEVNET_\w+)=", IMAGE))
    listen = {name for name in flags if LISTEN.fullmatch(name)}
    assert named == {"COWBOY_DEVNET_DATA_DIR", *listen}
    assert named <= set(flags)


def test_the_document_names_what_else_can_be_set(flags):
    used = dict(BUSINESS_OF_COMPOSE.findall(COMPOSE))
    own = {name: value for name, value in used.items() if name not in {*flags, "PWD"}}
    rows = re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", DOCUMENT, re.MULTILINE)
    assert dict(rows) == own


def test_python_in_the_image_looks_for_modules_in_no_working_folder():
    """What an actor that got out leaves in the chain's folder is never imported."""
    assert "PYTHONSAFEPATH=1" in IMAGE
    assert re.findall(r"^WORKDIR (.+)$", IMAGE, re.MULTILINE)[-1] == "/"


def test_a_node_that_ends_at_each_start_is_not_started_for_ever():
    node = COMPOSE.split("\n  node:\n")[1].split("\n\n")[0]
    assert re.findall(r"^    restart: (.+)$", node, re.MULTILINE) == ["on-failure:10"]
