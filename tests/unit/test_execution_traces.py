"""What a trace tells of calls, failures and changes, and how it is cut and shown."""

import pytest

from node.chain.block import ReceiptKind
from node.chain.transaction import Transfer
from node.client import TransactionFailed, UnknownId
from node.query.trace import watcher
from node.query.trace.records import (
    CallRefused,
    EventMade,
    MessageQueued,
    StorageWrite,
    TimerTouched,
    TracedCall,
    TransferMade,
    UpgradeMade,
)
from node.query.trace.text import changes_text, key_text, trace_text, value_text
from node.testing import Devnet
from node.testing.failure_report import chain_report
from pvm.output import Printed

SOURCE = """
class Purse:
    def __init__(self):
        self.held = [1]

class Actor:
    def init(self):
        self.storage["n"] = 1

    def work(self, payload):
        print("at work")
        self.storage["n"] += 1
        pvm_host.delete_state(b"absent")
        pvm_host.transfer(payload, 5)
        pvm_host.emit_event("done", b"x")
        timer = pvm_host.schedule_timer(pvm_host.block_height() + 2, b"tick")
        pvm_host.extend_timer(timer, pvm_host.block_height() + 9)
        pvm_host.send_message(self.address, "handle_timer", b"m")
        try:
            pvm_host.transfer(payload, 10 ** 30)
        except pvm_host.HostError as error:
            print(error.name)
        return "ready"

    def outer(self, payload):
        purse = Purse()
        text = "x" * 999
        for i in range(3):
            last = i
        return pvm_host.call_actor(payload, "inner", b"deep")

    def inner(self, payload):
        wanted = {"a": [1, (2,)]}
        self.storage["n"] = 99
        pvm_host.log("error", "about to fail")
        raise ValueError("not \\x1b[31mtoday")

    def careful(self, payload):
        try:
            pvm_host.call_actor(payload, "inner", b"")
        except pvm_host.RevertError:
            self.storage["n"] = 7

    def descend(self, payload):
        pvm_host.log("info", "down")
        pvm_host.call_actor(self.address, "descend", payload, 10_000_000)

    def many(self, payload):
        for i in range(100):
            pvm_host.call_actor(payload, "nothing", bytes(200))

    def nothing(self):
        return None

    def loud(self):
        for i in range(40):
            print("y" * 1_500)

    def louder(self):
        for i in range(100):
            print("y" * 900)

    def long_word(self):
        raise ValueError("x" * 500)

    def handle_timer(self, payload):
        print("fired", payload)
        self.storage["fired"] = payload

    def ask(self, payload):
        print("asked")
        return self.storage["n"]
"""


@pytest.fixture(scope="module")
def deployed():
    with Devnet() as chain:
        one = chain.deploy(SOURCE, value="5 CBY")
        other = chain.deploy(SOURCE)
        yield chain, one, other


@pytest.fixture
def chain(deployed):
    with deployed[0].snapshot():
        yield deployed[0]


@pytest.fixture
def one(deployed, chain):
    assert chain is deployed[0]
    return deployed[1]


@pytest.fixture
def other(deployed, chain):
    assert chain is deployed[0]
    return deployed[2]


def steps_of(call, kind):
    return [step for step in call.steps if isinstance(step, kind)]


def test_a_trace_tells_all_that_a_call_did_in_order(chain, one, other):
    receipt = one.call("work", other.address)
    trace = receipt.trace
    call = trace.call
    assert (call.actor, call.handler) == (one.address, "work")
    assert (call.sender, call.payload) == (chain.accounts[0].address, other.address)
    assert (call.returned, call.failure) == (b"ready", None)
    (timer_id,) = receipt.scheduled
    due, expires = chain.height + 2, chain.height + 9
    assert [type(step) for step in call.steps] == [
        Printed, StorageWrite, StorageWrite, TransferMade, EventMade, TimerTouched,
        TimerTouched, MessageQueued, CallRefused, Printed,
    ]  # fmt: skip
    number, removed = steps_of(call, StorageWrite)
    assert (number.key, number.before, number.after) == (b"storage:n", b"\1", b"\2")
    assert (removed.key, removed.before, removed.after) == (b"absent", None, None)
    assert steps_of(call, TransferMade) == [TransferMade(other.address, 5)]
    assert steps_of(call, EventMade) == [EventMade("done", b"x")]
    scheduled, extended = steps_of(call, TimerTouched)
    assert (scheduled.what, scheduled.timer_id) == ("scheduled", timer_id)
    assert (scheduled.height, scheduled.payload) == (due, b"tick")
    assert (extended.what, extended.expires_at) == ("extended", expires)
    (message,) = steps_of(call, MessageQueued)
    assert (message.target, message.handler) == (one.address, "handle_timer")
    (refused,) = steps_of(call, CallRefused)
    assert refused.name == "transfer"
    assert refused.reason.startswith("InsufficientBalance: ")
    assert [one.text for one in trace.printed] == ["at work\n", "InsufficientBalance\n"]


