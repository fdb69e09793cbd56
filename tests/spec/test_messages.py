"""Deferred messages: D14, and what D13 says of them."""

import pytest
from msgspec.structs import replace

from node.chain import mailbox
from node.chain.block import ReceiptKind
from node.chain.mailbox import pending_messages
from node.chain.params import MESSAGE_AGE_BLOCKS_MAX
from node.chain.transaction import ExecuteActor, SetBalance
from node.chain.transition import Caches, build_block
from node.primitives import codec
from node.testing import Devnet

SENDER = """
import pvm_host

class Sender:
    def send(self, payload):
        for target, handler, data, cycles, cells in pvm_host.cbor_decode(payload):
            pvm_host.send_message(target, handler, data, cycles, cells)

    def defer(self, payload):
        for handler, data, cycles, cells in pvm_host.cbor_decode(payload):
            pvm_host.create_deferred_tx(handler, data, cycles, cells)

    def try_send(self, payload):
        target, cycles, cells = pvm_host.cbor_decode(payload)
        try:
            pvm_host.send_message(target, "hear", b"", cycles, cells)
        except pvm_host.HostError as error:
            return error.name
        return "sent"

    def send_until_refused(self, payload):
        target, cycles = pvm_host.cbor_decode(payload)
        sent = 0
        while True:
            try:
                pvm_host.send_message(target, "hear", b"", cycles, 0)
            except pvm_host.HostError as error:
                return [sent, error.name]
            sent += 1

    def measure(self, payload):
        before = pvm_host.gas_left()
        pvm_host.send_message(pvm_host.self_address(), "hear", b"", 40_000, 100)
        return before - pvm_host.gas_left()

    def default(self, payload):
        pvm_host.send_message(pvm_host.self_address(), "hear", payload)

    def two_arguments(self, payload):
        pvm_host.send_message(pvm_host.self_address(), payload)

    def send_and_fail(self, payload):
        self.send(payload)
        raise ValueError

    def send_in_a_failing_call(self, payload):
        try:
            pvm_host.call_actor(pvm_host.self_address(), "send_and_fail", payload)
        except pvm_host.RevertError:
            self.hear(b"caught")

    def send_in_a_call(self, payload):
        pvm_host.call_actor(pvm_host.self_address(), "send", payload, 900_000)

    def hear(self, payload):
        pvm_host.emit_event("heard", payload)

    def main(self, payload):
        pvm_host.emit_event("main", payload)

    def burn(self, payload):
        pvm_host.emit_event("burning", payload)
        pvm_host.charge_gas(pvm_host.gas_left())
        pvm_host.charge_gas(1_000_000)

    def relay(self, payload):
        pvm_host.send_message(pvm_host.self_address(), "hear", payload, 20_000, 50)
"""

ROOMY = {"cycles_limit": 2_000_000, "cells_limit": 500_000}
SMALL_LANE = {"lane_deferred_cycles": 80_000}  # an eighth is 10,000


@pytest.fixture
def small_lane(devnet):
    return devnet(**SMALL_LANE)


@pytest.fixture
def actor(chain):
    return chain.deploy(SENDER)


def send(actor, *messages, **options):
    """Call `send` with (handler, data, cycles, cells) to the actor itself."""
    entries = [[actor.address, *message] for message in messages]
    return actor.call("send", codec.encode(entries), **{**ROOMY, **options})


def defer(actor, *messages):
    return actor.call("defer", codec.encode(list(map(list, messages))), **ROOMY)


def heard(result, topic="heard"):
    return [event.data for event in result.events if event.topic == topic]


def kinds(result):
    return [receipt.kind for receipt in result.receipts]


def waiting(chain):
    return list(pending_messages(chain.state.snapshot))


# --- delivery ------------------------------------------------------------------------


def test_a_message_is_delivered_in_the_next_block(chain, actor):
    """On success queued and delivered in the next block; they are side effects."""
    send(actor, ("hear", b"1", 20_000, 100))
    assert heard(chain.last) == []
    assert len(waiting(chain)) == 1
    assert heard(chain.mine()) == [b"1"]
    assert waiting(chain) == []
    assert kinds(chain.last) == [ReceiptKind.MAILBOX_MESSAGE]


