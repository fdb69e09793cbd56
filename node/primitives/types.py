"""Names for the bytes and numbers of the chain, so that types tell them apart.

Rules: amounts, prices and heights are integers; nothing is ever a float.
"""

from typing import NewType

from pvm.types import Address, Cells, Cycles

__all__ = [
    "NOTHING",
    "PPM",
    "ZERO_HASH",
    "Address",
    "Amount",
    "Cells",
    "Cycles",
    "Hash32",
    "Height",
    "TimerId",
]

Hash32 = NewType("Hash32", bytes)
"""32 bytes: a digest."""

Height = NewType("Height", int)
"""Position of a block, from 0 (genesis); eight bytes in keys and hashes."""

Amount = NewType("Amount", int)
"""Base units of CBY, 10⁹ to the coin (D4); u128 on the wire."""

TimerId = NewType("TimerId", bytes)
"""32 bytes: keccak256(actor ‖ height ‖ payload ‖ nonce) (D19)."""

NOTHING = Amount(0)
"""No base units."""

ZERO_HASH = Hash32(bytes(32))
"""32 zero bytes: "no parent transaction" (CIP-5 §5.2)."""
PPM = 1_000_000
"""Parts per million: a ratio of 1, a weight of 1."""
