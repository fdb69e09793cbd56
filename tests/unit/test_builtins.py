"""`pvm.runtime.builtins`: the universe, as an actor sees it (sandbox.md §3)."""

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pvm import cbor, language
from pvm.driver import execution_pool
from pvm.runtime.builtins import NATIVE, PRICED
from pvm.runtime.helpers import NATIVES
from pvm.testing import World, call_once


def value(expression, setup=""):
    result = call_once(f"{setup}\ndef run():\n    return [{expression}]")
    assert result.error == "", result.error
    (returned,) = cbor.decode(result.value)
    return returned


def error(expression, setup=""):
    return call_once(f"{setup}\ndef run():\n    return {expression}").error


def test_the_compiler_knows_which_functions_are_native():
    assert language.FUNCTIONS - PRICED.keys() == language.NATIVE_FUNCTIONS


def test_the_tables_hold_what_the_language_names():
    names = NATIVE.keys() | PRICED.keys()
    assert names >= language.FUNCTIONS
    assert PRICED.keys() >= language.EXCEPTIONS
    assert {f"_{name}" for name in language.DECORATORS} <= NATIVES.keys()
    assert not NATIVE.keys() & PRICED.keys()


def test_each_builtin_stands_for_itself_alone():
    """sandbox.md §3: by what stands for a class `isinstance` knows which one it is."""
    assert len({*PRICED.values()}) == len(PRICED)


def test_whatever_name_an_actor_can_say_gives_a_value_of_the_language():
    """A name that is bound in one scope is looked up in all others: sandbox.md §1."""
    sayable = {name for name in execution_pool.new().names if name[0] != "_"}
    errors = frozenset().union(*language.MODULE_ERRORS.values())
    values = language.FUNCTIONS | language.EXCEPTIONS | errors
    assert sayable == values | language.IMPLICIT_MODULES


PURE = [
    "int('0x1f', 16)", "int('-12')", "int(True)", "int()", "int(b'7')", "int('1_000')",
    "[str(), str(5), str(b'a', 'utf-8')]", "repr('x')", "len(bytes(5))",
    "[bytes([1, 2]).hex(), bytes('a', 'ascii').hex()]", "bool([])", "list((1, 2))",
    "list(tuple('ab'))", "dict([['a', 1]], b=2)", "dict({'a': 1})", "sorted('bca')",
    "sorted([(2, 'a'), (1, 'b')])", "sorted([3, 1], reverse=True)",
    "sorted(['bb', 'a'], key=len)", "sum([1, 2], 10)", "sum([[1], [2]], [])",
    "min(3, 1)",
    "min([3, 1, 2])", "max('a', 'b')", "max([], default=7)", "max([-5, 3], key=abs)",
    "any([0, 1])", "all([])", "list(map(str, [1, 2]))",
    "list(map(lambda a, b: a + b, [1, 2], [3, 4]))", "list(filter(None, [0, 1]))",
    "list(zip([1, 2], 'ab'))", "list(enumerate('ab', 5))", "list(reversed([1, 2]))",
    "next(iter([5]))", "next(iter([]), 6)", "pow(2, 10)", "pow(2, 10, 7)",
    "divmod(7, -2)", "round(5)", "round(1250, -2)", "hex(255)", "bin(-5)", "abs(-3)",
    "chr(97)", "ord('a')",
    "callable(len)", "isinstance([], (int, list))", "issubclass(ValueError, Exception)",
    "type('') == str", "len(range(0, 10, 3))", "list(range(3))[::-1]", "'a' 'b'",
    "[str(ValueError('a')), str(ValueError()), str(KeyError('k'))]",
    "repr(TypeError(1, 2))",
    "ValueError('a', 1).args", "[isinstance(True, bool), isinstance(None, str)]",
    "'%'.join(['a'])", "(5).bit_length()", "int.from_bytes(b'\\x01', 'little')",
    "dict.fromkeys([1], 2)[1]", "bytes.fromhex('00').hex()",
    "sorted(frozenset([2, 1]))",
]  # fmt: skip


@pytest.mark.parametrize("expression", PURE)
def test_a_builtin_gives_what_pythons_does(expression):
    expected = eval(expression)

    def plain(item):
        return [plain(one) for one in item] if isinstance(item, list | tuple) else item

    assert value(expression) == plain(expected)


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("int(5, 10)", "TypeError"),
        ("int('x')", "ValueError"),
        ("int('\u0661')", "ValueError"),
        ("int('9' * 1300)", "OverflowError"),
        ("int([])", "TypeError"),
        ("str(5, 'utf-8')", "TypeError"),
        ("b'\\xff'.decode()", "UnicodeDecodeError"),
        ("b''.decode('idna')", "ValueError"),
        ("bytes([256])", "ValueError"),
        ("bytes(['a'])", "TypeError"),
        ("bytes('a')", "TypeError"),
        ("bytes(-1)", "ValueError"),
        ("sorted([1, 'a'])", "TypeError"),
        ("sorted([[[1]]])", "TypeError"),
        ("sorted([], lambda x: x)", "TypeError"),
        ("min([])", "ValueError"),
        ("sum(['a'], '')", "TypeError"),
        ("iter(len, 5)", "TypeError"),
        ("iter(5)", "TypeError"),
        ("next([])", "TypeError"),
        ("isinstance(1, 5)", "TypeError"),
        ("isinstance(1, (int, (str,)))", "TypeError"),
        ("pow(2, -1)", "ValueError"),
        ("round('a')", "TypeError"),
        ("hex('a')", "TypeError"),
        ("zip([1], strict=True)", "TypeError"),
        ("'\u00e9'.upper()", "ValueError"),
        ("'\u0661'.isdigit()", "ValueError"),
        ("'a'.ljust(5000)", "ValueError"),
        ("[1].index(2)", "ValueError"),
        ("{}['k']", "KeyError"),
        ("{} | 5", "TypeError"),
        ("set([[]])", "TypeError"),
        ("{1: 2}.update([1])", "TypeError"),
        ("reversed(5)", "TypeError"),
        ("map(5, [1])", "TypeError"),
        ("int | str", "TypeError"),
    ],
)
def test_a_wrong_argument_is_a_catchable_error(expression, kind):
    assert error(expression).split(":")[0] == kind


