"""Accounts and actors as objects of a test."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from node.chain.block import Receipt
from node.chain.timers.timer import Timer
from node.chain.transaction import ExecuteActor
from node.config import parse_amount
from node.primitives import codec
from node.primitives.types import Address, Amount
from node.state import keys
from pvm import STORAGE_PREFIX, storage_key

if TYPE_CHECKING:
    from node.testing.devnet import Devnet


@dataclass(frozen=True, slots=True)
class DevAccount:
    """A deterministic account with funds from genesis (D42). Not a secret."""

    index: int
    address: Address
    private_key: bytes

    @override
    def __repr__(self) -> str:
        return f"<account {self.index} 0x{self.address.hex()}>"


class Actor:
    """A deployed actor, as an object."""

    __slots__ = ("_chain", "address", "receipt", "source")

    def __init__(
        self, chain: "Devnet", address: Address, source: str, receipt: Receipt
    ) -> None:
        self._chain = chain
        self.address = address
        self.source = source
        self.receipt = receipt
        """Of the deployment."""

    @override
    def __repr__(self) -> str:
        return f"<actor 0x{self.address.hex()}>"

    def call(  # noqa: PLR0913 - each is a field of the transaction
        self,
        handler: str,
        payload: bytes = b"",
        *,
        sender: "Sender | None" = None,
        value: int | str = 0,
        cycles_limit: int | None = None,
        cells_limit: int | None = None,
        expect_failure: bool = False,
    ) -> Receipt:
        """Call a handler in a transaction and mine it.

        Raises:
            TransactionFailed: unless `expect_failure`.
            TransactionRefused: it could not be included.
        """
        instruction = ExecuteActor(self.address, handler, payload, amount_of(value))
        return self._chain.execute(
            instruction,
            sender=sender,
            cycles_limit=cycles_limit,
            cells_limit=cells_limit,
            expect_failure=expect_failure,
        )

    def read(
        self, handler: str, payload: bytes = b"", sender: "Sender | None" = None
    ) -> bytes:
        """A handler's answer on a read view; nothing is mined (D15).

        Raises:
            ReadFailed: the handler failed.
        """
        return self._chain.read(self, handler, payload, sender)

    @property
    def balance(self) -> Amount:
        """Base units."""
        return self._chain.balance(self)

    @property
    def storage(self) -> Mapping[str, codec.Value]:
        """What `self.storage` holds, decoded; a copy."""
        start = keys.storage(self.address, STORAGE_PREFIX)
        snapshot = self._chain.state.snapshot
        return {
            key[len(start) :].decode(): codec.decode(value)
            for key, value in snapshot.range(start, keys.prefix_stop(start))
        }

    def state(self, key: bytes | str) -> bytes | None:
        """A raw entry of the actor's state; a str names an entry of `storage`."""
        name = storage_key(key) if isinstance(key, str) else key
        return self._chain.state.snapshot.get(keys.storage(self.address, name))

    @property
    def timers(self) -> list[Timer]:
        """Live timers in due order."""
        return self._chain.timers(self)


Sender = DevAccount | Actor | bytes


def address_of(who: Sender) -> Address:
    """The address of whoever a test names.

    Raises:
        TypeError: it is none of the three.
    """
    if isinstance(who, DevAccount | Actor):
        return who.address
    if type(who) is not bytes or len(who) != 20:  # noqa: PLR2004 - an address
        raise TypeError("an account, an actor or an address of 20 bytes is wanted")
    return Address(who)


def amount_of(value: int | str) -> Amount:
    """Base units, also of an amount such as "5 CBY"."""
    return Amount(value) if isinstance(value, int) else parse_amount(value)
