"""`new`: a folder with an actor, its tests, and a recipe for CI, ready to be run.

Rules: the files are those of `examples/new-project`, which the tests of this project
run as well; what is written is whole, or not there at all.
"""

import re
import tempfile
from pathlib import Path

import click

import node
from node.chain.consensus import CONSENSUS_NUMBER

__all__ = ["new", "project_folder"]

_FILES = (
    ".github/workflows/ci.yml",
    ".gitignore",
    "README.md",
    "actors/pulse.py",
    "costs.json",
    "pyproject.toml",
    "requirements.txt",
    "tests/test_pulse.py",
)
_NAMED = ("README.md", "pyproject.toml")
"""Those in which the name of the project stands."""
_COSTS = "costs.json"
"""It says under which rules its costs hold: a test holds that it is this version's."""
_RULES = re.compile(r'("consensus": )\d+')
_NAME = "new-project"

_NAME_LENGTH_MAX = 100
_VALID_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?", re.ASCII | re.IGNORECASE)
"""Names of projects, as Python's packaging has them."""

_NEXT = """\
Now, in {name}:

  python -m venv .venv && . .venv/bin/activate
  pip install -r requirements.txt
  pytest
"""


@click.command()
@click.argument("name")
def new(name: str) -> None:
    """Make a folder NAME: an actor, its tests, and a recipe for CI."""
    folder = Path(name)
    _require_name(name)
    _require_room(folder)
    try:
        _write(folder)
    except OSError as error:
        message = f"{name} cannot be written here: {error.strerror}"
        raise click.UsageError(message) from error
    for file in _FILES:
        click.echo(f"{name}/{file}")
    click.echo()
    click.echo(_NEXT.format(name=name), nl=False)


def project_folder() -> Path:
    """Where the files lie: in a wheel, or in the checkout."""
    package = Path(node.__file__).parent
    packaged = package / "_new_project"
    return packaged if packaged.is_dir() else package.parent / "examples" / _NAME


def _require_name(name: str) -> None:
    if len(name) <= _NAME_LENGTH_MAX and _VALID_NAME.fullmatch(name):
        return
    raise click.UsageError(
        f"{name!r} is no name of a project: at most {_NAME_LENGTH_MAX} letters and "
        "digits, with `-`, `_` and `.` between them. The folder is made where you are"
    )


def _require_room(folder: Path) -> None:
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir() or folder.is_symlink():
        raise click.UsageError(f"{folder} is there already, and is no folder")
    if any(folder.iterdir()):
        raise click.UsageError(f"{folder} is there already, and is not empty")


def _write(folder: Path) -> None:
    """Write all beside the folder's place, then move it there in one step."""
    source = project_folder()
    with tempfile.TemporaryDirectory(dir=".", prefix=f".{folder.name[:50]}-") as beside:
        made = Path(beside) / "project"
        for name in _FILES:
            file = made / name
            file.parent.mkdir(parents=True, exist_ok=True)
            text = (source / name).read_text(encoding="utf-8")
            if name in _NAMED:
                text = text.replace(_NAME, folder.name)
            if name == _COSTS:
                text = _RULES.sub(f"\\g<1>{CONSENSUS_NUMBER}", text, count=1)
            file.write_text(text, encoding="utf-8", newline="\n")
        made.replace(folder)
