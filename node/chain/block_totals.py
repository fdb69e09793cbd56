"""BlockTotals: what some blocks used, burned and decided, in few numbers.

Values alone: `node.totals` makes them of blocks and keeps them.
"""

from collections.abc import Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import astuple

from node.primitives import codec
from node.primitives.types import Amount

__all__ = ["BlockTotals", "FeeRange", "decode_totals", "join"]


class FeeRange(Struct, frozen=True, gc=False):
    """A basefee over some headers, in base units for one cycle or cell."""

    first: Amount
    """At the first height that the first header stands for."""
    least: Amount
    greatest: Amount
    last: Amount
    """At the height of the last header."""


class BlockTotals(Struct, frozen=True, gc=False):
    """What some headers that follow one another have together, at least one."""

    headers: int
    heights: int
    """That they stand for: more than headers where runs are among them (D36)."""
    busy: int
    """Headers of blocks in which more happened than time."""
    transactions: int
    fires: int
    messages: int
    """Deferred messages that were delivered (D14)."""
    failed: int
    """Executions of any kind that failed."""
    scheduled: int
    """Timers that were accepted."""
    put_offs: int
    expired: int
    removed: int
    """Timers removed since nobody could pay for them."""
    cancelled: int
    transaction_cycles: int
    timer_cycles: int
    message_cycles: int
    agent_cycles: int
    """Of Gas Bidding Agents (D34)."""
    cells: int
    burned: int
    """Base units, of cycles, cells and the lane."""
    tipped: int
    """Base units that the proposer got."""
    transaction_cycles_max: int
    """In one block; as are the others."""
    timer_cycles_max: int
    message_cycles_max: int
    agent_cycles_max: int
    cells_max: int
    basefee_cycle: FeeRange
    basefee_cell: FeeRange
    basefee_lane: FeeRange

    def encode(self) -> bytes:
        """What history keeps: all numbers in order."""
        *numbers, cycle, cell, lane = astuple(self)
        return codec.encode([*numbers, *astuple(cycle), *astuple(cell), *astuple(lane)])


_FIELDS = BlockTotals.__struct_fields__
_FEES = _FIELDS.index("basefee_cycle")
_FEE_NUMBERS = len(FeeRange.__struct_fields__)
_MAXIMA = _FIELDS.index("transaction_cycles_max")


def decode_totals(data: bytes) -> BlockTotals:
    """The totals that `encode` wrote; trusts the bytes."""
    values = cast("list[Amount]", codec.decode(data))
    fees = [
        FeeRange(*values[first : first + _FEE_NUMBERS])
        for first in range(_FEES, len(values), _FEE_NUMBERS)
    ]
    return BlockTotals(*values[:_FEES], *fees)  # type: ignore[arg-type]


def join(parts: Sequence[BlockTotals]) -> BlockTotals:
    """Totals of headers that follow one another, of which there are some, as one."""
    if len(parts) == 1:
        return parts[0]
    columns = list(zip(*map(astuple, parts), strict=True))
    sums, maxima = map(sum, columns[:_MAXIMA]), map(max, columns[_MAXIMA:_FEES])
    fees = [_join_fees(column) for column in columns[_FEES:]]
    return BlockTotals(*sums, *maxima, *fees)  # type: ignore[arg-type]


def _join_fees(fees: Sequence[FeeRange]) -> FeeRange:
    least = min([fee.least for fee in fees])
    greatest = max([fee.greatest for fee in fees])
    return FeeRange(fees[0].first, least, greatest, fees[-1].last)
