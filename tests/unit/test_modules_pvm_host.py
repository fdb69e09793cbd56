"""`pvm_host` (host-api.md §2): the binding between actor code and a host."""

import hashlib
import inspect

import pytest

from pvm import cbor, costs
from pvm.errors import (
    HostError,
    OutOfCycles,
    ReadOnlyViolation,
    Reverted,
    RevertError,
)
from pvm.hashing import keccak256
from pvm.host import MUTATING, Host
from pvm.modules import EXPORTS, NATIVE
from pvm.modules.pvm_host import FUNCTIONS

ADDRESS = b"\x01" * 20


@pytest.fixture
def context(make_context):
    return make_context()


@pytest.fixture
def names(context):
    return NATIVE["pvm_host"](context)


# One call of each function that a dictionary host accepts.
CALLS = {
    "block_height": (),
    "block_timestamp": (),
    "call_actor": (ADDRESS, "main", b""),
    "cancel_timer": (bytes(32),),
    "cbor_decode": (b"\x01",),
    "cbor_encode": (1,),
    "charge_gas": (1,),
    "context": (),
    "create_deferred_tx": ("main", b""),
    "delete_state": (b"k",),
    "emit_event": ("topic", b""),
    "extend_timer": (bytes(32), 9),
    "gas_left": (),
    "get_balance": (ADDRESS,),
    "get_sender": (),
    "get_state": (b"k",),
    "get_timer": (bytes(32),),
    "keccak256": (b"",),
    "list_timers": (),
    "log": ("info", "text"),
    "randomness": (b"d",),
    "revert": ("why",),
    "schedule_timer": (9, b""),
    "schedule_timer_ex": (9, b""),
    "self_address": (),
    "send_message": (ADDRESS, b""),
    "set_state": (b"k", b"v"),
    "set_state_watch": (ADDRESS, [b"k"], b""),
    "set_timeout": (ADDRESS, 9, b""),
    "sha256": (b"",),
    "state_scan_prefix": (b"k", 10),
    "transfer": (ADDRESS, 0),
    "update_timer": (bytes(32), b""),
    "upgrade_self": (b"x = 1",),
    "verify_secp256k1": (bytes(32), bytes(65), bytes(20)),
}


def test_every_function_of_the_table_is_there(names):
    assert (
        set(names) == EXPORTS["pvm_host"] == set(CALLS) | {"HostError", "RevertError"}
    )
    assert names["HostError"] is HostError
    assert names["RevertError"] is RevertError


def test_every_method_of_the_host_is_reachable():
    methods = {name for name in vars(Host) if not name.startswith("_")}
    assert methods <= FUNCTIONS
    assert methods <= FUNCTIONS
    assert MUTATING <= FUNCTIONS


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_signatures_are_exact(names, name):
    """sandbox-internals.md §9: no `**kwargs` passed through."""
    kinds = {p.kind for p in inspect.signature(names[name]).parameters.values()}
    if name == "log":  # which takes values as `print` does
        kinds.remove(inspect.Parameter.VAR_POSITIONAL)
    assert kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    with pytest.raises(TypeError):
        names[name](*CALLS[name], no_such_parameter=1)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_halted_meter_refuses_every_call(context, name):
    context.host.timers[bytes(32)] = {}
    names = NATIVE["pvm_host"](context)
    with pytest.raises(OutOfCycles):
        context.meter.charge_cycles(10**9)
    before = dict(context.host.state), list(context.host.calls)
    with pytest.raises(OutOfCycles):
        names[name](*CALLS[name])
    assert (context.host.state, context.host.calls) == before


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_read_only_execution_halts_on_mutating_calls_only(
    make_context, make_meter, name
):
    """D15."""
    context = make_context(make_meter(read_only=True))
    context.host.timers[bytes(32)] = {}
    function = NATIVE["pvm_host"](context)[name]
    if name in MUTATING:
        with pytest.raises(ReadOnlyViolation):
            function(*CALLS[name])
        assert isinstance(context.meter.halted, ReadOnlyViolation)
        assert context.host.calls == []
        assert context.host.state == {}
    elif name == "revert":
        with pytest.raises(Reverted):
            function(*CALLS[name])
    else:
        function(*CALLS[name])
        assert context.meter.halted is None


def test_nothing_can_be_assigned_to_what_actors_get(names):
    for value in names.values():
        for name in ("x", "name", "code", "handler", "context"):
            with pytest.raises((AttributeError, TypeError)):
                setattr(value, name, 1)
            with pytest.raises((AttributeError, TypeError)):
                delattr(value, name)


