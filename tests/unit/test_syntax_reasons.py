"""Why a source does not parse, as authors are told it, and chains are not."""

import ast
from pathlib import Path

import pytest
from click.testing import CliRunner

from node.cli import main
from node.client import TransactionFailed
from node.testing import Devnet
from pvm import CompileError, compile_actor, report_on, syntax_hint

REFUSED = (Path(__file__).parents[1] / "actors" / "refused.py").read_text("utf-8")
UNCLOSED = "class A:\n    def run(self):\n        return ('ü', (1\n"
WHY = "'(' was never closed"


def refusal(source):
    with pytest.raises(CompileError) as caught:
        report_on(source)
    (found,) = caught.value.refusals
    return found


def test_a_chain_says_no_more_than_that_it_does_not_parse():
    """docs/security.md: what is in a receipt is the same on every interpreter."""
    with pytest.raises(CompileError) as caught:
        compile_actor(UNCLOSED.encode())
    assert f"{caught.value}" == "line 3, column 0: the source does not parse"
    with Devnet() as chain:
        receipt = chain.deploy(UNCLOSED, expect_failure=True).receipt
        assert receipt.failure.message == f"{caught.value}"
        assert not receipt.failure.hint


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (UNCLOSED, "(1"),
        ("e = 'ü\n", "'ü"),
        ("x = 1\ny = 1 2\n", "2"),
        ("x = 1\r\ny = 1 2\r\n", "2"),
        ("def f(:\n    pass\n", ":"),
    ],
)
def test_the_place_is_told_in_bytes_with_the_parsers_words(source, text):
    found = refusal(source.encode())
    line = source.encode().splitlines()[found.line - 1]
    assert line[found.column :].startswith(text.encode())
    with pytest.raises(SyntaxError) as caught:
        ast.parse(source)
    assert found.reason == f"the source does not parse: {caught.value.msg}"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ('x = f"{1"\n', "a field of this f-string does not end"),
        ('x = 1\ny = f"{x!=1=}"\n', "versions of Python read this f-string differ"),
    ],
)  # fmt: skip
def test_what_this_interpreter_would_read_is_told_in_our_words(source, why):
    found = refusal(source.encode())
    assert found.reason.startswith("the source does not parse: ")
    assert why in found.reason
    assert found.line == source.count("\n")


def test_every_source_that_does_not_parse_gets_a_reason():
    cases = REFUSED.split("\n---\n")
    said = [case for case in cases if case.count("### does not parse")]
    assert len(said) > 8
    for source in said:
        assert refusal(source.encode()).reason.startswith("the source does not parse: ")
        assert syntax_hint(source.encode())


@pytest.mark.parametrize("source", ["x = 1\n", "x = 1.5\n", "", "x = '\0'\n"])
def test_what_parses_or_is_refused_otherwise_has_no_such_hint(source):
    assert syntax_hint(source.encode()) == ""
    assert syntax_hint(b"\xff") == ""


def test_check_tells_place_and_reason(tmp_path):
    file = tmp_path / "actor.py"
    file.write_text(UNCLOSED, encoding="utf-8")
    told = CliRunner().invoke(main, ["check", str(file)])
    assert f"actor.py:3:22: the source does not parse: {WHY}\n" in told.stdout
    told = CliRunner().invoke(main, ["check", "--format", "github", str(file)])
    assert "title=cowboy-devnet check%3A the-source-does-not-parse::" in told.stdout
    assert "line=3,endLine=3,col=22," in told.stdout


@pytest.mark.parametrize("way", ["deploy", "upgrade", "set_code"])
def test_a_failed_transaction_has_the_reason_and_the_line_that_was_sent(way, tmp_path):
    file = tmp_path / "actor.py"
    file.write_text(UNCLOSED, encoding="utf-8")
    with Devnet() as chain:
        actor = chain.deploy("class A:\n    def run(self):\n        return 1\n")
        act = chain.deploy if way == "deploy" else getattr(actor, way)
        with pytest.raises(TransactionFailed) as caught:
            act(file)
    first, place, line, hint, *_ = f"{caught.value}".splitlines()
    assert first == "CompileError: line 3, column 0: the source does not parse"
    assert str(file) in place
    assert line.strip() == "return ('ü', (1"
    assert hint == f"  hint: {WHY}"
