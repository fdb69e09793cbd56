"""AsyncSentReceipt: a receipt that knows its chain, to ask what the execution did."""

from typing import TYPE_CHECKING

from typing_extensions import override

from node.chain.block import Receipt
from node.client.handlers import returns_of
from node.primitives import codec
from node.primitives.returned import decode_returned
from node.query.trace.records import Changes, ExecutionTrace
from pvm.output import Printed

if TYPE_CHECKING:
    from node.client._async.actor import AsyncChain

__all__ = ["AsyncSentReceipt", "sent_receipt"]

_FIELDS = Receipt.__struct_fields__


class AsyncSentReceipt(Receipt, frozen=True, eq=False):
    """The receipt of a transaction; equal to the receipt that a block has of it."""

    chain: "AsyncChain | None" = None
    """The chain that made it."""
    source: str = ""
    """Of the actor that was called as an object; else empty."""

    @property
    @override
    def result(self) -> codec.Value:
        """What the handler returned, by its annotation; None after a failure."""
        return decode_returned(self.value, returns_of(self.source, self.handler))

    @property
    def plain(self) -> Receipt:
        """The receipt alone."""
        return Receipt(**{name: getattr(self, name) for name in _FIELDS})

    @property
    async def trace(self) -> ExecutionTrace:
        """Which calls it made and what each did; print it to read it.

        It is executed again, in the state before it.

        Raises:
            UnknownId: the chain went back to before it.
            NodeError: `HISTORY_NOT_KEPT`, because the state before it is not kept.
        """
        assert self.chain is not None, "a chain makes it"
        return await self.chain.trace(self.id)

    @property
    async def changes(self) -> Changes:
        """What it changed, fees included; print it to read it. As `trace`."""
        return (await self.trace).changes

    @property
    async def printed(self) -> tuple[Printed, ...]:
        """What it printed, whatever came of it (D59). As `trace`."""
        return (await self.trace).printed

    @override
    def __eq__(self, other: object) -> bool:
        if isinstance(other, AsyncSentReceipt):
            other = other.plain
        return self.plain == other

    @override
    def __hash__(self) -> int:
        return hash(self.plain)

    @override
    def __repr__(self) -> str:
        return repr(self.plain)


def sent_receipt(
    receipt: Receipt, chain: "AsyncChain", source: str = ""
) -> AsyncSentReceipt:
    """The receipt of a transaction that a chain made, of a call of this source."""
    fields = {name: getattr(receipt, name) for name in _FIELDS}
    return AsyncSentReceipt(**fields, chain=chain, source=source)
