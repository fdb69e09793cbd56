"""Who calls whom, and `call_actor`: D13, D14."""

import pytest

from node.chain.block import ReceiptKind
from node.chain.transaction import ExecuteActor
from node.primitives import codec
from node.primitives.crypto import keccak256
from pvm import compile_actor, costs

CBY = 10**9
NOBODY = bytes(32)
ROOMY = {"cycles_limit": 2_000_000, "cells_limit": 500_000}

WITNESS = """
import pvm_host

class Witness:
    def tell(self):
        seen = pvm_host.context()
        seen["get_sender"] = pvm_host.get_sender()
        return seen

    def note(self, payload):
        seen = pvm_host.context()
        seen["payload"] = payload
        pvm_host.emit_event("seen", pvm_host.cbor_encode(seen))

    def handle_timer(self, payload):
        self.note(payload)
        me = pvm_host.self_address()
        pvm_host.send_message(me, "note", b"of a fire", 30_000, 999)
        target = self.storage.get("peer")
        if target is not None:
            pvm_host.call_actor(target, "note", b"called by a fire")

    def befriend(self, payload):
        self.storage["peer"] = payload

    def call(self, payload):
        return pvm_host.call_actor(payload, "tell", b"")

    def send(self, payload):
        pvm_host.send_message(payload, "note_and_send", b"first", 90_000, 3_000)

    def defer(self):
        pvm_host.create_deferred_tx("note", b"engine", 30_000, 999)

    def note_and_send(self, payload):
        self.note(payload)
        pvm_host.send_message(pvm_host.self_address(), "note", b"second", 30_000, 999)

    def schedule(self):
        pvm_host.schedule_timer(pvm_host.block_height() + 1, b"tick", None, 100_000)

    def schedule_paid_by(self, payload):
        pvm_host.schedule_timer(
            pvm_host.block_height() + 9, b"paid", payload, 50_000
        )

    def schedule_paid_by_in_a_call(self, payload):
        peer = self.storage["peer"]
        pvm_host.call_actor(peer, "schedule_paid_by", payload)

    def schedule_paid_by_in_a_message(self, payload):
        pvm_host.send_message(
            pvm_host.self_address(), "schedule_paid_by", payload, 30_000, 999
        )
"""


@pytest.fixture
def witness(chain):
    return chain.deploy(WITNESS, value=50 * CBY)


@pytest.fixture
def other(chain):
    return chain.deploy(WITNESS, value=50 * CBY)


def seen(result):
    return [codec.decode(e.data) for e in result.events if e.topic == "seen"]


def msg_id(kind, height, index):
    return keccak256(
        bytes([kind]) + height.to_bytes(8, "big") + index.to_bytes(8, "big")
    )


# --- D13 -----------------------------------------------------------------------------


def test_in_a_transaction_the_sender_is_the_signer(chain, witness):
    """`get_sender()` is the signer in a transaction; `nonce` the signer's."""
    chain.transfer(b"\1" * 20, 1, sender=chain.accounts[5])
    receipt = witness.call("tell", sender=chain.accounts[5])
    told = codec.decode(receipt.value)
    assert told["sender"] == told["get_sender"] == chain.accounts[5].address
    assert told["origin"] == told["tx_hash"] == receipt.id == receipt.origin
    assert told["actor_addr"] == witness.address
    assert told["nonce"] == 1
    assert told["chain_id"] == 100
    assert told["handler"] == "tell"
    assert told["block_height"] == chain.height
    assert told["timestamp_ms"] == 1_700_000_000_000 + 1_000 * chain.height


def test_in_a_call_the_sender_is_the_calling_actor(witness, other):
    """The calling actor in `call_actor`; origin stays the transaction's."""
    receipt = witness.call("call", other.address)
    told = codec.decode(receipt.value)
    assert told["get_sender"] == witness.address
    assert told["actor_addr"] == other.address
    assert told["origin"] == told["tx_hash"] == receipt.id
    assert told["value"] == 0


