"""The past of a `Devnet`: totals of its blocks, and the way back through them."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from msgspec import Struct

from node.chain.block import Block, Header
from node.chain.block_totals import BlockTotals, join
from node.chain.transition import BlockResult
from node.primitives.types import Height
from node.query.heights import HeightBuckets
from node.query.trace.storage_history import UndoneBlock
from node.totals import totals_of

__all__ = ["ResultsPast", "UndoneResults"]


def _height_of(result: BlockResult) -> Height:
    return result.header.height


class ResultsPast(Struct, frozen=True):
    """What the blocks of a chain in this process come to."""

    results: Sequence[BlockResult]

    def totals(self, buckets: HeightBuckets) -> Mapping[int, BlockTotals]:
        """Of buckets in which headers stand, by the place of the bucket."""
        first = bisect_left(self.results, buckets.first_height, key=_height_of)
        stop = bisect_right(self.results, buckets.last_height, key=_height_of)
        parts: dict[int, list[BlockTotals]] = {}
        for result in self.results[first:stop]:
            place = result.header.height // buckets.width - buckets.first
            parts.setdefault(place, []).append(totals_of(result))
        return {place: join(found) for place, found in parts.items()}

    def counted_from(self) -> Height:
        """Genesis."""
        return Height(0)


class UndoneResults(Struct, frozen=True):
    """The blocks of a chain in this process, and what takes each of them back."""

    results: Sequence[BlockResult]

    def _at(self, height: int) -> BlockResult:
        return self.results[bisect_left(self.results, height, key=_height_of)]

    def undone(self, height: int) -> UndoneBlock | None:
        """The header at a height."""
        result = self._at(height)
        previous = height - result.header.span
        return UndoneBlock(height, previous, result.undo.changes)

    def block(self, height: int) -> Block:
        """The block of a header that was found."""
        return self._at(height).block

    def header(self, height: int) -> Header:
        """A header that was found, or the one before it."""
        return self._at(height).header
