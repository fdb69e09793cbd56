"""What a caller sees when the chain says no; each shows where and why.

The same for a chain in the process and for one behind a connection, so that tests of
actors need not know which they have. Imports neither.
"""

from node.chain.block import Receipt
from node.chain.bundle_errors import BundleFault, BundleRefused
from node.chain.errors import InvalidTransaction

__all__ = [
    "BundleFault",
    "BundleRefused",
    "ChainClosed",
    "InvalidArgument",
    "ReadFailed",
    "TransactionFailed",
    "TransactionRefused",
]


class InvalidArgument(ValueError, TypeError):  # noqa: N818 - names what is refused
    """An argument that no call can take; nothing was sent, nothing happened."""

    def __init__(self, argument: str, wanted: str, given: object) -> None:
        shown = repr(given)
        if len(shown) > _SHOWN_MAX:
            shown = f"{shown[:_SHOWN_MAX]}…"
        super().__init__(f"{argument}: {wanted}, not {shown}")
        self.argument = argument


_SHOWN_MAX = 80


class ChainClosed(RuntimeError):  # noqa: N818 - names what is refused
    """The chain, or the connection to it, was closed; make a new one."""


class TransactionRefused(Exception):  # noqa: N818 - reads as what happened
    """A transaction could not be included: nothing was charged."""

    def __init__(self, error: InvalidTransaction) -> None:
        self.fault = error.fault
        self.numbers = error.numbers
        super().__init__(f"{error.fault.value}: {error}")


class ReadFailed(Exception):  # noqa: N818 - reads as what happened
    """A read-only call failed."""


class TransactionFailed(Exception):  # noqa: N818 - reads as what happened
    """A transaction was included and failed; `receipt` says how."""

    def __init__(self, receipt: Receipt, source: str | None) -> None:
        assert receipt.failure is not None
        self.receipt = receipt
        self.failure = receipt.failure
        super().__init__(_explain(receipt, source))


def _explain(receipt: Receipt, source: str | None) -> str:
    """The actor's own traceback, as Python shows one, with what it cost."""
    failure = receipt.failure
    assert failure is not None
    rows = source.splitlines() if source is not None else []
    lines = [f"{failure.kind}: {failure.message}" if failure.message else failure.kind]
    places = [(frame.function, frame.line) for frame in failure.stack]
    if failure.line is not None and (not places or places[-1][1] != failure.line):
        places.append((failure.handler, failure.line))
    if not places and failure.handler:
        lines.append(f"  in {failure.handler}")
    for function, line in places:
        lines.append(f'  File "<actor>", line {line}, in {function}')
        if 1 <= line <= len(rows):
            lines.append(f"    {rows[line - 1].strip()}")
    if failure.hint:
        lines.append(f"  hint: {failure.hint}")
    lines.append(
        f"  {receipt.cycles_used} of {receipt.cycles_limit} cycles, "
        f"{receipt.cells_used} of {receipt.cells_limit} cells used"
    )
    return "\n".join(lines)
