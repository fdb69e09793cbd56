"""ARCHITECTURE.md shows the layers, types, folders and packages that there are."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CODE = re.compile(r"`([^`\n]+)`")
TYPE = re.compile(r"\b[A-Z]\w*\b")


def section(title):
    _, _, rest = PAGE.partition(f"\n## {title}\n")
    assert rest, title
    return rest.partition("\n## ")[0]


def rows(title):
    """The cells of a table's rows, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def blocks(title):
    return [part.splitlines() for part in section(title).split("```\n")[1::2]]


def is_defined(name, text):
    definition = rf"^(?:class {name}\b|{name}(?:: \w+)? = )"
    return re.search(definition, text, re.MULTILINE) is not None


def layers_of(package):
    """The contract's layers, the highest first, each as the modules it has."""
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    (layers,) = (c["layers"] for c in contracts if c.get("containers") == [package])
    return [[f"{package}.{n}" for n in re.split(r" [|:] ", layer)] for layer in layers]


def test_the_layers_are_those_of_the_contracts():
    node, machine = (
        [line.split("  ")[0].split(" · ") for line in block]
        for block in blocks("The dependency rule")
    )
    assert node == [*layers_of("node"), ["pvm"]]
    *upper, lowest = layers_of("pvm")
    assert machine[:-1] == upper
    assert set(re.findall(r"pvm\.\w+", machine[-1][0])) <= set(lowest)


def types():
    """Each type of the table, with the file that is said to define it."""
    for names, homes, _ in rows("Where each type lives"):
        files = homes.split("; ")
        if not files[0].endswith(".py"):
            continue
        parts = names.split("; ") if len(files) > 1 else [names]
        for part, file in zip(parts, files, strict=True):
            for name in TYPE.findall(part.partition(":")[0]):
                yield name, file


@pytest.mark.parametrize(("name", "file"), list(types()))
def test_a_type_lives_where_the_table_says(name, file):
    assert is_defined(name, (ROOT / file).read_text())


def test_a_type_that_lives_elsewhere_is_found():
    text = "class Meters:\n    class Meter: ...\nfrom pvm import Host\n"
    assert is_defined("Meters", text)
    assert not is_defined("Meter", text)
    assert not is_defined("Host", text)


def test_every_dependency_has_its_reason_and_its_place():
    told = " ".join(cells[0] for cells in rows("Dependencies"))
    for requirement in PROJECT["project"]["dependencies"]:
        (name,) = re.findall(r"^[\w-]+", requirement)
        assert re.search(rf"(?:^|\W){re.escape(name)}\b", told), name
    for _, places, _ in rows("Dependencies"):
        for place in places.split(", "):
            assert " " in place or place == "everywhere" or (ROOT / place).exists()


def test_every_folder_and_file_beside_the_packages_is_there():
    lines = section("The tree").split("<!-- tree ends -->")[1].split("```\n")[1]
    for line in lines.splitlines():
        for name in re.split(r" {2,}", line)[0].split(", "):
            assert list(ROOT.glob(name.rstrip("/"))), name


def test_the_glossary_has_about_twenty_lines():
    terms = [cells[0] for cells in rows("Glossary")]
    assert 18 <= len(terms) == len(set(terms)) <= 25


def test_every_path_that_is_named_whole_is_there():
    named = [
        span.partition("#")[0]
        for span in CODE.findall(PAGE)
        if re.match(r"(?:node|pvm|proto|tests|scripts|docs|genesis)/\S*$", span)
    ]
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("name", re.findall(r"\bnode(?:\.\w+)+", PAGE))
def test_every_module_that_is_named_is_there(name):
    path = ROOT / name.replace(".", "/")
    assert path.is_dir() or path.with_suffix(".py").exists()


def test_every_function_on_the_path_of_a_block_is_there():
    text = section("One block as a straight path")
    sources = "".join(path.read_text() for path in (ROOT / "node").rglob("*.py"))
    named = set(re.findall(r"(?<![\w/])(?:[a-z]\w*)?_\w+\b(?![\w.])", text))
    assert {"build_block", "_header", "execute_transaction"} <= named
    assert {name for name in named if f"def {name}(" not in sources} == set()
