"""`math`, `hashlib`, `hmac`, `base64`, `binascii`, `struct` for actors."""

import base64
import binascii
import hashlib
import hmac
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pvm.errors import OutOfCycles
from pvm.meter import Meter
from pvm.modules import NATIVE
from pvm.runtime.context import ModuleContext


@pytest.fixture
def context(make_context):
    return make_context()


@pytest.fixture
def module(context):
    return lambda name: NATIVE[name](context)


def fresh(name):
    context = ModuleContext()
    context.begin(Meter(10**9, 0), None, None, "main")
    return NATIVE[name](context)


# --- math -------------------------------------------------------------------------

small = st.integers(0, 60)


@given(st.lists(st.integers(-(2**300), 2**300), max_size=4))
def test_gcd_and_lcm_agree_with_the_standard_library(integers):
    names = fresh("math")
    assert names["gcd"](*integers) == math.gcd(*integers)
    assert names["lcm"](*integers) == math.lcm(*integers)


@given(st.integers(0, 2**4096 - 1), small, small)
def test_the_rest_of_math_agrees_with_the_standard_library(big, n, k):
    names = fresh("math")
    assert names["isqrt"](big) == math.isqrt(big)
    assert names["factorial"](n) == math.factorial(n)
    assert names["comb"](n, k) == math.comb(n, k)
    assert names["perm"](n, k) == math.perm(n, k)
    assert names["perm"](n) == math.perm(n)


@given(st.integers(0, 6_000), st.integers(0, 6_000))
def test_comb_gives_every_result_that_fits(n, k):
    names = fresh("math")
    result = math.comb(n, k)
    if result.bit_length() <= 4_096:
        assert names["comb"](n, k) == result
    else:
        with pytest.raises(OverflowError):
            names["comb"](n, k)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("factorial", (10**30,)),
        ("factorial", (600,)),
        ("comb", (10**40, 10**20)),
        ("comb", (2**4000, 2)),
        ("comb", (5_000, 2_500)),
        ("perm", (10**30,)),
        ("perm", (2**100, 2**90)),
        ("perm", (2**4095, 2)),
        ("lcm", (2**3000 + 1, 2**3001 + 1)),
    ],
)
def test_results_beyond_4096_bits_overflow(module, name, arguments):
    with pytest.raises(OverflowError):
        module("math")[name](*arguments)


def test_the_largest_factorial_is_made(module):
    n = next(n for n in range(1_000) if math.factorial(n + 1).bit_length() > 4_096)
    assert module("math")["factorial"](n) == math.factorial(n)
    with pytest.raises(OverflowError):
        module("math")["factorial"](n + 1)


@pytest.mark.parametrize("name", ["factorial", "isqrt", "perm"])
def test_math_wants_ints_of_0_or_more(module, name):
    with pytest.raises(ValueError, match="0 or more"):
        module("math")[name](-1)
    for value in (True, "1", None, 1.0):
        with pytest.raises(TypeError, match="an int is wanted"):
            module("math")[name](value)
    for value in (True, "1", None):
        with pytest.raises(TypeError):
            module("math")["gcd"](2, value)


def test_fewer_than_are_chosen(module):
    assert module("math")["comb"](3, 4) == module("math")["perm"](3, 4) == 0


def test_work_on_long_integers_is_paid(context, module):
    module("math")["isqrt"](2**4095)
    assert context.meter.cycles_used == 14 + 64 * 64
    before = context.meter.cycles_used
    module("math")["gcd"](2**4095, 3**2000)
    assert context.meter.cycles_used - before > 64 * 64


# --- hashlib, hmac ----------------------------------------------------------------

HASHES = ["blake2b", "sha256", "sha3_256", "sha512"]


@pytest.mark.parametrize("name", HASHES)
def test_hashes_agree_with_the_standard_library(module, name):
    data = b"x" * 200
    native = getattr(hashlib, name)
    hashed = module("hashlib")[name](data)
    assert hashed.digest() == native(data).digest()
    assert hashed.hexdigest() == native(data).hexdigest()
    hashed.update(b"more")
    assert hashed.digest() == native(data + b"more").digest()
    assert module("hashlib")[name]().digest() == native().digest()
    assert module("hashlib")[name](data=data).digest() == native(data).digest()


