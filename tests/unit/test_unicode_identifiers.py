"""Names are ASCII as they are written (sandbox.md §1, §6)."""

import pytest

from pvm import CompileError, compile_actor, language

LETTER = "\U0001e030"  # of Unicode 15: 3.12 knows it, 3.11 does not


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("\U0001d431 = 1", [(1, 0)]),  # x, says NFKC
        ("a = 'é'; \U0001d431 = 1\n\nb = \U0001d431 + é", [(1, 10), (3, 4), (3, 11)]),
        ("def f(x):\n    return x.\u017ftorage", [(2, 13)]),
        ("import \U0001d423son", [(1, 7)]),
        ("def f(\ufb01):\n    return 1", [(1, 6)]),
        ("x\u2163 = 1", [(1, 0)]),
        ("x = dict(\U0001d431=1)", [(1, 9)]),
        ("x = \U0001d413rue", [(1, 4)]),
        ("x\xa0= 1", [(1, 0)]),
        ("x = \u0663", [(1, 4)]),
        ("x = f'{\U0001d431}'", [(1, 7)]),
        ("x = f'{{{é}}}'", [(1, 9)]),
        ("x = f'{1!\U0001d42b}'", [(1, 9)]),
        ("x = f'''{1}\n{naïve}'''", [(2, 1)]),
        ("x = f'{f\"{ü}\"}'", [(1, 10)]),
        ("x = 1 if'a'else é", [(1, 16)]),
        ("x = Rf'{aé}' + fR'{é_1}'", [(1, 8), (1, 20)]),
        (f"x = 1\n{LETTER} = 1", [(2, 0)]),
        (f"x = f'''{{1}}\n{{{LETTER}}}'''", [(2, 1)]),
        ("def f(:\n    é = 1", [(2, 4)]),
    ],
)
def test_a_name_outside_of_ascii_is_refused_as_it_is_written(source, found):
    """On each interpreter at the same place, though a parser reads some as ASCII."""
    with pytest.raises(CompileError) as error:
        compile_actor(source.encode())
    refusals = error.value.refusals
    assert [(refusal.line, refusal.column) for refusal in refusals] == found
    assert all("is not ASCII" in refusal.reason for refusal in refusals)


@pytest.mark.parametrize(
    "source",
    [
        "x = 'é\\'é' + \"é'é\"  # é 'é",
        "x = '''é\n\"é''' \r# é\rz = rb'x'",
        "x = r'\\'é'",
        "x = f'é{ {1: \"é\"}[1] }{{é}}é'",
        'x = f\'{"}"}é{f"é{1}"}\'',
        "x = rf'\\{1}é'",
        "x = '{é}'",
        "x = 1 if'{é}'else 2",
        "x = 'é\\\né'",
    ],
)
def test_texts_and_comments_hold_anything(source):
    compile_actor(source.encode())


@pytest.mark.parametrize(
    "source",
    [
        "'" + "\\'" * 32_000 + "é",
        "f'" + "{" * 65_000 + "é",
        "f'{" + 'f"' * 32_000 + "é",
        "é" * 32_768,
        "é " * 2_000,
        "x = '''é",
    ],
    ids=["quotes", "fields", "nested", "long", "many", "open"],
)
def test_what_does_not_parse_is_refused_too(source):
    with pytest.raises(CompileError):
        compile_actor(source.encode())


def test_such_names_are_refused_before_all_else():
    """A parser would not read them alike: what else is wrong is told without them."""
    lines = ["import re", "naïve = 1.5", "größe = 7 / naïve", "def f(:", "__e = größe"]
    with pytest.raises(CompileError) as error:
        compile_actor("\n".join(lines).encode())
    found = [(one.line, one.column) for one in error.value.refusals]
    assert found == [(2, 0), (3, 0), (3, 14), (5, 6)]
    assert all("is not ASCII" in one.reason for one in error.value.refusals)


def test_of_many_the_first_are_told():
    with pytest.raises(CompileError) as error:
        compile_actor("é = 1\n".encode() * 2 * language.REFUSALS_MAX)
    lines = [one.line for one in error.value.refusals]
    assert lines == [*range(1, language.REFUSALS_MAX + 1)]


def test_columns_are_those_of_the_source():
    """Of its bytes, as of every refusal."""
    with pytest.raises(CompileError) as error:
        compile_actor("x = [größe, 1.5, \U0001d431, 2.5]".encode())
    assert [one.column for one in error.value.refusals] == [5, 19]
