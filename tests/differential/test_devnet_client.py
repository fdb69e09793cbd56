"""`Devnet` and `Client` satisfy one Protocol: one suite, run against both.

What is asserted here holds for a chain in this process and for one over gRPC, with the
same names, values and exceptions.
"""

import re
from pathlib import Path

import pytest

from node.chain.advance import AdvanceFault, AdvanceRefused
from node.chain.block import ReceiptKind
from node.chain.errors import TransactionFault
from node.chain.transaction import Transfer
from node.client import (
    Actor,
    BlockOpen,
    BundleRefused,
    Chain,
    ChainClosed,
    Client,
    HistoryStop,
    InvalidArgument,
    ReadFailed,
    TransactionFailed,
    TransactionRefused,
    UnknownId,
    Wallet,
)
from node.client.exceptions import BundleFault
from node.primitives.crypto import keccak256
from node.testing import Devnet, FireFailed, assert_fires_at

ROOT = Path(__file__).resolve().parents[2]
HEARTBEAT = (ROOT / "genesis" / "actors" / "heartbeat.py").read_text()
CBY = 10**9

ECHO = """
import pvm_host

def inner(values):
    return values[7]

def fail(payload):
    return inner([])

def burn(payload):
    while True:
        pass

def refuse(payload):
    pvm_host.revert("not today")

def remember(payload):
    pvm_host.set_state(b"payload", payload)
    pvm_host.emit_event("remembered", payload)
    return payload

def caller(payload):
    return pvm_host.get_sender()
"""


@pytest.fixture
def alice(chain):
    return chain.accounts[0]


@pytest.fixture
def echo(chain, alice):
    return chain.deploy(ECHO, sender=alice)


def test_the_example_of_the_interface_works_as_it_is_written(chain):
    alice = chain.accounts[0]
    clock = chain.deploy(HEARTBEAT, sender=alice, value="5 CBY")
    with pytest.raises(TransactionFailed, match="the heart beats already"):
        clock.call("start", b"", sender=alice)
    chain.advance(next_timer=True)
    assert clock.storage["beats"] == 1
    assert chain.timers(actor=clock)[0].height == chain.height + 10
    height = chain.height
    with chain.snapshot():
        passage = chain.advance(blocks=35)
        assert passage.fires == 3
        assert chain.height == height + 35
        assert clock.storage["beats"] == 4
    assert chain.height == height
    assert clock.storage["beats"] == 1


def test_a_chain_has_accounts_with_funds_and_a_virtual_clock(chain, alice):
    assert chain.height == 0
    assert chain.head.height == 0
    assert len(chain.accounts) == 10
    assert alice.address == Wallet.dev(0).address
    assert chain.balance(alice) == chain.balance(alice.address) == 1_000_000 * CBY
    before = chain.timestamp_ms
    chain.mine(3)
    assert (chain.height, chain.timestamp_ms) == (3, before + 3_000)


def test_a_transfer_moves_base_units_and_counts_the_nonce(chain, alice):
    bob = bytes(19) + b"\x07"
    receipt = chain.transfer(bob, "1.5 CBY", sender=alice)
    assert receipt.is_success
    assert receipt.kind is ReceiptKind.TRANSACTION
    assert receipt.sender == alice.address
    assert chain.balance(bob) == 1_500_000_000
    assert chain.nonce(alice) == 1
    assert chain.balance(alice) == 1_000_000 * CBY - 1_500_000_000 - receipt.fee


def test_money_is_minted_and_set(chain):
    bob = bytes(19) + b"\x07"
    assert chain.fund(bob, 5).fee == 0
    assert chain.balance(bob) == 5
    chain.set_balance(bob, "2 CBY")
    assert chain.balance(bob) == 2 * CBY


ONE = """
def version(): return 1
def wait(payload): pvm_host.schedule_timer(int(payload), b"", gas_limit=50_000)
def handle_timer(payload): return 1 // 0
import pvm_host
"""
TWO = """
import pvm_host
def version(): return 2
def upgrade(payload): pvm_host.set_state(b"from", payload)
"""


def test_an_actor_is_upgraded_from_a_path_or_a_source(chain, alice, tmp_path):
    """D58: new code, the same actor."""
    actor = chain.deploy(ONE, sender=alice)
    file = tmp_path / "two.py"
    file.write_text(TWO)
    receipt = actor.upgrade(file, b"one", sender=alice)
    assert (receipt.actor, receipt.handler) == (actor.address, "upgrade")
    assert (actor.read("version"), actor.state(b"from")) == (b"\x02", b"one")
    assert (actor.source, chain.actor(actor.address).source) == (TWO, TWO)
    first, second = actor.code_versions
    assert (first.height, second.height) == (1, 2)
    hashes = [keccak256(source.encode()) for source in (ONE, TWO)]
    assert [first.code_hash, second.code_hash] == hashes
    with chain.snapshot():
        chain.upgrade(actor, ONE)
        assert len(chain.code_versions(actor)) == 3
    assert [one.code_hash for one in actor.code_versions] == hashes


def test_an_upgrade_that_fails_shows_the_new_codes_lines(chain, alice):
    actor = chain.deploy(ONE, sender=alice)
    failing = TWO.replace('b"from", payload', "payload, payload[9]")
    with pytest.raises(TransactionFailed, match="IndexError") as error:
        actor.upgrade(failing)
    assert "def upgrade(payload): pvm_host.set_state(payload, payload[9])" in str(
        error.value
    )
    refused = actor.upgrade("import os", expect_failure=True)
    assert refused.failure.kind == "CompileError"
    with pytest.raises(TransactionFailed, match="Unauthorized"):
        actor.upgrade(TWO, sender=chain.accounts[5])
    assert (actor.source, actor.read("version")) == (ONE, b"\x01")
    assert len(actor.code_versions) == 1


def test_a_failure_after_an_upgrade_shows_the_new_codes_line(chain, alice):
    actor = chain.deploy(ONE, sender=alice)
    actor.upgrade("# a line more\n" + ONE.replace("return 1\n", "return [][0]\n"))
    with pytest.raises(ReadFailed, match=r"def version\(\): return \[\]\[0\]"):
        actor.read("version")


def test_state_and_code_are_set(chain, alice):
    """D58: SetStorage and SetCode of development chains."""
    actor = chain.deploy(HEARTBEAT, sender=alice, value="5 CBY")
    assert actor.set_storage("beats", 41).fee == 0
    chain.advance(next_timer=True)
    assert actor.storage["beats"] == 42
    actor.set_storage("beats", None)
    assert "beats" not in actor.storage
    actor.set_storage(b"raw", b"\0")
    assert chain.storage_entry(actor, b"raw") == b"\0"
    chain.set_storage(actor, b"raw", None)
    assert actor.state(b"raw") is None
    with pytest.raises(TransactionFailed, match="Forbidden"):
        actor.set_storage(b"__OWNER__", alice.address)
    assert actor.set_code(TWO).fee == 0
    assert (actor.read("version"), actor.state(b"from")) == (b"\x02", None)
    with pytest.raises(TransactionFailed, match="SameCode"):
        chain.set_code(actor, TWO)
    with pytest.raises(TransactionFailed, match="NotFound"):
        chain.set_code(NOBODY, TWO)


