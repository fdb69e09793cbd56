"""What a source has that the one before it did not: handlers, and what they cost.

Cycles are those of blocks of source, each entered once, as `check` tells them.
"""

from collections.abc import Mapping

from msgspec import Struct

from pvm import Report

__all__ = ["SourceDifference", "difference_of"]


class SourceDifference(Struct, frozen=True):
    """Two sources of one actor, compared without executing them."""

    added: tuple[str, ...]
    """Handlers that are new."""
    removed: tuple[str, ...]
    """Handlers that are gone."""
    cycles: dict[str, tuple[int, int]]
    """Of other handlers whose blocks cost more or less: before, and now."""

    def lines(self) -> list[str]:
        """Short lines for people; none if nothing can be seen from outside."""
        lines = []
        names = [f"+{name}" for name in self.added]
        names += [f"-{name}" for name in self.removed]
        if names:
            lines.append(f"handlers: {' '.join(names)}")
        for name, (before, now) in self.cycles.items():
            sign = "+" if now > before else "-"
            change = f"{sign}{abs(now - before):,}"
            lines.append(
                f"{name}: {before:,} → {now:,} cycles of its blocks ({change})"
            )
        return lines


def difference_of(before: Report | None, now: Report) -> SourceDifference:
    """Compare two sources; with none, nothing is worth a line."""
    if before is None:
        return SourceDifference((), (), {})
    old, new = _cycles(before), _cycles(now)
    return SourceDifference(
        tuple(name for name in new if name not in old),
        tuple(name for name in old if name not in new),
        {
            name: (old[name], cycles)
            for name, cycles in new.items()
            if old.get(name, cycles) != cycles
        },
    )


def _cycles(report: Report) -> Mapping[str, int]:
    return {
        handler.name: sum(block.cycles for block in handler.blocks)
        for handler in report.handlers
    }
