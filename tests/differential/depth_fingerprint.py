"""Prints how deep recursions end: run under every interpreter, from several stacks.

Whatever the interpreter gave up would raise `StackExhausted` here; each recursion is
measured at its end, so that there is room left, in frames and in C.
"""

import sys
import threading
from contextlib import suppress
from unittest import mock

from msgspec.structs import replace

from node.chain.transaction import DeployActor, ExecuteActor
from node.chain.transition import apply_block
from node.primitives import codec
from node.primitives.crypto import derive_actor_address, keccak256
from node.state.memory import MemoryStore
from pvm import CodeCache, Meter, NearWorker, TooDeepRecursion, Worker, compile_actor
from pvm import worker as workers
from pvm.testing import World
from tests import worlds
from tests.actors import deep

CYCLES = 30_000_000
FRAMES = (0, 140, 300)
"""Of the caller: on its thread with little and with much below, and on another."""

ROOM_IN_C = 350
"""Calls in C that must be left: 3.12.1 has 1,500, all others more."""


def nested(levels):
    value = ()
    for _ in range(levels):
        value = (value,)
    return value


_ONE, _OTHER = nested(ROOM_IN_C), nested(ROOM_IN_C)
_halt = Meter.halt


def halt_measured(meter, halt):
    """As `Meter.halt`; at the end of the depth, see what is left."""
    if meter.halted is None and isinstance(halt, TooDeepRecursion):
        with suppress(ValueError):
            sys._getframe(workers.RECURSION_LIMIT // 2)
            raise AssertionError("half of the frames are used up")
        assert _ONE == _OTHER, "compared in C, level by level"
        HALTS.append(1)
    return _halt(meter, halt)


HALTS = []


def below(frames, function):
    """Call `function` with so many frames more on the stack, half of them from C."""
    if frames < 2:
        return function()
    found = []
    sorted([0], key=lambda _: found.append(below(frames - 2, function)))
    return found[0]


def told(result):
    kind = result.outcome.failure.kind if result.outcome.failure else result.value
    return kind, result.cycles_used, result.memory_used


def recursions():
    """Each program of `deep`, on the thread of a worker: kind, cycles, bytes."""
    with World().worker as worker:
        codes = {name: compile_actor(one.encode()) for name, one in DEEP.items()}
        for name, code in codes.items():
            world = World(worker=worker)
            result = told(world.call(world.add(code), "run", cycles=CYCLES))
            yield name, result
            assert result[0] == "TooDeepRecursion", name
            assert HALTS, name
            HALTS.clear()
    near = NearWorker()
    for name in list(codes)[::7]:
        world = World(worker=near)
        actor = world.add(codes[name])
        alike = {
            below(n, lambda: told(world.call(actor, "run", cycles=CYCLES)))  # noqa: B023
            for n in FRAMES
        }
        assert len(alike) == 1, (name, alike)
        yield name, alike.pop()
    assert near.run(threading.get_ident) == threading.get_ident(), "the main thread"
    near.close()


DEEP = deep.PROGRAMS


DOCUMENT = {"name": "deep", "accounts": {"count": 5, "balance": str(10**18)}}


class Chain(worlds.World):
    """Two actors: one calls itself as deep as it may, then the other."""

    document = DOCUMENT

    def deployments(self):
        self._nonces = {}
        self.sources = [deep.CALLER, deep.CALLEE]
        self.actors = [
            derive_actor_address(self.accounts[0], bytes(32), keccak256(source))
            for source in self.sources
        ]
        return [
            self._raw(0, DeployActor(bytes(32), one, b"", 0), 5 * 10**6, 4 * 10**6)
            for one in self.sources
        ]


def chains():
    """Blocks of calls: built with a warm cache, applied with a cold one."""
    near, far = NearWorker(), Worker()
    chain = Chain(MemoryStore(), worlds.fixed_pick(1), near)
    compile_actor(deep.CALLEE)  # not refused, or nothing would be deployed
    assert len(chain.blocks[-1].transactions) == len(chain.actors), "both deployed"
    for way in deep.WAYS:
        payload = codec.encode([chain.actors[0], chain.actors[1], 0, way])
        raw = chain._raw(
            1, ExecuteActor(chain.actors[0], "run", payload, 0), 18 * 10**6
        )
        chain._nonces = {}
        parent = chain.state
        built = chain.mine([raw])
        for worker in (near, far):
            for frames in FRAMES:
                caches = replace(parent.caches, code=CodeCache(1, 1))
                cold = replace(parent, caches=caches)
                applied = below(
                    frames,
                    lambda: worker.run(lambda: apply_block(cold, built.block)),  # noqa: B023
                )
                assert applied.receipts == built.receipts, (way, frames)
        (receipt,) = built.receipts
        yield way, receipt
    near.close()
    far.close()


def main():
    with mock.patch.object(Meter, "halt", halt_measured):
        for line in (*recursions(), *chains()):
            sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
