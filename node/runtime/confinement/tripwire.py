"""The tripwire: an alarm for actors that do what no actor does.

Python tells of files that are opened, programs that are begun, modules that are
imported, texts that are compiled, and of many more of its own works (PEP 578). While an
actor executes, on its thread, none of them is to happen but the few that the virtual
machine does all the time. Any other ends the process at once: what executes is out of
the sandbox, and what it does next is not to be trusted, nor its block committed.

Rules: it is an alarm and no wall, for whoever is out can put it out, and some ways out
raise no event (docs/security.md). It stands in `start` alone: elsewhere a debugger or
the user's own fixtures do the same, and a hook cannot be taken out again.
"""

import os
import sys
import threading
from collections.abc import Callable
from typing import Final

from pvm.alarm import NOW

__all__ = ["EXIT_TRIPPED", "stand_watch"]

EXIT_TRIPPED: Final = 70
"""Internal software error, by <sysexits.h>."""

_STDERR = 2

_OWN_EVENTS: Final = frozenset({"builtins.id", "function.__new__", "sys._getframe"})
"""Of the virtual machine's own work in every message."""

_OWN_ATTRIBUTES: Final = frozenset(
    {"__code__", "__defaults__", "__kwdefaults__", "tb_frame", "f_code"}
)
"""That it reads of functions and tracebacks."""

_Event = Callable[[str, tuple[object, ...]], None]


def stand_watch() -> None:
    """Keep watch over all executions of this process, for as long as it lives."""
    sys.addaudithook(_make_hook())


def _make_hook() -> _Event:
    now, ident = NOW, threading.get_ident
    events, attributes = _OWN_EVENTS, _OWN_ATTRIBUTES

    def on_event(event: str, arguments: tuple[object, ...]) -> None:
        if now.thread == 0 or event in events:
            return
        if event == "object.__getattr__" and arguments[1] in attributes:
            return
        if now.thread == ident():
            _end(event)

    return on_event


def _end(event: str) -> None:
    message = NOW.message
    actor = "" if message is None else f" 0x{message.actor.hex()}"
    height = "" if message is None else f" at height {message.environment.height}"
    line = (
        f"cowboy-devnet: the tripwire: actor{actor}{height} reached Python's {event}, "
        "which no actor does: the node ends, and the block in hand is not made\n"
    )
    os.write(_STDERR, line.encode())
    os._exit(EXIT_TRIPPED)
