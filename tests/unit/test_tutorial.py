"""The tutorial and the page about CI work as they are printed, step by step."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.consoles import blocks

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 300


@pytest.mark.parametrize(("page", "passed"), [("tutorial.md", 5), ("ci.md", 3)])
def test_every_file_of_the_page_is_green_together(page, passed, tmp_path):
    files = [
        code
        for language, code in blocks((ROOT / "docs" / page).read_text())
        if language == "python"
    ]
    assert files
    for code in files:
        (name,) = re.findall(r"^# (\w+\.py)$", code.splitlines()[0])
        (tmp_path / name).write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "node.testing.plugin"],
        cwd=tmp_path,
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_SECONDS,
    )
    assert done.returncode == 0, done.stdout
    assert f"{passed} passed" in done.stdout
