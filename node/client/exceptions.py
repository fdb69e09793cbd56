"""What a caller sees when the chain says no; each shows where and why.

The same for a chain in the process and for one behind a connection, so that tests of
actors need not know which they have. What only a connection raises is here, too: the
node's refusals (`NodeError`), and a node that does not answer.
"""

from collections.abc import Mapping, Sequence

from node.chain.block import Receipt, ReceiptKind
from node.chain.bundle_errors import BundleFault, BundleRefused
from node.chain.errors import ADVICE, InvalidTransaction
from node.client.sources import Sources
from node.primitives.hex_repr import foreign
from node.primitives.types import Address
from pvm import Failure, Frame

__all__ = [
    "BlockOpen",
    "BundleFault",
    "BundleRefused",
    "ChainClosed",
    "FireFailed",
    "InvalidArgument",
    "NodeError",
    "NodeUnreachable",
    "OutcomeUnknown",
    "ReadFailed",
    "TransactionDropped",
    "TransactionFailed",
    "TransactionRefused",
    "UnknownId",
    "unknown_actor",
    "unknown_height",
    "unknown_timer",
    "unknown_transaction",
]


class InvalidArgument(ValueError, TypeError):  # noqa: N818 - names what is refused
    """An argument has a wrong type or is out of range; nothing was sent."""

    def __init__(self, argument: str, wanted: str, given: object) -> None:
        is_id = isinstance(given, bytes) and len(given) >= _ID_BYTES
        shown = f"0x{given.hex()}" if is_id else repr(given)  # type: ignore[attr-defined]
        if len(shown) > _SHOWN_MAX:
            shown = f"{shown[:_SHOWN_MAX]}…"
        super().__init__(f"{argument}: {wanted}, not {shown}")
        self.argument = argument


_SHOWN_MAX = 80
_ID_BYTES = 20
"""Bytes of an address or an id, which everything else shows in hex."""


class UnknownId(InvalidArgument, LookupError):  # noqa: N818 - names what is refused
    """The chain has nothing under this id, address or height."""


def unknown_actor(argument: str, given: object) -> UnknownId:
    """No actor lives at an address."""
    wanted = "the address of an actor is wanted: a deployment's receipt names it"
    return UnknownId(argument, wanted, given)


def unknown_timer(argument: str, given: object) -> UnknownId:
    """No timer ever had an id, or it is forgotten."""
    wanted = (
        "the id of a timer of this chain is wanted: timers() shows those that are "
        "pending, a receipt's `scheduled` those that it made"
    )
    return UnknownId(argument, wanted, given)


def unknown_transaction(argument: str, given: object) -> UnknownId:
    """The chain knows no transaction under an id."""
    wanted = (
        "the id of a transaction that was sent to this chain is wanted: submit() "
        "answers it, a node forgets those dropped long ago"
    )
    return UnknownId(argument, wanted, given)


def unknown_execution(
    argument: str, given: object, oldest_height: str = ""
) -> UnknownId:
    """Nothing was executed under an id in the blocks that are kept."""
    wanted = (
        "the id of a transaction that is in a block, of a timer that fired, or of a "
        "message that was delivered is wanted"
    )
    if oldest_height:
        wanted += f" (blocks before {oldest_height} are forgotten)"
    return UnknownId(argument, wanted, given)


def unknown_height(argument: str, given: int, head: int) -> UnknownId:
    """The chain is not there yet."""
    return UnknownId(argument, f"0 to {head} exist", given)


class ChainClosed(RuntimeError):  # noqa: N818 - names what is refused
    """The chain, or the connection to it, was closed; make a new one."""


class BlockOpen(RuntimeError):  # noqa: N818 - names what is refused
    """What was asked waits for the block of `with chain.block():` to be made."""


class TransactionRefused(Exception):  # noqa: N818 - reads as what happened
    """A transaction cannot be included; nothing was charged.

    `fault` and `numbers` say why.
    """

    def __init__(self, error: InvalidTransaction) -> None:
        self.fault = error.fault
        self.numbers = error.numbers
        text, advice = f"{error}", ADVICE[error.fault]
        if not text.endswith(advice):  # a node has said it already
            text = f"{text}: {advice}"
        super().__init__(f"{error.fault.value}: {text}")


Question = tuple[Address, str, bytes, Address]
"""Actor, handler, payload and caller of a read-only call."""


class ReadFailed(Exception):  # noqa: N818 - reads as what happened
    """A handler failed in a read-only call; `failure` says how."""

    def __init__(
        self, failure: Failure, sources: Sources, asked: Question | None = None
    ) -> None:
        self.failure = failure
        self.asked = asked
        """Actor, handler, payload and caller, to ask again: `trace_read(*asked)`."""
        super().__init__("\n".join(_trace(failure, sources)))


class TransactionFailed(Exception):  # noqa: N818 - reads as what happened
    """A transaction is in a block and failed; `receipt` says how and what it cost."""

    def __init__(self, receipt: Receipt, sources: Sources) -> None:
        assert receipt.failure is not None
        self.receipt = receipt
        self.failure = receipt.failure
        super().__init__(_explain(receipt, sources))