def test_context_says_all_that_the_message_says(names):
    assert names["context"]() == {
        "block_height": 7,
        "block_hash": b"\xbe" * 32,
        "tx_hash": b"\x0f" * 32,
        "sender": b"\x55" * 20,
        "origin": b"\x0f" * 32,
        "value": 11,
        "timestamp_ms": 7_000,
        "actor_addr": b"\xaa" * 20,
        "msg_id": b"\x1d" * 32,
        "nonce": 3,
        "chain_id": 31_337,
        "handler": "main",
        "timer": None,
    }


def test_context_is_a_fresh_dict_each_time(names):
    names["context"]()["sender"] = b""
    assert names["context"]()["sender"] == b"\x55" * 20


def test_what_the_message_says_one_by_one(names):
    assert names["block_height"]() == 7
    assert names["block_timestamp"]() == 7_000
    assert names["self_address"]() == b"\xaa" * 20
    assert names["get_sender"]() == b"\x55" * 20


@pytest.mark.parametrize(
    "name",
    ["block_height", "block_timestamp", "self_address", "get_sender"],
)
def test_reading_the_message_costs_7(context, names, name):
    names[name]()
    assert context.meter.cycles_used == 7 == costs.READ_CONTEXT


def test_reading_it_whole_pays_for_the_digests_in_it(context, names):
    names["context"]()
    assert context.meter.cycles_used == 300 == costs.CONTEXT


def test_gas(context, names):
    left = context.meter.cycles_left
    assert names["gas_left"]() == left - 7
    names["charge_gas"](100)
    assert context.meter.cycles_left == left - 7 - 7 - 100
    names["charge_gas"](0)


@pytest.mark.parametrize("n", [-1, True, "1", None, b"", 1.0])
def test_charge_gas_wants_an_int_of_0_or_more(context, names, n):
    with pytest.raises(HostError) as error:
        names["charge_gas"](n)
    assert (error.value.code, error.value.name) == (1, "InvalidInput")
    assert context.meter.cycles_used == 7


@pytest.mark.parametrize("beyond", [1, 2**70, 2**4000])
def test_charging_more_than_is_left_ends_the_execution(context, names, beyond):
    with pytest.raises(OutOfCycles):
        names["charge_gas"](context.meter.cycles_left + beyond)
    assert context.meter.cycles_used == context.meter.cycles_limit


def test_revert_ends_the_execution_with_the_message(context, names):
    with pytest.raises(Reverted, match=r"^not today$"):
        names["revert"]("not today")
    assert isinstance(context.meter.halted, Reverted)
    assert context.meter.cycles_used == 7


def test_revert_wants_a_short_str(context, names):
    for message in (b"x", 1, None, "x" * 1_025):
        with pytest.raises(HostError, match="message"):
            names["revert"](message)
    assert context.meter.halted is None
    with pytest.raises(Reverted):
        names["revert"]("x" * 1_024)


def test_hashes(context, names):
    meter = context.meter
    for length, words, blocks in (
        (0, 0, 0),
        (1, 1, 1),
        (32, 1, 1),
        (33, 2, 1),
        (65, 3, 2),
    ):
        data = b"x" * length
        before = meter.cycles_used
        assert names["keccak256"](data) == keccak256(data)
        assert meter.cycles_used - before == 100 + 6 * words
        before = meter.cycles_used
        assert names["sha256"](data) == hashlib.sha256(data).digest()
        assert meter.cycles_used - before == 500 + 8 * blocks


@pytest.mark.parametrize(("name", "base"), [("keccak256", 100), ("sha256", 500)])
@pytest.mark.parametrize("data", ["x", bytearray(b"x"), 1, None])
def test_hashes_want_bytes_and_charge_their_base(context, names, name, base, data):
    wanted = f"data must be bytes, not {type(data).__name__}"
    with pytest.raises(HostError, match=wanted):
        names[name](data)
    assert context.meter.cycles_used == base


def test_cbor(names):
    value = {"b": [1, None], "a": b"x"}
    assert names["cbor_encode"](value) == cbor.encode(value)
    assert names["cbor_decode"](cbor.encode(value)) == value


def test_refused_cbor_is_invalid_input_and_charged(context, names):
    for name, argument in (
        ("cbor_encode", {1, 2}),
        ("cbor_encode", [1.5]),
        ("cbor_decode", b"\x18\x01"),
        ("cbor_decode", "text"),
        ("cbor_decode", b"\x81" * 70 + b"\x01"),
    ):
        before = context.meter.cycles_used
        with pytest.raises(HostError) as error:
            names[name](argument)
        assert (error.value.code, error.value.name) == (1, "InvalidInput")
        assert context.meter.cycles_used - before >= 0
    assert context.meter.cycles_used > 4 * costs.CODEC


