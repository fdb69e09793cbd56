"""docs/debugging.md, followed as it is printed: each file saved, each command typed."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.console_blocks import blocks, is_what_came
from tests.debug_adapter import DebugAdapter
from tests.doc_runner import ROOT, commands, files, page, save, type_in

PAGE = page("debugging.md")
HERE = {
    "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
    "PYTHONPATH": str(ROOT),
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_ADDOPTS": "-p no:cacheprovider -p node.testing.plugin",
}
PROMPT = re.compile(r"^\(Pdb\) (.*)$", re.MULTILINE)


def parts(text):
    return re.split(r"^(?=```(?:python|console|json)$)", text, flags=re.MULTILINE)


def typed(command, answer, folder):
    """A command; what a person types at its debugger comes from a pipe, unseen."""
    asked = PROMPT.findall(answer)
    if not asked:
        return type_in(command, folder, HERE), answer
    lines = "\\n".join(asked)
    shown = re.sub(r"^\(Pdb\) .*\n", "(Pdb) ", answer, flags=re.MULTILINE)
    shown = shown.replace("(Pdb) …\n", "(Pdb) …\n…\n")  # the line and others
    return type_in(f"printf '{lines}\\n' | {command}", folder, HERE), shown


@pytest.mark.slow
def test_the_page_step_by_step(tmp_path):
    count = 0
    for part in parts(PAGE):
        for name, code in files(part).items():
            save(tmp_path, name, code)
        for command, answer in commands(part):
            done, shown = typed(command, answer, tmp_path)
            assert is_what_came(shown, done.stdout), (command, done.stdout)
            count += 1
    assert count == 5


@pytest.mark.slow
def test_the_configuration_of_the_editor_stops_at_a_breakpoint(tmp_path):
    """As VS Code starts it, with its folder, in the actor as it is at first."""
    (code,) = (code for language, code in blocks(PAGE) if language == "json")
    launch = json.loads(code.replace("${workspaceFolder}", str(tmp_path)))
    for part in parts(PAGE.partition("## Print")[0]):
        for name, source in files(part).items():
            save(tmp_path, name, source)
    assert (launch.pop("type"), launch.pop("request")) == ("debugpy", "launch")
    actor = tmp_path / "tickets.py"
    with DebugAdapter(tmp_path) as debugger:
        debugger.launch({actor: [20]}, **launch, env=HERE)
        frame, variables = debugger.stopped()
        assert (frame["source"]["path"], frame["line"]) == (str(actor), 20)
        assert variables["name"] == "'ann'"
        debugger.resume()
        assert debugger.stopped() is None