def test_engine_comes_before_mailbox_each_in_order(chain, actor):
    """Engine first; each part in order of queueing."""
    chain.submit(
        ExecuteActor(
            actor.address, "send",
            codec.encode([[actor.address, "hear", b"m1", 20_000, 9]]), 0,
        ), **ROOMY,
    )  # fmt: skip
    deferred = codec.encode([["hear", b"e1", 20_000, 9], ["hear", b"e2", 20_000, 9]])
    chain.submit(ExecuteActor(actor.address, "defer", deferred, 0), **ROOMY)
    chain.submit(
        ExecuteActor(
            actor.address, "send",
            codec.encode([[actor.address, "hear", b"m2", 20_000, 9]]), 0,
        ), **ROOMY,
    )  # fmt: skip
    chain.mine()
    assert heard(chain.mine()) == [b"e1", b"e2", b"m1", b"m2"]
    assert (
        kinds(chain.last)
        == [ReceiptKind.ENGINE_MESSAGE] * 2 + [ReceiptKind.MAILBOX_MESSAGE] * 2
    )


def test_a_failed_execution_sends_nothing(chain, actor):
    """Sent messages are undone (D16), a callee's with the callee."""
    entries = codec.encode([[actor.address, "hear", b"1", 20_000, 100]])
    receipt = actor.call("send_and_fail", entries, expect_failure=True, **ROOMY)
    assert (receipt.cycles_held, receipt.cells_held) == (0, 0)
    assert waiting(chain) == []
    receipt = actor.call("send_in_a_failing_call", entries, **ROOMY)
    assert heard(chain.last) == [b"caught"]
    assert (receipt.cycles_held, receipt.cells_held) == (0, 0)
    assert waiting(chain) == []
    assert chain.supply().is_balanced


def test_a_callee_sends_from_its_callers_budget(chain, actor):
    """The budget is taken from the sender's meter: of all that is left in the chain."""
    entries = codec.encode([[actor.address, "hear", b"1", 20_000, 100]])
    receipt = actor.call("send_in_a_call", entries, **ROOMY)
    assert (receipt.cycles_held, receipt.cells_held) == (20_000, 100)
    assert receipt.cycles_used < 20_000
    assert chain.supply().held == receipt.price.cost(20_000, 100)
    assert chain.supply().is_balanced
    assert heard(chain.mine()) == [b"1"]


def test_undone_sends_are_not_numbered(chain, actor):
    """Every counter is undone (D16), that of the block's messages too."""
    entries = codec.encode([[actor.address, "hear", b"1", 20_000, 100]])
    actor_call = ExecuteActor(actor.address, "send_in_a_failing_call", entries, 0)
    chain.submit(actor_call, **ROOMY)
    chain.submit(ExecuteActor(actor.address, "send", entries, 0), **ROOMY)
    chain.mine()
    assert [message.index for message in waiting(chain)] == [0]


def test_a_delivered_message_may_send_on(chain, actor):
    send(actor, ("relay", b"on", 60_000, 1_000))
    chain.mine()
    assert len(waiting(chain)) == 1
    assert chain.supply().is_balanced
    assert heard(chain.mine()) == [b"on"]
    assert chain.supply().is_balanced


def test_the_two_argument_form_calls_main_else_handle_message(chain, actor):
    """host-api.md §2: two-argument form calls `main`, else `handle_message`."""
    actor.call("two_arguments", b"hello", **ROOMY)
    assert heard(chain.mine(), "main") == [b"hello"]
    other = chain.deploy(SENDER.replace("def main", "def handle_message"))
    other.call("two_arguments", b"again", **ROOMY)
    assert heard(chain.mine(), "main") == [b"again"]


def test_the_entry_charge_is_inside_the_budget(chain, actor):
    """D16: messages start with 1,000 cycles charged inside their budget."""
    send(actor, ("hear", b"", 1_000, 0))
    chain.mine()
    (receipt,) = chain.last.receipts
    assert receipt.failure.kind == "OutOfCycles"
    assert receipt.cycles_used == receipt.cycles_limit == 1_000


def test_a_message_to_a_handler_that_is_not_there_fails(chain, actor):
    send(actor, ("nobody", b"", 20_000, 100))
    chain.mine()
    (receipt,) = chain.last.receipts
    assert receipt.failure.kind == "HandlerNotFound"
    assert receipt.cycles_used == 1_000
    assert chain.supply().is_balanced


