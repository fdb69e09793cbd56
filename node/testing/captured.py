"""What actors printed, and the tree of a failed call: for the report of a test (D59).

Rule: it is read after a failure and never the cause of another one.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from node.client.exceptions import (
    FireFailed,
    ReadFailed,
    TransactionFailed,
    UnknownId,
)
from node.query.trace.text import call_text, output_text, trace_text
from pvm.output import Printout

if TYPE_CHECKING:
    from node.chain.transition import BlockResult
    from node.client._sync.actor import Chain
    from node.client._sync.client import Client

__all__ = ["TRACE_LINES_MAX", "CapturedOutput", "failed_trace", "printed_on_node"]

TRACE_LINES_MAX = 40
"""Of the tree of a failed call: what a person reads before looking elsewhere."""

HEIGHTS_TOLD = 64
"""Latest heights of a node's chain whose output is told."""

OUTPUT_LENGTH_MAX = 1 << 20
"""Characters that a chain keeps until somebody takes them; the oldest go first."""


class CapturedOutput:
    """What actors printed on a chain since it was taken last."""

    __slots__ = ("_length", "_names", "_texts")

    def __init__(self, names: Mapping[bytes, str]) -> None:
        self._names = names
        self._texts: list[str] = []
        self._length = 0

    def note_block(self, result: "BlockResult") -> None:
        """What the executions of a block printed, in order."""
        for index in sorted(result.outputs):
            self.note(result.outputs[index])

    def note(self, output: Printout) -> None:
        """What one execution printed."""
        if not output:
            return
        text = _told(output, self._names)
        self._texts.append(text)
        self._length += len(text)
        while self._length > OUTPUT_LENGTH_MAX and len(self._texts) > 1:
            self._length -= len(self._texts.pop(0))

    def take(self) -> str:
        """All of it, a line each; afterwards there is none."""
        text = "\n".join(self._texts)
        self._texts.clear()
        self._length = 0
        return text


def _told(output: Printout, names: Mapping[bytes, str]) -> str:
    text = output_text(output.printed, names)
    if output.cut:
        text += f"\n… {output.cut:,} characters more, which nobody keeps"
    return text


def printed_on_node(client: "Client") -> str:
    """What actors printed on a node's chain, as far as it keeps that."""
    from node.client.traces import printout_from_proto  # noqa: PLC0415 - protobuf
    from node.rpc.v1 import types_pb2  # noqa: PLC0415 - which no devnet needs

    try:
        head = client.height
        blocks = (
            client.api.block(height, view=types_pb2.BLOCK_VIEW_FULL)
            for height in range(max(1, head - HEIGHTS_TOLD + 1), head + 1)
        )
        outputs = [
            printout_from_proto(receipt.output)
            for block in blocks
            for receipt in block.receipts
            if receipt.HasField("output")
        ]
    except Exception as refusal:  # noqa: BLE001 - the test's own failure matters more
        return f"what actors printed cannot be told: {refusal}"
    return "\n".join(_told(output, client.labels) for output in outputs)


def failed_trace(chain: "Chain", error: BaseException) -> str:
    """The tree of the call that failed, deepest frame first; "" if none did there."""
    try:
        return _failed_trace(chain, error)
    except UnknownId:
        return ""  # another chain's
    except Exception as refusal:  # noqa: BLE001 - the test's own failure matters more
        return f"its calls cannot be told: {refusal}"


def _failed_trace(chain: "Chain", error: BaseException) -> str:
    match error:
        case FireFailed():
            trace = chain.trace(error.receipt.id, error.height)
        case TransactionFailed():
            trace = chain.trace(error.receipt.id)
        case ReadFailed(asked=(actor, handler, payload, sender)):
            read = chain.trace_read(actor, handler, payload, sender)
            return call_text(read.call, TRACE_LINES_MAX, chain.labels)
        case _:
            return ""
    return trace_text(trace, TRACE_LINES_MAX, chain.labels)
