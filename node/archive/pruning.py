"""Pruning: what happened long ago is forgotten, a little with each block.

With `--keep-blocks N` the contents of blocks more than N heights below the head go:
transactions and their index, receipts, events, decisions about timers, and the whole
history of each timer that ended there. Headers stay, with what finds them by height
and hash: roots, links and runs can be looked at for ever. A timer that lives keeps its
whole history. Nothing goes that a named snapshot may still lead back to.

Rules: each block forgets a bounded number of others, in its own batch, so a crash
leaves nothing half forgotten. How far it has come is one record (`retention.py`), which
is raised with what goes; undo records say nothing of it.
"""

from collections.abc import Iterable
from itertools import chain, islice

from node import history
from node.chain.block import Header
from node.chain.timers.timer import TimerDecision
from node.primitives.crypto import keccak256
from node.primitives.types import Height
from node.state import keys
from node.state.retention import Oldest, load_oldest
from node.state.store import StoreSnapshot, WriteSet

__all__ = ["HEADERS_MAX", "KEYS_MAX", "prune"]

HEADERS_MAX = 8
"""Blocks that one block looks at: more than one, to catch up where there are many."""

KEYS_MAX = 2_000
"""Deleted keys after which no further block is looked at, and of timers' histories
those that one block deletes."""


def prune(
    snapshot: StoreSnapshot, height: int, keep: int, pinned: int | None = None
) -> WriteSet:
    """What the block at `height` forgets; `snapshot` is of the state before it.

    `pinned` is the height of the oldest named snapshot: blocks above it stay.
    """
    oldest = load_oldest(snapshot)
    stop = height - keep + 1
    if pinned is not None:
        stop = min(stop, pinned + 1)
    reached = max(1, oldest.contents)  # genesis stays
    if stop <= reached:
        return WriteSet()
    changes: dict[bytes, bytes | None] = {}
    for header in islice(history.headers_after(snapshot, reached - 1), HEADERS_MAX):
        if header.height >= stop or len(changes) > KEYS_MAX:
            break
        doomed, is_whole = _contents(snapshot, header)
        changes |= doomed
        if not is_whole:
            break
        reached = header.height + 1
    changes[keys.OLDEST] = Oldest(oldest.header, Height(reached)).encode()
    return WriteSet(changes)


def _contents(
    snapshot: StoreSnapshot, header: Header
) -> tuple[dict[bytes, bytes | None], bool]:
    """Deletions of a block's contents, and whether they are all."""
    height = header.height
    decided = history.load_entries(snapshot, height)
    doomed, own = _lives(snapshot, height, decided)
    if len(doomed) > KEYS_MAX:
        return doomed, False  # the rest is found from the trace again
    doomed |= own
    # What tells whose a put-off was goes last: traces below are gone by now.
    doomed |= dict.fromkeys(history.ended_timers(height, decided))
    for _, raw in history.load_raw_transactions(snapshot, height):
        doomed[keys.transaction_location(keccak256(raw))] = None
    for key in (keys.body(height), keys.receipts(height), keys.timer_trace(height)):
        if snapshot.get(key) is not None:
            doomed[key] = None
    return doomed, True


def _lives(
    snapshot: StoreSnapshot, height: Height, decided: Iterable[TimerDecision]
) -> tuple[dict[bytes, bytes | None], dict[bytes, bytes | None]]:
    """Deletions of the histories of timers that ended in a block.

    Of what happened below it, with an end; and of what happened in it, which goes with
    all else of the block or not at all: `--verify` looks at what is kept.
    """
    doomed: dict[bytes, bytes | None] = {}
    own: dict[bytes, bytes | None] = {}
    ended = (decision.timer_id for decision in decided if decision.is_final)
    lives = (history.timer_life_keys(snapshot, timer_id) for timer_id in ended)
    for key in chain.from_iterable(lives):
        is_own = history.decision_height(key) >= height
        (own if is_own else doomed)[key] = None
        if len(doomed) > KEYS_MAX:
            break
    return doomed, own
