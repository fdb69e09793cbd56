"""Coverage of actors held to others: stock coverage.py, lcov's genhtml, diff-cover.

Of the example actors all that their own tests do is also run by plain Python, with the
host's answers, and measured by coverage.py alone: both reports must be one.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from node.testing import Devnet

ROOT = Path(__file__).resolve().parents[2]
ACTORS = ROOT / "genesis" / "actors"
SUITES = ("tests/unit/test_examples.py", "tests/unit/test_examples_under_rules.py")
FIGURES = ("executed_lines", "missing_lines", "executed_branches", "missing_branches")
SECONDS_MAX = 500


def ran(*words, cwd, **environment):
    done = subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    return done.stdout


@pytest.mark.slow
def test_examples_have_the_coverage_that_plain_python_has(tmp_path):
    """Lines and branches, executed and missing, of all of them."""
    ours, plain = tmp_path / "ours.json", tmp_path / "plain.json"
    ran(
        *(sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"),
        *("-p", "tests.differential.plain_actors", *SUITES),
        *("--devnet-cov", ACTORS, "--devnet-cov-report", f"json:{ours}"),
        *("--devnet-cov-data", tmp_path / "data"),
        cwd=ROOT,
        PLAIN_COVERAGE=str(plain),
    )
    found, wanted = (
        {
            Path(name).name: {figure: told[figure] for figure in FIGURES}
            for name, told in json.loads(report.read_text())["files"].items()
        }
        for report in (ours, plain)
    )
    assert found == wanted
    assert found.keys() == {path.name for path in ACTORS.glob("*.py")}
    assert all(len(told["executed_lines"]) > 5 for told in found.values())


@pytest.fixture
def project(tmp_path):
    """A repository of an actor that is changed, whose chain ran it: its bundle."""
    actor = tmp_path / "counter.py"
    actor.write_bytes((ACTORS / "counter.py").read_bytes())
    git = "git", "-c", "user.name=a", "-c", "user.email=a@example.org"
    ran(*git, "init", "-q", "-b", "main", cwd=tmp_path)
    ran(*git, "add", "counter.py", cwd=tmp_path)
    ran(*git, "commit", "-q", "-m", "counter", cwd=tmp_path)
    text = actor.read_text()
    added = "    def twice(self):\n        return 2 * self.storage['count']\n"
    actor.write_text(f"{text}\n{added}")
    with Devnet() as chain:
        chain.deploy(actor).call("increment")
        chain.export_bundle(tmp_path / "chain.bundle")
    ran(
        *(sys.executable, "-m", "node", "coverage", "chain.bundle"),
        *("--actors=counter.py", "--report=lcov", "--report=xml", "--confine=off"),
        cwd=tmp_path,
        PYTHONPATH=str(ROOT),
    )
    return tmp_path


@pytest.mark.slow
def test_genhtml_reads_the_lcov_report(project):
    """Lines: of branches lcov 1 wants numbers, and coverage.py gives them names."""
    shown = ran("genhtml", "coverage.lcov", "-o", "html", cwd=project)
    records = (project / "coverage.lcov").read_text().splitlines()
    lines = [record for record in records if record.startswith("DA:")]
    ran_lines = [record for record in lines if not record.endswith(",0")]
    assert 10 < len(ran_lines) < len(lines)
    assert f"({len(ran_lines)} of {len(lines)} lines)" in shown
    assert sum(record.startswith("BRDA:") for record in records) == 4
    assert (project / "html" / "index.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("report", ["coverage.xml", "coverage.lcov"])
def test_diff_cover_finds_the_changed_line_that_did_not_run(project, report):
    diff_cover = Path(sys.executable).with_name("diff-cover")
    shown = ran(diff_cover, report, "--compare-branch=main", cwd=project)
    line = len((project / "counter.py").read_text().splitlines())
    assert f"counter.py (50.0%): Missing lines {line}" in shown