def test_cycles_and_cells_add_up_to_the_receipt(one, other):
    receipt = one.call("careful", other.address)
    trace = receipt.trace
    (inner,) = trace.call.calls
    assert trace.entry_cycles == 5_000
    assert trace.entry_cycles + trace.call.cycles == receipt.cycles_used
    assert trace.entry_cells + trace.call.cells == receipt.cells_used
    assert trace.call.own_cycles + inner.cycles == trace.call.cycles
    assert inner.own_cycles == inner.cycles


def test_a_failure_that_was_caught_is_told_and_undone(one, other):
    receipt = one.call("careful", other.address)
    (inner,) = receipt.trace.call.calls
    assert receipt.is_success
    assert inner.failure.kind == "ValueError"
    assert [type(step) for step in inner.steps] == [StorageWrite, Printed]
    assert [each.actor for each in receipt.changes.storage] == [one.address]
    assert "failed in" not in str(receipt.trace)
    assert "; undone" in str(receipt.trace)


def test_a_failure_shows_its_frames_across_actors_with_variables(one, other):
    receipt = one.call("outer", other.address, expect_failure=True)
    call = receipt.trace.call
    (outer,) = call.frames
    (inner,) = call.calls[0].frames
    assert (outer.function, outer.actor) == ("Actor.outer", one.address)
    assert outer.source.startswith("return pvm_host.call_actor(")
    held = {each.name: each.text for each in outer.variables}
    assert held["self"] == "<Actor>"
    assert held["purse"] == "<Purse held=[1]>"
    assert held["text"].startswith("'xxx")
    assert held["text"].endswith("…")
    assert (held["i"], held["last"]) == ("2", "2")
    assert not any(name.startswith("_") for name in held)
    assert (inner.function, inner.actor) == ("Actor.inner", other.address)
    held = {each.name: each.text for each in inner.variables}
    assert held == {
        "self": "<Actor>", "payload": "b'deep'", "wanted": "{'a': [1, (2,)]}",
    }  # fmt: skip
    text = str(receipt.trace)
    assert text.index("failed in Actor.inner") < text.index("in Actor.outer, line")


def test_what_was_inserted_is_no_variable(chain):
    guarded = """
import cowboy_sdk

@cowboy_sdk.actor
class Guarded:
    @cowboy_sdk.reentrancy_guard
    def fail(self, payload):
        raise ValueError([n for n in payload])
"""
    receipt = chain.deploy(guarded).call("fail", b"x", expect_failure=True)
    (frame,) = receipt.trace.call.frames
    assert [each.name for each in frame.variables] == ["self", "payload"]


def test_what_an_actor_says_is_shown_and_not_obeyed(one, other):
    receipt = one.call("outer", other.address, expect_failure=True)
    text = str(receipt.trace)
    assert "\x1b" not in text
    assert "not \\x1b[31mtoday" in text


def test_a_text_has_at_most_so_many_lines(one, other):
    receipt = one.call("outer", other.address, expect_failure=True)
    lines = trace_text(receipt.trace, 8).splitlines()
    assert len(lines) == 8
    assert lines[1] == "failed: ValueError: not \\x1b[31mtoday"
    assert lines[2].startswith("failed in Actor.inner")
    assert [n for n, line in enumerate(lines) if line.startswith("… and ")] == [4, 7]
    assert any("outer(" in line for line in lines)


def test_names_stand_for_addresses(one, other):
    receipt = one.call("careful", other.address)
    text = trace_text(receipt.trace, names={one.address: "treasury\x1b"})
    assert "treasury\\x1b.careful(" in text
    assert f"0x{other.address[:4].hex()}….inner()" in text


def test_the_deepest_calls_are_told(one):
    receipt = one.call("descend", expect_failure=True, cycles_limit=9_000_000)
    depths = [depth for depth, _ in receipt.trace.call.walk()]
    assert depths == list(range(33))
    assert len(receipt.trace.printed) == 33
    why, where = trace_text(receipt.trace, 40).splitlines()[1:3]
    assert why.startswith("failed: HostError.TooDeep: ")
    assert where.startswith("failed in Actor.descend, line ")


def test_what_a_trace_has_no_room_for_is_counted(monkeypatch, one, other):
    monkeypatch.setattr(watcher, "TRACE_BYTES_MAX", 12_000)
    monkeypatch.setattr(watcher.TraceRoom.__init__, "__defaults__", (12_000,))
    receipt = one.call("many", other.address, cycles_limit=9_000_000)
    call = receipt.trace.call
    assert 0 < len(call.calls) < 100
    assert len(call.calls) + call.cut == 100
    shown = sum(each.cycles for each in call.calls)
    assert call.own_cycles + shown + call.cut_cycles == call.cycles
    assert call.cycles + receipt.trace.entry_cycles == receipt.cycles_used
    assert f"… {call.cut} more, which a trace has no room for" in str(receipt.trace)


