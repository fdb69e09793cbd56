"""`namespaces`: what nothing can change serves again, and nobody can tell (D11)."""

import json
from pathlib import Path

import pytest

from pvm import compile_actor
from pvm.compiler.block_costs import BlockCosts
from pvm.driver import execution_pool
from pvm.runtime.namespaces import NAMESPACES_MAX
from pvm.testing import World

ACTORS = Path("genesis/actors")

UNCHANGING = {
    "constants": "RATE = 3\nLIMITS = (-RATE, 10 ** 18, b'x', None)",
    "class constants": "class Other:\n    UNIT = 'CBY'\n    PAIR = (1, UNIT)",
    "a default": "def helper(a=1, *, b=(2, 'x')):\n    return a",
    "decorated methods": """
class Other:
    @property
    def half(self):
        return 1
    @staticmethod
    def twice(n):
        return 2 * n
    @classmethod
    def made(cls):
        return cls()
""",
    "classes of classes": "class Failed(ValueError):\n    pass\n"
    "class Lost(Failed):\n    CODE = 1",
    "imports": "import json\nfrom collections import deque\nimport pvm_host as chain",
    "a container of one call": "def helper():\n    found = {}\n    found['n'] = 1",
}
CHANGING = {
    "a list": "FOUND = []",
    "a dict of a class": "class Other:\n    FOUND = {}",
    "a list in a tuple": "FOUND = (1, [])",
    "what a call makes": "FOUND = dict()",
    "a default": "def helper(found=[]):\n    return found",
    "a keyword's default": "def helper(*, found={}):\n    return found",
    "a function's attribute": "def helper():\n    helper.count = 1",
    "a class's attribute": "class Other:\n    n = 0\ndef helper():\n    Other.n += 1",
    "an instance's attribute, or its class's": "class Other:\n"
    "    def keep(self):\n        self.n = 1\n"
    "def helper():\n    Other.keep(Other)",
    "a deleted attribute": "class Other:\n    n = 0\ndef helper():\n    del Other.n",
    "an attribute as a loop's target": "class Other:\n    n = 0\n"
    "def helper():\n    for Other.n in (1, 2):\n        pass",
    "a global": "COUNT = 0\ndef helper():\n    global COUNT\n    COUNT = 1",
    "a statement": "for i in (1, 2):\n    pass",
    "a decorator": "from functools import cache\n@cache\ndef helper():\n    return []",
    "an enumeration": "from enum import Enum\nclass Kind(Enum):\n    A = 1",
    "a dataclass": "from dataclasses import dataclass\n"
    "@dataclass\nclass Point:\n    x: int",
}
ACTOR = """
class Actor:
    def run(self):
        return 1
"""


@pytest.mark.parametrize("source", UNCHANGING.values(), ids=list(UNCHANGING))
def test_what_nothing_can_change_is_known_by_its_source(source):
    assert compile_actor(f"{source}\n{ACTOR}".encode()).is_unchanging


@pytest.mark.parametrize("source", CHANGING.values(), ids=list(CHANGING))
def test_what_something_could_change_is_made_anew(source):
    assert not compile_actor(f"{source}\n{ACTOR}".encode()).is_unchanging


def test_functions_alone_are_made_anew():
    assert not compile_actor(b"def run():\n    return 1").is_unchanging


def test_who_counts_by_line_sees_the_body_run():
    assert not compile_actor(ACTOR.encode(), BlockCosts()).is_unchanging


@pytest.mark.parametrize("path", sorted(ACTORS.iterdir()), ids=lambda path: path.stem)
def test_every_example_is_kept_and_stays_as_it_was(path):
    execution_pool._IDLE.clear()
    world = World()
    world.balances = dict.fromkeys([bytes([n]) * 20 for n in range(256)], 10**20)
    code = compile_actor(path.read_bytes())
    actor = world.add(code)
    shown = None
    for handler in code.handlers:
        if handler in {"deploy", "init", "upgrade"}:
            continue  # reached by deployment and upgrade alone
        for payload in (b"", b"{}", json.dumps({"amount": 1}).encode()):
            world.call(actor, handler, payload)
            kept = execution_pool._IDLE[0].namespaces[id(code)].names
            classes = [one for one in kept.values() if isinstance(one, type)]
            before, shown = shown, kept | {one: dict(vars(one)) for one in classes}
            del shown["__builtins__"]
            assert before is None or before == shown, (
                "something was left in the namespace"
            )
    assert shown


TOKEN = """
import json
from heapq import heappush

UNIT = 10 ** 3

class Failed(ValueError):
    pass

class Token:
    def run(self, payload):
        heap = []
        heappush(heap, UNIT)
        self.storage["n"] = self.storage.get("n", 0) + 1
        if payload == b"fail":
            raise Failed(self.address.hex())
        return json.dumps([self.address.hex(), self.deployer.hex()])
"""


def fresh(world, actor, payload, cycles):
    execution_pool._IDLE.clear()
    return world.call(actor, "run", payload, cycles=cycles)


@pytest.mark.parametrize("payload", [b"", b"fail"])
def test_what_is_kept_costs_what_it_took_to_make(payload):
    world = World()
    actor = world.add(TOKEN)
    world.call(actor, "run")
    whole = fresh(world, actor, payload, 100_000)
    again = world.call(actor, "run", payload, cycles=100_000)
    assert again == whole


def test_who_cannot_pay_halts_where_the_body_halts():
    world = World()
    actor = world.add(TOKEN)
    needed = fresh(world, actor, b"fail", 100_000).cycles_used
    for cycles in range(0, needed + 20, 7):
        expected = fresh(world, actor, b"fail", cycles)
        fresh(world, actor, b"fail", 100_000)
        assert world.call(actor, "run", b"fail", cycles=cycles) == expected


def test_an_actor_of_the_same_code_has_its_own_state():
    execution_pool._IDLE.clear()
    world = World()
    code = compile_actor(TOKEN.encode())
    one, other = world.add(code), world.add(code)
    for actor in (one, other, one):
        assert json.loads(world.call(actor, "run").value)[0] == actor.hex()
    assert len(execution_pool._IDLE[0].namespaces) == 1
    assert len(world.state) == len({one, other})


def test_what_the_class_defines_itself_it_keeps():
    world = World()
    source = "class Actor:\n    address = 5\n    def run(self):\n        return "
    actor = world.add(source + "[self.address, self.deployer]")
    assert world.call(actor, "run") == world.call(actor, "run")
    assert world.call(actor, "run").value[:2] == b"\x82\x05"


def test_the_oldest_make_room():
    execution_pool._IDLE.clear()
    world = World()
    actors = [
        world.add(f"{ACTOR}\nNUMBER = {number}") for number in range(NAMESPACES_MAX + 2)
    ]
    for actor in actors:
        assert world.call(actor, "run").value == b"\x01"
    kept = execution_pool._IDLE[0].namespaces
    codes = [space.code for space in kept.values()]
    assert codes == [world.codes[actor] for actor in actors[2:]]


def test_a_body_that_fails_is_not_kept():
    execution_pool._IDLE.clear()
    world = World()
    actor = world.add(f"{ACTOR}\nN = 1 // 0")
    assert world.call(actor, "run") == world.call(actor, "run")
    assert not execution_pool._IDLE[0].namespaces
