"""How many state keys an execution and a block may change: D43."""

import pytest

from node.chain.block import ReceiptKind
from node.chain.errors import TransactionFault
from node.chain.transaction import ExecuteActor, Fund, Transfer
from node.primitives import codec
from node.testing import Devnet
from tests.spec.driven_actors import AUCTION, WORKER, put_off, route, schedule_all

CBY = 10**9
THERE = b"\x77" * 20
LIMITS = {"cycles_limit": 400_000, "cells_limit": 60_000}

WRITER = """
import pvm_host

class Writer:
    def write(self, payload):
        first, count = pvm_host.cbor_decode(payload)
        for i in range(first, first + count):
            pvm_host.set_state(i.to_bytes(3, "big"), b"")

    def rewrite(self, payload):
        for i in range(pvm_host.cbor_decode(payload)):
            pvm_host.set_state(b"same", b"value")
            pvm_host.delete_state(b"same")

    def through_callee(self, payload):
        me = pvm_host.self_address()
        self.write(pvm_host.cbor_encode([0, 2_000]))
        pvm_host.call_actor(
            me, "write", pvm_host.cbor_encode([2_000, pvm_host.cbor_decode(payload)]),
            9_000_000,
        )

    def undone(self):
        me = pvm_host.self_address()
        for i in range(2):
            try:
                pvm_host.call_actor(
                    me, "write_and_revert", pvm_host.cbor_encode([5_000, 3_000]),
                    9_000_000,
                )
            except pvm_host.RevertError:
                pass
        self.write(pvm_host.cbor_encode([0, 4_000]))

    def rewritten(self):
        pvm_host.set_state(b"key", b"stands")
        try:
            pvm_host.call_actor(pvm_host.self_address(), "rewrite_and_revert", b"")
        except pvm_host.RevertError:
            pass

    def rewrite_and_revert(self):
        pvm_host.set_state(b"key", b"other")
        pvm_host.set_state(b"another", b"")
        pvm_host.revert("undone")

    def write_and_revert(self, payload):
        self.write(payload)
        pvm_host.revert("undone")

    def mixed(self, payload):
        extra = pvm_host.cbor_decode(payload)
        pvm_host.transfer(bytes([0x77] * 20), 1)
        pvm_host.transfer(bytes([0x77] * 20), 1)
        timer_id = pvm_host.schedule_timer(pvm_host.block_height() + 9, b"")
        pvm_host.extend_timer(timer_id, pvm_host.block_height() + 99)
        pvm_host.cancel_timer(timer_id)
        pvm_host.send_message(pvm_host.self_address(), "write", b"", 20_000, 99)
        self.write(pvm_host.cbor_encode([0, 3_996 + extra]))

    def later(self):
        pvm_host.schedule_timer(pvm_host.block_height() + 1, b"", None, 50_000)
        pvm_host.send_message(pvm_host.self_address(), "note", b"", 50_000, 99)

    def note(self):
        pvm_host.set_state(b"note", b"")

    def handle_timer(self):
        pvm_host.set_state(b"fired", b"")
"""
WIDE = {"cycles_limit": 5_000_000, "cells_limit": 400_000}


@pytest.fixture
def writer(chain):
    return chain.deploy(WRITER, value=50 * CBY)


def submit_writes(chain, writer, count, times):
    for i in range(times):
        payload = codec.encode([i * count, count])
        chain.submit(ExecuteActor(writer.address, "write", payload, 0), **WIDE)


def test_an_execution_changes_at_most_4000_keys(chain, writer):
    """At most 4,000 distinct state keys, or halts `OutOfWrites`."""
    writer.call("write", codec.encode([0, 4_000]), **WIDE)
    assert chain.last.use.writes == 4_000
    receipt = writer.call(
        "write", codec.encode([0, 4_001]), expect_failure=True, **WIDE
    )
    assert receipt.failure.kind == "OutOfWrites"
    # … paying what the meter counted
    assert receipt.cycles_used < receipt.cycles_limit
    assert chain.last.use.writes == 0


def test_the_same_key_counts_once_whatever_its_value(chain, writer):
    """Distinct keys, same value or not."""
    writer.call("rewrite", codec.encode(4_100), **WIDE)
    assert chain.last.use.writes == 1


def test_calls_count_together(chain, writer):
    """An execution with the calls it makes."""
    writer.call("through_callee", codec.encode(2_000), **WIDE)
    assert chain.last.use.writes == 4_000
    writer.call("through_callee", codec.encode(2_001), expect_failure=True, **WIDE)


def test_undone_writes_do_not_count(chain, writer):
    """Undone ones do not count."""
    limits = {"cycles_limit": 10_000_000, "cells_limit": 400_000}
    writer.call("undone", **limits)
    assert chain.last.use.writes == 4_000


def test_a_key_that_stands_counts_though_its_rewriting_was_undone(chain, writer):
    """Those that stand at the end: the first writing does, not what was undone."""
    writer.call("rewritten", cycles_limit=400_000, cells_limit=60_000)
    assert writer.state(b"key") == b"stands"
    assert chain.last.use.writes == 1


def test_transfers_timers_and_messages_count(chain, writer):
    """Both accounts of a transfer, each timer accepted, extended or cancelled."""
    writer.call("mixed", codec.encode(0), **WIDE)
    assert chain.last.use.writes == 2 + 1 + 1 + 3_996
    receipt = writer.call("mixed", codec.encode(1), expect_failure=True, **WIDE)
    assert receipt.failure.kind == "OutOfWrites"


