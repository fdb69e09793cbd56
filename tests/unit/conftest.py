"""A host over a dictionary, for tests of what stands between an actor and a chain."""

import hashlib
from dataclasses import dataclass, field

import pytest
from msgspec.structs import astuple

from pvm import costs
from pvm.errors import HostError, HostErrorCode
from pvm.hashing import keccak256
from pvm.meter import Meter
from pvm.modules import ModuleContext
from pvm.types import Address, Entry, Environment, Limits, Message

ACTOR = Address(b"\xaa" * 20)
SENDER = Address(b"\x55" * 20)


def invalid(message):
    return HostError(HostErrorCode.InvalidInput, message)


@dataclass
class DictHost:
    """The host protocol over dictionaries: charges, validates, acts (D16)."""

    meter: Meter
    state: dict[bytes, bytes] = field(default_factory=dict)
    balances: dict[bytes, int] = field(default_factory=dict)
    timers: dict[bytes, dict] = field(default_factory=dict)
    calls: list[tuple] = field(default_factory=list)

    def get_balance(self, address):
        self.meter.charge_cycles(costs.GET_BALANCE)
        if type(address) is not bytes or len(address) != 20:
            raise invalid("address")
        return self.balances.get(address, 0)

    def transfer(self, to, amount):
        self.meter.charge_cycles(costs.TRANSFER)
        if type(amount) is not int or amount < 0:
            raise invalid("amount")
        if self.balances.get(ACTOR, 0) < amount:
            raise HostError(HostErrorCode.InsufficientBalance, "transfer")
        self.balances[ACTOR] -= amount
        self.balances[to] = self.balances.get(to, 0) + amount

    def get_state(self, key):
        self.meter.charge_cycles(costs.GET_STATE)
        self._require_key(key)
        value = self.state.get(key)
        self.meter.charge_cells(len(value or b""))
        return value

    def set_state(self, key, value):
        self.meter.charge_cycles(costs.SET_STATE)
        self._require_key(key)
        if type(value) is not bytes or len(value) > 65_536:
            raise invalid("value")
        self.meter.charge_cells(len(key) + len(value))
        self.state[key] = value

    def delete_state(self, key):
        self.meter.charge_cycles(costs.DELETE_STATE)
        self._require_key(key)
        self.meter.charge_cells(len(key))
        self.state.pop(key, None)

    def state_scan_prefix(self, prefix, limit):
        self.meter.charge_cycles(costs.SCAN_STATE)
        if type(limit) is not int or not 0 <= limit <= 1_000:
            raise invalid("limit")
        pairs = [(k, v) for k, v in sorted(self.state.items()) if k.startswith(prefix)]
        self.meter.charge_cycles(costs.SCAN_STATE_PER_ENTRY * len(pairs[:limit]))
        return pairs[:limit]

    def schedule_timer(self, request):
        self.meter.charge_cycles(costs.SCHEDULE_TIMER)
        self.calls.append(("schedule_timer", *astuple(request)))
        timer_id = keccak256(bytes(len(self.calls)))
        self.timers[timer_id] = {"height": request.height, "payload": request.payload}
        return timer_id

    def set_timeout(self, request):
        return self._set("set_timeout", request)

    def set_state_watch(self, request):
        return self._set("set_state_watch", request)

    def _set(self, name, request):
        self.meter.charge_cycles(costs.SCHEDULE_TIMER)
        self.calls.append((name, *astuple(request)))
        timer_id = keccak256(bytes(len(self.calls)))
        self.timers[timer_id] = {"payload": request.payload}
        return timer_id

    def update_timer(self, timer_id, payload, gas_limit, bid_fp):
        self.calls.append(("update_timer", timer_id, payload, gas_limit, bid_fp))

    def extend_timer(self, timer_id, new_expires_at):
        self.calls.append(("extend_timer", timer_id, new_expires_at))

    def cancel_timer(self, timer_id):
        if self.timers.pop(timer_id, None) is None:
            raise HostError(HostErrorCode.TimerNotFound, "cancel")

    def get_timer(self, timer_id):
        return self.timers.get(timer_id)

    def list_timers(self):
        return sorted(self.timers)

    def send_message(
        self, target, handler_or_payload, payload=None, *, cycles=None, cells=None
    ):
        self.calls.append(
            ("send_message", target, handler_or_payload, payload, cycles, cells)
        )

    def create_deferred_tx(self, handler, payload, cycles=None, cells=None):
        self.calls.append(("create_deferred_tx", handler, payload, cycles, cells))

    def call_actor(self, target, handler, payload, cycles_limit=100_000):
        self.calls.append(("call_actor", target, handler, payload, cycles_limit))
        return bytes(payload)

    def upgrade_self(self, code):
        self.calls.append(("upgrade_self", code))

    def emit_event(self, topic, data):
        self.calls.append(("emit_event", topic, data))

    def log(self, level, parts):
        self.calls.append(("log", level, *parts))

    def randomness(self, domain):
        return hashlib.sha256(domain).digest()

    def verify_secp256k1(self, hash_, signature, address):
        self.meter.charge_cycles(costs.VERIFY_SECP256K1)
        return (hash_, signature, address) == (bytes(32), bytes(65), bytes(20))

    def _require_key(self, key):
        if type(key) is not bytes or not 1 <= len(key) <= 256:
            raise invalid("key")


@pytest.fixture
def make_meter():
    """A factory of meters with plenty of everything."""

    def make(cycles=100_000_000, cells=1_000_000, memory=10 * 1024 * 1024, **options):
        limits = Limits(memory_bytes=memory)
        return Meter(cycles, cells, limits=limits, **options)

    return make


@pytest.fixture
def make_host(make_meter):
    """A factory of hosts over a dictionary, each with its meter."""

    def make(meter=None):
        return DictHost(meter or make_meter())

    return make


@pytest.fixture
def make_context(make_host):
    """A factory of module contexts over a dictionary."""

    def make(meter=None):
        host = make_host(meter)
        message = Message(
            environment=Environment(31_337, 7, 7_000, lambda: b"\xbe" * 32),
            entry=Entry.CALL,
            actor=ACTOR,
            deployer=SENDER,
            sender=SENDER,
            handlers=("main",),
            payload=b"payload",
            value=11,
            origin=b"\x0f" * 32,
            msg_id=lambda: b"\x1d" * 32,
            nonce=3,
        )
        context = ModuleContext()
        context.write = host.log
        context.begin(host.meter, host, message, "main")
        return context

    return make
