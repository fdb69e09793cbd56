"""Standing orders on Cowboy: pay somebody every so many blocks.

`StandingOrder` works on every chain that satisfies `node.client.Chain`: a `Devnet` in a
test, a `Client` of a node. The actor is in actor.py, beside this file.
"""

import json
from importlib.resources import files

from node.client import Actor, Chain, DevAccount

__all__ = ["ACTOR_SOURCE", "StandingOrder"]

ACTOR_SOURCE = files(__name__).joinpath("actor.py").read_text()


class StandingOrder:
    """An order and its actor, which holds the money."""

    def __init__(self, actor: Actor, owner: DevAccount) -> None:
        self.actor = actor
        self.owner = owner

    @classmethod
    def open(cls, chain: Chain, owner: DevAccount, funds: int | str) -> "StandingOrder":
        """Deploy the actor with money."""
        return cls(chain.deploy(ACTOR_SOURCE, sender=owner, value=funds), owner)

    def start(self, to: bytes, amount: int, every: int) -> None:
        """Pay `amount` base units to `to`, every so many blocks."""
        wanted = {"to": to.hex(), "amount": amount, "every": every}
        self.actor.call("start", json.dumps(wanted).encode(), sender=self.owner)

    def stop(self) -> None:
        """Pay no more."""
        self.actor.call("stop", sender=self.owner)

    @property
    def payments(self) -> int:
        """How many were made."""
        payments = self.actor.storage["payments"]
        assert isinstance(payments, int)
        return payments
