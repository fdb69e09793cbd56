"""From a store to a chain that may go on, or a sentence that says why it may not.

A fresh store gets the genesis: block 0, the first state and the document itself, in
one synced batch. In any other the document must be the one that was asked for, and
the head must be what the tail of the chain and the pages of the state say it is. A
damaged chain is refused: what a node would build on it nobody else could follow.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from node import history
from node.archive import chain_store, made_totals
from node.chain.block import Header, decode_header
from node.chain.consensus import CONSENSUS_NUMBER
from node.chain.errors import InvalidGenesis
from node.chain.genesis import (
    Genesis,
    build_genesis,
    differing_fields,
    parse_genesis,
)
from node.chain.params import ChainParams
from node.chain.transition import (
    Caches,
    Known,
    State,
    head_globals,
    head_governed,
    open_state,
)
from node.primitives import codec
from node.primitives.tree_pages import BrokenTree
from node.primitives.types import Hash32
from node.state import keys
from node.state.commitment import TreeCaches, find_unproven, state_root_of_pages
from node.state.retention import load_oldest
from node.state.store import Store, StoreSnapshot, WriteSet

__all__ = [
    "DamagedChain",
    "ForeignGenesis",
    "Opened",
    "begin_unfinished",
    "load_genesis",
    "open_chain",
    "require_chain",
    "reset_chain",
    "resume_state",
    "whole_state",
]

_FINISHED: Final[Mapping[bytes, bytes | None]] = {keys.UNFINISHED: None}

TAIL_HEADERS = 64
"""Headers whose hashes are checked when a chain is opened."""

SAMPLE_PROBES = 16
"""Records of each tree that are looked up in its pages when a chain is opened."""


class ForeignGenesis(Exception):  # noqa: N818 - a condition of the folder
    """The chain in the store began from another genesis than was asked for."""


class DamagedChain(Exception):  # noqa: N818 - a condition of the folder
    """The store contradicts itself."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}: the chain is damaged; restore a copy of its folder, or start "
            "again with an empty one"
        )


class Opened(Struct, frozen=True):
    """A chain that may go on."""

    state: State
    genesis: Genesis
    is_fresh: bool
    consensus: int = CONSENSUS_NUMBER
    """Under which its blocks were executed; if another, they can only be read."""
    totals_made: int = 0
    """Of how many blocks an earlier version wrote none."""


def open_chain(store: Store, want: Callable[[Genesis | None], Genesis]) -> Opened:
    """Open the chain in `store`, or begin it; runs on the worker thread.

    `want` names the genesis that is asked for, given the one that is there. A rewind
    or a reset that was cut short is finished first, and totals of blocks are made where
    an earlier version wrote none.

    Raises:
        ForeignGenesis: They differ.
        DamagedChain: What is there cannot be trusted.
    """
    snapshot = store.snapshot()
    stored = load_genesis(snapshot)
    if stored is None:
        genesis = want(None)
        return Opened(_begin(store, genesis), genesis, is_fresh=True)
    _require_wanted(snapshot, stored, want)
    if chain_store.is_clearing(snapshot):
        return Opened(reset_chain(store, stored), stored, is_fresh=False)
    if _finish_rewind(store):
        snapshot = store.snapshot()
    head = _require_sound(snapshot)
    made = 0
    if made_totals.is_missing(snapshot, head.height):
        made = _add_totals(store, head)
        snapshot = store.snapshot()
    number = history.load_consensus(snapshot)
    state = _open(stored, head, snapshot)
    return Opened(state, stored, is_fresh=False, consensus=number, totals_made=made)


def require_chain(
    snapshot: StoreSnapshot, want: Callable[[Genesis | None], Genesis]
) -> None:
    """Refuse what `open_chain` would refuse; nothing is written.

    Raises:
        ForeignGenesis: As `open_chain`.
        DamagedChain: As `open_chain`.
    """
    stored = load_genesis(snapshot)
    if stored is None:
        return
    _require_wanted(snapshot, stored, want)
    if not chain_store.is_clearing(snapshot):
        _require_sound(snapshot)


def whole_state(snapshot: StoreSnapshot) -> State | None:
    """The state of a chain as `open_chain` will take it up; None if that changes it.

    Raises:
        DamagedChain: As `open_chain`.
    """
    stored = load_genesis(snapshot)
    if stored is None or snapshot.get(keys.UNFINISHED):
        return None
    head = _require_sound(snapshot)
    if made_totals.is_missing(snapshot, head.height):
        return None
    return _open(stored, head, snapshot)


def _require_wanted(
    snapshot: StoreSnapshot, stored: Genesis, want: Callable[[Genesis | None], Genesis]
) -> None:
    wanted = want(stored)
    if wanted.encode() != snapshot.get(keys.GENESIS):
        raise ForeignGenesis(_describe_difference(stored, wanted))


def reset_chain(store: Store, genesis: Genesis) -> State:
    """Replace all that `store` holds by the genesis, named snapshots included.

    In bounded batches; one that is cut short is finished when the chain is opened.
    """
    chain_store.clear(store, genesis.encode())
    return _begin(store, genesis)


