"""The library of `cowboy_sdk`: what its functions and types do (host-api.md §4)."""

import pytest

from pvm import cbor, language
from pvm.driver.actors import compile_actor
from pvm.driver.library_loader import find_module
from pvm.errors import CompileError
from pvm.hashing import keccak256
from pvm.modules import EXPORTS
from pvm.modules.cowboy_sdk import EXPORTS as NATIVE_EXPORTS
from pvm.modules.pvm_host import FUNCTIONS
from pvm.testing import DEPLOYER, SENDER, World, call_once

# Every name that host-api.md §4 lists.
NAMES = frozenset(
    {
        "actor",
        "Actor",
        "public",
        "callable_by",
        "pure",
        "deferred",
        "OWNER",
        "SELF",
        "reentrancy_guard",
        "runtime",
        "call",
        "send",
        "ActorRef",
        "codec",
        "ordered_set",
        "Address",
        "BlockHeight",
        "BoundedRange",
        "bounded_loop",
        "derive_actor_address",
        "CowboyModel",
        "PriorityTier",
        "storage_guard",
        "errors",
    }
)

RUNTIME = frozenset(
    {
        "get_sender",
        "get_actor_address",
        "get_tx_hash",
        "get_block_height",
        "get_timestamp_ms",
        "get_chain_id",
        "context",
        "charge_gas",
        "emit_event",
        "send_message",
        "call_actor",
        "create_deferred_tx",
        "schedule_timer",
        "schedule_timer_ex",
        "set_timeout",
        "set_state_watch",
        "update_timer",
        "extend_timer",
        "cancel_timer",
        "get_state",
        "set_state",
        "delete_state",
        "scan_state_prefix",
        "keccak256",
        "randomness",
        "get_owner",
        "transfer_ownership",
        "renounce_ownership",
        "assume_ownership_if_unowned",
        "is_initialized",
        "upgrade_self",
    }
)


def test_the_names_are_the_public_ones():
    assert find_module("cowboy_sdk").exports >= NAMES
    assert find_module("cowboy_sdk.runtime").exports == RUNTIME
    assert EXPORTS["cowboy_sdk.native"] == NATIVE_EXPORTS


@pytest.mark.parametrize("package", ["cowboy_sdk", "pvm_sdk"])
def test_every_name_can_be_imported_under_both_names(package):
    names = ", ".join(sorted(NAMES))
    source = (
        f"from {package} import {names}\ndef run():\n    return runtime.get_sender()"
    )
    assert call_once(source).value == SENDER


@pytest.mark.parametrize(
    "name",
    [
        "Token", "token", "runner", "continuation", "capture", "Capture", "Verify",
        "VerifyBuilder", "SoftFloat", "Retry", "TaskGroup", "save_cont", "load_cont",
        "delete_cont", "check_iteration", "routes", "PermissionDeniedError",
        "PurityViolationError", "ReentrancyError",
    ],
)  # fmt: skip
def test_what_is_not_here_is_refused_with_a_sentence(name):
    """host-api.md §4: naming what is missing and what to do instead."""
    with pytest.raises(CompileError) as error:
        compile_actor(f"from cowboy_sdk import {name}\ndef run(): pass".encode())
    assert f"has no {name!r}" in str(error.value)
    assert error.value.refusals[0].instead


@pytest.mark.parametrize("name", ["token_create", "token_transfer", "submit_job"])
def test_functions_of_the_runtime_that_are_not_here(name):
    with pytest.raises(CompileError) as error:
        compile_actor(
            f"from cowboy_sdk import runtime\ndef run(): runtime.{name}(1)".encode()
        )
    assert f"has no {name!r}" in str(error.value)
    assert error.value.refusals[0].instead


