"""Actors in the public conventions of the chain, as their authors write them.

Chunks by `---`. Each is run by tests/spec/test_public_actors.py and nothing in it is
written for this node.
"""

# --- a token with one entry point that dispatches JSON
import json

import pvm_host

OWNER_KEY = b"owner"


def _load(key, default):
    raw = pvm_host.get_state(key)
    return json.loads(raw) if raw else default


def _save(key, value):
    pvm_host.set_state(key, json.dumps(value, separators=(",", ":")).encode("utf-8"))


def _balance_key(address):
    return b"bal:" + address.encode("utf-8")


def _sender():
    return pvm_host.context()["sender"].hex()


def _ok(**fields):
    fields["ok"] = True
    return json.dumps(fields, sort_keys=True).encode("utf-8")


def _mint(request):
    owner = _load(OWNER_KEY, None)
    if owner is None:
        owner = _sender()
        _save(OWNER_KEY, owner)
    if owner != _sender():
        raise PermissionError("only the owner mints")
    to, amount = request["to"], int(request["amount"])
    if amount <= 0:
        raise ValueError(f"amount must be positive, not {amount}")
    _save(_balance_key(to), _load(_balance_key(to), 0) + amount)
    return _ok(balance=_load(_balance_key(to), 0))


def _transfer(request):
    to, amount = request["to"], int(request["amount"])
    mine = _load(_balance_key(_sender()), 0)
    if mine < amount:
        return json.dumps({"ok": False, "error": f"{mine} < {amount}"}).encode("utf-8")
    _save(_balance_key(_sender()), mine - amount)
    _save(_balance_key(to), _load(_balance_key(to), 0) + amount)
    pvm_host.emit_event("transfer", json.dumps({"to": to, "amount": amount}).encode())
    return _ok()


def _balance(request):
    return _ok(balance=_load(_balance_key(request["of"]), 0))


ACTIONS = {"mint": _mint, "transfer": _transfer, "balance": _balance}


def main(input_bytes):
    try:
        request = json.loads(input_bytes.decode("utf-8"))
        action = ACTIONS.get(request.get("action"))
        if action is None:
            raise ValueError("unknown action: " + str(request.get("action")))
        return action(request)
    except Exception as exc:
        return json.dumps({"ok": False, "error": str(exc)}).encode("utf-8")


# --- a class with module-level entry points that make an instance
import json

from cowboy_sdk import actor, runtime


@actor
class Greeter:
    def init(self, payload):
        runtime.charge_gas(100)
        self.storage["greeting"] = "Hello, Cowboy!"
        self.storage["count"] = 0
        return b"ok"

    def greet(self, payload):
        runtime.charge_gas(100)
        obj = _parse(payload) or {}
        name = str(obj.get("name", "nobody")).strip()
        self.storage["count"] += 1
        return json.dumps(
            {
                "message": self.storage.get("greeting", "Hi") + " " + name,
                "count": self.storage["count"],
                "from": runtime.get_sender().hex()[:4],
            }
        ).encode("utf-8")

    def set_greeting(self, payload):
        obj = _parse(payload)
        if not isinstance(obj, dict) or "greeting" not in obj:
            return b"error: no greeting"
        self.storage["greeting"] = obj["greeting"]
        runtime.emit_event("greeting.changed", {"greeting": obj["greeting"], "by": 1})
        return b"ok"


def _parse(payload):
    if payload is None:
        return None
    if isinstance(payload, dict):
        return payload
    try:
        raw = payload if isinstance(payload, (bytes, bytearray)) else payload.encode()
        return json.loads(raw.decode("utf-8"))
    except Exception:
        return None


def _get_actor():
    return Greeter()


def init(payload):
    return _get_actor().init(payload)


def greet(payload):
    return _get_actor().greet(payload)


def set_greeting(payload):
    return _get_actor().set_greeting(payload)


# --- a vault whose handlers say who may call them
from cowboy_sdk import OWNER, SELF, actor, callable_by, deferred, public, pure, runtime


@actor
class Vault:
    def init(self, payload):
        runtime.assume_ownership_if_unowned()
        self.storage["limit"] = 10

    @pure
    @public
    def limit(self, payload):
        return self._limit()

    @callable_by(OWNER)
    def set_limit(self, payload):
        self.storage["limit"] = int(payload)

    @deferred
    @public
    def later(self, payload):
        runtime.create_deferred_tx("settle", payload)

    @callable_by(SELF)
    def settle(self, payload):
        self.storage["settled"] = payload

    @callable_by(OWNER)
    def give_away(self, payload):
        runtime.transfer_ownership(payload)

    def internal(self, payload):
        self.storage["limit"] = 0

    def _limit(self):
        return self.storage["limit"]


# --- a heartbeat with deploy and handle_timer
import pvm_host


class Actor:
    PERIOD = 3

    def deploy(self, payload):
        self.storage["beats"] = 0
        self._again()

    def handle_timer(self, payload):
        if pvm_host.get_sender() != self.address:
            raise PermissionError("only a timer calls this")
        self.storage["beats"] += 1
        if self.storage["beats"] < 3:
            self._again()
        return str(self.storage["beats"])

    def beats(self):
        return {"beats": self.storage["beats"]}

    def _again(self):
        pvm_host.schedule_timer_ex(
            pvm_host.block_height() + self.PERIOD, b"beat", gas_limit=60_000
        )


# --- two actors that call each other by the SDK
from cowboy_sdk import ActorRef, actor, call, codec, send


@actor
class Oracle:
    def set_price(self, payload):
        asset, price = codec.decode(payload)
        self.storage[f"price:{asset}"] = price

    def get_price(self, payload):
        (asset,) = codec.decode(payload)
        return codec.encode(self.storage.get(f"price:{asset}", 0))

    def ask(self, payload):
        other = codec.decode(payload)
        total = call(target=other, method="get_price", args=["ETH"], cycles_limit=50_000)
        return codec.encode(total + ActorRef(other).get_price("BTC"))

    def tell(self, payload):
        send(target=codec.decode(payload), payload={"from": self.address})

    def main(self, payload):
        self.storage["told"] = codec.decode(payload)["from"]
