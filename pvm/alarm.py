"""Which thread executes an actor at this moment, for whoever keeps watch over it.

A node hears of what Python does in its process (`node.runtime.confinement.tripwire`)
and wants to know whether an actor does it. While one executes, the virtual machine now
and then imports, compiles or unpacks for its own sake: then the alarm is suspended.

Rules: nothing here is part of a result. An execution that a tool watches, by a trace
or a profile of its own, is none for the alarm.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pvm.types import Message

__all__ = ["NOW", "Now", "suspended"]


class Now:
    """What executes now."""

    __slots__ = ("message", "thread")

    def __init__(self) -> None:
        self.thread = 0
        """That executes an actor; 0 if none does, or the alarm is suspended."""
        self.message: Message | None = None
        """That is executed, or was."""


# State of the process, as that of `worker` and `execution_pool`. Several workers of one
# process overwrite each other here; a node, where alone it matters, has one.
NOW: Final = Now()


@contextmanager
def suspended() -> Iterator[None]:
    """What is done in this context is the virtual machine's own work."""
    thread, NOW.thread = NOW.thread, 0
    try:
        yield
    finally:
        NOW.thread = thread
