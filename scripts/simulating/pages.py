"""Pages whose tables and pictures a script writes, and whose words people write.

A table stands in a page between `<!-- NAME -->` and `<!-- end -->`.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

_TABLE = re.compile(
    r"(?<=<!-- )(?!end )(?P<name>[a-z ]+) -->\n.*?(?=<!-- end -->)", re.DOTALL
)


def fill_in(page: str, table: Callable[[str], str]) -> str:
    """A page with its tables anew, each by its name."""

    def written(match: re.Match[str]) -> str:
        name = match["name"]
        return f"{name} -->\n\n{table(name)}\n"

    return _TABLE.sub(written, page)


def publish(documents: Iterable[tuple[Path, str]], *, is_check: bool) -> int:
    """Write each file, or only compare; how many differ from what they should be."""
    differing = 0
    for path, text in documents:
        if is_check:
            differing += not path.exists() or path.read_text("utf-8") != text
        else:
            path.write_text(text, encoding="utf-8")
    return differing


def path_of(folder: Path, name: str) -> Path:
    """The file that keeps a record."""
    return folder / (re.sub("[/: ]", "-", name) + ".json")