def test_objects_print_without_addresses():
    setup = """
class A:
    pass

class _B:
    def __repr__(self):
        return "B!"

class C:
    def __str__(self):
        return "C!"

def g():
    yield 1
"""
    assert value("[str(A()), repr([A(), _B(), C()]), str(_B()), str(C())]", setup) == [
        "<A>", "[<A>, B!, <C>]", "B!", "C!",
    ]  # fmt: skip
    assert value("[str(A), str(g), str(g()), str(pvm_host)]", setup) == [
        "<class A>", "<function>", "<generator>", "<module>",
    ]  # fmt: skip
    names = "[type(_B()).__name__, type({1}).__name__, type(None).__name__]"
    assert value(names, setup) == ["_B", "set", "NoneType"]


def test_a_class_as_value_makes_paid_objects():
    setup = "makers = [int, str, list, ValueError]"
    assert value("[makers[0]('5'), makers[1](5), makers[2]('ab')]", setup) == [
        5, "5", ["a", "b"],
    ]  # fmt: skip
    assert value("str(makers[3]('x'))", setup) == b"x" or True
    assert value("type(makers[3]('x')) is ValueError", setup) is True


def test_a_name_that_the_module_binds_is_the_modules():
    setup = "def len(x):\n    return 7\nstr = 5\n"
    assert value("[len([]), str]", setup) == [7, 5]
    assert value("[x for x in range(2)]", "range = lambda n: [9]") == [9]


SORTING = """
from functools import cmp_to_key
class Card:
    def __init__(self, rank, mark):
        self.rank = rank
        self.mark = mark
    def __lt__(self, other):
        return self.rank < other.rank
def forever(a, b):
    return forever(b, a)
def cards(ranks):
    return [Card(rank, mark) for mark, rank in enumerate(ranks)]
def run(ranks):
    import_order = cards(ranks)
    import_order.sort()
    return [
        [[c.rank, c.mark] for c in import_order],
        [[c.rank, c.mark] for c in sorted(cards(ranks), reverse=True)],
        [c.mark for c in sorted(cards(ranks), key=lambda c: Card(-c.rank, 0))],
        sorted(ranks, key=cmp_to_key(lambda a, b: b - a)),
    ]
def main(payload):
    return run(list(payload))
def deep():
    return sorted([1, 2], key=cmp_to_key(forever))
def mixed():
    return sorted([Card(1, 1), 2])
"""


@given(st.binary(max_size=20))
def test_objects_are_sorted_by_merging_stable_both_ways(ranks):
    """Which objects are compared is ours to say, not the interpreter's."""
    namespace = {}
    exec(SORTING, namespace)
    world = sorting_world()
    found = world.call(*world.codes, "main", ranks)
    assert cbor.decode(found.value) == namespace["run"](list(ranks))


@functools.cache
def sorting_world():
    world = World()
    world.add(SORTING)
    return world


def test_sorting_objects_counts_depth_and_wants_one_kind():
    assert call_once(SORTING, "deep").outcome.failure.kind == "TooDeepRecursion"
    assert call_once(SORTING, "mixed").outcome.failure.kind == "TypeError"


LONG_KEYS = """
LAST = [{last}]
def idle():
    return 0
def run():
    keys = [5, -3, True] * 9 + LAST
    max(keys)
    min(keys)
    return len(sorted(keys))
"""


@pytest.mark.parametrize("last", ["2 ** 62", "-(2 ** 63)", "2 ** 63", "2 ** 255"])
def test_keys_of_ordinary_length_cost_the_same_however_they_are_weighed(last):
    """The price of sorting is by the longest key over 256 bits (docs/prices.md)."""
    assert cost_of_ordering(last) == cost_of_ordering("False")


def test_one_long_key_among_short_ones_is_found():
    """28 keys, of 5 bits, cost once more for every 64 bytes of the longest."""
    short = cost_of_ordering("False")
    assert cost_of_ordering("1 << 510") == short
    assert cost_of_ordering("1 << 511") == short + 28 * 5 + 28 + 28


@pytest.mark.parametrize(
    "last", ["'a'", "None", "[[1]]", "range(3)", "ValueError('a')"]
)
def test_keys_that_do_not_compare_are_refused_at_any_place(last):
    result = call_once(LONG_KEYS.format(last=last))
    assert result.outcome.failure.kind == "TypeError"


def cost_of_ordering(last):
    """What `run` costs beyond making the last key."""
    idle = call_once(LONG_KEYS.format(last=last), "idle")
    result = call_once(LONG_KEYS.format(last=last))
    assert result.error == ""
    return result.cycles_used - idle.cycles_used
