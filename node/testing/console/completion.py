"""Line editing at a terminal: completion of names, and a history that lasts.

Python's own `readline` and `rlcompleter` do it, where the platform has them.
"""

import os
import rlcompleter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["Completer", "history_file", "line_editing"]

HISTORY_LINES_MAX = 2_000
COMMANDS = (".exit", ".help", ".save ", ".undo")


class Completer:
    """What the tab key offers for a beginning."""

    def __init__(self, names: dict[str, object]) -> None:
        self._names = rlcompleter.Completer(names)

    def complete(self, text: str, state: int) -> str | None:
        """The offer of a number from 0 for a text; None after the last."""
        if text.startswith("."):
            found = [command for command in COMMANDS if command.startswith(text)]
            return found[state] if state < len(found) else None
        if not text:
            return "    " if state == 0 else None
        try:
            return self._names.complete(text, state)
        except Exception:  # noqa: BLE001 - of whatever it looked into
            return None


def history_file() -> Path:
    """Where the lines of former prompts are kept."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "cowboy-devnet" / "console_history"


@contextmanager
def line_editing(completer: Completer) -> Iterator[None]:
    """Let `input` complete and remember; afterwards it is as before."""
    try:
        import readline  # noqa: PLC0415 - not every platform has it
    except ImportError:
        yield
        return
    before = readline.get_completer()
    path = history_file()
    readline.set_completer(completer.complete)
    readline.parse_and_bind("tab: complete")
    readline.clear_history()
    with suppress(OSError):
        readline.read_history_file(path)
    try:
        yield
    finally:
        readline.set_completer(before)
        readline.set_history_length(HISTORY_LINES_MAX)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(path)
