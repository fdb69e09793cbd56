"""Totals of blocks that are in a store already: made where they lack, and verified.

Folders of earlier versions have none, nor have blocks that such a version added. They
are made when the chain is opened, from what history has of each block, in batches: a
start that is cut short goes on where it was. Of blocks whose contents are not kept
nothing is made.
"""

from collections.abc import Iterator
from itertools import islice

from node import history
from node.chain.block import Header
from node.chain.block_totals import BlockTotals
from node.chain.params import BasefeeConfig
from node.state import keys
from node.state.retention import load_oldest
from node.state.store import Store, StoreSnapshot, WriteSet
from node.totals import RunningTotals, load_totals, totals_of_content

__all__ = ["add_missing", "expected_groups", "is_missing", "totals_at"]

BATCH_HEADERS = 1_000
"""Whose totals are committed at a time."""


def totals_at(snapshot: StoreSnapshot, header: Header) -> BlockTotals:
    """Totals of a header, from what history has of its block."""
    height = header.height
    config = BasefeeConfig()
    if header.span > 1:
        config = history.load_run_config(snapshot, height)
    receipts, events = history.load_results(snapshot, height)
    trace = history.load_trace(snapshot, height)
    is_busy = bool(receipts or events or trace)
    return totals_of_content(header, config, (receipts, trace), is_busy=is_busy)


def is_missing(snapshot: StoreSnapshot, head: int) -> bool:
    """Whether blocks are kept of which there are no totals."""
    if head < load_oldest(snapshot).contents:
        return False
    return snapshot.get(keys.block_totals(0, head)) is None


def add_missing(store: Store, head: int) -> int:
    """Make the totals of blocks that lack them; how many do.

    What comes of it is what would be there, had it been made with the blocks.
    """
    snapshot = store.snapshot()
    above = max(load_oldest(snapshot).contents - 1, _last_counted(snapshot))
    running = RunningTotals.load(snapshot, max(0, above))
    count = 0
    headers = history.headers_after(snapshot, above)
    while part := list(islice(headers, BATCH_HEADERS)):
        changes: dict[bytes, bytes | None] = {}
        for header in part:
            totals = totals_at(snapshot, header)
            changes |= running.add(header.height, totals)
            changes[keys.block_totals(0, header.height)] = totals.encode()
        store.commit(WriteSet(changes), sync=True)
        count += len(part)
    assert not is_missing(store.snapshot(), head), "the head is the last header"
    return count


def _last_counted(snapshot: StoreSnapshot) -> int:
    """The last height of which there are totals; -1 if there are none."""
    start, stop = keys.block_totals(0, 0), keys.block_totals(1, 0)
    last = -1
    for key, _ in snapshot.range(start, stop):
        last = int.from_bytes(key[-keys.HEIGHT_BYTES :], "big")
    return last


def expected_groups(
    snapshot: StoreSnapshot, head: int
) -> Iterator[tuple[bytes, bytes]]:
    """Keys and records of all groups that the chain has left, added up anew."""
    running = RunningTotals()
    for height, totals in load_totals(snapshot, 0, 0, keys.HEIGHT_LAST):
        for key, value in running.add(height, totals).items():
            assert value is not None, "groups are only added"
            yield key, value
    for key, value in running.move_to(head).items():
        assert value is not None, "groups are only added"
        yield key, value
