"""Figures of records: quantiles, inequality, prices, reaction times.

What still waits when a simulation ends is no missing datum: it has waited so long at
least, and counts as that.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from simulating.gathering import BUCKET, Course, Record

Records = Mapping[str, Record]
PPM = 1_000_000
NEAR = 0.05
"""A weight has arrived when it is so close to where it stays."""
STEADY_BUCKETS = 4
"""Buckets that a mean of a course is taken over: single ones are noisy."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def waits_of(record: Record, groups: Iterable[str] | None = None) -> Counter[int]:
    """Blocks from due height to fire; of the overdue, to the end."""
    found: Counter[int] = Counter()
    for group in record.fires if groups is None else groups:
        for waits in (record.waits[group], record.waiting[group]):
            found.update(waits)
    return found


def quantile(waits: Counter[int], permille: int) -> int:
    """The least wait that so many of a thousand do not exceed."""
    wanted, passed = sum(waits.values()) * permille, 0
    for wait, count in sorted(waits.items()):
        passed += count * 1_000
        if passed >= wanted:
            return wait
    return 0


def mean(waits: Counter[int]) -> float:
    """In blocks."""
    return sum(w * n for w, n in waits.items()) / max(1, sum(waits.values()))


def quantiles(waits: Counter[int]) -> str:
    """p50 / p90 / p99 / longest."""
    return " / ".join(f"{quantile(waits, p):,}" for p in (500, 900, 990, 1_000))


def gini(values: Sequence[int]) -> float:
    """0 when all have the same, towards 1 when one has everything."""
    ordered, total = sorted(values), sum(values)
    weighted = sum(rank * value for rank, value in enumerate(ordered, 1))
    count = len(ordered)
    return (2 * weighted - (count + 1) * total) / max(1, count * total)


def total_fires(record: Record, group: str | None = None) -> int:
    """Of a group, or of all."""
    names = record.fires if group is None else [group]
    return sum(sum(record.fires[name]) for name in names)


def revenue(record: Record, lane: int) -> tuple[float, float]:
    """Burned by the lane's price, and tipped: base units a cycle that the lane has."""
    scale = record.blocks * lane
    return sum(record.burned) / scale, sum(record.tipped) / scale


def use(record: Record, lane: int) -> float:
    """Share of the lane that was used."""
    return sum(record.used) / (record.blocks * lane)


def cycle_prices(record: Record) -> list[float]:
    """What a cycle of the lane cost on average in each block with fires."""
    parts = zip(record.burned, record.tipped, record.used, strict=True)
    return [(burned + tipped) / used for burned, tipped, used in parts if used]


def swing(values: Sequence[float]) -> float:
    """Mean change from one block to the next, against the mean itself."""
    changes = [abs(b - a) for a, b in pairwise(values)]
    average = sum(values) / max(1, len(values))
    return sum(changes) / max(1, len(changes)) / average if average else 0.0


def spread(values: Sequence[float]) -> str:
    """p10 … p90."""
    ordered = sorted(values)
    low, high = (ordered[len(ordered) * p // 10] for p in (1, 9))
    return f"{low:,.0f} … {high:,.0f}"


# --- courses --------------------------------------------------------------------------


def weights(course: Course) -> list[tuple[int, float]]:
    """Block and mean W around it, where there were fires."""
    return _ratios(course.weights, course.fires, PPM)


def waits_over_time(course: Course) -> list[tuple[int, float]]:
    """Block and mean wait of those that fired around it."""
    return _ratios(course.waits, course.fires, 1)


def fires_over_time(course: Course) -> list[tuple[int, float]]:
    """Block and fires a block around it."""
    count = len(course.fires)
    return _ratios(course.fires, [BUCKET] * count, 1)


def _ratios(
    sums: Sequence[int], counts: Sequence[int], scale: int
) -> list[tuple[int, float]]:
    found = []
    for first in range(0, len(sums), STEADY_BUCKETS):
        part = slice(first, first + STEADY_BUCKETS)
        total = sum(counts[part])
        if total:
            middle = (first + STEADY_BUCKETS // 2) * BUCKET
            found.append((middle, sum(sums[part]) / total / scale))
    return found


def between(course: Course, first: int, last: int) -> tuple[float, float, float]:
    """Fires a block, mean wait and mean W from one block to another."""
    part = slice(first // BUCKET, last // BUCKET)
    fires = sum(course.fires[part])
    least = max(1, fires)
    waits, weight = sum(course.waits[part]), sum(course.weights[part])
    return fires / max(1, last - first), waits / least, weight / least / PPM


def reaction(course: Course, since: int, blocks: int) -> int:
    """Blocks from `since` until the mean W is near where it stays to the end."""
    _, _, final = between(course, blocks - blocks // 10, blocks)
    late = [(at, weight) for at, weight in weights(course) if at > since]
    away = [at for at, weight in late if abs(weight - final) > NEAR]
    return away[-1] + STEADY_BUCKETS * BUCKET // 2 - since if away else 0
