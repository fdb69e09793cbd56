"""Proofs: what a root of a header says of one key, or of a range of them.

A proof speaks of one tree: the state's, the calendar, the Globalbox, or that of a
block's receipts.
Beside it stand the records themselves and what the tree's root is committed to by, so
that whoever trusts the header's hash needs nothing else (`node.client.proofs`).

Rules: a proof has at most 8 KiB, and the records of a range 1 MiB; what would have
more is refused when that is found out, not after it was read.
"""

from collections.abc import Iterable
from itertools import takewhile

from msgspec import Struct

from node.chain.block import Header
from node.chain.timers.calendar import fire_of, load_timer, stop_after
from node.chain.transition import State
from node.history import (
    load_encoded_receipts,
    load_header_over,
    load_transaction_location,
)
from node.primitives.crypto import blake2b256
from node.primitives.merkle import ProofTooLarge, Tree
from node.primitives.types import Address, Hash32
from node.query.blocks import require_contents
from node.query.errors import HeightNotReached, MissingKind, NotFound
from node.query.globalbox import fires_from
from node.query.pagination import PAGE_BYTES_MAX
from node.state import keys
from node.state.commitment import (
    CALENDAR,
    GLOBALBOX,
    family_of,
    open_tree,
    root_parts,
    tree_key,
)

__all__ = [
    "PROOF_BYTES_MAX",
    "Proof",
    "prove_account",
    "prove_due",
    "prove_queue",
    "prove_receipt",
    "prove_storage",
    "prove_timer",
    "prove_transaction",
]

PROOF_BYTES_MAX = 8_192
"""Twice what the worst keys that somebody can choose lead to; 160 timers of a range."""

_INDEX_BYTES = 8


class Proof(Struct, frozen=True):
    """All records in a range of keys, and the proof that there are no others."""

    header: Header
    parts: tuple[Hash32, Hash32, Hash32, Hash32] | None
    """Of the state root: hash of the globals, roots of the trees; None of receipts."""
    proof: bytes
    records: tuple[tuple[bytes, bytes], ...]
    """Ascending by key; the key is the tree's."""


def prove_account(state: State, address: Address) -> Proof:
    """The record of an account, or that there is none: nothing ever touched it."""
    return _prove_record(state, keys.account(address))


def prove_storage(state: State, actor: Address, key: bytes) -> Proof:
    """One entry of an actor's state, by its raw key, or that there is none."""
    return _prove_record(state, keys.storage(actor, key))


def prove_timer(state: State, timer_id: bytes) -> Proof:
    """The record of a pending timer, which says its id.

    Of one that lies in the Globalbox the record of its fire, under its order.

    Raises:
        NotFound: TIMER. The state knows places, not ids: absence of an id has no proof.
    """
    live = load_timer(state.snapshot, timer_id)
    if live is None:
        raise NotFound(MissingKind.TIMER, timer_id)
    fire = None if live.is_watch else fire_of(state.snapshot, live)
    if fire is not None:
        return _prove_record(state, keys.fire(fire.order))
    return _prove_record(state, keys.timer(live.height, live.sequence))


def _prove_record(state: State, key: bytes) -> Proof:
    tree, hung = open_tree(state.snapshot, family_of(key)), tree_key(key)
    proof = tree.prove(hung, hung + b"\0", PROOF_BYTES_MAX)
    record = state.snapshot.get(key)
    records = () if record is None else ((hung, record),)
    return Proof(state.head, root_parts(state.snapshot), proof, records)


def prove_due(state: State, first: int, last: int) -> Proof:
    """All timers due at heights `first` to `last`; none: that nothing is due there.

    Raises:
        ProofTooLarge: The range has too many timers, or too large ones.
    """
    start, stop = keys.timer(first, 0), stop_after(last)
    skip = len(keys.TIMER_PREFIX)
    tree = open_tree(state.snapshot, CALENDAR)
    # Of the last height there is no next: above all keys are 17 bytes of 0xff.
    high = (
        stop[skip:] if stop < keys.TIMERS_STOP else b"\xff" * (CALENDAR.key_bytes + 1)
    )
    proof = tree.prove(start[skip:], high, PROOF_BYTES_MAX)
    pairs = state.snapshot.range(start, stop)
    records = tuple(_bounded((key[skip:], record) for key, record in pairs))
    return Proof(state.head, root_parts(state.snapshot), proof, records)


def prove_queue(state: State, first: bytes, last: bytes) -> Proof:
    """All fires queued in the Globalbox from an order to another; none: there are none.

    Raises:
        ProofTooLarge: The range has too many fires, or too large ones.
    """
    stop = last + b"\0"
    tree = open_tree(state.snapshot, GLOBALBOX)
    proof = tree.prove(first, stop, PROOF_BYTES_MAX)
    pairs = takewhile(lambda pair: pair[0] < stop, fires_from(state.snapshot, first))
    records = tuple(_bounded(pairs))
    return Proof(state.head, root_parts(state.snapshot), proof, records)


def _bounded(records: Iterable[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, bytes]]:
    """At most a page of them; a single one may be larger."""
    size = 0
    for key, record in records:
        if size and size + len(record) > PAGE_BYTES_MAX:
            raise ProofTooLarge(PAGE_BYTES_MAX)
        size += len(record)
        yield key, record


def prove_receipt(state: State, height: int, index: int) -> Proof:
    """A receipt under the receipts root of its block, or that there is none.

    Reads all receipts of the block.

    Raises:
        HeightNotReached: There is no such block yet.
        HistoryNotKept: It is not kept any more.
    """
    header = load_header_over(state.snapshot, height)
    if header is None:
        raise HeightNotReached(height, state.head.height)
    require_contents(state.snapshot, header.height)
    encoded = load_encoded_receipts(state.snapshot, header.height)
    leaves = [
        (at.to_bytes(_INDEX_BYTES, "big"), blake2b256(receipt))
        for at, receipt in enumerate(encoded)
    ]
    pages = Tree(lambda _path: None, _INDEX_BYTES).apply(leaves).pages
    tree = Tree(pages.get, _INDEX_BYTES)
    key = index.to_bytes(_INDEX_BYTES, "big")
    proof = tree.prove(key, key + b"\0", PROOF_BYTES_MAX)
    records = ((key, encoded[index]),) if index < len(encoded) else ()
    return Proof(header, None, proof, records)


def prove_transaction(state: State, transaction_id: bytes) -> Proof | None:
    """The receipt of a transaction, which says its id; None unless it is committed."""
    location = load_transaction_location(state.snapshot, transaction_id)
    # Transactions run first (D2): receipt i is transaction i's.
    return None if location is None else prove_receipt(state, *location)
