"""The commands, against a node's process: what they print, and their exit codes."""

import base64
import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import click
import grpc
import pytest
import trustme
from click.testing import CliRunner, Result

from node.chain.genesis import dev_account
from node.cli import arguments, main
from node.cli.output import bytes_text, cbor_text, returned_text
from node.cli.timers import change_row, watched_text
from node.primitives import codec
from node.primitives.crypto import dev_private_key, keccak256
from node.query.explain.numbers import counted
from node.rpc.v1 import streams_pb2, timers_pb2, types_pb2

ROOT = Path(__file__).parents[2]
DEADLINE_SECONDS = 30
ACTOR = """
class Actor:
    def start(self, payload):
        self.storage["beats"] = 0
        pvm_host.schedule_timer(pvm_host.block_height() + 2, b"", gas_limit=100_000)
        return "started " + payload.decode()

    def handle_timer(self, payload):
        self.storage["beats"] += 1
        pvm_host.emit_event("beat", b"thump")
        print("thump")

    def beats(self):
        return {"beats": self.storage["beats"]}

    def fail(self):
        raise ValueError("never")
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory) -> str:
    """A node that makes a block for each transaction."""
    ready = tmp_path_factory.mktemp("node") / "ready.json"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "node", "start", "--data-dir", ":memory:"),
            *("--grpc-listen", "127.0.0.1:0", "--mining", "instant"),
            *("--ready-file", str(ready)),
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not ready.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            os.sched_yield()
        yield json.loads(ready.read_text())["grpc"]
    finally:
        process.terminate()
        assert process.wait(DEADLINE_SECONDS) == 0


@pytest.fixture
def run(url: str):
    """Run a command against the node."""

    def run_command(*words: str, code: int = 0) -> Result:
        runner = CliRunner(env={"COWBOY_DEVNET_URL": url})
        result = runner.invoke(main, list(words), prog_name="cowboy-devnet")
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return run_command


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "heart.py"
    path.write_text(ACTOR)
    return str(path)


def json_of(result: Result):
    return json.loads(result.stdout)


@pytest.fixture
def actor(run, file: str, request) -> str:
    salt = keccak256(request.node.name.encode()).hex()
    deployed = run("deploy", file, "--salt", f"0x{salt}", "--value", "5 CBY", "--json")
    return json_of(deployed)["committed"]["receipt"]["actor"]


def table_of(text: str) -> dict[str, str]:
    """The fields of an answer, as far as to the first empty line."""
    lines = text.partition("\n\n")[0].splitlines()
    return {line[:19].strip(): line[19:].strip() for line in lines}


def table(result: Result) -> dict[str, str]:
    """The lines of the list of fields that an answer begins with.

    A table may follow (a block's events, say), whose header is no field.
    """
    fields: dict[str, str] = {}
    for line in result.stdout.splitlines():
        name, gap, text = line.partition("  ")
        if gap:
            fields.setdefault(name, text.strip())
    return fields


# --- what a person sees ---------------------------------------------------------------


def test_transfer_shows_what_became_of_it(run) -> None:
    shown = table(run("transfer", "1", "5 CBY"))
    assert shown["status"] == "succeeded"
    assert shown["sender"] == f"0x{dev_account(0).hex()}"
    assert shown["target"] == f"0x{dev_account(1).hex()}"
    assert "base units" in shown["fee"]


def test_deploy_call_and_read_an_actor(run, actor: str) -> None:
    called = table(run("call", actor, "start", "now"))
    assert (called["value"], called["handler"]) == ("started now", "start")
    assert run("read", actor, "beats").stdout == "{beats: 0}\n"
    run("mine", "2")
    assert run("read", actor, "beats").stdout == "{beats: 1}\n"
    shown = table(run("actor", actor))
    assert shown["handlers"] == "start, handle_timer, beats, fail"
    assert run("actor", actor, "--source").stdout.strip() == ACTOR.strip()
    assert "beats" in run("storage", actor).stdout
    events = run("events", "--actor", actor, "--topic", "beat").stdout
    assert "thump" in events
    others = run("events", "--actor", actor, "--topic", "other").stdout
    assert "thump" not in others


def test_a_call_is_profiled_and_not_sent(run, actor: str, tmp_path: Path) -> None:
    """What its receipt would say, line by line, to the unit; and for speedscope."""
    file, before = tmp_path / "call.json", run("status").stdout
    report = run("call", actor, "start", "now", "--profile", str(file)).stdout
    assert run("status").stdout == before
    document = json.loads(file.read_text())
    receipt = json_of(run("call", actor, "start", "now", "--json"))["committed"]
    used = int(receipt["receipt"]["cycles_used"])
    assert document["profiles"][0]["endValue"] == used
    assert f"1 execution: {used:,} cycles" in report
    assert 'self.storage["beats"] = 0' in report
    refused = run("call", "1", "h", "--profile", str(file), "--from", "0x" + "7" * 40,
                  code=1)  # fmt: skip
    assert "INSUFFICIENT" in refused.output.upper()


def test_a_list_has_all_its_pages(run, actor: str, monkeypatch) -> None:
    for _ in range(2):
        run("call", actor, "start", "now")
    of_actor = "timers", "list", "--actor", actor, "--json"
    whole = run(*of_actor).stdout
    assert len(whole.splitlines()) == 2
    monkeypatch.setattr("node.cli.timers._PAGE_TIMERS", 1)
    assert run(*of_actor).stdout == whole


def test_timers_are_listed_and_shown(run, actor: str) -> None:
    called = json_of(run("call", actor, "start", "--json"))
    (timer_id,) = called["committed"]["receipt"]["scheduled_timer_ids"]
    name = timer_id
    assert name in run("timers", "list", "--actor", actor).stdout
    assert name in run("timers", "--actor", actor).stdout
    shown = table(run("timers", "show", name))
    assert (shown["status"], shown["gas limit"]) == ("pending", "100,000 cycles")
    assert "as things stand: it is looked at" in run("timers", "why", name).stdout
    assert "pending timer" in run("timers", "quote", actor).stdout
    assert "1 fire for " in run("timers", "ahead", "5").stdout
    run("mine", "2")
    told = run("timers", "why", name).stdout
    assert "handle_timer succeeded." in told.splitlines()[-1]
    ended = json_of(run("timers", "why", name, "--json"))["timer"]["end"]
    height = str(ended["height"])
    told = run("block", height.replace(",", ""), "--timers").stdout
    assert told.startswith(f"Block {int(height):,} looked at 1 due timer.\n1. {name}")
    assert json_of(run("block", height, "--timers", "--json"))["due_count"] == 1
    assert name not in run("timers", "--actor", actor).stdout
    assert name in run("timers", "list", "--status", "fired", "--actor", actor).stdout
    assert "receipt" in run("timers", "show", name).stdout


def test_heights_are_drawn_and_told_in_numbers(run, actor: str) -> None:
    called = json_of(run("call", actor, "start", "--json"))["committed"]["receipt"]
    height = called["height"]
    drawn = run("timers", "calendar", "--from", "0", "--rows", "64").stdout
    assert drawn.startswith(f"head {height:,}: ")
    told = json_of(run("timers", "calendar", "--from", "0", "--json"))
    assert f": {counted(told['pending'], 'timer')} pending" in drawn.splitlines()[0]
    assert sum(one["pending"] for one in told["buckets"]) == told["pending"] > 0
    run("mine", "2")
    lane = run("block", f"{height + 2}", "--lane").stdout
    page = json_of(run("block", f"{height + 2}", "--lane", "--json"))
    due = counted(page["due_count"], "due timer")  # those of other tests, too
    assert lane.startswith(f"block {height + 2:,}: {due} in the order considered")
    assert f"  {actor[:10]}…  fired" in lane
    fees = run("fees", "--blocks", "3", "--rows", "8").stdout
    assert len(fees.splitlines()) == 2 + 3
    use = json_of(run("fees", "--blocks", "3", "--json"))
    assert [one["from_height"] for one in use["buckets"]] == [
        height, height + 1, height + 2,
    ]  # fmt: skip
    assert run("timers", "calendar", "--from", "9", "--to", "3", code=1)
    assert run("fees", "--rows", "2000", code=2)


def test_the_past_of_a_storage_is_shown(run, actor: str) -> None:
    run("call", actor, "start")
    run("mine", "2")
    shown = run("storage", actor, "storage:beats", "--past").stdout.splitlines()
    assert shown[0].split() == [
        "height", "key", "before", "after", "by", "handler", "id",
    ]  # fmt: skip
    assert [line.split()[1:5] for line in shown[1:]] == [
        ["beats", "0", "1", "fire"],
        ["beats", "-", "0", "transaction"],
    ]
    told = run("storage", actor, "storage:beats", "--past", "--json").stdout
    *changes, last = map(json.loads, told.splitlines())
    assert last["end"]["stop"] in {"complete", "not-kept"}
    fired = changes[0]["change"]
    values = [fired[name] for name in ("before", "raw_before", "after", "raw_after")]
    assert values == [0, "0x00", 1, "0x01"]
    assert run("storage", actor, "--past", "--prove", code=2)


def test_what_is_shown_can_be_proven(run, actor: str) -> None:
    """Shown is what the proof says, and the hash of the block that it follows from."""
    called = json_of(run("call", actor, "start", "--json"))["committed"]["receipt"]
    (timer,) = called["scheduled_timer_ids"]
    transaction = called["id"]
    head = table(run("status"))
    proven = f"proven by block {head['height']} with hash {head['head']}: "
    shown = run("accounts", "--count", "2", "--prove").stdout
    assert shown == run("accounts", "--count", "2").stdout + (
        f"{proven}balances and nonces\n"
    )
    for words in ((), ("--prefix", "__")):
        shown = run("storage", actor, *words, "--prove").stdout
        plain = run("storage", actor, *words).stdout
        assert shown.startswith(plain)
        assert (f"{proven}what is stored" in shown) == ("beats" in plain)
    shown = run("timers", "list", "--actor", actor, "--prove").stdout
    plain = run("timers", "list", "--actor", actor).stdout
    assert shown.startswith(plain)
    assert f"{proven}these timers, and no other" in shown
    last = str(2**64 - 1)
    nothing = run("timers", "list", "--first", last, "--last", last, "--prove").stdout
    assert f"{proven}these timers, and no other" in nothing
    shown = table(run("timers", "show", timer, "--prove"))
    plain = table(run("timers", "show", timer))
    del plain["tier"]  # no record says it: time changes it
    assert shown == plain
    assert proven + "this receipt" in run("tx", transaction, "--prove").stdout
    answer = json_of(run("timers", "show", timer, "--prove", "--json"))
    assert len(answer["records"]) == 1


def test_what_is_not_there_can_be_proven(run, actor: str) -> None:
    shown = run("storage", actor, "never", "--prove").stdout
    assert "nothing is stored there" in shown
    assert "proven by block" in shown


RUDE = """
import pvm_host

CODES = "\\x1b]0;owned\\x07\\u202e\\u200b"

def speak(payload):
    print(CODES, CODES.encode())
    pvm_host.log("info", CODES)
    pvm_host.emit_event(CODES, CODES.encode())
    pvm_host.set_state(b"\\x1b[2J", CODES.encode())
    return CODES.encode()

def tell(payload):
    return CODES.encode()

def fail(payload):
    raise ValueError(CODES)
# \x1b[2J\u202e
"""


def test_a_failed_deployment_shows_no_actor(run, tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("class A:\n    def deploy(self):\n        raise ValueError('no')\n")
    result = run("deploy", str(path), code=1)
    assert not {"actor", "target"} & table(result).keys()
    assert (
        not {"actor", "target"} & table(run("tx", table(result)["id"], code=1)).keys()
    )


def test_a_source_that_does_not_parse_is_told_why(run, actor: str, tmp_path) -> None:
    path = tmp_path / "unclosed.py"
    path.write_text("x = (1\n")
    for words in (["deploy"], ["upgrade", actor], ["set-code", actor]):
        result = run(*words, str(path), code=1)
        assert "does not parse: '(' was never closed\n" in result.stderr
    id_ = table(run("deploy", str(path), code=1))["id"]
    assert "'(' was never closed" in run("tx", id_, code=1).stderr


def test_a_second_deployment_of_a_file_says_how_to_go_on(run, file) -> None:
    run("deploy", file, "--salt", "twice")
    assert "--salt TEXT" in run("deploy", file, "--salt", "twice", code=1).stderr


def test_reads_of_an_earlier_height(run, actor: str) -> None:
    """What `at_height` is of the API."""
    run("call", actor, "start", "x")
    height = int(table(run("status"))["height"])
    run("mine", "4")
    at = ("--at", str(height))
    assert run("storage", actor, *at).stdout != run("storage", actor).stdout
    assert run("storage", actor, "--prove", *at).stdout.count(
        f"proven by block {height}"
    )
    assert "beats: 0" in run("read", actor, "beats", *at).stdout
    assert "beats: 1" in run("read", actor, "beats").stdout
    assert table(run("actor", actor, *at))["live timers"] == "1"
    assert table(run("actor", actor))["live timers"] == "0"
    listed = run("timers", "list", "--actor", actor, *at).stdout
    timer = listed.split()[-1]
    assert timer not in run("timers", "list", "--actor", actor).stdout
    assert table(run("timers", "show", timer, *at))["status"] == "pending"
    run("accounts", *at)
    run("govern", "show", *at)
    assert "HEIGHT" in run("accounts", "--at", "999999", code=1).stderr


def test_addresses_and_ids_are_never_broken(run, actor: str, monkeypatch) -> None:
    """A terminal of any width; what is too long it wraps itself."""
    run("call", actor, "start", "x")
    monkeypatch.setattr("rich.console.Console.is_terminal", property(lambda _: True))
    monkeypatch.setenv("COLUMNS", "40")
    for words in (("timers", "--actor", actor), ("accounts",), ("block",)):
        output = run(*words).stdout
        assert re.findall("0x[0-9a-f]{40}", output)
        assert not re.findall(r"0x[0-9a-f]{1,39}\b", output)
        assert not re.findall(r"(?m)^ *[0-9a-f]{2,} *$", output)


@pytest.mark.parametrize(
    ("typed", "found"),
    [("st", "start"), ("timers sh", "show"), ("bundle ex", "export")],
)
def test_shells_complete_commands(typed: str, found: str) -> None:
    done = subprocess.run(
        [
            *(
                sys.executable,
                "-c",
                "from node.cli import main; main(prog_name='cowboy-devnet')",
            )
        ],
        env=os.environ
        | {
            "COMP_WORDS": f"cowboy-devnet {typed}",
            "COMP_CWORD": str(len(typed.split())),
        }
        | {"_COWBOY_DEVNET_COMPLETE": "bash_complete"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"plain,{found}" in done.stdout.split()


def test_what_actors_say_moves_no_terminal(run, tmp_path: Path) -> None:
    """One function shows foreign text; --json escapes it in its own way."""
    path = tmp_path / "rude.py"
    path.write_text(RUDE, encoding="utf-8")
    deployed = table(run("deploy", str(path), "--salt", "rude"))
    target = deployed["actor"]
    committed = json_of(run("call", target, "speak", "--json"))["committed"]
    height, id_ = str(committed["block"]["height"]), committed["receipt"]["id"]
    for words, code in (
        (("call", target, "speak"), 0),
        (("call", target, "fail"), 1),
        (("read", target, "tell"), 0),
        (("read", target, "fail"), 1),
        (("storage", target), 0),
        (("events",), 0),
        (("block", height), 0),
        (("tx", id_), 0),
        (("tx", id_, "--trace", "--changes"), 0),
        (("tx", id_, "--trace", "--json"), 0),
        (("block", height, "--trace", "--changes"), 0),
        (("costs", "--from", height, "--actor", target), 0),
        (("call", target, "fail", "--trace"), 1),
        (("read", target, "tell", "--trace"), 0),
        (("call", target, "\x1b[2J"), 1),
        (("tx", id_, "--json"), 0),
        (("events", "--json"), 0),
        (("read", target, "tell", "--json"), 0),
    ):
        output = run(*words, code=code).output
        seen = {character for character in output if not character.isprintable()}
        assert seen <= {"\n"}, words
    assert "\\x1b]0;owned\\x07\\u202e\\u200b" in run("events").output


def test_a_source_is_escaped_for_a_terminal_alone(run, tmp_path, monkeypatch) -> None:
    path = tmp_path / "rude.py"
    path.write_text(RUDE, encoding="utf-8")
    target = table(run("deploy", str(path), "--salt", "source"))["actor"]
    assert run("actor", target, "--source").output == RUDE
    monkeypatch.setattr("os.isatty", lambda descriptor: descriptor == 1)
    assert "# \\x1b[2J\\u202e" in run("actor", target, "--source").output


def test_what_lines_cost_is_told_and_folded_into_a_file(run, tmp_path: Path) -> None:
    path = tmp_path / "counting.py"
    path.write_text("def work(payload):\n    total = len(payload)\n    return total\n")
    target = table(run("deploy", str(path), "--salt", "costs"))["actor"]
    height = table(run("call", target, "work", "v1"))["height"].replace(",", "")
    file = tmp_path / "folded.txt"
    only = ("--from", height, "--to", height, "--actor", target)
    shown = run("costs", *only, "--folded", str(file)).stdout
    assert shown.startswith(f"heights {int(height):,} to {int(height):,}: ")
    (row,) = [line for line in shown.splitlines() if line.endswith("len(payload)")]
    number, cycles, cells, executions = row.split()[:4]
    assert (number, cells, executions) == ("2", "0", "1")
    stack = f"transaction work of {target};{target} work:2"
    assert f"{stack} {cycles}\n" in file.read_text(encoding="utf-8")
    *_, summary = run("costs", *only, "--json").stdout.splitlines()
    assert json.loads(summary)["summary"]["is_complete"] is True
    told = run("costs", *only, "--folded", str(tmp_path), code=2).stderr
    assert "is a directory" in told
    lost = tmp_path / "absent" / "folded.txt"
    assert (
        "cannot be written" in run("costs", *only, "--folded", str(lost), code=1).stderr
    )
    assert "not reached" in run("costs", "--to", "99999999", code=1).stderr


def test_what_an_actor_printed_and_did_is_told(run, tmp_path: Path) -> None:
    path = tmp_path / "talking.py"
    path.write_text(
        "def work(payload):\n    print('at work')\n"
        "    pvm_host.set_state(b'k', payload)\n"
        "    pvm_host.schedule_timer(pvm_host.block_height() + 1, b'')\n\n"
        "def fail(payload):\n    print('failing')\n    raise ValueError('no')\n\n"
        "def handle_timer(payload):\n    print('fired')\n",
        encoding="utf-8",
    )
    deployed = table(run("deploy", str(path), "--salt", "talk", "--value", "5 CBY"))
    target = deployed["actor"]
    shown = run("call", target, "work", "v1").stdout
    assert "\nprinted\n  at work\n" in shown
    id_, timer = table_of(shown)["id"], table_of(shown)["timer 1"]
    height = int(table_of(shown)["height"])
    told = run("block", str(height), "--timers", "--trace", "--changes").stdout
    assert f"Block {height:,} looked at " in told
    assert f"transaction {id_} at height {height:,}" in told
    assert "balances, in base units:" in told
    shown = run("tx", id_, "--trace", "--changes").stdout
    assert f"transaction {id_} at height" in shown
    assert "  | at work\n  state 'k': (none) → 'v1'\n" in shown
    assert "balances, in base units:" in shown
    run("mine", "2")
    shown = run("timers", "why", timer, "--trace").stdout
    assert shown.startswith(f"fire {timer} at height")
    assert "| fired" in shown
    failed = run("call", target, "fail", "--trace", code=1)
    assert "failed in fail, line 8 of" in failed.stdout
    assert "nothing was sent" in failed.stderr
    assert "failing" in run("call", target, "fail", code=1).stdout
    assert "failing" in run("read", target, "fail", code=1).stderr
    run("tx", "0x" + 64 * "7", "--trace", code=1)


def test_a_failed_call_shows_the_actors_line_and_exits_1(run, actor: str) -> None:
    result = run("call", actor, "fail", "--force", code=1)
    assert table(result)["status"] == "failed"
    assert "ValueError: never in fail, line 17" in result.stderr
    result = run("read", actor, "fail", code=1)
    assert "ValueError: never" in result.stderr


def test_blocks_and_transactions(run) -> None:
    sent = json_of(run("transfer", "1", "7", "--json"))
    name = sent["committed"]["receipt"]["id"]
    height = str(sent["committed"]["block"]["height"])
    assert table(run("tx", name))["height"] == height
    block = run("block", height)
    assert name in block.stdout
    block_hash = table(block)["hash"]
    assert run("block", block_hash).stdout == block.stdout
    assert int(table(run("block"))["height"]) >= int(height)


def test_status_shows_the_supply(run) -> None:
    shown = table(run("status"))
    assert shown["chain"] == "devnet, id 100"
    assert shown["mining"] == "instant, pace 1000 ms"
    assert "base units" in shown["minted"]


def test_accounts_and_their_keys(run) -> None:
    shown = run("accounts", "--count", "2", "--keys").stdout
    for index in range(2):
        assert dev_account(index).hex() in shown
        assert dev_private_key(index).hex() in shown
    assert dev_private_key(0).hex() not in run("accounts").stdout


def test_the_faucet_mints(run) -> None:
    shown = table(run("faucet", "0x" + "ab" * 20, "3 CBY"))
    assert (shown["status"], shown["target"]) == ("succeeded", "0x" + "ab" * 20)


UPGRADED = b"import pvm_host\ndef upgrade(payload): pvm_host.set_state(b'k', payload)\n"


def test_an_actor_is_upgraded(run, actor: str, tmp_path: Path) -> None:
    new = tmp_path / "new.py"
    new.write_bytes(UPGRADED)
    shown = run("upgrade", actor, str(new), "from").stdout
    assert "actor.upgraded" in shown
    assert run("storage", actor, "k").stdout.split()[-2:] == ["k", "from"]
    told = table(run("actor", actor))
    assert told["handlers"] == "upgrade"
    assert told["code since"].startswith("height ")
    assert "; before: 0x" in told["code since"]
    again = run("upgrade", actor, str(new), code=1)
    assert "SameCode: the actor has this code already" in again.stderr
    stranger = run("upgrade", actor, str(new), "--from", "3", code=1)
    assert "Unauthorized: only the owner (0x" in stranger.stderr
    missing = run("upgrade", actor, str(tmp_path / "no.py"), code=2)
    assert "does not exist" in missing.stderr


def test_code_and_storage_are_set(run, actor: str, tmp_path: Path) -> None:
    new = tmp_path / "new.py"
    new.write_bytes(UPGRADED)
    assert "actor.upgraded" in run("set-code", actor, str(new)).stdout
    assert "SameCode" in run("set-code", actor, str(new), code=1).stderr
    run("set-storage", actor, "storage:n", "cbor:[42, null]")
    assert "42" in run("storage", actor, "storage:n").stdout
    run("set-storage", actor, "0x01", "0x02")
    run("set-storage", actor, "0x01", "--remove")
    run("storage", actor, "0x01", code=1)
    for words in ([], ["1", "--remove"], ["cbor:nothing"], ["cbor:1.5"]):
        run("set-storage", actor, "k", *words, code=2)
    own = run("set-storage", actor, "__OWNER__", "x", code=1)
    assert "Forbidden" in own.stderr


def test_modes_can_be_changed(run) -> None:
    try:
        assert run("mining", "manual").stdout == "manual, pace 1000 ms\n"
        sent = run("transfer", "1", "1", "--no-wait").stdout.strip()
        assert run("tx", sent).stdout == "it waits in the pool\n"
        late = run("transfer", "1", "1", "--timeout", "0.2", code=1)
        assert "may still be pending" in late.stderr
        run("mine")
        assert table(run("tx", sent))["status"] == "succeeded"
    finally:
        run("mining", "instant")


def test_senders_by_number_key_and_name(run) -> None:
    by_number = table(run("transfer", "1", "1", "--from", "2"))
    assert by_number["sender"] == f"0x{dev_account(2).hex()}"
    key = f"0x{dev_private_key(3).hex()}"
    by_key = table(run("transfer", "1", "1", "--from", key))
    assert by_key["sender"] == f"0x{dev_account(3).hex()}"
    nobody = "0x" + "cd" * 20
    run("faucet", nobody)
    assert table(run("transfer", "1", "1", "--from", nobody))["sender"] == nobody


# --- what a program sees --------------------------------------------------------------


def test_json_is_one_object_a_line_in_the_words_of_flags(run, actor: str) -> None:
    run("call", actor, "start")
    run("call", actor, "start")
    lines = run("timers", "list", "--json", "--actor", actor).stdout.splitlines()
    assert [json.loads(line)["status"] for line in lines] == ["pending", "pending"]
    status = json_of(run("status", "--json"))
    assert (status["chain_id"], status["mining_mode"]) == (100, "instant")


def test_json_proto_is_protobufs_own_form(url: str, run, actor: str) -> None:
    run("call", actor, "start")
    listed = run("timers", "list", "--actor", actor, "--json=proto").stdout
    timer = json.loads(listed)
    assert timer["status"] == "TIMER_STATUS_PENDING"
    assert base64.b64decode(timer["actor"]).hex() == actor[2:]
    assert run("status", "--json=yaml", code=2).stderr.endswith("--json=proto\n")
    for value, name in (("1", "chain_id"), ("proto", "chainId"), ("0", "")):
        variables = {"COWBOY_DEVNET_URL": url, "COWBOY_DEVNET_JSON": value}
        printed = CliRunner(env=variables).invoke(main, ["status"]).stdout
        assert printed.startswith("{") == bool(name)
        assert name in printed


SAYING = """
class Actor:
    def deploy(self):
        self.storage["names"] = ["gold", b"\\x01"]
        pvm_host.set_state(b"\\xffraw", b"\\x00\\xff")

    def say(self, payload):
        pvm_host.emit_event("said", payload)
        pvm_host.schedule_timer(pvm_host.block_height() + 100, payload)
        return {"said": payload, "count": 7}

    def handle_timer(self, payload):
        pass
"""


def test_what_one_command_prints_the_next_accepts(run, tmp_path: Path) -> None:
    """Addresses, ids, keys, payloads, hashes, amounts, words: from one into another."""
    path = tmp_path / "saying.py"
    path.write_text(SAYING)

    def printed(*words: object) -> list:
        output = run(*map(str, words), "--json").stdout
        return [json.loads(line) for line in output.splitlines()]

    (deployed,) = printed("deploy", path, "--value", "5 CBY", "--salt", "pipe")
    actor = deployed["committed"]["receipt"]["actor"]
    (called,) = printed("call", actor, "say", "0x00ff")
    committed = called["committed"]
    receipt, events = committed["receipt"], committed["events"]
    assert receipt["value"] == {"said": "0x00ff", "count": 7}
    (said,) = (event for event in events if event["topic"] == "said")
    assert (said["data"], said["raw"]) == ("0x00ff", "0x00ff")
    (system,) = (event for event in events if event["topic"] == "TimerScheduled")
    assert system["data"]["actor"] == actor
    assert system["raw"].startswith("0xa")
    assert printed("tx", receipt["id"])[0]["committed"]["receipt"] == receipt
    assert printed("call", actor, "say", said["raw"])
    assert printed("events", "--actor", said["emitter"])[0]["emitter"] == actor
    (timer_id, _) = (one["id"] for one in printed("timers", "--actor", actor))
    (shown,) = printed("timers", "show", timer_id)
    timer = shown["timer"]
    assert timer_id == receipt["scheduled_timer_ids"][0]
    assert printed("call", actor, "say", timer["record"]["payload"])
    assert printed("timers", "list", "--status", timer["status"], "--actor", actor)
    named, raw = printed("storage", actor)
    assert (named["name"], named["value"]) == ("names", ["gold", "0x01"])
    assert (raw["key"], raw["value"], raw["raw"]) == ("0xff726177", "0x00ff", "0x00ff")
    assert printed("storage", actor, raw["key"]) == [raw]
    assert printed("storage", actor, named["key"])[0]["raw"] == named["raw"]
    (block,) = printed("block", committed["block"]["height"])
    assert printed("block", block["block"]["header"]["hash"]) == [block]
    (account, *_) = printed("accounts")
    assert printed("transfer", account["address"], receipt["fee"])
    (code,) = printed("actor", actor)
    assert (code["source"], code["handlers"][-1]) == (SAYING, "handle_timer")
    (mode,) = printed("status")
    assert printed("mining", mode["mining_mode"])


def test_traces_and_changes_are_decoded_with_their_bytes_beside(run, tmp_path) -> None:
    path = tmp_path / "saying.py"
    path.write_text(SAYING)

    def printed(*words: str) -> dict:
        return json_of(run(*words, "--json"))

    made = printed("deploy", str(path), "--value", "5 CBY", "--salt", "traced")
    deployed = made["committed"]["receipt"]
    called = printed("call", deployed["actor"], "say", "0x00ff")["committed"]["receipt"]
    call = printed("tx", called["id"], "--trace")["trace"]["call"]
    assert (call["payload"], call["raw"]) == ("0x00ff", called["raw"])
    assert call["returned"] == called["value"]
    (event,) = (one["event"] for one in call["steps"] if "event" in one)
    assert (event["data"], event["raw"]) == ("0x00ff", "0x00ff")
    changes = printed("tx", deployed["id"], "--changes")["trace"]["changes"]
    (stored,) = (one for one in changes["storage"] if one["after"] == ["gold", "0x01"])
    assert "before" not in stored
    shown = printed("storage", stored["actor"], stored["key"])
    assert (shown["raw"], shown["name"]) == (stored["raw_after"], "names")
    key = "storage:odd"  # an actor may write the same by `pvm_host.set_state`
    run("set-storage", stored["actor"], key, "0xff")
    odd = printed("storage", stored["actor"], key)
    assert (odd["value"], odd["raw"]) == ("0xff", "0xff")
    assert '"after": "0xff"' in run("block", "--changes", "--json").stdout


def test_labels_are_shown_and_accepted(run, actor: str, tmp_path: Path) -> None:
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps({"heart": actor, "\x1b[31mred": "0x" + "5" * 40}))
    named = ("--labels", str(labels))
    shown = table(run("call", "heart", "start", *named))
    assert (shown["actor"], shown["sender"]) == ("heart", "account 0")
    assert "heart" in run("timers", "--actor", "heart", *named).stdout
    traced = run("call", "heart", "start", "--trace", *named).stdout
    assert "heart.start() by account 0: " in traced
    assert ", to heart: " in traced
    assert "heart" in run("read", "heart", "beats", "--trace", *named).stdout
    assert json_of(run("actor", "heart", *named, "--json"))["address"] == actor
    run("transfer", "heart", "5", "--from", "account 2", *named)
    sent = run("transfer", "0x" + "5" * 40, "5", *named).stdout
    assert "\\x1b[31mred" in sent
    assert "\x1b" not in sent
    assert "heart" not in run("call", actor, "start").stdout
    run("actor", "heart", code=2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "an object in JSON is wanted"),
        ("[1]", "an object in JSON is wanted"),
        ('{"a": 5}', "an object in JSON is wanted"),
        ('{"a": "0x00"}', "an object in JSON is wanted"),
        (json.dumps({"7": "0x" + "5" * 40}), "neither an address nor a number"),
        (json.dumps({"": "0x" + "5" * 40}), "a text of 1 to 64 characters"),
    ],
)
def test_a_file_of_no_labels_is_refused(run, tmp_path: Path, text, said) -> None:
    labels = tmp_path / "labels.json"
    labels.write_text(text)
    assert said in run("status", "--labels", str(labels), code=2).stderr
    missing = run("status", "--labels", str(tmp_path / "no"), code=2).stderr
    assert "cannot be read: No such file" in missing


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("events", "--follow"), lambda line: line["event"]["topic"]),
        (("timers", "watch"), lambda line: line["change"]["decision"]["decision"]),
        (("output",), lambda line: line["output"]["output"]["printed"][0]["text"]),
    ],
)
def test_what_happens_can_be_followed(url: str, run, actor: str, words, name) -> None:
    following = subprocess.Popen(
        [
            *(sys.executable, "-m", "node", *words, "--json"),
            *("--url", url, "--actor", actor),
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    with following, following.stdout as lines:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not select.select([lines], [], [], 0)[0]:
            # What happened before it had subscribed it does not show.
            run("call", actor, "start")
            run("mine", "2")
            assert time.monotonic() < deadline
        assert name(json.loads(lines.readline())) in {
            "beat", "scheduled", "fired", "thump\n",
        }  # fmt: skip
        following.kill()


def test_time_can_pass(run) -> None:
    before = int(json_of(run("status", "--json"))["head"]["height"])
    shown = run("advance", "--for", "1000s").stdout
    assert str(before + 1_000) in shown
    assert "fees of fires" in shown
    *_, last = run("advance", "--height", str(before + 5_000), "--json").stdout.split(
        "\n"
    )[:-1]
    assert json.loads(last)["head"]["height"] == before + 5_000
    assert json.loads(last)["done"] is True
    run("advance", "--until-idle", "--within", "10")


def test_the_chain_returns_to_a_named_height(run) -> None:
    before = int(json_of(run("status", "--json"))["head"]["height"])
    assert table(run("snapshot", "create", "base"))["height"] == str(before)
    run("mine", "3")
    assert table(run("snapshot", "revert", "base"))["height"] == str(before)
    heading, line = run("snapshot", "list").stdout.splitlines()
    assert heading.split() == ["name", "height", "hash", "waiting"]
    assert line.split()[:2] == ["base", str(before)]
    assert run("snapshot", "delete", "base").stdout == "base is forgotten\n"
    assert json_of(run("snapshot", "list", "--json")) == {"snapshots": []}
    assert "SNAPSHOT_NOT_FOUND" in run("snapshot", "revert", "base", code=1).stderr


def test_a_change_is_one_line_for_people() -> None:
    decision = timers_pb2.TimerDecision(
        height=7, decision="put_off", reason="lane", numbers={"used": "3", "cap": "2"}
    )
    change = streams_pb2.TimerChange(
        timer_id=b"\x01" * 32, actor=b"\x02" * 20, due_height=6, decision=decision
    )
    assert "  ".join(change_row(change)) == (
        f"7  put_off  (lane)  0x{'01' * 32}  of 0x{'02' * 20}  due 6  cap=2  used=3"
    )


def test_a_watch_of_all_of_an_actor_says_so():
    """D51: a prefix is "empty for all"."""
    actor = b"\x0a" * 20
    keys = [types_pb2.WatchKey(actor=actor, key=prefix) for prefix in (b"price", b"")]
    whose = f"of 0x{'0a' * 20}"
    assert watched_text(keys) == f"price {whose}, all {whose}"


def test_a_hit_is_told_with_what_changed():
    """D55: a watch is due when something changes, and no height says that."""
    hit = timers_pb2.TimerDecision(
        height=7, decision="hit", numbers={"hit_height": "7"}
    )
    hit.matched_keys.add(actor=b"\x0a" * 20, key=b"price")
    change = streams_pb2.TimerChange(
        timer_id=b"\x01" * 32, actor=b"\x02" * 20, due_height=999, decision=hit
    )
    assert "  ".join(change_row(change)) == (
        f"7  hit  0x{'01' * 32}  of 0x{'02' * 20}  a watch  on price of 0x{'0a' * 20}"
        "  hit_height=7"
    )


def test_a_token_file_that_is_none_is_usage(run, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("short")
    result = run("status", "--token-file", str(tmp_path / "token"), code=2)
    assert "holds no token" in result.stderr
    assert "--tls-ca" in run("status", "--tls-ca", "/nowhere", code=2).stderr


# --- exit codes -----------------------------------------------------------------------


def test_3_when_no_node_answers(run) -> None:
    result = run("status", "--url", "127.0.0.1:1", code=3)
    assert "no node answers at 127.0.0.1:1" in result.stderr
    assert "cowboy-devnet start" in result.stderr


def test_what_would_fail_is_sent_only_when_it_is_forced(run, actor: str) -> None:
    """A failed transaction costs its fee."""
    before = json_of(run("status", "--json"))["head"]["height"]
    result = run("call", actor, "fail", code=1)
    ways = "--force sends it, --trace tells its calls"
    assert f"nothing was sent: {ways}" in result.stderr
    assert json_of(run("status", "--json"))["head"]["height"] == before
    assert "status" in run("call", actor, "fail", "--force", code=1).stdout


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("stauts",), "status"),
        (("timers", "shwo"), "show"),
        (("snapshot", "creat", "a"), "create"),
        (("bundle", "chek", "f"), "check"),
        (("govern", "histroy"), None),
    ],
)
def test_a_mistyped_command_is_told_what_was_meant(run, words, meant) -> None:
    result = run(*words, code=2)
    assert meant is None or f"Did you mean '{meant}'?" in result.stderr


def test_ctrl_c_in_a_follow_ends_with_130(url: str, run, actor: str) -> None:
    """As a shell says of SIGINT; nothing was aborted."""
    command = [sys.executable, "-m", "node", "timers", "watch", "--url", url]
    # A suite that a shell began in the background hands on that SIGINT is ignored.
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heard,  # noqa: PLW1509 - the child does nothing else before it
    ) as process:
        try:
            deadline = time.monotonic() + DEADLINE_SECONDS
            while not select.select([process.stdout], [], [], 0)[0]:
                run("call", actor, "start")
                assert time.monotonic() < deadline
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=DEADLINE_SECONDS)
        finally:
            process.kill()
    assert (process.returncode, errors) == (130, "")


@pytest.mark.parametrize("words", [("accounts",), ("--help",), ("--version",)])
def test_who_reads_no_more_has_not_made_it_fail(url: str, words) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    where = ("--url", url) if words == ("accounts",) else ()
    command = [sys.executable, "-m", "node", *words, *where]
    done = subprocess.run(
        command, stdout=write_end, stderr=subprocess.PIPE, check=False, text=True
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_wrong_scheme_shows_no_line_of_the_library(url: str) -> None:
    address = f"https://{url.removeprefix('http://')}"
    command = [sys.executable, "-m", "node", "status", "--url", address]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("cowboy-devnet: ")
    assert "does not speak TLS: leave out https://" in done.stderr
    assert "SSL" not in done.stderr


@pytest.mark.parametrize(
    ("names", "is_trusted", "said"),
    [
        (["127.0.0.1"], False, "its certificate is of no authority that is trusted"),
        (["elsewhere.example"], True, "its certificate is for another name"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_said_in_our_words(
    run, tmp_path, names, is_trusted, said
) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert(*names)
    chain = b"".join(one.bytes() for one in certificate.cert_chain_pems)
    pair = (certificate.private_key_pem.bytes(), chain)
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    server.start()
    trusted = authority if is_trusted else trustme.CA()
    trusted.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    words = ("--url", f"127.0.0.1:{port}", "--tls-ca", str(tmp_path / "ca.pem"))
    result = run("status", *words, code=3)
    server.stop(None).wait()
    assert said in result.stderr
    assert "SSL" not in result.stderr


def test_1_when_the_node_does_not_serve_that(run) -> None:
    """As `mine` of a node with --no-dev: a node is there, and says so."""
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    result = run("mine", "--url", f"127.0.0.1:{port}", code=1)
    server.stop(None).wait()
    assert f"the node at 127.0.0.1:{port} does not serve this" in result.stderr
    assert "--no-dev" in result.stderr


def test_1_when_the_chain_says_no(run) -> None:
    result = run("tx", "0x" + "11" * 32, code=1)
    assert "TRANSACTION_NOT_FOUND" in result.stderr
    result = run("transfer", "1", "2000000 CBY", code=1)
    assert "INSUFFICIENT_BALANCE" in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("nothing",),
        ("transfer", "1"),
        ("transfer", "1", "much"),
        ("transfer", "x", "1"),
        ("transfer", "1", "1", "--from", "me"),
        ("tx", "0x11"),
        ("block", "x"),
        ("block", str(2**64)),
        ("status", "--url", ""),
        ("deploy", "/nowhere.py"),
        ("deploy", "/dev/zero"),
        ("call", "1", "h", "@/nowhere"),
        ("call", "1", "h", "json:{"),
        ("call", "1", "h", "0xz"),
        ("call", "1", "h", "@/dev/zero"),
        ("mining", "sometimes"),
        ("mine", "0"),
        ("advance",),
        ("advance", "--blocks", "1", "--height", "9"),
        ("advance", "--blocks", "0"),
        ("advance", "--for", "long"),
        ("advance", "--for", f"{2**64}ms"),
        ("advance", "--for", f"{2**64}d"),
        ("advance", "--height", str(2**64)),
        ("timers", "list", "--last", str(2**64)),
        ("timers", "list", "--status", "fired", "--prove"),
        ("timers", "list", "--first", "9", "--last", "8", "--prove"),
    ],
)
def test_2_when_it_was_asked_wrongly(run, words: tuple[str, ...]) -> None:
    assert "Usage" in run(*words, code=2).stderr


def test_an_argument_that_is_no_text_is_usage(run) -> None:
    assert "no text in Unicode" in run("read", "1", "\udcff", code=2).stderr


def test_an_endless_file_is_not_read_to_its_end(run) -> None:
    assert "longer than 65536 bytes" in run("check", "/dev/zero", code=1).stdout


def commands(command: click.Command, words: str = ""):
    """All of them, with their names."""
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        part = command.get_command(context, name)
        assert part is not None
        yield from commands(part, f"{words} {name}")


def test_every_number_of_a_command_fits_where_it_is_sent() -> None:
    """Protobuf's integers have 64 bits: what does not fit is usage, and no defect."""
    unbounded = [
        (words, parameter.name)
        for words, command in commands(main)
        for parameter in command.params
        if isinstance(parameter.type, click.types.IntParamType)
        and not 0 < (getattr(parameter.type, "max", None) or 0) < 2**64
    ]
    own = [(" start", "accounts"), (" start", "keep_blocks")]  # NodeConfig's to check
    assert unbounded == own


@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("accounts",)])
def test_an_output_that_takes_nothing_is_a_sentence(url: str, words) -> None:
    """A full disk; whoever closed the output wants none of it."""
    command = [sys.executable, "-m", "node", *words, "--url", url]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert b"Traceback" not in done.stderr
    assert b"standard output: No space left on device" in done.stderr
    assert done.returncode == 2
    line = f"{shlex.join(command)} >&-"
    done = subprocess.run(
        line, shell=True, cwd=ROOT, stderr=subprocess.PIPE, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", list(main.list_commands(click.Context(main))))
def test_every_command_has_help(run, name: str) -> None:
    assert "Usage" in run(name, "--help").stdout


# --- arguments and values -------------------------------------------------------------


def test_payloads(tmp_path: Path) -> None:
    """Text, `0x…`, `@file`, `json:{…}`."""
    file = tmp_path / "payload"
    file.write_bytes(b"\0\1")
    assert arguments.payload("hello") == b"hello"
    assert arguments.payload("0x00ff") == b"\x00\xff"
    assert arguments.payload(f"@{file}") == b"\0\1"
    assert arguments.payload('json:{"to": "x", "n": 1}') == b'{"to":"x","n":1}'
    assert arguments.payload("") == b""


def test_values_in_words() -> None:
    value = codec.encode({"a": [1, None, True], "b": b"\xff", "c": "text"})
    assert cbor_text(value) == "{a: [1, null, true], b: 0xff, c: text}"
    assert returned_text(b"plain") == "plain"
    assert returned_text(codec.encode(7)) == "7"
    assert bytes_text(b"\xff") == "0xff"
    assert bytes_text(b"") == "(empty)"
    assert bytes_text(b"x" * 1_000).endswith("… (1000 bytes)")


# --- governance -----------------------------------------------------------------------


def test_governing_changes_what_is_shown_and_from_when(run) -> None:
    """D3, D25: the whole struct, written through at once, seen from the next block."""
    before = json_of(run("govern", "show", "--json"))
    changes = ("fairness_window_blocks=300", "tier_multipliers_permille=1,2,3,4")
    run("govern", "timers", *changes)
    after = json_of(run("govern", "show", "--json"))
    assert after["timer_config"] == {
        **before["timer_config"],
        "fairness_window_blocks": 300,
        "tier_multipliers_permille": [1, 2, 3, 4],
    }
    assert after["basefee_config"] == before["basefee_config"]
    head = int(json_of(run("status", "--json"))["head"]["height"])
    assert int(after["configs_hold_from"]) == head + 1
    run("govern", "basefee", "min_basefee=2")
    assert f"Fees, from height {head + 2:,}" in run("govern", "show").stdout
    assert table(run("govern", "show"))["fairness_window_blocks"] == "300"


def test_governing_bids(run) -> None:
    """D49: the whole struct, and a reset of weights; refusals are named."""
    before = json_of(run("govern", "show", "--json"))["bidding_config"]
    run("govern", "bidding", "lambda_permille=100", "weight_max=3000000")
    after = json_of(run("govern", "show", "--json"))["bidding_config"]
    changes = {"lambda_permille": 100, "weight_max": 3_000_000}
    assert after == before | changes
    assert "above 0" in run("govern", "bidding", "weight_min=0", code=1).output
    run("govern", "bidding", "lambda=1", code=2)
    run("govern", "reset-weights")
    head = int(json_of(run("status", "--json"))["head"]["height"])
    assert table(run("govern", "show"))["weights reset"] == f"at height {head:,}"
    refused = run("govern", "reset-weights", "--from", "3", code=1)
    assert "Unauthorized" in refused.output


def test_governing_the_globalbox(run) -> None:
    """D56: the whole struct, amounts up to 2^128 - 1 exactly; refusals are named."""
    before = json_of(run("govern", "show", "--json"))["globalbox_config"]
    changes = {"max_fires_per_block": 3, "max_bid_fp": str(2**128 - 2), "w_age": "5"}
    run("govern", "globalbox", *[f"{name}={value}" for name, value in changes.items()])
    after = json_of(run("govern", "show", "--json"))["globalbox_config"]
    assert after == before | changes
    assert table(run("govern", "show"))["max_bid_fp"] == changes["max_bid_fp"]
    assert "above 0" in run("govern", "globalbox", "w_age=0", code=1).output
    too_much = run("govern", "globalbox", f"max_bid_fp={2**128}", code=1)
    assert "from 0 to 2^128 - 1" in too_much.output
    run("govern", "globalbox", "fires=1", code=2)


def test_an_activation_by_the_command_line(run) -> None:
    """D1: above the present height, of rules that are known, by a system deployer."""
    run("govern", "activate", "900000", "auction")
    assert table(run("govern", "show"))["from height 900,000"] == "auction"
    assert "known rules" in run("govern", "activate", "900000", "dutch", code=1).output
    assert "above" in run("govern", "activate", "1", "auction", code=1).output
    stranger = ("--from", "3")
    refused = run("govern", "activate", "900000", "fifo", *stranger, code=1)
    assert "Unauthorized" in refused.output


def test_what_breaks_a_rule_of_a_configuration_is_refused(run) -> None:
    """D25's refusals, with the rule's sentence; misspelt names are the caller's."""
    refused = run("govern", "timers", "fairness_window_blocks=10001", code=1)
    assert "at most 10,000" in refused.output
    refused = run("govern", "timers", "max_cycles_per_fire_auction=1", code=1)
    assert "fire_base_cycles" in refused.output
    run("govern", "basefee", "alpha=0", code=1)
    for change in ("window=3", "alpha", "alpha=x", "alpha=1,2", "min_basefee=-1"):
        run("govern", "basefee", change, code=2)
    run("govern", "timers", "lane_timer_cycles=1,2", code=2)
