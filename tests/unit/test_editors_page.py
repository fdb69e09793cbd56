"""docs/editors.md, followed as it is printed: each file saved, each command typed."""

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.console_blocks import blocks, is_what_came
from tests.doc_runner import ROOT, commands, files, page, save, type_in
from tests.sarif import require_sarif

PAGE = page("editors.md")
HERE = {
    "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
    "PYTHONPATH": str(ROOT),
}


@pytest.fixture
def folder(tmp_path):
    """All that the page has saved."""
    for name, code in files(PAGE).items():
        save(tmp_path, name, code)
    (settings,) = (code for language, code in blocks(PAGE) if language == "toml")
    save(tmp_path, "pyproject.toml", settings)
    return tmp_path


@pytest.mark.slow
def test_the_page_step_by_step(folder):
    every = list(commands(PAGE))
    assert len(every) == 5
    for command, answer in every:
        done = type_in(command, folder, HERE)
        assert is_what_came(answer, done.stdout), (command, done.stdout)


def test_the_workflow_makes_a_log_that_code_scanning_takes(folder):
    code = files(PAGE)[".github/workflows/scan.yml"]
    (job,) = yaml.safe_load(code)["jobs"].values()
    (scan,) = (step["run"] for step in job["steps"] if "sarif" in step.get("run", ""))
    (upload,) = (
        step for step in job["steps"] if "upload-sarif" in step.get("uses", "")
    )
    done = type_in(scan, folder, HERE)
    assert done.returncode == 0, done.stderr
    log = json.loads((folder / upload["with"]["sarif_file"]).read_text())
    require_sarif(log)
    assert [one["ruleId"] for one in log["runs"][0]["results"]] == [
        "true-division-gives-floats"
    ]


def test_its_settings_are_those_of_a_new_project():
    (settings,) = (code for language, code in blocks(PAGE) if language == "toml")
    project = ROOT / "examples" / "new-project" / "pyproject.toml"
    own = tomllib.loads(project.read_text())["tool"]["pyright"]
    assert tomllib.loads(settings)["tool"]["pyright"].items() <= own.items()


def test_the_names_for_annotations_are_those_of_the_stubs():
    stub = (ROOT / "stubs" / "pvm_host-stubs" / "__init__.pyi").read_text()
    for name in re.findall(r"`pvm_host\.([A-Z]\w+)`", PAGE):
        assert re.search(rf"^(class )?{name}\b", stub, re.MULTILINE), name
