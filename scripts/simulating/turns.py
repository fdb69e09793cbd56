"""Who fires when: windows, fragments, medians and ties (CIP-1 §8, §16)."""

from collections.abc import Sequence

from simulating.charts import Panel, draw
from simulating.figures import (
    Records,
    between,
    fires_over_time,
    gini,
    mean,
    quantiles,
    reaction,
    table,
    total_fires,
    waits_of,
    waits_over_time,
    weights,
)
from simulating.gathering import BUCKET, Record
from simulating.scenarios import (
    FRAGMENTS,
    FRAGMENTS_OF_DEPLOYERS,
    SMOOTHED,
    WINDOWS,
)

WAITS = "waits p50 / p90 / p99 / longest"


# --- 1: the window --------------------------------------------------------------------


def windows(records: Records) -> str:
    """What the length of the window changes when actors change."""
    rows = []
    for window in WINDOWS:
        record = records[f"swap/window-{window}"]
        half = record.blocks // 2
        everybody = [n for group in record.fires.values() for n in group]
        movers = [record.courses[f"first {kind}"] for kind in ("light", "heavy")]
        gained = _gained(record, half)
        rows.append(
            (
                f"{window:,}",
                quantiles(waits_of(record, ["heartbeats"])),
                quantiles(waits_of(record, ["first light", "first heavy"])),
                f"{gini(everybody):.3f}",
                f"{reaction(movers[0], half, record.blocks):,}",
                f"{reaction(movers[1], half, record.blocks):,}",
                f"{gained:+,.0f}",
            )
        )
    header = (
        "window",
        f"heartbeats: {WAITS}",
        f"those who change: {WAITS}",
        "Gini of fires",
        "blocks until W of the newly heavy has settled",
        "until that of the newly light has",
        "fires the newly heavy gained meanwhile",
    )
    return table(header, rows)


