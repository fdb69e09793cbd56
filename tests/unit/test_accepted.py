"""All that the language admits, row by row: `tests/actors/accepted.py`.

The mirror of what is refused (`test_language.py`, `test_docs.py`). No row of the tables
and no entry of a row can be without a case: they are read from the documents, and the
kinds of syntax and the native modules from the code.
"""

import ast
import json
import re
from pathlib import Path

import pytest

from pvm import cbor, language
from pvm.modules import EXPORTS
from pvm.testing import World
from tests.vm_invariants import keeps_an_exact_budget, plain

ROOT = Path(__file__).resolve().parents[2]
CASES = (ROOT / "tests" / "actors" / "accepted.py").read_text().split("\n---\n")
HEAD = re.compile(r"^# (sandbox\.md|language\.md|pvm\.modules) \| (.+)$", re.MULTILINE)
GIVES = re.compile(r"^# gives \| (.+)$", re.MULTILINE)
CYCLES = 1_000_000

NAMED_IN_THE_VERDICT = {"dunder methods", "decorators", "f-string"}
"""Rows of sandbox.md §1 whose second column says what is admitted."""

PYTHONS = {"base64", "binascii", "hashlib", "hmac", "json", "math", "struct"}
"""Native modules that CPython has, too; the others are host-api.md's."""


def page(name):
    return (ROOT / "docs" / name).read_text()


def bare(text):
    return text.replace("`", "").replace("\\|", "|").strip()


def rows_of_sandbox():
    """Row → its entries, of each row that admits something."""
    table = page("sandbox.md").split("## 1. ")[1].split("\n\n")
    (lines,) = [part.splitlines() for part in table if part.startswith("| construct")]
    found = {}
    for line in lines[2:]:
        construct, verdict, *_ = re.split(r"(?<!\\) \| ", line.strip("| "))
        if verdict == "refused":
            continue
        entries = {bare(one) for one in re.split(r", (?!\d)", construct)}
        if construct in NAMED_IN_THE_VERDICT:
            admitted = (verdict.partition("types")[2] or verdict).split("width")[0]
            entries |= set(" ".join(re.findall("`([^`]+)`", admitted)).split())
        found[construct] = entries
    return found


def rows_of_language():
    table = page("language.md").split("## The universe")[1].split("## ")[0]
    rows = re.findall(r"^\| ([\w ]+) \| (`.+?) \| (.*)\|$", table, re.MULTILINE)
    found = {}
    for heading, names, more in rows:
        entries = set(re.findall(r"`([\w\[\]]+)`", names))
        if heading == "builtins":
            entries |= language.SPECIAL_NAMES | language.DECORATORS
        if heading == "methods of storage":
            entries |= set(re.findall(r"`([\w\[\]]+)`", more))
        found[heading] = entries
    del found["refused modules"]
    return found


ROWS = {
    "sandbox.md": rows_of_sandbox(),
    "language.md": rows_of_language(),
    "pvm.modules": {name: EXPORTS[name] for name in PYTHONS},
}


def heads():
    return [HEAD.search(case).groups() for case in CASES]


def test_every_row_has_its_case_and_every_case_its_row():
    assert sorted(heads()) == sorted(
        (table, row) for table, rows in ROWS.items() for row in rows
    )
    assert {len(ROWS["sandbox.md"]) > 20, len(ROWS["language.md"]) > 20} == {True}


def test_every_native_module_is_pythons_or_the_hosts():
    ours = {"pvm_host", "cowboy_sdk.native"}
    assert EXPORTS.keys() == PYTHONS | ours


def test_every_kind_of_syntax_that_is_admitted_is_in_a_case():
    kinds = {type(node) for case in CASES for node in ast.walk(ast.parse(case))}
    assert set(language.NODES) - kinds == set()


@pytest.mark.parametrize("case", CASES, ids=[" ".join(head)[:50] for head in heads()])
def test_what_is_admitted_runs_as_in_plain_python(case):
    """Each entry is answered by name, and what the program costs is what it needs."""
    table, row = HEAD.search(case).groups()
    world = World()
    actor = world.add(case)
    result = world.call(actor, "run", cycles=CYCLES)
    assert result.error == ""
    given = GIVES.search(case)
    wanted = plain(case) if given is None else cbor.encode(json.loads(given[1]))
    assert cbor.decode(result.value) == cbor.decode(wanted)
    answered = cbor.decode(result.value)
    assert ROWS[table][row] - answered.keys() == set()
    if table != "sandbox.md":
        assert ROWS[table][row] - mentioned(case) <= {"[]", "del", "in"}
    keeps_an_exact_budget(world, actor, lambda used: used // 2)


def mentioned(case):
    """Names that a program uses, of variables, attributes, modules and their parts."""
    names = set()
    for node in ast.walk(ast.parse(case)):
        if isinstance(node, ast.Name | ast.Attribute | ast.alias):
            names |= {getattr(node, "id", None), getattr(node, "attr", None)}
            names |= {getattr(node, "name", None)}
    return names
