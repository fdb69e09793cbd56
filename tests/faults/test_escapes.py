"""An actor that got out of the sandbox, inside a real node: what stands behind it.

The way out is a hook of the tests (`tests/escape.py`). What `GetStatus` says of the
walls is compared with what came of each attack, as root and as an ordinary user.
"""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from node.chain.transaction import ExecuteActor
from node.client import Client
from node.runtime.confinement.tripwire import EXIT_TRIPPED
from node.runtime.confinement.walls import WALLS
from node.runtime.memory_exhaustion import EXIT_MEMORY
from tests.attackers import attacks
from tests.escape import LOUD, QUIET
from tests.unit.test_confinement import (
    DEADLINE_SECONDS,
    ROOT,
    a_place,
    as_user,
    require_refused,
)

ACTOR = """
def ask(payload):
    return hex(payload.decode())

def later(payload):
    pvm_host.schedule_timer(pvm_host.block_height() + 2, payload, None, 500_000)

def handle_timer(payload):
    return hex(payload.decode())
"""


@pytest.fixture
def place():
    with a_place() as place:
        yield place


CALL_SECONDS = 15
"""Of one call; after a node's end, until a client gives it up."""


class Escaping:
    """A node whose actor got out."""

    def __init__(self, process, url):
        self.process = process
        self.url = url

    def client(self):
        return Client(self.url, timeout=CALL_SECONDS)

    def ended(self):
        """Exit code, and the last line of its log."""
        _, log = self.process.communicate(timeout=DEADLINE_SECONDS)
        return self.process.returncode, log


@contextmanager
def escaping(place, *flags, through=()):
    folder, port = place
    ready = folder / "data" / "ready.json"
    words = [folder / "data", folder / "key", port, "start"]
    words += ["--data-dir", folder / "data" / "chain", "--ready-file", ready]
    words += ["--grpc-listen", "127.0.0.1:0", "--http-listen", "off"]
    words += ["--mining", "instant", "--confine", "auto", *flags]
    process = subprocess.Popen(
        [*through, sys.executable, "-m", "tests.escape", *map(str, words)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        if not process.stdout.readline():  # the banner is printed when it serves
            raise AssertionError(process.communicate()[1])
        yield Escaping(process, json.loads(ready.read_text())["grpc"])
    finally:
        process.kill()
        with process:
            pass


def try_all(place, through=()):
    """What the node says of its walls, and what came of each attack."""
    names = attacks(SimpleNamespace(folder=Path(), secret=Path(), port=1, other=1))
    with escaping(place, through=through) as node, node.client() as client:
        walls = client.api.status().walls
        actor = client.deploy(ACTOR)
        found = {
            name: [wall, actor.call("ask", f"quiet {name}".encode()).value.decode()]
            for name, (wall, _) in names.items()
        }
    return {"walls": list(walls), "found": found}


def require_same(told):
    """What the node said is what the attacks found."""
    assert told["walls"] == list(WALLS)
    kernel = [wall for wall in told["walls"] if wall not in ("memory", "tripwire")]
    told["found"].pop("another port")  # port 0 was asked for
    require_refused({"walls": kernel, "found": told["found"]})


def test_walls_stop_whoever_got_out(place):
    require_same(try_all(place))


def test_walls_stop_an_ordinary_user_the_same(place):
    through = as_user(place[0])
    if through is not None:
        require_same(try_all(place, through))


@pytest.mark.parametrize("name", LOUD)
def test_the_tripwire_ends_the_node(place, name):
    with escaping(place) as node, node.client() as client:
        actor = client.deploy(ACTOR)
        with pytest.raises(Exception):  # noqa: B017, PT011
            actor.call("ask", f"loud {name}".encode())
        code, log = node.ended()
    assert code == EXIT_TRIPPED
    assert f"the tripwire: actor 0x{actor.address.hex()} at height 2 reached" in log


def test_the_tripwire_does_not_hear_everything(place):
    """As docs/security.md says: it is an alarm, and no wall."""
    with escaping(place) as node, node.client() as client:
        actor = client.deploy(ACTOR)
        for name in QUIET:
            assert actor.call("ask", f"unheard {name}".encode()).value == b"True"


# --- memory --------------------------------------------------------------------------

LIMITED = ("--memory-max", "1GiB")


def events(log, name):
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == name]


def test_a_transaction_that_finds_no_memory_ends_the_node_without_a_receipt(place):
    with escaping(place, *LIMITED) as node, node.client() as client:
        actor = client.deploy(ACTOR)
        head = client.api.status().head
        take = ExecuteActor(actor.address, "ask", b"take", 0)
        client.submit(take, cycles_limit=1_000_000, cells_limit=10_000)
        code, log = node.ended()
    assert code == EXIT_MEMORY
    (line,) = events(log, "memory_exhausted")
    assert (line["height"], line["kind"]) == (head.height + 1, "transaction")
    assert line["actor"] == f"0x{actor.address.hex()}"
    assert (line["memory_max"], line["times"]) == (1 << 30, 1)
    assert len(line["id"]) == 66
    with escaping(place, *LIMITED) as node, node.client() as client:
        status = client.api.status()
        assert status.head == head, "the last height, without the transaction"
        assert "memory" in status.walls
        assert client.actor(actor.address).call("ask", b"unheard os.getpid").value


def test_a_read_that_finds_no_memory_is_refused_and_the_node_goes_on(place):
    with escaping(place, *LIMITED) as node, node.client() as client:
        actor = client.deploy(ACTOR)
        head = client.api.status().head
        for _ in range(3):
            with pytest.raises(Exception, match="HOST_MEMORY_EXHAUSTED") as raised:
                actor.read("ask", b"take")
            assert "larger --memory-max" in str(raised.value)
        assert client.api.status().head == head
        assert actor.call("ask", b"unheard os.getpid").value == b"True"
        with pytest.raises(Exception, match="HOST_MEMORY_EXHAUSTED"):
            actor.call("ask", b"take")  # estimated first
        assert node.process.poll() is None


def test_a_fire_that_finds_no_memory_twice_holds_the_node(place):
    """What is in the state comes again; a node must not end for ever, and silently."""
    with escaping(place, *LIMITED) as node:
        with node.client() as client:
            actor = client.deploy(ACTOR)
            client.fund(actor.address, "5 CBY")
            actor.call("later", b"take")
            due = client.api.status().head.height + 2
            client.mine(1)
            client.api.create_snapshot("before")
            with pytest.raises(Exception):  # noqa: B017, PT011
                client.mine(1)
        code, log = node.ended()
    assert code == EXIT_MEMORY
    (line,) = events(log, "memory_exhausted")
    assert (line["height"], line["kind"], line["times"]) == (due, "fire", 1)
    with escaping(place, *LIMITED, "--mining", "interval") as node:
        code, log = node.ended()
        assert code == EXIT_MEMORY, "by itself, again"
        assert events(log, "memory_exhausted")[0]["times"] == 2
    with escaping(place, *LIMITED, "--mining", "interval") as node:
        with node.client() as client:
            status = client.api.status()
            assert status.head.height == due - 1
            assert status.mining_mode == 3, "manual: it makes no block by itself"
            client.api.revert_to_snapshot("before")
        node.process.terminate()
        code, log = node.ended()
        assert code == 0
        told = " ".join(line["text"] for line in events(log, "beware"))
        assert f"of actor 0x{actor.address.hex()} at height {due}, 2 times" in told
        assert "Start it with a larger --memory-max" in told
