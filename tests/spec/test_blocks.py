"""One block: order, gates, clock, headers: D2, D8, D36 (span 1), D37, D38, D40."""

import pytest
from msgspec.structs import replace

from node.chain.block import Block, ReceiptKind
from node.chain.errors import InvalidBlock, TransactionFault
from node.chain.globals import load_globals
from node.chain.params import ChainParams
from node.chain.transaction import ExecuteActor, SetBalance, Transfer
from node.chain.transition import apply_block, build_block
from node.primitives.crypto import blake2b256
from node.state import keys
from node.state.commitment import recompute
from node.testing import Devnet

THERE = b"\x77" * 20

BUSY = """
import pvm_host

class Busy:
    def everything(self):
        pvm_host.schedule_timer(pvm_host.block_height() + 1, b"", None, 50_000)
        me = pvm_host.self_address()
        pvm_host.send_message(me, "mail", b"", 50_000, 99)
        pvm_host.create_deferred_tx("engine", b"", 50_000, 99)

    def mail(self):
        pvm_host.emit_event("mailbox", b"")

    def engine(self):
        pvm_host.emit_event("engine", b"")

    def handle_timer(self):
        pvm_host.emit_event("timer", b"")

    def now(self):
        pvm_host.emit_event("transaction", b"")

    def burn(self):
        pvm_host.charge_gas(pvm_host.gas_left())
        pvm_host.charge_gas(1)
"""


# --- D2, D8 --------------------------------------------------------------------------


def test_the_order_of_a_block(chain):
    """D2: transactions → timers → engine-deferred → mailbox-deferred."""
    actor = chain.deploy(BUSY, value=10**10)
    actor.call("everything", cycles_limit=500_000, cells_limit=5_000)
    chain.submit(ExecuteActor(actor.address, "now", b"", 0))
    result = chain.mine()
    topics = [event.topic for event in result.events]
    assert topics == ["transaction", "timer", "engine", "mailbox"]
    assert [r.kind for r in result.receipts] == list(ReceiptKind)[:4]
    assert [r.index for r in result.receipts] == [0, 1, 2, 3]


def test_the_budgets_of_devnet():
    """D8: user 20,000,000, timer 2,000,000, deferred 5,000,000, GBA, GC, cells."""
    params = ChainParams()
    assert params.lane_user_cycles == 20_000_000
    assert params.timer_config.lane_timer_cycles == 2_000_000
    assert params.lane_deferred_cycles == 5_000_000
    assert params.timer_config.lane_gba_cycles == 1_000_000
    assert params.timer_config.gc_cycles_per_block == 5_000_000
    assert params.timer_config.max_due_examined == 10_000
    assert params.block_cells == 16_000_000
    assert params.transaction_cells_max == 16_000_000 - 1_200_000


def test_a_transaction_enters_by_use_so_far_and_its_limit(chain):
    """One enters if cycles used by transactions so far + its limit ≤ lane."""
    lane = chain.params.lane_user_cycles
    account = chain.accounts[1]
    for limit in (lane, lane - 5_000, lane - 10_000 + 1):
        chain.submit(
            Transfer(THERE, 1), sender=account, cycles_limit=limit, cells_limit=1_000
        )
    result = chain.mine()
    assert len(result.block.transactions) == 2
    ((_, error),) = result.rejected
    assert error.fault is TransactionFault.BLOCK_FULL
    assert error.may_wait
    assert error.numbers == {"used": 10_000, "limit": lane}


def test_fires_and_messages_are_on_top_of_the_user_lane(chain):
    """Timer and deferred lanes are on top."""
    actor = chain.deploy(BUSY, value=10**10)
    actor.call("everything", cycles_limit=500_000, cells_limit=5_000)
    chain.submit(
        ExecuteActor(actor.address, "burn", b"", 0),
        cycles_limit=chain.params.lane_user_cycles, cells_limit=5_000,
    )  # fmt: skip
    result = chain.mine()
    assert result.use.user_cycles == chain.params.lane_user_cycles
    assert [event.topic for event in result.events] == ["timer", "engine", "mailbox"]
    assert result.use.cycles == (
        result.use.user_cycles + result.use.timer_cycles + result.use.deferred_cycles
    )
    assert result.header.cycles_used == result.use.cycles