def test_output_beyond_its_bounds_is_cut_in_a_trace_as_it_is_in_a_block(chain, one):
    receipt = one.call("loud", cycles_limit=9_000_000)
    output = chain.last.outputs[0]
    assert "".join(each.text for each in receipt.trace.printed) == output.text
    assert output.cut == 40 * (1_500 - 1_024)


def test_a_trace_says_that_more_was_printed_than_is_kept(chain, one):
    receipt = one.call("louder", cycles_limit=9_000_000)
    kept = receipt.trace.printed
    assert len("".join(each.text for each in kept)) == 65_536
    assert chain.last.outputs[0].cut == 100 * 901 - 65_536
    assert str(receipt.trace).splitlines()[-1] == (
        f"  … {100 - len(kept)} more, which a trace has no room for"
    )


def test_a_headline_is_not_cut_where_its_numbers_stand(one):
    receipt = one.call("long_word", expect_failure=True)
    headline = str(receipt.trace).splitlines()[0]
    assert "before any call); failed: ValueError: xxx" in headline
    assert headline.endswith("…")


def test_a_deployment_whose_source_is_refused_is_to_nobody():
    with Devnet() as chain:
        with pytest.raises(TransactionFailed) as told:
            chain.deploy("import os\n")
        text = str(chain.trace(told.value.receipt.id))
        assert " at height 1: " in text
        assert "nobody" not in text
        assert "    transaction: CompileError: " in chain_report(chain)


def test_a_fire_is_traced_by_its_timer(chain, one, other):
    receipt = one.call("work", other.address)
    (timer_id,) = receipt.scheduled
    chain.advance(blocks=3)
    trace = chain.trace(timer_id)
    assert trace.receipt.kind is ReceiptKind.FIRE
    assert trace.entry_cycles == 1_000
    assert trace.printed[0].text == "fired b'tick'\n"
    changes = trace.changes
    assert [(each.key, each.after) for each in changes.storage] == [
        (b"storage:fired", b"\x44tick")
    ]
    (balance,) = changes.balances
    assert balance.before - balance.after == trace.receipt.fee
    (timer,) = changes.timers
    assert (timer.timer_id, timer.after) == (timer_id, None)
    assert timer.before.height == trace.height
    assert chain.trace(timer_id, trace.height) == trace


def test_a_message_is_traced_by_its_id(chain, one, other):
    one.call("work", other.address)
    result = chain.mine()
    (receipt,) = result.receipts
    assert receipt.kind is ReceiptKind.MAILBOX_MESSAGE
    trace = chain.trace(receipt.id)
    assert trace.receipt == receipt
    assert trace.printed[0].text == "fired b'm'\n"


def test_a_transfer_has_changes_and_no_call(chain, other):
    receipt = chain.transfer(other, 7)
    assert receipt.trace.call is None
    assert receipt.trace.entry_cycles == receipt.cycles_used
    alice = chain.accounts[0].address
    moved = {
        each.address: each.after - each.before for each in receipt.changes.balances
    }
    assert moved == {alice: -7 - receipt.fee, other.address: 7}
    assert chain.changes() == receipt.changes


def test_a_deployment_changes_code_and_storage(chain):
    actor = chain.deploy(SOURCE)
    changes = actor.receipt.changes
    (code,) = changes.codes
    assert (code.actor, code.before) == (actor.address, b"")
    assert [each.key for each in changes.storage] == [b"storage:n"]
    assert "no actor → 0x" in changes_text(changes)


def test_changes_of_an_empty_block_are_none(chain):
    chain.mine(3)
    assert str(chain.changes()) == "nothing changed"
    assert str(chain.changes(0)) == "nothing changed"
    with pytest.raises(UnknownId):
        chain.changes(chain.height + 1)


def test_what_was_not_executed_has_no_trace(chain, one):
    with pytest.raises(UnknownId, match="a timer that fired"):
        chain.trace(bytes(32))
    waiting = chain.submit(Transfer(one.address, 1))
    with pytest.raises(UnknownId):
        chain.trace(waiting)


def test_a_read_is_traced_whatever_comes_of_it(chain, one):
    told = chain.trace_read(one, "ask")
    assert (told.result.value, told.result.failure) == (b"\1", None)
    assert told.call.cycles == told.result.cycles_used
    assert told.result.output.text == "asked\n"
    failed = chain.trace_read(one, "work", bytes(20))
    assert failed.result.failure.kind == "ReadOnlyViolation"
    assert isinstance(failed.call, TracedCall)
    assert "failed in Actor.work" in str(failed)


