# Actors with cowboy_sdk: the same outcome, call stack and use on every interpreter.
# Chunks are separated by a line of three dashes; each defines `run`.
from cowboy_sdk import actor, public, runtime, OWNER, callable_by

@actor
class Box:
    @public
    def run(self, payload):
        return [self.inner(1), runtime.get_owner(), runtime.context()["handler"]]

    def inner(self, n):
        return n + 1

    @callable_by(OWNER)
    def owners(self):
        return 1
---
from cowboy_sdk import actor, public, callable_by, OWNER

@actor
class Box:
    @public
    def run(self, payload):
        return [self.owners(item) for item in [1, 2]]

    @callable_by(OWNER, b"\x01" * 20)
    def owners(self, item):
        return item
---
from cowboy_sdk import actor, deferred, runtime

@actor
class Box:
    def run(self, payload):
        return self._later()

    def _later(self):
        runtime.schedule_timer(99, b"")

    @deferred
    def other(self):
        pass
---
from cowboy_sdk import actor, reentrancy_guard, ActorRef

@actor
class Box:
    @reentrancy_guard
    def run(self, payload):
        return ActorRef(self.address).run(1)
---
from cowboy_sdk import CowboyModel, BoundedRange, bounded_loop, codec

class Point(CowboyModel):
    x: int
    y: int = 2

@bounded_loop(max_iterations=3)
def run(payload):
    seen = []
    for n in BoundedRange(9):
        seen.append(Point(n).to_cbor())
    return seen
---
from cowboy_sdk import call, errors

def run(payload):
    try:
        call(bytes(20), "nobody", {"a": 1})
    except errors.ActorNotFoundError as error:
        return str(error)
---
from cowboy_sdk import codec

class Box:
    def run(self, payload):
        return sorted([3, 1], key=lambda n: codec.encode({n}))
---
from cowboy_sdk import actor, pure, storage_guard, ordered_set, Address, PriorityTier

@actor
class Box:
    def run(self, payload):
        self.storage["n"] = list(ordered_set([5, 3, 5]))
        guard = storage_guard("n")
        seen = [guard.value, guard.fingerprint, Address.ZERO, PriorityTier.FAST]
        self.writes()
        return seen

    @pure
    def writes(self):
        self.storage["n"] = 1