@pytest.mark.parametrize("name", HASHES)
@pytest.mark.parametrize(("length", "blocks"), [(0, 0), (1, 1), (64, 1), (65, 2)])
def test_price_of_a_hash(context, module, name, length, blocks):
    hashed = module("hashlib")[name](b"x" * length)
    assert context.meter.cycles_used == 500 + 8 * blocks
    before = context.meter.cycles_used
    hashed.update(b"x" * length)
    assert context.meter.cycles_used - before == 10 + 8 * blocks


def test_hashes_take_bytes_only(module):
    for data in ("x", bytearray(b"x"), 1, None):
        with pytest.raises(TypeError, match="bytes are wanted"):
            module("hashlib")["sha256"](data)
        with pytest.raises(TypeError, match="bytes are wanted"):
            module("hashlib")["sha256"]().update(data)


@pytest.mark.parametrize("name", HASHES)
def test_hmac_agrees_with_the_standard_library(context, name):
    names, functions = NATIVE["hmac"](context), NATIVE["hashlib"](context)
    for key in (b"", b"key", b"k" * 300):
        native = hmac.new(key, b"message", name)
        for digestmod in (name, functions[name]):
            keyed = names["new"](key, b"message", digestmod)
            assert keyed.digest() == native.digest()
            assert keyed.hexdigest() == native.hexdigest()
            assert names["digest"](key, b"message", digestmod) == native.digest()
        keyed.update(b"more")
        assert keyed.digest() == hmac.digest(key, b"messagemore", name)


@pytest.mark.parametrize("digestmod", ["md5", "sha1", "", None, len, hashlib.sha256])
def test_hmac_knows_our_hashes_only(module, digestmod):
    with pytest.raises(ValueError, match="algorithm"):
        module("hmac")["new"](b"k", b"m", digestmod)


def test_compare_digest(module):
    compare = module("hmac")["compare_digest"]
    assert compare(b"ab", b"ab")
    assert not compare(b"ab", b"abc")
    with pytest.raises(TypeError):
        compare("ab", "ab")


# --- base64, binascii -------------------------------------------------------------

CODECS = [
    ("b64encode", "b64decode"),
    ("urlsafe_b64encode", "urlsafe_b64decode"),
    ("b16encode", "b16decode"),
]


@pytest.mark.parametrize(("encode", "decode"), CODECS)
@given(data=st.binary(max_size=200))
def test_base64_agrees_with_the_standard_library(encode, decode, data):
    names = fresh("base64")
    text = names[encode](data)
    assert text == getattr(base64, encode)(data)
    assert names[decode](text) == names[decode](text.decode()) == data


@pytest.mark.parametrize(
    ("decode", "text"),
    [
        ("b64decode", "YQ"),
        ("b64decode", "YQ="),
        ("b64decode", "YR=="),
        ("b64decode", "YQ==\n"),
        ("b64decode", "Y Q=="),
        ("b64decode", "YQ==YQ=="),
        ("b64decode", "-_-_"),
        ("b64decode", "="),
        ("b64decode", "é"),
        ("urlsafe_b64decode", "+/+/"),
        ("urlsafe_b64decode", "YQ"),
        ("b16decode", "0"),
        ("b16decode", "0g"),
        ("b16decode", "ff"),
        ("b16decode", "F F"),
    ],
)
def test_what_the_encoder_does_not_write_is_a_value_error(module, decode, text):
    with pytest.raises(ValueError, match=r"encoder|ASCII") as error:
        module("base64")[decode](text)
    assert type(error.value) is ValueError


@given(st.binary(max_size=200))
def test_hexlify(data):
    names = fresh("binascii")
    assert names["hexlify"](data) == binascii.hexlify(data)
    assert names["unhexlify"](names["hexlify"](data)) == data
    assert names["unhexlify"](data.hex().upper()) == data


@pytest.mark.parametrize("text", ["0", "0g", "0 0", "é0"])
def test_unhexlify_wants_pairs_of_digits(module, text):
    with pytest.raises(ValueError, match=r"digits|ASCII") as error:
        module("binascii")["unhexlify"](text)
    assert type(error.value) is ValueError


