"""How deep a source nests, found before parsing (sandbox-internals.md §1)."""

import ast
import random
import warnings

import pytest

from pvm import CompileError, compile_actor, language
from pvm.compiler.syntax.nesting import refuse_deep

FORMS = {
    "signs": ("-", "x", ""),
    "signs of all kinds": ("-+~ ", "x", ""),
    "signs over lines": ("(-\n", "x", ")"),
    "signs with comments": ("[- # -\n", "x", "]"),
    "not": ("not ", "x", ""),
    "powers": ("x ** ", "x", ""),
    "powers of signs": ("x**-", "x", ""),
    "lambda": ("lambda: ", "x", ""),
    "lambda in defaults": ("lambda a=", "x", ": x"),
    "lambda behind a default": ("lambda a, b=-1: ", "x", ""),
    "else": ("x if y else ", "x", ""),
    "else behind numbers": ("1if 1else ", "1", ""),
    "else behind texts": ("'a'if''else ", "1", ""),
    "else and lambda": ("x if -y else lambda: ", "x", ""),
    "brackets": ("(", "x", ")"),
    "displays": ("[{(0, x, -", "x", ")}]"),
    "calls": ("f(x, a=", "x", ")"),
    "subscripts": ("x[1:", "x", "]"),
    "signs in brackets": ("-----f(", "x", ")"),
    "not in brackets": ("not not a < (", "x", ")"),
    "lambda in brackets": ("(lambda: ", "x", ")"),
    "fields": ("f'{", "x", "}'"),
    "words": ("x ", "x", ""),
    "words in brackets": ("[{x: y x ", "x", "}]"),
    "comprehensions": ("[x for x in ", "x", "]"),
}
INSIDE = {
    "f-strings": "f'{{{}}}'",
    "raw f-strings of many lines": "Rf'''a {{{{ {{ {} !r:>5}} '''",
    "formats": "f'{{x:{{{}}}}}'",
    "behind a text in a field": "f'{{\"}}\" + {}}}'",
    "a call": "f(1, {})",
    "a lambda": "lambda a, b=c: {}",
    "a comparison": "1 - -1 < a is not b and {}",
    "what runs on": "1 + \\\n {}",
}


def is_bearable(text):
    """Whether it is refused, or no parser gives up on it."""
    try:
        refuse_deep(text)
    except CompileError:
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except MemoryError:
            return False
        except (SyntaxError, ValueError, RecursionError):
            pass
    return True


def source(form, times, around="{}"):
    before, middle, after = FORMS[form]
    expression = before * times + middle + after * times
    return f"def run():\n    return {around.format(expression)}\n"


@pytest.mark.parametrize("around", ["{}", *INSIDE.values()])
@pytest.mark.parametrize("form", FORMS)
def test_what_would_use_up_a_parser_is_refused_before_it(form, around):
    """20,000 signs are a MemoryError everywhere (sandbox-internals.md §1)."""
    assert is_bearable(source(form, 4_000, around))


def test_a_chain_of_elif_is_refused_before_a_parser():
    chain = "    if x:\n        y\n" + "    elif x:\n        y\n" * 2_000
    with pytest.raises(CompileError, match="too many elif"):
        refuse_deep(f"def run(x, y):\n{chain}")


@pytest.mark.parametrize(
    "form", ["signs", "not", "powers", "lambda", "else behind texts"]
)
def test_too_deep_a_source_is_a_refusal_wherever_it_is_compiled(form):
    """What CPython's parser says of it is no CompileError."""
    with pytest.raises(CompileError, match="nested more than 100 deep"):
        compile_actor(source(form, 4_000).encode())


def test_chains_of_elif_count_for_themselves():
    """300 levels, of which an `elif` is one (sandbox-internals.md §1)."""
    chain = "    if x:\n        y\n" + "    elif x:\n        y\n" * 90
    compile_actor(f"def run(x, y):\n{chain * 10}".encode())


@pytest.mark.parametrize(
    "text",
    [
        "x = [" + "-1, " * 500 + "]",
        "x = [" + "not 1, " * 500 + "]",
        "x = " + "-1 + " * 90 + "1",
        "x = " + "-1 * " * 90 + "1",
        "x = " + " and ".join(["not 1"] * 300),
        "x = " + " and ".join(["1 is not None"] * 300),
        "x = {" + "1 if 2 else 3: 4 if 5 else 6, " * 300 + "}",
        "x = [" + "lambda a, b=1: a, " * 200 + "]",
        "x = [" + "(1 if a else -1) " + " for a in (-1, 1) if not a " + "]",
        "x = f'{1!r:->9}{2:\\'>9}'".replace("\\'", "#") + "f'{3}' '{{' f'{{{4}'",
        "x = " + "(" * 99 + "1" + ")" * 99,
        "x = 1\ny = (\n# (((\n1)\n" + 'z = "(((" # (((\n' * 200,
        "x = '''" + "(" * 200 + "'''",
        "x = rb'\\'" + "(" * 200 + "'",
        "def f(a=-1, *, b=-1, **c): pass\n" * 50,
        "x = 1 -1\n" * 500,
        "x = 0xf-1; y = 1e-5; z = 1_0 - -1\n" * 100,
    ],
)
def test_what_only_looks_deep_is_not_refused(text):
    refuse_deep(text)
    ast.parse(text)


FRAGMENTS = [
    *"-+~([{)]},:;=.xy1'\"{}\n \\#!",
    *("not ", "lambda ", "lambda:", " if ", " else ", " elif ", "**", "f'{", "}'"),
    *(
        " and ",
        " is ",
        " in ",
        " for ",
        "f(",
        "x[",
        'f"""{',
        '}"""',
        "\n    ",
        "1e",
        "->",
    ),
]


@pytest.mark.parametrize("seed", range(60))
def test_a_parser_never_gives_up_on_what_is_let_through(seed):
    """Whatever is repeated as often as a source may be long (sandbox.md §5)."""
    chosen = random.Random(seed)
    for _ in range(40):
        parts = chosen.choices(FRAGMENTS, k=chosen.randint(1, 6))
        before, after = "".join(parts), "".join(chosen.choices(FRAGMENTS, k=2))
        times = language.SOURCE_BYTES_MAX // (len(before) + len(after))
        text = "x = " + before * times + "x" + after * times
        assert is_bearable(text), (before, after)