def test_why_tells_that_an_upgrade_took_the_handler(chain, alice):
    actor = chain.deploy(ONE, sender=alice, value="5 CBY")
    actor.call("wait", b"6")
    (timer,) = actor.timers
    assert "andler" not in str(chain.explain(timer.timer_id))
    actor.upgrade(TWO)
    lost = "Its handler is gone: the upgrade of its actor at height 3 took it"
    assert lost in text_of(chain.explain(timer.timer_id))
    chain.advance(height=6)
    told = text_of(chain.explain(timer.timer_id))
    assert "failed with HandlerNotFound" in told
    assert "Its handler was gone: the upgrade of its actor at height 3 took it" in told


def test_why_takes_no_deployment_for_an_upgrade(chain, alice):
    source = (
        "import pvm_host\n"
        "def deploy(payload):\n"
        "    pvm_host.schedule_timer(pvm_host.block_height() + 2, b'')\n"
    )
    actor = chain.deploy(source, sender=alice, value="5 CBY")
    (timer,) = actor.timers
    assert "upgrade" not in text_of(chain.explain(timer.timer_id))
    chain.advance(height=3)
    told = text_of(chain.explain(timer.timer_id))
    assert "failed with HandlerNotFound" in told
    assert "upgrade" not in told


def test_what_changed_tells_of_new_code(chain, alice):
    swap = "import pvm_host\ndef swap(payload): pvm_host.upgrade_self(payload)\n"
    actor = chain.deploy(swap, sender=alice)
    receipt = actor.call("swap", TWO.encode())
    (change,) = receipt.changes.codes
    hashes = [keccak256(source.encode()) for source in (swap, TWO)]
    assert [change.before, change.after] == hashes
    assert len(receipt.trace.call.steps) == 1


def test_ranges_of_heights_are_told_in_few_numbers(chain, alice):
    clock = chain.deploy(HEARTBEAT, sender=alice, value="5 CBY")
    (timer,) = clock.timers
    ahead = chain.count_due()
    assert (ahead.pending, ahead.queued, ahead.counted_from) == (1, 0, 0)
    (due,) = (one for one in ahead.buckets if one.pending)
    assert due.first_height <= timer.height <= due.last_height
    chain.advance(blocks=35)
    each = chain.count_due(0, chain.height, 64)
    assert [one.first_height for one in each.buckets if one.fires] == [11, 21, 31]
    assert each.buckets[1].scheduled == 1
    (whole,) = chain.count_due(0, chain.height, 1).buckets
    assert (whole.last_height, whole.fires, whole.pending) == (63, 3, 1)
    use = chain.lane_use(buckets=1)
    (bucket,) = use.buckets
    receipts = chain.receipts()
    assert bucket.totals.heights == chain.height + 1
    assert bucket.totals.fires == len(receipts) - 1 == 3
    assert bucket.totals.tipped == sum(one.tip for one in receipts)
    used = [one.cycles_used for one in receipts if one.kind is ReceiptKind.FIRE]
    assert bucket.totals.timer_cycles == sum(used)
    assert bucket.totals.timer_cycles_max == max(used)
    assert use.limits.timer_cycles == 2_000_000
    with chain.snapshot():
        chain.fund(alice, 1)
        assert chain.lane_use(buckets=1).buckets[0].totals.transactions == 2
    assert chain.lane_use(buckets=1) == use


def test_an_actors_storage_is_told_over_time(chain, alice):
    clock = chain.deploy(HEARTBEAT, sender=alice, value="5 CBY")
    deployed = chain.height
    (timer,) = clock.timers
    chain.advance(blocks=25)
    told = chain.storage_history(clock, "beats")
    assert told.stop is HistoryStop.COMPLETE
    rows = [(one.height, one.before, one.after, one.kind) for one in told.changes]
    assert rows == [
        (deployed + 20, b"\x01", b"\x02", ReceiptKind.FIRE),
        (deployed + 10, b"\x00", b"\x01", ReceiptKind.FIRE),
        (deployed, None, b"\x00", ReceiptKind.TRANSACTION),
    ]
    assert told.changes[1].id == timer.timer_id
    assert told.changes[-1].id == told.changes[-1].origin == clock.receipt.id
    first = chain.storage_history(clock, "beats", changes=1)
    assert (first.stop, first.changes) == (HistoryStop.BOUND, told.changes[:1])
    rest = chain.storage_history(clock, "beats", to_height=first.next_height)
    assert rest.changes == told.changes[1:]
    only = chain.storage_history(clock, b"", deployed + 5, deployed + 15)
    assert {one.height for one in only.changes} == {deployed + 10}


def test_what_was_written_past_self_storage_hides_none_of_it(chain, alice):
    """A stranger's actor may write what no reader of its storage can decode."""
    actor = chain.deploy(
        "import pvm_host\n"
        "class Odd:\n"
        "    def deploy(self):\n"
        "        self.storage['kept'] = 1\n"
        "        pvm_host.set_state(b'storage:odd', b'\\xff')\n"
        "        pvm_host.set_state(b'storage:\\xff', b'\\x01')\n",
        sender=alice,
    )
    assert actor.storage == chain.storage(actor.address) == {"kept": 1}
    assert chain.storage_entry(actor, "odd") == b"\xff"
    assert chain.storage_entry(actor, b"storage:\xff") == b"\x01"


def text_of(told):
    return getattr(told, "text", None) or str(told)


def test_any_sender_is_impersonated(chain, echo):
    """D41: an address without a key sends like any other on a development chain."""
    nobody = bytes(19) + b"\x63"
    chain.fund(nobody, "100 CBY")
    receipt = echo.call("caller", sender=nobody)
    assert nobody in receipt.value
    assert chain.nonce(nobody) == 1
    chain.fund(echo, "100 CBY")
    assert echo.call("caller", sender=echo).sender == echo.address


def test_a_wallet_is_a_sender(echo):
    wallet = Wallet.dev(3)
    assert echo.call("caller", sender=wallet).sender == wallet.address


def test_an_actor_is_an_object(chain, alice):
    clock = chain.deploy(HEARTBEAT, sender=alice, value="5 CBY")
    assert clock.receipt.actor == clock.address
    assert clock.balance == 5 * CBY
    assert clock.storage == {"beats": 0}
    assert clock.state("beats") == b"\x00"
    assert clock.state("nothing") is None
    (timer,) = clock.timers
    assert (timer.actor, timer.height) == (clock.address, chain.height + 10)
    assert chain.timer(timer.timer_id) == timer
    assert chain.timers() == [timer]
    assert b"beats" in clock.read("status")
    assert repr(clock) == f"<actor Heartbeat 0x{clock.address.hex()}>"
    again = chain.actor(clock.address)
    assert (again.source, again.storage) == (HEARTBEAT, clock.storage)
    assert isinstance(again, Actor)


def test_equal_sources_are_deployed_again_and_again(chain, alice):
    first, second = (chain.deploy(ECHO, sender=alice) for _ in range(2))
    assert first.address != second.address


