"""Who pays what: baselines, tiers and the lane multiplier (CIP-1 §1, §7, §16)."""

from simulating.agents import PLAIN, RING
from simulating.charts import Panel, draw
from simulating.figures import (
    Records,
    cycle_prices,
    mean,
    quantile,
    quantiles,
    revenue,
    spread,
    swing,
    table,
    total_fires,
    use,
    waits_of,
)
from simulating.gathering import Record
from simulating.scenarios import (
    BASELINES,
    LANES,
    TIERS,
)
from simulating.world import FUNDS, LANE_IN_FIRES

RULES = ("auction", "fifo", "first-price")
WAITS = "waits p50 / p90 / p99 / longest"
_LOW, _HIGH = 500, 2_000
"""What those of little worth state at most, and those of great worth at least."""


# --- baselines ------------------------------------------------------------------------


def baselines(records: Records) -> str:
    """Three rules under five demands."""
    rows = []
    for mix in BASELINES:
        lane = LANE_IN_FIRES * (RING if mix.startswith("fragments") else PLAIN).limit
        for rules in RULES:
            record = records[f"{mix}/{rules}"]
            burned, tipped = revenue(record, lane)
            cost = cycle_prices(record)
            rows.append(
                (
                    mix,
                    rules,
                    f"{total_fires(record) / record.blocks:.2f}",
                    f"{use(record, lane):.0%}",
                    f"{burned:,.1f}",
                    f"{tipped:,.1f}",
                    spread(cost),
                    f"{swing(cost):.1%}",
                )
            )
    header = (
        "demand",
        "rules",
        "fires a block",
        "lane used",
        "burned",
        "tips",
        "price a cycle, p10 … p90",
        "swing",
    )
    return table(header, rows)


def baseline_waits(records: Records) -> str:
    """Who waits how long under the three rules."""
    rows = []
    for mix in BASELINES:
        for group in records[f"{mix}/auction"].fires:
            for rules in RULES:
                record = records[f"{mix}/{rules}"]
                waiting = sum(record.waiting[group].values())
                rows.append(
                    (
                        mix,
                        group,
                        rules,
                        f"{total_fires(record, group):,}",
                        quantiles(waits_of(record, [group])),
                        f"{waiting:,}",
                    )
                )
    header = ("demand", "who", "rules", "fires", WAITS, "overdue at the end")
    return table(header, rows)


def served(records: Records) -> str:
    """Fires of `steady` by what the actors would pay."""
    rows = []
    for rules in RULES:
        record = records[f"steady/{rules}"]
        pairs = list(
            zip(record.values["heartbeats"], record.fires["heartbeats"], strict=True)
        )
        classes = (
            [n for value, n in pairs if not value],
            [n for value, n in pairs if value >= _HIGH],
            [n for value, n in pairs if _LOW <= value < _HIGH],
            [n for value, n in pairs if 0 < value < _LOW],
        )
        worth = sum(value * n for value, n in pairs) / record.blocks
        averages = [f"{sum(c) / len(c):,.0f}" for c in classes]
        rows.append((rules, *averages, f"{worth:,.0f}"))
    header = (
        "rules",
        "no price stated",
        f"worth {_HIGH:,} or more",
        f"{_LOW} to {_HIGH:,}",
        f"below {_LOW}",
        "worth a block of those that state it",
    )
    return table(header, rows)


def draw_baselines(records: Records) -> str:
    """The price in 300 blocks of two demands."""
    panels = []
    for mix in ("steady", "whale"):
        series = []
        for rules in ("auction", "first-price"):
            record = records[f"{mix}/{rules}"]
            middle = record.blocks // 2
            shown = range(middle, min(middle + 300, record.blocks))
            points = [(i, _price(record, i)) for i in shown if record.used[i]]
            series.append((rules, points))
        panels.append(Panel(f"Demand: {mix}", "block", "price a cycle", tuple(series)))
    return draw(panels)


