"""Helpers agree with plain Python and charge first."""

import pytest

from pvm import Halt, Meter, costs, language
from pvm.driver import execution_pool
from pvm.runtime.arithmetic import add, floordiv, in_place, mul, power, sub
from pvm.runtime.builtins import PRICED
from pvm.runtime.comparison import equal
from pvm.runtime.containers import contains, pre, slice_, snapshot, star
from pvm.runtime.dict_keys import new_key
from pvm.runtime.exceptions import caught, is_stripped, said
from pvm.runtime.helpers import HELPERS, NATIVES
from pvm.runtime.methods.lookup import TABLES
from pvm.runtime.ordered_set import FrozenOrderedSet, OrderedSet
from pvm.runtime.strings import format_field, to_repr, to_str


@pytest.fixture
def vm():
    vm = execution_pool.new()
    vm.begin(Meter(10_000_000, 1_000), None, None, "main")
    return vm


def spent(vm):
    return vm.meter.cycles_used


def test_no_helper_hides_a_name_of_the_actor():
    """Inserted names begin with one underscore; the universe's do not."""
    assert all(name.startswith("_") for name in [*HELPERS, *NATIVES])
    assert not any(name.startswith("_") for name in PRICED)
    assert not HELPERS.keys() & NATIVES.keys()


def test_the_method_tables_are_those_of_the_language():
    """sandbox.md §3, methods."""
    names = {int: "int", str: "str", bytes: "bytes", list: "list", dict: "dict",
             tuple: "tuple", OrderedSet: "set"}  # fmt: skip
    class_methods = {"from_bytes", "fromhex", "fromkeys"}
    for kind, name in names.items():
        assert TABLES[kind].keys() == language.METHODS[name] - class_methods
    assert TABLES[FrozenOrderedSet].keys() < TABLES[OrderedSet].keys()


@pytest.mark.parametrize("name", ["_getattr", "_hasattr"])
def test_the_lookup_by_name_knows_what_is_the_interpreters(vm, name):
    """The policy refuses these names; whatever comes past it does not get them."""

    def function():
        return 1

    for never in ["__globals__", "__class__", *sorted(language.NEVER_ATTRIBUTES)]:
        with pytest.raises(AttributeError) as caught_error:
            HELPERS[name](vm, function, never)
        assert never in str(caught_error.value)