def test_a_call_leaves_its_receipt_its_events_and_its_state(chain, echo):
    receipt = echo.call("remember", b"this")
    assert receipt.handler == "remember"
    assert 0 < receipt.cycles_used <= receipt.cycles_limit
    assert echo.state(b"payload") == b"this"
    (event,) = chain.events("remembered")
    assert (event.emitter, event.data) == (echo.address, b"this")
    assert event in chain.events()
    assert chain.receipts(ReceiptKind.TRANSACTION)[-1] == receipt
    assert chain.receipts(ReceiptKind.FIRE) == []
    block = chain.block()
    assert block.header.height == chain.height
    assert block.receipts == (receipt,)
    assert event in block.events
    assert chain.block(0).header.height == 0


def test_a_failure_shows_the_actors_own_traceback_and_what_it_used(echo):
    with pytest.raises(TransactionFailed) as error:
        echo.call("fail")
    receipt = error.value.receipt
    used = f"{receipt.cycles_used} of {receipt.cycles_limit} cycles"
    assert str(error.value).splitlines() == [
        "IndexError",
        '  File "<actor>", line 5, in inner',
        "    return values[7]",
        '  File "<actor>", line 8, in fail',
        "    return inner([])",
        f"  {used}, {receipt.cells_used} of {receipt.cells_limit} cells used",
    ]
    assert echo.call("fail", expect_failure=True).failure == receipt.failure
    with pytest.raises(AssertionError, match="a failure was expected"):
        echo.call("remember", b"", expect_failure=True)


def test_a_payload_may_stand_beside_the_source(chain):
    source = "class A:\n    def deploy(self, payload):\n        return payload\n"
    assert chain.deploy(source, b"words").receipt.value == b"words"
    with pytest.raises(InvalidArgument, match=r"^payload: "):
        chain.deploy(source, 7)


def test_a_deployment_that_fails_shows_its_line(chain):
    with pytest.raises(TransactionFailed, match="line 2") as error:
        chain.deploy("x = 1\ny = x / 0\n")
    assert "y = x / 0" in str(error.value)


def test_limits_are_obeyed(echo):
    receipt = echo.call("burn", cycles_limit=50_000, expect_failure=True)
    assert receipt.failure.kind == "OutOfCycles"
    assert receipt.cycles_used == receipt.cycles_limit == 50_000


def test_what_cannot_be_included_is_refused_with_its_numbers(chain):
    poor = bytes(19) + b"\x09"
    with pytest.raises(TransactionRefused) as error:
        chain.transfer(bytes(20), 5, sender=poor)
    assert error.value.fault is TransactionFault.INSUFFICIENT_BALANCE
    assert error.value.numbers["available"] == 0


def test_a_read_changes_nothing_and_fails_with_its_reason(chain, echo):
    height = chain.height
    assert echo.read("caller", sender=b"\x05" * 20).endswith(b"\x05" * 20)
    with pytest.raises(ReadFailed, match="not today"):
        echo.read("refuse")
    assert chain.height == height


def test_a_submitted_transaction_is_in_a_block_after_mining(chain, alice):
    bob = bytes(19) + b"\x07"
    transaction_id = chain.submit(Transfer(bob, 5), sender=alice)
    chain.mine()
    assert chain.balance(bob) == 5
    assert transaction_id in [receipt.id for receipt in chain.receipts()]


@pytest.mark.parametrize(
    ("target", "heights"),
    [
        ({"blocks": 25}, 25),
        ({"height": 26}, 25),
        ({"duration_ms": 24_001}, 25),
        ({"next_timer": True}, 10),
        ({"until_idle": 20}, 20),
    ],
)
def test_time_advances_to_each_kind_of_target(chain, alice, target, heights):
    chain.deploy(HEARTBEAT, sender=alice, value="5 CBY")
    passage = chain.advance(**target)
    assert chain.height == 1 + heights
    assert passage.fires == heights // 10
    assert passage.heights == [11, 21][: passage.fires]
    assert passage.fire_fees > 0


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ({"blocks": 0}, AdvanceFault.NO_TIME),
        ({"blocks": -3}, AdvanceFault.NO_TIME),
        ({"height": 0}, AdvanceFault.HEIGHT_PASSED),
        ({"height": 2**70}, AdvanceFault.HEIGHT_TOO_FAR),
        ({"next_timer": True}, AdvanceFault.NO_TIMER),
    ],
)
def test_time_that_cannot_pass_is_refused(chain, target, fault):
    with pytest.raises(AdvanceRefused) as error:
        chain.advance(**target)
    assert error.value.fault is fault
    assert chain.height == 0


def test_snapshots_nest_and_serve_again(chain):
    bob = bytes(19) + b"\x07"
    with chain.snapshot() as outer:
        chain.fund(bob, 1)
        with chain.snapshot() as inner:
            assert inner.head.height == 1
            chain.fund(bob, 1)
            inner.revert()
            chain.fund(bob, 3)
        assert chain.balance(bob) == 1
        outer.revert()
        assert chain.balance(bob) == 0
        chain.mine(4)
    assert chain.height == 0
    assert repr(outer) == "<snapshot of height 0>"


def test_a_chain_goes_into_a_bundle_and_comes_out_of_it(chain, alice, tmp_path):
    """The same file on both, also of the other one's chain."""
    clock = chain.deploy(HEARTBEAT, sender=alice, value="5 CBY")
    chain.set_balance(bytes(19) + b"\x07", "2 CBY")
    chain.advance(blocks=500)
    file = tmp_path / "chain.bundle"
    assert chain.export_bundle(file) == file
    with pytest.raises(BundleRefused, match=r"chain\.bundle exists already") as told:
        chain.export_bundle(str(file))
    assert told.value.fault is BundleFault.FILE_EXISTS
    with pytest.raises(BundleRefused, match=r"is not empty.*: take an empty") as told:
        chain.import_bundle(file)
    assert told.value.numbers == {"height": 502, "waiting": 0, "snapshots": 0}
    with Devnet() as other:
        assert other.import_bundle(file) == chain.head
        assert other.receipts() == chain.receipts()
        assert other.timers() == chain.timers()
        assert other.actor(clock).storage == clock.storage
        again = other.export_bundle(tmp_path / "again")
    assert again.read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda data: data[:-1], BundleFault.DAMAGED),
        (lambda data: data[:200] + b"\0" + data[201:], BundleFault.DAMAGED),
        (lambda data: b"PK" + data, BundleFault.NO_BUNDLE),
        (
            lambda data: re.sub(rb"bundle \d+", b"bundle 999", data, count=1),
            BundleFault.NEWER,
        ),
    ],
)
def test_what_is_no_whole_bundle_is_refused(chain, tmp_path, change, fault):
    file, broken = tmp_path / "file", tmp_path / "broken"
    with Devnet() as other:
        other.fund(bytes(20), 5)
        head = other.head
        other.export_bundle(file)
    broken.write_bytes(change(file.read_bytes()))
    chain.mine(2)
    with pytest.raises(BundleRefused) as told:
        chain.import_bundle(broken)
    assert told.value.fault is fault
    assert chain.height == 2, "nothing happened"
    with pytest.raises(BundleRefused, match="cannot be read: No such file") as told:
        chain.import_bundle(tmp_path / "nowhere")
    assert told.value.fault is BundleFault.FILE_UNUSABLE
    assert chain.import_bundle(file) == head == chain.head
    assert chain.mine().header.height == 2


