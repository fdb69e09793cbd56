"""Totals of blocks: what they used, burned and decided, added up over heights.

History has one record of totals for each header, and one for each group of 4, 16, 64, …
heights that the chain has left behind: so that a question about a hundred thousand
blocks reads as many records as it wants numbers. A header counts where it stands: a run
of empty heights at its last one.

Rules: pure. Records are only ever added, by the block that leaves a group, and taken
back with it; no root speaks of them. Groups without a header have no record.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from node.chain.block import Header, Receipt, ReceiptKind
from node.chain.block_totals import BlockTotals, FeeRange, decode_totals, join
from node.chain.fees import idle_basefee, idle_lane_basefee
from node.chain.params import BasefeeConfig
from node.chain.timers.timer import Decision, TimerDecision
from node.chain.transition import BlockResult
from node.primitives.types import Height
from node.state import keys
from node.state.store import StoreSnapshot

__all__ = [
    "LEVEL_BITS",
    "RunningTotals",
    "load_totals",
    "totals_of",
    "totals_of_content",
]

LEVEL_BITS = 2
"""A group has 2² groups of the level below it; those of level 0 have one height."""

_NOTHING = (0,) * (len(BlockTotals.__struct_fields__) - 5)
"""What a block has in which only time passed, but for headers, heights and fees."""


def totals_of(result: BlockResult) -> BlockTotals:
    """Totals of one block, or of one run of empty heights."""
    return totals_of_content(
        result.header,
        result.basefee_config,
        (result.receipts, result.trace),
        is_busy=not result.is_empty,
    )


def totals_of_content(
    header: Header,
    config: BasefeeConfig,
    content: tuple[Iterable[Receipt], Sequence[TimerDecision]],
    *,
    is_busy: bool,
) -> BlockTotals:
    """The same of a header with the receipts and the decisions about timers.

    The configuration is that of a run; of a single block any does.
    """
    fees = _fees_of(header, config)
    if not is_busy:
        return BlockTotals(1, header.span, *_NOTHING, *fees)  # type: ignore[arg-type]
    receipts, trace = content
    counts, cycles = Counter[ReceiptKind](), Counter[ReceiptKind]()
    failed = cells = burned = tipped = 0
    for one in receipts:
        price, used = one.price, one.cycles_used
        counts[one.kind] += 1
        cycles[one.kind] += used
        failed += one.failure is not None
        cells += one.cells_used
        burned += used * (price.cycle_burn + price.lane_burn)
        burned += one.cells_used * price.cell_burn
        tipped += used * price.cycle_tip + one.cells_used * price.cell_tip
    # In a backlog nearly all are put-offs: the fewer decisions are hashed, the better.
    put_off = Decision.PUT_OFF
    others = [one.decision for one in trace if one.decision is not put_off]
    decided = Counter(others)
    messages = ReceiptKind.ENGINE_MESSAGE, ReceiptKind.MAILBOX_MESSAGE
    message_cycles = sum([cycles[kind] for kind in messages])
    used_by_lane = (
        cycles[ReceiptKind.TRANSACTION],
        cycles[ReceiptKind.FIRE],
        message_cycles,
        cycles[ReceiptKind.AGENT],
        cells,
    )
    return BlockTotals(
        1,
        header.span,
        1,
        counts[ReceiptKind.TRANSACTION],
        counts[ReceiptKind.FIRE],
        sum([counts[kind] for kind in messages]),
        failed,
        decided[Decision.SCHEDULED],
        len(trace) - len(others),
        decided[Decision.EXPIRED],
        decided[Decision.REMOVED_INSUFFICIENT_FUNDS],
        decided[Decision.CANCELLED],
        *used_by_lane,
        burned,
        tipped,
        *used_by_lane,
        *fees,
    )


def _fees_of(header: Header, config: BasefeeConfig) -> tuple[FeeRange, ...]:
    """Of the heights that a header stands for: empty ones but for the last."""
    fees = header.basefee_cycle, header.basefee_cell, header.basefee_lane
    passed = header.span - 1
    if not passed:
        return tuple([FeeRange(fee, fee, fee, fee) for fee in fees])
    cycle, cell, lane = fees
    last = (
        idle_basefee(cycle, config.target_cycles, config, passed),
        idle_basefee(cell, config.target_cells, config, passed),
        idle_lane_basefee(lane, passed),
    )
    # In empty heights a basefee only falls, or only rises.
    return tuple(
        FeeRange(one, min(one, other), max(one, other), other)
        for one, other in zip(fees, last, strict=True)
    )


# --- groups of heights ---------------------------------------------------------------


def load_totals(
    snapshot: StoreSnapshot, level: int, first: int, last: int
) -> Iterator[tuple[Height, BlockTotals]]:
    """Groups of a level that the chain has left, from `first` to `last`, ascending.

    Each with its first height; at level 0 all headers, the head's among them.
    """
    stop = keys.block_totals(level, min(last, keys.HEIGHT_LAST)) + b"\0"
    for key, data in snapshot.range(keys.block_totals(level, first), stop):
        height = int.from_bytes(key[-keys.HEIGHT_BYTES :], "big")
        yield Height(height), decode_totals(data)


class RunningTotals:
    """The groups in which the head lies, level by level: what is still to be added up.

    It belongs to whoever adds blocks, and is loaded again after a rewind.
    """

    __slots__ = ("_head", "_open")

    def __init__(self, head: int = 0) -> None:
        self._head = head
        self._open: list[list[BlockTotals]] = [[]]
        """Of the head's group at each level from 1 on, the groups below it that have
        been left; at level 1 the headers."""

    @staticmethod
    def load(snapshot: StoreSnapshot, head: int) -> "RunningTotals":
        """Those of a chain whose head is at a height."""
        running = RunningTotals(head)
        running._open = []
        level = 0
        while not level or head >> LEVEL_BITS * level:
            bits = LEVEL_BITS * (level + 1)
            first = head >> bits << bits
            found = load_totals(snapshot, level, first, head)
            running._open.append([totals for _, totals in found])
            level += 1
        return running

    def add(self, height: int, totals: BlockTotals) -> dict[bytes, bytes | None]:
        """Go on to the next header; what history is to keep of groups that are left.

        The header's own record is not among it (`history.record`).
        """
        changes = self.move_to(height)
        self._open[0].append(totals)
        return changes

    def move_to(self, height: int) -> dict[bytes, bytes | None]:
        """Leave the groups that end below a height."""
        changes: dict[bytes, bytes | None] = {}
        level, head = 1, self._head
        while head >> LEVEL_BITS * level != height >> LEVEL_BITS * level:
            if len(self._open) == level:
                self._open.append([])
            parts, self._open[level - 1] = self._open[level - 1], []
            if parts:
                totals = join(parts)
                first = head >> LEVEL_BITS * level << LEVEL_BITS * level
                changes[keys.block_totals(level, first)] = totals.encode()
                self._open[level].append(totals)
            level += 1
        self._head = height
        return changes

    def of_group(self, level: int) -> BlockTotals | None:
        """Of the head's group at a level from 1 on; None if no header is in it."""
        # What was left at a higher level came before what is open below it.
        parts = [part for below in reversed(self._open[:level]) for part in below]
        return join(parts) if parts else None
