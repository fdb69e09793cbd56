"""`tests/typed`, which basedpyright checks, uses the whole public API of Python."""

import ast
import re
from pathlib import Path

import pytest

import node.client
import node.testing
from node.client._sync.actor import Actor
from node.client._sync.api import Api
from node.client._sync.client import Client
from node.testing import Devnet
from pvm.testing import Result, World

FOLDER = Path(__file__).parents[1] / "typed"
SOURCE = "\n".join(path.read_text() for path in sorted(FOLDER.glob("*.py")))


def attributes() -> set[str]:
    nodes = ast.walk(ast.parse(SOURCE))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize(
    "module", [node.client, node.testing], ids=["client", "testing"]
)
def test_it_names_everything_that_is_exported(module):
    missing = [n for n in module.__all__ if not re.search(rf"\b{n}\b", SOURCE)]
    assert missing == []


@pytest.mark.parametrize("kind", [Devnet, Client, Api, Actor, World, Result])
def test_it_uses_every_public_method(kind):
    public = {name for name in dir(kind) if not name.startswith("_")}
    assert public - attributes() == set()