def test_the_bundle_of_another_genesis_is_refused(chain, tmp_path):
    file = tmp_path / "file"
    with Devnet(chain_id=7) as other:
        other.export_bundle(file)
    with pytest.raises(BundleRefused, match="they differ in: chain_id: ") as told:
        chain.import_bundle(file)
    assert told.value.fault is BundleFault.FOREIGN


def test_a_profile_tells_where_the_cycles_of_all_blocks_inside_went(chain, alice):
    """Whoever sent or scheduled it; and the totals are those of the receipts."""
    clock = chain.deploy(HEARTBEAT, sender=alice, value="5 CBY")
    with chain.profile() as profile:
        echo = chain.deploy(ECHO, sender=alice)
        echo.call("fail", expect_failure=True)
        with chain.profile() as inner:
            passage = chain.advance(blocks=20)
        assert passage.fires == 2
        with chain.snapshot():
            echo.call("remember", b"undone")
        chain.transfer(bytes(20), 5, sender=alice)
        chain.submit(Transfer(bytes(20), 5), sender=alice)
        chain.mine()
    known = chain.receipts()[1:]
    echo.call("remember", b"not counted")
    counted = [each.receipt for each in profile.executions]
    kinds = [each.receipt.kind for each in inner.executions]
    assert kinds == [ReceiptKind.FIRE, ReceiptKind.FIRE]
    undone = [receipt for receipt in counted if receipt.handler == "remember"]
    assert len(undone) == 1, "what a rewind undid stays counted"
    assert [receipt for receipt in counted if receipt not in undone] == known
    for each in profile.executions:
        receipt, costs = each.receipt, each.costs.values()
        used = (receipt.cycles_used, receipt.cells_used)
        assert (sum(c.cycles for c in costs), sum(c.cells for c in costs)) == used
    assert profile.cycles == sum(receipt.cycles_used for receipt in counted)
    assert profile.lines(echo.address)[8].cycles > 0
    assert inner.lines(clock.address) == profile.lines(clock.address) != {}
    assert profile.sources == {echo.address: ECHO, clock.address: HEARTBEAT}
    assert str(profile).startswith("7 executions: ")


def test_blocks_to_come_and_blocks_past_are_explained(chain, alice):
    chain.deploy(HEARTBEAT, sender=alice, value="5 CBY")
    height = chain.height
    told = f"{chain.simulate(25)}"
    assert "Heartbeat" in told
    assert chain.height == height, "nothing is kept"
    chain.advance(next_timer=True)
    told = f"{chain.explain_block(chain.height)}"
    assert told.startswith("Block 11 looked at 1 due timer.\n1. 0x")
    assert f"{chain.explain_block(5)}" == "Block 5 looked at 0 due timers."
    with pytest.raises(AdvanceRefused):
        chain.simulate(2**64 - 1)


def test_the_same_acts_have_the_same_receipts_on_both(client):
    """The chain of a node and the one in this process are the same core."""

    def act(chain):
        alice, bob = chain.accounts[0].address, chain.accounts[1].address
        salt = bytes(32)
        clock = chain.deploy(HEARTBEAT, sender=alice, value="5 CBY", salt=salt)
        echo = chain.deploy(ECHO, sender=bob, salt=salt)
        limits = {"cycles_limit": 90_000, "cells_limit": 9_000}
        prices = {"max_fee_per_cycle": 9_000, "max_fee_per_cell": 9_000}
        echo.call("remember", b"x", sender=alice, **limits)
        echo.call("fail", sender=bob, **limits, expect_failure=True)
        chain.execute(Transfer(alice, 5), sender=bob, **limits, **prices)
        chain.advance(blocks=30)
        return chain, clock

    with Devnet() as devnet:
        (ours, clock), (theirs, remote) = act(devnet), act(client)
        for mine, other in zip(ours.receipts(), theirs.receipts(), strict=True):
            for name in ("kind", "actor", "handler", "failure", "value", "scheduled"):
                assert getattr(mine, name) == getattr(other, name)
            assert (mine.cycles_used, mine.cells_used) == (
                other.cycles_used,
                other.cells_used,
            )
        fires = ours.receipts(ReceiptKind.FIRE)
        assert fires == theirs.receipts(ReceiptKind.FIRE)
        assert len(fires) == 3
        assert ours.events() == theirs.events()
        for height in (11, 12, 21):
            assert f"{ours.explain_block(height)}" == theirs.explain_block(height)
        assert f"{ours.simulate(100)}" == theirs.simulate(100)
        assert ours.timers() == theirs.timers()
        assert clock.storage == remote.storage
        assert ours.height == theirs.height


def test_a_closed_chain_says_so(chain):
    chain.close()
    chain.close()
    for act in (chain.mine, lambda: chain.balance(bytes(20))):
        with pytest.raises(ChainClosed, match="closed"):
            act()


@pytest.mark.parametrize("kind", [Devnet, Client])
def test_both_have_every_member_of_the_protocol(kind):
    """And of the same types: mypy compares them, in node/testing/devnet.py."""
    members = {name for name in vars(Chain) if not name.startswith("_")} - {"accounts"}
    assert members
    assert {name for name in members if not hasattr(kind, name)} == set()


@pytest.mark.parametrize("bad", [None, 5, "0x00", b"", bytes(19), [], 1.5])
def test_no_address_is_no_address(chain, bad):
    with pytest.raises(InvalidArgument, match=r"who: .*address of 20 bytes"):
        chain.balance(bad)


# --- ids that the chain does not have ---------------------------------------------

NOBODY, NO_ID = bytes(19) + b"\x63", b"\x63" * 32

UNKNOWN = {
    "actor": ("address", NOBODY, lambda chain: chain.actor(NOBODY)),
    "timers": ("actor", NOBODY, lambda chain: chain.timers(NOBODY)),
    "queue": ("target", NOBODY, lambda chain: chain.queue(NOBODY)),
    "queue_place": ("timer_id", NO_ID, lambda chain: chain.queue_place(NO_ID)),
    "watches": ("actor", NOBODY, lambda chain: chain.watches(NOBODY)),
    "storage": ("actor", NOBODY, lambda chain: chain.storage(NOBODY)),
    "storage_entry": ("actor", NOBODY, lambda c: c.storage_entry(NOBODY, "key")),
    "code_versions": ("actor", NOBODY, lambda chain: chain.code_versions(NOBODY)),
    "read": ("actor", NOBODY, lambda chain: chain.read(NOBODY, "handler")),
    "quote": ("actor", NOBODY, lambda chain: chain.quote(NOBODY)),
    "timer": ("timer_id", NO_ID, lambda chain: chain.timer(NO_ID)),
    "standing": ("timer_id", NO_ID, lambda chain: chain.standing(NO_ID)),
    "explain": ("timer_id", NO_ID, lambda chain: chain.explain(NO_ID)),
    "block": ("height", 9, lambda chain: chain.block(9)),
    "explain_block": ("height", 9, lambda chain: chain.explain_block(9)),
    "changes": ("height", 9, lambda chain: chain.changes(9)),
    "costs": ("actor", NOBODY, lambda chain: chain.costs(actor=NOBODY)),
    "storage_history": ("actor", NOBODY, lambda c: c.storage_history(NOBODY)),
    "trace": ("execution_id", NO_ID, lambda chain: chain.trace(NO_ID)),
    "trace_read": ("actor", NOBODY, lambda chain: chain.trace_read(NOBODY, "h")),
}
OF_ONE = {
    "decisions": ("timer_id", NO_ID, lambda chain: chain.decisions(NO_ID)),
    "result_at": ("height", 9, lambda chain: chain.result_at(9)),
    "wait_for": ("transaction_id", NO_ID, lambda chain: chain.wait_for(NO_ID)),
}
"""Methods that only one kind of chain has."""

