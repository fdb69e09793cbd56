"""What is read off the records: lateness, turns that came to nothing, fairness, money.

A turn that is overdue when a world ends has waited so long at least, and counts as that
in what is said of lateness; and it came to nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from comparing.noting import BUCKET, Record

CBY = 10**9
"""Base units."""


class Spent(Struct, frozen=True):
    """Base units, all fires together, by where they went."""

    burned: int
    """By fires: basefees of cycles and cells, and the lane's."""
    tipped: int
    """By fires, to the proposer."""
    asked: int
    """Burned for asking agents."""

    @property
    def total(self) -> int:
        """What the payers of the timers had less in the end."""
        return self.burned + self.tipped + self.asked


def groups_of(record: Record, group: str | None) -> Iterable[str]:
    """One group, or all of them."""
    return record.fires if group is None else [group]


def fires(record: Record, group: str | None = None) -> int:
    """How many there were."""
    return sum(sum(record.fires[name]) for name in groups_of(record, group))


def turns(record: Record, group: str | None = None) -> int:
    """How many fires were due."""
    return sum(sum(record.turns[name]) for name in groups_of(record, group))


def lost(record: Record, group: str | None = None) -> float:
    """The share of turns for which no fire came."""
    return 1 - fires(record, group) / turns(record, group)


def lateness(record: Record, group: str | None = None) -> Counter[int]:
    """Blocks from due height to fire; of the overdue, to the end."""
    found: Counter[int] = Counter()
    for name in groups_of(record, group):
        found.update(record.late[name])
        found.update(record.waiting[name])
    return found


def jain(values: Sequence[int]) -> float:
    """Jain's index of fairness: 1 if all have the same, 1/n if one has everything."""
    squares = len(values) * sum(value * value for value in values)
    return sum(values) ** 2 / squares if squares else 1.0


def jain_of_actors(record: Record) -> float:
    """Over the fires of all actors with standing orders."""
    return jain([n for name in _standing(record) for n in record.fires[name]])


def jain_of_deployers(record: Record) -> float:
    """The same, with all actors of an account as one."""
    values: list[int] = []
    for name in _standing(record):
        own = record.fires[name]
        values += [sum(own)] if name in record.one_deployer else own
    return jain(values)


def _standing(record: Record) -> list[str]:
    return [name for name in record.fires if name not in record.occasional]


def spent(record: Record, group: str | None = None) -> Spent:
    """By all fires, or those of a group, and for asking whether to fire."""
    names = groups_of(record, group)
    sums = (record.burned, record.tipped, record.asked)
    return Spent(*(sum(of[name] for name in names) for of in sums))


# --- for pictures ---------------------------------------------------------------------


def served_within(
    record: Record, group: str | None, blocks: int
) -> list[tuple[int, float]]:
    """Of each lateness up to so many blocks: the share of turns served by then."""
    late: Counter[int] = Counter()
    for name in groups_of(record, group):
        late.update(record.late[name])
    wanted, points, passed = turns(record, group), [], 0
    for blocks_late in range(blocks + 1):
        passed += late[blocks_late]
        points.append((blocks_late, passed / wanted))
    return points


def fires_over_time(record: Record, group: str) -> list[tuple[int, float]]:
    """Block, and fires a block around it."""
    course = record.courses[group].fires
    return [(i * BUCKET + BUCKET // 2, n / BUCKET) for i, n in enumerate(course)]


def lateness_over_time(record: Record, group: str) -> list[tuple[int, float]]:
    """Block, and how late on average those were who fired around it."""
    course = record.courses[group]
    pairs = enumerate(zip(course.late, course.fires, strict=True))
    return [(i * BUCKET + BUCKET // 2, late / n) for i, (late, n) in pairs if n]


Records = Mapping[str, Record]
"""By their names: world and rules."""
