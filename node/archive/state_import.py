"""Import: a state file becomes the folder of a chain, or a store to replay in.

The records are put in order into an empty store, in bounded batches, each with its
part of the trees and of what is derived from them: indexes of timers, counts of
messages. The root that comes of it must be the header's. A folder is made under
another name beside its place, and takes it in one step when it is whole: a crash
leaves at most one unfinished folder, which the next import removes.

The chain then begins at that height for those who ask: blocks below are not there,
nor is what happened in the file's own block; genesis is.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path

from node import history
from node.archive.state_file import StateFile, StateFileRefused, read_records
from node.chain.fees import idle_lane_basefee
from node.chain.genesis import build_genesis
from node.chain.globals import Governed, load_globals, load_governed
from node.chain.mailbox import decode_message
from node.chain.reader import load_count
from node.chain.timers import calendar, fairness
from node.chain.timers.bidding_index import BIDDING_INDEX
from node.chain.timers.due_index import LaneView
from node.chain.timers.globalbox import hits, queue
from node.chain.timers.globalbox.fires import GlobalFire, decode_fire
from node.chain.timers.rules import INDEXES
from node.chain.timers.rules.auction import Auction
from node.chain.timers.rules.bidding import Bidding, bidding_view
from node.chain.timers.timer import decode_timer
from node.chain.transition import Caches, State, open_state
from node.primitives import codec
from node.primitives.types import Height
from node.state import keys
from node.state.commitment import TreeCaches, seal, state_root_of_pages
from node.state.errors import StoreCorrupt
from node.state.journal import Journal
from node.state.leveldb import LevelStore
from node.state.retention import Oldest
from node.state.store import Store, StoreSnapshot, WriteSet
from node.totals import RunningTotals, totals_of

__all__ = ["import_folder", "load_state"]

BATCH_RECORDS = 20_000
"""Of one commit: some tens of megabytes at most, with the pages they change."""

_MESSAGES = (b"se", b"sm")


def import_folder(
    file: StateFile, folder: Path, tell: Callable[[int], None] = lambda _done: None
) -> None:
    """Make the folder of a chain whose head is the file's; on disk on return.

    `tell` hears how many records are done.

    Raises:
        StateFileRefused: There is something in the folder, or the records do not have
            the root that the file's header names; nothing is left of it.
        StoreError: The unfinished folder cannot be used, or another import does.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StateFileRefused(
            f"{folder} is not empty: give a folder that is, or does not exist yet"
        )
    folder = folder.absolute()
    unfinished = folder.with_name(f".{folder.name}.importing")
    _remove_unfinished(unfinished)
    try:
        with LevelStore(unfinished) as store:
            load_state(file, store, tell)
            store.commit(_history_of(file), sync=True)
        unfinished.rename(folder)
    except StateFileRefused:
        shutil.rmtree(unfinished)
        raise
    except OSError as error:
        raise StateFileRefused(
            f"{folder} cannot be made: {error.strerror or error}"
        ) from error
    _sync(folder.parent)


def load_state(
    file: StateFile, store: Store, tell: Callable[[int], None] = lambda _done: None
) -> State:
    """Put a file's records into an empty store; the state that they are.

    Raises:
        StateFileRefused: They do not have the root that the file's header names.
    """
    caches, done = TreeCaches(), 0
    records = read_records(file)
    while part := list(islice(records, BATCH_RECORDS)):
        try:
            _commit_part(store, part, caches)
        except (codec.MalformedCbor, TypeError, ValueError, AssertionError) as error:
            raise _foreign(file, f"a record cannot be read ({error})") from error
        done += len(part)
        tell(done)
    store.commit(_derived_of_lane(file, store.snapshot()), sync=False)
    snapshot = store.snapshot()
    if state_root_of_pages(snapshot) != file.head.state_root:
        raise _foreign(file, "its records do not have the state root of its header")
    return open_state(file.genesis.params, file.head, snapshot, Caches(trees=caches))


def _foreign(file: StateFile, what: str) -> StateFileRefused:
    return StateFileRefused(f"{file.path} was not written by cowboy-devnet: {what}")


