"""How deep actors' functions call each other: a chain that each entry walks one link.

Rules: what is left of the depth is a link, a tuple that holds the next one, so that
inserted code enters with `_e = [_depth] = _depth` and leaves with `_depth = _e`:
cheaper than a number that is counted and compared. The chain is immutable and the same
for every execution; whoever would go beyond its end is halted there.
"""

import sys
from collections.abc import Iterator

from pvm.types import DEPTH_MAX


class _End:
    """The end of the chain: unpacking it halts the execution that does so."""

    __slots__ = ()

    def __iter__(self) -> Iterator[object]:
        """Halt by the helper that every frame of an actor's code has."""
        names = sys._getframe(1).f_builtins  # noqa: SLF001 - the actor's frame
        names["_halt"]()
        raise AssertionError("a halt always raises")


def _chain() -> tuple[object, ...]:
    links: list[object] = [_End()]
    for _ in range(DEPTH_MAX):
        links.append((links[-1],))
    return tuple(links)


LINKS = _chain()
"""By the number of entries that are left, at most `DEPTH_MAX`."""

END = LINKS[0]
