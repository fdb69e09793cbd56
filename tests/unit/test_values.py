"""Values that cross the border (host-api.md §1, §3; sandbox.md §4, §5)."""

import enum
from types import MappingProxyType

import pytest

from pvm import cbor, costs
from pvm.errors import OutOfCells, OutOfCycles, OutOfMemory
from pvm.runtime.ordered_set import OrderedSet
from pvm.runtime.values import (
    MalformedCbor,
    UnencodableValue,
    encode_return,
    from_cbor,
    is_key,
    to_cbor,
    type_name,
)


class Thing:
    """Stands for an object of the actor's."""


class Number(enum.IntEnum):
    """An int to `isinstance`, not to us."""

    ONE = 1


class Text(str):
    """Likewise of str."""

    __slots__ = ()


VALUES = [
    0,
    23,
    24,
    255,
    256,
    65_535,
    65_536,
    2**32 - 1,
    2**32,
    2**64 - 1,
    2**64,
    -1,
    -24,
    -25,
    -(2**64),
    -(2**64) - 1,
    2**4096 - 1,
    1 - 2**4096,
    "",
    "a",
    "é" * 12,
    "\U00010151",
    "x" * 300,
    b"",
    b"x" * 70_000,
    True,
    False,
    None,
    [],
    [1, [2, [3]]],
    {},
    {"b": 1, "a": {"é": [b"x"]}, 5: None, -1: [True]},
    [[]] * 30,
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
def test_values_go_out_and_come_back(make_meter, value):
    encoded = to_cbor(value, make_meter())
    assert encoded == cbor.encode(value)
    assert from_cbor(encoded, make_meter()) == value


def test_a_tuple_comes_back_as_a_list(make_meter):
    assert from_cbor(to_cbor((1, (2,)), make_meter()), make_meter()) == [1, [2]]


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        {1, 2},
        frozenset(),
        bytearray(b"x"),
        object(),
        Thing(),
        Thing,
        len,
        range(3),
        {"a": 1}.items(),
        MappingProxyType({}),
        Number.ONE,
        Text("x"),
        2**4096,
        -(2**4096),
        "\ud800",
        {b"bytes": 1},
        {True: 1},
        {None: 1},
        {(1,): 1},
        {2**60: 1},
        {Number.ONE: 1},
        {"x" * 1025: 1},
        [[[Thing()]]],
        {"a": [1, {"b": 1.0}]},
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_form_is_refused(make_meter, value):
    with pytest.raises(UnencodableValue):
        to_cbor(value, make_meter())


def test_a_refusal_does_not_call_the_value(make_meter):
    class Loud:
        def __repr__(self):
            raise AssertionError("asked")

        __str__ = __len__ = __iter__ = __hash__ = __eq__ = __repr__

    with pytest.raises(UnencodableValue, match="an object has no form"):
        to_cbor([Loud()], make_meter())


def test_walk_costs_16_a_container_8_an_item_50_and_one_a_byte(make_meter):
    meter = make_meter()
    encoded = to_cbor([1, [2, 3], "abc"], meter)
    walk = 2 * costs.WALK_CONTAINER + 5 * costs.WALK_ITEM
    assert meter.cycles_used == walk + costs.CODEC + len(encoded)
    assert (costs.WALK_CONTAINER, costs.WALK_ITEM, costs.CODEC) == (16, 8, 50)


def test_a_pair_of_a_dict_is_six_items(make_meter):
    meter = make_meter()
    encoded = to_cbor({"a": 1, "b": 2}, meter)
    assert meter.cycles_used == 16 + 8 * 12 + 50 + len(encoded)


def test_decoding_costs_what_encoding_does(make_meter):
    value = [1, {"a": [2, 3], "b": b"x"}, [], None]
    out, back = make_meter(), make_meter()
    from_cbor(to_cbor(value, out), back)
    assert back.cycles_used == out.cycles_used


def test_decoded_values_take_20_bytes_of_memory_a_byte(make_meter):
    meter = make_meter(memory=20 * 100)
    from_cbor(cbor.encode(b"x" * 98), meter)
    assert meter.memory.cell_contents == 0
    with pytest.raises(OutOfMemory):
        from_cbor(cbor.encode(b"x" * 99), make_meter(memory=20 * 100))


def test_bytes_that_are_made_take_memory_beyond_64(make_meter):
    meter = make_meter(memory=10_000)
    to_cbor(b"x" * 62, meter)
    assert meter.memory.cell_contents == 10_000
    to_cbor(b"x" * 98, meter)
    assert meter.memory.cell_contents == 10_000 - 56 - 100


def test_shared_structure_is_stopped_by_the_charge(make_meter):
    """sandbox-internals.md §9: `x = [x, x]` forty times has 2⁴⁰ leaves."""
    for wrap in (lambda x: [x, x], lambda x: (x, x), lambda x: {"a": x, "b": x}):
        value = 0
        for _ in range(40):
            value = wrap(value)
        meter = make_meter(cycles=1_000_000)
        with pytest.raises(OutOfCycles):
            to_cbor(value, meter)
        assert meter.cycles_used == 1_000_000
    long = "x" * 60_000
    with pytest.raises(OutOfCycles):
        to_cbor([long] * 1_000, make_meter(cycles=1_000_000))
    with pytest.raises(OutOfMemory):
        to_cbor([long] * 1_000, make_meter())


def test_a_value_that_contains_itself_is_refused(make_meter):
    circle = []
    circle.append(circle)
    with pytest.raises(UnencodableValue, match="deep"):
        to_cbor(circle, make_meter())


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: (v,), lambda v: {"a": v}])
def test_nesting_stops_at_64(make_meter, wrap):
    value = 0
    for _ in range(64):
        value = wrap(value)
    to_cbor(value, make_meter())
    with pytest.raises(UnencodableValue, match="deep"):
        to_cbor(wrap(value), make_meter())
    for _ in range(100_000):
        value = wrap(value)
    with pytest.raises(UnencodableValue, match="deep"):
        to_cbor(value, make_meter())