@pytest.mark.parametrize(
    ("helper", "left", "right", "cost"),
    [
        (add, 1, 2, 0),
        (add, 1 << 640, 1, costs.INT_LONG + 10),
        (add, "a" * 40, "b" * 24, 0),
        (add, "a" * 40, "b" * 25, 65),
        (add, [1], [2], costs.OPERATION + 2),
        (sub, 1 << 640, 1, costs.INT_LONG + 10),
        (mul, 1 << 639, 1 << 639, 2 * costs.INT_LONG + 10 + 10 * 10 // 8 + 19),
        (mul, "ab", 50, costs.OPERATION + 100),
        (floordiv, 1 << 639, 3, 2 * costs.INT_LONG + 10 + 10 // 8 + 638 // 64),
        (power, 3, 5, 3 * 5),
    ],
)
def test_work_is_charged_beyond_the_syntax(vm, helper, left, right, cost):
    """sandbox.md §4, cycles of work."""
    before = spent(vm)
    helper(vm, left, right)
    assert spent(vm) - before == cost


def test_integers_stop_at_4096_bits(vm):
    for make in (
        lambda: add(vm, (1 << 4096) - 1, 1),
        lambda: mul(vm, 1 << 4095, 2),
        lambda: power(vm, 2, 4096),
    ):
        with pytest.raises(OverflowError):
            make()
    assert add(vm, (1 << 4096) - 2, 1) == (1 << 4096) - 1


def test_comparing_shared_structure_costs_what_walking_it_does(vm):
    """24 a container, 8 an item."""
    left, right = [1, [2]], [1, [2]]
    assert equal(vm, left, right)
    assert spent(vm) == 24 + 2 * 8 + 24 + 8
    for _ in range(64):
        left, right = [left], [right]
    with pytest.raises(ValueError, match="64 deep"):
        equal(vm, left, right)


@pytest.mark.parametrize("bad", [1 << 60, -(1 << 60), "x" * 1025, b"x" * 1025])
def test_a_key_beyond_its_limit_is_refused(vm, bad):
    """sandbox.md §5: dict or set key."""
    with pytest.raises(ValueError, match="key"):
        new_key(vm, {}, bad)
    with pytest.raises(ValueError, match="key"):
        new_key(vm, {}, (1, (bad,)))


@pytest.mark.parametrize("bad", [[], {}, 1.5, range(3), OrderedSet(), len, int])
def test_what_is_no_key_is_refused(vm, bad):
    with pytest.raises((TypeError, ValueError)):
        new_key(vm, {}, bad)


@pytest.mark.parametrize("good", [(1 << 60) - 1, "x" * 1024, True, None, (1, ("a",))])
def test_a_key_within_its_limit_is_itself(vm, good):
    assert new_key(vm, {}, good) is good


def test_a_tuple_as_key_pays_for_half_the_container(vm):
    new_key(vm, dict.fromkeys(range(100)), (1, 2))
    assert spent(vm) == 50 + 16 + 16


def test_a_snapshot_is_paid_before_it_is_made(vm):
    assert snapshot(vm, range(3)) == [0, 1, 2]
    assert star(vm, (1, 2)) == (1, 2)
    assert slice_(vm, [1, 2, 3], 1, None, None) == [2, 3]
    with pytest.raises(Halt):
        snapshot(vm, range(1 << 100))


def test_the_source_of_a_comprehension_no_longer_changes(vm):
    items = [1, 2]
    source = pre(vm, items, 10, 40)
    items.append(3)
    assert list(source) == [1, 2]
    assert spent(vm) == 20


@pytest.mark.parametrize(
    "value",
    [
        0, -5, 1 << 300, True, None, "a'b", 'a"b', "a\nb", b"\x00a", [], [1, [2]], (),
        (1,),
        {}, {"a": {"b": (1, 2)}}, [{}, ()], range(3), {1: 2}.keys(), {1: 2}.items(),
        {1: 2}.values(), [None, True, "x", b"y"],
    ],
)  # fmt: skip
def test_repr_is_pythons(vm, value):
    assert to_repr(vm, value) == repr(value)
    assert to_str(vm, value) == str(value)


def test_repr_is_ascii_and_has_no_address(vm):
    assert to_repr(vm, "é\U0001f600") == "'\\xe9\\U0001f600'"
    assert to_repr(vm, [len, int, self_like, OrderedSet([2, 1]), OrderedSet()]) == (
        "[<function>, <class int>, <function>, {2, 1}, set()]"
    )
    assert to_repr(vm, FrozenOrderedSet([1])) == "frozenset({1})"


def self_like():
    """A function to print."""


@pytest.mark.parametrize(
    ("value", "conversion", "specification"),
    [
        (5, "", "04d"),
        (1 << 200, "", ","),
        ("x", "", ">5"),
        ("x", "r", ""),
        (True, "", ""),
    ],
)
def test_a_field_is_formatted_as_python_does(vm, value, conversion, specification):
    expected = format(repr(value) if conversion == "r" else value, specification)
    assert format_field(vm, value, conversion, specification) == expected


def test_sets_keep_the_order_of_insertion(vm):
    left, right = OrderedSet([3, 1, 2]), OrderedSet([5, 1])
    assert list(HELPERS["_or"](vm, left, right)) == [3, 1, 2, 5]
    assert list(HELPERS["_and"](vm, left, right)) == [1]
    assert list(HELPERS["_xor"](vm, left, right)) == [3, 2, 5]
    assert list(sub(vm, left, right)) == [3, 2]
    alias = left
    assert in_place(vm, "or", left, right) is alias
    assert list(alias) == [3, 1, 2, 5]


def test_contains_is_pythons(vm):
    pairs = [
        (1, [1]), ("a", "abc"), ((1,), {(1,): 2}), ([1], [[1]]), (5, range(9)),
        (2, {1: 2}.values()), ((1, 2), {1: 2}.items()), (3, OrderedSet([3])),
    ]  # fmt: skip
    for item, container in pairs:
        assert contains(vm, item, container)
    with pytest.raises(TypeError, match="range"):
        contains(vm, "a", range(9))


def test_what_the_interpreter_says_is_taken_away_and_what_the_actor_says_stays(vm):
    """sandbox-internals.md §6: texts of interpreter errors."""
    for error in (ValueError("text"), TypeError("a", "b"), UnboundLocalError("x")):
        seen = caught(vm, error)
        assert seen.args == ()
        assert is_stripped(seen)
    assert type(caught(vm, UnboundLocalError("x"))) is NameError
    assert caught(vm, KeyError("k", "more")).args == ("k",)
    assert caught(vm, StopIteration(5)).value == 5
    assert caught(vm, said(vm, ValueError("mine"))).args == ("mine",)


def test_only_exceptions_can_be_raised(vm):
    for value in (5, int, "text", Halt, None):
        with pytest.raises(TypeError):
            raise said(vm, value)


def test_a_search_among_sets_runs_nothing_of_ours_for_each():
    """`None in [set()] * n` pays a cycle for each: CPython compares them itself."""
    assert OrderedSet.__eq__ is object.__eq__
    assert FrozenOrderedSet.__eq__ is object.__eq__
