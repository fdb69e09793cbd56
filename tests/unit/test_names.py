"""Names are ASCII as they are written (sandbox.md §1, §6)."""

import pytest

from pvm import CompileError, compile_actor

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
        ("f(\U0001d431=1)", [(1, 2)]),
        ("x = \U0001d413rue", [(1, 4)]),
        ("x\xa0= 1", [(1, 0)]),
        ("x = \u0663", [(1, 4)]),
        ("x = f'{\U0001d431}'", [(1, 7)]),
        ("x = f'{{{é}}}'", [(1, 9)]),
        ("x = f'{1!\U0001d42b}'", [(1, 9)]),
        ("x = f'''{1}\n{naïve}'''", [(2, 1)]),
        ("x = f'{f\"{ü}\"}'", [(1, 10)]),
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
