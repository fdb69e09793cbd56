"""The queue of fires against a sorted list, and its tree's long keys (D52, D53)."""

import random

import pytest

from node.chain.timers.globalbox import queue
from node.chain.timers.globalbox.fires import GlobalFire, order_of
from node.chain.timers.timer import Decision, TimerDecision
from node.chain.timers.trace import decode_decision, decode_entries, encode_trace
from node.primitives.merkle import Tree, commit
from node.primitives.proof import BadProof, verify
from node.state import keys
from node.state.commitment import GLOBALBOX, open_tree, seal
from node.state.journal import Journal
from node.state.memory import MemoryStore


def fire(rank, target, number):
    order = order_of(rank, 0, 0, 1, bytes([target]) * 20, number.to_bytes(32, "big"))
    return GlobalFire(order, 0, number)  # of a watch: nothing else holds its timer


def walk(journal, floor, share):
    """Orders as Materialize takes them, `share` of each target."""
    head, taken, shares = queue.HeadWalk(journal, floor, share), [], {}
    while (order := head.peek()) is not None:
        target = order[45:65]
        if shares.get(target, 0) == share:
            head.pass_over()
            continue
        queue.remove(journal, queue.load(journal, order))
        shares[target] = shares.get(target, 0) + 1
        taken.append(order)
        head.advance()
    return taken


def expected(orders, share):
    taken, shares = [], {}
    for order in sorted(orders):
        target = order[45:65]
        if shares.get(target, 0) < share:
            shares[target] = shares.get(target, 0) + 1
            taken.append(order)
    return taken


@pytest.mark.parametrize("seed", range(12))
def test_it_gives_what_a_sorted_list_gives(seed):
    """D53: a target that has its share is passed over, its fires keep their places."""
    source, store, waiting = random.Random(seed), MemoryStore(), set()
    for block in range(12):
        snapshot = store.snapshot()
        journal = Journal(snapshot)
        floor = open_tree(snapshot, GLOBALBOX).first(bytes(97))
        assert floor == min(waiting, default=None)
        for number in range(source.randrange(12)):
            one = fire(
                source.randrange(9), source.randrange(1, 5), block * 100 + number
            )
            queue.insert(journal, one)
            waiting.add(one.order)
        for order in source.sample(sorted(waiting), min(2, len(waiting))):
            queue.remove(journal, queue.load(journal, order))
            waiting.discard(order)
        found = [one.order for one in queue.in_order(journal, floor)]
        assert found == sorted(waiting)
        share = source.randrange(1, 4)
        taken = walk(journal, floor, share)
        assert taken == expected(waiting, share)
        waiting -= set(taken)
        writes = journal.write_set()
        journal.put(keys.GLOBALS, b"")
        store.commit(writes | seal(journal, snapshot, None, writes)[1], sync=False)
    rows = store.snapshot().range(b"i", b"j")
    left = {key[:2] for key, _ in rows} - {b"ir"}
    assert bool(left) == bool(waiting)


class Counting(Journal):
    """A journal that counts what is read in ranges."""

    read = 0

    def range(self, start, stop, floor=b""):
        for pair in super().range(start, stop, floor):
            Counting.read += 1
            yield pair


def test_d53_a_full_target_is_not_read_through():
    """D53: its fires "are not looked at", however many stand in front of another's."""
    store, journal = MemoryStore(), Journal(MemoryStore().snapshot())
    crowd = [fire(1, 1, number) for number in range(300)]
    behind = fire(2, 2, 300)
    for one in (*crowd, behind):
        queue.insert(journal, one)
    store.commit(journal.write_set(), sync=False)
    counting = Counting(store.snapshot())
    Counting.read = 0
    taken = walk(counting, crowd[0].order, 2)
    assert taken == [crowd[0].order, crowd[1].order, behind.order]
    assert Counting.read < 20


def test_keys_that_part_behind_bit_255_are_committed_and_proven():
    """D52: a fork there has a tag of its own, and two bytes for its bit."""
    leaves = {
        fire(5, target, n).order: bytes([n]) * 32
        for target in (1, 2)
        for n in range(60)
    }
    tree = Tree({}.get, 97)
    pages = tree.apply(sorted(leaves.items())).pages
    tree = Tree(pages.get, 97)
    assert tree.root() == commit(leaves.items())
    for order in sorted(leaves)[::17]:
        proof = tree.prove(order, order + b"\0")
        assert verify(tree.root(), proof, order, order + b"\0", 97) == [
            (order, leaves[order])
        ]
        assert b"\x04" in proof
        for at in range(0, len(proof), 29):
            broken = bytearray(proof)
            broken[at] ^= 1
            with pytest.raises(BadProof):
                verify(tree.root(), bytes(broken), order, order + b"\0", 97)


@pytest.mark.parametrize("hit", [{}, {"hit_height": 9}])
def test_what_was_queued_is_told_in_a_fixed_form(hit):
    """D55: "enqueued with score and key"; each entry is read as it was written."""
    order = order_of(2**255 - 2**192, 3, 7, 9, b"t" * 20, b"i" * 32)
    numbers = {
        "current_height": 12,
        "sequence": 5,
        "score": 2**192 + 1,
        "origin": 9,
        "cursor": 7,
        "bucket": 3,
        "bid_fp": 2**128 - 1,
    }
    decision = TimerDecision(
        b"i" * 32,
        b"a" * 20,
        b"p" * 20,
        9,
        Decision.ENQUEUED,
        "",
        numbers | hit,
        order=order,
    )
    data, ((_, _, entry),) = encode_trace([decision])
    assert decode_decision(entry) == decision
    assert [one for _, one in decode_entries(data)] == [decision]