@pytest.mark.parametrize(
    "value",
    [2**4096, -(2**4096) - 1, {b"x": 1}, [{b"x": 1}], {"x" * 1025: 1}],
    ids=lambda value: type(value).__name__,
)
def test_what_an_actor_could_not_have_made_is_malformed(make_meter, value):
    with pytest.raises(MalformedCbor):
        from_cbor(cbor.encode(value), make_meter())


def test_containers_are_paid_before_they_are_read(make_meter):
    """One byte can be a container: 16 cycles more than its byte."""
    data = cbor.encode([[] for _ in range(10_000)])
    meter = make_meter(cycles=len(data) + costs.CODEC + 10_000 * 8 + 100)
    with pytest.raises(OutOfCycles):
        from_cbor(data, meter)


def test_an_absurd_count_is_malformed_not_charged(make_meter):
    meter = make_meter()
    with pytest.raises(MalformedCbor):
        from_cbor(b"\x9b" + b"\x00" + b"\xff" * 7, meter)
    assert meter.cycles_used == costs.CODEC + 9


@pytest.mark.parametrize(
    ("value", "returned"),
    [
        (None, b""),
        (b"", b""),
        (b"\x00\xff", b"\x00\xff"),
        ("", b""),
        ("grüß", "grüß".encode()),
        (7, b"\x07"),
        (True, b"\xf5"),
        ([1, "a"], b"\x82\x01\x61a"),
        ({"a": None}, b"\xa1\x61a\xf6"),
    ],
)
def test_a_receipt_holds_bytes_of_what_is_returned(make_meter, value, returned):
    meter = make_meter()
    assert encode_return(value, meter) == returned
    assert meter.cells_used == len(returned)


def test_returned_bytes_and_text_cost_cells_only(make_meter):
    meter = make_meter()
    encode_return(b"x" * 1_000, meter)
    encode_return("x" * 1_000, meter)
    assert (meter.cycles_used, meter.cells_used) == (0, 2_000)


@pytest.mark.parametrize("make", [lambda n: b"x" * n, lambda n: "x" * n])
def test_a_return_value_has_at_most_64_kib(make_meter, make):
    assert len(encode_return(make(65_536), make_meter())) == 65_536
    with pytest.raises(UnencodableValue, match="65536"):
        encode_return(make(65_537), make_meter())


def test_the_bound_is_of_bytes(make_meter):
    assert len(encode_return("é" * 32_768, make_meter())) == 65_536
    with pytest.raises(UnencodableValue, match="65536"):
        encode_return("é" * 32_769, make_meter())
    assert len(encode_return([b"x" * 65_532], make_meter())) == 65_536
    with pytest.raises(UnencodableValue, match="65536"):
        encode_return([b"x" * 65_533], make_meter())


@pytest.mark.parametrize("value", [1.5, Thing(), {1}, bytearray(b"x"), "\ud800"])
def test_other_return_values_are_refused(make_meter, value):
    with pytest.raises(UnencodableValue):
        encode_return(value, make_meter())


def test_returning_more_than_the_cells_halts(make_meter):
    with pytest.raises(OutOfCells):
        encode_return(b"x" * 11, make_meter(cells=10))


def test_keys():
    for key in ("", "x" * 1024, 0, 2**60 - 1, 1 - 2**60):
        assert is_key(key)
    for key in ("x" * 1025, 2**60, -(2**60), True, None, b"", (1,), Number.ONE):
        assert not is_key(key)


def test_a_type_is_named_only_if_it_is_native():
    assert type_name("x") == "str"
    assert type_name(None) == "NoneType"
    assert type_name(Thing()) == "an object"


def test_our_set_is_named_and_has_no_form(make_meter):
    with pytest.raises(UnencodableValue, match="set has no form"):
        to_cbor(OrderedSet(), make_meter())
