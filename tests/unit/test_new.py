"""`cowboy-devnet new NAME`: a project that passes its own checks at once."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from node.cli import main
from node.cli.new import _FILES as FILES
from node.cli.new import project_folder
from tests.interpreters import HERE, VERSIONS, environments, others

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 900


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def new(name, code=0):
    done = CliRunner().invoke(main, ["new", "--", name])
    assert done.exit_code == code, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done.output


def files(folder):
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_it_writes_the_project_under_its_name(folder):
    shown = new("my-shop")
    project = folder / "my-shop"
    assert files(project) == set(FILES)
    assert [line for line in shown.splitlines() if "/" in line][: len(FILES)] == [
        f"my-shop/{name}" for name in FILES
    ]
    assert (project / "README.md").read_text().startswith("# my-shop\n")
    assert 'name = "my-shop"' in (project / "pyproject.toml").read_text()
    assert not any("new-project" in (project / name).read_text() for name in FILES)
    assert [path.name for path in folder.iterdir()] == ["my-shop"]


def test_all_files_of_the_example_are_written():
    source = project_folder()
    own = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "."],
        cwd=source,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert sorted(FILES) == sorted(own)


def test_an_empty_folder_is_filled(folder):
    (folder / "shop").mkdir()
    new("shop")
    assert files(folder / "shop") == set(FILES)


def test_what_is_there_stays(folder):
    (folder / "shop").mkdir()
    kept = folder / "shop" / "mine.py"
    kept.write_text("x = 1")
    assert "shop is there already, and is not empty" in new("shop", 2)
    (folder / "file").write_text("x")
    assert "file is there already, and is no folder" in new("file", 2)
    (folder / "link").symlink_to(folder / "nowhere")
    assert "link is there already, and is no folder" in new("link", 2)
    assert kept.read_text() == "x = 1"
    assert sorted(path.name for path in folder.iterdir()) == ["file", "link", "shop"]


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../shop", "/tmp/shop", "a/b", "-x", "x-", ".hidden", "a b", "é",
     "\udcff", "x" * 101, "a\nb", "~"],
)  # fmt: skip
def test_a_name_that_is_none_is_refused(folder, name):
    assert "is no name of a project" in new(name, 2)
    assert list(folder.iterdir()) == []


def test_a_place_that_takes_nothing_is_told(folder, monkeypatch):
    def refuse(*_arguments, **_named):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    assert "shop cannot be written here: Permission denied" in new("shop", 2)
    assert list(folder.iterdir()) == []


def test_a_disk_that_fills_leaves_nothing(folder, monkeypatch):
    write = Path.write_text

    def fill(self, *arguments, **named):
        if self.name == "pyproject.toml":
            raise OSError(28, "No space left on device")
        return write(self, *arguments, **named)

    monkeypatch.setattr(Path, "write_text", fill)
    assert "No space left on device" in new("shop", 2)
    assert list(folder.iterdir()) == []


def recipe(project):
    """What the job runs, and on which interpreters."""
    text = (project / ".github" / "workflows" / "ci.yml").read_text()
    (job,) = yaml.safe_load(text)["jobs"].values()
    steps = [step["run"] for step in job["steps"] if "run" in step]
    return job["strategy"]["matrix"]["python"], steps


def test_the_recipe_has_every_interpreter_that_actors_run_on():
    versions, _ = recipe(project_folder())
    assert versions == list(VERSIONS)


def test_the_readme_says_what_the_recipe_does():
    readme = (project_folder() / "README.md").read_text()
    _, steps = recipe(project_folder())
    shown = re.findall(r"^\$ (.*)$", readme, re.MULTILINE)[1:]
    steps = [step.replace(" --format github", "") for step in steps]
    assert shown == steps


def run(command, cwd, **variables):
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_SECONDS,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_what_it_makes_passes_its_own_checks(folder):
    """Here; in a fresh environment, and with its types, it is tried below."""
    new("shop")
    _, (_, check, types, tests) = recipe(folder / "shop")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    assert run(check, folder / "shop", PATH=path) == ""
    assert types == "basedpyright"
    shown = run(tests, folder / "shop", PATH=path)
    assert "7 passed" in shown
    assert re.search(r"^actors/pulse.py .* 100%", shown, re.MULTILINE)
    assert "nothing costs more than in costs.json" in shown
    assert "written under rules" not in shown


@pytest.mark.slow
def test_its_costs_are_those_of_its_tests(folder):
    """Else: pytest --devnet-costs=costs.json in examples/new-project, and commit it."""
    new("shop")
    kept = json.loads((folder / "shop" / "costs.json").read_text())
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run("pytest --devnet-costs=costs.json", folder / "shop", PATH=path)
    written = json.loads((folder / "shop" / "costs.json").read_text())
    assert written["tests"] == kept["tests"]


def test_an_actor_that_a_chain_would_refuse_fails_the_recipe(folder, monkeypatch):
    new("shop")
    actor = folder / "shop" / "actors" / "pulse.py"
    actor.write_text(actor.read_text().replace("GAS_LIMIT = 20_000", "GAS_LIMIT = 1.5"))
    _, (_, check, *_) = recipe(folder / "shop")
    monkeypatch.chdir(folder / "shop")
    command, *words, files_ = check.split()
    assert (command, files_) == ("cowboy-devnet", "actors/*.py")
    done = CliRunner().invoke(main, [*words, "actors/pulse.py"])
    assert done.exit_code == 1
    assert done.stdout.startswith("::error file=actors/pulse.py,line=14,")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """This checkout as a wheel, and the locked versions of all that it may want."""
    made = tmp_path_factory.mktemp("wheels")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", made]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    lock = (ROOT / "requirements" / "dev.lock").read_text()
    locked = re.findall(r"^[^\s#-].*?==[^\\\n]*", lock, re.MULTILINE)
    (made / "constraints.txt").write_text("\n".join(locked) + "\n")
    return made


INTERPRETERS = {HERE: Path(sys.executable), **environments()}


def test_no_interpreter_is_missing_that_must_not_be():
    """REQUIRE_INTERPRETERS of `.ci/run`."""
    assert set(others()) <= set(INTERPRETERS.values())


@pytest.mark.slow
@pytest.mark.parametrize("version", sorted(INTERPRETERS))
def test_it_passes_in_a_fresh_environment_as_its_recipe_says(version, tmp_path, wheels):
    """Of the wheel alone, by the commands of the recipe and no others."""
    python, fresh = INTERPRETERS[version], tmp_path / "fresh"
    run(f"{python} -m venv {fresh}", tmp_path)
    variables = {
        "PATH": os.pathsep.join([str(fresh / "bin"), os.environ["PATH"]]),
        "PIP_FIND_LINKS": str(wheels),
        "PIP_CONSTRAINT": str(wheels / "constraints.txt"),
        "PYTHONPATH": "",
        "GITHUB_ACTIONS": "true",
        "CI": "true",
    }
    run("pip install cowboy-devnet", tmp_path, **variables)
    run("cowboy-devnet new shop", tmp_path, **variables)
    project = tmp_path / "shop"
    _, steps = recipe(project)
    shown = [run(step, project, **variables) for step in steps]
    assert "7 passed" in shown[-1]
    run("pip install mypy && mypy", project, **variables)
