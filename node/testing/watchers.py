"""Who watches what the chains of a run of tests execute: nobody, or its coverage.

A run of pytest is a process, and a test may make a chain wherever it likes: so this is
state of the process. A chain looks here when it is made.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from node.coverage.watcher import CoverageWatcher

WATCHERS: "Final[list[CoverageWatcher]]" = []
"""The last one is that of the run that goes on: one run may be inside of another."""