# --- budgets -------------------------------------------------------------------------


def attempt(actor, cycles=None, cells=None, target=None, **limits):
    payload = codec.encode([target or actor.address, cycles, cells])
    return actor.call("try_send", payload, **{**ROOMY, **limits}).value.decode()


def test_at_most_an_eighth_of_the_lane(chain, actor):
    """At most an eighth of the lane (larger: `InvalidInput`)."""
    eighth = chain.params.lane_deferred_cycles // 8
    assert eighth == 625_000
    assert attempt(actor, eighth, 0) == "sent"
    assert attempt(actor, eighth + 1, 0) == "InvalidInput"


def test_at_most_150_000_cells(actor):
    """At most 150,000 cells, an eighth of what D8 keeps free."""
    assert 1_200_000 // 8 == 150_000
    assert attempt(actor, 20_000, 150_000) == "sent"
    assert attempt(actor, 20_000, 150_001) == "InvalidInput"


def test_not_more_than_is_left(actor):
    """Larger, or more than is left: `InvalidInput`."""
    assert attempt(actor, 60_000, 0, cycles_limit=60_000) == "InvalidInput"
    assert attempt(actor, 20_000, 2_000, cells_limit=2_000) == "InvalidInput"


def test_below_the_entry_charge_is_invalid(actor):
    """Below the entry charge it is `InvalidInput`."""
    assert attempt(actor, 999, 0) == "InvalidInput"
    assert attempt(actor, 1_000, 0) == "sent"
    assert attempt(actor, 0, 0) == "InvalidInput"


@pytest.mark.parametrize("wrong", [-1, True, "5", b"5"])
def test_budgets_are_ints(actor, wrong):
    assert attempt(actor, wrong, 0) == "InvalidInput"
    assert attempt(actor, 20_000, wrong) == "InvalidInput"


def test_the_default_is_half_of_what_is_left(chain, actor):
    """Else half of what the sender has left after base and payload."""
    receipt = actor.call("default", bytes(100), cycles_limit=100_000, cells_limit=9_000)
    # What was left at the call: what was neither used before it nor charged since.
    (message,) = waiting(chain)
    assert message.cycles == receipt.cycles_held
    assert message.cells == receipt.cells_held
    assert 0 <= 100_000 - receipt.cycles_used - 2 * message.cycles < 100
    assert 0 <= 9_000 - receipt.cells_used - 2 * message.cells <= 1


def test_the_default_is_at_most_an_eighth_and_150_000_cells(chain, actor):
    """The default likewise."""
    actor.call("default", b"", **ROOMY)
    (message,) = waiting(chain)
    assert (message.cycles, message.cells) == (625_000, 150_000)


def test_a_default_below_the_entry_charge_is_refused(actor):
    receipt = actor.call(
        "default", b"", expect_failure=True, cycles_limit=7_000, cells_limit=9_000
    )
    assert "cycles: " in receipt.failure.message


def test_the_budget_is_taken_but_not_used(chain, actor):
    """Taken from the sender's meter (not as its use)."""
    receipt = actor.call("measure", **ROOMY)
    assert codec.decode(receipt.value) > 40_000
    assert receipt.cycles_used < 20_000
    assert (receipt.cycles_held, receipt.cells_held) == (40_000, 100)
    assert chain.last.header.cycles_used == receipt.cycles_used
    assert chain.last.header.cells_used == receipt.cells_used


def test_the_senders_payer_prepays_at_the_price_of_sending(chain, actor):
    """Prepaid by the sender's payer at a price locked at sending."""
    sender = chain.accounts[3]
    before = chain.balance(sender)
    receipt = send(
        actor, ("hear", b"", 50_000, 700), sender=sender,
    )  # fmt: skip
    held = receipt.price.cost(50_000, 700)
    assert chain.supply().held == held
    assert chain.balance(sender) == before - receipt.fee - held
    (message,) = waiting(chain)
    assert message.payer == sender.address
    assert message.price == receipt.price
    assert message.prepaid == held


