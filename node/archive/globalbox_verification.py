"""What is derived from queued fires, noted hits and watches, recomputed (D51 to D53).

Rules: reads only. Each derived entry must follow from a record, and each record must
have its entries: what was found by the records is counted against what there is.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from node.archive.opening import DamagedChain
from node.chain.params import ADDRESS_BYTES
from node.chain.timers.globalbox.fires import GlobalFire, decode_fire, target_of
from node.chain.timers.timer import Timer, WatchKey, decode_timer
from node.primitives.types import Address
from node.state import keys
from node.state.store import StoreSnapshot

__all__ = ["verify_globalbox"]

_NOBODY = Address(b"")
_LENGTH_BYTES = 2


def verify_globalbox(snapshot: StoreSnapshot) -> None:
    """The indexes of the Globalbox, of noted hits, idle watches and foreign targets.

    Raises:
        DamagedChain: The first difference.
    """
    waiting = _verify_fires(snapshot)
    waiting += _verify_hits(snapshot)
    _require_count(snapshot, keys.watch_wait(b""), waiting)
    _verify_watches(snapshot)
    _verify_guests(snapshot)


def _pairs(snapshot: StoreSnapshot, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    return snapshot.range(prefix, keys.prefix_stop(prefix))


def _require(snapshot: StoreSnapshot, key: bytes, value: bytes) -> None:
    if snapshot.get(key) != value:
        raise DamagedChain(
            f"the index under {key.hex()} is not that of the Globalbox and its watches"
        )


def _require_count(snapshot: StoreSnapshot, prefix: bytes, count: int) -> None:
    found = sum(1 for _ in _pairs(snapshot, prefix))
    if found != count:
        raise DamagedChain(
            f"the index {prefix.decode()} has {found} entries, and there should be "
            f"{count}"
        )


def _fires(snapshot: StoreSnapshot) -> Iterator[GlobalFire]:
    for key, record in _pairs(snapshot, keys.FIRE_PREFIX):
        yield decode_fire(key[1:], record)


def _verify_fires(snapshot: StoreSnapshot) -> int:
    """The fires by target, and the first of each; how many are of watches."""
    count = of_watches = 0
    for fire in _fires(snapshot):
        count += 1
        _require(snapshot, keys.fire_by_target(fire.target, fire.order), b"")
        if fire.is_of_watch:
            of_watches += 1
            _require(snapshot, keys.watch_wait(fire.timer_id), fire.order)
    _require_count(snapshot, keys.fire_by_target(_NOBODY), count)
    targets = 0
    for key, value in _pairs(snapshot, keys.target_queue(_NOBODY)):
        targets += 1
        queued = keys.fire_by_target(Address(key[2:]))
        orders = [row[len(queued) :] for row, _ in _pairs(snapshot, queued)]
        if not orders or value != orders[0] + keys.height8(len(orders)):
            raise DamagedChain(f"the index under {key.hex()} is not that of its fires")
        _require(snapshot, keys.target_head(orders[0]), b"")
        count -= len(orders)
    if count:
        raise DamagedChain(f"{count} queued fires are of targets that are not known")
    _require_count(snapshot, keys.TARGET_HEADS_PREFIX, targets)
    for key, _ in _pairs(snapshot, keys.TARGET_HEADS_PREFIX):
        order = key[len(keys.TARGET_HEADS_PREFIX) :]
        first = snapshot.get(keys.target_queue(target_of(order)))
        if first is None or not first.startswith(order):
            raise DamagedChain(f"the index under {key.hex()} names no first fire")
    return of_watches


def _verify_hits(snapshot: StoreSnapshot) -> int:
    """Where watches with noted hits wait; how many there are."""
    count = 0
    floor = snapshot.get(keys.NOTED_FLOOR)
    for key, _ in _pairs(snapshot, keys.NOTED_PREFIX):
        place = key[len(keys.NOTED_PREFIX) :]
        if floor is None or place < floor:
            raise DamagedChain("a noted hit lies below all that there are said to be")
        count += 1
    for key, where in _pairs(snapshot, keys.watch_wait(b"")):
        is_noted = len(where) != keys.FIRE_ORDER_BYTES
        if is_noted and snapshot.get(keys.NOTED_PREFIX + where) is None:
            raise DamagedChain(f"the index under {key.hex()} names no noted hit")
    return count


def _verify_watches(snapshot: StoreSnapshot) -> None:
    """Idle watches under what they watch, and the counts of those."""
    entries = 0
    for key, record in _pairs(snapshot, keys.TIMER_PREFIX):
        timer = decode_timer(key, record)
        if not timer.is_watch or snapshot.get(keys.watch_wait(timer.timer_id)):
            continue
        for address, prefix in dict.fromkeys(timer.watch_keys):
            entries += 1
            entry = keys.idle_watches(address, prefix, timer.sequence)
            _require(snapshot, entry, keys.height8(timer.height))
    _require_count(snapshot, keys.IDLE_WATCHES_PREFIX, entries)
    prefixes = lengths = 0
    for address, rows in groupby(_watched(snapshot), key=itemgetter(0)):
        counts: Counter[int] = Counter()
        for prefix, watches in groupby(rows, key=itemgetter(1)):
            _verify_prefix(snapshot, (address, prefix), [one[2] for one in watches])
            counts[len(prefix)] += 1
        total = keys.height8(counts.total())
        _require(snapshot, keys.watch_lengths(address), total)
        for length, count in counts.items():
            key = keys.watch_lengths(address, length)
            _require(snapshot, key, keys.height8(count))
        prefixes += counts.total()
        lengths += 1 + len(counts)
    _require_count(snapshot, keys.WATCH_PREFIXES_PREFIX, prefixes)
    _require_count(snapshot, keys.watch_lengths(_NOBODY), lengths)


def _watched(snapshot: StoreSnapshot) -> Iterator[tuple[Address, bytes, int]]:
    """Address, prefix and sequence of each idle watch and key, in that order."""
    skip = len(keys.IDLE_WATCHES_PREFIX)
    for key, _ in _pairs(snapshot, keys.IDLE_WATCHES_PREFIX):
        address, rest = key[skip : skip + ADDRESS_BYTES], key[skip + ADDRESS_BYTES :]
        prefix = rest[_LENGTH_BYTES : -keys.SEQUENCE_BYTES]
        sequence = int.from_bytes(rest[-keys.SEQUENCE_BYTES :], "big")
        yield Address(address), prefix, sequence


def _verify_prefix(
    snapshot: StoreSnapshot, watched: WatchKey, sequences: list[int]
) -> None:
    node = snapshot.get(keys.watch_prefix(*watched)) or b""
    floor, count = node[: keys.SEQUENCE_BYTES], node[keys.SEQUENCE_BYTES :]
    is_below = int.from_bytes(floor, "big") <= sequences[0]
    if count != keys.height8(len(sequences)) or not is_below:
        address, prefix = watched
        raise DamagedChain(
            f"{len(sequences)} watches of {prefix.hex()} of actor {address.hex()} are "
            "idle, and others are said to be"
        )


def _verify_guests(snapshot: StoreSnapshot) -> None:
    """How many timers on each target other actors own."""
    guests: Counter[Address] = Counter()
    for timer in _timers(snapshot):
        if timer.other_target is not None:
            guests[timer.other_target] += 1
    for target, count in guests.items():
        _require(snapshot, keys.guest_count(target), keys.height8(count))
    _require_count(snapshot, keys.guest_count(_NOBODY), len(guests))


def _timers(snapshot: StoreSnapshot) -> Iterator[Timer]:
    for key, record in _pairs(snapshot, keys.TIMER_PREFIX):
        yield decode_timer(key, record)
    for fire in _fires(snapshot):
        if not fire.is_of_watch:
            yield fire.height_timer()
