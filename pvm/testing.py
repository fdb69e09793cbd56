"""Run actors against dictionaries, without a chain: for tests of actors and of `pvm`.

A `World` holds actors and their state; `call` runs one message as a chain would, with
a journal for what fails. Nothing is scheduled or delivered: timers and messages are
recorded in what a call returns. Where this machine has no memory left, a call raises
`pvm.HostMemoryExhausted`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import astuple

from pvm import costs
from pvm.actor_code import ActorCode
from pvm.driver.actors import compile_actor
from pvm.driver.interpreter import execute
from pvm.errors import CompileError, HostError, HostErrorCode, reverted
from pvm.hashing import keccak256
from pvm.host import ScheduleRequest, TimeoutRequest, WatchRequest, address_of
from pvm.meter import Meter
from pvm.output import NO_PRINTOUT, OutputLog, Printout
from pvm.runtime.values import type_name
from pvm.tools.profile import ProfiledCode, Recorder, by_line
from pvm.types import (
    Address,
    Entry,
    Environment,
    Limits,
    Message,
    Outcome,
    zeros,
)
from pvm.worker import Worker

DEPLOYER: Final = Address(b"\xdd" * 20)
"""Address that deploys in every `World`."""
SENDER: Final = Address(b"\x55" * 20)
"""Address that calls in every `World`, unless another is given."""
ENVIRONMENT: Final = Environment(
    chain_id=100, height=5, timestamp_ms=1_700_000_005_000, beacon=zeros
)
"""Chain id 100, height 5, and a timestamp that fits."""

_CYCLES = 10_000_000
_CELLS = 1_000_000
_KEY_BYTES_MAX = 256
_VALUE_BYTES_MAX = 65_536
_CALLS_MAX = 32


class Result(Struct, frozen=True):
    """What one call returned and used."""

    outcome: Outcome
    cycles_used: int
    """Cycles to pay for; the whole limit if they ran out."""
    cells_used: int
    """Cells to pay for; the whole limit if they ran out."""
    memory_used: int
    """Bytes charged to the allocation account."""
    effects: tuple[tuple[object, ...], ...]
    """Accepted host calls that change something, in order; none if the call failed."""
    lines: Mapping[int, int] = field(default_factory=dict)
    """Cycles by line of the source, 0 for what belongs to no line. Their sum is
    `cycles_used`. Only `World.profile` fills it."""
    output: Printout = NO_PRINTOUT
    """What the actor and those that it called printed; a failure keeps it."""

    @property
    def value(self) -> bytes:
        """The bytes that the handler returned; empty if it failed."""
        return self.outcome.value

    @property
    def error(self) -> str:
        """`kind: message` of the failure, or "" if the call succeeded."""
        failure = self.outcome.failure
        if failure is None:
            return ""
        return f"{failure.kind}: {failure.message}".removesuffix(": ")


class World(Struct):
    """Actors with their state and balances, without a chain."""

    environment: Environment = ENVIRONMENT
    """What the calls see of the block."""
    codes: dict[bytes, ActorCode] = field(default_factory=dict)
    """Compiled actors, by address."""
    sources: dict[bytes, bytes] = field(default_factory=dict)
    """Sources of actors that were added as source, by address."""
    state: dict[tuple[bytes, bytes], bytes] = field(default_factory=dict)
    """Values of state, by (address, key)."""
    balances: dict[bytes, int] = field(default_factory=dict)
    """Base units, by address; change it to give an actor money."""
    worker: Worker = field(default_factory=Worker)
    """The thread on which everything executes, as in a node."""

    def add(self, source: str | bytes | ActorCode) -> Address:
        """Add an actor without running anything, and return its address.

        Raises:
            CompileError: the source is not in the language.
        """
        if isinstance(source, str):
            source = source.encode()
        code = compile_actor(source) if isinstance(source, bytes) else source
        address = Address(keccak256(len(self.codes).to_bytes(8, "big"))[:20])
        self.codes[address] = code
        if isinstance(source, bytes):
            self.sources[address] = source
        return address

    def deploy(self, source: str | bytes, payload: bytes = b"") -> Address:
        """Add an actor, run its constructor, and return its address.

        Raises:
            CompileError: the source is not in the language.
            AssertionError: the constructor failed; the message says how.
        """
        address = self.add(source)
        result = self.run(self.message(address, ("deploy", "init"), payload, DEPLOYER))
        assert result.outcome.is_success, result.error
        return address

    def message(
        self,
        actor: Address,
        handlers: tuple[str, ...],
        payload: bytes,
        sender: Address = SENDER,
    ) -> Message:
        """A message to an actor, for `run`.

        Args:
            actor: address of the actor.
            handlers: names, of which the first that the actor has is called;
                `("deploy", "init")` makes it a deployment.
            payload: bytes that the handler gets.
            sender: address of the caller.
        """
        is_deployment = handlers == ("deploy", "init")
        return Message(
            environment=self.environment,
            entry=Entry.DEPLOYMENT if is_deployment else Entry.CALL,
            actor=actor,
            deployer=DEPLOYER,
            sender=sender,
            handlers=handlers,
            payload=payload,
        )

    def call(
        self,
        actor: Address,
        handler: str,
        payload: bytes = b"",
        *,
        cycles: int = _CYCLES,
        cells: int = _CELLS,
        read_only: bool = False,
    ) -> Result:
        """Call a handler; what a failed call changed is undone.

        Args:
            actor: address of the actor.
            handler: name of the handler.
            payload: bytes that the handler gets.
            cycles: most cycles that it may use.
            cells: most cells that it may use.
            read_only: whether host calls that change something halt it.

        Raises:
            HostMemoryExhausted: this machine has no memory left.
        """
        meter = Meter(cycles, cells, read_only=read_only)
        return self.run(self.message(actor, (handler,), payload), meter)

    def profile(
        self, actor: Address, handler: str, payload: bytes = b"", **options: int
    ) -> Result:
        """Call a handler and count cycles by line: `lines` of the result.

        The actor must have been added as source. This is much slower than `call`.
        Options are `cycles` and `cells`.
        """
        meter = Meter(options.get("cycles", _CYCLES), options.get("cells", _CELLS))
        message = self.message(actor, (handler,), payload)
        profile = ProfiledCode(self.sources[actor])
        return self.worker.run(lambda: self._run(message, meter, profile))

    def run(self, message: Message, meter: Meter | None = None) -> Result:
        """Run a message on a meter; what a failed one changed is undone."""
        return self.worker.run(lambda: self._run(message, meter))

    def _run(
        self, message: Message, meter: Meter | None, profile: ProfiledCode | None = None
    ) -> Result:
        meter = meter or Meter(_CYCLES, _CELLS, limits=Limits())
        memory = int(meter.memory.cell_contents)
        state, balances = dict(self.state), dict(self.balances)
        host = DictionaryHost(self, message, meter)
        lines: Mapping[int, int] = {}
        if profile is not None:
            recorder = Recorder()
            outcome = recorder.execute(profile, message, host, meter)
            costs_by_line = by_line(recorder.costs, message.actor)
            lines = {line: cost.cycles for line, cost in costs_by_line.items()}
        else:
            outcome = execute(self.codes[message.actor], message, host, meter)
        if not outcome.is_success:
            self.state, self.balances = state, balances
            host.effects.clear()
        left = int(meter.memory.cell_contents)
        return Result(
            outcome,
            meter.cycles_used,
            meter.cells_used,
            memory - left,
            tuple(host.effects),
            lines,
            host.output.output(),
        )


class DictionaryHost:
    """The `Host` of one execution in a `World`: state and balances in dictionaries."""

    def __init__(
        self, world: World, message: Message, meter: Meter, depth: int = 0
    ) -> None:
        """A host that charges `meter` and acts as the message's actor."""
        self._world = world
        self._message = message
        self._meter = meter
        self._depth = depth
        self._draws = 0
        self.effects: list[tuple[object, ...]] = []
        """Calls that were accepted."""
        self.output = OutputLog()
        """What it and the actors that it called wrote."""

    def get_balance(self, address: object) -> int:
        """Balance of any account."""
        self._meter.charge_cycles(costs.GET_BALANCE)
        return self._world.balances.get(_address(address), 0)

    def transfer(self, to: object, amount: object) -> None:
        """Move units from the actor's balance."""
        self._meter.charge_cycles(costs.TRANSFER)
        receiver, units = _address(to), _natural(amount, "amount")
        balances, own = self._world.balances, self._message.actor
        if balances.get(own, 0) < units:
            raise HostError(HostErrorCode.InsufficientBalance, "transfer")
        balances[own] = balances.get(own, 0) - units
        balances[receiver] = balances.get(receiver, 0) + units
        self.effects.append(("transfer", receiver, units))

    def get_state(self, key: object) -> bytes | None:
        """A value of the actor's own state."""
        self._meter.charge_cycles(costs.GET_STATE)
        value = self._world.state.get((self._message.actor, _key(key)))
        self._meter.charge_cells(len(value or b""))
        return value

    def set_state(self, key: object, value: object) -> None:
        """Write a value of the actor's own state."""
        self._meter.charge_cycles(costs.SET_STATE)
        name, data = _key(key), _bytes(value, "value")
        if len(data) > _VALUE_BYTES_MAX:
            raise HostError(HostErrorCode.InvalidInput, "the value is too long")
        self._meter.charge_cells(len(name) + len(data))
        self._world.state[self._message.actor, name] = data

    def delete_state(self, key: object) -> None:
        """Remove a key of the actor's own state."""
        self._meter.charge_cycles(costs.DELETE_STATE)
        name = _key(key)
        self._meter.charge_cells(len(name))
        self._world.state.pop((self._message.actor, name), None)

    def state_scan_prefix(
        self, prefix: object, limit: object
    ) -> list[tuple[bytes, bytes]]:
        """Pairs under a prefix, ascending."""
        self._meter.charge_cycles(costs.SCAN_STATE)
        start, most = _bytes(prefix, "prefix"), _natural(limit, "limit")
        pairs = [
            (key, value)
            for (actor, key), value in sorted(self._world.state.items())
            if actor == self._message.actor and key.startswith(start)
        ][:most]
        self._meter.charge_cycles(costs.SCAN_STATE_PER_ENTRY * len(pairs))
        self._meter.charge_cells(sum(len(key) + len(value) for key, value in pairs))
        return pairs

    def schedule_timer(self, request: ScheduleRequest) -> bytes:
        """Record a timer; its id is made of its position."""
        self._meter.charge_cycles(costs.SCHEDULE_TIMER)
        data = _bytes(request.payload, "payload")
        if _natural(request.height, "height") <= self._world.environment.height:
            raise HostError(HostErrorCode.InvalidInput, "the height is not to come")
        self._meter.charge_cells(len(data))
        self.effects.append(("schedule_timer", *astuple(request)))
        return keccak256(len(self.effects).to_bytes(8, "big"))

    def set_timeout(self, request: TimeoutRequest) -> bytes:
        """Record a timer; its id is made of its position."""
        self._meter.charge_cycles(costs.SCHEDULE_TIMER)
        data = _bytes(request.payload, "payload")
        if _natural(request.due_height, "due_height") <= self._world.environment.height:
            raise HostError(HostErrorCode.InvalidInput, "the height is not to come")
        self._meter.charge_cells(len(data))
        self.effects.append(("set_timeout", *astuple(request)))
        return keccak256(len(self.effects).to_bytes(8, "big"))

    def set_state_watch(self, request: WatchRequest) -> bytes:
        """Record a watch; its id is made of its position."""
        self._meter.charge_cycles(costs.SCHEDULE_TIMER)
        data, watched = _bytes(request.payload, "payload"), request.watch_keys
        if not isinstance(watched, (list, tuple)) or not watched:
            raise HostError(HostErrorCode.InvalidInput, "watch_keys: a list is wanted")
        self._meter.charge_cycles(costs.WATCH_KEY * len(watched))
        self._meter.charge_cells(len(data) + costs.WATCH_KEY_CELLS * len(watched))
        self.effects.append(("set_state_watch", *astuple(request)))
        return keccak256(len(self.effects).to_bytes(8, "big"))

    def update_timer(
        self, timer_id: object, payload: object, gas_limit: object, bid_fp: object
    ) -> None:
        """Record."""
        self._meter.charge_cycles(costs.UPDATE_TIMER)
        self.effects.append(("update_timer", timer_id, payload, gas_limit, bid_fp))

    def extend_timer(self, timer_id: object, new_expires_at: object) -> None:
        """Record."""
        self._meter.charge_cycles(costs.EXTEND_TIMER)
        self.effects.append(("extend_timer", timer_id, new_expires_at))

    def cancel_timer(self, timer_id: object) -> None:
        """Record."""
        self._meter.charge_cycles(costs.CANCEL_TIMER)
        self.effects.append(("cancel_timer", timer_id))

    def get_timer(self, timer_id: object) -> dict[str, int | bytes | str | None] | None:
        """No timer is kept."""
        self._meter.charge_cycles(costs.GET_TIMER)
        _bytes(timer_id, "timer_id")
        return None

    def list_timers(self) -> list[bytes]:
        """No timer is kept."""
        self._meter.charge_cycles(costs.LIST_TIMERS)
        return []

    def send_message(
        self,
        target: object,
        handler_or_payload: object,
        payload: object = None,
        *,
        cycles: object = None,
        cells: object = None,
    ) -> None:
        """Record."""
        self._meter.charge_cycles(costs.SEND_MESSAGE)
        sent = (_address(target), handler_or_payload, payload, cycles, cells)
        self.effects.append(("send_message", *sent))

    def create_deferred_tx(
        self,
        handler: object,
        payload: object,
        cycles: object = None,
        cells: object = None,
    ) -> None:
        """Record."""
        self._meter.charge_cycles(costs.SEND_MESSAGE)
        self.effects.append(("create_deferred_tx", handler, payload, cycles, cells))

    def call_actor(
        self,
        target: object,
        handler: object,
        payload: object,
        cycles_limit: object = 100_000,
    ) -> bytes:
        """Run another actor now, on a meter of its own (D14)."""
        self._meter.charge_cycles(costs.CALL_ACTOR)
        callee = _address(target)
        data = _bytes(payload, "payload")
        limit = _natural(cycles_limit, "cycles_limit")
        if type(handler) is not str:
            raise HostError(HostErrorCode.InvalidInput, "the handler is no str")
        if callee not in self._world.codes:
            raise HostError(HostErrorCode.NotFound, "the target is no actor")
        if self._depth + 1 > _CALLS_MAX:
            raise HostError(HostErrorCode.TooDeep, "calls are nested too deep")
        if limit > self._meter.cycles_left:
            raise HostError(HostErrorCode.InvalidInput, "more cycles than are left")
        nodes = self._world.codes[callee].nodes
        self._meter.charge_cycles(costs.CALL_ACTOR_PER_NODE * nodes)
        self._meter.charge_cells(len(data))
        return self._call(Address(callee), handler, data, limit)

    def _call(
        self, callee: Address, handler: str, payload: bytes, cycles_limit: int
    ) -> bytes:
        world, meter = self._world, self._meter
        inner = Meter(cycles_limit, meter.cells_left, caller=meter)
        message = world.message(callee, (handler,), payload, self._message.actor)
        state, balances = dict(world.state), dict(world.balances)
        host = DictionaryHost(world, message, inner, self._depth + 1)
        host.output = self.output
        outcome = execute(world.codes[callee], message, host, inner)
        meter.charge_cycles(inner.cycles_used)
        meter.charge_cells(inner.cells_used)
        if outcome.failure is not None:
            world.state, world.balances = state, balances
            raise reverted(callee, outcome.failure)
        self.effects += host.effects
        return outcome.value

    def upgrade_self(self, code: object) -> None:
        """Compile the new code and record it; the actor keeps the one it has."""
        self._meter.charge_cycles(costs.UPGRADE_SELF)
        self._meter.charge_cells(costs.UPGRADE_SELF_CELLS)
        source = _bytes(code, "code")
        self._meter.charge_cycles(costs.UPGRADE_SELF_PER_BYTE * len(source))
        self._meter.charge_cells(costs.UPGRADE_SELF_CELLS_PER_BYTE * len(source))
        try:
            compile_actor(source, charge=self._meter.charge_cycles)
        except CompileError:
            reason = "code: it is not in the actor language"
            raise HostError(HostErrorCode.InvalidInput, reason) from None
        self.effects.append(("upgrade_self", source))

    def emit_event(self, topic: object, data: object) -> None:
        """Record an event."""
        self._meter.charge_cycles(costs.EMIT_EVENT)
        if type(topic) is not str:
            raise HostError(HostErrorCode.InvalidInput, "the topic is no str")
        body = _bytes(data, "data")
        self._meter.charge_cycles(costs.EMIT_EVENT_PER_BYTE * len(body))
        self._meter.charge_cells((len(body) + 1) // 2)
        self.effects.append(("emit_event", topic, body))

    def log(self, level: str, parts: Sequence[str]) -> str:
        """Keep what the actor wrote."""
        return self.output.write(self._message.actor, level, parts)

    def randomness(self, domain: object) -> bytes:
        """Reproducible bytes."""
        self._meter.charge_cycles(costs.RANDOMNESS)
        self._draws += 1
        return keccak256(_bytes(domain, "domain") + self._draws.to_bytes(8, "big"))

    def verify_secp256k1(
        self, hash_: object, signature: object, address: object
    ) -> bool:
        """No key is known here: nothing is signed."""
        self._meter.charge_cycles(costs.VERIFY_SECP256K1)
        _bytes(hash_, "hash")
        _bytes(signature, "signature")
        _address(address)
        return False


def call_once(
    source: str,
    handler: str = "run",
    payload: bytes = b"",
    *,
    cycles: int = _CYCLES,
    world: Callable[[], World] = World,
) -> Result:
    """Compile an actor, call one handler in a world of its own."""
    place = world()
    return place.call(place.add(source), handler, payload, cycles=cycles)


def _bytes(value: object, name: str) -> bytes:
    if type(value) is not bytes:
        raise HostError(
            HostErrorCode.InvalidInput, f"{name} must be bytes, not {type_name(value)}"
        )
    return value


def _address(value: object) -> Address:
    address = address_of(value)
    if address is None:
        raise HostError(HostErrorCode.InvalidInput, "an address is 20 bytes")
    return address


def _natural(value: object, name: str) -> int:
    if type(value) is not int or value < 0:
        raise HostError(
            HostErrorCode.InvalidInput, f"{name} must be an int of 0 or more"
        )
    return value


def _key(value: object) -> bytes:
    key = _bytes(value, "key")
    if not 1 <= len(key) <= _KEY_BYTES_MAX:
        raise HostError(HostErrorCode.InvalidInput, "a key is 1 to 256 bytes")
    return key
