"""Sources of actors as a failure shows them: those of a state, read when asked."""

from collections.abc import Callable, Iterator, Mapping

from typing_extensions import override

from node.chain.accounts import load_account, load_code
from node.client.sources import ActorSource
from node.primitives.types import Address
from node.state.store import StoreSnapshot

__all__ = ["StateSources"]


class StateSources(Mapping[bytes, ActorSource]):
    """The code that actors have in a state, by address; of one also by no bytes.

    Nothing is copied and nobody walks over it: it has no end of its own.
    """

    def __init__(
        self,
        snapshot: StoreSnapshot,
        known: Callable[[bytes], ActorSource],
        own: Address | ActorSource,
    ) -> None:
        """Of the actor at an address, or with a source that never became an actor's.

        Args:
            snapshot: the state.
            known: what is known of a source with these bytes.
            own: what no bytes stand for.
        """
        self._snapshot = snapshot
        self._known = known
        self._own = own

    @override
    def __getitem__(self, address: bytes) -> ActorSource:
        if address:
            return self._source_at(Address(address))
        own = self._own
        return own if isinstance(own, ActorSource) else self._source_at(own)

    def _source_at(self, address: Address) -> ActorSource:
        account = load_account(self._snapshot, address)
        if not account.is_actor:
            raise KeyError(address)
        return self._known(load_code(self._snapshot, account.code_hash))

    @override
    def __iter__(self) -> Iterator[bytes]:
        raise TypeError("all actors of a state are not listed")

    @override
    def __len__(self) -> int:
        raise TypeError("all actors of a state are not counted")
