"""Why a store cannot be used: each message says what is wrong and what to do.

They stand apart from the stores so that the shell can map them to an exit code
without importing LevelDB.
"""

# ruff: noqa: N818 - these name a condition of the store, not an error of the program

__all__ = [
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreForeign",
    "StoreLocked",
    "StoreUnwritable",
]


class StoreError(Exception):
    """A store cannot be opened, read or written."""


class StoreLocked(StoreError):
    """Another node has the folder open."""


class StoreForeign(StoreError):
    """What lies there is not a database of this program, or of a newer format."""


class StoreCorrupt(StoreError):
    """The database is damaged."""


class StoreUnwritable(StoreError):
    """The operating system refuses: permissions, read-only medium, full disk."""


class StoreClosed(StoreError):
    """A bug of the caller: the store, or its snapshot, was closed before."""
