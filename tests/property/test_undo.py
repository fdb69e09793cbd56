"""Undo records: back to any height within reach is back to what the store held then."""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node.archive import chain_store
from node.state import keys, undo
from node.state.commitment import recompute, state_root_of_pages
from node.state.leveldb import LevelStore
from node.state.memory import MemoryStore
from pvm import Worker
from tests.worlds import KeptWorld

BLOCKS = 8
BLOCKS_KEPT = 5
"""Fewer than there are blocks, so that records are dropped."""


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


def content(store):
    """(all but undo records, undo records)."""
    pairs = dict(store.snapshot().range(b"", b"\xff"))
    records = {key for key in pairs if key[:1] == keys.UNDO_PREFIX}
    return (
        {key: pairs[key] for key in pairs.keys() - records},
        {key: pairs[key] for key in records},
    )


@settings(
    suppress_health_check=list(HealthCheck),
    max_examples=max(6, settings.default.max_examples // 8),
)
@given(crowd=st.randoms(use_true_random=False), is_on_disk=st.booleans())
def test_rewinding_gives_back_what_was_and_the_chain_goes_on(worker, crowd, is_on_disk):
    """To any height within reach; then the same blocks have the same hashes."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(undo, "BLOCKS_KEPT", BLOCKS_KEPT))
        batch = crowd.choice([1, 4_000, 1 << 20])
        stack.enter_context(patch.object(chain_store.rewind, "__defaults__", (batch,)))
        store = MemoryStore()
        if is_on_disk:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            store = LevelStore(Path(folder))
            stack.callback(store.close)
        rewind_and_go_on(KeptWorld(store, crowd.randrange, worker), crowd)


def rewind_and_go_on(world, crowd):
    held, sent = {}, []
    for _ in range(BLOCKS):
        held[world.state.head] = content(world.store)
        sent.append(random_step(world, crowd))
        take(world, sent[-1])
        require_whole(world, held[world.blocks[-2].header])
    head, last = world.state.head.height, content(world.store)
    lowest = world.chain.lowest_reachable(head)
    ran_from = world.blocks[-1].header.height - world.blocks[-1].header.span
    assert lowest <= max(head - BLOCKS_KEPT, ran_from), "at least this far back"
    header = crowd.choice([one for one in held if one.height >= lowest])
    world.rewind(header)
    rest, records = content(world.store)
    rest_then, records_then = held[header]
    assert rest == rest_then
    assert records.items() <= records_then.items(), "dropped records alone are missing"
    snapshot = world.state.snapshot
    assert recompute(snapshot) == state_root_of_pages(snapshot) == header.state_root
    hashes = [block.header.hash() for block in world.blocks]
    above = [block for block in world.blocks if block.header.height > header.height]
    gone = [one.id for block in above for one in block.transactions]
    assert sorted(world.undone) == sorted(gone)
    del world.blocks[len(world.blocks) - len(above) :]
    for step in sent[list(held).index(header) :]:
        take(world, step)
    assert [block.header.hash() for block in world.blocks] == hashes
    assert content(world.store)[0] == last[0]


def random_step(world, crowd):
    """Transactions of the next block, or for how many empty heights it may stand."""
    if crowd.randrange(4) == 0:
        return crowd.randrange(1, 5)
    world._nonces = {}
    return [world._transaction() for _ in range(crowd.randrange(5))]


def take(world, step):
    if isinstance(step, int):
        world.run_empty(step)
    else:
        world.mine(step)


def require_whole(world, before):
    """The record tells the old value of every key of its batch, read by it or not."""
    after, records = content(world.store)
    old = before[0]
    record = undo.decode_record(records[keys.undo(world.state.head.height)])
    assert all(old.get(key) == value for key, value in record.changes.items())
    changed = {key for key in old | after if old.get(key) != after.get(key)}
    assert changed <= record.changes.keys()
