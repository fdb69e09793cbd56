"""examples/sdk-project is green with nothing but what is published."""

import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ROOT / "examples" / "sdk-project"
DEADLINE_SECONDS = 900


def run(*command, cwd):
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_names_nothing_of_the_checkout():
    for path in PROJECT.rglob("*.py"):
        text = path.read_text()
        for line in text.splitlines():
            if line.startswith(("import node", "from node")):
                assert line.startswith(("from node.client ", "from node.testing ")), (
                    path
                )


def test_it_wants_the_interpreters_that_the_package_wants():
    wanted = [
        tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        for folder in (ROOT, PROJECT)
    ]
    assert wanted[0]["requires-python"] == wanted[1]["requires-python"]


def test_its_tests_are_green(tmp_path):
    """On this interpreter and this checkout; what is published is tried below."""
    project = tmp_path / "sdk-project"
    shutil.copytree(PROJECT, project)
    output = run(sys.executable, "-m", "pytest", "-q", cwd=project)
    assert "11 passed" in output, output


@pytest.mark.slow
def test_it_is_green_in_a_clean_environment_with_only_the_wheel(tmp_path):
    """The wheel is built, installed beside what it requires, and the tests run."""
    wheels = tmp_path / "wheels"
    run(
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "wheel",
        "-d",
        wheels,
        cwd=ROOT,
    )
    (wheel,) = wheels.glob("*.whl")
    venv.create(tmp_path / "clean", with_pip=True)
    python = tmp_path / "clean" / "bin" / "python"
    project = tmp_path / "sdk-project"
    shutil.copytree(PROJECT, project)
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[pytest]", cwd=tmp_path)
    output = run(python, "-m", "pytest", "-q", cwd=project)
    assert "11 passed" in output, output
