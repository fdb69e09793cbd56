"""Canonical CBOR (D5, RFC 8949 §4.2.1): one form a value, one value a form."""

import sys
import time
from enum import IntEnum

import pytest

from pvm import cbor
from pvm.cbor import MalformedCbor, UnencodableValue, decode, encode

# RFC 8949, appendix A, as far as this subset goes; our own beneath the line.
EXAMPLES = [
    (0, "00"),
    (1, "01"),
    (10, "0a"),
    (23, "17"),
    (24, "1818"),
    (25, "1819"),
    (100, "1864"),
    (1000, "1903e8"),
    (1000000, "1a000f4240"),
    (1000000000000, "1b000000e8d4a51000"),
    (18446744073709551615, "1bffffffffffffffff"),
    (18446744073709551616, "c249010000000000000000"),
    (-18446744073709551616, "3bffffffffffffffff"),
    (-18446744073709551617, "c349010000000000000000"),
    (-1, "20"),
    (-10, "29"),
    (-100, "3863"),
    (-1000, "3903e7"),
    (False, "f4"),
    (True, "f5"),
    (None, "f6"),
    (b"", "40"),
    (bytes.fromhex("01020304"), "4401020304"),
    ("", "60"),
    ("a", "6161"),
    ("IETF", "6449455446"),
    ('"\\', "62225c"),
    ("\u00fc", "62c3bc"),
    ("\u6c34", "63e6b0b4"),
    ("\U00010151", "64f0908591"),
    ([], "80"),
    ([1, 2, 3], "83010203"),
    ([1, [2, 3], [4, 5]], "8301820203820405"),
    (list(range(1, 26)), "98190102030405060708090a0b0c0d0e0f101112131415161718181819"),
    ({}, "a0"),
    ({1: 2, 3: 4}, "a201020304"),
    ({"a": 1, "b": [2, 3]}, "a26161016162820203"),
    (["a", {"b": "c"}], "826161a161626163"),
    # --
    (255, "18ff"),
    (256, "190100"),
    (65535, "19ffff"),
    (65536, "1a00010000"),
    (2**32 - 1, "1affffffff"),
    (2**32, "1b0000000100000000"),
    (-25, "3818"),
    ({-1: 0, 10: 0, b"": 0, "": 0}, "a40a00200040006000"),
    ({1000: 1, "": 2}, "a21903e8016002"),  # by bytes; the older rule puts "" first
    ({"b": 1, "aa": 2}, "a261620162616102"),
]


@pytest.mark.parametrize(("value", "encoded"), EXAMPLES)
def test_examples_encode_and_decode(value, encoded):
    assert encode(value).hex() == encoded
    decoded = decode(bytes.fromhex(encoded))
    assert decoded == value
    assert type(decoded) is type(value)


@pytest.mark.parametrize("length", [0, 23, 24, 255, 256, 65_535, 65_536])
def test_lengths_take_the_shortest_head(length):
    for value in (bytes(length), "x" * length, [None] * length):
        encoded = encode(value)
        head = next(1 + more for bound, more in HEADS_BY_LENGTH if length < bound)
        assert len(encoded) == head + length
        assert decode(encoded) == value


HEADS_BY_LENGTH = [(24, 0), (1 << 8, 1), (1 << 16, 2), (1 << 32, 4)]


def test_a_tuple_encodes_as_an_array():
    assert encode((1, (2,))) == encode([1, [2]])


@pytest.mark.parametrize(
    ("encoded", "why"),
    [
        ("", "ends early"),
        ("1800", "a head longer"),
        ("1817", "a head longer"),
        ("1900ff", "a head longer"),
        ("1a0000ffff", "a head longer"),
        ("1b00000000ffffffff", "a head longer"),
        ("3817", "a head longer"),
        ("5801ff", "a head longer"),
        ("780161", "a head longer"),
        ("980101", "a head longer"),
        ("b8010101", "a head longer"),
        ("18", "ends early"),
        ("19ff", "ends early"),
        ("1bffff", "ends early"),
        ("41", "ends early"),
        ("62c3", "not UTF-8"),
        ("6261", "ends early"),
        ("81", "ends early"),
        ("8201", "ends early"),
        ("a1", "ends early"),
        ("a101", "ends early"),
        ("0000", "left over"),
        ("8000", "left over"),
        ("1c", "reserved"),
        ("1f", "indefinite"),
        ("5f42010243030405ff", "indefinite"),
        ("7f657374726561646d696e67ff", "indefinite"),
        ("9fff", "indefinite"),
        ("bfff", "indefinite"),
        ("ff", "indefinite"),
        ("f7", "simple value"),
        ("e0", "simple value"),
        ("f3", "simple value"),
        ("f814", "longer"),
        ("f818", "simple value"),
        ("f8ff", "simple value"),
        ("f90000", "longer"),
        ("f93c00", "simple value"),
        ("fa47c35000", "simple value"),
        ("fb3ff199999999999a", "simple value"),
        ("c0", "tag"),
        ("c11a514b67b0", "tag"),
        ("c482211903e8", "tag"),
        ("c58201c24103", "tag"),
        ("d81c80", "tag"),
        ("d823612e", "tag"),
        ("d9d9f700", "tag"),
        ("c2", "ends early"),
        ("c201", "not bytes"),
        ("c28101", "not bytes"),
        ("c2c24101", "not bytes"),
        ("c240", "bignum longer"),
        ("c2480100000000000000", "bignum longer"),
        ("c24900ffffffffffffffff", "bignum longer"),
        ("c34900ffffffffffffffff", "bignum longer"),
        ("c2490100000000000000", "bignum longer"),
        ("61ff", "not UTF-8"),
        ("62c080", "not UTF-8"),
        ("63eda080", "not UTF-8"),
        ("64f4908080", "not UTF-8"),
        ("a201000100", "twice"),
        ("a202000100", "out of order"),
        ("a2616201616101", "out of order"),
        ("a262616101616201", "out of order"),
        ("a1f500", "a key"),
        ("a1f600", "a key"),
        ("a18000", "a key"),
        ("a1a000", "a key"),
        ("a1c24901000000000000000000", "a key"),
        ("a11b100000000000000000", "2\\*\\*60"),
        ("a13b0fffffffffffffff00", "2\\*\\*60"),
    ],
)
def test_what_does_not_encode_again_to_itself_is_malformed(encoded, why):
    with pytest.raises(MalformedCbor, match=why):
        decode(bytes.fromhex(encoded))


