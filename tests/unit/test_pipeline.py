"""What CPython refuses after parsing, the pipeline refuses without compiling it twice.

The policy sees some of it, the last step the rest: names are declared, bound and spread
in what is instrumented as they are in the source.
"""

from unittest import mock

import pytest

from pvm import CompileError, compile_actor
from pvm.testing import call_once

UNCOMPILABLE = [
    "def f(a, a): pass",
    "x = lambda a, a: 1",
    "def f(a, *, a): pass",
    "def f(a, *a): pass",
    "def f(a, **a): pass",
    "def f(x):\n    global x",
    "def f():\n    x = 1\n    global x",
    "def f():\n    len(x)\n    global x",
    "def f(x):\n    nonlocal x",
    "def f():\n    nonlocal y",
    "nonlocal x",
    "x = 1\ndef f():\n    nonlocal x",
    "def f():\n    x = 1\n    def g():\n        global x\n        nonlocal x",
    "def f():\n    x = 1\n    def g():\n        x = 2\n        nonlocal x",
    "def f():\n    x: int = 1\n    global x",
    "def f():\n    global x\n    x: int = 1",
    "def f():\n    return [x := 1 for x in [1]]",
    "def f():\n    return [y for x in (y := [1])]",
    "def f():\n    return [[x := 1 for y in [1]] for x in [1]]",
    "def f():\n    return [x for x in [(x := 1)]]",
    "def f():\n    return [y := 1 for x in [1] for y in [2]]",
    "def f():\n    return {(x := 1): 1 for x in [1]}",
    "def f():\n    return {(x := 1) for x in [1]}",
    "def f():\n    return sum(x := 1 for x in [1])",
    "class A:\n    y = [x := 1 for z in [1]]",
    "def f():\n    return (lambda: [x := 1 for x in [1]])",
    "def f(**k): pass\nf(a=1, a=2)",
    "def f():\n    return dict(a=1, a=2)",
    "def f(s):\n    return s.split(sep='', sep='')",
    "class A(a=1, a=2): pass",
    "x = 1\nfrom __future__ import annotations",
    "from __future__ import nonsense",
    "*a = [1]",
    "*a, *b = [1]",
    "(*a, [*b, *c]) = 1",
    "x = *[1]",
    "def f():\n    return *[1]",
    "for *a in [[1]]: pass",
    "for x in *[1]: pass",
    "[*a, *b] = [1]",
    "x: list = *[1]",
    "def f(x):\n    x += *[1]",
    "def f():\n    yield *[1]",
    "break",
    "continue",
    "def f():\n    break",
    "for x in []:\n    pass\nelse:\n    break",
    "while 0:\n    pass\nelse:\n    continue",
    "for x in []:\n    def f():\n        break",
    "return 1",
    "yield 1",
    "x = yield",
    "def f():\n    return [(yield) for x in [1]]",
    "class A:\n    return 1",
    "class A:\n    yield 1",
    "def f():\n    from json import *",
    "__debug__ = 1",
    "def __debug__(): pass",
    "def f(__debug__): pass",
    "x.__debug__ = 1",
    "try:\n    pass\nexcept:\n    pass\nexcept ValueError:\n    pass",
    "def f():\n    def g():\n        nonlocal x\n        x = 1\n    g()",
    "def f():\n    await x",
    "[x async for x in y]",
    "def f():\n    del x\n    global x",
    "def f():\n    def x(): pass\n    global x",
    "def f():\n    for x in []: pass\n    global x",
    (
        "def f():\n    try:\n        f()\n    except ValueError as x:\n        f()\n"
        "    global x"
    ),
    "def f():\n    (x := 1)\n    global x",
    "def f():\n    x += 1\n    global x",
    "def f():\n    self.x += 1\n    global self",
    "def f():\n    with x as y: pass\n    global y",
    "def f(a):\n    a[x] += 1\n    global x",
    "def f():\n    return {x}\n    global x",
    "def f():\n    type(x).__name__\n    global x",
    "def f():\n    _x = 1\n    global _x",
]


@pytest.mark.parametrize("source", UNCOMPILABLE)
def test_what_only_the_compiler_refuses_is_refused(source):
    with pytest.raises(SyntaxError):
        compile(source, "plain", "exec", dont_inherit=True)
    with pytest.raises(CompileError) as caught:
        compile_actor(source.encode())
    assert all(refusal.line >= 1 for refusal in caught.value.refusals)


@pytest.mark.parametrize(
    "expression",
    ["a" + " + a" * 90, "-" * 90 + "a", "a" + " - a" * 90, "a < " * 60 + "a"],
)
def test_a_module_of_operators_is_left_to_helpers_and_costs_the_same(expression):
    """It is one of those that take the compiler longest (docs/security.md)."""
    source = f"def run(a=1):\n    return [{expression}]\n"
    with mock.patch("pvm.compiler.instrument.context.INLINE_MAX", 5):
        helped = call_once(source)
    plain = call_once(source)
    assert (helped.value, helped.error) == (plain.value, plain.error)
    assert helped.cycles_used == plain.cycles_used
    assert helped.memory_used == plain.memory_used


@pytest.mark.parametrize(
    "looked_up",
    [
        "zip([1], [2]).get(k)",
        "b''.get(unbound)",
        "{k: 1}.get(k)",
        "{(k, 2): 1}.get(k)",
        "{}.get(k, 5)",
        "None.get(k)",
        "Own().get(k)",
    ],
)
def test_a_key_that_is_got_by_a_helper_is_got_alike(looked_up):
    """The attribute before the key, and CPython's own refusal where there is none."""
    source = "class Own:\n    def get(self, key):\n        return key\n"
    source = (source if "Own" in looked_up else "") + (
        f"def run():\n    k = (1, 2)\n    try:\n        return {looked_up}\n"
        "    except AttributeError as error:\n        return str(error)\n"
        "    unbound = 1\n"
    )
    with mock.patch("pvm.compiler.instrument.context.INLINE_MAX", 0):
        helped = call_once(source)
    plain = call_once(source)
    assert (helped.value, helped.error) == (plain.value, plain.error)
    assert helped.cycles_used == plain.cycles_used
    assert helped.memory_used == plain.memory_used
