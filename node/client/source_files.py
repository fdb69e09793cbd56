"""Files that may be sources of actors, for tools that look for the file of a code hash.

A chain knows the bytes of a source and no file: who wants the file compares.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pvm.language import SOURCE_BYTES_MAX

__all__ = ["python_files_below", "sources_below"]

FILES_MAX: Final = 10_000
"""Of a folder that are looked at: whoever starts in `/` waits no longer than for these.
"""

_LEFT_OUT = frozenset({"node_modules", "site-packages", "__pycache__"})


def python_files_below(folder: Path, count_max: int) -> Iterator[str]:
    """The first so many Python files below a folder, by name; no hidden folders."""
    count = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(
            one for one in folders if one[0] != "." and one not in _LEFT_OUT
        )
        for name in sorted(one for one in names if one.endswith(".py")):
            count += 1
            if count > count_max:
                return
            yield os.path.join(place, name)  # noqa: PTH118 - as os.walk has it


def sources_below(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """The Python files below a folder that are no longer than a source, by name."""
    for file in python_files_below(folder, FILES_MAX):
        path = Path(file)
        try:
            if path.stat().st_size <= SOURCE_BYTES_MAX:
                yield path.resolve(), path.read_bytes()
        except OSError:
            continue  # gone, or not to be read: it is no actor of this run