REMEDY = {
    "actor": "a deployment's receipt names it",
    "target": "a deployment's receipt names it",
    "address": "a deployment's receipt names it",
    "timer_id": r"timers\(\) shows those that are pending",
    "execution_id": "a timer that fired, or of a message",
    "transaction_id": r"submit\(\) answers it",
    "height": "0 to 1 exist",
}


@pytest.mark.parametrize("method", [*UNKNOWN, *OF_ONE])
def test_what_is_not_there_is_refused_by_name_and_with_a_remedy(chain, alice, method):
    """Unknown ids: "a typed error that names the argument and the remedy"."""
    argument, given, ask = (UNKNOWN | OF_ONE)[method]
    if not hasattr(chain, method):
        return
    chain.deploy(HEARTBEAT, sender=alice, value="5 CBY")
    with pytest.raises(UnknownId, match=REMEDY[argument]) as error:
        ask(chain)
    assert isinstance(error.value, InvalidArgument | LookupError)
    assert error.value.argument == argument
    shown = f"0x{given.hex()}" if isinstance(given, bytes) else f"{given}"
    assert str(error.value).startswith(f"{argument}: ")
    assert str(error.value).endswith(f"not {shown}")


NAMES_NO_ID = {
    "account", "accounts", "advance", "api", "balance", "blocks", "close",
    "count_due", "debug", "deploy", "events", "execute", "export_bundle",
    "from_bundle", "fund", "genesis", "head", "height", "import_bundle",
    "is_closed", "label", "labels", "lane_use", "last", "mine", "mine_until",
    "nonce", "params", "profile", "receipts", "rehearse_upgrade", "require_open",
    "results", "set_balance", "set_code", "set_storage", "simulate", "snapshot",
    "state", "stream_blocks", "stream_events", "stream_timers", "submit",
    "submit_raw", "supply", "take_output", "timestamp_ms", "transfer", "upgrade",
    "waiting",
}  # fmt: skip
"""Of an address that nothing ever touched, the account is an empty one."""


@pytest.mark.parametrize("kind", [Devnet, Client])
def test_every_method_that_names_what_must_be_there_is_tried(kind):
    members = {name for name in dir(kind) if not name.startswith("_")}
    assert members - NAMES_NO_ID <= {*UNKNOWN, *OF_ONE}


def test_what_ended_is_not_unknown(chain, alice):
    clock = chain.deploy(HEARTBEAT, sender=alice, value="5 CBY")
    (timer,) = clock.timers
    chain.advance(next_timer=True)
    assert chain.timer(timer.timer_id) is None
    assert chain.standing(timer.timer_id) is None
    assert chain.balance(NOBODY) == chain.nonce(NOBODY) == 0
    assert chain.storage_entry(clock, "nothing") is None


def test_an_address_or_an_id_may_be_its_text(chain, alice):
    """Everything prints them as `0x…`; digits may be in either case."""
    sender, nobody = f"0x{alice.address.hex()}", f"0x{NOBODY.hex().upper()}"
    clock = chain.deploy(HEARTBEAT, sender=sender, value="5 CBY")
    (timer,) = chain.timers(actor=f"0x{clock.address.hex()}")
    timer_id = f"0x{timer.timer_id.hex()}"
    assert chain.timer(timer_id) == timer
    assert f"{chain.explain(timer_id)}" == f"{chain.explain(timer.timer_id)}"
    receipt = chain.transfer(nobody, 5, sender=sender)
    assert chain.balance(nobody) == chain.balance(NOBODY) == 5
    assert chain.trace(f"0x{receipt.id.hex()}") == chain.trace(receipt.id)
    assert chain.standing(timer_id) is chain.queue_place(timer_id) is None
    fired = assert_fires_at(chain, timer_id, timer.height)
    assert fired.id == timer.timer_id


def test_a_read_that_fails_shows_the_actors_own_traceback(echo):
    with pytest.raises(ReadFailed) as error:
        echo.read("fail")
    assert str(error.value).splitlines() == [
        "IndexError",
        '  File "<actor>", line 5, in inner',
        "    return values[7]",
        '  File "<actor>", line 8, in fail',
        "    return inner([])",
    ]
    assert error.value.failure.kind == "IndexError"
    with pytest.raises(ReadFailed, match="hint: this actor has inner, fail, burn"):
        echo.read("nothing")


def test_beginners_mistakes_are_answered_with_the_remedy(chain, echo, alice):
    with pytest.raises(InvalidArgument, match=r"or the file it is in: Path\(…\)"):
        chain.deploy("heartbeat.py")
    with pytest.raises(InvalidArgument, match="of a text: 0x and 40 hex digits"):
        chain.balance(alice.address.hex())
    with pytest.raises(TransactionFailed, match="hint: this actor has inner, fail"):
        echo.call("fial")
    private = "hint: a name that begins with _ is the actor's own; this actor has"
    with pytest.raises(TransactionFailed, match=private):
        echo.call("_fail")
    with pytest.raises(TransactionRefused, match="fund the sender, or lower") as error:
        chain.transfer(bytes(20), 5, sender=NOBODY)
    assert str(error.value).count("fund the sender") == 1
    with pytest.raises(InvalidArgument, match=r"^advance: exactly one of blocks"):
        chain.advance()
    with pytest.raises(TypeError, match="unexpected keyword argument 'block'"):
        chain.advance(block=1)


# --- bad input: what no call can take is refused before it happens ----------------

ADDRESSES = (None, 5, "0x00", "00" * 20, b"", bytes(19), [], 1.5)
NUMBERS = (-1, 2**128, 1.5, None, "many", True, b"5")
COUNTS = (0, -1, 1.5, None, "1", True, 2**64)
TEXTS = (None, 5, b"text", ["text"], "\ud800")
BYTES = (None, 5, "text", bytearray(b"x"), [1])
IDS = (None, 5, "0x", "00" * 32, b"", bytes(65))
PATHS = (None, 5, b"file", "", "a\0b", ["file"], "\ud800")
TO = bytes(20)