def test_malformed_cbor_is_a_value_error():
    assert issubclass(MalformedCbor, ValueError)
    assert issubclass(UnencodableValue, ValueError)


class Number(IntEnum):
    """An int to `isinstance`, not to us."""

    ONE = 1


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        {1, 2},
        frozenset(),
        bytearray(b"x"),
        memoryview(b"x"),
        object(),
        ...,
        Number.ONE,
        int,
        "\ud800",
        ["\udfff"],
        {"\ud800": 1},
        {True: 1},
        {None: 1},
        {(1,): 1},
        {1.0: 1},
        {2**60: 1},
        {-(2**60): 1},
    ],
)
def test_what_has_no_form_is_refused(value):
    with pytest.raises(UnencodableValue):
        encode(value)


def test_keys_at_the_bounds():
    value = {2**60 - 1: 1, -(2**60) + 1: 2}
    assert decode(encode(value)) == value


def nested(depth, wrap):
    value = 0
    for _ in range(depth):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"a": v}, lambda v: (v,)])
def test_containers_nest_64_deep_and_no_deeper(wrap):
    decode(encode(nested(64, wrap)))
    with pytest.raises(UnencodableValue, match="deep"):
        encode(nested(65, wrap))
    with pytest.raises(UnencodableValue, match="deep"):
        encode(nested(100_000, wrap))


@pytest.mark.parametrize("item", [b"\x81", b"\xa1\x00"])
def test_bytes_that_nest_too_deeply_are_malformed(item):
    decode(item * 64 + b"\x00")
    for depth in (65, 100_000):
        with pytest.raises(MalformedCbor, match="deep"):
            decode(item * depth + b"\x00")


def test_depth_is_a_parameter():
    assert decode(b"\x00", depth_max=0) == 0
    with pytest.raises(MalformedCbor, match="deep"):
        decode(b"\x80", depth_max=0)
    with pytest.raises(UnencodableValue, match="deep"):
        encode([], depth_max=0)
    assert decode(encode([[]], depth_max=2), depth_max=2) == [[]]


def test_a_value_that_contains_itself_is_refused():
    circle = []
    circle.append(circle)
    with pytest.raises(UnencodableValue, match="deep"):
        encode(circle)


@pytest.mark.parametrize("head", ["5b", "7b", "9b", "bb"])
@pytest.mark.parametrize("length", ["ffffffffffffffff", "7fffffffffffffff"])
def test_an_absurd_length_in_a_head_costs_nothing(head, length):
    before = time.process_time()
    for rest in ("", "00" * 100):
        with pytest.raises(MalformedCbor, match="ends early"):
            decode(bytes.fromhex(head + length + rest))
    assert time.process_time() - before < 1


def test_many_heads_that_claim_much_are_linear():
    # Each array claims more than there is: none may be walked, nor allocated.
    for head in (
        b"\x9a\x00\xff\xff\xff",
        b"\xba\x00\xff\xff\xff",
        b"\x5a\x00\xff\xff\xff",
    ):
        with pytest.raises(MalformedCbor):
            decode(head * 10_000)


def test_enter_is_told_of_each_container_before_it_is_read():
    entered = []
    decode(encode([1, [], {"a": [2, 3], "b": 4}]), enter=entered.append)
    assert entered == [3, 0, 2 * cbor.MAP_PAIR_ITEMS, 2]


def test_enter_may_end_the_reading():
    class EnoughError(BaseException):
        pass

    def stop(_items):
        raise EnoughError

    with pytest.raises(EnoughError):
        decode(b"\x80", enter=stop)


def test_a_count_that_is_not_there_is_never_charged():
    entered = []
    with pytest.raises(MalformedCbor):
        decode(b"\x9b" + b"\x0f" * 8, enter=entered.append)
    assert entered == []


def test_decoding_does_not_lean_on_the_recursion_limit():
    encoded = b"\xa1\x00" * 64 + b"\x00"
    frames = len_of_stack()
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(frames + 64 * 3 + 20)
        decode(encoded)
    finally:
        sys.setrecursionlimit(before)


def len_of_stack():
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth
