"""What a save would have changed: its code over the heights that the old one had.

It is `rehearse-upgrade` in a process beside the loop, so that no save waits for it.
"""

from pathlib import Path

from node.cli.loop.background import BackgroundProcess, ProcessEnd
from node.primitives.types import Address

__all__ = ["BackgroundRehearsal", "rehearsal_text"]

LINES_SHOWN = 8
_DIFFERS = 1
_OF_THE_COMMAND = "cowboy-devnet: "


class BackgroundRehearsal:
    """Rehearses the saves of one actor, one at a time."""

    def __init__(self) -> None:
        self._process = BackgroundProcess()

    def start(self, actor: Address, path: Path, heights: range, url: str) -> None:
        """Begin; one that has not ended does not count any more.

        Args:
            actor: who has got new code.
            path: the file of that code.
            heights: at which the actor had the code before.
            url: the node.
        """
        where = ["--first", str(heights.start), "--last", str(heights.stop - 1)]
        words = ["-P", "-m", "node", "rehearse-upgrade", f"0x{actor.hex()}", str(path)]
        self._process.start([*words, "--url", url, *where])

    def look(self) -> str | None:
        """What differs, once that is known; None before and afterwards."""
        ended = self._process.look()
        return None if ended is None else rehearsal_text(ended)

    def stop(self) -> None:
        """End it; without one nothing happens."""
        self._process.stop()


def rehearsal_text(ended: ProcessEnd) -> str:
    """What the command found, in a few lines."""
    lines = ended.text.splitlines()
    found = [line for line in lines if not line.startswith(_OF_THE_COMMAND)]
    if ended.code not in {0, _DIFFERS} or not found:
        return f"no rehearsal: {lines[-1] if lines else f'exit code {ended.code}'}"
    if len(found) > LINES_SHOWN:
        more = len(found) - LINES_SHOWN
        found = [*found[:LINES_SHOWN], f"  … {more} more: see rehearse-upgrade"]
    return "\n".join(["rehearsed over " + found[0], *found[1:]])