class FireFailed(Exception):  # noqa: N818 - reads as what happened
    """A timer fired and its handler failed while time passed; time did pass.

    `receipt` and `failure` are those of the first such fire, `height` is that of its
    block, and `count` says how many fires failed.
    """

    def __init__(
        self, receipt: Receipt, height: int, count: int, sources: Sources
    ) -> None:
        assert receipt.failure is not None
        self.receipt = receipt
        self.failure = receipt.failure
        self.height = height
        self.count = count
        others = f"; {count - 1} more fires failed after it" if count > 1 else ""
        super().__init__(
            f"{_explain(receipt, sources)}\n"
            f"  the timer 0x{receipt.id.hex()} fired at height {height} and failed"
            f"{others}\n"
            "  hint: expect_failure=True where it should, strict=False where it may"
        )


class NodeError(Exception):
    """The node refuses a call."""

    def __init__(
        self, reason: str, message: str, metadata: Mapping[str, str], code: str
    ) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        """Stable name, as `NONCE_USED`; of what gRPC refuses itself, the status."""
        self.message = message
        """What happened, why, and what to do."""
        self.metadata = dict(metadata)
        """The numbers compared, as decimal strings."""
        self.code = code
        """Name of the gRPC status, as `FAILED_PRECONDITION`."""


class NodeUnreachable(Exception):  # noqa: N818 - a condition, not a defect
    """No node answers at the address."""

    def __init__(self, url: str, detail: str) -> None:
        super().__init__(
            f"no node answers at {url} ({detail}): start one with `cowboy-devnet "
            "start`, or give another address"
        )
        self.url = url


class TransactionDropped(Exception):  # noqa: N818
    """A transaction was admitted, but left the pool without a block."""

    def __init__(
        self, transaction_id: bytes, reason: str, message: str, metadata: dict[str, str]
    ) -> None:
        super().__init__(f"{reason}: {message}")
        self.transaction_id = transaction_id
        self.reason = reason
        """Stable name; `REVERTED` when the chain was rewound."""
        self.message = message
        self.metadata = metadata


class OutcomeUnknown(Exception):  # noqa: N818
    """A transaction was sent, but the node did not say what became of it.

    It may be in a block already, or come into one. `wait_for(transaction_id)` tells.
    """

    def __init__(self, transaction_id: bytes, cause: Exception) -> None:
        super().__init__(
            f"transaction 0x{transaction_id.hex()} was sent, but what became of it is "
            f"not known: ask again by this id ({cause})"
        )
        self.transaction_id = transaction_id


def failed_fire(receipts: Sequence[Receipt]) -> Receipt | None:
    """The first fire that failed."""
    for receipt in receipts:
        if receipt.kind is ReceiptKind.FIRE and not receipt.is_success:
            return receipt
    return None


def check_fires(failed: int, *, is_strict: bool, expect_failure: bool) -> bool:
    """Whether failed fires are to be raised, by what the caller of `advance` wants.

    Raises:
        AssertionError: a failure was expected, and no fire failed.
    """
    assert failed or not expect_failure, "the failure of a fire was expected"
    return failed > 0 and is_strict and not expect_failure


def _explain(receipt: Receipt, sources: Sources) -> str:
    """Where in the actors' sources it failed, with what it cost."""
    assert receipt.failure is not None
    lines = _trace(receipt.failure, sources)
    lines.append(
        f"  {receipt.cycles_used} of {receipt.cycles_limit} cycles, "
        f"{receipt.cells_used} of {receipt.cells_limit} cells used"
    )
    return "\n".join(lines)


def _trace(failure: Failure, sources: Sources) -> list[str]:
    """What failed, and the frames it went through, the deepest first.

    Each is in the form of Python's tracebacks, of which editors make links. What the
    actor says moves no terminal.
    """
    lines = [f"{failure.kind}: {failure.message}" if failure.message else failure.kind]
    own = [frame for frame in failure.stack if not frame.actor]
    callees = [frame for frame in failure.stack if frame.actor]
    if failure.line is not None and (not own or own[-1].line != failure.line):
        own.append(Frame(failure.handler, failure.line))
    if not own and failure.handler:
        lines.append(f"  in {failure.handler}")
    for frame in reversed((*own, *callees)):
        file = sources.place(frame.actor)
        line = f", line {frame.line}" if frame.line else ""
        lines.append(f'  File "{file}"{line}, in {frame.function or "<module>"}')
        row = sources.line(frame.actor, frame.line)
        if row:
            lines.append(f"    {row}")
    hint = failure.hint or _syntax_hint(failure, sources)
    if hint:
        lines.append(f"  hint: {hint}")
    return [foreign(line, is_multiline=True) for line in lines]


def _syntax_hint(failure: Failure, sources: Sources) -> str:
    """Why the source that failed does not parse; empty if it failed otherwise."""
    own = sources.known.get(b"")
    if failure.kind != "CompileError" or own is None:
        return ""
    from pvm import syntax_hint  # noqa: PLC0415 - half of pvm

    return syntax_hint(own.text.encode())
