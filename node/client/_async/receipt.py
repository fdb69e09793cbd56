"""AsyncSentReceipt: a receipt that knows its chain, to ask what the execution did."""

from typing import TYPE_CHECKING, Never

from msgspec.structs import force_setattr
from typing_extensions import override

from node.chain.block import Receipt
from node.client.exceptions import BlockOpen
from node.client.handlers import returns_of
from node.primitives import codec
from node.primitives.returned import decode_returned
from node.query.trace.records import Changes, ExecutionTrace
from pvm.output import Printed

if TYPE_CHECKING:
    from node.client._async.actor import AsyncChain

__all__ = [
    "AsyncSentReceipt",
    "call_receipt",
    "complete_receipt",
    "pending_receipt",
    "sent_receipt",
]

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

    def __getattr__(self, name: str) -> Never:
        """Refuse to read what is not there yet: the block is open.

        Raises:
            BlockOpen: the field is told when the `with` of its block has ended.
        """
        if name in _FIELDS:
            raise BlockOpen(f"{name}: the block of this receipt is made after the with")
        raise AttributeError(f"a receipt has no {name!r}", name=name)

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
        try:
            return repr(self.plain)
        except BlockOpen:
            return "<receipt of a block that is not made yet>"


def sent_receipt(receipt: Receipt, chain: "AsyncChain") -> AsyncSentReceipt:
    """The receipt of a transaction that a chain made."""
    fields = {name: getattr(receipt, name) for name in _FIELDS}
    return AsyncSentReceipt(**fields, chain=chain)


def call_receipt(receipt: AsyncSentReceipt, source: str) -> AsyncSentReceipt:
    """The receipt of a call of an actor with this source."""
    force_setattr(receipt, "source", source)
    return receipt


def pending_receipt(chain: "AsyncChain") -> AsyncSentReceipt:
    """A receipt of a block that is not made yet: it has no field."""
    receipt = AsyncSentReceipt(**dict.fromkeys(_FIELDS), chain=chain)  # type: ignore[arg-type]
    for name in _FIELDS:
        vars(Receipt)[name].__delete__(receipt)
    return receipt


def complete_receipt(receipt: AsyncSentReceipt, made: Receipt) -> None:
    """Give a pending receipt what the block has of it."""
    for name in _FIELDS:
        force_setattr(receipt, name, getattr(made, name))
