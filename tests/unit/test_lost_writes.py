"""Writes into what `self.storage` gave: told at deployment (host-api.md §2, §3)."""

import ast

import pytest

from node.testing import Devnet
from pvm.compiler.analysis.lost_writes import first_lost_write, hint
from pvm.compiler.syntax.visitor import survey


@pytest.mark.parametrize(
    "statement",
    [
        'self.storage["d"]["k"] = 1',
        'self.storage["d"]["k"] += 1',
        'self.storage["d"][0]["k"] = 1',
        'del self.storage["d"]["k"]',
        'a = self.storage[k]["b"] = 2',
        'self.storage["l"].append(1)',
        'self.storage["d"]["l"].sort()',
        'self.storage["d"].update({})',
    ],
)
def test_what_is_lost(statement):
    assert first_lost_write(survey(ast.parse(f"\n{statement}"))) == 2


@pytest.mark.parametrize(
    "statement",
    [
        'self.storage["d"] = {"k": 1}',
        'self.storage["n"] += 1',
        'del self.storage["d"]',
        'd = self.storage["d"]\nd["k"] = 1',
        'x = self.storage["l"].pop()',
        'self.storage["l"].count(1)',
        'self.other["d"]["k"] = 1',
        'book["d"]["k"] = 1',
    ],
)
def test_what_is_not(statement):
    assert first_lost_write(survey(ast.parse(statement))) is None
    assert hint(None) == ""


def test_the_deployment_tells_it_and_the_history_keeps_it():
    source = """
class Actor:
    def lose(self, payload):
        self.storage["d"]["k"] = 1
"""
    with Devnet() as chain:
        actor = chain.deploy(source)
        (receipt,) = chain.receipts()
        assert receipt.is_success
        assert receipt.hint.startswith("line 4 changes a copy, which is lost")
        chain.deploy("def run(): pass")
        assert chain.receipts()[-1].hint == ""
        assert actor.timers == []