def test_in_a_message_the_sender_is_the_sending_actor(chain, witness, other):
    """The sending actor in a message; `origin` transitively the transaction's id."""
    receipt = witness.call("send", other.address, **ROOMY)
    (first,) = seen(chain.mine())
    (second,) = seen(chain.mine())
    assert first["payload"] == b"first"
    assert first["sender"] == witness.address
    assert second["payload"] == b"second"
    assert second["sender"] == second["actor_addr"] == other.address
    for told in (first, second):
        assert told["origin"] == told["tx_hash"] == receipt.id
        assert told["nonce"] == 0
        assert told["value"] == 0
    assert chain.last.receipts[0].origin == receipt.id
    assert chain.last.receipts[0].payer == chain.accounts[0].address


def test_a_deferred_transaction_comes_from_the_actor_itself(chain, witness):
    receipt = witness.call("defer", **ROOMY)
    (told,) = seen(chain.mine())
    assert told["sender"] == told["actor_addr"] == witness.address
    assert told["origin"] == receipt.id


def test_in_a_fire_the_sender_is_the_actor_itself(chain, witness, other):
    """The actor itself in a fire; origin 32 zero bytes, also for what fires send."""
    witness.call("befriend", other.address)
    witness.call("schedule")
    fire, called = seen(chain.mine())
    assert fire["payload"] == b"tick"
    assert fire["sender"] == fire["actor_addr"] == witness.address
    assert called["sender"] == witness.address
    assert called["actor_addr"] == other.address
    (message,) = seen(chain.mine())
    assert message["payload"] == b"of a fire"
    for told in (fire, called, message):
        assert told["origin"] == told["tx_hash"] == NOBODY
        assert told["nonce"] == 0
        assert told["value"] == 0


def test_msg_id_names_kind_height_and_index(chain, witness, other):
    """`msg_id` = keccak256(kind ‖ height ‖ index in the block)."""
    for _ in range(2):
        chain.submit(ExecuteActor(witness.address, "tell", b"", 0), **ROOMY)
        chain.submit(ExecuteActor(witness.address, "send", other.address, 0), **ROOMY)
        chain.submit(ExecuteActor(witness.address, "defer", b"", 0), **ROOMY)
        chain.submit(ExecuteActor(witness.address, "schedule", b"", 0), **ROOMY)
    result = chain.mine()
    kind = ReceiptKind.TRANSACTION
    for index in (0, 4):
        told = codec.decode(result.receipts[index].value)
        assert told["msg_id"] == msg_id(kind, chain.height, index)
    events = seen(chain.mine())
    height = chain.height
    ids = [event["msg_id"] for event in events]
    assert ids == [
        msg_id(ReceiptKind.FIRE, height, 0),
        msg_id(ReceiptKind.FIRE, height, 1),
        msg_id(ReceiptKind.ENGINE_MESSAGE, height, 2),
        msg_id(ReceiptKind.ENGINE_MESSAGE, height, 3),
        msg_id(ReceiptKind.MAILBOX_MESSAGE, height, 4),
        msg_id(ReceiptKind.MAILBOX_MESSAGE, height, 5),
    ]
    assert list(ReceiptKind)[:4] == [0, 1, 2, 3]


def test_the_signer_may_pay_only_in_its_own_transaction(chain, witness, other):
    """Consent is per signed transaction: in calls inside it, not in a message."""
    signer = chain.accounts[0].address
    witness.call("befriend", other.address)
    witness.call("schedule_paid_by", signer)
    assert [t.fee_payer for t in witness.timers] == [signer]
    witness.call("schedule_paid_by_in_a_call", signer)
    assert [t.fee_payer for t in other.timers] == [signer]
    for stranger in (chain.accounts[1].address, other.address):
        receipt = witness.call(
            "schedule_paid_by", stranger, expect_failure=True, **ROOMY
        )
        assert "fee_payer: " in receipt.failure.message
    witness.call("schedule_paid_by_in_a_message", signer, **ROOMY)
    (receipt,) = chain.mine().receipts
    assert "fee_payer: " in receipt.failure.message
    witness.call("schedule_paid_by_in_a_message", witness.address, **ROOMY)
    chain.mine()
    assert [t.fee_payer for t in witness.timers] == [signer, witness.address]


# --- call_actor (D14) ----------------------------------------------------------------