def _gained(record: Record, half: int) -> float:
    """Fires of the newly heavy beyond the rate at which they end."""
    course = record.courses["first light"]
    final, _, _ = between(course, record.blocks - record.blocks // 10, record.blocks)
    rate, _, _ = between(course, half, record.blocks)
    return (rate - final) * (record.blocks - half)


def draw_windows(records: Records) -> str:
    """W and fires of those who turn heavy at half time."""
    named = [(f"window {w:,}", records[f"swap/window-{w}"]) for w in WINDOWS]
    courses = [(name, record.courses["first light"]) for name, record in named]
    heavy = [(name, record.courses["first heavy"]) for name, record in named]
    return draw(
        [
            Panel(
                "Turns heavy at half time",
                "block",
                "mean W",
                tuple((name, weights(course)) for name, course in courses),
            ),
            Panel(
                "Turns light at half time",
                "block",
                "mean W",
                tuple((name, weights(course)) for name, course in heavy),
            ),
            Panel(
                "Turns heavy at half time",
                "block",
                "fires a block",
                tuple((name, fires_over_time(course)) for name, course in courses),
            ),
        ]
    )


# --- 2: fragments ---------------------------------------------------------------------


def fragments(records: Records) -> str:
    """What a whale gains by being many."""
    rows = []
    for count in FRAGMENTS:
        cells = [f"{count:,}"]
        for rules in ("auction", "per-deployer"):
            record = records.get(f"fragments:{count}/{rules}")
            if record is None:
                cells += ["", "", "", ""]
                continue
            share = _share(record)
            alone = _share(records[f"fragments:1/{rules}"])
            cells += [
                f"{share:.1%}",
                f"{share / alone - 1:+.1%}",
                f"{mean(waits_of(record, ['whale'])):.2f}",
                f"{mean(waits_of(record, ['honest'])):.2f}",
            ]
        rows.append(tuple(cells))
    columns = ("share of fires", "gain", "whale waits, mean", "honest wait, mean")
    header = (
        "actors",
        *(f"per actor: {c}" for c in columns),
        *(f"per deployer: {c}" for c in columns),
    )
    return table(header, rows)


def _share(record: Record) -> float:
    return total_fires(record, "whale") / total_fires(record)


def draw_fragments(records: Records) -> str:
    """Share and waiting by number of actors."""
    shares, waits = [], []
    for rules, counts, name in (
        ("auction", FRAGMENTS, "weight per actor"),
        ("per-deployer", FRAGMENTS_OF_DEPLOYERS, "weight per deployer"),
    ):
        found = [(n, records[f"fragments:{n}/{rules}"]) for n in counts]
        shares.append((name, [(n, 100 * _share(r)) for n, r in found]))
        waits.append((name, [(n, mean(waits_of(r, ["honest"]))) for n, r in found]))
    return draw(
        [
            Panel(
                "A whale's share of the fires",
                "actors of the whale",
                "%",
                tuple(shares),
                is_x_log=True,
            ),
            Panel(
                "Honest actors wait",
                "actors of the whale",
                "blocks, mean",
                tuple(waits),
                is_x_log=True,
            ),
        ]
    )


# --- 3: the median --------------------------------------------------------------------

_SHOCK_GROUPS = ("1 a period", "2 a period", "8 a period")
_MEDIANS = ("auction", *(f"smoothed:{n}" for n in SMOOTHED))


def shocks(records: Records) -> str:
    """W and waiting of the resident while crowds come and go."""
    first = records["crowds/auction"]
    fifth = first.blocks // 5
    phases = (
        ("before", fifth // 2, fifth),
        ("light crowd comes", fifth, fifth + fifth // 2),
        ("light crowd stays", fifth + fifth // 2, 2 * fifth),
        ("it is gone", 2 * fifth, 2 * fifth + fifth // 2),
        ("heavy crowd comes", 3 * fifth, 3 * fifth + fifth // 2),
        ("heavy crowd stays", 3 * fifth + fifth // 2, 4 * fifth),
        ("it is gone", 4 * fifth, 4 * fifth + fifth // 2),
    )
    rows = []
    for name, start, stop in phases:
        for rules in _MEDIANS:
            record = records[f"crowds/{rules}"]
            cells = []
            for group in _SHOCK_GROUPS:
                _, wait, weight = between(record.courses[group], start, stop)
                cells.append(f"{weight:.2f}, {wait:.1f}")
            rows.append((name, f"{start:,} … {stop:,}", rules, *cells))
    header = ("phase", "blocks", "median", *(f"{g}: W, wait" for g in _SHOCK_GROUPS))
    return table(header, rows)


def draw_shocks(records: Records) -> str:
    """Weights and waits of residents that fire once a period."""
    named = [(rules, records[f"crowds/{rules}"]) for rules in _MEDIANS]
    course = "1 a period"
    return draw(
        [
            Panel(
                "Residents that fire once a period",
                "block",
                "mean W",
                tuple((name, weights(r.courses[course])) for name, r in named),
            ),
            Panel(
                "Residents that fire once a period",
                "block",
                "mean wait, blocks",
                tuple((name, waits_over_time(r.courses[course])) for name, r in named),
            ),
            Panel(
                "The network median",
                "block",
                "fires in the window",
                (
                    (
                        "unsmoothed",
                        [
                            (i * BUCKET, median)
                            for i, median in enumerate(named[0][1].medians)
                        ],
                    ),
                ),
            ),
        ]
    )


# --- 3a: ties -------------------------------------------------------------------------


def ties(records: Records) -> str:
    """Forty equal actors without tips."""
    named = [(f"`{tie}`", records[f"equals/{tie}"]) for tie in ("fair", "cip")]
    return _equals("tie-break", named)


def clamps(records: Records) -> str:
    """The same with tips, recorded as they were clamped and as they were stated."""
    named = [
        ("when it is scheduled, and in each block (§6)", records["clamped/auction"]),
        ("in each block only", records["clamped/clamped-late"]),
    ]
    return _equals("a tip is clamped", named)


def _equals(what: str, named: Sequence[tuple[str, Record]]) -> str:
    rows = []
    for name, record in named:
        counts = sorted(record.fires["equals"])
        middle = counts[len(counts) // 2]
        rows.append(
            (
                name,
                f"{counts[0]:,} / {middle:,} / {counts[-1]:,}",
                f"{gini(counts):.4f}",
                quantiles(waits_of(record)),
                f"{mean(waits_of(record)):.1f}",
            )
        )
    header = (
        what,
        "fires of an actor: least / median / most",
        "Gini",
        WAITS,
        "mean",
    )
    return table(header, rows)
