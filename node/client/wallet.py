"""Wallet: a key, what it signs, and how a transaction is built of a body (D5).

The one module of clients that draws random numbers: keys come from the operating
system. Development keys are those of genesis `devnet` (D42): everybody has them.
"""

import secrets
from typing import Self

from typing_extensions import override

from node.chain.transaction import Body, Instruction, signing_hash
from node.primitives.crypto import dev_private_key, public_key_address, sign
from node.primitives.types import Address, Amount

__all__ = ["Wallet", "build_body"]

_KEY_BYTES = 32


class Wallet:
    """A private key and its address; signs transactions, and never prints the key."""

    __slots__ = ("_address", "_key")

    def __init__(self, private_key: bytes) -> None:
        """Take a private key of 32 bytes.

        Raises:
            ValueError: It is no key of secp256k1.
        """
        self._address = public_key_address(private_key)
        self._key = private_key

    @classmethod
    def dev(cls, index: int) -> Self:
        """The wallet of development account `index`, from 0; everybody knows its key.

        Raises:
            ValueError: the index is negative.
        """
        if index < 0:
            raise ValueError("development accounts are numbered from 0")
        return cls(dev_private_key(index))

    @classmethod
    def random(cls) -> Self:
        """A wallet with a new key from the operating system's random numbers."""
        while True:
            try:
                return cls(secrets.token_bytes(_KEY_BYTES))
            except ValueError:  # zero, or not below the order: once in 2¹²⁸
                continue

    @classmethod
    def from_hex(cls, text: str) -> Self:
        """A key as 64 hexadecimal digits, with or without `0x`.

        Raises:
            ValueError: It is no such thing; the text is not repeated.
        """
        try:
            return cls(bytes.fromhex(text.strip().removeprefix("0x")))
        except ValueError:
            raise ValueError(
                "a private key is 64 hexadecimal digits of a number above 0 and below "
                "the order of secp256k1"
            ) from None

    @property
    def address(self) -> Address:
        """The address that it signs for, 20 bytes."""
        return self._address

    @property
    def private_key(self) -> bytes:
        """The private key, 32 bytes; keep it secret."""
        return self._key

    def sign(self, body: Body) -> bytes:
        """Sign a body: the bytes of body ‖ signature, ready to be submitted."""
        return self.sign_encoded(body.encode())

    def sign_encoded(self, body: bytes) -> bytes:
        """Sign a body that is encoded already. Check what it says before."""
        return body + sign(signing_hash(body), self._key)

    @override
    def __repr__(self) -> str:
        """The address, without the key."""
        return f"Wallet(0x{self._address.hex()})"


def build_body(
    instruction: Instruction,
    *,
    chain_id: int,
    nonce: int,
    limits: tuple[int, int],
    max_fees: tuple[int, int],
    priority_fees: tuple[int, int] = (0, 0),
) -> Body:
    """A body from its parts; each pair is for cycles, then for cells.

    Args:
        instruction: what is asked.
        chain_id: of the chain it is for.
        nonce: of the sender.
        limits: cycles and cells it may use.
        max_fees: base units a cycle and a cell, basefee and tip together.
        priority_fees: base units a cycle and a cell for the proposer.
    """
    return Body(
        chain_id,
        nonce,
        limits[0],
        limits[1],
        Amount(max_fees[0]),
        Amount(priority_fees[0]),
        Amount(max_fees[1]),
        Amount(priority_fees[1]),
        instruction,
    )
