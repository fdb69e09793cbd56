"""Pages of the documents as somebody follows them: files are saved, commands typed."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.console_blocks import blocks, sessions

__all__ = ["ROOT", "commands", "files", "page", "save", "type_in"]

ROOT = Path(__file__).resolve().parents[1]
DEADLINE_SECONDS = 600
_NAME = re.compile(r"^# ([\w./-]+\.(?:py|yml))$")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def files(text: str) -> dict[str, str]:
    """Code of a page by the name of the file it belongs into, its first line."""
    found = {}
    for language, code in blocks(text):
        if language in {"python", "yaml"}:
            name = _NAME.match(code.splitlines()[0])
            assert name, code
            found[name[1]] = code
    return found


def commands(text: str) -> Iterator[tuple[str, str]]:
    """(command, printed answer) of every console of a page, in order."""
    for language, code in blocks(text):
        if language == "console":
            yield from sessions(code)


def save(folder: Path, name: str, code: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)


def type_in(
    command: str, folder: Path, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A command in a shell, in the virtual environment that the folder has."""
    activate = "if [ -e .venv ]; then . .venv/bin/activate; fi"
    return subprocess.run(
        ["bash", "-e", "-c", f"{activate}\n{command}"],
        cwd=folder,
        env=os.environ | {"PYTEST_ADDOPTS": "-p no:cacheprovider"} | (variables or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_SECONDS,
    )
