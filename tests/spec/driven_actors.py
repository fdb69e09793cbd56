"""Small actors, and short ways to drive them, that the specification tests share."""

import base64
import json

from node.chain.block import Event, Receipt, ReceiptKind
from node.chain.transition import BlockResult, head_globals
from node.primitives import codec
from node.testing import Actor, Devnet

SCHEDULER = '''
import pvm_host

class Scheduler:
    """Does with timers what its payloads say; keeps what its fires brought."""

    def schedule(self, payload):
        return self._schedule(pvm_host.cbor_decode(payload))

    def schedule_all(self, payload):
        return [self._schedule(entry) for entry in pvm_host.cbor_decode(payload)]

    def _schedule(self, entry):
        height, data, options = entry
        return pvm_host.schedule_timer(height, data, **options)

    def schedule_ex(self, payload):
        height, data, options = pvm_host.cbor_decode(payload)
        return pvm_host.schedule_timer_ex(height, data, **options)

    def extend(self, payload):
        timer_id, expires_at = pvm_host.cbor_decode(payload)
        pvm_host.extend_timer(timer_id, expires_at)

    def cancel(self, payload):
        pvm_host.cancel_timer(payload)

    def list(self):
        return pvm_host.list_timers()

    def send_away(self, payload):
        to, amount = pvm_host.cbor_decode(payload)
        pvm_host.transfer(to, amount)

    def handle_timer(self, payload):
        self._note("handle_timer", payload)

    def other(self, payload):
        self._note("other", payload)

    def _note(self, handler, payload):
        fires = self.storage.get("fires", [])
        fires.append([pvm_host.block_height(), handler, payload])
        self.storage["fires"] = fires
'''

STEADY = {"basefee_config": {"min_basefee": 1_000}}
"""Genesis overrides under which both basefees stay at 1,000."""


def schedule(
    actor: Actor, height: object, payload: object = b"", sender=None, **options: object
) -> bytes:
    """Schedule one timer in a block of its own; its id."""
    receipt = actor.call(
        "schedule", codec.encode([height, payload, options]), sender=sender
    )
    return receipt.value


def schedule_all(actor: Actor, *entries: tuple) -> list[bytes]:
    """Schedule several timers in one execution: (height, payload, options)."""
    receipt = actor.call("schedule_all", codec.encode([list(e) for e in entries]))
    return codec.decode(receipt.value)


def refusal(actor: Actor, height: object, payload: object = b"", **options) -> str:
    """The name of the host's error when scheduling is refused."""
    arguments = codec.encode([height, payload, options])
    return refused(actor.call("schedule", arguments, expect_failure=True))


def refused(receipt: Receipt) -> str:
    """The name of the `HostError` that an actor did not catch."""
    kind, _, name = receipt.failure.kind.partition(".")
    assert kind == "HostError"
    return name


def fires(result: BlockResult) -> list[Receipt]:
    """Receipts of the timers that a block fired, in order."""
    return [r for r in result.receipts if r.kind is ReceiptKind.FIRE]


def fired_payloads(actor: Actor) -> list[bytes]:
    """Payloads that a Scheduler's fires brought, in order."""
    return [payload for _, _, payload in actor.storage.get("fires", [])]


def fired_heights(actor: Actor) -> list[int]:
    """Heights at which a Scheduler fired, in order."""
    return [height for height, _, _ in actor.storage.get("fires", [])]


def said(event: Event) -> dict[str, codec.Value]:
    """The named numbers of a system event."""
    assert event.emitter is None
    return codec.decode(event.data)


def decisions(chain: Devnet, timer_id: bytes) -> list[str]:
    """The words of a timer's life, in order."""
    return [d.decision.value for _, d in chain.decisions(timer_id)]


def route(handler: str, payload: bytes = b"") -> bytes:
    """A payload that names its handler (CIP-5 §4.2)."""
    inner = base64.b64encode(payload).decode()
    return json.dumps({"_handler": handler, "_payload": inner}).encode()


def without_names(text: object, chain: Devnet) -> str:
    """What a chain prints, with addresses where it has names for them."""
    plain = f"{text}"
    for address, name in sorted(chain.labels.items(), key=lambda one: -len(one[1])):
        plain = plain.replace(name, f"0x{address.hex()}")
    return plain


# --- under the rules `auction` --------------------------------------------------------

AUCTION = {
    "activations": [{"height": 0, "rules": "auction"}],
    "basefee_config": {"min_basefee": 1_000},
}
"""Genesis overrides: `auction` from the start, cycle and cell basefee stay at 1,000."""

WORKER = (
    SCHEDULER
    + '''
    def burn(self, payload):
        """Uses so many cycles, or all it has."""
        pvm_host.charge_gas(pvm_host.cbor_decode(payload))

    def meddle(self, payload):
        """Cancels one timer, or extends it."""
        timer_id, expires_at = pvm_host.cbor_decode(payload)
        if expires_at:
            pvm_host.extend_timer(timer_id, expires_at)
        else:
            pvm_host.cancel_timer(timer_id)
'''
)
"""A Scheduler whose fires can be told to use cycles, or to meddle with others."""

ALL = route("burn", codec.encode(2**29))
"""A payload whose fire uses its whole limit and fails."""


def put_off(result: BlockResult, reason: str) -> list[bytes]:
    """Ids of the timers that a block put off for a reason."""
    return [
        d.timer_id
        for d in result.trace
        if d.decision.value == "put_off" and d.reason == reason
    ]


def lane(chain: Devnet) -> int:
    """The timer lane's basefee in the next block."""
    return head_globals(chain.state).basefee_lane


# --- under the rules `bidding` --------------------------------------------------------

EPOCH = 100
"""Heights of an epoch in these tests."""

BIDDING = {
    "activations": [{"height": 0, "rules": "bidding"}],
    "basefee_config": {"min_basefee": 1_000},
    "calendar": {"epoch_length": EPOCH},
}
"""Genesis overrides: `bidding` from the start, cycle and cell basefee stay at 1,000."""

AGENT = '''
import pvm_host

class Agent:
    """A Gas Bidding Agent that bids what it was told last, at first {fee} and {tip}."""

    def tell(self, payload):
        self.storage["bid"] = pvm_host.cbor_decode(payload)

    def get_gas_bid(self, context):
        return self.storage.get("bid", [{fee}, {tip}])
'''


def agent_of(chain: Devnet, fee: int = 10**6, tip: int = 0) -> Actor:
    """An agent that offers at most a fee and a tip a cycle, until it is told else."""
    salt = b"%032d" % chain.height  # no two of them are the same
    return chain.deploy(AGENT.format(fee=fee, tip=tip), salt=salt)


def tell(agent: Actor, fee: int, tip: int) -> None:
    """Let an agent bid something else from now on."""
    agent.call("tell", codec.encode([fee, tip]))
