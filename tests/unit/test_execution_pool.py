"""`execution_pool`: an execution leaves nothing for the one that comes after."""

from pathlib import Path

import pytest

from pvm import Meter, compile_actor, execute
from pvm.driver import execution_pool, library_loader
from pvm.driver.library_loader import module
from pvm.modules import NATIVE
from pvm.testing import DictionaryHost, World, call_once

LIBRARY = Path(library_loader.__file__).parents[1] / "library"

SOURCE = """
import json
from heapq import heappush
def run():
    heap, box = [], {}
    for n in (3, 1, 2):
        heappush(heap, n)
        box[n] = n
    for n in range(3):
        del box[n + 1]
    return json.dumps(heap)
"""


def test_an_execution_is_used_again_and_costs_the_same():
    execution_pool._IDLE.clear()
    first = call_once(SOURCE)
    assert not first.error
    (idle,) = execution_pool._IDLE
    again = call_once(SOURCE)
    assert [idle] == execution_pool._IDLE
    assert (again.value, again.cycles_used) == (first.value, first.cycles_used)
    assert again.memory_used == first.memory_used


def test_nothing_of_an_execution_stays():
    execution_pool._IDLE.clear()
    call_once(SOURCE)
    (idle,) = execution_pool._IDLE
    assert not idle.holes
    assert not idle.imported
    for name in ("meter", "host", "message", "handler"):
        assert not hasattr(idle.context, name), "what is used without one fails"
    assert not hasattr(idle, "meter")


def test_a_meter_has_its_counters_back():
    meter = Meter(10_000, 10_000)
    before = (meter.cycles, meter.depth, meter.memory)
    world = World()
    actor = world.add(SOURCE)
    world.run(world.message(actor, ("run",), b""), meter)
    assert (meter.cycles, meter.depth, meter.memory) == before
    assert meter.cycles_used == call_once(SOURCE).cycles_used


def test_an_execution_that_was_torn_down_is_not_used_again():
    """A `KeyboardInterrupt` of the process, say: the meter is whole all the same."""

    class Interrupted(DictionaryHost):
        def get_state(self, _key):
            raise KeyboardInterrupt

    execution_pool._IDLE.clear()
    world = World()
    source = "import pvm_host\ndef run():\n    pvm_host.get_state(b'k')"
    message = world.message(world.add(source), ("run",), b"")
    meter = Meter(10_000, 10_000)
    cells = meter.cycles
    with pytest.raises(KeyboardInterrupt):
        execute(
            compile_actor(source.encode()), message, Interrupted(world, message, meter),
            meter,
        )  # fmt: skip
    assert meter.cycles is cells
    assert not execution_pool._IDLE


def reachable(vm):
    """Every object that actors share: builtins, helpers, modules and their names.

    Native classes are not among them: what an actor has of one is its constructor.
    """
    modules = [module(vm, name) for name in NAMES]
    natives = {name for name, one in vm.names.items() if type(one) is type}
    assert all(name.startswith("_") for name in natives), "no actor can say them"
    shared = [one for name, one in vm.names.items() if name not in natives] + modules
    for one in modules:
        shared += vars(one).values()
    return [one for one in shared if one is not None]


NAMES = (*NATIVE, *(path.stem for path in LIBRARY.iterdir() if path.stem[0] != "_"))


def test_no_attribute_can_be_set_on_any_object_of_the_universe():
    """sandbox-internals.md §2, `_write_`: what executions share is immutable."""
    objects = reachable(execution_pool.new())
    assert len(objects) > 300
    for one in objects:
        for name in ("note", "value", "rank"):
            with pytest.raises((AttributeError, TypeError)):
                setattr(one, name, 1)
            with pytest.raises((AttributeError, TypeError)):
                delattr(one, name)