def _price(record: Record, block: int) -> float:
    return (record.burned[block] + record.tipped[block]) / record.used[block]


# --- 4: tiers -------------------------------------------------------------------------


def tiers(records: Records) -> str:
    """What a tier buys when so many lanes of fires come at once."""
    rows = []
    for lanes in LANES:
        record = records[f"tiers:{lanes}/auction"]
        for tier in (*TIERS, "stated"):
            waits = waits_of(record, [tier])
            late = sum(n for wait, n in waits.items() if wait)
            rows.append(
                (
                    f"{lanes}",
                    f"{record.full_blocks / record.blocks:.1%}",
                    tier,
                    f"{mean(waits):.3f}",
                    f"{late / sum(waits.values()):.1%}",
                    f"{quantile(waits, 990)} / {quantile(waits, 1_000)}",
                )
            )
    header = (
        "burst, lanes",
        "full blocks",
        "tier",
        "mean wait",
        "waited at all",
        "p99 / longest",
    )
    return table(header, rows)


def draw_tiers(records: Records) -> str:
    """Waiting by tier and congestion; p50 once everybody uses a tier."""
    found = [(lanes, records[f"tiers:{lanes}/auction"]) for lanes in LANES]
    alone = records["only-tiers/auction"]
    return draw(
        [
            Panel(
                "What a tier waits",
                "lanes of fires that come at once",
                "blocks, mean",
                tuple(
                    (tier, [(n, mean(waits_of(r, [tier]))) for n, r in found])
                    for tier in TIERS
                ),
            ),
            Panel(
                "p50 once everybody uses a tier",
                "block",
                "p50 tip, 0 drawn as 1",
                (
                    (
                        f"those who state tips leave at block {alone.blocks // 5:,}",
                        [
                            (i, max(1, alone.tips[i]))
                            for i in range(0, alone.blocks, max(1, alone.blocks // 400))
                        ],
                    ),
                ),
                is_y_log=True,
            ),
        ]
    )


# --- 5: the multiplier ----------------------------------------------------------------


def multipliers(records: Records) -> str:
    """A subsidy of 0.8 on the lane basefee, and on all that is burned for cycles."""
    rows = []
    lane = LANE_IN_FIRES * PLAIN.limit
    for mix in ("slack", "steady"):
        for rules in ("auction", "subsidy-lane", "subsidy-all"):
            record = records[f"{mix}/{rules}"]
            burned, _ = revenue(record, lane)
            cycle = record.cycle_burned / record.blocks / lane
            rows.append(
                (
                    mix,
                    rules,
                    f"{total_fires(record) / record.blocks:.2f}",
                    f"{use(record, lane):.1%}",
                    f"{cycle:,.1f}",
                    f"{burned:,.1f}",
                    f"{cycle + burned:,.1f}",
                    spread(
                        [float(fee) for fee in record.basefees[record.blocks // 10 :]]
                    ),
                )
            )
    header = (
        "demand",
        "rules",
        "fires a block",
        "lane used",
        "cycle basefees",
        "lane basefees",
        "together",
        "lane basefee charged, p10 … p90",
    )
    return table(header, rows)


# --- what is said beside --------------------------------------------------------------


def uncapped(records: Records) -> str:
    """A lane that is wanted to 60 % by actors who state no price."""
    record = records["uncapped/auction"]
    peak = max(record.basefees)
    actors = record.fires["heartbeats"]
    burned = sum(record.burned) / (len(actors) * FUNDS)
    rows = [
        ("lane basefee at its highest", f"{peak:,}"),
        ("at block", f"{record.basefees.index(peak):,}"),
        (
            "timers destroyed because their payers had nothing left",
            f"{sum(record.removed.values())} of {len(actors)}",
        ),
        ("of all that they had, burned by the lane's price", f"{burned:.0%}"),
    ]
    return table(("what", "figure"), rows)