def test_a_receipt_that_knows_its_chain_equals_the_blocks(chain, one, other):
    receipt = one.call("careful", other.address)
    (plain,) = chain.last.receipts
    assert receipt == plain
    assert plain == receipt
    assert hash(receipt) == hash(plain)
    assert repr(receipt) == repr(plain)


def test_tracing_changes_nothing(chain, one, other):
    receipt = one.call("work", other.address)
    root, known = chain.head.state_root, len(chain.results)
    assert receipt.trace == receipt.trace
    chain.mine()
    with chain.snapshot():
        _ = receipt.trace, chain.changes()
    assert chain.results[known - 1].header.state_root == root


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (b"", "(empty)"), (b"text", "'text'"), (b"\x01", "1"), (b"\xff\xfe", "0xfffe"),
        (b"\x82\x01\x41\x02", "[1, 0x02]"), (b"x" * 99, "'" + "x" * 70 + "…"),
    ],
)  # fmt: skip
def test_values_are_told_as_texts_values_or_bytes(value, told):
    assert value_text(value) == told


def test_keys_are_told_as_an_actor_names_them():
    assert key_text(b"storage:a") == "self.storage['a']"
    assert key_text(b"raw") == "state 'raw'"


GUARD = """
def begin(payload):
    height = pvm_host.block_height()
    first = pvm_host.set_timeout(pvm_host.self_address(), height + 3, b"due")
    pvm_host.update_timer(first, payload=b"later")
    pvm_host.set_state_watch(
        pvm_host.self_address(), [(pvm_host.self_address(), b"w")], b"hit"
    )
    return first

def alter(payload):
    pvm_host.update_timer(payload, b"other", 60_000)

def change(payload):
    pvm_host.set_state(b"w", payload)

def handle_timer(payload):
    print("fired", payload)
    pvm_host.set_state(b"seen", payload)
"""


def test_queued_fires_and_watches_are_traced_as_others_are():
    with Devnet(activations=[{"height": 0, "rules": "globalbox"}]) as chain:
        guard = chain.deploy(GUARD, value="5 CBY")
        begun = guard.call("begin")
        touched = steps_of(begun.trace.call, TimerTouched)
        assert [one.what for one in touched] == ["scheduled", "updated", "scheduled"]
        assert len(begun.changes.timers) == 2
        guard.call("alter", touched[0].timer_id)
        assert "payload 'later' → 'other', gas limit " in str(chain.changes())
        watch = touched[2].timer_id
        guard.call("change", b"x")
        hit = chain.trace(watch)
        assert hit.printed[0].text == "fired b'hit'\n"
        assert hit.entry_cycles + hit.call.cycles == hit.receipt.cycles_used
        first = touched[0].timer_id
        chain.advance(blocks=5)
        fired = chain.trace(first)
        assert fired.printed[0].text == "fired b'other'\n"
        (gone,) = fired.changes.timers
        assert (gone.timer_id, gone.after) == (first, None)
        assert gone.before.payload == b"other"
        (paid,) = fired.changes.balances
        assert paid.before - paid.after == fired.receipt.fee


ASKED = """
def get_gas_bid(context):
    print("asked")
    return [][context["trigger_block_height"]]

def begin(payload):
    pvm_host.schedule_timer(
        pvm_host.block_height() + 1, b"", gba=pvm_host.self_address()
    )

def handle_timer(payload):
    print("fired")
"""


def test_an_agent_that_failed_is_traced_beside_the_fire_of_its_timer():
    with Devnet(activations=[{"height": 0, "rules": "auction"}]) as chain:
        timer_id = chain.deploy(ASKED, value="5 CBY").begin().scheduled[0]
        chain.mine()
        assert chain.trace(timer_id).printed[0].text == "fired\n"
        asked = chain.trace(timer_id, kind=ReceiptKind.AGENT)
        assert chain.trace(timer_id, chain.height, ReceiptKind.AGENT) == asked
        assert asked.receipt.kind is ReceiptKind.AGENT
        assert asked.printed[0].text == "asked\n"
        assert "failed in get_gas_bid, line 4 of " in str(asked)
        with pytest.raises(UnknownId):
            chain.trace(timer_id, kind=ReceiptKind.TRANSACTION)


GROWING = """
def grow(payload):
    pvm_host.upgrade_self(payload)
"""


def test_an_upgrade_is_a_step_and_a_change():
    with Devnet() as chain:
        actor = chain.deploy(GROWING)
        receipt = actor.call("grow", b"def grown():\n    return 5\n")
        (made,) = steps_of(receipt.trace.call, UpgradeMade)
        (code,) = receipt.changes.codes
        assert (code.actor, code.after) == (actor.address, made.code_hash)
        assert "new code for itself: 0x" in str(receipt.trace)
