"""Bundles: a whole chain in one file, to be executed again anywhere.

The genesis, and of each block all that is remembered of it: header, transactions,
receipts with events, decisions about timers. Nothing else is an input: `Fund` and
`SetBalance` are content of blocks (D41), and time that passed is the span of a header
(D36), for the clock is virtual. So whoever executes a bundle can compare roots, order
of fires, receipts and events with what its writer saw.

::

    record  height8 | canonical CBOR: [header, transactions, results, timer trace]

Each of the four is as the history keeps it, empty where it has none. So equal chains
give equal bytes, and a bundle is replayed by what replays a folder. `record_file.py`
has the form of the file.

Rules: nothing of a bundle is believed before it was read to its end.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct

from node import history
from node.archive.record_file import (
    BUFFER_BYTES,
    PART_BYTES,
    FileFault,
    FileKind,
    Packing,
    RecordReader,
    new_file,
)
from node.archive.replay import (
    BLOCK_RECORDS,
    Differs,
    Replay,
    require_same_beginning,
)
from node.chain.block import Header, parse_header
from node.chain.bundle_errors import BundleFault, BundleRefused, refuse_bundle
from node.chain.consensus import CONSENSUS_NUMBER
from node.chain.genesis import Genesis, differing_fields
from node.chain.params import ADDRESS_BYTES
from node.chain.transition import BlockResult, State
from node.primitives import codec
from node.query.errors import HistoryNotKept
from node.state import keys
from node.state.retention import load_oldest
from node.state.store import StoreSnapshot

__all__ = [
    "Bundle",
    "chain_not_empty",
    "check_bundle",
    "first_difference",
    "new_bundle",
    "open_bundle",
    "open_parts",
    "pack_chain",
    "pack_results",
    "replay_of",
    "require_executable",
    "require_same_genesis",
]


_FAULTS: Final = {
    FileFault.EXISTS: BundleFault.FILE_EXISTS,
    FileFault.UNUSABLE: BundleFault.FILE_UNUSABLE,
    FileFault.FOREIGN: BundleFault.NO_BUNDLE,
    FileFault.NEWER: BundleFault.NEWER,
    FileFault.OLDER: BundleFault.OLDER,
    FileFault.DAMAGED: BundleFault.DAMAGED,
}

KIND: Final = FileKind(
    name="cowboy-devnet-bundle",
    version=3,
    noun="a bundle",
    refusal=lambda fault, what: refuse_bundle(_FAULTS[fault], what),
    is_key=lambda key: len(key) == keys.HEIGHT_BYTES,
)


# --- writing -------------------------------------------------------------------------


def pack_chain(snapshot: StoreSnapshot, head: Header) -> Packing:
    """The bundle of a chain in a store, up to its head.

    Raises:
        HistoryNotKept: Blocks were pruned, or the chain began with a state file.
    """
    oldest = load_oldest(snapshot).contents
    if oldest > 1:  # genesis is always there
        raise HistoryNotKept(1, oldest)
    document = snapshot.get(keys.GENESIS)
    assert document is not None, "a chain has a genesis"
    consensus = history.load_consensus(snapshot)
    return Packing(KIND, (document, head, consensus), _blocks(snapshot))


def _blocks(snapshot: StoreSnapshot) -> Iterator[tuple[bytes, bytes]]:
    stop = keys.prefix_stop(keys.header(0)[: -keys.HEIGHT_BYTES])
    for key, _ in snapshot.range(keys.header(0), stop):
        height = int.from_bytes(key[-keys.HEIGHT_BYTES :], "big")
        yield keys.height8(height), _record(height, snapshot.get)


def pack_results(genesis: Genesis, results: Sequence[BlockResult]) -> Packing:
    """The bundle of a chain whose every result is at hand, genesis' first."""

    def blocks() -> Iterator[tuple[bytes, bytes]]:
        for result in results:
            height = result.header.height
            yield (
                keys.height8(height),
                _record(height, history.record(result).changes.get),
            )

    head = genesis.encode(), results[-1].header, CONSENSUS_NUMBER
    return Packing(KIND, head, blocks())


def _record(height: int, get: Callable[[bytes], bytes | None]) -> bytes:
    return codec.encode([get(key_of(height)) or b"" for key_of in BLOCK_RECORDS])


def new_bundle(path: Path) -> AbstractContextManager[Callable[[bytes], object]]:
    """Write a bundle whose bytes come part by part; whole when the context ends.

    Raises:
        BundleRefused: There is a file already, or it cannot be written.
    """
    return new_file(path, KIND)


# --- reading -------------------------------------------------------------------------


class Bundle(Struct, frozen=True):
    """A file that was read to its end, and found whole."""

    file: BinaryIO
    """Open, at no place in particular."""
    name: str
    """For sentences."""
    genesis: Genesis
    first: bytes
    """The encoded header of block 0."""
    head: Header
    consensus: int
    """Under which it was executed."""
    blocks: int
    """Headers, genesis' included."""


@contextmanager
def open_bundle(path: Path) -> Iterator[Bundle]:
    """Read a bundle to its end; the file is open for as long as the context.

    Raises:
        BundleRefused: It is none, of a newer version, cut, altered, or unreadable.
    """
    with _opened(path) as file:
        yield check_bundle(file, str(path))


@contextmanager
def open_parts(path: Path) -> Iterator[Iterator[bytes]]:
    """The bytes of a file, to be sent to whoever reads and refuses it.

    Raises:
        BundleRefused: It cannot be read.
    """
    with _opened(path) as file:
        yield iter(partial(file.read, PART_BYTES), b"")


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb", buffering=BUFFER_BYTES)
    except OSError as error:
        raise refuse_bundle(
            BundleFault.FILE_UNUSABLE,
            f"{path} cannot be read: {error.strerror or error}",
        ) from error


