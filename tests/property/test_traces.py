"""Random worlds, executed again: traces, changes and receipts agree to the unit."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from node.chain.block import ReceiptKind
from node.chain.transaction import DeployActor, UpgradeActor
from node.chain.transition import Caches, apply_block
from node.query.trace.changes import changes_of
from node.query.trace.tracing import trace_block, trace_executions
from node.query.trace.watcher import CallWatcher, TraceRoom
from node.state.memory import MemoryStore
from pvm import Worker
from tests.worlds import PUPPET, AuctionWorld, BiddingWorld, World

BLOCKS = 5
FEW = settings(
    suppress_health_check=list(HealthCheck),
    max_examples=max(3, settings.default.max_examples // 50),
)
"""A world is many blocks, each executed three times."""

TALKING = PUPPET.replace(
    b"        done = []\n", b'        done = []\n        print("told", payload)\n'
)


class TalkingWorld(World):
    """Its actors say what they were told."""

    source = TALKING


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


def require_sums(call):
    """Each call's cycles and cells are its own, those below it, and those cut."""
    for _, each in call.walk():
        assert each.cycles == (
            each.own_cycles + sum(one.cycles for one in each.calls) + each.cut_cycles
        )
        assert each.cells == (
            each.own_cells + sum(one.cells for one in each.calls) + each.cut_cells
        )
        assert min(each.own_cycles, each.own_cells) >= 0


def entry_of(built, trace):
    """What an execution pays before any call, as the rules say."""
    receipt = trace.receipt
    if receipt.kind is ReceiptKind.TRANSACTION:
        transaction = built.block.transactions[receipt.index]
        return transaction.intrinsic_cycles, transaction.intrinsic_cells
    return 1_000, 0


def is_compiled(built, trace):
    """Whether it pays for compiling a source, too, before any call."""
    if trace.receipt.kind is not ReceiptKind.TRANSACTION:
        return False
    instruction = built.block.transactions[trace.receipt.index].instruction
    return isinstance(instruction, DeployActor | UpgradeActor)


def require_agreement(built, traced):
    """A traced block says what its receipts, its writes and its output say."""
    assert [one.receipt for one in traced.executions] == list(built.receipts)
    for trace in traced.executions:
        if trace.call is not None:
            require_sums(trace.call)
            cycles, cells = entry_of(built, trace)
            assert trace.entry_cells == cells
            if is_compiled(built, trace):
                assert trace.entry_cycles > cycles
            else:
                assert trace.entry_cycles == cycles
            assert trace.call.failure == trace.receipt.failure
            assert trace.call.cut == 0
        output = built.outputs.get(trace.receipt.index)
        said = "".join(one.text for one in trace.printed)
        assert said == ("" if output is None else output.text)
    undo = built.undo.changes
    pairs = {key: (undo[key], value) for key, value in built.writes.changes.items()}
    assert traced.changes == changes_of(pairs, TraceRoom(1 << 30))
    require_composition(traced)


def require_composition(traced):
    """What executions changed one after another is what the block changed."""
    first, last = {}, {}
    for trace in traced.executions:
        for one in trace.changes.storage:
            place = one.actor, one.key
            assert last.get(place, one.before) == one.before
            first.setdefault(place, one.before)
            last[place] = one.after
    net = {
        place: (before, last[place])
        for place, before in first.items()
        if before != last[place]
    }
    assert net == {
        (one.actor, one.key): (one.before, one.after) for one in traced.changes.storage
    }


def require_balances(built, traced):
    """Where only transactions were, what they moved is what the block moved."""
    if any(one.kind is not ReceiptKind.TRANSACTION for one in built.receipts):
        return
    moved = {}
    for trace in traced.executions:
        for one in trace.changes.balances:
            moved[one.address] = moved.get(one.address, 0) + one.after - one.before
    net = {one.address: one.after - one.before for one in traced.changes.balances}
    assert {a: d for a, d in moved.items() if d} == net


def watched(state):
    watcher = CallWatcher(TraceRoom())
    return replace(state, caches=Caches(execute=watcher.execute))


@pytest.mark.parametrize("kind", [TalkingWorld, AuctionWorld, BiddingWorld])
@FEW
@given(crowd=st.randoms(use_true_random=False))
def test_traces_changes_and_receipts_agree(worker, kind, crowd):
    world = kind(MemoryStore(), crowd.randrange, worker)
    for _ in range(BLOCKS):
        before = replace(world.state, caches=Caches(code=world.state.caches.code))
        built = world.step()
        traced = worker.run(lambda s=before, b=built.block: trace_block(s, b))
        require_agreement(built, traced)
        require_balances(built, traced)
        # No watcher changes a root: the header says all of them.
        again = worker.run(lambda s=before, b=built.block: apply_block(watched(s), b))
        assert again.header == built.header
        assert again.outputs == built.outputs
        if built.receipts:
            index = crowd.randrange(len(built.receipts))
            one = frozenset({index})
            (alone,) = worker.run(
                lambda s=before, b=built.block, i=one: trace_executions(s, b, i)
            )
            assert alone == traced.executions[index]
