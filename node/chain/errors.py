"""What the chain refuses, typed, with the numbers that were compared.

Only the shell turns these into status codes. A failed execution is none of them:
it is an ordinary receipt.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final


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


ADVICE: Final[Mapping[TransactionFault, str]] = {
    TransactionFault.MALFORMED: (
        "send a body in deterministic CBOR (Prepare makes one), then the 65 signature "
        "bytes"
    ),
    TransactionFault.TOO_LARGE: "split what you send over several transactions",
    TransactionFault.BAD_SIGNATURE: (
        "sign keccak256(body) as r, s, v with v 0 or 1 and the low s"
    ),
    TransactionFault.WRONG_CHAIN: "sign for the chain id that GetStatus answers",
    TransactionFault.NOT_DEV: (
        "sign as the sender, or use a chain whose genesis says dev"
    ),
    TransactionFault.NONCE_USED: "take GetAccount's next_nonce",
    TransactionFault.NONCE_TOO_FAR: "send the transactions with the nonces before it",
    TransactionFault.NONCE_GAP: "send the transactions with the nonces before it",
    TransactionFault.LIMIT_BELOW_INTRINSIC: (
        "raise the limit: EstimateLimits says what suffices"
    ),
    TransactionFault.LIMIT_ABOVE_BLOCK: (
        "lower the limit: GetParams says what a block takes"
    ),
    TransactionFault.INSUFFICIENT_BALANCE: (
        "fund the sender, or lower limits or max fees: limits x max fees + amount "
        "must be there, for all that waits in the pool together"
    ),
    TransactionFault.MAX_FEE_BELOW_BASEFEE: (
        "raise the max fee, or wait: GetStatus says the next basefee"
    ),
    TransactionFault.BLOCK_FULL: "wait for the next block",
    TransactionFault.ALREADY_KNOWN: "ask GetTransaction what became of it",
    TransactionFault.REPLACEMENT_UNDERPRICED: (
        "offer at least 10 % and 1 more on both tips and both max fees"
    ),
    TransactionFault.REPLACED: "ask for the transaction that took its nonce",
    TransactionFault.POOL_FULL: "offer a higher tip, or wait for the next block",
}
"""What to do, by what is wrong; in the words of the node's API."""


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


class InstructionRefused(Exception):  # noqa: N818 - a refusal, not a defect
    """An instruction cannot be carried out: the transaction fails (D6)."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class InvalidBlock(Exception):  # noqa: N818 - names what is refused
    """A block is not the next block of this chain."""


class InvalidGenesis(Exception):  # noqa: N818 - names what is refused
    """A genesis document cannot start a chain; the message says which field."""
