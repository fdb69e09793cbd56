"""Fairness: how often actors' timers fired of late, and the weight W of it (D32).

What counts lies in the state as (height, actor) → count, absent when zero, and leaves
by height: a window that slides, and nothing of an idle actor stays (CIP-1 §8). Beside
it stand derived sums, so that neither a weight nor the median ever looks at all
actors: fires of each actor, and for each number of fires how many actors have it.

Rules: a block costs what fired in it and what leaves the window; the median costs the
numbers of fires that differ, which actors cannot multiply: d of them take d²/2 fires.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from node.chain.reader import Reader, load_count
from node.primitives.types import PPM, Address
from node.state import keys
from node.state.journal import Journal

WEIGHT_MAX = 2 * PPM
_HEIGHT_STOP = len(keys.FAIRNESS_PREFIX) + keys.HEIGHT_BYTES
_DERIVED = (keys.RECENT_PREFIX, keys.HISTOGRAM_PREFIX, keys.RECENT_ACTORS)


def prune(journal: Journal, height: int, window: int) -> None:
    """Forget fires before height - window: they count no longer in that block."""
    stop = keys.FAIRNESS_PREFIX + keys.height8(max(0, height - window))
    for key, record in list(journal.range(keys.FAIRNESS_PREFIX, stop)):
        journal.delete(key)
        fires = int.from_bytes(record, "big")
        _change(journal, Address(key[_HEIGHT_STOP:]), -fires)


def note(journal: Journal, height: int, fires: Mapping[Address, int]) -> None:
    """Count the fires of a height, reverting ones too; once a block."""
    for actor, count in fires.items():
        journal.put(keys.fairness(height, actor), keys.height8(count))
        _change(journal, actor, count)


def clear(journal: Journal) -> None:
    """Forget everything: `auction` is left (D29)."""
    for prefix in (keys.FAIRNESS_PREFIX, *_DERIVED):
        for key, _ in list(journal.range(prefix, keys.prefix_stop(prefix))):
            journal.delete(key)


def _change(journal: Journal, actor: Address, change: int) -> None:
    key = keys.recent_fires(actor)
    old = load_count(journal, key)
    new = old + change
    assert new >= 0, "more fires left the window than were in it"
    _put_count(journal, key, new)
    if old:
        _add(journal, keys.actors_with(old), -1)
    else:
        _add(journal, keys.RECENT_ACTORS, 1)
    if new:
        _add(journal, keys.actors_with(new), 1)
    else:
        _add(journal, keys.RECENT_ACTORS, -1)


def _add(journal: Journal, key: bytes, change: int) -> None:
    _put_count(journal, key, load_count(journal, key) + change)


def _put_count(journal: Journal, key: bytes, count: int) -> None:
    if count:
        journal.put(key, keys.height8(count))
    else:
        journal.delete(key)


def recent_fires(reader: Reader, actor: Address) -> int:
    """How often an actor's timers fired within the window."""
    return load_count(reader, keys.recent_fires(actor))


def network_median(reader: Reader) -> int:
    """Median of the recent fires of the actors with at least one; 0 without any.

    Of an even number of actors the mean of the middle two, floored.
    """
    actors = load_count(reader, keys.RECENT_ACTORS)
    if not actors:
        return 0
    lower, passed = None, 0
    prefix = keys.HISTOGRAM_PREFIX
    for key, value in reader.range(prefix, keys.prefix_stop(prefix)):
        fires = int.from_bytes(key[len(prefix) :], "big")
        passed += int.from_bytes(value, "big")
        if lower is None and passed > (actors - 1) // 2:
            lower = fires
        if passed > actors // 2:
            assert lower is not None, "the lower one comes first"
            return (lower + fires) // 2
    raise AssertionError("fewer actors fired than are counted")


def weigh(recent: int, median: int) -> int:
    """W in parts per million: 2 - recent / max(1, median), from 1 to 2 (CIP-1 §8)."""
    weight = WEIGHT_MAX - recent * PPM // max(1, median)
    return min(WEIGHT_MAX, max(PPM, weight))


class Weights(Struct):
    """Weights of one block: the median is looked up once, and only if asked for."""

    reader: Reader
    _median: int | None = None
    _known: dict[Address, int] = field(default_factory=dict)

    def of(self, actor: Address) -> int:
        """W(actor) in parts per million."""
        weight = self._known.get(actor)
        if weight is None:
            if self._median is None:
                self._median = network_median(self.reader)
            weight = weigh(recent_fires(self.reader, actor), self._median)
            self._known[actor] = weight
        return weight


def expected_sums(reader: Reader) -> dict[bytes, bytes]:
    """All derived keys as the committed entries have them: for those who doubt."""
    fires: dict[Address, int] = {}
    prefix = keys.FAIRNESS_PREFIX
    for key, record in reader.range(prefix, keys.prefix_stop(prefix)):
        actor = Address(key[_HEIGHT_STOP:])
        fires[actor] = fires.get(actor, 0) + int.from_bytes(record, "big")
    sums: dict[bytes, int] = {keys.RECENT_ACTORS: len(fires)} if fires else {}
    for actor, count in fires.items():
        sums[keys.recent_fires(actor)] = count
        with_count = keys.actors_with(count)
        sums[with_count] = sums.get(with_count, 0) + 1
    return {key: keys.height8(count) for key, count in sums.items()}


def found_sums(reader: Reader) -> dict[bytes, bytes]:
    """All derived keys as they stand."""
    return {
        key: value
        for prefix in _DERIVED
        for key, value in reader.range(prefix, keys.prefix_stop(prefix))
    }