CALLER = """
import pvm_host

class Caller:
    def dive(self, payload):
        depth = payload[0]
        if depth == 0:
            return b"bottom"
        return pvm_host.call_actor(
            pvm_host.self_address(), "dive", bytes([depth - 1]), 10_000_000
        )

    def write_and_revert(self):
        self.storage["callee"] = 1
        pvm_host.emit_event("callee", b"")
        pvm_host.transfer(bytes([9] * 20), 1)
        pvm_host.schedule_timer(pvm_host.block_height() + 5, b"")
        pvm_host.revert("enough")

    def catch(self):
        try:
            pvm_host.call_actor(pvm_host.self_address(), "write_and_revert", b"")
        except pvm_host.RevertError as error:
            return [str(error), pvm_host.list_timers(), "callee" in self.storage]

    def do_not_catch(self):
        self.storage["caller"] = 1
        pvm_host.call_actor(pvm_host.self_address(), "write_and_revert", b"")

    def write(self):
        self.storage["callee"] = 1

    def call_then_fail(self):
        pvm_host.call_actor(pvm_host.self_address(), "write", b"")
        raise ValueError

    def spin(self):
        while True:
            pass

    def grow(self):
        data = b"x" * 1_000_000
        return len([data + bytes([i]) for i in range(100)])

    def gorge(self):
        for i in range(100):
            pvm_host.set_state(bytes([i]), bytes(6_000))

    def survive(self, payload):
        before = pvm_host.gas_left()
        try:
            pvm_host.call_actor(
                pvm_host.self_address(), payload.decode(), b"", 100_000
            )
        except pvm_host.RevertError as error:
            return [str(error).split(":")[0], before - pvm_host.gas_left()]

    def survive_quietly(self, payload):
        self.survive(payload)
        pvm_host.transfer(bytes([9] * 20), 1)

    def left(self):
        return pvm_host.gas_left()

    def limits(self, payload):
        limit = pvm_host.cbor_decode(payload)
        got = pvm_host.call_actor(pvm_host.self_address(), "left", b"", limit)
        return [pvm_host.cbor_decode(got), pvm_host.gas_left()]

    def loss(self):
        before = pvm_host.gas_left()
        pvm_host.call_actor(pvm_host.self_address(), "spend", b"")
        return before - pvm_host.gas_left()

    def spend(self):
        pvm_host.charge_gas(20_000)

    def errors(self, payload):
        target, handler = pvm_host.cbor_decode(payload)
        try:
            pvm_host.call_actor(target, handler, b"")
        except pvm_host.HostError as error:
            return error.name
        except pvm_host.RevertError:
            return "RevertError"

    def allocate(self):
        return len(b"x" * 4_000_000)

    def allocate_together(self):
        for i in range(4):
            pvm_host.call_actor(pvm_host.self_address(), "allocate", b"", 9_000_000)

    def pretend(self):
        raise HandlerNotFound("not really")

class HandlerNotFound(Exception):
    pass
"""


@pytest.fixture
def caller(chain):
    return chain.deploy(CALLER.replace("class Caller", "class Actor"), value=10**9)


def test_thirty_two_calls_deep_and_no_further(caller):
    """Depth 33 is `HostError TooDeep`."""
    assert caller.call("dive", bytes([32]), **ROOMY).value == b"bottom"
    receipt = caller.call("dive", bytes([33]), expect_failure=True, **ROOMY)
    assert "TooDeep" in receipt.failure.message


def test_a_callees_revert_is_undone_and_can_be_caught(chain, caller):
    """Its revert undoes the callee's effects and is catchable."""
    receipt = caller.call("catch", **ROOMY)
    text, timers, is_there = codec.decode(receipt.value)
    assert "enough" in text
    assert (timers, is_there) == ([], False)
    assert chain.last.events == ()
    assert chain.last.trace == ()
    assert chain.balance(b"\x09" * 20) == 0
    assert chain.account(caller).scheduling_counter == 0
    assert receipt.scheduled == ()


def test_uncaught_it_fails_the_caller(caller):
    """Shares the transaction's fate."""
    receipt = caller.call("do_not_catch", expect_failure=True, **ROOMY)
    assert receipt.failure.kind == "RevertError"
    assert caller.storage == {}


def test_a_callers_failure_undoes_the_callee(caller):
    caller.call("call_then_fail", expect_failure=True, **ROOMY)
    assert caller.storage == {}


