"""Write the modules of `node.client` for programs without an event loop, or check them.

    python scripts/gensync.py [--check]

Only the asynchronous twin of each pair is written by hand; the other one is its text
with the words of `WORDS` exchanged, formatted by ruff.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "node" / "client"
PAIRS = {
    "api_async.py": "api.py",
    "api_reading_async.py": "api_reading.py",
    "actor_async.py": "actor.py",
    "profiling_async.py": "profiling.py",
    "reading_async.py": "reading.py",
    "asynchronous.py": "client.py",
}
WORDS = (
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsync(Actor|Api|ApiReader|Chain|Client|Iterator)\b", r"\1"),
    (r"\bAsync(Profiler|Reader|Snapshot)\b", r"\1"),
    (r"\bAwaitable\[None\]", "None"),
    (r"\bAwaitable, ", ""),
    (r"\bAbstractAsyncContextManager\b", "AbstractContextManager"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\banext\(aiter\((\w+)\)\)", r"next(\1)"),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"\bgrpc\.aio\.", "grpc."),
    (r"\bopen_async_channel\b", "open_channel"),
    (r"(\bnode\.client\.|`)(actor|api|api_reading|profiling|reading)_async\b", r"\1\2"),
    (r"\bnode\.client\.asynchronous\b", "node.client.client"),
    (r"\bimport asyncio\b", "import threading"),
    (r"\basyncio\.Lock\b", "threading.Lock"),
    (r"\bwith an event loop\b", "without an event loop"),
)
NOTE = "# Written by scripts/gensync.py from {source}: change that one.\n"


def twin(source: str) -> str:
    """The text of the module without an event loop."""
    text = (FOLDER / source).read_text()
    for pattern, word in WORDS:
        text = re.sub(pattern, word, text)
    text = NOTE.format(source=source) + text
    for command in (["check", "--select", "I", "--fix-only", "--quiet"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "-"]
        name = ["--stdin-filename", str(FOLDER / PAIRS[source])]
        text = subprocess.run(
            [*ruff, *name],
            input=text,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return text


def main() -> int:
    """Exit code: 0 fresh or written, 1 stale."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail on a difference"
    )
    is_check = parser.parse_args().check
    stale = []
    for source, target in PAIRS.items():
        path, text = FOLDER / target, twin(source)
        if path.exists() and path.read_text() == text:
            continue
        stale.append(target)
        if not is_check:
            path.write_text(text)
    if stale:
        print(f"{'stale' if is_check else 'written'}: {', '.join(stale)}")
    if stale and is_check:
        print("run scripts/gensync.py")
    return 1 if stale and is_check else 0


if __name__ == "__main__":
    sys.exit(main())
