"""The workflow for those who fork runs what `.ci/run` runs, by running it."""

import os
import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
CI = ROOT / ".ci" / "run"
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40}")


def workflow():
    (path,) = WORKFLOWS.iterdir()
    return path.read_text(), yaml.safe_load(path.read_text())


def steps():
    ((_, job),) = workflow()[1]["jobs"].items()
    return job["steps"]


def test_it_is_run_for_every_push_and_pull_request():
    _, document = workflow()
    assert set(document) == {"name", True, "permissions", "concurrency", "jobs"}
    triggers = document[True]  # YAML 1.1 reads `on` as a truth value, GitHub does not
    assert set(triggers) == {"push", "pull_request", "workflow_dispatch"}


def test_its_one_command_is_the_one_for_every_machine():
    assert [step["run"] for step in steps() if "run" in step] == [".ci/run"]
    assert os.access(CI, os.X_OK)


def test_what_it_uses_is_pinned_to_a_commit_and_says_which_release_that_is():
    text, _ = workflow()
    used = [step["uses"] for step in steps() if "uses" in step]
    assert used
    for each in used:
        assert PINNED.fullmatch(each), each
        assert re.search(rf"{each} # v\d+\.\d+\.\d+\n", text), each


def test_it_may_read_the_sources_and_nothing_else():
    assert workflow()[1]["permissions"] == {"contents": "read"}


def test_it_has_every_interpreter_that_the_project_supports():
    (versions,) = [
        step["with"]["python-version"].split()
        for step in steps()
        if "python-version" in step.get("with", {})
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    prefix = "Programming Language :: Python :: "
    assert sorted(versions) == sorted(
        line.removeprefix(prefix)
        for line in project["classifiers"]
        if line.startswith(prefix)
    )


def test_every_command_of_ci_is_a_target_of_the_makefile():
    """And CONTRIBUTING says of each when it is run."""
    makefile = (ROOT / "Makefile").read_text()
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    commands = re.findall(r"^ *make ([a-z0-9-]+)", CI.read_text(), re.MULTILINE)
    assert {"check", "test", "test-long", "e2e"} <= set(commands)
    for command in commands:
        assert re.search(rf"^{command}: .*## ", makefile, re.MULTILINE), command
        assert f"`make {command}" in contributing, command
