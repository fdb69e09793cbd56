"""Write the tree of ARCHITECTURE.md from the packages' docstrings, or check it.

    python scripts/gentree.py [--check]

It shows the rooms, not what stands in them: every package, and the modules that are
none's but `node`'s and `pvm`'s own. Each has the first sentence of its docstring.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
PACKAGES = ("pvm", "node")
OTHER_FOLDERS = {
    "pvm/library": "Modules that actors import, written in the actor language",
    "node/rpc/v1": "Generated from proto/, never written by hand",
}
"""Folders whose sources are in another language than ours, or in nobody's."""

_TREE = re.compile(
    r"(?<=<!-- tree begins: `make tree` writes it -->\n```\n)"
    r".*?(?=```\n<!-- tree ends -->)",
    re.DOTALL,
)


def summary(path: Path) -> str:
    """The first sentence of a module's docstring, without its full stop."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(docstring.partition("\n\n")[0].split())
    sentence = paragraph.removesuffix(".").partition(". ")[0]
    assert sentence, f"{path.relative_to(ROOT)} says nothing of itself"
    return sentence


def rooms(folder: Path, depth: int = 0) -> Iterator[tuple[str, str]]:
    """What the tree shows of a folder: an indented name, a sentence."""
    indent = "  " * depth
    name = folder.relative_to(ROOT).as_posix()
    if name in OTHER_FOLDERS:
        yield f"{indent}{folder.name}/", OTHER_FOLDERS[name]
        return
    yield f"{indent}{folder.name}/", summary(folder / "__init__.py")
    for path in sorted(folder.iterdir()):
        if path.is_dir() and any(path.glob("*.py")):
            yield from rooms(path, depth + 1)
    for path in sorted(folder.glob("*.py")) if depth == 0 else ():
        if path.name != "__init__.py":
            yield f"  {path.name}", summary(path)


def tree() -> str:
    """All rooms, a line each, their sentences in one column."""
    parts = [list(rooms(ROOT / package)) for package in PACKAGES]
    width = max(len(name) for part in parts for name, _ in part) + 2
    return "\n".join(
        "".join(f"{name:{width}}{sentence}\n" for name, sentence in part)
        for part in parts
    )


def main() -> int:
    """Exit code: 0 fresh or written, 1 stale."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail on a difference"
    )
    is_check = parser.parse_args().check
    page = PAGE.read_text(encoding="utf-8")
    text, count = _TREE.subn(lambda _: tree(), page)
    assert count == 1, f"{PAGE.name} has no place for one tree"
    if text == page:
        return 0
    if is_check:
        print(f"stale: the tree in {PAGE.name}: run make tree")
        return 1
    PAGE.write_text(text, encoding="utf-8")
    print(f"written: the tree in {PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