def test_send_message_takes_two_or_three_arguments(context, names):
    send = names["send_message"]
    send(ADDRESS, b"p")
    send(ADDRESS, payload=b"p")
    send(ADDRESS, "tick", b"p")
    send(ADDRESS, "tick", b"p", cycles=5, cells=6)
    send(ADDRESS, handler="tick", payload=b"p")
    assert context.host.calls == [
        ("send_message", ADDRESS, b"p", None, None, None),
        ("send_message", ADDRESS, b"p", None, None, None),
        ("send_message", ADDRESS, "tick", b"p", None, None),
        ("send_message", ADDRESS, "tick", b"p", 5, 6),
        ("send_message", ADDRESS, "tick", b"p", None, None),
    ]


def test_schedule_timer_takes_its_parameters_in_printed_order(context, names):
    """CIP-5 §4.1, CIP-1 §6."""
    names["schedule_timer"](9, b"p", b"f", 1, 2, 3, 4, b"g", 5, 6)
    names["schedule_timer"](9, b"p", bid=6, gba=b"g")
    names["schedule_timer_ex"](9, b"p", expires_at=2, gas_limit=1)
    assert context.host.calls == [
        ("schedule_timer", 9, b"p", b"f", 1, 2, 3, 4, b"g", 5, 6),
        ("schedule_timer", 9, b"p", None, None, None, None, None, b"g", None, 6),
        ("schedule_timer", 9, b"p", None, 1, 2, None, None, None, None, None),
    ]
    with pytest.raises(TypeError):
        names["schedule_timer_ex"](9, b"p", None, None, None, 3)


def test_arguments_reach_the_host_as_they_came(context, names):
    names["call_actor"](ADDRESS, "h", b"p")
    names["create_deferred_tx"]("h", b"p", cycles=1, cells=2)
    names["emit_event"]("t", b"d")
    names["extend_timer"](b"id", 5)
    assert context.host.calls == [
        ("call_actor", ADDRESS, "h", b"p", 100_000),
        ("create_deferred_tx", "h", b"p", 1, 2),
        ("emit_event", "t", b"d"),
        ("extend_timer", b"id", 5),
    ]


def test_state_balances_and_timers(context, names):
    names["set_state"](b"a", b"1")
    names["set_state"](b"ab", b"2")
    assert names["get_state"](b"a") == b"1"
    assert names["state_scan_prefix"](b"a", 10) == [(b"a", b"1"), (b"ab", b"2")]
    names["delete_state"](b"a")
    assert names["get_state"](b"a") is None
    context.host.balances[b"\xaa" * 20] = 5
    names["transfer"](ADDRESS, 2)
    assert names["get_balance"](ADDRESS) == 2
    timer_id = names["schedule_timer"](9, b"p")
    assert names["list_timers"]() == [timer_id]
    assert names["get_timer"](timer_id) == {"height": 9, "payload": b"p"}
    names["cancel_timer"](timer_id)
    assert names["get_timer"](timer_id) is None
    with pytest.raises(HostError, match="TimerNotFound"):
        names["cancel_timer"](timer_id)
    assert names["randomness"](b"d") == hashlib.sha256(b"d").digest()
    assert names["verify_secp256k1"](bytes(32), bytes(65), bytes(20))


def test_what_comes_back_takes_memory(context, names):
    memory = context.meter.memory

    def taken(call):
        before = memory.cell_contents
        call()
        return before - memory.cell_contents

    context.host.state[b"k"] = b"x" * 64
    context.host.state[b"long"] = b"x" * 65
    assert taken(lambda: names["get_state"](b"k")) == 0
    assert taken(lambda: names["get_state"](b"long")) == 56 + 65
    assert taken(lambda: names["state_scan_prefix"](b"", 10)) == 56 + 2 * 72 + 56 + 65
    assert taken(lambda: names["call_actor"](ADDRESS, "h", b"x" * 65)) == 56 + 65
    assert taken(names["context"]) == 64 + 13 * 100
    timer_id = names["schedule_timer"](9, b"x" * 65)
    assert taken(names["list_timers"]) == 56 + 8
    assert taken(lambda: names["get_timer"](timer_id)) == 64 + 2 * 100 + 56 + 65
