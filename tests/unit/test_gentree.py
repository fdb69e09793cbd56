"""The tree in ARCHITECTURE.md: every room by its own first sentence, and fresh."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COLUMNS_MAX = 108
PAGE = """\
# A
<!-- tree begins: `make tree` writes it -->
```
old
```
<!-- tree ends -->
after
"""
TREE = """\
pvm/        A machine
  library/  Modules that actors import, written in the actor language
  tools/    What authors use, on two lines
    deep/   A room in a room
  meter.py  Meter: what may be used

node/       A node
"""


@pytest.fixture
def script(monkeypatch):
    path = ROOT / "scripts" / "gentree.py"
    spec = importlib.util.spec_from_file_location("gentree", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", ["gentree.py"])
    return module


@pytest.fixture
def checkout(script, tmp_path, monkeypatch):
    """A small one, with what the tree leaves out as well."""
    for name, text in {
        "pvm/__init__.py": '"""A machine."""',
        "pvm/meter.py": '"""Meter: what may be used. Pure.\n\nMore of it.\n"""',
        "pvm/tools/__init__.py": '"""What authors use,\non two lines.\n\nMore.\n"""',
        "pvm/tools/profile.py": '"""No line of its own."""',
        "pvm/tools/deep/__init__.py": '"""A room in a room."""',
        "pvm/library/heapq.py": "no docstring, no room",
        "pvm/__pycache__/meter.pyc": "",
        "node/__init__.py": '"""A node."""',
        "ARCHITECTURE.md": PAGE,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "PAGE", tmp_path / "ARCHITECTURE.md")
    return tmp_path


def test_the_page_shows_the_rooms_of_this_checkout(script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gentree.py", "--check"])
    assert script.main() == 0, capsys.readouterr().out
    assert all(len(line) <= COLUMNS_MAX for line in script.tree().splitlines())


def test_every_room_has_a_line_and_modules_only_beside_rooms(script, checkout):
    assert script.main() == 0
    text = (checkout / "ARCHITECTURE.md").read_text()
    assert text == PAGE.replace("old\n", TREE)


def test_a_stale_tree_is_told_and_left(script, checkout, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gentree.py", "--check"])
    assert script.main() == 1
    assert capsys.readouterr().out.endswith("run make tree\n")
    assert (checkout / "ARCHITECTURE.md").read_text() == PAGE


@pytest.mark.parametrize("text", ["", '"""."""'])
def test_a_room_that_says_nothing_of_itself_is_refused(script, checkout, text):
    (checkout / "node" / "__init__.py").write_text(text)
    with pytest.raises(AssertionError, match=r"node/__init__\.py says nothing"):
        script.tree()
