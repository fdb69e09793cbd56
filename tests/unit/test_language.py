"""The language by examples: `tests/actors/refused.py`."""

import re
import sys
from pathlib import Path

import pytest

from pvm import CompileError, compile_actor
from pvm.testing import call_once

CHUNKS = (
    (Path(__file__).parents[1] / "actors" / "refused.py").read_text().split("\n---\n")
)
EXPECTED = re.compile(r"  ###\s*(.*)$")


@pytest.mark.parametrize("chunk", CHUNKS)
def test_a_chunk_is_refused_where_and_why_it_says(chunk):
    """Every refusal is expected at its line, and every expectation is met."""
    lines = chunk.split("\n")
    expected = {
        number: found.group(1)
        for number, line in enumerate(lines, 1)
        if (found := EXPECTED.search(line)) is not None
    }
    source = "\n".join(EXPECTED.sub("", line) for line in lines)
    try:
        compile_actor(source.encode())
    except CompileError as error:
        refusals = error.refusals
    else:
        refusals = ()
    assert {refusal.line for refusal in refusals} == set(expected)
    for refusal in refusals:
        assert expected[refusal.line] in str(refusal)


def _classes(count):
    derived = "".join(f"class C{n}(B):\n    pass\n" for n in range(count))
    return f"class B:\n    pass\n{derived}".encode()


def test_as_many_classes_derive_from_one_as_the_limit_says():
    compile_actor(_classes(32) + b"def run():\n    pass\n")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (b"x = 1\n" * 20_000, "longer than 65536 bytes"),
        (b"def f():\n    return '\xff'", "line 2, column 0: the source is not UTF-8"),
        (b"x = 1\0", "a NUL"),
        (b"x = 1\n\f\n", "line 2, column 0: the source contains a form feed"),
        (b"\xef\xbb\xbfx = 1", "a BOM"),
        (b"x = " + b"-" * 10_000 + b"1", "nested more than 100 deep"),
        (b"x = " + b"(" * 5_000 + b")" * 5_000, "nested more than 100 deep"),
        (b"x = " + b"-" * 150 + b"1", "nested more than 100 deep"),
        (b"x = " + b"1+" * 30_000 + b"1", "nested more than 100 deep"),
        (b"def f(): pass\n" * 300, "more than 256 functions"),
        (b"x = " + b"[0 for i in " * 20 + b"[]" + b"]" * 20, "more than 16 deep"),
        (b"x = " + b"9" * 1_300, "4096 bits"),
        (_classes(33), "line 67, column 0: more than 32 classes derive from B"),
    ],
)
def test_a_source_beyond_a_limit_is_refused(source, reason):
    with pytest.raises(CompileError, match=reason):
        compile_actor(source)


@pytest.mark.parametrize(
    "text",
    [
        'f"{1\n}"',
        "f\"{'''\n'''}\"",
        'fr"{\\\n1}"',
        'f"{1 \\\n}"',
        "f\"{f'''\n{1}'''}\"",
        "f'''{1!r\n}'''",
        "1 if'{'else(f\"{1\n}\")",
    ],
)
def test_a_field_over_two_lines_is_refused_where_one_parser_does(text):
    """3.12 admits these, 3.11 does not (sandbox.md §1)."""
    with pytest.raises(CompileError, match="the source does not parse"):
        compile_actor(f"x = {text}".encode())


@pytest.mark.parametrize(
    "text",
    [
        "f'''{\n1\n}'''",
        "f'''{1:>5}\n{2!r}'''",
        'f"{{}}{1}" rf"\\{1}" \'"\' f\'"{1}\'',
        "f\"{'#':>5}{1 = }{[1, 2][0:1]!s:>9}\"",
        '"\\"{" + f"{ {1: 2}[1] }" # f"{1!r }"',
        "1 if'{1!r }'else 2",
    ],
)
def test_an_f_string_that_both_parsers_read_alike_is_admitted(text):
    compile_actor(f"x = {text}".encode())


def test_a_long_list_is_no_deep_one():
    compile_actor(b"x = [" + b"0," * 30_000 + b"]")


