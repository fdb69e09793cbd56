"""Write `node.client._sync`, clients without an event loop, or check that it is fresh.

    python scripts/gensync.py [--check]

Only `node.client._async` is written by hand. A module of `_sync` is the text of its
twin with the words of `WORDS` exchanged, formatted by ruff. A word that occurs nowhere
is an error: it is of no use any more, or what it was for has changed its form.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLIENT = ROOT / "node" / "client"
SOURCES = CLIENT / "_async"
TARGETS = CLIENT / "_sync"

WORDS = (
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsync([A-Z]\w+)\b", r"\1"),
    (r"\bAwaitable\[None\]", "None"),
    (r"\bAwaitable, ", ""),
    (r"\bAbstractAsyncContextManager\b", "AbstractContextManager"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\banext\(aiter\((\w+)\)\)", r"next(\1)"),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"\bgrpc\.aio\.", "grpc."),
    (r"\bopen_async_channel\b", "open_channel"),
    (r"\bnode\.client\._async\b", "node.client._sync"),
    (r"\bimport asyncio\b", "import threading"),
    (r"\basyncio\.Lock\b", "threading.Lock"),
    (r"\bwith an event loop\b", "without an event loop"),
)
"""What is exchanged, in this order: a pattern, and what stands for it instead."""

INIT = '"""Clients without an event loop, written by `scripts/gensync.py`."""\n'
NOTE = "# Written by scripts/gensync.py from _async/{name}: change that one.\n"


class UselessWord(Exception):  # noqa: N818 - names what is refused
    """A pattern of `WORDS` matches nothing in any source."""


def exchanged(
    sources: Mapping[str, str], words: Sequence[tuple[str, str]]
) -> dict[str, str]:
    """The texts with every word exchanged.

    Raises:
        UselessWord: a pattern matches nothing.
    """
    texts = dict(sources)
    for pattern, word in words:
        count = 0
        for name, text in texts.items():
            texts[name], matches = re.subn(pattern, word, text)
            count += matches
        if not count:
            raise UselessWord(f"{pattern!r} matches nothing in {', '.join(sources)}")
    return texts


def formatted(name: str, text: str) -> str:
    """A module in the project's form."""
    for command in (["check", "--select", "I", "--fix-only", "--quiet"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "-"]
        text = subprocess.run(
            [*ruff, "--stdin-filename", str(TARGETS / name)],
            input=text,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return text


def twins() -> dict[str, str]:
    """Every module of `_sync` by its name."""
    sources = {
        path.name: path.read_text()
        for path in sorted(SOURCES.glob("*.py"))
        if path.name != "__init__.py"
    }
    texts = {
        name: formatted(name, NOTE.format(name=name) + text)
        for name, text in exchanged(sources, WORDS).items()
    }
    return {"__init__.py": INIT, **texts}


def main() -> int:
    """Exit code: 0 fresh or written, 1 stale or a word of no use."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail on a difference"
    )
    is_check = parser.parse_args().check
    try:
        fresh = twins()
    except UselessWord as error:
        print(f"scripts/gensync.py: {error}")
        return 1
    present = {path.name: path.read_text() for path in TARGETS.glob("*.py")}
    stale = sorted(
        name for name in {*fresh, *present} if fresh.get(name) != present.get(name)
    )
    if stale:
        print(f"{'stale' if is_check else 'written'}: {', '.join(stale)}")
    if is_check:
        if stale:
            print("run scripts/gensync.py")
        return 1 if stale else 0
    for name in stale:
        if name in fresh:
            (TARGETS / name).write_text(fresh[name])
        else:
            (TARGETS / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
