"""The tables and pictures of docs/rules-compared.md, by name.

A world's table is named after it, and that of its groups `WORLD by group`.
"""

from collections.abc import Callable, Mapping, Sequence

from simulating.charts import Panel, Points, draw
from simulating.figures import quantile, table

from comparing import measures
from comparing.measures import CBY, Records
from comparing.noting import Record

LATE_SHOWN_MAX = 30
"""Blocks of lateness that a picture shows."""
_LATE = "blocks late: median / p99 / worst"


def rules_of(records: Records) -> list[str]:
    """Rules that were compared, in the order in which they came."""
    return list(dict.fromkeys(record.rules for record in records.values()))


def table_of(records: Records, name: str) -> str:
    """A table of the page, by its name."""
    world, by_group, _ = name.partition(" by group")
    return _by_group(records, world) if by_group else _of_world(records, world)


def _records_of(records: Records, world: str) -> list[Record]:
    return [records[f"{world}/{rules}"] for rules in rules_of(records)]


def _of_world(records: Records, world: str) -> str:
    header = (
        "rules",
        "fires a block",
        "never fired",
        _LATE,
        "Jain: actors / deployers",
        "CBY spent a fire",
        "burned / tipped / for asking",
        "lane unused / while somebody was late",
        "records written a fire",
    )
    return table(header, [_row(record) for record in _records_of(records, world)])


def _row(record: Record) -> Sequence[str]:
    count, spent = measures.fires(record), measures.spent(record)
    least = max(1, count)
    fairness = (measures.jain_of_actors(record), measures.jain_of_deployers(record))
    unused = (1 - record.used / record.lane, record.unused_while_late / record.lane)
    return (
        f"`{record.rules}`",
        f"{count / record.blocks:.2f}",
        f"{measures.lost(record):.1%}",
        _quantiles(record, None),
        " / ".join(f"{index:.3f}" for index in fairness),
        f"{spent.total / least / CBY:.4f}",
        _parts(spent),
        " / ".join(f"{share:.1%}" for share in unused),
        f"{record.written / least:.1f}",
    )


def _by_group(records: Records, world: str) -> str:
    header = (
        "who",
        "rules",
        "turns",
        "never fired",
        _LATE,
        "CBY spent a fire",
        "CBY spent an actor",
    )
    found = _records_of(records, world)
    rows = [
        (
            group,
            f"`{record.rules}`",
            f"{measures.turns(record, group):,}",
            f"{measures.lost(record, group):.1%}",
            _quantiles(record, group),
            _each(record, group),
            _of_actor(record, group),
        )
        for group in found[0].fires
        for record in found
    ]
    return table(header, rows)


def _quantiles(record: Record, group: str | None) -> str:
    late = measures.lateness(record, group)
    return " / ".join(f"{quantile(late, p):,}" for p in (500, 990, 1_000))


def _each(record: Record, group: str) -> str:
    count = measures.fires(record, group)
    total = measures.spent(record, group).total
    return f"{total / count / CBY:.4f}" if count else "none fired"


def _of_actor(record: Record, group: str) -> str:
    total = measures.spent(record, group).total
    return f"{total / len(record.fires[group]) / CBY:,.2f}"


def _parts(spent: measures.Spent) -> str:
    """In percent of what was spent."""
    total = max(1, spent.total)
    parts = (spent.burned, spent.tipped, spent.asked)
    return " / ".join(f"{part / total:.1%}" for part in parts)


# --- pictures -------------------------------------------------------------------------


def draw_lateness(records: Records) -> str:
    """How late turns were served, where there is not enough room for all."""
    title = "Congested: all actors"
    return draw(
        [
            _served(records, "congested", None, title),
            _served(records, "need", "urgent", "Need: those who are in a hurry"),
        ]
    )


def draw_spam(records: Records) -> str:
    """Who gets the lane beside a spammer."""
    return draw(
        [
            _fires(records, "spam", "honest", "Spam: forty honest actors"),
            _fires(records, "spam", "spammer", "Spam: one deployer's sixty actors"),
        ]
    )


def draw_crowd(records: Records) -> str:
    """What a crowd does to those who were there before, and how it fares itself."""
    series = _series(
        records, "flash crowd", lambda r: measures.lateness_over_time(r, "residents")
    )
    residents = Panel("Flash crowd: residents", "block", "mean blocks late", series)
    title = "Flash crowd: newcomers"
    return draw([residents, _served(records, "flash crowd", "newcomers", title)])


def draw_money(records: Records) -> str:
    """What money buys, and what becomes of those who run out of it."""
    return draw(
        [
            _fires(records, "poor and rich", "rich", "Poor and rich: the 26 rich"),
            _fires(records, "poor and rich", "poor", "Poor and rich: the 26 poor"),
        ]
    )


def _served(records: Records, world: str, group: str | None, title: str) -> Panel:
    series = _series(
        records, world, lambda r: measures.served_within(r, group, LATE_SHOWN_MAX)
    )
    return Panel(title, "blocks late, at most", "share of all turns", series)


def _fires(records: Records, world: str, group: str, title: str) -> Panel:
    series = _series(records, world, lambda r: measures.fires_over_time(r, group))
    return Panel(title, "block", "fires a block", series)


def _series(
    records: Records, world: str, points: Callable[[Record], Points]
) -> tuple[tuple[str, Points], ...]:
    found = _records_of(records, world)
    return tuple((record.rules, points(record)) for record in found)


PICTURES: Mapping[str, Callable[[Records], str]] = {
    "rules-lateness.svg": draw_lateness,
    "rules-spam.svg": draw_spam,
    "rules-crowd.svg": draw_crowd,
    "rules-money.svg": draw_money,
}
