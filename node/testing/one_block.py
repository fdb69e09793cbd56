"""DevnetBlock: the result of a block, and a context that makes the next one."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from msgspec import Struct
from msgspec.structs import force_setattr
from typing_extensions import override

from node.chain.transaction import Instruction
from node.chain.transition import BlockResult
from node.client._sync.receipt import SentReceipt
from node.client.exceptions import InvalidArgument
from node.primitives.types import Hash32

__all__ = ["DevnetBlock", "SentHere", "block_of"]

_Opened = AbstractContextManager[list[BlockResult]]
_FIELDS = BlockResult.__struct_fields__


class SentHere(Struct):
    """A transaction that waits for a block, and what is to become of it."""

    receipt: SentReceipt
    instruction: Instruction
    id: Hash32
    is_failure_expected: bool


class DevnetBlock(BlockResult, frozen=True, eq=False):
    """The result of a block; of the latest one a context that makes the next.

    All that is sent inside is in that one block, in this order. Receipts can be read
    when it has ended, and the context has the result of the new block then. If it ends
    by an exception, no block is made, and what was sent waits as after `submit`.
    """

    opener: Callable[[], _Opened] | None = None
    """What makes a block of what is sent inside; None for a block of a height."""
    opened: _Opened | None = None
    made: list[BlockResult] | None = None

    @property
    def plain(self) -> BlockResult:
        """The result alone."""
        return BlockResult(**{name: getattr(self, name) for name in _FIELDS})

    @override
    def __eq__(self, other: object) -> bool:
        if isinstance(other, DevnetBlock):
            other = other.plain
        return self.plain == other

    @override
    def __hash__(self) -> int:
        return hash(self.header)

    def __enter__(self) -> Self:
        """Keep what is sent for one block.

        Raises:
            InvalidArgument: it is the block of a height.
            BlockOpen: another one is open.
        """
        if self.opener is None:
            wanted = "none is wanted for a block that is to be made"
            raise InvalidArgument("height", wanted, self.header.height)
        opened = self.opener()
        force_setattr(self, "made", opened.__enter__())
        force_setattr(self, "opened", opened)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Make the block, and have its result.

        Raises:
            TransactionFailed: a transaction of it failed, without `expect_failure`.
            TransactionRefused: one cannot be included.
        """
        assert self.opened is not None, "it was entered"
        try:
            self.opened.__exit__(kind, error, trace)
        finally:
            for made in self.made or ():
                for name in _FIELDS:
                    force_setattr(self, name, getattr(made, name))


def block_of(result: BlockResult, opener: Callable[[], _Opened] | None) -> DevnetBlock:
    """What a chain shows of one of its results."""
    fields = {name: getattr(result, name) for name in _FIELDS}
    return DevnetBlock(**fields, opener=opener)