def _commit_part(
    store: Store, part: Iterable[tuple[bytes, bytes]], caches: TreeCaches
) -> None:
    snapshot = store.snapshot()
    journal, counts = Journal(snapshot), Counter[bytes]()
    # Fires and noted hits come before the timers that they are of, as their keys do.
    for key, record in part:
        if key[:1] == keys.FIRE_PREFIX:
            _insert_fire(journal, decode_fire(key[1:], record))
        if key[:2] == keys.NOTED_PREFIX:
            hits.index(journal, key, record)
        if key[:1] == keys.TIMER_PREFIX:
            calendar.insert(journal, decode_timer(key, record))
        if key[:2] in _MESSAGES:
            counts.update(decode_message(key, record).count_changes())
        journal.put(key, record)
    for key, count in counts.items():
        journal.put(key, keys.height8(load_count(journal, key) + count))
    writes = journal.write_set()
    _, tree_writes, _ = seal(journal, snapshot, caches, writes)
    store.commit(writes | tree_writes, sync=False)


def _insert_fire(journal: Journal, fire: GlobalFire) -> None:
    if fire.is_of_watch:
        queue.insert(journal, fire)
    else:
        calendar.insert_queued(journal, fire.height_timer(), fire)


def _derived_of_lane(file: StateFile, snapshot: StoreSnapshot) -> WriteSet:
    """The sums of fires, and the orders in which due timers wait (D32, D36)."""
    head = file.head
    governed = load_governed(snapshot, file.genesis.params)
    journal = Journal(snapshot)
    for key, value in fairness.expected_sums(snapshot).items():
        journal.put(key, value)
    rules = governed.rules_at(head.height)
    if rules in INDEXES:
        index, views = INDEXES[rules], _views(file, snapshot, governed)
        for timer in calendar.timers_between(snapshot, 0, head.height):
            is_asleep = any(view.is_dormant(timer) for view in views)
            index.add(journal, timer, is_asleep=is_asleep)
        BIDDING_INDEX.refresh(journal)
    return journal.write_set()


def _views(
    file: StateFile, snapshot: StoreSnapshot, governed: Governed
) -> tuple[LaneView, ...]:
    """Of the head and of the next height: who sleeps fell asleep by one of them."""
    head, params, following = file.head, file.genesis.params, load_globals(snapshot)
    if governed.rules_at(head.height) == Bidding.name:
        length = params.calendar.epoch_length
        next_height = head.height + 1
        view = bidding_view(next_height, following.basefee_cycle, length, snapshot)
        return (view,)
    cap = Auction().cycles_cap(governed.timer_config)
    last = idle_lane_basefee(head.basefee_lane, head.span - 1)
    p50 = following.p50_priority
    return (
        LaneView(head.height, last, cap, p50),
        LaneView(head.height + 1, following.basefee_lane, cap, p50),
    )


def _history_of(file: StateFile) -> WriteSet:
    """Genesis, the head, and that there is nothing between them."""
    head, first = file.head, build_genesis(file.genesis)
    changes: dict[bytes, bytes | None] = dict(history.record(first).changes)
    changes[keys.GENESIS] = file.genesis.encode()
    changes |= history.consensus_record().changes  # it goes on under this one
    if head.height:
        oldest = Oldest(head.height, Height(head.height + 1))
        changes[keys.HEAD] = keys.height8(head.height)
        changes[keys.header(head.height)] = head.encode()
        changes[keys.block_by_hash(head.hash())] = keys.height8(head.height)
        changes[keys.OLDEST] = oldest.encode()
        left = RunningTotals()
        left.add(0, totals_of(first))
        changes |= left.move_to(head.height)
    return WriteSet(changes)


def _remove_unfinished(folder: Path) -> None:
    """Remove what an import that was killed has left; one that runs is refused."""
    if not folder.exists():
        return
    with suppress(StoreCorrupt):  # it was killed
        LevelStore(folder).close()
    shutil.rmtree(folder)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
