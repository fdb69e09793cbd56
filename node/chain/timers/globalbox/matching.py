"""Matching: which idle watches a block's changes of state concern (GBX §7, D51).

A block is matched twice, each time against what changed net since before: in Deliver
what its transactions changed, at its end what its timers and messages did. Net means
that what was written back as it was did not change; only storage of actors counts.

Rules: watches are taken by the first changed key that concerns them, then by their
sequence, at most `max_hits_per_block`. The work is bounded beside that, whatever is
watched: prefixes that are sought, one for each length that somebody watches of an actor
and each different beginning of its changed keys, and watches that are met are at most
`WATCH_LOOKUPS_MAX`. Who is cut off is told by the first key not matched to its end.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from heapq import merge

from msgspec import Struct, field

from node.chain.context import BlockContext
from node.chain.params import MATCHED_KEYS_MAX, WATCH_LOOKUPS_MAX
from node.chain.timers.globalbox import watches
from node.chain.timers.globalbox.hits import Hit
from node.chain.timers.timer import Timer, WatchKey, decode_timer
from node.primitives.types import Address, Height
from node.state import keys
from node.state.journal import Journal

_STORAGE_PREFIX = keys.storage(Address(b""))
_ADDRESS = slice(len(_STORAGE_PREFIX), len(_STORAGE_PREFIX) + 20)
_NAME = slice(_ADDRESS.stop, None)


def written_storage(journal: Journal) -> list[bytes]:
    """Keys of actors' storage that were written and not reverted, in any order."""
    return [key for key in journal.changed_keys() if key.startswith(_STORAGE_PREFIX)]


def match(block: BlockContext, before: Mapping[bytes, bytes | None]) -> list[Hit]:
    """Idle watches whose keys changed net; they are idle no more, and are to wait.

    `before` has what keys held at the last matching, as far as the block had written
    them. Those that no longer find room are lost, and `WatchHitsPruned` says where.
    """
    journal = block.journal
    matching = _Matching(block, _changes(journal, before))
    matching.run()
    changed = matching.changed()
    hits = [
        Hit(timer, Height(block.height), matched_keys(timer, changed))
        for timer in matching.taken()
    ]
    for hit in hits:
        watches.forget(journal, hit.timer)
    for watched in matching.met:
        watches.settle(journal, watched)
    if matching.pruned is not None:
        address, key = matching.pruned[_ADDRESS], matching.pruned[_NAME]
        block.emit("WatchHitsPruned", address=address, key=key)
    return hits


def matched_keys(timer: Timer, changed: list[bytes]) -> tuple[WatchKey, ...]:
    """The first changed keys that a watch watches, of all that ascend in `changed`."""
    found = set[bytes]()
    for address, prefix in timer.watch_keys:
        start = keys.storage(address, prefix)
        at = bisect_left(changed, start)
        for key in changed[at : at + MATCHED_KEYS_MAX]:
            if key.startswith(start):
                found.add(key)
    first = sorted(found)[:MATCHED_KEYS_MAX]
    return tuple([(Address(key[_ADDRESS]), key[_NAME]) for key in first])


def _changes(
    journal: Journal, before: Mapping[bytes, bytes | None]
) -> dict[Address, list[bytes]]:
    """Actors that are watched → keys of theirs that changed net, both ascending."""
    by_address: dict[bytes, list[bytes]] = {}
    for key in written_storage(journal):
        by_address.setdefault(key[_ADDRESS], []).append(key)
    changes: dict[Address, list[bytes]] = {}
    for address in sorted(by_address):
        if not watches.is_watched(journal, Address(address)):
            continue
        changed = [key for key in by_address[address] if _is_net(journal, key, before)]
        if changed:
            changes[Address(address)] = sorted(changed)
    return changes


def _is_net(journal: Journal, key: bytes, before: Mapping[bytes, bytes | None]) -> bool:
    old = before[key] if key in before else journal.original(key)
    return journal.get(key) != old


class _Node(Struct):
    """Those who watch one prefix of one actor, as far as they were met."""

    rows: Iterator[tuple[int, int]]
    is_done: bool = False


class _Matching(Struct):
    """One matching while it runs."""

    block: BlockContext
    changes: dict[Address, list[bytes]]
    pruned: bytes | None = None
    """The first key not matched to its end."""
    met: dict[WatchKey, _Node] = field(default_factory=dict)
    """Those of them that have somebody."""
    _hits: dict[int, int] = field(default_factory=dict)
    """Sequence → place in the calendar, in the order of the hits."""
    _lookups: int = 0
    _sought: set[WatchKey] = field(default_factory=set)

    def changed(self) -> list[bytes]:
        """All changed keys of watched actors, ascending."""
        return [key for names in self.changes.values() for key in names]

    def run(self) -> None:
        """Take watches key by key, until there is no room."""
        for address, changed in self.changes.items():
            lengths = watches.lengths(self.block.journal, address)
            for key in changed:
                if not self._match_key(address, key, lengths):
                    self.pruned = key
                    return

    def taken(self) -> list[Timer]:
        """The watches that were hit, in that order."""
        return [self._load(sequence, place) for sequence, place in self._hits.items()]

    def _load(self, sequence: int, place: int) -> Timer:
        key = keys.timer(place, sequence)
        record = self.block.journal.get(key)
        assert record is not None, "an idle watch is in the calendar"
        return decode_timer(key, record)

    def _match_key(self, address: Address, key: bytes, lengths: list[int]) -> bool:
        """Take those that a changed key concerns; False once there is no room."""
        name = key[_NAME]
        nodes: list[_Node] = []
        for length in lengths:
            if length > len(name):
                break
            watched = address, name[:length]
            if watched not in self._sought and not self._seek(watched):
                return False
            node = self.met.get(watched)
            if node is not None and not node.is_done:
                nodes.append(node)
        if not nodes:
            return True
        for sequence, place in merge(*(self._meet(node) for node in nodes)):
            if not self._take(sequence, place):
                return False
        return True

    def _seek(self, watched: WatchKey) -> bool:
        if self._lookups >= WATCH_LOOKUPS_MAX:
            return False
        self._lookups += 1
        self._sought.add(watched)
        journal = self.block.journal
        if watches.is_any(journal, *watched):
            self.met[watched] = _Node(watches.watches_of(journal, *watched))
        return True

    def _meet(self, node: _Node) -> Iterator[tuple[int, int]]:
        """Those who watch a prefix, ascending."""
        yield from node.rows
        node.is_done = True

    def _take(self, sequence: int, place: int) -> bool:
        """Whether there was room for one that was met: taken, or none to take."""
        if self._lookups >= WATCH_LOOKUPS_MAX:
            return False
        self._lookups += 1
        is_new = sequence >= self.block.before.timer_sequence
        is_expired = place <= self.block.height
        if sequence in self._hits or is_new or is_expired:
            return True
        if len(self._hits) >= self.block.globalbox_config.max_hits_per_block:
            return False
        self._hits[sequence] = place
        return True