def test_delivery_settles_at_the_locked_price(chain, actor):
    """Delivery burns and tips `used * locked price` and refunds the rest."""
    sender, proposer = chain.accounts[3], chain.params.proposer
    instruction = ExecuteActor(
        actor.address, "send",
        codec.encode([[actor.address, "hear", b"", 50_000, 700]]), 0,
    )  # fmt: skip
    sent = chain.execute(
        instruction, sender=sender, max_priority_fee_per_cycle=11,
        max_priority_fee_per_cell=13, **ROOMY,
    )  # fmt: skip
    before, tips = chain.balance(sender), chain.balance(proposer)
    burned = chain.supply().burned
    chain.mine()
    (receipt,) = chain.last.receipts
    assert receipt.price == sent.price
    assert receipt.price.cycle_burn > chain.last.header.basefee_cycle
    assert receipt.tip == 11 * receipt.cycles_used + 13 * receipt.cells_used
    assert chain.balance(proposer) == tips + receipt.tip
    assert chain.supply().burned == burned + receipt.fee - receipt.tip
    assert chain.balance(sender) == before + sent.price.cost(50_000, 700) - receipt.fee


def test_there_is_no_second_balance_check(chain, actor):
    """Without a second balance check: a payer that has nothing left is served."""
    sender = chain.accounts[3]
    send(actor, ("hear", b"1", 50_000, 100), sender=sender)
    chain.submit(SetBalance(sender.address, 0))
    chain.mine()
    assert heard(chain.last) == [b"1"]
    assert chain.balance(sender) > 0  # the refund
    assert chain.supply().is_balanced


# --- the lane ------------------------------------------------------------------------


def test_the_lane_gates_by_used_and_budget(small_lane):
    """Deferred lane gate: `used + budget ≤ lane`; the rest is carried over in order."""
    actor = small_lane.deploy(SENDER)
    send(actor, *[("burn", bytes([i]), 10_000, 9) for i in range(10)])
    assert heard(small_lane.mine(), "burning") == []  # undone with the message
    assert [r.cycles_used for r in small_lane.last.receipts] == [10_000] * 8
    assert small_lane.last.use.deferred_cycles == 80_000
    assert len(small_lane.mine().receipts) == 2


def test_what_was_not_used_leaves_room(small_lane):
    """`used`, not budgets: twelve small users with large budgets fit."""
    actor = small_lane.deploy(SENDER)
    send(actor, *[("hear", bytes([i]), 10_000, 9) for i in range(12)])
    assert heard(small_lane.mine()) == [bytes([i]) for i in range(12)]


def test_the_first_that_does_not_fit_blocks_its_part_only(small_lane):
    """The first that does not fit blocks its part for this block."""
    actor = small_lane.deploy(SENDER)
    full = [("burn", b"", 10_000, 9)] * 7 + [("burn", b"", 5_000, 9)]
    deferred = [*full, ("hear", b"large", 10_000, 9), ("hear", b"small", 3_000, 9)]
    small_lane.submit(
        ExecuteActor(
            actor.address, "defer", codec.encode(list(map(list, deferred))), 0
        ),
        **ROOMY,
    )
    entries = codec.encode([[actor.address, "hear", b"mail", 3_000, 9]])
    small_lane.submit(ExecuteActor(actor.address, "send", entries, 0), **ROOMY)
    small_lane.mine()
    assert heard(small_lane.mine()) == [b"mail"]
    assert heard(small_lane.mine()) == [b"large", b"small"]


def test_looking_begins_at_the_oldest_message_that_waits(small_lane):
    """What was delivered is not passed again; who does not know that agrees (D24)."""
    actor = small_lane.deploy(SENDER)
    send(actor, *[("burn", b"", 10_000, 100)] * 10)
    queued_at = small_lane.height
    small_lane.mine()
    known = small_lane.state.caches.known
    assert known.oldest_message == queued_at, "two of ten did not fit"
    forgetful = replace(small_lane.state, caches=Caches())
    assert build_block(forgetful, ()).header == small_lane.mine().header
    known = small_lane.state.caches.known
    assert known.oldest_message == small_lane.height, "nothing waits"


def test_a_payer_may_have_two_lanes_waiting(small_lane):
    """Refused while its payer's budgets waiting exceed 2 lanes (before this one)."""
    actor = small_lane.deploy(SENDER)
    payload = codec.encode([actor.address, 10_000])
    receipt = actor.call("send_until_refused", payload, **ROOMY)
    # 16 make exactly two lanes, which is not more: one more is taken.
    assert codec.decode(receipt.value) == [17, "DeferredLaneFull"]


