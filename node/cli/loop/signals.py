"""Signals that end the loop: as KeyboardInterrupt, and never while a process begins.

A process whose number is not noted yet could not be ended with the loop.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ended_by_signals", "ignore_endings", "without_interruption"]

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, the wish of another program, and a terminal that is closed."""


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let each of them raise KeyboardInterrupt inside."""
    before = [signal.signal(one, signal.default_int_handler) for one in _ENDING]
    try:
        yield
    finally:
        for one, handler in zip(_ENDING, before, strict=True):
            signal.signal(one, handler)


@contextmanager
def without_interruption() -> Iterator[None]:
    """Let those that come inside wait for its end.

    Raises:
        KeyboardInterrupt: at the end, if one came.
    """
    came: list[int] = []
    before = [
        signal.signal(one, lambda number, _frame: came.append(number))
        for one in _ENDING
    ]
    try:
        yield
    finally:
        for one, handler in zip(_ENDING, before, strict=True):
            signal.signal(one, handler)
        if came:
            raise KeyboardInterrupt


def ignore_endings() -> None:
    """Whoever presses Ctrl-C twice gets the same end."""
    for one in _ENDING:
        signal.signal(one, signal.SIG_IGN)
