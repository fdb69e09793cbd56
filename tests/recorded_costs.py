"""Recorded costs of a handler, made up for tests that compare or report them."""

from node.testing.costs.naming import NamedHandler
from node.testing.costs.recording import RecordedHandler, RecordedStatement

__all__ = ["recorded_handler"]


def recorded_handler(*rows: tuple[int, int, str]) -> NamedHandler:
    """A handler whose statements cost so many cycles and cells, in this order."""
    found = {
        line: RecordedStatement(line, text, cycles, cells)
        for line, (cycles, cells, text) in enumerate(rows, 1)
    }
    used = sum(row[0] for row in rows), sum(row[1] for row in rows)
    recorded = RecordedHandler("aa", "run", 1, *used, {"aa": found})
    return NamedHandler(recorded, {"a.py": ("aa", list(found.values()))})