def value(expression, names="runtime", lines=""):
    source = f"from cowboy_sdk import {names}\n{lines}\ndef run():\n    return "
    result = call_once(source + f"[{expression}]")
    assert result.outcome.is_success, result.error
    return cbor.decode(result.value)[0]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("runtime.get_sender()", SENDER),
        ("runtime.get_block_height()", 5),
        ("runtime.get_timestamp_ms()", 1_700_000_005_000),
        ("runtime.get_chain_id()", 100),
        ("runtime.get_tx_hash()", bytes(32)),
        ("runtime.context()['handler']", "run"),
        ("runtime.keccak256(b'')", keccak256(b"")),
        ("len(runtime.randomness(b'd'))", 32),
        ("runtime.get_owner()", DEPLOYER),
        ("runtime.assume_ownership_if_unowned()", DEPLOYER),
        ("runtime.is_initialized()", True),
        ("runtime.get_actor_address() == runtime.context()['actor_addr']", True),
        ("runtime.set_state(b'k', b'v') or runtime.scan_state_prefix(b'k')",
         [[b"k", b"v"]]),
        ("runtime.delete_state(b'k') or runtime.get_state(b'k')", None),
        ("runtime.charge_gas(1)", None),
    ],
)  # fmt: skip
def test_the_runtime(expression, expected):
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("payload", "data"),
    [
        ("{'b': 1, 'a': [2]}", b'{"a":[2],"b":1}'),
        ("[1]", b"[1]"),
        ("'text'", b"text"),
        ("b'raw'", b"raw"),
    ],
)
def test_an_event_is_json_text_or_bytes(payload, data):
    source = "from cowboy_sdk import runtime\ndef run():\n    runtime.emit_event"
    result = call_once(f"{source}('topic', {payload})")
    assert result.effects == (("emit_event", "topic", data),)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f"Address({SENDER!r})", SENDER),
        (f"Address.from_hex('0x{SENDER.hex()}')", SENDER),
        (f"Address('{SENDER.hex()}')", SENDER),
        (f"Address.to_hex({SENDER!r})", "0x" + SENDER.hex()),
        ("Address.ZERO", bytes(20)),
        ("BlockHeight(7) + 1", 8),
        ("list(ordered_set([3, 1, 3]))", [3, 1]),
        ("1 in ordered_set([1])", True),
        ("PriorityTier.FAST", "fast"),
        ("codec.decode(codec.encode({'a': [1, b'x']}))", {"a": [1, b"x"]}),
        ("derive_actor_address(bytes(20), b's', bytes(32))",
         keccak256(b"\xff" + bytes(20) + b"s" + bytes(63))[12:]),
    ],
)  # fmt: skip
def test_types(expression, expected):
    names = "Address, BlockHeight, ordered_set, PriorityTier, codec, "
    assert value(expression, names + "derive_actor_address") == expected


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("Address(b'19')", "HostError.InvalidInput: value: an address is 20 bytes"),
        ("Address(5)", "HostError.InvalidInput"),
        ("Address('0x' + 'g' * 40)", "HostError.InvalidInput"),
        ("Address(' ' * 40)", "HostError.InvalidInput"),
        (f"Address.from_hex({SENDER!r})", "HostError.InvalidInput: text must be str"),
        ("BlockHeight(-1)", "ValueError: a height is an int of 0 or more"),
        ("BlockHeight(True)", "ValueError"),
        ("codec.decode(b'\\xff')", "cowboy_sdk.CodecError"),
        ("codec.encode({1, 2})", "cowboy_sdk.CodecError"),
        ("derive_actor_address(bytes(20), bytes(33), bytes(32))",
         "cowboy_sdk.AddressError"),
    ],
)  # fmt: skip
def test_what_types_refuse(expression, error):
    source = "from cowboy_sdk import Address, BlockHeight, codec, derive_actor_address"
    result = call_once(f"{source}\ndef run():\n    return {expression}")
    assert result.error.startswith(error)


CALLEE = """
import pvm_host

def echo(payload):
    return [pvm_host.cbor_decode(payload)]

def nothing(payload):
    return None

def text(payload):
    return "not CBOR"

def fails(payload):
    raise ValueError("no")
"""


