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

from node.client import Client
from node.runtime.confine import WALLS
from node.runtime.tripwire import EXIT_TRIPPED
from tests.attackers import attacks
from tests.escape import LOUD, QUIET
from tests.unit.test_confine import (
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
    pvm_host.schedule_timer(pvm_host.block_height() + 2, payload, None, 1_000_000)

def handle_timer(payload):
    return hex(payload.decode())
"""


@pytest.fixture
def place():
    with a_place() as place:
        yield place


class Escaping:
    """A node whose actor got out."""

    def __init__(self, process, url):
        self.process = process
        self.url = url

    def client(self):
        return Client(self.url, timeout=DEADLINE_SECONDS)

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
    words += ["--mining", "instant", *flags]
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
