"""Every host call with every wrong type, on the chain (host-api.md §2, D16).

A typed error that names the argument, charged as the price table says, no effect left.
"""

import pytest

from node.primitives import codec
from node.testing import Devnet
from pvm import costs
from pvm.testing import World, call_once

WRONG = {
    "none": "None",
    "true": "True",
    "int": "5",
    "negative": "-1",
    "huge": "2**200",
    "text": "'text'",
    "bytes": "b'x'",
    "list": "[]",
    "dict": "{}",
    "tuple": "()",
    "set": "set()",
    "object": "Box()",
    "function": "len",
}

ADDRESS, HASH = "pvm_host.self_address()", "bytes(32)"
ADDRESS_WANTED, BYTES, NUMBER, TEXT = (), ("bytes",), ("int",), ("text",)
MAYBE = ("none",)

# Call → base price, and for each argument: name, a good value, wrong ones it takes.
CALLS = {
    "transfer": (
        costs.TRANSFER,
        [("to", ADDRESS, ADDRESS_WANTED), ("amount", "0", NUMBER)],
    ),
    "get_balance": (costs.GET_BALANCE, [("address", ADDRESS, ADDRESS_WANTED)]),
    "get_state": (costs.GET_STATE, [("key", "b'k'", BYTES)]),
    "set_state": (
        costs.SET_STATE,
        [("key", "b'k'", BYTES), ("value", "b'v'", BYTES)],
    ),
    "delete_state": (costs.DELETE_STATE, [("key", "b'k'", BYTES)]),
    "state_scan_prefix": (
        costs.SCAN_STATE,
        [("prefix", "b'k'", BYTES), ("limit", "1", NUMBER)],
    ),
    "schedule_timer": (
        costs.SCHEDULE_TIMER,
        [
            ("height", "99", ()),
            ("payload", "b''", BYTES),
            ("fee_payer", "None", MAYBE),
            ("gas_limit", "None", MAYBE),
            ("expires_at", "None", (*MAYBE, *NUMBER)),
            ("max_fee_per_cycle", "None", (*MAYBE, *NUMBER)),
            ("max_priority_fee_per_cycle", "None", (*MAYBE, *NUMBER)),
            ("gba", "None", MAYBE),
            ("priority_tier_hint", "None", (*MAYBE, *TEXT)),
        ],
    ),
    "schedule_timer_ex": (
        costs.SCHEDULE_TIMER,
        [
            ("height", "99", ()),
            ("payload", "b''", BYTES),
            ("fee_payer", "None", MAYBE),
            ("gas_limit", "None", MAYBE),
            ("expires_at", "None", (*MAYBE, *NUMBER)),
        ],
    ),
    "extend_timer": (
        costs.EXTEND_TIMER,
        [("timer_id", HASH, BYTES), ("new_expires_at", "99", ("int",))],
    ),
    "cancel_timer": (costs.CANCEL_TIMER, [("timer_id", HASH, BYTES)]),
    "get_timer": (costs.GET_TIMER, [("timer_id", HASH, BYTES)]),
    "send_message": (
        costs.SEND_MESSAGE,
        [
            ("target", ADDRESS, ADDRESS_WANTED),
            ("handler", "'h'", ("none", "text")),
            ("payload", "b''", BYTES),
            ("cycles", "None", MAYBE),
            ("cells", "None", (*MAYBE, *NUMBER)),
        ],
    ),
    "create_deferred_tx": (
        costs.SEND_MESSAGE,
        [
            ("handler", "'h'", TEXT),
            ("payload", "b''", BYTES),
            ("cycles", "None", MAYBE),
            ("cells", "None", (*MAYBE, *NUMBER)),
        ],
    ),
    "call_actor": (
        costs.CALL_ACTOR,
        [
            ("target", ADDRESS, ADDRESS_WANTED),
            ("handler", "'h'", TEXT),
            ("payload", "b''", BYTES),
            ("cycles_limit", "9", NUMBER),
        ],
    ),
    "upgrade_self": (costs.UPGRADE_SELF, [("code", "b'x = 1'", BYTES)]),
    "emit_event": (
        costs.EMIT_EVENT,
        [("topic", "'t'", TEXT), ("data", "b''", BYTES)],
    ),
    "charge_gas": (costs.READ_CONTEXT, [("n", "1", (*NUMBER, "huge"))]),
    "revert": (costs.READ_CONTEXT, [("message", "''", TEXT)]),
    "log": (costs.LOG, [("level", "'info'", ())]),
    "randomness": (costs.RANDOMNESS, [("domain", "b''", BYTES)]),
    "keccak256": (costs.KECCAK256, [("data", "b''", BYTES)]),
    "sha256": (costs.SHA, [("data", "b''", BYTES)]),
    "verify_secp256k1": (
        costs.VERIFY_SECP256K1,
        [
            ("hash", HASH, ()),
            ("signature", "bytes(65)", ()),
            ("address", "bytes(20)", ()),
        ],
    ),
    "cbor_decode": (costs.CODEC, [("data", "b'\\x01'", BYTES)]),
}

CASES = [
    (name, index)
    for name, (_, arguments) in CALLS.items()
    for index in range(len(arguments))
]

