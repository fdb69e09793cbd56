"""NodeStats: what the running node counts, for whoever watches it.

Plain numbers that the shell adds to where a fact became one; `metrics` puts them into
the form that scrapers read, with a library that the node does not import before it
serves. The core counts nothing.

Rules: everything here happens on the event loop's thread, and costs no more than an
addition. A key of a dict is one of a closed set (a reason, a method, a phase), never
what a caller chose: so nothing here grows.
"""

from bisect import bisect_left
from collections import Counter

from msgspec import Struct, field

from node.chain.block import ReceiptKind
from node.chain.transition import BlockResult

__all__ = ["PHASES", "Histogram", "NodeStats", "PhaseSeconds"]

_SECONDS_BOUNDS = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1),
    *(0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
"""Half a millisecond is an empty block, ten seconds more than a full one."""

PHASES = ("build", "commit", "publish")


class Histogram:
    """How often durations fell below each of the bounds."""

    __slots__ = ("_counts", "seconds")

    def __init__(self) -> None:
        self._counts = [0] * (len(_SECONDS_BOUNDS) + 1)
        self.seconds = 0.0
        """The sum of all."""

    def observe(self, seconds: float) -> None:
        """Add one duration."""
        self._counts[bisect_left(_SECONDS_BOUNDS, seconds)] += 1
        self.seconds += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """(upper bound in seconds, how many at most that long), the last unbounded."""
        total = 0
        buckets: list[tuple[str, float]] = []
        for bound, count in zip((*_SECONDS_BOUNDS, None), self._counts, strict=True):
            total += count
            buckets.append(("+Inf" if bound is None else str(bound), total))
        return buckets


class PhaseSeconds(Struct, frozen=True):
    """How long the parts of making one block took."""

    build: float
    """Executing it."""
    commit: float
    """Writing it, to disk if it has content, and taking the new snapshot."""


class NodeStats(Struct):
    """What happened since the process began; counts unless something else is said."""

    blocks: Counter[str] = field(default_factory=Counter)
    """By `empty` and `content`."""
    executions: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By kind, and by `succeeded` and `failed`."""
    events: int = 0
    decisions: Counter[str] = field(default_factory=Counter)
    """About timers."""
    lane_cycles: Counter[str] = field(default_factory=Counter)
    cells: int = 0
    last_lane_cycles: dict[str, int] = field(default_factory=dict)
    """Of the latest block."""
    last_cells: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """Transactions that the pool did not take, by reason."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Transactions that left the pool without a block, by reason."""
    phases: dict[str, Histogram] = field(
        default_factory=lambda: {phase: Histogram() for phase in PHASES}
    )
    commits: Counter[str] = field(default_factory=Counter)
    """By `synced` and `unsynced`."""
    written_keys: int = 0
    """Of the state and what the node notes of it, not of the history."""
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    """gRPC calls that ended, by method and status."""
    http_answers: Counter[int] = field(default_factory=Counter)
    """Of the HTTP port, by status."""
    call_seconds: dict[str, Histogram] = field(default_factory=dict)
    """Of calls with one answer, by method."""

    def note_block(self, result: BlockResult, seconds: PhaseSeconds) -> None:
        """A block was committed."""
        self.blocks["empty" if result.is_empty else "content"] += 1
        self.commits["unsynced" if result.is_empty else "synced"] += 1
        self.written_keys += len(result.writes.changes)
        self.phases["build"].observe(seconds.build)
        self.phases["commit"].observe(seconds.commit)
        use = result.use
        self.last_cells = use.cells
        self.last_lane_cycles = {
            "user": use.user_cycles,
            "timer": use.timer_cycles,
            "deferred": use.deferred_cycles,
            "gc": use.gc_cycles,
        }
        if result.is_empty:
            return
        self.cells += use.cells
        for lane, cycles in self.last_lane_cycles.items():
            self.lane_cycles[lane] += cycles
        self.events += len(result.events)
        for receipt in result.receipts:
            status = "succeeded" if receipt.failure is None else "failed"
            self.executions[_KINDS[receipt.kind], status] += 1
        for decision in result.trace:
            self.decisions[decision.decision.value] += 1

    def note_call(self, method: str, status: str, seconds: float | None) -> None:
        """A call ended; `seconds` is None of a stream."""
        self.calls[method, status] += 1
        if seconds is not None:
            self.call_seconds.setdefault(method, Histogram()).observe(seconds)

    def note_http(self, status: int) -> None:
        """The HTTP port answered."""
        self.http_answers[status] += 1


_KINDS = {kind: kind.name.lower() for kind in ReceiptKind}
