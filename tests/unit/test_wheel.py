"""What an installed `cowboy-devnet` is: two packages, stubs, genesis files, a command.

The sources lie flat in the checkout, so that a wheel could carry tests or scripts into
site-packages, under names that are not ours to take.
"""

import configparser
import json
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from node.cli.new import _FILES as FILES_OF_NEW

ROOT = Path(__file__).resolve().parents[2]
GENESIS = ROOT / "genesis"
STUBS = ROOT / "stubs"


def built(kind: str, folder: Path) -> Path:
    """A wheel of this checkout, built by the installed hatchling without network."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return built("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def read(wheel: Path, suffix: str) -> str:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(suffix))
        return archive.read(name).decode()


def test_it_holds_node_and_pvm_and_stubs_and_nothing_else(names):
    folders = {name.split("/")[0] for name in names}
    information = {name for name in folders if name.endswith(".dist-info")}
    assert len(information) == 1
    stubs = {path.name for path in STUBS.iterdir()}
    assert folders - information == {"node", "pvm"} | stubs


def test_an_editable_install_names_no_example_actor_as_a_module(tmp_path):
    """What is named there pytest takes for modules, and warns of `token`."""
    with zipfile.ZipFile(built("wheel:editable", tmp_path)) as archive:
        names = archive.namelist()
    assert [name for name in names if ".dist-info/" not in name] == [
        "_cowboy_devnet.pth"
    ]


def test_it_holds_every_stub(names):
    expected = {path.relative_to(STUBS).as_posix() for path in STUBS.rglob("*.pyi")}
    assert {name for name in names if name.split("/")[0].endswith("-stubs")} == expected


def test_it_holds_the_project_that_new_makes(names):
    place = "node/_new_project/"
    found = {one.removeprefix(place) for one in names if one.startswith(place)}
    assert found == set(FILES_OF_NEW)


def test_it_holds_every_source_file_and_the_marks_of_typing(names):
    expected = {
        path.relative_to(ROOT).as_posix()
        for package in ("node", "pvm")
        for path in (ROOT / package).rglob("*")
        if path.suffix in {".py", ".pyi", ".typed"} or path.name == "py.typed"
    }
    packaged = {
        name
        for name in names
        if name.startswith(("node/", "pvm/"))
        and not name.startswith(
            ("node/_genesis/", "node/_new_project/", "node/explorer/static/")
        )
    }
    assert packaged == expected


def test_it_holds_every_file_of_the_page_with_the_licences_of_others(names):
    page = ROOT / "node" / "explorer" / "static"
    expected = {
        path.relative_to(ROOT).as_posix() for path in page.rglob("*") if path.is_file()
    }
    packaged = {name for name in names if name.startswith("node/explorer/static/")}
    assert packaged == expected
    assert "node/explorer/static/index.html" in packaged
    assert "node/explorer/static/vendor/LICENSE.preact" in packaged


def test_it_holds_the_genesis_files_and_the_example_actors(names):
    expected = {
        f"node/_genesis/{path.relative_to(GENESIS).as_posix()}"
        for path in GENESIS.rglob("*")
        if path.suffix in {".json", ".py"}
    }
    assert {name for name in names if name.startswith("node/_genesis/")} == expected
    assert {"node/_genesis/devnet.json", "node/_genesis/mesa.json"} <= expected


def test_its_genesis_files_are_the_ones_of_the_checkout(wheel):
    for preset in ("devnet", "mesa"):
        packaged = json.loads(read(wheel, f"node/_genesis/{preset}.json"))
        assert packaged == json.loads((GENESIS / f"{preset}.json").read_text())


def test_it_gives_the_command(wheel):
    points = configparser.ConfigParser(delimiters=["="])
    points.read_string(read(wheel, ".dist-info/entry_points.txt"))
    assert {section: dict(points[section]) for section in points.sections()} == {
        "console_scripts": {"cowboy-devnet": "node.cli:main"},
        "pytest11": {"cowboy_devnet": "node.testing.entry"},
    }


def test_its_metadata_says_what_pyproject_says(wheel):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    metadata = Parser().parsestr(read(wheel, ".dist-info/METADATA"))
    assert metadata["Name"] == "cowboy-devnet"
    assert metadata["License-Expression"] == "MIT"
    assert set(metadata["Requires-Python"].split(",")) == {">=3.11", "<3.14"}
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(each for all_ in extras.values() for each in all_),
    ]
    assert len(metadata.get_all("Requires-Dist")) == len(wanted)
    assert read(wheel, ".dist-info/licenses/LICENSE").startswith("MIT License")


def test_what_it_installs_runs_by_itself(wheel, tmp_path):
    """Outside the checkout, beside the dependencies of this environment."""
    target = tmp_path / "installed"
    pip = ["-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    subprocess.run(
        [sys.executable, *pip, "--no-deps", "--no-index", "--target", target, wheel],
        capture_output=True,
        check=True,
    )
    assert (target / "bin" / "cowboy-devnet").is_file()
    code = (
        "import node, node.cli, pvm, runpy, sys\n"
        "print(node.__file__, pvm.__file__, node.cli.__file__)\n"
        "sys.argv = ['cowboy-devnet', '--help']\n"
        "runpy.run_module('node', run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    paths, *usage = done.stdout.splitlines()
    assert all(path.startswith(f"{target}/") for path in paths.split())
    assert any("cowboy-devnet" in line for line in usage)
