"""CallReceipt: a receipt that knows its actor's source, and so what was returned."""

from typing_extensions import override

from node.chain.block import Receipt
from node.client.handlers import returns_of
from node.primitives import codec
from node.primitives.returned import decode_returned

__all__ = ["CallReceipt", "call_receipt"]

_FIELDS = Receipt.__struct_fields__


class CallReceipt(Receipt, frozen=True, gc=False, eq=False):
    """The receipt of a call; equal to the receipt that the chain has of it."""

    source: str = ""
    """Of the actor."""

    @property
    def plain(self) -> Receipt:
        """The receipt alone."""
        return Receipt(**{name: getattr(self, name) for name in _FIELDS})

    @property
    @override
    def result(self) -> codec.Value:
        """What the handler returned, by its annotation; None after a failure."""
        return decode_returned(self.value, returns_of(self.source, self.handler))

    @override
    def __eq__(self, other: object) -> bool:
        if isinstance(other, CallReceipt):
            other = other.plain
        return self.plain == other

    @override
    def __hash__(self) -> int:
        return hash(self.plain)

    @override
    def __repr__(self) -> str:
        return repr(self.plain)


def call_receipt(receipt: Receipt, source: str) -> CallReceipt:
    """The receipt of a call of an actor with this source."""
    fields = {name: getattr(receipt, name) for name in _FIELDS}
    return CallReceipt(**fields, source=source)
