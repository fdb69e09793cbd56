"""A machine without memory decides nothing (sandbox-internals.md §6): no receipt."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from node.chain.host import ActorHost
from node.chain.simulation import (
    call_read_only,
    estimate_limits,
    simulate_transaction,
)
from node.chain.transaction import Fund, decode_transaction
from node.chain.transition import apply_block, build_next
from node.primitives.types import Amount
from node.runtime.block_builder import dev_transaction
from node.testing import Devnet
from pvm import CodeCache, Halt, HostMemoryExhausted, StackExhausted, compile_actor
from pvm.driver import execution_pool, library_loader
from pvm.testing import DictionaryHost, World, call_once

ROOT = Path(__file__).parents[2]


class Poor(DictionaryHost):
    """A host that meets the end of the machine's memory."""

    def get_state(self, key):
        if key == b"gone":
            raise MemoryError
        return super().get_state(key)


@pytest.fixture(autouse=True)
def poor(monkeypatch):
    monkeypatch.setattr("pvm.testing.DictionaryHost", Poor)


TAKE = "pvm_host.get_state(b'gone')"

ESCAPES = {
    "nothing": f"    {TAKE}",
    "a handler": f"    try:\n        {TAKE}\n    except Exception:\n        pass",
    "a handler that returns": f"    try:\n        {TAKE}\n    except Exception:\n"
    "        return 1",
    "a finally that raises": f"    try:\n        try:\n            {TAKE}\n"
    "        finally:\n            raise ValueError\n    except ValueError:\n"
    "        return 1",
    "the finally of a handler": "    try:\n        try:\n            1 // 0\n"
    f"        except ZeroDivisionError:\n            {TAKE}\n        finally:\n"
    "            raise ValueError\n    except ValueError:\n        return 1",
    "the finally of an else": "    try:\n        try:\n            pass\n"
    f"        except ValueError:\n            pass\n        else:\n            {TAKE}\n"
    "        finally:\n            raise ValueError\n    except ValueError:\n"
    "        return 1",
    "an __exit__ that swallows": f"    with Manager():\n        {TAKE}\n    return 1",
    "an __eq__ that a search calls": "    return Equal() in [Equal()]",
    "a key of a sort": "    return sorted([1, 2], key=taken)",
    "a generator": "    for one in taking():\n        return 1",
    "hasattr": "    return hasattr(Property(), 'taken')",
    "the text of a failure": "    raise Told",
    "another actor": "    try:\n"
    "        pvm_host.call_actor(CALLEE, 'run', b'', 50_000)\n"
    "    except Exception:\n        return 1",
    "another actor, and a finally": "    try:\n        try:\n            "
    "pvm_host.call_actor(CALLEE, 'run', b'', 50_000)\n        finally:\n"
    "            raise ValueError\n    except ValueError:\n        return 1",
}
TOP = f"""
class Manager:
    def __enter__(self):
        return self
    def __exit__(self, kind, error, trace):
        raise ValueError
class Equal:
    def __eq__(self, other):
        {TAKE}
class Property:
    @property
    def taken(self):
        {TAKE}
class Told(Exception):
    def __str__(self):
        {TAKE}
def taken(x):
    {TAKE}
def taking():
    {TAKE}
    yield 1
"""


@pytest.mark.parametrize("body", ESCAPES.values(), ids=ESCAPES)
def test_it_leaves_execute_whatever_the_actor_does(body):
    """No code of an actor's catches it, or runs after it."""
    world = World()
    callee = world.add(f"def run():\n    {TAKE}\n")
    execution_pool._IDLE.clear()
    actor = world.add(f"{TOP}CALLEE = {callee!r}\ndef run():\n{body}\n")
    with pytest.raises(HostMemoryExhausted) as raised:
        world.call(actor, "run")
    assert not isinstance(raised.value, Exception | Halt)
    assert not execution_pool._IDLE, "what ended so is used by nobody again"
    assert call_once("def run():\n    return b'7'").value == b"7"


def test_an_account_that_runs_out_is_still_a_halt():
    """Its own account ends an execution by the meter alone."""
    result = call_once("def run():\n    x = []\n    while True:\n        x.append([x])")
    assert result.error.startswith("OutOfMemory")


