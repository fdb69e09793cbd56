"""docs/costs.md, followed as it is printed: each file saved, each command typed."""

import re
import sys
from pathlib import Path

import pytest
import yaml

from tests.console_blocks import is_what_came
from tests.doc_runner import ROOT, commands, files, page, save, type_in

PAGE = page("costs.md")
HERE = {
    "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
    "PYTHONPATH": str(ROOT),
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_ADDOPTS": "-p no:cacheprovider -p node.testing.plugin",
    "GITHUB_ACTIONS": "",
}
CHECK = "pytest -q --devnet-costs=costs.json --devnet-costs-check"


@pytest.mark.slow
def test_the_page_step_by_step(tmp_path):
    codes = {}
    for part in re.split(r"^(?=```(?:python|console)$)", PAGE, flags=re.MULTILINE):
        for name, code in files(part).items():
            save(tmp_path, name, code)
        for command, answer in commands(part):
            done = type_in(command, tmp_path, HERE)
            assert is_what_came(answer, done.stdout), (command, done.stdout)
            codes[command] = done.returncode
    assert codes == {
        "pytest -q --devnet-costs=costs.json": 0,
        "cat costs.json": 0,
        CHECK: 1,
        f"{CHECK} --devnet-costs-tolerance 20": 0,
    }


def test_the_recipe_checks_the_file():
    recipe = yaml.safe_load(files(PAGE)[".github/workflows/costs.yml"])
    assert recipe["jobs"]["costs"]["steps"][-1] == {"run": CHECK}
