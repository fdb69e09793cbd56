"""Why a store cannot be used: each message says what is wrong and what to do.

They stand apart from the stores so that the shell can map them to an exit code
without importing LevelDB.
"""

# ruff: noqa: N818 - these name a condition of the store, not an error of the program

from pathlib import Path

__all__ = [
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreForeign",
    "StoreLocked",
    "StoreUnavailable",
    "StoreUnwritable",
    "damaged",
    "locked",
    "unwritable",
]


class StoreError(Exception):
    """A store cannot be opened, read or written."""


class StoreLocked(StoreError):
    """Another node has the folder open."""


class StoreUnavailable(StoreError):
    """This interpreter has no LevelDB."""


class StoreForeign(StoreError):
    """What lies there is not a database of this program, or of another format."""


class StoreCorrupt(StoreError):
    """The database is damaged."""


class StoreUnwritable(StoreError):
    """The operating system refuses: permissions, read-only medium, full disk."""


class StoreClosed(StoreError):
    """A bug of the caller: the store, or its snapshot, was closed before."""


def damaged(detail: str, folder: Path) -> StoreCorrupt:
    """The refusal of a database of which something is missing or altered."""
    return StoreCorrupt(
        f"the database in {folder} is damaged ({detail}): restore a copy of the "
        "folder, or start again with an empty one"
    )


def locked(folder: Path) -> StoreLocked:
    """The refusal of a folder that is in use."""
    return StoreLocked(
        f"another node has {folder} open: stop it, or give this one a folder of its own"
    )


def unwritable(detail: str, folder: Path) -> StoreUnwritable:
    """The refusal of what the operating system does not let us do."""
    return StoreUnwritable(
        f"{folder} cannot be used ({detail}): make it writable, make room on its disk, "
        "or give another folder"
    )
