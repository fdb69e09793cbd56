"""AsyncClientBlock: the content of a block, and a context that makes the next one."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

from msgspec.structs import force_setattr
from typing_extensions import override

from node.client.exceptions import InvalidArgument
from node.client.inputs import Mined

__all__ = ["AsyncClientBlock"]

_Opened = AbstractAsyncContextManager[list[Mined]]
_FIELDS = Mined.__struct_fields__


class AsyncClientBlock(Mined, frozen=True, eq=False):
    """As `AsyncOneBlock` says; equal to any content of the same block."""

    opener: Callable[[], _Opened] | None = None
    """What makes a block of what is sent inside; None for a block of a height."""
    opened: _Opened | None = None
    made: list[Mined] | None = None

    @property
    def plain(self) -> Mined:
        """The content alone."""
        return Mined(*(getattr(self, name) for name in _FIELDS))

    @override
    def __eq__(self, other: object) -> bool:
        if isinstance(other, AsyncClientBlock):
            other = other.plain
        return self.plain == other

    @override
    def __hash__(self) -> int:
        return hash(self.plain)

    async def __aenter__(self) -> Self:
        """Keep what is sent for one block.

        Raises:
            InvalidArgument: it is the block of a height.
            BlockOpen: another one is open.
        """
        if self.opener is None:
            wanted = "none is wanted for a block that is to be made"
            raise InvalidArgument("height", wanted, self.header.height)
        opened = self.opener()
        force_setattr(self, "made", await opened.__aenter__())
        force_setattr(self, "opened", opened)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Make the block, and have its content."""
        assert self.opened is not None, "it was entered"
        try:
            await self.opened.__aexit__(kind, error, trace)
        finally:
            for made in self.made or ():
                for name in _FIELDS:
                    force_setattr(self, name, getattr(made, name))