def test_cells_gate_transactions_by_limit(chain):
    """Transactions gate by limit: all but 1,200,000 cells."""
    most = chain.params.transaction_cells_max
    for i, limit in enumerate((most, most, most - 1_000)):
        chain.submit(
            Transfer(THERE, 1), sender=chain.accounts[i], cycles_limit=5_000,
            cells_limit=limit,
        )  # fmt: skip
    result = chain.mine()
    assert len(result.block.transactions) == 2
    ((_, error),) = result.rejected
    assert error.fault is TransactionFault.BLOCK_FULL
    assert error.numbers["limit"] == most


def first_fault(chain, **fields):
    chain.submit(Transfer(THERE, 1), sender=chain.accounts[2], **fields)
    ((_, error),) = chain.mine().rejected
    return error.fault, error.numbers


def test_the_gates_come_in_the_order_lane_funds_cells():
    """The gates come in the order lane, funds, cells."""
    with Devnet() as chain:
        lane, cells = chain.params.lane_user_cycles, chain.params.transaction_cells_max
        poor = chain.accounts[2]

        def crowded():
            chain.execute(SetBalance(poor.address, 1))
            chain.submit(
                Transfer(THERE, 1), sender=chain.accounts[1], cycles_limit=5_000,
                cells_limit=1_000,
            )  # fmt: skip

        crowded()
        fault, numbers = first_fault(chain, cycles_limit=lane, cells_limit=cells)
        assert fault is TransactionFault.BLOCK_FULL
        assert numbers["limit"] == lane
    with Devnet() as chain:
        poor = chain.accounts[2]
        crowded()
        fault, _ = first_fault(chain, cycles_limit=5_000, cells_limit=cells)
        assert fault is TransactionFault.INSUFFICIENT_BALANCE
    with Devnet() as chain:
        poor = chain.accounts[2]
        crowded()
        chain.submit(SetBalance(poor.address, 10**18))
        fault, numbers = first_fault(chain, cycles_limit=5_000, cells_limit=cells)
        assert fault is TransactionFault.BLOCK_FULL
        assert numbers["limit"] == cells


HUNGRY = """
import pvm_host
def start():
    for i in range(3):
        pvm_host.schedule_timer(pvm_host.block_height() + 1, bytes([i]), None, 99_000)
    pvm_host.send_message(pvm_host.self_address(), "mail", b"", 50_000, 150_000)
def handle_timer(payload):
    pvm_host.emit_event("fired", payload)
    value = bytes(60_000)
    for i in range(11):
        pvm_host.set_state(bytes([i]), value)
def mail(payload):
    pvm_host.emit_event("mail", b"")
"""


def test_a_block_without_room_for_cells_puts_fires_and_messages_off():
    """Fires and messages: `cells used + their cell cap ≤ limit`, else put off."""
    config = {"max_cells_per_fire": 700_000}
    with Devnet(block_cells=1_450_000, timer_config=config) as chain:
        code = HUNGRY.replace("    ", " ")
        actor = chain.deploy(code, value=50 * 10**9)
        actor.call("start", cycles_limit=500_000, cells_limit=200_000)
        before = actor.balance
        timers = actor.timers
        result = chain.mine()
        fires = result.receipts
        assert [event.topic for event in result.events] == ["fired"] * 2
        assert result.use.cells > 1_320_000
        # The third was refunded whole and has its record back unchanged (D21).
        assert actor.timers == timers[2:]
        assert actor.balance == before - sum(receipt.fee for receipt in fires)
        (decision,) = [d for d in result.trace if d.decision == "put_off"]
        assert decision.reason == "cells"
        assert chain.supply().is_balanced
        result = chain.mine()
        assert [event.topic for event in result.events] == ["fired", "mail"]