def check_bundle(file: BinaryIO, name: str) -> Bundle:
    """Read a bundle to its end, and say what is in it.

    Raises:
        BundleRefused: It is none, of a newer version, cut, altered, or unreadable.
    """
    try:
        file.seek(0)
        reader = RecordReader(KIND, name, file)
        genesis, head, consensus = reader.head()
        first, last = b"", None
        for key, value in reader.records():
            block = _parse(key, value)
            if block is None:
                reader.refuse()
            last = block[0]
            first = first or last
        reader.end()
    except OSError as error:
        raise refuse_bundle(
            BundleFault.FILE_UNUSABLE,
            f"{name} cannot be read: {error.strerror or error}",
        ) from error
    if not first or parse_header(first).height != 0 or last != head.encode():
        reader.refuse()
    return Bundle(file, name, genesis, first, head, consensus, reader.count)


def _parse(key: bytes, value: bytes) -> list[bytes] | None:
    """A block's four records; None if this is none."""
    try:
        records = codec.decode(value)
        if not isinstance(records, list) or len(records) != len(BLOCK_RECORDS):
            return None
        found = [record for record in records if isinstance(record, bytes)]
        if len(found) != len(records):
            return None
        is_here = keys.height8(parse_header(found[0]).height) == key
        is_right = not found[1] or _are_sent(codec.decode(found[1]))
    except (OverflowError, ValueError):  # a height of more than 64 bits; no CBOR
        return None
    return found if is_here and is_right else None


def _are_sent(items: codec.Value) -> bool:
    """Whether these are transactions: each a sender's address, and bytes."""
    if not isinstance(items, list):
        return False
    for item in items:
        match item:
            case [bytes() as sender, bytes()] if len(sender) == ADDRESS_BYTES:
                continue
            case _:
                return False
    return True


class _Blocks:
    """A bundle as a snapshot of its blocks, for whoever walks through it once, upwards.

    The records of a block are there from when its header was told until the next is.
    """

    __slots__ = ("_always", "_block", "_bundle")

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._always = {
            keys.HEAD: keys.height8(bundle.head.height),
            keys.header(0): bundle.first,
        }
        self._block: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        """The value under `key`, or None."""
        return self._block.get(key) or self._always.get(key)

    def range(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Headers with start ≤ key < stop, ascending by key."""
        bundle = self._bundle
        bundle.file.seek(0)
        reader = RecordReader(KIND, bundle.name, bundle.file)
        reader.head()
        for key, value in reader.records():
            height = int.from_bytes(key, "big")
            if not start <= keys.header(height) < stop:
                continue
            block = _parse(key, value)
            if block is None:
                reader.refuse()
            names = [key_of(height) for key_of in BLOCK_RECORDS]
            found = zip(names, block, strict=True)
            self._block = {name: record for name, record in found if record}
            yield keys.header(height), block[0]
        reader.end()


# --- executing -----------------------------------------------------------------------


def require_executable(bundle: Bundle) -> None:
    """Refuse what was executed under other rules than those of this program.

    Raises:
        BundleRefused: OTHER_CONSENSUS.
    """
    if bundle.consensus != CONSENSUS_NUMBER:
        raise refuse_bundle(
            BundleFault.OTHER_CONSENSUS,
            f"{bundle.name} was executed under consensus {bundle.consensus}, and this "
            f"cowboy-devnet executes under {CONSENSUS_NUMBER}",
            consensus=bundle.consensus,
            own=CONSENSUS_NUMBER,
        )


def require_same_genesis(bundle: Bundle, genesis: Genesis) -> None:
    """Refuse the chain of another genesis.

    Raises:
        BundleRefused: FOREIGN, with the fields that differ.
    """
    if bundle.genesis.encode() == genesis.encode():
        return
    names = differing_fields(bundle.genesis, genesis)
    raise refuse_bundle(
        BundleFault.FOREIGN,
        f"{bundle.name} is of another chain: its genesis is `{bundle.genesis.name}`, "
        f"this one's `{genesis.name}`, and they differ in: {', '.join(names)}",
    )


def replay_of(
    bundle: Bundle, keep: Callable[[State, BlockResult], StoreSnapshot], state: State
) -> Replay:
    """The replay of a bundle above genesis' state; `keep` as for `Replay`.

    Raises:
        BundleRefused: It was executed under another consensus number.
        Differs: The bundle's block 0 is another one.
    """
    require_executable(bundle)
    require_same_beginning(parse_header(bundle.first), state.head)
    blocks = _Blocks(bundle)
    return Replay(blocks, keep, state, bundle.head.height, is_folder=False)


def first_difference(bundle: Bundle, difference: Differs) -> BundleRefused:
    """The refusal of a bundle whose blocks are not what executing them gives."""
    return refuse_bundle(
        BundleFault.DIFFERS,
        f"{bundle.name} is not what executing it gives here, first at height "
        f"{difference.height} ({'; '.join(difference.lines)})",
        height=difference.height,
    )


def chain_not_empty(height: int, waiting: int, named: int) -> BundleRefused:
    """The refusal of a bundle by a chain in which more happened than time."""
    return refuse_bundle(
        BundleFault.NOT_EMPTY,
        f"the chain is not empty: it stands at height {height}, with blocks that have "
        f"content, {waiting} transactions that wait or {named} named snapshots",
        height=height,
        waiting=waiting,
        snapshots=named,
    )
