"""KeptOutputs: what actors printed in recent blocks, in memory and bounded (D59).

It is in no state and on no disk: a node that starts again has none of it, and a trace
of the execution has it anew.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from node.primitives.types import Hash32, Height
from node.runtime.recent_states import HEIGHTS_KEPT
from pvm.output import Printout

__all__ = ["OUTPUT_BYTES_MAX", "KeptOutputs"]

OUTPUT_BYTES_MAX: Final = 16 << 20
"""Of all blocks together, about; the oldest go first."""

_PART_BYTES = 200
"""What a piece of output takes beside its text."""

_NONE: Final[Mapping[int, Printout]] = MappingProxyType({})


class _Kept(Struct, frozen=True):
    height: Height
    outputs: Mapping[int, Printout]
    bytes_: int


class KeptOutputs:
    """What executions printed, by the hash of their block."""

    __slots__ = ("_bytes", "_kept")

    def __init__(self) -> None:
        self._kept: dict[Hash32, _Kept] = {}
        self._bytes = 0

    def note(
        self, height: Height, block_hash: Hash32, outputs: Mapping[int, Printout]
    ) -> None:
        """A block became visible; what is too old for it is forgotten."""
        if outputs:
            kept = _Kept(height, outputs, sum(map(_size, outputs.values())))
            self._kept[block_hash] = kept
            self._bytes += kept.bytes_
        for old in tuple(self._kept):
            is_old = self._kept[old].height <= height - HEIGHTS_KEPT
            if not (is_old or self._bytes > OUTPUT_BYTES_MAX):
                break
            self._forget(old)

    def forget_above(self, height: int) -> None:
        """The chain was rewound: it goes on after this height."""
        for block_hash in tuple(self._kept):
            if self._kept[block_hash].height > height:
                self._forget(block_hash)

    def of(self, block_hash: bytes) -> Mapping[int, Printout]:
        """By index of the receipt; empty where nothing was printed, or is kept."""
        kept = self._kept.get(Hash32(block_hash))
        return _NONE if kept is None else kept.outputs

    def _forget(self, block_hash: Hash32) -> None:
        self._bytes -= self._kept.pop(block_hash).bytes_


def _size(output: Printout) -> int:
    return sum(_PART_BYTES + len(one.text.encode()) for one in output.printed)
