"""Verification: a sound chain passes; whatever was altered is named."""

import re
from random import Random

import pytest

from node.archive.opening import DamagedChain
from node.archive.verification import verify
from node.chain.globals import load_globals, save_globals
from node.primitives.tree_pages import is_inner_page
from node.state import keys
from node.state.journal import Journal
from node.state.memory import MemoryStore
from node.state.store import WriteSet
from pvm import Worker
from tests.worlds import KeptWorld, Mixed, fixed_pick

BLOCKS = 16

NOT_COMMITTED = {b"hg", b"hH"}
"""What a start compares."""


@pytest.fixture(scope="module")
def world():
    """A chain with timers and messages that wait."""
    with Worker() as worker:
        world = KeptWorld(MemoryStore(), fixed_pick(12), worker)
        while world.run_empty(3).header.span == 1:
            assert world.state.head.height < 2_000, "something to do at every height"
        families = set()
        while not {b"se", b"sm", b"iq", b"ia"} <= families or len(world.blocks) < 16:
            world.step()
            families = {key[:2] for key, _ in records(world.store)}
            assert len(world.blocks) < 200, "no messages wait"
        yield world


def records(store):
    return list(store.snapshot().range(b"", b"\xff"))


def verified(world):
    world.reopen()
    return verify(world.state)


def damage_of(world, changes):
    """The sentence about a store with `changes`, which are taken back."""
    snapshot = world.store.snapshot()
    before = {key: snapshot.get(key) for key in changes}
    world.store.commit(WriteSet(changes))
    try:
        with pytest.raises(DamagedChain) as raised:
            verified(world)
        return str(raised.value).partition(": the chain is damaged;")[0]
    finally:
        world.store.commit(WriteSet(before))


def families(world):
    found = {}
    for key, value in records(world.store):
        family = key[:1] if key[:1] in b"gtmnb" else key[:2]
        if family not in NOT_COMMITTED:
            found.setdefault(family, []).append((key, value))
    return found


def test_a_sound_chain_passes_and_says_what_was_looked_at(world):
    found = verified(world)
    assert found.blocks == len(world.blocks) + 1
    assert found.transactions == sum(len(one.transactions) for one in world.blocks)
    count = [key[:2] for key, _ in records(world.store)].count
    assert found.accounts == count(b"sa")
    assert found.timers == count(b"ii") > 0


def test_whatever_is_missing_is_told(world):
    """One key of each family, the first and the last of it."""
    for family, pairs in families(world).items():
        # Without the oldest undo record the next one is the oldest.
        first = pairs[family == keys.UNDO_PREFIX]
        for key, _ in (first, pairs[-1]):
            assert damage_of(world, {key: None}), family


def test_whatever_stands_in_anothers_place_is_told(world):
    for family, pairs in families(world).items():
        values = {value for _, value in pairs}
        if len(values) > 1:
            (key, value), other = pairs[0], pairs[-1][1]
            other = other if other != value else min(values - {value})
            assert damage_of(world, {key: other}), family


def test_whatever_was_added_is_told(world):
    added = [
        keys.timer_by_id(bytes(32)),
        keys.timer_by_actor(bytes(20), keys.timer_place(1, 1)),
        keys.timer_count(bytes(20)),
        keys.pending_pair(bytes(20), bytes(20)),
        keys.pending_count(bytes(20)),
        keys.waiting_by_payer(bytes(20)),
        keys.block_by_hash(bytes(32)),
        keys.transaction_location(bytes(32)),
        keys.timer_history(bytes(32), 1, 0),
        keys.ended_timer(1, 1),
    ]
    for key in added:
        sentence = damage_of(world, {key: keys.height8(1)})
        assert re.search("index|count|have", sentence)


def test_the_first_difference_is_named(world):
    kinds = families(world)
    (account, _), (timer, _) = kinds[b"sa"][0], kinds[b"t"][0]
    sentence = f"record {account.hex()} is not the one in the state's tree"
    assert damage_of(world, {account: kinds[b"sa"][1][1]}) == sentence
    assert damage_of(world, {timer: None}).endswith(
        f"shows a record under {timer[1:].hex()} that is missing"
    )
    assert "block 5" in damage_of(world, {keys.header(4): None})
    assert damage_of(world, {keys.header(5): dict(kinds[b"hh"])[keys.header(6)]})
    assert "undo record of block" in damage_of(
        world, {keys.undo(world.state.head.height - 1): None}
    )


def test_a_page_that_counts_wrongly_is_told(world):
    """No root speaks of the count, and yet it decides when a page becomes a bucket."""
    path, page = next(
        pair
        for pair in records(world.store)
        if pair[0][:1] in b"mn" and is_inner_page(pair[1])
    )
    wrong = page[:5] + bytes([page[5] ^ 1]) + page[6:]
    assert re.search(r"counts \d+ leaves", damage_of(world, {path: wrong}))


def test_money_from_nowhere_is_told(world, monkeypatch):
    """Even if the roots agree with it."""
    journal = Journal(world.state.snapshot)
    globals_ = load_globals(journal)
    assert globals_.minted
    monkeypatch.setattr("node.archive.verification.compare", lambda _: root)
    root = world.state.head.state_root
    save_globals(journal, type(globals_)(**{**fields(globals_), "minted": 1}))
    sentence = damage_of(world, dict(journal.write_set().changes))
    assert sentence.startswith("1 base units were minted")


def fields(value):
    return {name: getattr(value, name) for name in value.__struct_fields__}


class MixedKept(Mixed, KeptWorld):
    """Rules that change: what is queued comes back, and is queued or ends again."""


@pytest.mark.parametrize("seed", [1, 7, 26])
def test_a_chain_whose_timers_were_queued_and_came_back_passes(seed):
    """D55: a place that a timer left more than once is of each block that says so."""
    with Worker() as worker:
        world = MixedKept(MemoryStore(), Random(seed).randrange, worker)
        for _ in range(5):
            for _ in range(5):
                world.step()
                if world.pick(4) == 0:
                    world.run_empty(1 + world.pick(12))
            world.reopen()
            verify(world.state)
