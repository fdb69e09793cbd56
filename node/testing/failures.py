"""What a test sees when the chain says no; each shows where and why."""

from node.chain.block import Receipt
from node.chain.errors import InvalidTransaction


class TransactionFailed(Exception):  # noqa: N818 - reads as what happened
    """A transaction was included and failed; `receipt` says how."""

    def __init__(self, receipt: Receipt, source: str | None) -> None:
        assert receipt.failure is not None
        self.receipt = receipt
        self.failure = receipt.failure
        super().__init__(_explain(receipt, source))


class TransactionRefused(Exception):  # noqa: N818 - reads as what happened
    """A transaction could not be included: nothing was charged."""

    def __init__(self, error: InvalidTransaction) -> None:
        self.fault = error.fault
        self.numbers = error.numbers
        super().__init__(f"{error.fault.value}: {error}")


class DevnetClosed(RuntimeError):  # noqa: N818 - names what is refused
    """The chain was closed; make a new one."""


class SnapshotGone(RuntimeError):  # noqa: N818 - names what is refused
    """The chain went back to before a snapshot was taken: the snapshot is void."""


def _explain(receipt: Receipt, source: str | None) -> str:
    failure = receipt.failure
    assert failure is not None
    lines = [f"{failure.kind}: {failure.message}" if failure.message else failure.kind]
    if failure.line is not None:
        lines.append(f'  File "<actor>", line {failure.line}, in {failure.handler}')
        rows = source.splitlines() if source is not None else []
        if failure.line <= len(rows):
            lines.append(f"    {rows[failure.line - 1].strip()}")
    elif failure.handler:
        lines.append(f"  in {failure.handler}")
    if len(failure.stack) > 1:
        calls = " > ".join(f"{frame.function}:{frame.line}" for frame in failure.stack)
        lines.append(f"  calls: {calls}")
    if failure.hint:
        lines.append(f"  hint: {failure.hint}")
    lines.append(f"  {receipt.cycles_used} cycles, {receipt.cells_used} cells used")
    return "\n".join(lines)


class ReadFailed(Exception):  # noqa: N818 - reads as what happened
    """A read-only call failed."""
