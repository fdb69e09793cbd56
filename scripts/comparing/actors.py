"""The actor of every world, and what its owner needs.

One source does all that groups do, and states no fees: where rules ask for a bid, the
actor is its own Gas Bidding Agent, and its answer has the names of all rules (D57). So
a world is the same under each of them, and what differs is what the rules make of it.
"""

from msgspec import Struct

from node.primitives import codec

LIMIT = 250_000
"""Cycles that a fire may use: eight fill the lane (CIP-1 §10)."""
_LEFT = 95_000
SOURCE = f"""
import pvm_host

def deploy(payload):
    pvm_host.set_state(b"need", payload)

def arm(payload):
    for height, period in pvm_host.cbor_decode(payload):
        _schedule(height, period)

def _schedule(height, period):
    pvm_host.schedule_timer(
        height,
        pvm_host.cbor_encode([height, period]),
        gas_limit={LIMIT},
        gba=pvm_host.self_address(),
    )

def handle_timer(payload):
    due, period = pvm_host.cbor_decode(payload)
    if period:
        turns = (pvm_host.block_height() - due) // period
        _schedule(due + (turns + 1) * period, period)
    pvm_host.charge_gas(pvm_host.gas_left() - {_LEFT})

def get_gas_bid(context):
    worth, tip, dearer = pvm_host.cbor_decode(pvm_host.get_state(b"need"))
    late = context["current_block_height"] - context["trigger_block_height"]
    room = max(0, worth - context["basefee_cycle"])
    tip = min(tip + dearer * late, room)
    in_lane = "basefee_lane_timer" in context
    return {{
        "max_fee_per_cycle": room if in_lane else worth,
        "max_priority_fee_per_cycle": tip,
        "tip_per_cycle": tip,
    }}
""".encode()
"""A timer is a standing order on fixed heights, as of a calendar: being late moves no
later turn, and a turn that passed while its actor still waited is lost."""


class Need(Struct, frozen=True):
    """What an agent bids for its actor, in base units a cycle."""

    worth: int
    """The most that it pays for a cycle, basefees and tip together."""
    tip: int = 0
    """What it offers above the basefees when it is due."""
    dearer: int = 0
    """What it adds for each block that it is late."""

    def encode(self) -> bytes:
        """The payload of its actor's deployment."""
        return codec.encode([self.worth, self.tip, self.dearer])
