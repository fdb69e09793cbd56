"""The tutorial and the page about CI, followed as they are printed.

What of the page about CI needs Docker is tried by `make e2e`.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.console_blocks import is_what_came
from tests.doc_runner import ROOT, commands, files, page, save, type_in

HERE = {
    "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
    "PYTHONPATH": str(ROOT),
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_ADDOPTS": "-p no:cacheprovider -p node.testing.plugin",
}
"""The interpreter of these tests, and nothing else that its environment loads."""


def needs_docker(text):
    return any(word in text for word in ("containers", "docker", "--devnet-url"))


GREEN = [
    ("tutorial.md", 5),
    ("tutorial-bidding.md", 8),
    ("tutorial-watching.md", 9),
    ("ci.md", 7),
    ("debugging.md", 2),
]
PROFILED = ("tutorial.md", "ci.md", "debugging.md")
"""Pages whose tests use the fixtures of the plugin."""


@pytest.mark.parametrize(("name", "passed"), GREEN)
def test_every_file_of_the_page_is_green_together(name, passed, tmp_path):
    save_files(name, tmp_path)
    done = type_in("pytest -q --devnet-profile profile.json", tmp_path, HERE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{passed} passed" in done.stdout
    written = {path.name for path in tmp_path.iterdir()}
    assert ({"profile.json", "profile.txt"} <= written) == (name in PROFILED)


def save_files(name, folder):
    for file, code in files(page(name)).items():
        if not needs_docker(file):
            save(folder, file, code)


@pytest.mark.parametrize("name", ["tutorial-bidding.md", "tutorial-watching.md"])
def test_every_command_of_the_page_answers_as_it_is_printed(name, tmp_path):
    save_files(name, tmp_path)
    for command, answer in commands(page(name)):
        done = type_in(command, tmp_path, HERE)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        assert is_what_came(answer, done.stdout), (command, done.stdout)


def test_the_commands_about_ci_are_those_that_are_tried():
    """Two here, the rest by tests/e2e/test_recipes.py."""
    typed = [command for command, _ in commands(page("ci.md"))]
    assert [each for each in typed if not needs_docker(each)] == [
        "pytest -q",
        "pytest -q --devnet-profile profile.json",
    ]
    assert [each for each in typed if needs_docker(each)] == [
        "pytest -q containers",
        "docker compose up --detach --wait node",
        "pytest -q --devnet-url 127.0.0.1:50051",
        "docker compose down --volumes",
    ]


@pytest.mark.slow
def test_the_tutorial_step_by_step_as_a_new_user_types_it(tmp_path):
    """In an empty folder, with an index that has the wheel of this checkout."""
    wheels, here = tmp_path / "wheels", tmp_path / "here"
    build = ["-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
    subprocess.run([sys.executable, *build], cwd=ROOT, check=True, capture_output=True)
    here.mkdir()
    variables = {
        "PATH": f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    parts = re.split(
        r"^(?=```(?:python|console)$)", page("tutorial.md"), flags=re.MULTILINE
    )
    for part in parts:
        for name, code in files(part).items():
            save(here, name, code)
        for command, answer in commands(part):
            done = type_in(command, here, variables)
            assert done.returncode == 0, (command, done.stdout, done.stderr)
            if answer:
                assert is_what_came(answer, done.stdout), (command, done.stdout)
    assert_a_late_fire_is_explained(here, variables)
    told = type_in("pytest -q", here, variables)
    assert "5 passed" in told.stdout


def assert_a_late_fire_is_explained(here, variables):
    """Step 4: let the test expect the fire one block late."""
    test = here / "test_reminder.py"
    printed = test.read_text()
    test.write_text(printed.replace("devnet.height + 10)", "devnet.height + 11)", 1))
    told = type_in("pytest -q test_reminder.py", here, variables)
    assert told.returncode == 1
    assert "does not fire at height" in told.stdout
    assert "the last blocks:" in told.stdout
    assert re.search(r"^Height \d+: scheduled", told.stdout, re.MULTILINE), told.stdout
    test.write_text(printed)