BAD = {
    "balance": ("who", ADDRESSES, lambda chain, bad: chain.balance(bad)),
    "nonce": ("who", ADDRESSES, lambda chain, bad: chain.nonce(bad)),
    "timers": ("actor", ADDRESSES[1:], lambda chain, bad: chain.timers(bad)),
    "storage": ("actor", ADDRESSES, lambda chain, bad: chain.storage(bad)),
    "storage_entry": ("actor", ADDRESSES, lambda c, bad: c.storage_entry(bad, b"k")),
    "storage_entry key": ("key", (None, 5), lambda c, bad: c.storage_entry(TO, bad)),
    "actor": ("address", ADDRESSES, lambda chain, bad: chain.actor(bad)),
    "trace": ("execution_id", IDS, lambda chain, bad: chain.trace(bad)),
    "trace height": (
        "height", (-1, 1.5, "1", True, 2**64),
        lambda chain, bad: chain.trace(bytes(32), bad),
    ),
    "trace kind": (
        "kind", ("AGENT", 2), lambda chain, bad: chain.trace(bytes(32), 1, bad),
    ),
    "changes": (
        "height", (-1, 1.5, "1", True, 2**64), lambda chain, bad: chain.changes(bad),
    ),
    "costs": ("actor", ADDRESSES[1:], lambda c, bad: c.costs(actor=bad)),
    "costs from": (
        "from_height", (-1, 1.5, "1", True, 2**64), lambda c, bad: c.costs(bad),
    ),
    "costs to": (
        "to_height", (-1, 1.5, "1", True, 2**64), lambda c, bad: c.costs(None, bad),
    ),
    "storage_history": ("actor", ADDRESSES, lambda c, bad: c.storage_history(bad)),
    "storage_history of": (
        "prefix", (None, 5, [], "\ud800"), lambda c, bad: c.storage_history(TO, bad),
    ),
    "storage_history as many": (
        "changes", (0, 10_001, None), lambda c, bad: c.storage_history(TO, changes=bad),
    ),
    "count_due": (
        "from_height", (-1, 1.5, "1", True, 2**64), lambda c, bad: c.count_due(bad),
    ),
    "count_due into": (
        "buckets", (0, 1_025, None), lambda c, bad: c.count_due(0, 9, bad),
    ),
    "lane_use": (
        "to_height", (-1, 1.5, "1", True, 2**64), lambda c, bad: c.lane_use(0, bad),
    ),
    "lane_use from": ("from_height", (9, 10), lambda c, bad: c.lane_use(bad, 8)),
    "trace_read": ("actor", ADDRESSES, lambda c, bad: c.trace_read(bad, "handler")),
    "trace_read handler": (
        "handler", TEXTS, lambda chain, bad: chain.trace_read(TO, bad),
    ),
    "timer": ("timer_id", IDS, lambda chain, bad: chain.timer(bad)),
    "standing": ("timer_id", IDS, lambda chain, bad: chain.standing(bad)),
    "queue": ("target", ADDRESSES[1:], lambda chain, bad: chain.queue(bad)),
    "queue_place": ("timer_id", IDS, lambda chain, bad: chain.queue_place(bad)),
    "watches": ("actor", ADDRESSES[1:], lambda chain, bad: chain.watches(bad)),
    "watches on": (
        "watched", ADDRESSES[1:], lambda chain, bad: chain.watches(watched=bad),
    ),
    "quote bid": (
        "bid_fp", (-1, 1.5, "1", True, 2**128),
        lambda chain, bad: chain.quote(TO, bid_fp=bad),
    ),
    "quote": ("actor", ADDRESSES, lambda chain, bad: chain.quote(bad)),
    "quote payer": (
        "fee_payer", ADDRESSES[1:], lambda chain, bad: chain.quote(TO, bad),
    ),
    "quote limit": (
        "gas_limit", (-1, 1.5, "1", True, None, 2**64),
        lambda chain, bad: chain.quote(TO, gas_limit=bad),
    ),
    "quote fee": (
        "max_fee_per_cycle", (-1, 1.5, "1", True, 2**128),
        lambda chain, bad: chain.quote(TO, max_fee_per_cycle=bad),
    ),
    "quote bytes": (
        "payload_bytes", (2**64,), lambda c, bad: c.quote(TO, payload_bytes=bad),
    ),
    "quote term": ("terms", (1,), lambda chain, bad: chain.quote(TO, bid=bad)),
    "explain": ("timer_id", IDS, lambda chain, bad: chain.explain(bad)),
    "events": ("topic", TEXTS[1:], lambda chain, bad: chain.events(bad)),
    "receipts": ("kind", (5, "fire", 0), lambda chain, bad: chain.receipts(bad)),
    "block": ("height", (-1, 1.5, "1", True), lambda chain, bad: chain.block(bad)),
    "read actor": ("actor", ADDRESSES, lambda chain, bad: chain.read(bad, "h")),
    "read handler": ("handler", TEXTS, lambda chain, bad: chain.read(TO, bad)),
    "read payload": ("payload", BYTES, lambda chain, bad: chain.read(TO, "h", bad)),
    "explain_block": (
        "height", (-1, 1.5, "1", True, None), lambda c, bad: c.explain_block(bad),
    ),
    "simulate": ("blocks", COUNTS, lambda chain, bad: chain.simulate(bad)),
    "mine": ("blocks", COUNTS, lambda chain, bad: chain.mine(bad)),
    "advance": ("advance", (None, 1.5, "1"), lambda c, bad: c.advance(blocks=bad)),
    "transfer to": ("to", ADDRESSES, lambda chain, bad: chain.transfer(bad, 1)),
    "transfer": ("amount", NUMBERS, lambda chain, bad: chain.transfer(TO, bad)),
    "transfer from": (
        "sender", ADDRESSES[1:], lambda c, bad: c.transfer(TO, 1, sender=bad),
    ),
    "fund": ("amount", (*NUMBERS, "5 EUR"), lambda chain, bad: chain.fund(TO, bad)),
    "set_balance": ("who", ADDRESSES, lambda chain, bad: chain.set_balance(bad, 1)),
    "label": ("who", ADDRESSES, lambda chain, bad: chain.label(bad, "name")),
    "label name": (
        "name", (*TEXTS, "", "x" * 65, "0x00", "7", " x", "account 1"),
        lambda chain, bad: chain.label(TO, bad),
    ),
    "deploy": ("source", (None, 5, [], "\ud800"), lambda chain, bad: chain.deploy(bad)),
    "deploy payload": ("payload", BYTES, lambda c, bad: c.deploy("x = 1", payload=bad)),
    "deploy salt": (
        "salt", (b"", bytes(31), 5, "s"), lambda c, bad: c.deploy("x = 1", salt=bad),
    ),
    "deploy value": ("value", NUMBERS, lambda c, bad: c.deploy("x = 1", value=bad)),
    "upgrade": ("actor", ADDRESSES, lambda c, bad: c.upgrade(bad, "x = 1")),
    "upgrade source": (
        "source", (None, 5, [], "\ud800", "heart.py", Path("/no/such/file.py")),
        lambda c, bad: c.upgrade(TO, bad),
    ),
    "upgrade payload": (
        "payload", BYTES, lambda c, bad: c.upgrade(TO, "x = 1", bad),
    ),
    "code_versions": ("actor", ADDRESSES, lambda c, bad: c.code_versions(bad)),
    "set_storage": ("actor", ADDRESSES, lambda c, bad: c.set_storage(bad, b"k", b"")),
    "set_storage key": (
        "key", (None, 5, b"", bytes(257), "k" * 201, "\ud800"),
        lambda c, bad: c.set_storage(TO, bad, b""),
    ),
    "set_storage raw": (
        "value", (5, "text", bytes(65_537)),
        lambda c, bad: c.set_storage(TO, b"k", bad),
    ),
    "set_storage value": (
        "value", (1.5, {1, 2}, object(), bytes(65_537)),
        lambda c, bad: c.set_storage(TO, "k", bad),
    ),
    "set_code": ("actor", ADDRESSES, lambda c, bad: c.set_code(bad, "x = 1")),
    "set_code source": ("source", (None, 5), lambda c, bad: c.set_code(TO, bad)),
    "limits": (
        "cycles_limit", (-1, 1.5, "1", True, 2**64),
        lambda c, bad: c.execute(Transfer(TO, 1), cycles_limit=bad),
    ),
    "fees": (
        "max_fee_per_cycle", (-1, 1.5, "1", True, 2**128),
        lambda c, bad: c.submit(Transfer(TO, 1), max_fee_per_cycle=bad),
    ),
    "unknown field": (
        "max_fee", (5,), lambda c, bad: c.submit(Transfer(TO, 1), max_fee=bad),
    ),
    "export_bundle": ("file", PATHS, lambda chain, bad: chain.export_bundle(bad)),
    "import_bundle": ("file", PATHS, lambda chain, bad: chain.import_bundle(bad)),
    "call": (
        "handler", TEXTS, lambda c, bad: Actor(c, TO, "").call(bad),
    ),
    "call payload": (
        "payload", BYTES, lambda c, bad: Actor(c, TO, "").call("h", bad),
    ),
    "call value": (
        "value", NUMBERS, lambda c, bad: Actor(c, TO, "").call("h", value=bad),
    ),
}  # fmt: skip