def test_transcoding_costs_16_and_one_a_byte(context, module):
    meter = context.meter
    for call, cycles in (
        (lambda: module("base64")["b64encode"](b"x" * 100), 16 + 136),
        (lambda: module("base64")["b64decode"](b"YWJj" * 25), 16 + 100),
        (lambda: module("base64")["b16encode"](b"x" * 100), 16 + 200),
        (lambda: module("binascii")["hexlify"](b"x" * 100), 16 + 200),
        (lambda: module("binascii")["unhexlify"](b"ff" * 50), 16 + 100),
    ):
        before = meter.cycles_used
        call()
        assert meter.cycles_used - before == cycles


# --- struct -----------------------------------------------------------------------

LAYOUTS = [
    ("<bBhHiIlLqQ", (-1, 2, -3, 4, -5, 6, -7, 8, -9, 10)),
    (">bBhHiIlLqQ", (-1, 2, -3, 4, -5, 6, -7, 8, -9, 10)),
    ("!I2x3s?c", (7, b"abc", True, b"z")),
    ("<3H0s", (1, 2, 3, b"")),
    ("<4s", (b"ab",)),
    (">0x", ()),
    ("<", ()),
]


@pytest.mark.parametrize(("layout", "values"), LAYOUTS)
def test_struct_agrees_with_the_standard_library(module, layout, values):
    names = module("struct")
    packed = names["pack"](layout, *values)
    assert packed == struct.pack(layout, *values)
    assert names["unpack"](layout, packed) == struct.unpack(layout, packed)
    assert names["calcsize"](layout) == struct.calcsize(layout)


def test_native_order_is_little_endian_everywhere(module):
    assert module("struct")["pack"]("=HI", 1, 2) == struct.pack("<HI", 1, 2)


@pytest.mark.parametrize(
    "layout",
    [
        "",
        "I",
        "@I",
        "<d",
        "<f",
        "<e",
        "<n",
        "<N",
        "<P",
        "<p",
        "<I I",
        "<4097x",
        "<1000000000x",
        "<00001x",
        "<4",
        "<<I",
        "<=I",
        "<é",
        "<٣x",
    ],
)
def test_other_formats_are_a_value_error(module, layout):
    for call in (
        lambda: module("struct")["calcsize"](layout),
        lambda: module("struct")["pack"](layout, 1),
        lambda: module("struct")["unpack"](layout, b"\x00" * 8),
    ):
        with pytest.raises(ValueError, match=r"format|count|code") as error:
            call()
        assert type(error.value) is ValueError


@pytest.mark.parametrize(
    ("layout", "values"),
    [
        ("<I", (True,)),
        ("<I", (1.0,)),
        ("<I", ("1",)),
        ("<?", (1,)),
        ("<?", ([],)),
        ("<c", ("a",)),
        ("<2s", ("ab",)),
        ("<2s", (bytearray(b"ab"),)),
    ],
)
def test_values_are_of_the_formats_types(module, layout, values):
    with pytest.raises(TypeError, match="type"):
        module("struct")["pack"](layout, *values)


@pytest.mark.parametrize(
    ("layout", "values"),
    [
        ("<B", (256,)),
        ("<b", (128,)),
        ("<Q", (2**64,)),
        ("<Q", (-1,)),
        ("<c", (b"ab",)),
        ("<I", ()),
        ("<I", (1, 2)),
    ],
)
def test_values_that_do_not_fit_are_a_value_error(module, layout, values):
    with pytest.raises(ValueError, match=r"wanted|hold") as error:
        module("struct")["pack"](layout, *values)
    assert type(error.value) is ValueError


def test_unpack_wants_just_the_bytes_of_the_format(module):
    for data in (b"", b"\x00" * 3, b"\x00" * 5):
        with pytest.raises(ValueError, match="size"):
            module("struct")["unpack"]("<I", data)
    with pytest.raises(TypeError):
        module("struct")["unpack"]("<I", "abcd")


def test_packing_much_is_paid_before_it_is_packed(make_context, make_meter):
    context = make_context(make_meter(cycles=10_000))
    with pytest.raises(OutOfCycles):
        NATIVE["struct"](context)["pack"]("<" + "4096x" * 10)