@pytest.fixture
def pair():
    """A world, and what a caller says of a callee."""
    world = World()
    callee = world.add(CALLEE)

    def run(expression):
        source = f"""
from cowboy_sdk import ActorRef, call, errors, send
import pvm_host
CALLEE = {callee!r}

def run():
    try:
        return [{expression}]
    except errors.CowboyError as error:
        return f"{{type(error).__name__}} {{error.ERROR_SLUG}} {{error}}"
"""
        return world.call(world.add(source), "run")

    return run


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("call(CALLEE, 'echo', {'a': 1})", [[{"a": 1}]]),
        ("call(target=CALLEE.hex(), method='echo', args=[1, 2])", [[[1, 2]]]),
        ("call(CALLEE, 'nothing', cycles_limit=9_000)", [None]),
        ("ActorRef(CALLEE).echo(1, b'x')", [[[1, b"x"]]]),
        ("ActorRef('0x' + CALLEE.hex()).echo(who='me')", [[{"who": "me"}]]),
        ("ActorRef(CALLEE, cycles_limit=9_000).nothing()", [None]),
    ],
)
def test_a_call_has_cbor_both_ways(pair, expression, expected):
    assert cbor.decode(pair(expression).value) == expected


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("call(CALLEE, 'fails', 1)", b"ActorCallError E1206 ValueError: no"),
        ("call(CALLEE, 'text')", b"ActorCallError E1206 text answered something else"),
        ("call(bytes(20), 'echo')", b"ActorNotFoundError E1220 NotFound"),
        ("call(CALLEE, 'echo', {1, 2})", b"CodecError E1213"),
    ],
)
def test_how_a_call_fails(pair, expression, text):
    assert pair(expression).value.startswith(text)


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("ActorRef(CALLEE).fails()", "RevertError"),
        ("ActorRef(CALLEE).text()", "HostError.InvalidInput"),
        ("ActorRef(CALLEE).echo({1, 2})", "HostError.InvalidInput"),
        ("ActorRef(CALLEE).echo(1, who=2)", "HostError.InvalidInput"),
        ("ActorRef(CALLEE, 'much').echo()", "HostError.InvalidInput"),
        ("ActorRef(5)", "HostError.InvalidInput"),
        ("call(CALLEE, 'absent')", "RevertError"),
    ],
)
def test_how_a_reference_fails(pair, expression, kind):
    result = pair(expression)
    if result.outcome.failure is None:
        assert result.value.startswith(b"ActorCallError")
    else:
        assert result.outcome.failure.kind == kind


def test_a_message_has_its_payload_as_cbor_or_as_it_is(pair):
    both = "send(CALLEE, {'a': 1}), send(CALLEE.hex(), b'raw', raw=True)"
    sent = [payload for _, _, payload, *_ in pair(both).effects]
    assert sent == [cbor.encode({"a": 1}), b"raw"]


OWNED = """
from cowboy_sdk import actor, public, callable_by, OWNER, runtime
import pvm_host

@actor
class Box:
    def init(self, payload):
        self.storage["before"] = runtime.is_initialized()
        self.storage["owner"] = runtime.assume_ownership_if_unowned()

    @public
    def facts(self):
        return [self.storage["before"], self.storage["owner"], runtime.get_owner()]

    @public
    def give(self, payload):
        runtime.transfer_ownership(payload)

    @public
    def renounce(self):
        runtime.renounce_ownership()

    @public
    def forge(self, payload):
        pvm_host.set_state(b"__OWNER__", payload)

    @public
    def remove(self):
        pvm_host.delete_state(b"__OWNER__")

    @callable_by(OWNER)
    def owners(self):
        return b"owner"
"""


def test_the_owner_is_the_deployer_until_transferred():
    world = World()
    box = world.deploy(OWNED)

    def run(handler, payload=b"", sender=DEPLOYER):
        return world.run(world.message(box, (handler,), payload, sender))

    assert cbor.decode(run("facts").value) == [False, DEPLOYER, DEPLOYER]
    assert run("give", SENDER, SENDER).error.startswith("HostError.PermissionDenied")
    assert run("give", SENDER).outcome.is_success
    assert run("owners").error.startswith("HostError.PermissionDenied")
    assert run("owners", sender=SENDER).value == b"owner"
    assert run("give", bytes(20), SENDER).error.startswith("HostError.InvalidInput")
    assert run("give", b"short", SENDER).error.startswith("HostError.InvalidInput")
    assert run("give", DEPLOYER, box).outcome.is_success  # the actor itself
    assert run("renounce", sender=SENDER).error.startswith("HostError.Permission")
    assert run("renounce").outcome.is_success
    assert run("owners").error.startswith("HostError.PermissionDenied")
    assert cbor.decode(run("facts").value)[2] == bytes(20)


@pytest.mark.parametrize("handler", ["forge", "remove"])
def test_no_actor_writes_the_owner_itself(handler):
    world = World()
    result = world.call(world.deploy(OWNED), handler, SENDER)
    assert result.error.startswith("HostError.Forbidden: key: __OWNER__")