@pytest.mark.parametrize(
    "where",
    [
        "pvm.compiler.parser.survey",
        "pvm.compiler.pipeline.instrument",
        "pvm.driver.actors.ActorCode",
    ],
)
def test_a_source_is_not_refused_for_want_of_memory(where, monkeypatch):
    """Nor kept as anything."""

    def poor(*_arguments, **_named):
        raise MemoryError

    library_loader.library("string")
    monkeypatch.setattr(where, poor)
    cache = CodeCache()
    with pytest.raises(HostMemoryExhausted):
        compile_actor(b"def run(): pass")
    with pytest.raises(HostMemoryExhausted):
        cache.get(b"", b"def run(): pass")
    monkeypatch.undo()
    assert cache.get(b"", b"def run(): pass").handlers == ("run",)


CHILD = """
import resource
from pvm import HostMemoryExhausted
from pvm.testing import World
world = World()
actor = world.add('''
def run(payload):
    x = []
    try:
        for i in range(int(payload)):
            x.append("a" * 100_000 + str(i))
    except Exception:
        return 1
    finally:
        x = []
    return str(len(x))
''')
assert world.call(actor, "run", b"2").value == b"0"
used = int(open("/proc/self/statm").read().split()[5]) * resource.getpagesize()
lifted = resource.getrlimit(resource.RLIMIT_DATA)
resource.setrlimit(resource.RLIMIT_DATA, (used + 2**20, lifted[1]))
try:
    print(world.call(actor, "run", b"45").outcome)
except HostMemoryExhausted:
    print("exhausted")
resource.setrlimit(resource.RLIMIT_DATA, lifted)
print(world.call(actor, "run", b"3").value)
"""


def test_a_devnet_raises_it_and_its_chain_goes_on(monkeypatch):
    """Never a receipt, nor a block."""

    def poor(*_arguments):
        raise MemoryError

    with Devnet() as chain:
        actor = chain.deploy(
            f"def run():\n    return {TAKE}\n", sender=chain.accounts[0]
        )
        before = chain.height, chain.state.head
        with monkeypatch.context() as patch:
            patch.setattr(ActorHost, "get_state", poor)
            with pytest.raises(HostMemoryExhausted):
                actor.call("run", cycles_limit=100_000, cells_limit=10_000)
            assert before == (chain.height, chain.state.head)
            with pytest.raises(HostMemoryExhausted):
                actor.read("run")
        assert actor.call("run").is_success
        assert chain.height == before[0] + 1


def test_a_real_machine_without_memory():
    """A limit of the kernel's, below what the account admits."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == ["exhausted", "b'0'"], done.stderr[-2_000:]


# --- in the chain's own code, outside of an execution --------------------------------

GONE = [MemoryError(), HostMemoryExhausted(), StackExhausted()]

PATHS = {
    "a block that is made": lambda on: build_next(on.state, (), 1),
    "a block that is applied": lambda on: apply_block(on.state, on.made.block),
    "a read": lambda on: call_read_only(on.state, on.actor.address, "run", b""),
    "an estimate": lambda on: estimate_limits(on.state, on.sent.body, on.sent.sender),
    "a simulation": lambda on: simulate_transaction(on.state, on.sent),
    "a Devnet's block": lambda on: on.chain.mine(),
    "a Devnet's transaction": lambda on: on.actor.call("run"),
    "a Devnet's read": lambda on: on.actor.read("run"),
}


@pytest.mark.parametrize("error", GONE, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_chain_code_without_memory_gives_no_result(path, error, monkeypatch):
    """Nothing but `HostMemoryExhausted` leaves the core, and the chain is as it was."""

    def poor(*_arguments):
        raise error

    with Devnet() as chain:
        actor = chain.deploy("def run():\n    return 7\n")
        state = chain.state
        raw = dev_transaction(state, 0, Fund(actor.address, Amount(1)))
        sent = decode_transaction(raw)
        made = build_next(state, (), 1)
        on = SimpleNamespace(
            chain=chain, actor=actor, state=state, made=made, sent=sent
        )
        with monkeypatch.context() as patch:
            patch.setattr("node.chain.transition._known_of", poor)
            with pytest.raises(HostMemoryExhausted):
                path(on)
        assert chain.state.head == state.head
        assert apply_block(state, made.block).header == made.header
        assert actor.call("run").is_success
