"""What a question about the chain is refused with, typed, with what was compared."""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from node.primitives.types import Height


class HistoryNotKept(Exception):  # noqa: N818 - a refusal, named like the others
    """A block, or the state after one, is asked for that is not kept."""

    def __init__(
        self, height: int, oldest_height: Height, what: str = "the state after"
    ) -> None:
        super().__init__(
            f"{what} block {height} is not kept: the oldest is {oldest_height}"
        )
        self.height = height
        self.oldest_height = oldest_height


class HeightNotReached(Exception):  # noqa: N818
    """A height above the head is asked for."""

    def __init__(self, height: int, head_height: Height) -> None:
        super().__init__(f"height {height} is not reached: the head is {head_height}")
        self.height = height
        self.head_height = head_height


class MissingKind(Enum):
    """What an id or address did not find; the value is the stable name."""

    ACTOR = "ACTOR_NOT_FOUND"
    STORAGE_KEY = "STORAGE_KEY_NOT_FOUND"
    BLOCK = "BLOCK_NOT_FOUND"
    TIMER = "TIMER_NOT_FOUND"
    EXECUTION = "EXECUTION_NOT_FOUND"


_NOUNS: Final[Mapping[MissingKind, str]] = {
    MissingKind.ACTOR: "actor",
    MissingKind.STORAGE_KEY: "entry of storage",
    MissingKind.BLOCK: "block",
    MissingKind.TIMER: "timer",
    MissingKind.EXECUTION: "execution",
}


class NotFound(Exception):  # noqa: N818
    """Nothing is there under an id, hash or address."""

    def __init__(
        self, missing: MissingKind, sought: bytes, oldest_height: int = 0
    ) -> None:
        self.missing = missing
        self.sought = sought
        self.oldest_height = oldest_height
        message = f"no {_NOUNS[missing]} is known under 0x{sought.hex()}"
        if self.is_maybe_forgotten:
            message += f", and blocks before {oldest_height} are forgotten"
        super().__init__(message)

    @property
    def is_maybe_forgotten(self) -> bool:
        """Whether there are blocks that are not kept, in which it may have been."""
        return self.oldest_height > 1


class SupplyTooLarge(Exception):  # noqa: N818
    """More accounts than a query may count."""