def test_no_transaction_starts_once_12000_keys_are_changed():
    """Once 12,000 are changed no further transaction starts (241 and 242 neither)."""
    with Devnet(lane_user_cycles=60_000_000) as chain:
        writer = chain.deploy(WRITER, value=50 * CBY)
        submit_writes(chain, writer, 4_000, 2)
        submit_writes(chain, writer, 3_999, 1)
        chain.submit(Transfer(THERE, 1))  # host calls only: changes none
        submit_writes(chain, writer, 1, 1)
        chain.submit(Transfer(THERE, 1), sender=chain.accounts[1])
        chain.submit(Fund(THERE, 1), sender=chain.accounts[2])
        result = chain.mine()
        assert result.use.writes == 12_000
        assert len(result.block.transactions) == 5
        assert [error.fault for _, error in result.rejected] == [
            TransactionFault.BLOCK_FULL
        ] * 2
        assert all(error.may_wait for _, error in result.rejected)
        assert len(chain.mine().block.transactions) == 2


def test_a_last_transaction_may_still_write_its_4000():
    with Devnet(lane_user_cycles=60_000_000) as chain:
        writer = chain.deploy(WRITER, value=50 * CBY)
        submit_writes(chain, writer, 3_999, 3)
        submit_writes(chain, writer, 4_000, 1)
        assert chain.mine().use.writes == 3 * 3_999 + 4_000


def test_no_fire_or_message_starts_once_20000_keys_are_changed(monkeypatch):
    """Once 20,000 no fire or message; in fifo's second pass with the cells gate."""
    from node.chain import mailbox  # noqa: PLC0415 - to make the bound near
    from node.chain.params import WRITES_BEFORE_DEFERRED_STOP  # noqa: PLC0415
    from node.chain.timers import lane  # noqa: PLC0415

    assert WRITES_BEFORE_DEFERRED_STOP == 20_000
    for module in (mailbox, lane):
        monkeypatch.setattr(module, "WRITES_BEFORE_DEFERRED_STOP", 4_000)
    with Devnet() as chain:
        writer = chain.deploy(WRITER, value=50 * CBY)
        writer.call("later", **LIMITS)
        (timer,) = writer.timers
        balance = writer.balance
        submit_writes(chain, writer, 4_000, 1)
        chain.mine()
        assert [r.kind for r in chain.last.receipts] == [ReceiptKind.TRANSACTION]
        (decision,) = chain.last.trace
        assert (decision.decision, decision.reason) == ("put_off", "writes")
        assert writer.timers == [timer]
        assert writer.balance == balance
        assert chain.supply().is_balanced
        submit_writes(chain, writer, 3_999, 1)
        chain.mine()  # the fire is the 4,000th, the message waits again
        assert [r.kind for r in chain.last.receipts] == [
            ReceiptKind.TRANSACTION,
            ReceiptKind.FIRE,
        ]
        chain.mine()
        assert [r.kind for r in chain.last.receipts] == [ReceiptKind.MAILBOX_MESSAGE]


def test_under_auction_the_gate_of_writes_comes_before_funds(monkeypatch):
    """The gate stands with the lane's (D43): lane, funds, cells (D8)."""
    from node.chain.timers import lane  # noqa: PLC0415 - to make the bound near

    monkeypatch.setattr(lane, "WRITES_BEFORE_DEFERRED_STOP", 2)
    with Devnet(**AUCTION) as chain:
        actor = chain.deploy(WORKER, value="20 CBY")
        height = chain.height + 3
        leave_nothing = route("send_away", codec.encode([THERE, 19_200 * CBY // 1_000]))
        first = {"max_priority_fee_per_cycle": 1, "gas_limit": 100_000}
        _, poor = schedule_all(actor, (height, leave_nothing, first), (height, b"", {}))
        chain.mine_until(height)
        assert chain.last.use.writes == 2
        assert actor.balance < 8 * CBY // 10
        # Whom the gate stops waits, though its payer could not pay its fire now …
        assert put_off(chain.last, "writes") == [poor]
        assert [timer.timer_id for timer in actor.timers] == [poor]
        chain.mine()  # … and is judged anew in the next block: there it cannot pay
        assert actor.timers == []
        assert chain.last.trace[0].decision == "removed_insufficient_funds"


def test_under_auction_the_lane_is_asked_before_the_keys(monkeypatch):
    """Who fits neither was put off by the lane."""
    from node.chain.timers import lane  # noqa: PLC0415 - to make the bound near

    monkeypatch.setattr(lane, "WRITES_BEFORE_DEFERRED_STOP", 1)
    lanes = {"lane_timer_cycles": 250_000, "max_cycles_per_fire": 250_000}
    with Devnet(**AUCTION, timer_config=lanes) as chain:
        actor = chain.deploy(WORKER, value="20 CBY")
        height = chain.height + 3
        ids = schedule_all(
            actor,
            (height, b"", {}),
            (height, b"", {"gas_limit": 250_000}),
            (height, b"", {"gas_limit": 2_000}),
        )
        chain.mine_until(height)
        assert put_off(chain.last, "lane") == ids[1:2]
        assert put_off(chain.last, "writes") == ids[2:]


@pytest.mark.parametrize("rules", [{}, AUCTION])
def test_who_fits_neither_keys_nor_cells_is_told_of_the_keys(rules, monkeypatch):
    """Gates stand apart: each refuses under its own name."""
    from node.chain.timers import lane  # noqa: PLC0415 - to make the bound near

    monkeypatch.setattr(lane, "WRITES_BEFORE_DEFERRED_STOP", 1)
    with Devnet(**rules, block_cells=1_200_000 + 550_000) as chain:
        actor = chain.deploy(WORKER, value="20 CBY")
        height = chain.height + 3
        _, second = schedule_all(actor, (height, b"", {}), (height, b"", {}))
        chain.mine_until(height)
        assert put_off(chain.last, "writes") == [second]
        assert put_off(chain.last, "cells") == []
