"""The queue of fires against a sorted list, and its tree's long keys (D52, D53)."""

import random

import pytest

from node.chain.timers.globalbox import queue
from node.chain.timers.globalbox.fires import GlobalFire, order_of
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