@pytest.mark.parametrize(
    ("handler", "kind"),
    [("spin", "OutOfCycles"), ("write_and_revert", "Reverted")],
)
def test_a_callee_that_halts_leaves_its_caller_running(caller, handler, kind):
    """A callee's halt is a `RevertError` to its caller, which goes on."""
    limits = {"cycles_limit": 500_000, "cells_limit": 20_000}
    receipt = caller.call("survive", handler.encode(), **limits)
    name, spent = codec.decode(receipt.value)
    assert name == kind
    assert spent < 102_000
    assert (spent > 100_000) == (kind == "OutOfCycles")


def test_a_callee_out_of_cells_takes_all_its_caller_had(chain, caller):
    """All cells that are left: the caller goes on without any."""
    limits = {"cycles_limit": 500_000, "cells_limit": 20_000}
    receipt = caller.call("survive_quietly", b"gorge", **limits)
    assert receipt.cells_used == 20_000
    assert chain.balance(b"\x09" * 20) == 1
    assert caller.state(bytes([0])) is None


def test_memory_is_one_account_down_the_chain_of_calls(caller):
    """The memory account is one per transaction, shared down the chain of calls."""
    limits = {"cycles_limit": 20_000_000, "cells_limit": 100_000}
    caller.call("allocate", **limits)
    receipt = caller.call("allocate_together", expect_failure=True, **limits)
    assert receipt.failure.message == (
        "OutOfMemory: more memory than an execution may allocate"
    )


def test_it_gets_at_most_what_is_left(caller):
    """Gets min(limit, what is left) cycles."""
    limits = {"cycles_limit": 100_000, "cells_limit": 50_000}
    receipt = caller.call("limits", codec.encode(30_000), **limits)
    callee, caller_left = codec.decode(receipt.value)
    assert 29_000 < callee < 30_000
    assert caller_left > callee
    receipt = caller.call("limits", codec.encode(2**63), **limits)
    callee, caller_left = codec.decode(receipt.value)
    assert caller_left < callee < 100_000


def test_what_the_callee_used_is_the_callers_loss(caller):
    """It pays no entry charge: the loss is the base, the callee's use and syntax."""
    receipt = caller.call("loss", **ROOMY)
    lost = codec.decode(receipt.value)
    nodes = compile_actor(CALLER.encode()).nodes
    least = 20_000 + costs.CALL_ACTOR + costs.CALL_ACTOR_PER_NODE * nodes
    assert nodes > 200
    assert least < lost < least + 1_000


def test_refused_calls(caller):
    """host-api.md: `NotFound` 2, `HandlerNotFound` 12, `InvalidInput` 1."""
    for target, handler, name in [
        (bytes(20), "x", "NotFound"),
        (bytes(19), "x", "InvalidInput"),
        (caller.address, "", "InvalidInput"),
        (caller.address, 5, "InvalidInput"),
        (caller.address, "absent", "HandlerNotFound"),
        (caller.address, "__init__", "HandlerNotFound"),
        (caller.address, "write_and_revert", "RevertError"),
    ]:
        receipt = caller.call("errors", codec.encode([target, handler]), **ROOMY)
        assert receipt.value.decode() == name


def test_an_exception_of_that_name_is_no_missing_handler(caller):
    """Only a missing handler is `HandlerNotFound`: a name of the actor's is not."""
    payload = codec.encode([caller.address, "pretend"])
    assert caller.call("errors", payload, **ROOMY).value == b"RevertError"


def test_calling_a_large_actor_pays_for_its_syntax(chain):
    """What lets nobody call many large actors in turn, whose code is not at hand."""
    source = "import pvm_host\n\ndef call(target):\n    before = pvm_host.gas_left()\n"
    source += "    pvm_host.call_actor(target, 'run', b'')\n"
    source += "    return before - pvm_host.gas_left()\n"
    caller = chain.deploy(source)
    small = "def run(payload):\n    return 1\n"
    large = small + "def more(a):\n" + "    a += 1\n" * 1_000
    lost = [
        codec.decode(caller.call("call", chain.deploy(one).address, **ROOMY).value)
        for one in (small, large)
    ]
    nodes = [compile_actor(one.encode()).nodes for one in (small, large)]
    assert nodes[1] > 3_000
    more = lost[1] - lost[0]
    assert 0 <= more - costs.CALL_ACTOR_PER_NODE * (nodes[1] - nodes[0]) < 100
