"""Native modules in general (sandbox-internals.md §3, §9)."""

import inspect
from types import MethodType, ModuleType

import pytest

from pvm import language
from pvm.errors import HostError, OutOfCycles
from pvm.modules import ATTRIBUTES, EXPORTS, NATIVE, OBJECT_ATTRIBUTES
from pvm.modules.cowboy_sdk import Address
from pvm.modules.hashlib import HashFunction

MODULES = sorted(NATIVE)


def test_the_table():
    assert set(MODULES) == {
        "base64",
        "binascii",
        "cowboy_sdk.native",
        "hashlib",
        "hmac",
        "json",
        "math",
        "pvm_host",
        "struct",
    }
    assert NATIVE.keys() == EXPORTS.keys()
    for table in (NATIVE, EXPORTS):
        with pytest.raises(TypeError):
            table["os"] = None


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_just_the_names_it_says(make_context, module):
    assert set(NATIVE[module](make_context())) == EXPORTS[module]


@pytest.mark.parametrize("module", MODULES)
def test_names_are_public_and_nothing_is_a_module(make_context, module):
    for name, value in NATIVE[module](make_context()).items():
        assert not name.startswith("_")
        assert not isinstance(value, ModuleType)
        assert isinstance(value, MethodType | HashFunction | Address | type)


@pytest.mark.parametrize("module", MODULES)
def test_nothing_can_be_assigned_to_what_a_module_gives(make_context, module):
    """What executions share is immutable; a test tries to set an attribute on it."""
    for value in NATIVE[module](make_context()).values():
        public = {name for name in dir(value) if not name.startswith("_")}
        for name in public | {"x", "update"}:
            with pytest.raises((AttributeError, TypeError)):
                setattr(value, name, 1)


@pytest.mark.parametrize("module", MODULES)
def test_functions_have_no_public_attributes(make_context, module):
    for value in NATIVE[module](make_context()).values():
        if not isinstance(value, type):
            public = {name for name in dir(value) if not name.startswith("_")}
            assert public == (ATTRIBUTES[module] if type(value) is Address else set())


@pytest.mark.parametrize("module", MODULES)
def test_no_function_passes_keywords_through(make_context, module):
    for value in NATIVE[module](make_context()).values():
        if not isinstance(value, type):
            parameters = inspect.signature(value).parameters.values()
            assert all(p.kind is not p.VAR_KEYWORD for p in parameters)
            assert all(not p.name.startswith("_") for p in parameters)


@pytest.mark.parametrize("module", MODULES)
def test_modules_of_two_executions_share_no_function(make_context, module):
    first, second = (NATIVE[module](make_context()) for _ in range(2))
    for name, value in first.items():
        if not isinstance(value, type):
            assert value is not second[name]


def test_objects_have_just_the_public_attributes_of_the_table(make_context):
    context = make_context()
    objects = [
        *(make() for make in NATIVE["hashlib"](context).values()),
        NATIVE["hmac"](context)["new"](b"", b"", "sha256"),
    ]
    for value in objects:
        public = {name for name in dir(value) if not name.startswith("_")}
        assert public == OBJECT_ATTRIBUTES
        for name in public | {"x"}:
            with pytest.raises(AttributeError):
                setattr(value, name, 1)


ONE_CALL = {
    ("base64", "b16decode"): (b"",),
    ("base64", "b16encode"): (b"",),
    ("base64", "b64decode"): (b"",),
    ("base64", "b64encode"): (b"",),
    ("base64", "urlsafe_b64decode"): (b"",),
    ("base64", "urlsafe_b64encode"): (b"",),
    ("binascii", "hexlify"): (b"",),
    ("binascii", "unhexlify"): (b"",),
    ("cowboy_sdk.native", "ActorRef"): (bytes(20),),
    ("cowboy_sdk.native", "Address"): (bytes(20),),
    ("cowboy_sdk.native", "assume_ownership_if_unowned"): (),
    ("cowboy_sdk.native", "get_owner"): (),
    ("cowboy_sdk.native", "is_initialized"): (),
    ("cowboy_sdk.native", "renounce_ownership"): (),
    ("cowboy_sdk.native", "transfer_ownership"): (b"\x01" * 20,),
    ("hashlib", "blake2b"): (),
    ("hashlib", "sha256"): (),
    ("hashlib", "sha3_256"): (),
    ("hashlib", "sha512"): (),
    ("hmac", "compare_digest"): (b"", b""),
    ("hmac", "digest"): (b"", b"", "sha256"),
    ("hmac", "new"): (b"", b"", "sha256"),
    ("json", "dumps"): (1,),
    ("json", "loads"): ("1",),
    ("math", "comb"): (1, 1),
    ("math", "factorial"): (1,),
    ("math", "gcd"): (1,),
    ("math", "isqrt"): (1,),
    ("math", "lcm"): (1,),
    ("math", "perm"): (1,),
    ("struct", "calcsize"): ("<",),
    ("struct", "pack"): ("<",),
    ("struct", "unpack"): ("<", b""),
}


def test_every_function_is_tried():
    assert set(ONE_CALL) == {
        (module, name)
        for module, names in EXPORTS.items()
        for name in names
        if module != "pvm_host" and name not in language.MODULE_ERRORS.get(module, ())
    }


@pytest.mark.parametrize(("module", "name"), sorted(ONE_CALL))
def test_every_function_charges_before_it_works(make_context, make_meter, module, name):
    context = make_context()
    NATIVE[module](context)[name](*ONE_CALL[module, name])
    used = context.meter.cycles_used
    assert used > 0
    enough = make_context(make_meter(cycles=used))
    NATIVE[module](enough)[name](*ONE_CALL[module, name])
    short = make_context(make_meter(cycles=used - 1))
    with pytest.raises(OutOfCycles):
        NATIVE[module](short)[name](*ONE_CALL[module, name])


@pytest.mark.parametrize(("module", "name"), sorted(ONE_CALL))
def test_a_halted_meter_refuses_every_call(make_context, module, name):
    context = make_context()
    function = NATIVE[module](context)[name]
    with pytest.raises(OutOfCycles):
        context.meter.charge_cycles(10**9)
    with pytest.raises(OutOfCycles):
        function(*ONE_CALL[module, name])


class Liar(int):
    """A number to `isinstance`, with methods of its own."""

    def __index__(self):
        """Fail the test: somebody asked."""
        raise AssertionError("asked")

    __len__ = __iter__ = __bytes__ = __str__ = __eq__ = __hash__ = __index__


@pytest.mark.parametrize(("module", "name"), sorted(ONE_CALL))
def test_an_object_is_refused_and_never_asked(make_context, module, name):
    count = max(1, len(ONE_CALL[module, name]))
    for stranger in (Liar(5), object(), 1.5, bytearray(b"x"), memoryview(b"x")):
        with pytest.raises((TypeError, ValueError, HostError)):
            NATIVE[module](make_context())[name](*[stranger] * count)
