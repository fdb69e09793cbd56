"""Actors for tests of the rules `globalbox`, and short ways to drive them."""

from node.chain.block import ReceiptKind
from node.chain.timers.timer import Decision
from node.primitives import codec
from node.testing import Actor, Devnet
from tests.spec.driven_actors import SCHEDULER, refused

GLOBALBOX = {
    "activations": [{"height": 0, "rules": "globalbox"}],
    "basefee_config": {"min_basefee": 1_000},
}
"""Genesis overrides: `globalbox` from the start, both basefees stay at 1,000."""

SETTER = (
    SCHEDULER
    + '''
    def timeout(self, payload):
        target, height, data, options = pvm_host.cbor_decode(payload)
        return pvm_host.set_timeout(target, height, data, **options)

    def watch(self, payload):
        target, keys, data, options = pvm_host.cbor_decode(payload)
        return pvm_host.set_state_watch(target, keys, data, **options)

    def watch_all(self, payload):
        return [
            pvm_host.set_state_watch(target, keys, data, **options)
            for target, keys, data, options in pvm_host.cbor_decode(payload)
        ]

    def timeout_all(self, payload):
        return [
            pvm_host.set_timeout(target, height, data, **options)
            for target, height, data, options in pvm_host.cbor_decode(payload)
        ]

    def update(self, payload):
        timer_id, options = pvm_host.cbor_decode(payload)
        pvm_host.update_timer(timer_id, **options)

    def get(self, payload):
        return pvm_host.get_timer(payload)

    def put(self, payload):
        for key, value in pvm_host.cbor_decode(payload):
            if value is None:
                pvm_host.delete_state(key)
            else:
                pvm_host.set_state(key, value)

    def put_later(self, payload):
        pvm_host.send_message(self.address, "put", payload)

    def tell(self, payload):
        """Keeps what the context says of the timer, and does what the payload asks."""
        told = self.storage.get("told", [])
        timer = pvm_host.context()["timer"]
        if timer is not None and timer["matched_keys"] is not None:
            timer["matched_keys"] = [list(pair) for pair in timer["matched_keys"]]
        told.append([pvm_host.block_height(), pvm_host.get_sender(), timer, payload])
        self.storage["told"] = told

    def act(self, payload):
        """Does what a list of calls says: name, positional, named arguments."""
        done = []
        for name, arguments, options in pvm_host.cbor_decode(payload):
            try:
                done.append(call(name, arguments, options))
            except pvm_host.HostError as error:
                done.append(error.name)
        self.storage["done"] = done
        return done

def call(name, arguments, options):
    if name == "set_timeout":
        return pvm_host.set_timeout(*arguments, **options)
    if name == "set_state_watch":
        return pvm_host.set_state_watch(*arguments, **options)
    if name == "schedule_timer":
        return pvm_host.schedule_timer(*arguments, **options)
    if name == "update_timer":
        return pvm_host.update_timer(*arguments, **options)
    if name == "cancel_timer":
        return pvm_host.cancel_timer(*arguments, **options)
    if name == "extend_timer":
        return pvm_host.extend_timer(*arguments, **options)
    if name == "list_timers":
        return pvm_host.list_timers()
    if name == "set_state":
        return pvm_host.set_state(*arguments)
    raise ValueError(name)
'''
)


def set_timeout(
    actor: Actor, height: object, payload: object = b"", target=None, **options
) -> bytes:
    """Set one timer on a target, or on the actor itself; its id."""
    data = [target or actor.address, height, payload, options]
    return actor.call("timeout", codec.encode(data)).value


def set_timeouts(actor: Actor, *entries: tuple) -> list[bytes]:
    """Set several in one execution: (target or None, height, payload, options)."""
    data = [[target or actor.address, *rest] for target, *rest in entries]
    return codec.decode(actor.call("timeout_all", codec.encode(data)).value)


def set_watch(
    actor: Actor, keys: object, payload: object = b"", target=None, **options
) -> bytes:
    """Set one watch on a target, or on the actor itself; its id."""
    data = [target or actor.address, keys, payload, options]
    return actor.call("watch", codec.encode(data)).value


def refusal_of(actor: Actor, handler: str, *arguments: object) -> str:
    """The name of the host's error when a call is refused."""
    data = codec.encode(list(arguments))
    return refused(actor.call(handler, data, expect_failure=True))


def put(actor: Actor, *pairs: tuple[bytes, bytes | None]):
    """Write raw keys of an actor's state in a block of its own."""
    return actor.call("put", codec.encode([list(pair) for pair in pairs]))


def told(actor: Actor) -> list[list]:
    """What each fire of `tell` saw: height, sender, context, payload."""
    return actor.storage.get("told", [])


def fired(chain: Devnet, height: int | None = None) -> list[bytes]:
    """Ids of the timers that a block fired, in order."""
    at = chain.height if height is None else height
    (result,) = [r for r in chain.results if r.header.height == at]
    return [r.id for r in result.receipts if r.kind is ReceiptKind.FIRE]


def decided(chain: Devnet, decision: Decision) -> list:
    """What the last block decided of one kind, in order."""
    return [d for d in chain.last.trace if d.decision is decision]