@pytest.mark.parametrize("method", BAD)
def test_what_no_call_can_take_is_refused_by_name(chain, method):
    argument, values, call = BAD[method]
    for bad in values:
        with pytest.raises(InvalidArgument, match=f"^{argument}: ") as error:
            call(chain, bad)
        assert error.value.argument == argument
        assert (
            "want" in str(error.value)
            or "from" in str(error.value)
            or (
                "exist" in str(error.value)
                or "known" in str(error.value)
                or "exactly one" in str(error.value)
            )
        ), "it says what is wanted"
    assert chain.height == 0


def test_every_method_that_takes_arguments_is_tried_with_bad_ones():
    takes_none = {"accounts", "head", "height", "timestamp_ms", "snapshot", "profile"}
    takes_none |= {"labels"}
    tried = {name.split()[0] for name in BAD} | {"execute", "submit"}
    members = {name for name in vars(Chain) if not name.startswith("_")}
    assert members - takes_none <= tried


FAILING = """
class Actor:
    def start(self):
        for after in (2, 4, 6):
            pvm_host.schedule_timer(pvm_host.block_height() + after, b"")

    def handle_timer(self):
        raise ValueError("never again")
"""


def test_a_fire_that_fails_is_raised_where_a_chain_is_strict(chain):
    """With the actor's traceback, the timer, the height, and how many there were."""
    actor = chain.deploy(FAILING, value="5 CBY")
    first, *_ = actor.call("start").scheduled
    chain.advance(next_timer=True)  # which nobody asked to be strict
    before = chain.height
    with pytest.raises(FireFailed) as error:
        chain.advance(blocks=4, strict=True)
    assert chain.height == before + 4
    assert (error.value.failure.kind, error.value.count) == ("ValueError", 2)
    assert error.value.height == before + 2
    assert error.value.receipt.id != first
    text = str(error.value)
    assert 'raise ValueError("never again")' in text
    assert f"fired at height {before + 2} and failed; 1 more fires failed" in text


def test_a_chain_is_strict_by_its_attribute_and_a_failure_may_be_expected(chain):
    actor = chain.deploy(FAILING, value="5 CBY")
    actor.call("start")
    chain.is_strict = True
    with pytest.raises(FireFailed):
        chain.advance(next_timer=True)
    assert chain.advance(next_timer=True, expect_failure=True).fires_failed == 1
    assert chain.advance(next_timer=True, strict=False).fires_failed == 1
    with pytest.raises(AssertionError, match="failure of a fire was expected"):
        chain.advance(blocks=1, expect_failure=True)
    with pytest.raises(InvalidArgument, match=r"^strict: "):
        chain.advance(blocks=1, strict=1)


def test_an_assertion_about_a_fire_holds_only_if_it_succeeded(chain):
    actor = chain.deploy(FAILING, value="5 CBY")
    timer, other, _ = actor.call("start").scheduled
    with pytest.raises(FireFailed, match="never again"):
        assert_fires_at(chain, timer, chain.height + 2)
    receipt = assert_fires_at(chain, other, chain.height + 2, expect_failure=True)
    assert receipt.failure.kind == "ValueError"
    fine = chain.deploy(FAILING.replace('raise ValueError("never again")', "pass"))
    chain.fund(fine, "5 CBY")
    timer, *_ = fine.call("start").scheduled
    with pytest.raises(AssertionError, match="a failure was expected"):
        assert_fires_at(chain, timer, chain.height + 2, expect_failure=True)


CALLEE = """
def fail(payload):
    check(payload)

def check(payload):
    raise ValueError("not " + payload.decode())
"""

CALLER = """
class Actor:
    def start(self, payload):
        return self.ask(payload)

    def ask(self, payload):
        return pvm_host.call_actor(payload[:20], "fail", payload[20:])

    def patient(self, payload):
        try:
            self.ask(payload)
        except pvm_host.RevertError as error:
            return str(error)
"""


def test_a_failure_in_a_callee_keeps_its_frames_and_its_address(chain):
    """Through `call_actor`, in the order in which the calls were made."""
    callee, caller = chain.deploy(CALLEE), chain.deploy(CALLER)
    middle = chain.deploy(CALLER.replace('"fail"', '"start"'))
    payload = caller.address + callee.address + b"well"
    with pytest.raises(TransactionFailed) as told:
        middle.call("start", payload)
    stack = [
        (frame.function, frame.line, frame.actor) for frame in told.value.failure.stack
    ]
    assert stack == [
        ("Actor.start", 4, b""),
        ("Actor.ask", 7, b""),
        ("Actor.start", 4, caller.address),
        ("Actor.ask", 7, caller.address),
        ("fail", 3, callee.address),
        ("check", 6, callee.address),
    ]
    assert told.value.receipt == chain.receipts()[-1]
    text = str(told.value)
    assert f'  File "actor 0x{callee.address.hex()}", line 6, in check\n' in text
    assert '    raise ValueError("not " + payload.decode())\n' in text
    assert (
        '    return pvm_host.call_actor(payload[:20], "start", payload[20:])\n' in text
    )
    with pytest.raises(ReadFailed, match="line 6, in check"):
        caller.read("start", callee.address + b"well")
    caught = caller.call("patient", callee.address + b"well")
    assert caught.failure is None


def test_a_callee_that_halts_is_named_with_its_handler(chain):
    """Where it has no frames of its own to show, and however deep the callers are."""
    callee = chain.deploy("def fail(payload):\n    while True:\n        pass\n")
    caller = chain.deploy(CALLER)
    with pytest.raises(TransactionFailed) as told:
        caller.call("start", callee.address, cycles_limit=300_000, cells_limit=5_000)
    last = told.value.failure.stack[-1]
    assert (last.function, last.actor) == ("fail", callee.address)


# --- files, names, handlers as methods, one block ---------------------------------

