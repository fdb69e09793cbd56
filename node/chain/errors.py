"""What the chain refuses, typed, with the numbers that were compared.

Only the shell turns these into status codes. A failed execution is none of them:
it is an ordinary receipt.
"""

from collections.abc import Mapping
from enum import Enum


class TransactionFault(Enum):
    """Why a transaction is refused; the value is the stable name for programs."""

    MALFORMED = "MALFORMED_TRANSACTION"
    TOO_LARGE = "TRANSACTION_TOO_LARGE"
    BAD_SIGNATURE = "BAD_SIGNATURE"
    WRONG_CHAIN = "WRONG_CHAIN"
    NOT_DEV = "DEV_INSTRUCTION_REFUSED"
    NONCE_USED = "NONCE_USED"
    NONCE_TOO_FAR = "NONCE_TOO_FAR"
    NONCE_GAP = "NONCE_GAP"
    LIMIT_BELOW_INTRINSIC = "LIMIT_BELOW_INTRINSIC_COST"
    LIMIT_ABOVE_BLOCK = "LIMIT_ABOVE_BLOCK_LIMIT"
    INSUFFICIENT_BALANCE = "INSUFFICIENT_BALANCE"
    MAX_FEE_BELOW_BASEFEE = "MAX_FEE_BELOW_BASEFEE"
    BLOCK_FULL = "BLOCK_FULL"
    ALREADY_KNOWN = "ALREADY_KNOWN"
    REPLACEMENT_UNDERPRICED = "REPLACEMENT_UNDERPRICED"
    REPLACED = "REPLACED"
    POOL_FULL = "POOL_FULL"


class InvalidTransaction(Exception):  # noqa: N818 - names what is refused
    """A transaction is refused: nothing is charged, nothing changes (D5)."""

    def __init__(
        self,
        fault: TransactionFault,
        message: str,
        numbers: Mapping[str, int | str] | None = None,
    ) -> None:
        super().__init__(message)
        self.fault = fault
        self.numbers = dict(numbers or {})

    @property
    def may_wait(self) -> bool:
        """Whether a later block may still take it: it stays in the pool."""
        return self.fault in (
            TransactionFault.MAX_FEE_BELOW_BASEFEE,
            TransactionFault.BLOCK_FULL,
            TransactionFault.NONCE_GAP,
        )


class InvalidBlock(Exception):  # noqa: N818 - names what is refused
    """A block is not the next block of this chain."""


class InvalidGenesis(Exception):  # noqa: N818 - names what is refused
    """A genesis document cannot start a chain; the message says which field."""
