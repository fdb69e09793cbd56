"""Prices that a search for dear operands led to, by their names (docs/prices.md)."""

import pytest

from pvm import compile_actor, costs
from pvm.testing import call_once

CHAIN = "class A:\n    x = 1\n" + "".join(
    f"class {name}({above}):\n    pass\n"
    for name, above in zip("BCDE", "ABCD", strict=True)
)


def cycles(body, setup="pass", head=""):
    """What a body costs in a function beyond one with its setup alone."""
    lines = "".join(f"    {line}\n" for line in setup.split("\n"))
    more = "".join(f"    {line}\n" for line in body.split("\n"))
    full = call_once(f"{head}\ndef run():\n{lines}{more}    return None")
    setup_only = call_once(f"{head}\ndef run():\n{lines}    return None")
    assert full.error == setup_only.error == ""
    return full.cycles_used - setup_only.cycles_used


@pytest.mark.parametrize(
    ("body", "setup", "price"),
    [
        ("if x: pass", "x = 1", 1 + 1),
        ("y = not x", "x = 1", 1 + 1 + 1),
        ("y = x and x", "x = 1", 1 + 1 + 2),
        ("y = 1 if x else 2", "x = 1", 1 + 1 + 1),
        ("assert x", "x = 1", 5 + 1),
        ("y = any(x)", "x = (0, 0, 0)", 1 + 24 + 3 + 3),
        ("y = filter(None, x)", "x = [0, 0, 0]", 1 + 24 + 3 + 3),
    ],
)
def test_truth_is_asked_for_a_cycle(body, setup, price):
    assert cycles(body, setup) == price


def test_a_deletion_costs_six_more():
    assert cycles("del d[1]", "d = {1: 1}") == 1 + 3 + 6


@pytest.mark.parametrize(("lowest", "price"), [("D", 1), ("E", 2)])
def test_an_attribute_costs_one_more_for_each_four_classes_above(lowest, price):
    chain = CHAIN[: CHAIN.index("class E")] if lowest == "D" else CHAIN
    assert cycles("o.x", f"o = {lowest}()", chain) == 1 + price


@pytest.mark.parametrize(
    ("body", "setup", "price"),
    [
        ("y = isinstance(1, int)", "pass", 1 + 10),
        ("y = isinstance(1, k)", "k = int", 1 + 10 + 12),
        ("y = isinstance(1, k)", "k = (int, str)", 1 + 10 + 2 * 12),
        ("y = issubclass(k, int)", "k = int", 1 + 24 + 12),
    ],
)
def test_a_class_as_a_value_costs_twelve(body, setup, price):
    assert cycles(body, setup) == price


def test_a_round_that_starts_an_inner_loop_costs_ten_more():
    one = cycles("y = [j for i in x for j in z]", "x = (1,); z = ()")
    two = cycles("y = [j for i in x for j in z]", "x = (1, 2); z = ()")
    assert two - one == 2 + 10


def test_what_is_spread_costs_twenty_more():
    assert cycles("y = [*x]", "x = ()") == 1 + 4 + 1 + 20


@pytest.mark.parametrize(
    ("value", "price"),
    [("[]", 16), ("set()", 2 * 16), ("frozenset()", 2 * 16), ("{}.keys()", 2 * 16)],
)
def test_a_set_or_view_that_is_printed_costs_two_containers(value, price):
    assert cycles("y = repr(x)", f"x = {value}") == 1 + 24 + price


def test_a_bool_in_a_field_is_no_int():
    plain = cycles("y = f'{x}'", "x = 1")
    assert plain == 1 + 2 + 6
    assert cycles("y = f'{x}'", "x = True") == plain + 20
    assert cycles("y = f'{x:>5}'", "x = True") == plain + 8 + 2 + 2 + 20


@pytest.mark.parametrize(
    ("body", "price"),
    [
        ("z = x == y", 2 + 20 + 24 + 8 + 24),
        ("z = x < y", 2 + 20 + 24 + 2 * 8 + 24),
    ],
)
def test_a_container_that_is_compared_costs_24(body, price):
    assert cycles(body, "x = [[]]\ny = [[]]") == 1 + price


@pytest.mark.parametrize("name", ["min", "max"])
def test_an_extreme_of_anything_but_two_ints_costs_ten_more(name):
    assert cycles(f"y = {name}(1, 2)") == 1 + 24 + 3
    # One item is copied, looked at and compared.
    assert cycles(f"y = {name}(x)", "x = [5]") == 1 + 24 + 1 + 1 + 10 + 1


def test_a_native_method_as_a_value_costs_28_more_at_each_call():
    assert cycles("f = s.upper", "s = 'a'") == 1 + 1 + 16
    assert cycles("f()\nf()", "s = 'a'\nf = s.upper") == 2 * (1 + 10 + 28)
    assert cycles("getattr(s, 'upper')()", "s = 'a'") == 1 + 10 + 10 + 16 + 28


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("zip", "x, x"),
        ("map", "len, x"),
        ("sorted", "x"),
        ("set", "x"),
        ("frozenset", "x"),
        ("dict", "x"),
        ("enumerate", "x"),
        ("bytes", "x"),
        ("list", "x"),
        ("tuple", "x"),
        ("repr", "1"),
        ("divmod", "7, 2"),
        ("str", "1"),
        ("abs", "1"),
    ],
)
def test_a_builtin_costs_as_a_value_what_it_costs_by_its_name(name, arguments):
    by_name = cycles(f"y = {name}({arguments})", "x = []")
    as_value = cycles(f"y = f({arguments})", f"x = []\nf = {name}")
    assert as_value == by_name
    shadowed = f"def other({name}):\n    return {name}"
    assert cycles(f"y = {name}({arguments})", "x = []", shadowed) == by_name


def test_a_builtin_that_is_called_for_each_item_is_paid_for_each():
    own = costs.CALL_OF_BUILTIN["zip"] - costs.CALL
    one = cycles("y = map(zip, x)", "x = [()]")
    two = cycles("y = map(zip, x)", "x = [(), ()]")
    assert (
        two - one
        == cycles("y = map(len, x)", "x = [(), ()]")
        - cycles("y = map(len, x)", "x = [()]")
        + own
    )


def test_a_builtin_as_a_value_is_one_and_the_same():
    """What stands for a class is equal to itself, wherever it comes from."""
    body = "return str([type([]) is list, f is list, isinstance([], f)])"
    called = call_once(f"def run():\n    f = list\n    {body}")
    assert called.value == b"[True, True, True]"


def test_a_yield_pays_for_four_nodes_more_at_deployment():
    one = compile_actor(b"def f():\n    yield\n").nodes
    two = compile_actor(b"def f():\n    yield\n    yield\n").nodes
    assert two - one == 2 + 4  # an expression that is a statement


def test_a_bound_method_costs_sixteen_to_make_and_twenty_eight_to_call():
    """Beyond attribute and call, of methods that have no more work to do."""
    assert cycles("f = s.strip", "s = 'a'") == 1 + 1 + 16
    assert cycles("f()", "f = 'a'.strip") == 1 + 10 + 28
    assert cycles("f(1, 2)", "f = {}.get") == 1 + 10 + 28
    assert cycles("f('b')", "f = 'a'.find") == 1 + 10 + 28