SHOP = """
class Shop:
    def deploy(self):
        self.storage["sold"] = 0

    def buy(self, payload) -> int:
        count = pvm_host.cbor_decode(payload)["count"]
        assert count > 0, "nothing is bought"
        self.storage["sold"] += count
        return -self.storage["sold"]

    def rename(self, payload: bytes) -> str:
        self.storage["name"] = payload.decode()
        return self.storage["name"]

    def name(self) -> str:
        return self.storage["name"]

    def raw(self, payload) -> "bytes":
        return payload

    def call(self, payload):
        return [payload, True]

    def fail(self):
        return self._deeper()

    def _deeper(self):
        raise KeyError("deep")
"""


@pytest.fixture
def shop_file(tmp_path):
    path = tmp_path / "corner shop.py"
    path.write_text(SHOP)
    return path


def test_a_file_is_deployed_and_named_by_failures(chain, shop_file):
    """The deepest frame first, in the form that editors make links of."""
    shop = chain.deploy(shop_file)
    assert (shop.source, shop.file) == (SHOP, str(shop_file))
    assert chain.actor(shop).file == str(shop_file)
    for act in (shop.fail, shop.read.fail):
        with pytest.raises((TransactionFailed, ReadFailed)) as told:
            act()
        assert str(told.value).splitlines()[1:5] == [
            f'  File "{shop_file}", line 29, in Shop._deeper',
            '    raise KeyError("deep")',
            f'  File "{shop_file}", line 26, in Shop.fail',
            "    return self._deeper()",
        ]


def test_addresses_have_names_from_the_start_and_those_they_are_given(chain, shop_file):
    alice, bob = chain.accounts[:2]
    first, second = chain.deploy(shop_file), chain.deploy(shop_file)
    clock = chain.deploy(HEARTBEAT, value="5 CBY")
    plain = chain.deploy(ECHO)
    names = [chain.labels.get(one.address) for one in (alice, first, second, clock)]
    assert names == ["account 0", "corner shop", "corner shop 2", "Heartbeat"]
    assert plain.address not in chain.labels
    assert repr(plain) == f"<actor 0x{plain.address.hex()}>"
    with chain.snapshot():
        chain.label(clock, "the clock")
        chain.label(bob, "\x1b[31mtreasury")
        assert repr(clock).startswith("<actor the clock 0x")
        timer = clock.timers[0]
        told = f"{chain.explain(timer.timer_id)}"
        assert "of actor the clock, paid by the actor itself" in told
        receipt = chain.transfer(bob, 5)
        assert "\\x1b[31mtreasury" in f"{receipt.trace}"
        assert "\\x1b[31mtreasury: " in f"{receipt.changes}"
        assert "the clock" in f"{chain.quote(clock)}{chain.simulate(20)}"
        with pytest.raises(InvalidArgument, match=f"0x{clock.address.hex()} does not"):
            chain.label(bob, "the clock")
        chain.label(clock, "the clock")  # it has it already
    assert chain.labels[clock.address] == "Heartbeat", "with the snapshot they go back"
    assert chain.labels[bob.address] == "account 1"
    assert "Heartbeat" in f"{chain.explain_block(chain.height)}{chain.simulate(20)}"


def test_handlers_are_methods_with_arguments_and_results(chain, shop_file):
    """Bytes, text and CBOR as arguments; what is returned by its annotation."""
    shop = chain.deploy(shop_file)
    receipt = shop.buy({"count": 3}, sender=chain.accounts[1])
    assert receipt.sender == chain.accounts[1].address
    assert (receipt.result, receipt.value) == (-3, b"\x22"), "which is a text, too"
    assert chain.receipts()[-1] == receipt
    assert chain.receipts()[-1].result == '"'
    assert shop.rename("gold").result == "gold"
    assert shop.call("rename", b"7").result == "7"
    assert shop.read.name() == "7"
    assert shop.read("name") == b"7"
    assert shop.raw(b"text").result == b"text"
    assert shop.read.raw(b"text") == b"text"
    assert shop.raw(None).result == b""
    assert shop.read.call("x") == [b"x", True]
    assert shop.call("call", b"x").result == [b"x", True]
    failed = shop.buy({"count": 0}, expect_failure=True)
    assert (failed.result, failed.failure.kind) == (None, "AssertionError")
    with pytest.raises(TransactionFailed, match="nothing is bought"):
        shop.buy({"count": 0})


def test_an_unknown_handler_lists_those_that_there_are(chain, shop_file):
    shop = chain.deploy(shop_file)
    known = "it has deploy, buy, rename, name, raw, call, fail"
    for ask in (lambda: shop.sell, lambda: shop.read.sell):
        with pytest.raises(AttributeError, match=known):
            ask()
    assert not hasattr(shop, "_deeper")
    assert {"buy", "storage"} <= {*dir(shop)}
    assert "buy" in dir(shop.read)
    with pytest.raises(InvalidArgument, match=r"^argument: name\(\) takes no payload"):
        shop.name("x")
    for bad in (1.5, object(), "\ud800", [set()]):
        with pytest.raises(InvalidArgument, match=r"^argument: None, bytes, str, int"):
            shop.rename(bad)
    with pytest.raises(InvalidArgument, match=r"^argument: "):
        shop.read.rename(1.5)


def test_one_block_has_all_that_is_sent_inside(chain, shop_file):
    shop, height = chain.deploy(shop_file), chain.height
    alice, bob = chain.accounts[:2]
    with chain.block() as block:
        one = shop.buy({"count": 1}, sender=alice)
        two = shop.buy({"count": 2}, sender=bob)
        sent = chain.transfer(alice, 5, sender=bob)
        another = chain.deploy(shop_file)
        failed = shop.fail(expect_failure=True)
        assert chain.height == height
        assert repr(one) == "<receipt of a block that is not made yet>"
        with pytest.raises(BlockOpen, match=r"^value: the block of this receipt"):
            assert one.value
        for act in (chain.mine, lambda: chain.advance(blocks=1)):
            with pytest.raises(BlockOpen, match="is not over"):
                act()
        with pytest.raises(BlockOpen), chain.block():
            pass
    assert chain.height == block.header.height == height + 1
    assert (one.result, two.result, sent.fee > 0) == (-1, -3, True)
    assert another.receipt.actor == another.address
    assert another.storage == {"sold": 0}
    assert failed.failure.kind == "KeyError"
    assert [one, two, sent, another.receipt, failed] == list(block.receipts)
    assert block == chain.block(height + 1)
    assert one.trace.receipt == one
    with pytest.raises(InvalidArgument, match=r"^height: none"), chain.block(height):
        pass
    chain.mine()
    assert chain.height == height + 2


def test_a_block_that_fails_says_what_did(chain, shop_file):
    shop, height = chain.deploy(shop_file), chain.height
    kept = []

    def fail():
        kept.append(shop.buy({"count": 1}))
        shop.fail()

    with pytest.raises(TransactionFailed, match="deep"), chain.block():
        fail()
    assert (kept[0].result, chain.height) == (-1, height + 1), "the block is made"
    with pytest.raises(AssertionError, match="a failure was expected"), chain.block():
        shop.buy({"count": 1}, expect_failure=True)

    def stop():
        shop.buy({"count": 1})
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"), chain.block():
        stop()
    chain.mine()
    assert shop.storage["sold"] == 3, "what was sent waited as after submit"
    shop.buy({"count": 1})
