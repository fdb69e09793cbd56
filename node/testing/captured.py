"""What actors printed, and the tree of a failed call: for the report of a test (D59).

Rule: it is read after a failure and never the cause of another one.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from node.client.exceptions import FireFailed, TransactionFailed
from node.query.trace.text import output_text, trace_text
from pvm.output import Printout

if TYPE_CHECKING:
    from node.chain.transition import BlockResult
    from node.client._sync.actor import Chain

__all__ = ["TRACE_LINES_MAX", "CapturedOutput", "failed_trace"]

TRACE_LINES_MAX = 40
"""Of the tree of a failed call: what a person reads before looking elsewhere."""

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
        text = output_text(output.printed, self._names)
        if output.cut:
            text += f"\n… {output.cut:,} characters more, which nobody keeps"
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


def failed_trace(chain: "Chain", error: BaseException) -> str:
    """The tree of the call that failed, deepest frame first; "" if none did."""
    if not isinstance(error, FireFailed | TransactionFailed):
        return ""
    height = error.height if isinstance(error, FireFailed) else None
    try:
        trace = chain.trace(error.receipt.id, height)
    except Exception as refusal:  # noqa: BLE001 - the test's own failure matters more
        return f"its calls cannot be told: {refusal}"
    return trace_text(trace, TRACE_LINES_MAX, chain.labels)