VALUES = ", ".join(f"({label!r}, {value})" for label, value in WRONG.items())
HEAD = f"""
import pvm_host

class Box:
    pass

def wrong(taken):
    return [value for label, value in [{VALUES}] if label not in taken]

def attempt(function, *arguments):
    left = pvm_host.gas_left()
    try:
        function(*arguments)
        return None
    except pvm_host.HostError as error:
        return [error.code, str(error), left - pvm_host.gas_left()]
"""


def source():
    """One handler for each argument of each call, which tries every wrong value."""
    parts = [HEAD]
    for name, index in CASES:
        arguments = [good for _, good, _ in CALLS[name][1]]
        arguments[index] = "value"
        taken = CALLS[name][1][index][2]
        call = f"attempt(pvm_host.{name}, {', '.join(arguments)})"
        body = f"[{call} for value in wrong({taken!r})]"
        known = "attempt(pvm_host.charge_gas, None)"
        parts.append(f"def {name}_{index}():\n    return [{known}, {body}]\n")
    return "\n".join(parts)


@pytest.fixture(scope="module")
def deployed():
    with Devnet() as chain:
        actor = chain.deploy(source(), value="20 CBY")
        chain.mine_until(10)  # so that the wrong number 5 is no height to come
        yield chain, actor


@pytest.fixture
def actor(deployed):
    """The actor, at the same height for each test, whichever ran before."""
    chain, actor = deployed
    with chain.snapshot():
        yield actor


@pytest.mark.parametrize(("name", "index"), CASES)
def test_a_wrong_type_is_refused_charged_and_without_effect(actor, name, index):
    base, arguments = CALLS[name]
    receipt = actor.call(f"{name}_{index}", cycles_limit=3_000_000, cells_limit=400_000)
    (_, _, known), refusals = codec.decode(receipt.value)
    spread = len(arguments) - 1  # what passing on more arguments costs
    for refusal in refusals:
        assert refusal is not None, "it was accepted"
        code, text, charged = refusal
        assert code == 1
        assert text.startswith(f"InvalidInput: {arguments[index][0]}")
        assert charged - known == base - costs.READ_CONTEXT + spread
    assert receipt.scheduled == ()
    assert dict(actor.storage) == {}
    assert actor.timers == []


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {"log"}))
def test_a_wrong_number_of_arguments_is_a_type_error(name):
    """It is the language's: nothing of the call was charged."""
    failure = call_once(
        f"def run():\n    pvm_host.{name}({'1, ' * 12})"
    ).outcome.failure
    assert failure.kind == "TypeError"
    assert "arguments" in failure.hint


# --- payloads of every size, values without a form, answers that are none ------------

LIMITS = {"cycles_limit": 3_000_000, "cells_limit": 400_000}


@pytest.fixture(scope="module")
def echo():
    source = """
class Actor:
    def size(self, payload):
        return len(payload)

    def answer(self, payload):
        return b"x" * int(payload)

    def store(self, payload):
        self.storage["v"] = b"x" * int(payload)
"""
    with Devnet() as chain:
        yield chain.deploy(source)


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 255, 256, 4_096, 65_535, 65_536])
def test_a_payload_of_any_size_to_the_limit_arrives(echo, size):
    assert codec.decode(echo.call("size", b"x" * size, **LIMITS).value) == size


@pytest.mark.parametrize(("size", "kind"), [(65_536, None), (65_537, "ReturnValue")])
def test_an_answer_has_at_most_64_kib(echo, size, kind):
    wanted = {} if kind is None else {"expect_failure": True}
    receipt = echo.call("answer", str(size).encode(), **wanted, **LIMITS)
    assert (receipt.failure and receipt.failure.kind) == kind
    assert len(receipt.value) == (0 if kind else size)


@pytest.mark.parametrize(
    ("size", "kind"), [(65_534, "HostError.StorageError"), (65_533, None)]
)
def test_a_stored_value_has_at_most_65536_bytes_with_its_head(echo, size, kind):
    wanted = {} if kind is None else {"expect_failure": True}
    receipt = echo.call("store", str(size).encode(), **wanted, **LIMITS)
    assert (receipt.failure and receipt.failure.kind) == kind


@pytest.mark.parametrize(
    "value",
    [
        "{1, 2}", "Box()", "Box", "len", "lambda: 1", "[[Box()]]", "{'k': {1}}",
        "{(1, 2): 1}", "{b'k': 1}", "(1 for _ in [1]) and Box()", "range(3)",
        "[nested(70)]", "1 << 300 if False else Box().method", "pvm_host", "gen()",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("use", "kind"),
    [
        ("self.storage['k'] = {}", "HostError.StorageError"),
        ("pvm_host.cbor_encode({})", "HostError.InvalidInput"),
        ("return {}", "ReturnValue"),
    ],
)
def test_a_value_without_a_form_is_refused_and_leaves_nothing(value, use, kind):
    source = f"""
import pvm_host

class Box:
    def method(self):
        pass

def nested(n):
    value = 1
    for i in range(n):
        value = [value]
    return value

def gen():
    yield 1

class Actor:
    def run(self, payload):
        self.storage["before"] = 1
        {use.format(value)}
"""
    world = World()
    result = world.call(world.add(source), "run")
    failure = result.outcome.failure
    assert failure.kind == kind
    assert failure.message
    assert failure.line == (None if kind == "ReturnValue" else 20)
    assert (world.state, result.effects, result.value) == ({}, (), b"")
