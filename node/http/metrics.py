"""The node's stats in the form that Prometheus scrapes.

Names follow its conventions: a prefix, base units, `_total` for what only grows; each
has a help text that says the unit. The library is imported when the first scrape is
rendered, not before the node serves.

Rules: a scrape reads what was counted, and the visible state. Scrapers are anybody:
those who ask at once get one text, in one of two forms. Timers are counted at
most once in a while: those that the calendar's buckets hold by their tally, the others
by walking the store, a slice at a time so that others are served in between, and no
further than `TIMERS_COUNTED_MAX`.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING

from msgspec import Struct

from node import __version__
from node.chain.globals import load_timer_config
from node.chain.timers.globalbox.fires import decode_fire
from node.chain.timers.globalbox.hits import noted_rows
from node.chain.timers.tiers import FIRST_KEY, Tier, tier_of
from node.chain.transition import State
from node.query.globalbox import fires_from
from node.query.queue_place import WatchState
from node.runtime.clock import Clock
from node.runtime.stats import Histogram, NodeStats
from node.runtime.types import Backend
from node.state import keys

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

__all__ = ["Metrics"]

TIMERS_COUNTED_MAX = 100_000
"""Live timers beyond it are not counted: it takes a fifth of a second."""

_COUNT_INTERVAL_SECONDS = 10
_SLICE_TIMERS = 500
"""Timers counted at a stretch: a millisecond."""

_FIRES = "fires"
_OPENMETRICS = "application/openmetrics-text"
_PREFIX = "cowboy_devnet_"

_Labels = tuple[str, ...]
_Values = Iterable[tuple[_Labels, float]]


class _Family(Struct, frozen=True):
    """A metric and its values now."""

    name: str
    unit: str
    """The last part of the name, unless it is empty."""
    help: str
    labels: _Labels
    values: _Values


class Metrics:
    """Renders what a node counts."""

    def __init__(
        self,
        backend: Backend,
        stats: NodeStats,
        clock: Clock,
        store_bytes: Callable[[], int],
    ) -> None:
        self._backend = backend
        self._stats = stats
        self._clock = clock
        self._store_bytes = store_bytes
        self._timers: Counter[Tier] = Counter()
        self._globalbox: Counter[str] = Counter()
        self._counted_at: float | None = None
        self._awaited: dict[str, asyncio.Task[tuple[bytes, str]]] = {}
        """Texts that are not begun yet, by their form."""

    async def render(self, accept: str) -> tuple[bytes, str]:
        """The text of a scrape and its content type, for an `Accept` header.

        All who ask before a text is made get that one.
        """
        form = _OPENMETRICS if _OPENMETRICS in accept else ""
        awaited = self._awaited.get(form)
        if awaited is None:
            awaited = self._awaited[form] = asyncio.ensure_future(self._render(form))
        return await asyncio.shield(awaited)

    async def _render(self, form: str) -> tuple[bytes, str]:
        # Imported late: see the top of this module.
        from prometheus_client import (  # noqa: PLC0415
            CollectorRegistry,
            ProcessCollector,
        )
        from prometheus_client.exposition import choose_encoder  # noqa: PLC0415

        try:
            await self._count_timers()
            await asyncio.sleep(0)  # so that all who ask now have
        finally:
            del self._awaited[form]
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        registry.register(self)
        encode, content_type = choose_encoder(form)
        return encode(registry), content_type

    def collect(self) -> "Iterable[Metric]":
        """What the library asks of a collector."""
        from prometheus_client.metrics_core import (  # noqa: PLC0415 - as above
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        for make, families in (
            (GaugeMetricFamily, self._gauges()),
            (CounterMetricFamily, self._counters()),
        ):
            for family in families:
                metric = make(
                    _PREFIX + family.name,
                    family.help,
                    labels=family.labels,
                    unit=family.unit,
                )
                for labels, value in family.values:
                    metric.add_metric(labels, value)
                yield metric
        for name, text, label, histograms in self._histograms():
            shown = HistogramMetricFamily(
                _PREFIX + name, text, labels=(label,), unit="seconds"
            )
            for key, histogram in histograms.items():
                shown.add_metric((key,), histogram.buckets(), histogram.seconds)
            yield shown

    # --- timers --------------------------------------------------------------------

    async def _count_timers(self) -> None:
        now = self._clock.monotonic()
        last = self._counted_at
        if last is not None and now - last < _COUNT_INTERVAL_SECONDS:
            return
        self._counted_at = now
        self._timers = await _timers_by_tier(self._backend.state)
        self._globalbox = await _count_globalbox(self._backend.state)

    # --- families ------------------------------------------------------------------

    def _gauges(self) -> Iterable[_Family]:
        state, status, stats = (
            self._backend.state,
            self._backend.status,
            self._stats,
        )
        params, head = state.params, state.head
        yield _plain("height", "blocks", "Height of the head", head.height)
        yield _labelled(
            "basefee",
            "",
            "Basefee of the head, in base units a unit of the resource",
            "resource",
            {"cycle": head.basefee_cycle, "cell": head.basefee_cell},
        )
        yield _labelled(
            "block_lane",
            "cycles",
            "Cycles that the latest block used, by lane",
            "lane",
            stats.last_lane_cycles,
        )
        yield _plain(
            "block", "cells", "Cells that the latest block used", stats.last_cells
        )
        yield _labelled(
            "lane_budget",
            "cycles",
            "Cycles that a block has, by lane",
            "lane",
            {
                "user": params.lane_user_cycles,
                "timer": load_timer_config(state.snapshot, params).lane_timer_cycles,
                "deferred": params.lane_deferred_cycles,
            },
        )
        yield from self._timer_gauges()
        yield _plain(
            "pool",
            "transactions",
            "Transactions that wait for a block",
            status.pool_transactions,
        )
        yield _plain(
            "pool_queued",
            "transactions",
            "Of these, those that wait for a lower nonce of their sender",
            status.pool_queued,
        )
        yield _plain(
            "pool", "bytes", "Bytes of the transactions that wait", status.pool_bytes
        )
        yield _plain(
            "store_size", "bytes", "Size of the files of the store", self._store_bytes()
        )
        yield _plain("open", "streams", "Streams that are being served", status.streams)
        yield _labelled(
            "build_info", "", "Always 1; the version", "version", {__version__: 1}
        )

    def _timer_gauges(self) -> Iterable[_Family]:
        yield _labelled(
            "live",
            "timers",
            f"Timers that wait, by tier; counted up to {TIMERS_COUNTED_MAX}, every "
            f"{_COUNT_INTERVAL_SECONDS} s at most",
            "tier",
            {tier.value: self._timers[tier] for tier in Tier},
        )
        yield _plain(
            "queued",
            "fires",
            "Fires in the Globalbox, counted like live_timers",
            self._globalbox[_FIRES],
        )
        yield _labelled(
            "live",
            "watches",
            "Watches by what they are doing, counted like live_timers; a queued one is "
            "among the queued fires, too",
            "state",
            {state.value: self._globalbox[state.value] for state in WatchState},
        )

    def _counters(self) -> Iterable[_Family]:
        stats = self._stats
        yield _labelled(
            "blocks",
            "",
            "Blocks committed since the process began; a run of empty heights is one",
            "kind",
            stats.blocks,
        )
        yield _Family(
            "executions",
            "",
            "Executions in blocks, by what was executed and how it ended",
            ("kind", "status"),
            stats.executions.items(),
        )
        yield _plain("events", "", "Events in blocks", stats.events)
        yield _labelled(
            "timer_decisions",
            "",
            "Decisions about timers: scheduled, fired, put_off, …",
            "decision",
            stats.decisions,
        )
        yield _labelled(
            "lane", "cycles", "Cycles used, by lane", "lane", stats.lane_cycles
        )
        yield _plain("used", "cells", "Cells used", stats.cells)
        yield _labelled(
            "pool_refusals",
            "",
            "Transactions that were not admitted, by reason",
            "reason",
            stats.refused,
        )
        yield _labelled(
            "pool_drops",
            "",
            "Transactions that left the pool without a block, by reason",
            "reason",
            stats.dropped,
        )
        yield _labelled(
            "store_commits",
            "",
            "Batches written to the store, synced to disk or not",
            "kind",
            stats.commits,
        )
        yield _plain(
            "store_written",
            "keys",
            "Keys of the state that blocks wrote or removed",
            stats.written_keys,
        )
        yield _Family(
            "grpc_requests",
            "",
            "Calls of the API that ended, over gRPC or HTTP, by method and status",
            ("method", "code"),
            stats.calls.items(),
        )
        yield _labelled(
            "http_requests",
            "",
            "Requests to this port that were answered, also what was none, by status",
            "code",
            {str(code): count for code, count in stats.http_answers.items()},
        )

    def _histograms(
        self,
    ) -> Iterable[tuple[str, str, str, Mapping[str, Histogram]]]:
        stats = self._stats
        text = "Seconds that a block took: to build, to commit, to publish"
        yield "block_phase", text, "phase", stats.phases
        text = "Seconds until a call with one answer ended, over gRPC or HTTP"
        yield "grpc_request", text, "method", stats.call_seconds


async def _timers_by_tier(state: State) -> Counter[Tier]:
    """What the buckets of the head hold, and what lies in the store beside them."""
    height, sizes = state.head.height, state.params.calendar
    calendar = state.caches.calendar
    tally = None if calendar is None else calendar.tally
    start = cursor = FIRST_KEY
    counted: Counter[Tier] = Counter()
    if tally is not None and tally.state_root == state.head.state_root:
        start, cursor = tally.start, tally.cursor
        counted.update({Tier.RING: tally.ring, Tier.EPOCH: tally.epoch})
    parts = (FIRST_KEY, start), (cursor, keys.TIMERS_STOP)
    beside = chain.from_iterable(state.snapshot.range(*p) for p in parts if p[0] < p[1])
    live = islice(beside, max(0, TIMERS_COUNTED_MAX - counted.total()))
    while chunk := list(islice(live, _SLICE_TIMERS)):
        heights = (keys.timer_height(key) for key, _ in chunk)
        counted.update(tier_of(due, height, sizes) for due in heights)
        await asyncio.sleep(0)
    return counted


async def _count_globalbox(state: State) -> Counter[str]:
    """Queued fires, and watches by what they are doing."""
    snapshot = state.snapshot
    counted: Counter[str] = Counter()
    async for order, record in _counted(fires_from(snapshot)):
        counted[_FIRES] += 1
        if decode_fire(order, record).is_of_watch:
            counted[WatchState.QUEUED.value] += 1
    async for _ in _counted(noted_rows(snapshot)):
        counted[WatchState.NOTED.value] += 1
    start = keys.IDLE_WATCHES_PREFIX
    rows = snapshot.range(start, keys.prefix_stop(start))
    idle = {key[-keys.SEQUENCE_BYTES :] async for key, _ in _counted(rows)}
    counted[WatchState.IDLE.value] = len(idle)
    return counted


async def _counted(
    rows: Iterator[tuple[bytes, bytes]],
) -> AsyncIterator[tuple[bytes, bytes]]:
    """As many rows as are counted, others served in between."""
    bounded = islice(rows, TIMERS_COUNTED_MAX)
    while chunk := list(islice(bounded, _SLICE_TIMERS)):
        for row in chunk:
            yield row
        await asyncio.sleep(0)


def _plain(name: str, unit: str, text: str, value: float) -> _Family:
    return _Family(name, unit, text, (), [((), value)])


def _labelled(
    name: str, unit: str, text: str, label: str, values: Mapping[str, float]
) -> _Family:
    by_label = [((key,), value) for key, value in values.items()]
    return _Family(name, unit, text, (label,), by_label)
