"""Of `pvm.testing`: actors against dictionaries, in the tests of a user."""

from pathlib import Path
from typing import assert_type

from pvm.testing import DictionaryHost, Result, World, call_once

SOURCE = Path("shop.py").read_text()


def called(world: World) -> Result:
    """An actor that is deployed, and one that is only there."""
    shop = world.deploy(SOURCE, b'{"price": 5}')
    bank = world.add(SOURCE.encode())
    world.balances[shop] = 10**9
    print(world.state, world.sources[bank], world.codes, world.worker)
    print(world.environment.height)
    message = world.message(shop, ("deploy", "init"), b"")
    assert_type(world.run(message), Result)
    print(world.profile(shop, "buy", b""))
    return world.call(shop, "buy", b"", cycles=50_000, cells=500, read_only=True)


def looked_at(result: Result) -> int:
    """What came of it, and what it cost."""
    assert_type(result.value, bytes)
    assert_type(result.error, str)
    print(result.outcome.failure, result.effects, result.lines, result.output)
    return result.cycles_used + result.cells_used + result.memory_used


print(looked_at(called(World())), call_once(SOURCE, "run", payload=b"5"))
print(DictionaryHost)
