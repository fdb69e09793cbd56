"""What a native module is made from: whatever execution is running, seen from inside.

A module is made once and used by one execution after another, so its functions ask
the context each time and keep nothing of it.
"""

from collections.abc import Callable, Sequence

from pvm.host import Host
from pvm.meter import Meter
from pvm.types import Message


class ModuleContext:
    """The execution that is running; between two of them it has no attribute set."""

    __slots__ = ("handler", "host", "message", "meter", "write")

    write: Callable[[str, Sequence[object]], None]
    """Writes the texts of values at a level, and pays for them (D59); it stays."""

    def begin(self, meter: Meter, host: Host, message: Message, handler: str) -> None:
        """An execution begins; `handler` was chosen of `message.handlers`."""
        self.meter = meter
        self.host = host
        self.message = message
        self.handler = handler

    def end(self) -> None:
        """Forget the execution: what is used without one fails."""
        del self.meter, self.host, self.message, self.handler


class Bound:
    """The functions of a native module, bound to the context that they ask."""

    __slots__ = ("_context",)

    def __init__(self, context: ModuleContext) -> None:
        self._context = context

    @property
    def _meter(self) -> Meter:
        return self._context.meter
