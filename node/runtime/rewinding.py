"""Going back: to a named snapshot, or to genesis. What the engine has of it.

Rules: on the worker. When a function here returns, what it did is on disk.
"""

from msgspec import Struct

from node import history
from node.archive.chain_store import ChainStore
from node.archive.opening import reset_chain, resume_state
from node.chain.block import Header
from node.chain.errors import InvalidTransaction
from node.chain.genesis import Genesis
from node.chain.transaction import Transaction, decode_transaction
from node.chain.transition import State
from node.primitives.types import Hash32
from node.runtime import transaction_outcomes
from node.state.store import Store

__all__ = ["Rewound", "reset", "revert"]


class Rewound(Struct, frozen=True):
    """A chain that was taken back."""

    state: State
    chain: ChainStore
    undone: tuple[Hash32, ...]
    """Ids of transactions whose blocks are no more."""
    waiting: tuple[Transaction, ...] = ()
    """What waited in the pool at that height."""
    place: Header | None = None
    """The block from which readers go on, if the chain has others above it."""


def reset(
    store: Store, genesis: Genesis, before: State, keep_blocks: int | None
) -> Rewound:
    """Back to genesis; nothing else is left."""
    undone = tuple(transaction_outcomes.list_committed(before.snapshot))
    state = reset_chain(store, genesis)
    return Rewound(state, ChainStore(store, keep_blocks), undone)


def revert(chain: ChainStore, before: State, name: str) -> Rewound:
    """Back to a named snapshot, which is kept; those above it are deleted.

    Raises:
        UnknownSnapshot: There is none of that name.
    """
    named, waiting = chain.find_snapshot(name)
    snapshot, undone = chain.rewind(before.head.height, named.height)
    head = history.load_head(snapshot)
    assert head is not None, "a snapshot stands on a block"
    assert head.hash() == named.block_hash, "a block below a snapshot never changes"
    # What was held in memory spoke of the blocks that are gone.
    state = resume_state(before.params, head, snapshot)
    return Rewound(state, chain, undone, _decode_all(waiting))


def _decode_all(raws: list[bytes]) -> tuple[Transaction, ...]:
    transactions = []
    for raw in raws:
        try:
            transactions.append(decode_transaction(raw))
        except InvalidTransaction as error:  # it was admitted when it was put here
            raise AssertionError("a snapshot holds what cannot be decoded") from error
    return tuple(transactions)