def _finish_rewind(store: Store) -> bool:
    try:
        return chain_store.finish_rewind(store)
    except LookupError as error:
        raise DamagedChain(f"a rewind cannot be finished: {error}") from error


def _add_totals(store: Store, head: Header) -> int:
    try:
        return made_totals.add_missing(store, head.height)
    except (ValueError, LookupError, TypeError, AssertionError) as error:
        raise DamagedChain(f"what blocks did cannot be read: {error}") from error


def begin_unfinished(store: Store, genesis: Genesis) -> State:
    """`reset_chain`, but it is unfinished for as long as the caller says so.

    Until the key `UNFINISHED` is deleted, each start of a node resets the chain again.
    """
    chain_store.clear(store, genesis.encode())
    return _begin(store, genesis, {})


def _begin(
    store: Store, genesis: Genesis, word: Mapping[bytes, bytes | None] = _FINISHED
) -> State:
    result = build_genesis(genesis)
    document = WriteSet({keys.GENESIS: genesis.encode(), **word})
    document |= history.consensus_record()
    store.commit(result.writes | history.record(result) | document, sync=True)
    return _open(genesis, result.block.header, store.snapshot())


def resume_state(params: ChainParams, head: Header, snapshot: StoreSnapshot) -> State:
    """The state of a chain that goes on; what governs it is looked for once.

    On disk it lies before the timers, so whoever looks steps over all that were
    removed lately: a hundred milliseconds after some hundred thousand.
    """
    caches = Caches(trees=TreeCaches())
    state = open_state(params, head, snapshot, caches)
    globals_, governed = head_globals(state), head_governed(state)
    caches.known = Known(params, head.state_root, globals_, 0, governed)
    return state


def _open(genesis: Genesis, head: Header, snapshot: StoreSnapshot) -> State:
    return resume_state(genesis.params, head, snapshot)


def load_genesis(snapshot: StoreSnapshot) -> Genesis | None:
    """The genesis of the chain in a store; None in an empty one.

    Raises:
        DamagedChain: It cannot be read, or is missing below blocks.
    """
    document = snapshot.get(keys.GENESIS)
    if document is None:
        if snapshot.get(keys.HEAD) is not None:
            raise DamagedChain("the folder holds blocks but no genesis")
        return None
    try:
        return parse_genesis(codec.decode(document))  # type: ignore[arg-type]
    except (codec.MalformedCbor, InvalidGenesis) as error:
        raise DamagedChain(f"the folder's genesis cannot be read: {error}") from error


def _require_sound(snapshot: StoreSnapshot) -> Header:
    """Refuse a chain whose end contradicts itself; its head."""
    headers = _tail(snapshot)
    head = next(headers, None)
    if head is None:
        raise DamagedChain("the folder holds a genesis but no block")
    child = head
    for header in headers:
        if header.hash() != child.parent_hash:
            raise DamagedChain(
                f"block {child.height} does not follow from block {header.height}"
            )
        child = header
    if state_root_of_pages(snapshot) != head.state_root:
        raise DamagedChain(
            f"the state is not the one of block {head.height}, the latest"
        )
    _require_sample(snapshot, head.state_root)
    return head


def _tail(snapshot: StoreSnapshot) -> Iterator[Header]:
    """The latest headers, newest first."""
    oldest = load_oldest(snapshot).header
    height8 = snapshot.get(keys.HEAD)
    for _ in range(TAIL_HEADERS if height8 else 0):
        height = int.from_bytes(height8 or b"", "big")
        record = snapshot.get(keys.header(height))
        if record is None:
            raise DamagedChain(f"the header of block {height} is missing")
        header = decode_header(record)
        yield header
        if header.height <= oldest:
            return
        height8 = keys.height8(header.height - header.span)


def _require_sample(snapshot: StoreSnapshot, seed: Hash32) -> None:
    """Look some records up in the pages; which ones, the state root chooses."""
    probes = []
    for index in range(SAMPLE_PROBES):
        spread = bytes([(seed[index] + index * 256 // SAMPLE_PROBES) % 256])
        probes += [keys.account(spread), keys.storage(spread), b"t" + spread]  # type: ignore[arg-type]
    try:
        unproven = find_unproven(snapshot, probes)
    except BrokenTree as error:
        raise DamagedChain(f"the pages of the state are broken: {error}") from error
    if unproven:
        raise DamagedChain(f"record {unproven[0].hex()} is not in the state's tree")


def _describe_difference(stored: Genesis, wanted: Genesis) -> str:
    """Which fields differ, by name."""
    names = differing_fields(stored, wanted)
    return (
        f"this chain began from another genesis (`{stored.name}`, and `{wanted.name}` "
        f"was asked for; they differ in: {', '.join(names)}): start without --genesis, "
        "--accounts, --account-balance, --block-time and --rules to go on with it, or "
        "give another --data-dir"
    )