def test_all_may_have_twenty_lanes_waiting(small_lane):
    """Or all waiting exceed 20 (`DeferredLaneFull`)."""
    actor = small_lane.deploy(SENDER)
    targets = [small_lane.deploy(SENDER) for _ in range(3)]
    for i, account in enumerate(small_lane.accounts):
        payload = codec.encode([targets[i % 3].address, 10_000])
        small_lane.submit(
            ExecuteActor(actor.address, "send_until_refused", payload, 0),
            sender=account, **ROOMY,
        )  # fmt: skip
    values = [codec.decode(r.value) for r in small_lane.mine().receipts]
    assert values[:9] == [[17, "DeferredLaneFull"]] * 9
    # 153 wait; 160 make twenty lanes, so that the 161st is the last one taken.
    assert values[9] == [8, "DeferredLaneFull"]


def test_sixty_four_pending_per_target_from_one_sender(chain, actor):
    """At most 64 pending per target from one sender, both kinds together."""
    defer(actor, *[("hear", b"", 1_000, 0)] * 40)
    chain.submit(
        ExecuteActor(
            actor.address, "send_until_refused",
            codec.encode([actor.address, 1_000]), 0,
        ), **ROOMY,
    )  # fmt: skip
    chain.mine()
    # The 40 were delivered after this transaction, in the same block.
    receipt = chain.last.receipts[0]
    assert codec.decode(receipt.value) == [24, "MailboxFull"]
    assert len(waiting(chain)) == 24


def test_a_thousand_in_a_mailbox(chain):
    """1,000 in a mailbox, both kinds together (`MailboxFull`)."""
    target = chain.deploy(SENDER)
    senders = [chain.deploy(SENDER) for _ in range(16)]
    for sender in senders:
        payload = codec.encode([target.address, 1_000])
        chain.submit(
            ExecuteActor(sender.address, "send_until_refused", payload, 0),
            cycles_limit=1_200_000, cells_limit=10_000,
        )  # fmt: skip
    values = [codec.decode(r.value) for r in chain.mine().receipts]
    assert values == [[64, "MailboxFull"]] * 15 + [[40, "MailboxFull"]]
    assert chain.supply().is_balanced


def test_an_old_message_is_dropped_when_met(monkeypatch):
    """`height - queued_at > 1,000`: dropped, budget returned, `MessageDropped`."""
    assert MESSAGE_AGE_BLOCKS_MAX == 1_000
    monkeypatch.setattr(mailbox, "MESSAGE_AGE_BLOCKS_MAX", 3)
    with Devnet(**SMALL_LANE) as chain:
        actor = chain.deploy(SENDER)
        sender = chain.accounts[3]
        old = [("burn", b"", 10_000, 9)] * 24 + [("hear", b"late", 10_000, 9)] * 2
        for part in (old[:16], old[16:24]):
            chain.submit(
                ExecuteActor(
                    actor.address, "defer", codec.encode(list(map(list, part))), 0
                ), sender=chain.accounts[len(chain._queue)], **ROOMY,
            )  # fmt: skip
        entries = codec.encode([[actor.address, *m] for m in old[24:]])
        chain.submit(
            ExecuteActor(actor.address, "send", entries, 0), sender=sender, **ROOMY
        )
        chain.mine()
        queued_at = chain.height
        for _ in range(3):  # the lane is full of engine messages
            chain.mine()
            assert heard(chain.last) == []
            assert chain.events("MessageDropped") == []
        before = chain.balance(sender)
        messages = [m for m in waiting(chain) if m.payer == sender.address]
        assert len(messages) == 2
        chain.mine()
        assert chain.height - queued_at == 4
        events = [e for e in chain.last.events if e.topic == "MessageDropped"]
        assert [codec.decode(e.data)["queued_at"] for e in events] == [queued_at] * 2
        assert heard(chain.last) == []
        assert chain.balance(sender) == before + sum(m.prepaid for m in messages)
        assert waiting(chain) == []
        assert chain.supply().is_balanced


def test_a_message_needs_an_actor_to_go_to(actor):
    """host-api.md: `NotFound`, a target that is no actor."""
    assert attempt(actor, 20_000, 0, target=b"\x99" * 20) == "NotFound"
