"""Canonical CBOR: round trip, strictness under mutation, cbor2 as the other half."""

import cbor2
from hypothesis import example, given
from hypothesis import strategies as st

from pvm.cbor import MalformedCbor, UnencodableValue, decode, encode

integers = st.one_of(
    st.integers(-30, 300),
    st.integers(-(2**70), 2**70),
    st.sampled_from([2**n + d for n in (8, 16, 32, 60, 64, 4096) for d in (-1, 0, 1)]),
)
scalars = st.one_of(
    integers, st.binary(max_size=40), st.text(max_size=40), st.booleans(), st.none()
)
small_ints = st.integers(-(2**60) + 1, 2**60 - 1)


def containers_of(keys):
    return lambda values: st.one_of(
        st.lists(values, max_size=30), st.dictionaries(keys, values, max_size=30)
    )


values = st.recursive(
    scalars,
    containers_of(st.one_of(small_ints, st.binary(max_size=30), st.text(max_size=30))),
    max_leaves=30,
)
# cbor2 sorts keys by length, then bytes: the same order where all are of one kind
# (a longer one of its kind has the greater head).
values_of_one_key_kind = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=30),
        st.dictionaries(st.text(max_size=30), inner, max_size=30),
        st.dictionaries(st.binary(max_size=30), inner, max_size=30),
        st.dictionaries(st.integers(0, 2**60 - 1), inner, max_size=30),
    ),
    max_leaves=30,
)


def same(left, right):
    """Equal in value and in type, all the way down; order of keys aside."""
    if type(left) is not type(right):
        return False
    if type(left) is list:
        return len(left) == len(right) and all(map(same, left, right))
    if type(left) is dict:
        return left.keys() == right.keys() and all(
            same(value, right[key]) for key, value in left.items()
        )
    return left == right


@given(values)
def test_what_is_encoded_decodes_to_itself(value):
    assert same(decode(encode(value)), value)


@given(values)
def test_the_order_in_which_keys_were_set_does_not_show(value):
    if type(value) is dict:
        assert encode(dict(reversed(value.items()))) == encode(value)


@given(values_of_one_key_kind)
def test_cbor2_writes_the_same_bytes(value):
    assert encode(value) == cbor2.dumps(value, canonical=True)


@given(values)
def test_cbor2_reads_what_we_write(value):
    assert same(cbor2.loads(encode(value)), value)


@given(st.binary(max_size=60))
@example(bytes.fromhex("a2016001f5"))
def test_any_bytes_decode_strictly_or_are_malformed(data):
    try:
        value = decode(data)
    except MalformedCbor:
        return
    assert encode(value) == data


@given(values, st.data())
def test_mutated_bytes_decode_strictly_or_are_malformed(value, data):
    encoded = bytearray(encode(value))
    position = data.draw(st.integers(0, len(encoded) - 1))
    match data.draw(st.sampled_from(["flip", "insert", "remove", "cut"])):
        case "flip":
            encoded[position] ^= data.draw(st.integers(1, 255))
        case "insert":
            encoded.insert(position, data.draw(st.integers(0, 255)))
        case "remove":
            del encoded[position]
        case _:
            del encoded[position:]
    try:
        mutated = decode(bytes(encoded))
    except MalformedCbor:
        return
    assert encode(mutated) == bytes(encoded)


@given(values)
def test_no_proper_prefix_and_no_extension_is_well_formed(value):
    encoded = encode(value)
    for other in (encoded[:-1], encoded + b"\x00"):
        try:
            decode(other)
        except MalformedCbor:
            continue
        raise AssertionError(other.hex())


@given(st.recursive(st.floats(), st.lists, max_leaves=5))
def test_values_outside_of_the_subset_are_refused_whole(value):
    def has_float(item):
        return type(item) is float or (type(item) is list and any(map(has_float, item)))

    try:
        encode(value)
    except UnencodableValue:
        return
    assert not has_float(value)
