"""Executing the blocks of a range again, to find what lines and call stacks cost.

Each block is applied to the state that the one before it left, in memory, by a watcher
that changes nothing; what it counts adds up to the receipts.

To count takes a hundred times as long as to execute. So a block with much to count is
executed several times, and each time another part of its executions is counted.

Rules: whoever drives it takes one part of a block at a time, so that other work can go
between. Work is bounded by headers, cycles and keys written, whichever ends first; what
is kept by lines, frames and bytes of sources. What is left out is counted.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from node.chain.block import Block, Receipt
from node.chain.transition import (
    BlockResult,
    Caches,
    State,
    apply_block,
    next_state,
    open_state,
)
from node.primitives.types import Address, Hash32, Height
from node.query.costs.profiles import Profiled
from node.query.costs.profiling import CountingWatcher
from node.query.costs.ranges import (
    ActorCosts,
    CostSum,
    ExecutionStack,
    RangeCosts,
)
from node.state.journal import Journal
from pvm import NO_COST, Cost, Place, Stack, running_line
from pvm.errors import without_memory_errors

__all__ = ["RangeCosting"]

HEADERS_MAX = 1_000
"""Blocks and runs of one answer."""

CYCLES_MAX = 300_000_000
"""Of all executions of an answer, again and again: some seconds, if none is counted."""

PART_CYCLES_MAX = 250_000
"""Of the executions that are counted at a time: half a second, of loops that do little;
others take a part of that."""

EXECUTION_CYCLES_MAX = 1_000_000
"""Of one execution that is counted, alone: two seconds. A fire has 550,000 at most."""

COUNTED_CYCLES_MAX = 20_000_000
"""Of those that an answer counts: some ten to forty seconds of the executing thread."""

WRITES_MAX = 200_000
"""Keys that it holds in memory, at most."""

LINES_MAX = 50_000
"""Lines that an answer tells, of all codes."""

FRAMES_MAX = 400_000
"""Frames of all stacks that an answer tells."""

SOURCES_BYTES_MAX = 4 << 20
"""Of the sources that an answer tells."""

_Line = tuple[bytes, bytes, int]
"""Actor, hash of its code, line."""


class RangeCosting:
    """Adds up what the next blocks after a state cost."""

    __slots__ = (
        "_counted", "_cut", "_cut_lines", "_cycles", "_first", "_frames", "_headers",
        "_last", "_lines", "_only", "_overlay", "_room", "_sources", "_stacks",
        "_state", "_total", "_uncounted", "_watcher", "_writes",
    )  # fmt: skip

    def __init__(
        self, state: State, first: int, last: int, only: Address | None = None
    ) -> None:
        """Begin at a state, of which nothing changes.

        Args:
            state: that of the parent of the first block that will be executed.
            first: the first height that was asked for.
            last: the last one.
            only: the actor whose lines are told; all if None.
        """
        self._watcher = CountingWatcher()
        self._overlay = Journal(state.snapshot)
        caches = Caches(code=state.caches.code)
        self._state = self._watcher.watching(
            open_state(state.params, state.head, self._overlay, caches)
        )
        self._first, self._last, self._only = Height(first), Height(last), only
        self._headers = self._cycles = self._counted = self._writes = self._frames = 0
        self._lines: dict[_Line, CostSum] = {}
        self._sources: dict[bytes, str] = {}
        self._room = SOURCES_BYTES_MAX
        self._stacks: dict[ExecutionStack, CostSum] = {}
        self._total, self._uncounted = CostSum(), CostSum()
        self._cut = self._cut_lines = NO_COST

    @property
    def height(self) -> Height:
        """How far it came."""
        return Height(min(self._last, max(self._state.head.height, self._first - 1)))

    @property
    def total(self) -> CostSum:
        """Of all receipts so far."""
        return self._total

    @property
    def is_complete(self) -> bool:
        """Whether it came to where it was to go."""
        return self._state.head.height >= self._last

    @property
    def is_over(self) -> bool:
        """Whether no more is executed."""
        return (
            self.is_complete
            or self._headers >= HEADERS_MAX
            or self._cycles >= CYCLES_MAX
            or self._counted >= COUNTED_CYCLES_MAX
            or self._writes >= WRITES_MAX
        )

    def take(self, block: Block, receipts: Sequence[Receipt]) -> Iterator[None]:
        """Execute the next block, of which these are the receipts, part by part.

        Raises:
            InvalidBlock: it is not the next block.
        """
        result = None
        for part in _parts(receipts):
            result = self._count(block, part)
            yield
        assert result is not None, "a block has one part at least"
        self._overlay.lay_over(result.writes)
        self._state = next_state(self._state, result, self._overlay)
        self._headers += 1
        self._writes += len(result.writes.changes)
        for receipt in result.receipts:
            used = receipt.cycles_used, receipt.cells_used
            self._total.add(*used)
            if receipt.cycles_used > EXECUTION_CYCLES_MAX:
                self._uncounted.add(*used)

    @without_memory_errors
    def _count(self, block: Block, part: Container[int]) -> BlockResult:
        """Execute a block, and count those of its receipts that have these indexes."""
        self._watcher.begin_block(part)
        result = apply_block(self._state, block)
        self._cycles += result.header.cycles_used
        counted = [one for one in result.receipts if one.index in part]
        profile = self._watcher.profile(block.header.height, counted)
        for each in profile.executions:
            self._counted += each.receipt.cycles_used
            self._add(each, profile.codes)
        return result

    def _add(self, each: Profiled, sources: Mapping[bytes, str]) -> None:
        """Add one execution to its lines and its stacks."""
        lines: dict[_Line, Cost] = {}
        for stack, cost in each.costs.items():
            place = running_line(stack)
            if place is not None and self._is_wanted([place]):
                key = place.actor, place.code_hash, place.line
                lines[key] = lines.get(key, NO_COST).plus(*cost)
            if any(cost) and self._is_wanted(stack):
                self._add_stack(each.receipt, stack, cost)
        for key, cost in lines.items():
            known = self._lines.get(key)
            if known is None and len(self._lines) < LINES_MAX:
                known = self._lines[key] = CostSum()
                self._keep_source(key[1], sources[key[1]])
            if known is None:
                self._cut_lines = self._cut_lines.plus(*cost)
            else:
                known.add(*cost)

    def _keep_source(self, code_hash: bytes, source: str) -> None:
        if code_hash not in self._sources:
            self._room -= len(source)
            self._sources[code_hash] = source if self._room >= 0 else ""

    def _add_stack(self, receipt: Receipt, stack: Stack, cost: Cost) -> None:
        where = ExecutionStack(receipt.kind, receipt.actor, receipt.handler, stack)
        known = self._stacks.get(where)
        if known is None and self._frames < FRAMES_MAX:
            self._frames += 1 + len(stack)
            known = self._stacks[where] = CostSum()
        if known is None:
            self._cut = self._cut.plus(*cost)
        else:
            known.add(*cost)

    def _is_wanted(self, stack: Iterable[Place]) -> bool:
        return self._only is None or any(place.actor == self._only for place in stack)

    def costs(self) -> RangeCosts:
        """What was found so far."""
        stacks = sorted(self._stacks.items(), key=lambda item: -item[1].cycles)
        actors = sorted(self._actors(), key=lambda one: -one.cycles)
        return RangeCosts(
            first_height=self._first,
            last_height=self.height,
            is_complete=self.is_complete,
            headers=self._headers,
            total=self._total,
            actors=tuple(actors),
            stacks=tuple(stacks),
            uncounted=self._uncounted,
            cut=self._cut,
            cut_lines=self._cut_lines,
        )

    def _actors(self) -> Iterator[ActorCosts]:
        by_code: dict[tuple[bytes, bytes], dict[int, CostSum]] = {}
        for (actor, code_hash, line), cost in sorted(
            self._lines.items(), key=lambda item: item[0][2]
        ):
            by_code.setdefault((actor, code_hash), {})[line] = cost
        for (actor, code_hash), lines in by_code.items():
            source = self._sources[code_hash]
            yield ActorCosts(Address(actor), Hash32(code_hash), source, lines)


def _parts(receipts: Iterable[Receipt]) -> Iterator[frozenset[int]]:
    """Indexes of executions that are counted at a time; one part may be empty."""
    part: list[int] = []
    cycles = 0
    for receipt in receipts:
        if receipt.cycles_used > EXECUTION_CYCLES_MAX:
            continue
        if part and cycles + receipt.cycles_used > PART_CYCLES_MAX:
            yield frozenset(part)
            part, cycles = [], 0
        part.append(receipt.index)
        cycles += receipt.cycles_used
    yield frozenset(part)
