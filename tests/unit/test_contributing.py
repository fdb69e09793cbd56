"""CONTRIBUTING.md names the commands, folders and files that there are."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:py|md|toml|proto)")


def section(title, level="##"):
    """The text under a heading, up to the next of its level."""
    _, _, rest = PAGE.partition(f"\n{level} {title}\n")
    assert rest, title
    return re.split(rf"^{level} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def paths(text):
    """What is in code spans and is the path of a file or folder."""
    return [span for span in CODE.findall(text) if PATH.fullmatch(span)]


def recipes():
    """Title, example and numbered items of each list of files."""
    for part in section("Adding something").split("\n### ")[1:]:
        title, _, text = part.partition("\n")
        (example,) = re.findall(r"^Follow `(.+?)`\.", text, re.MULTILINE)
        items = re.split(r"^\d+\. ", text, flags=re.MULTILINE)[1:]
        yield title, example, [" ".join(item.split()) for item in items]


def test_every_path_is_there():
    named = paths(PAGE)
    assert len(named) > 100
    assert [name for name in named if not (ROOT / name).exists()] == []


RECIPES = list(recipes())


@pytest.mark.parametrize(
    ("title", "example", "items"), RECIPES, ids=[recipe[0] for recipe in RECIPES]
)
def test_each_file_of_a_list_mentions_its_example(title, example, items):
    """So that a list can be followed by searching for it."""
    assert len(items) > 2, title
    for item in items:
        names, colon, _ = item.partition(": ")
        files = paths(names)
        assert colon, item
        assert files, item
        for name in files:
            text = (ROOT / name).read_text().lower()
            assert example.lower() in text, f"{title}: {name} has no {example}"


def test_every_command_of_the_makefile_is_explained_and_no_other():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z0-9-]+):.*## ", makefile, re.MULTILINE))
    explained = set(re.findall(r"`make ([a-z0-9-]+)[^`]*`", PAGE))
    assert explained == targets - {"help"}


def test_every_folder_of_tests_has_its_row_and_no_other():
    rows = re.findall(r"^\| `tests/(\w+)` \|", section("Tests"), re.MULTILINE)
    assert sorted(rows) == sorted(
        path.name
        for path in (ROOT / "tests").iterdir()
        if path.is_dir() and path.name != "__pycache__"
    )


def test_a_file_that_does_not_mention_the_example_is_found():
    items = ["`docs/storage.md`: the first.", "`LICENSE`, `README.md`: more."] * 2
    with pytest.raises(AssertionError, match=r"README\.md has no such_thing"):
        test_each_file_of_a_list_mentions_its_example("A", "such_thing", items[1:])