def test_a_long_chain_of_elif_is_one_level():
    """An `elif` is one level of nesting (sandbox-internals.md §1)."""
    arms = "".join(f"    elif x == {n}:\n        return {n}\n" for n in range(200))
    head = "def f(x):\n    if x == -1:\n        return 0\n"
    compile_actor((head + arms).encode())
    with pytest.raises(CompileError, match="too many elif"):
        compile_actor((head + arms * 2).encode())


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536])
def test_a_source_of_any_size_to_the_limit_is_read(size):
    """Without handlers: it compiles, and a call finds none."""
    source = b"#" * size
    assert compile_actor(source).handlers == ()
    assert call_once(source.decode()).outcome.failure.kind == "HandlerNotFound"


def test_one_byte_more_is_refused():
    with pytest.raises(CompileError, match="longer than 65536 bytes"):
        compile_actor(b"#" * 65_537)


@pytest.mark.parametrize(
    "dead",
    [
        "if False:\n    x = 1.5",
        "def f():\n    return 1\n    x = 1.5",
        "while 0:\n    x = 1.5",
        "def f():\n    assert 1, 1.5",
        "def f():\n    raise ValueError\n    x = 1.5",
        "x = 1 if True else 1.5",
        "x = False and 1.5",
        "def never(a=1.5):\n    pass",
    ],
)
def test_what_never_runs_is_refused_too(dead):
    with pytest.raises(CompileError, match="floats do not exist"):
        compile_actor(dead.encode())


def test_ten_errors_are_ten_refusals():
    """All are reported, whatever their kinds and wherever they stand."""
    errors = [
        "import re", "a = 1.5", "b = open", "c = 1 is 2", "d = 7 / 2", "__e = 1",
        "f = [].__class__", 'g = "%d" % 1', "h = 1 @ 2", 'i = eval("1")',
    ]  # fmt: skip
    with pytest.raises(CompileError) as error:
        compile_actor("\n".join(errors).encode())
    assert [refusal.line for refusal in error.value.refusals] == [*range(1, 11)]


def test_every_refusal_is_reported_in_source_order():
    with pytest.raises(CompileError) as error:
        compile_actor(b"x = 1.5\ny = open\nz = 2.5")
    assert [refusal.line for refusal in error.value.refusals] == [1, 2, 3]
    assert error.value.line == 1


def test_the_interpreter_is_a_supported_one():
    assert sys.version_info[:2] in {(3, 11), (3, 12), (3, 13)}


NAME = "n" * 101


@pytest.mark.parametrize(
    "source",
    [
        f"{NAME} = 1",
        f"def {NAME}(): pass",
        f"class {NAME}: pass",
        f"def f({NAME}): pass",
        f"def f(*{NAME}): pass",
        f"def f(**{NAME}): pass",
        f"def f(*, {NAME}=1): pass",
        f"f = lambda {NAME}: 1",
        f"f({NAME}=1)",
        f"x.{NAME}",
        f"x.{NAME} = 1",
        f"def f(x): return getattr(x, '{NAME}', 1)",
        f"def f(x): return f'{{x.{NAME}}}'",
        f"def f():\n    global {NAME}",
        f"try:\n    pass\nexcept ValueError as {NAME}:\n    pass",
        f"import json as {NAME}",
        f"from json import {NAME}",
        f"match x:\n    case A({NAME}=1):\n        pass",
        f"match x:\n    case {{**{NAME}}}:\n        pass",
        f"x = [1 for {NAME} in y]",
    ],
)
def test_no_identifier_is_longer_than_100_characters(source):
    """What the interpreter says of a name is bounded (sandbox.md §1)."""
    with pytest.raises(CompileError, match="an identifier of more than 100 characters"):
        compile_actor(source.encode())


def test_an_identifier_of_100_characters_is_admitted():
    name = NAME[1:]
    source = f"# {NAME}\ndef {name}({name}=1): return '{NAME}'.{{0}}()".format("upper")
    assert compile_actor(source.encode()).handlers == (name,)