def test_a_guarded_value_is_what_it_was():
    source = """
from cowboy_sdk import StateConflictError, storage_guard, GuardSet

class Actor:
    def run(self, payload):
        self.storage["n"] = 1
        guard, both = storage_guard("n"), GuardSet("n", "absent")
        seen = [guard.value, guard.verify(guard.fingerprint), both.verify()]
        seen.append(storage_guard("absent").value)
        self.storage["n"] = 2
        try:
            guard.value
        except StateConflictError as error:
            seen.append(str(error))
        try:
            both.verify()
        except StateConflictError:
            seen.append(3)
        return seen
"""
    decoded = cbor.decode(call_once(source).value)
    assert decoded == [1, None, None, None, "'n' changed", 3]


def test_all_host_functions_have_a_name_in_the_sdk_or_a_reason():
    """docs/compatibility.md lists them."""
    renamed = {
        "block_height", "block_timestamp", "self_address", "state_scan_prefix",
    }  # fmt: skip
    of_pvm_host_only = {
        "cbor_decode", "cbor_encode", "gas_left", "get_balance", "get_timer",
        "list_timers", "log", "revert", "sha256", "transfer", "verify_secp256k1",
    }  # fmt: skip
    assert renamed | of_pvm_host_only == FUNCTIONS - RUNTIME


def test_what_is_said_to_be_absent_is():
    for module in ("cowboy_sdk", "cowboy_sdk.runtime"):
        assert not language.ABSENT_FROM_SDK.keys() & find_module(module).exports


MODELS = """
import json
from cowboy_sdk import CowboyModel, actor

class Item(CowboyModel):
    name: str
    count: int = 1

class Order(Item):
    buyer: bytes = b""
    tags: list[str] = None

    def total(self):
        return self.count * 2

@actor
class Shop:
    def keep(self, payload):
        order = Order("pen", count=int(payload), tags=["a"])
        self.storage["order"] = order.to_dict()
        return [order.total(), order.to_dict(), repr(order)]

    def again(self):
        order = Order.from_dict(self.storage["order"])
        order.validate()
        return order == Order.from_cbor(order.to_cbor())

    def schema(self):
        return Order.schema()

    def wrong(self):
        Item(5).validate()

    def unknown(self):
        Item.from_dict({"name": "x", "other": 1})

    def missing(self):
        Item(count=1)
"""


def test_a_model_is_a_dataclass_with_a_form():
    world = World()
    shop = world.add(MODELS)
    fields = {"name": "pen", "count": 3, "buyer": b"", "tags": ["a"]}
    shown = "Order(name='pen', count=3, buyer=b'', tags=['a'])"
    assert cbor.decode(world.call(shop, "keep", b"3").value) == [6, fields, shown]
    assert cbor.decode(world.call(shop, "again").value) is True
    assert cbor.decode(world.call(shop, "schema").value) == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "count": {"type": "integer"},
            "buyer": {"type": "string"},
            "tags": {"type": "array"},
        },
        "required": ["name"],
    }


@pytest.mark.parametrize(
    ("handler", "error"),
    [
        ("wrong", "ValueError: name: str is wanted, not int"),
        ("unknown", "TypeError"),
        ("missing", "TypeError"),
    ],
)
def test_what_a_model_refuses(handler, error):
    told = call_once(MODELS, handler).error
    # Of a call that CPython refuses the text is one for all.
    assert told.startswith("TypeError: ") if error == "TypeError" else told == error


def test_models_that_derive_from_each_other_are_refused():
    source = """
from cowboy_sdk import CowboyModel
class A(B):
    x: int = 1
class B(A):
    y: int = 2
"""
    with pytest.raises(CompileError):
        compile_actor(source.encode())


def test_random_and_time_are_modules_of_the_package():
    """Of the library as they are, so that `import random` is the same generator."""
    for name in ("pvm_random", "pvm_time"):
        own = find_module(f"cowboy_sdk.{name}").exports
        assert own >= find_module(name).exports
    assert value("pvm_time.time_ms()", "pvm_time") == 1_700_000_005_000
    assert value("1 <= pvm_random.randint(1, 6) <= 6", "pvm_random") is True
