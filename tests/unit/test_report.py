"""`cowboy-devnet check` and the report it prints: an actor's file without a node."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from node.cli import main
from pvm import CompileError, compile_actor, report_on
from pvm.testing import World

GENESIS = sorted((Path(__file__).parents[2] / "genesis" / "actors").glob("*.py"))

RULED = b"""
from cowboy_sdk import OWNER, SELF, actor, callable_by, public
import json


def tools(n):
    return n


@actor
class Shop:
    def deploy(self):
        self.storage["n"] = 0

    @public
    def look(self):
        for i in range(3):
            if i:
                self.storage[str(i)] = json.dumps([i, i, i, i, i, i, i, i])
        return 1

    @callable_by(OWNER, SELF)
    def stock(self, payload):
        return tools(1)

    def tidy(self):
        return 1

    def upgrade(self, payload):
        self.storage["n"] = 1
"""


def run(*words, code=0):
    result = CliRunner().invoke(main, ["check", *map(str, words)])
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize("path", GENESIS, ids=lambda path: path.stem)
def test_the_examples_are_accepted_with_the_handlers_that_messages_reach(path):
    report = report_on(path.read_bytes())
    code = compile_actor(path.read_bytes())
    assert tuple(handler.name for handler in report.handlers) == code.handlers
    assert report.actor_class == code.actor_class
    assert all(handler.blocks for handler in report.handlers)
    assert path.stem in run(path)


def test_who_may_call_is_what_the_decorators_say():
    """host-api.md §4: without a mark a method of a ruled class is the actor's own."""
    report = report_on(RULED)
    who = {handler.name: handler.who for handler in report.handlers}
    assert who == {
        "tools": "everybody",
        "deploy": "the deployment",
        "look": "everybody",
        "stock": "OWNER, SELF",
        "tidy": "the actor itself",
        "upgrade": "an upgrade",
    }
    assert report.imports == ("cowboy_sdk", "json")
    assert report.handlers[3].rules == ("callable_by",)


def test_a_block_costs_what_the_meter_counts():
    """Without work on operands an execution costs its blocks and no more."""
    source = b"def run():\n    x = 1\n    while x < 1:\n        x = 2\n    return None"
    report = report_on(source)
    world = World()
    used = world.call(world.add(source), "run").cycles_used
    body = sum(block.cycles for block in report.body)
    assert used == body + report.handlers[0].blocks[0].cycles


def test_the_blocks_of_a_handler_are_those_that_stand_in_it():
    look = report_on(RULED).handlers[2]
    # The body, the loop, the arm, and what leaves a method that has a rule.
    assert [block.line for block in look.blocks] == [17, 18, 19, 17]
    for block in look.blocks:
        assert sum(cycles for _, cycles in block.lines) == block.cycles


def test_a_report_says_how_much_room_is_left():
    room = {one.what: (one.used, one.limit) for one in report_on(RULED).room}
    assert room["bytes of source"] == (len(RULED), 65_536)
    assert room["functions"] == (6, 256)
    assert 0 < room["nodes of syntax"][0] < room["nodes of syntax"][1]


def test_every_refusal_is_told_with_its_place_and_what_to_write(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text("import os\nx = 1.5\ndef f():\n    input(1)\n")
    printed = run(file, code=1)
    for place in (":1:0: ", ":2:4: ", ":4:4: "):
        assert f"{file}{place}" in printed
    assert "instead: the payload" in printed
    answer = json.loads(run(file, "--json", code=1))
    assert not answer["accepted"]
    with pytest.raises(CompileError) as refused:
        compile_actor(file.read_bytes())
    assert [row["reason"] for row in answer["refusals"]] == [
        refusal.reason for refusal in refused.value.refusals
    ]
    assert set(answer["refusals"][0]) == {
        "line",
        "column",
        "end_line",
        "end_column",
        "rule",
        "reason",
        "instead",
    }


def test_json_has_the_whole_report(tmp_path):
    file = tmp_path / "shop.py"
    file.write_bytes(RULED)
    answer = json.loads(run(file, "--json"))
    assert answer["accepted"]
    assert [one["name"] for one in answer["handlers"]][:2] == ["tools", "deploy"]
    assert answer["handlers"][0]["blocks"][0]["cycles"] > 0


@pytest.mark.parametrize("content", [b"", b"\xff\n", b"x = 1\n" * 20_000])
def test_any_file_is_accepted_or_refused(tmp_path, content):
    file = tmp_path / "any.py"
    file.write_bytes(content)
    assert run(file, code=0 if not content else 1)


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path):
    run(tmp_path / "nowhere.py", code=2)


def test_a_report_reads_long_integers_as_a_node_does():
    """`check` under PYTHONINTMAXSTRDIGITS=640 refused what every node compiles."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert report_on(b"X = " + b"9" * 1_200 + b"\ndef run(): pass\n").handlers
        assert sys.get_int_max_str_digits() == 640
    finally:
        sys.set_int_max_str_digits(before)


# --- whatever the environment ---------------------------------------------------------

_SOURCES = {
    "words": 'X = "\\d"\ndef run(x):\n    """doc"""\n    assert x, "no"\n',
    "digits": f"X = {'9' * 1_200}\ndef run():\n    return X\n",
    "too_many_digits": f"X = {'9' * 4_301}\ndef run():\n    return X\n",
    "long": f"def run(x):\n    return {' + '.join('x' * 400)}\n",
    "deep": f"def run(x):\n    return {'(' * 60}x{')' * 60}\n",
}
_CHECKING = """
import sys
from node.cli import main
if sys.argv[1] != "0":
    sys.setrecursionlimit(int(sys.argv[1]))
for file in sys.argv[2:]:
    try:
        main(["check", "--json", file])
    except SystemExit as ended:
        print(ended.code)
"""


def checked(folder, limit=0, flags=(), **variables):
    """What `check` prints of all the sources, in a process of its own."""
    done = subprocess.run(
        [sys.executable, *flags, "-c", _CHECKING, str(limit), *sorted(_SOURCES)],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, **variables},
    )
    return done.stdout, done.stderr


def test_check_reads_a_source_as_a_node_does_whatever_the_environment(tmp_path):
    """`-O`, warnings, digits and depth belong to who runs it, not to the language."""
    for name, source in _SOURCES.items():
        (tmp_path / name).write_text(source)
    wanted = checked(tmp_path)
    assert wanted[0].count("\n0\n") == 3  # the others are refused
    for changed in (
        {"flags": ["-OO", "-W", "error"], "PYTHONINTMAXSTRDIGITS": "640"},
        {
            "PYTHONOPTIMIZE": "1",
            "PYTHONWARNINGS": "error",
            "PYTHONINTMAXSTRDIGITS": "0",
        },
        {"limit": 300, "PYTHONHASHSEED": "1"},
        {"limit": 100_000, "LC_ALL": "C", "PYTHONUTF8": "0"},
    ):
        assert checked(tmp_path, **changed) == wanted, changed