# --- D36, D37, D38, D39 --------------------------------------------------------------


def test_the_timestamp_is_a_function_of_the_height():
    """D37: genesis timestamp + height * `block_interval_ms`."""
    with Devnet(genesis_timestamp_ms=5_000, block_interval_ms=250) as chain:
        assert chain.timestamp_ms == 5_000
        for height in range(1, 4):
            assert chain.mine().header.timestamp_ms == 5_000 + 250 * height
            assert (
                load_globals(chain.state.snapshot).timestamp_ms == 5_000 + 250 * height
            )


def test_a_header_stands_for_its_span(chain):
    """D36: a header has `span` ≥ 1, and its height is parent.height + span."""
    genesis = chain.head
    chain.mine()
    chain.mine(3)
    chain.fund(THERE, 1)
    places = [(header.height, header.span) for header in chain.blocks()]
    assert places == [(0, 1), (1, 1), (4, 3), (5, 1)]
    assert chain.result_at(1).header.parent_hash == genesis.hash()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("span", 0),
        ("height", 1),
        ("height", 2**40),
        ("parent_hash", bytes(32)),
        ("timestamp_ms", 0),
        ("proposer", THERE),
        ("basefee_cycle", 1),
        ("basefee_cell", 1),
        ("basefee_lane", 1),
        ("cycles_used", 1),
        ("cells_used", 1),
        ("transactions_root", bytes(32)),
        ("receipts_root", bytes(32)),
        ("events_root", bytes(32)),
        ("state_root", bytes(32)),
    ],
)
def test_a_block_whose_header_lies_is_invalid(chain, field, value):
    chain.mine()
    actor = chain.deploy(BUSY)
    chain.submit(ExecuteActor(actor.address, "now", b"", 0))
    parent = chain.state
    good = chain.mine().block
    assert apply_block(parent, good).header == good.header
    header = replace(good.header, **{field: value})
    assert header != good.header
    with pytest.raises(InvalidBlock, match=f"^{field} is"):
        apply_block(parent, Block(header, good.transactions))


def test_transactions_left_out_or_added_show(chain):
    chain.transfer(THERE, 1)
    parent = chain.state
    chain.submit(Transfer(THERE, 2))
    good = chain.mine().block
    with pytest.raises(InvalidBlock):
        apply_block(parent, replace(good, transactions=()))
    with pytest.raises(InvalidBlock, match="nonce"):
        apply_block(parent, replace(good, transactions=good.transactions * 2))


def test_the_state_root_is_of_globals_and_two_trees(chain):
    """D38: BLAKE2b-256 of (tag ‖ hash of the globals ‖ state tree ‖ calendar tree)."""
    chain.mine(2)
    snapshot = chain.state.snapshot
    roots = snapshot.get(keys.TREE_ROOTS)
    image = b"state" + blake2b256(snapshot.get(keys.GLOBALS)) + roots
    assert chain.head.state_root == blake2b256(image) == recompute(snapshot)


def test_what_is_empty_is_absent(chain):
    """D38: what is empty is absent, and equal states have equal roots."""
    snapshot = chain.state.snapshot
    chain.execute(SetBalance(THERE, 5))
    assert chain.state.snapshot.get(keys.account(THERE)) is not None
    chain.execute(SetBalance(THERE, 0))
    assert chain.state.snapshot.get(keys.account(THERE)) is None
    assert snapshot.get(keys.account(THERE)) is None


def test_building_is_a_pure_function_of_parent_and_content(chain):
    """D40: a block is a pure function of (parent state, block)."""
    actor = chain.deploy(BUSY, value=10**10)
    chain.submit(ExecuteActor(actor.address, "everything", b"", 0))
    parent, candidates = chain.state, tuple(chain._queue)
    first = build_block(parent, candidates)
    again = build_block(parent, candidates)
    assert first == again
    applied = apply_block(parent, first.block)
    assert applied == first
