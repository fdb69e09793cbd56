"""What a node proves: its answers to `GetProof`, checked against a block's hash.

A `Subject` says what is to be proven and knows which keys of which tree that is.
`check_proof` recomputes the root from the proof (`node.primitives.proof`, under 150
lines), the state root from its parts, and the hash of the header that names it.
Who trusts that hash, from wherever they have it, need not trust the node.

Rules: no LevelDB, no engine, no gRPC call. Whatever does not follow is `BadProof`.
"""

from typing import Protocol, cast

from msgspec import Struct

from node.chain.block import Header, ReceiptKind, parse_header
from node.chain.params import U64_MAX
from node.primitives import codec
from node.primitives.crypto import blake2b256
from node.primitives.merkle import EMPTY_ROOT
from node.primitives.proof import BadProof, combine_state_root, verify
from node.primitives.tree_pages import Leaf
from node.primitives.types import Address, Hash32
from node.rpc.v1 import queries_pb2 as pb
from node.state import keys
from pvm.runtime.storage import STORAGE_PREFIX

__all__ = [
    "AccountProof",
    "BadProof",
    "DueProof",
    "Proven",
    "QueueProof",
    "ReceiptProof",
    "StorageProof",
    "Subject",
    "TimerProof",
    "TransactionProof",
    "check_proof",
]

_HASH_BYTES = 32
_TIMER_KEY_BYTES = 16
_INDEX_BYTES = 8


class Proven(Struct, frozen=True):
    """What follows from the hash of a block: all records that the subject asked for."""

    header: Header
    block_hash: Hash32
    records: tuple[tuple[bytes, bytes], ...]
    """(Key in its tree, record in canonical CBOR). It is empty if there is nothing
    there."""
    is_globalbox_empty: bool | None = None
    """Whether no fire was queued in the Globalbox; None for a receipt, whose root does
    not say."""

    @property
    def record(self) -> bytes | None:
        """The record of a subject that is one key, or None if it is absent."""
        return self.records[0][1] if self.records else None

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """(Due height, sequence) of each timer, for a subject of the calendar."""
        return tuple(
            (int.from_bytes(key[:8], "big"), int.from_bytes(key[8:], "big"))
            for key, _ in self.records
        )


class Subject(Protocol):
    """Something that can be proven."""

    def request(self) -> pb.GetProofRequest:
        """What to ask the node."""
        ...

    def verify(self, header: Header, answer: pb.GetProofResponse) -> list[Leaf]:
        """The leaves that the answer proves under a root of the header."""
        ...


class AccountProof(Struct, frozen=True):
    """The record of an account: [balance, nonce, counter, code hash, deployer]."""

    address: bytes

    def request(self) -> pb.GetProofRequest:
        """What to ask the node."""
        return pb.GetProofRequest(account=self.address)

    def verify(self, header: Header, answer: pb.GetProofResponse) -> list[Leaf]:
        """The account's leaf, or none."""
        return _state_leaf(header, answer, keys.account(Address(self.address)))


class StorageProof(Struct, frozen=True):
    """One entry of an actor's state, by its name in `self.storage` or raw key."""

    actor: bytes
    key: str | bytes

    def request(self) -> pb.GetProofRequest:
        """What to ask the node."""
        place = pb.StorageKey(actor=self.actor, raw=self._raw)
        return pb.GetProofRequest(storage=place)

    @property
    def _raw(self) -> bytes:
        if isinstance(self.key, str):
            return STORAGE_PREFIX + self.key.encode()
        return self.key

    def verify(self, header: Header, answer: pb.GetProofResponse) -> list[Leaf]:
        """The entry's leaf, or none."""
        key = keys.storage(Address(self.actor), self._raw)
        return _state_leaf(header, answer, key)


class TimerProof(Struct, frozen=True):
    """The record of a pending timer, which begins with its id.

    Of one that lies in the Globalbox it is the record of its fire: [bid, sequence,
    matched keys, record of the timer].
    """

    timer_id: bytes

    def request(self) -> pb.GetProofRequest:
        """What to ask the node."""
        return pb.GetProofRequest(timer_id=self.timer_id)

    def verify(self, header: Header, answer: pb.GetProofResponse) -> list[Leaf]:
        """The timer's leaf; its place is what the node says, its id is the record's."""
        key, fields = _only_record(answer)
        is_queued = len(key) == keys.FIRE_ORDER_BYTES
        if is_queued:
            fields = _timer_in_fire(fields)
        if fields[:1] != [self.timer_id]:
            raise BadProof("the record is of another timer")
        leaves = _globalbox_leaves if is_queued else _calendar_leaves
        return leaves(header, answer, key, key + b"\0")


class DueProof(Struct, frozen=True):
    """All timers that are due in a range of heights, both ends included.

    Without records it proves that nothing is due there.
    """

    first_height: int
    last_height: int = U64_MAX

    def request(self) -> pb.GetProofRequest:
        """What to ask the node."""
        span = pb.DueRange(first_height=self.first_height, last_height=self.last_height)
        return pb.GetProofRequest(due=span)

    def verify(self, header: Header, answer: pb.GetProofResponse) -> list[Leaf]:
        """The leaves of all of them."""
        # One byte more than a height: above the last one there is no next.
        stop = (self.last_height + 1).to_bytes(9, "big")
        high = stop[1:] if stop[0] == 0 else b"\xff" * (_TIMER_KEY_BYTES + 1)
        return _calendar_leaves(header, answer, keys.height8(self.first_height), high)


class QueueProof(Struct, frozen=True):
    """All fires queued in the Globalbox from one order to another, both included.

    Without records it proves that none is. Without orders it is about the whole queue;
    from the first order to that of a fire it proves how many stand before it.
    """

    first_order: bytes = b""
    last_order: bytes = b""

    def request(self) -> pb.GetProofRequest:
        """What to ask the node."""
        span = pb.QueueRange(first_order=self.first_order, last_order=self.last_order)
        return pb.GetProofRequest(queue=span)

    def verify(self, header: Header, answer: pb.GetProofResponse) -> list[Leaf]:
        """The leaves of all of them, the first of the queue first."""
        width = keys.FIRE_ORDER_BYTES
        last = self.last_order or b"\xff" * width
        first = self.first_order or bytes(width)
        return _globalbox_leaves(header, answer, first, last + b"\0")


class ReceiptProof(Struct, frozen=True):
    """A receipt by its height and its index in the block."""

    height: int
    index: int

    def request(self) -> pb.GetProofRequest:
        """What to ask the node."""
        place = pb.ReceiptPlace(height=self.height, index=self.index)
        return pb.GetProofRequest(receipt=place)

    def verify(self, header: Header, answer: pb.GetProofResponse) -> list[Leaf]:
        """The receipt's leaf, or none."""
        if not header.height - header.span < self.height <= header.height:
            raise BadProof("the header is of another height")
        key = self.index.to_bytes(_INDEX_BYTES, "big")
        root = header.receipts_root
        return verify(root, answer.proof, key, key + b"\0", _INDEX_BYTES)


class TransactionProof(Struct, frozen=True):
    """The receipt of a transaction that is in a block."""

    transaction_id: bytes

    def request(self) -> pb.GetProofRequest:
        """What to ask the node."""
        return pb.GetProofRequest(transaction_id=self.transaction_id)

    def verify(self, header: Header, answer: pb.GetProofResponse) -> list[Leaf]:
        """The receipt's leaf; its index is what the node says, its id is its own."""
        key, fields = _only_record(answer)
        if fields[:2] != [ReceiptKind.TRANSACTION, self.transaction_id]:
            raise BadProof("the receipt is of another transaction")
        root = header.receipts_root
        return verify(root, answer.proof, key, key + b"\0", _INDEX_BYTES)


def check_proof(
    subject: Subject, answer: pb.GetProofResponse, block_hash: bytes | None = None
) -> Proven:
    """What an answer of `GetProof` proves about the subject.

    If `block_hash` is given, the answer must follow from it. Otherwise the outcome
    names the hash from which it follows: compare that with one that you trust.

    Raises:
        BadProof: the answer does not prove it.
    """
    header, found = _read_header(answer.header), blake2b256(answer.header)
    if block_hash is not None and found != block_hash:
        raise BadProof("the header is of another block")
    leaves = subject.verify(header, answer)
    records = tuple((record.key, record.value) for record in answer.records)
    if leaves != [(key, blake2b256(value)) for key, value in records]:
        raise BadProof("the records are not those that the proof speaks of")
    is_empty = None
    if answer.globals_hash:
        is_empty = answer.globalbox_root in (b"", EMPTY_ROOT)
    return Proven(header, found, records, is_empty)


def _read_header(data: bytes) -> Header:
    try:
        return parse_header(data)
    except ValueError as error:
        raise BadProof("the header is malformed") from error


def _timer_in_fire(fields: list[codec.Value]) -> list[codec.Value]:
    """Fields of the timer that a queued fire holds."""
    try:
        held = codec.decode(cast("bytes", fields[-1]))
    except (IndexError, TypeError, codec.MalformedCbor) as error:
        raise BadProof("the record is malformed") from error
    if not isinstance(held, list):
        raise BadProof("the record is malformed")
    return held


def _only_record(answer: pb.GetProofResponse) -> tuple[bytes, list[codec.Value]]:
    """Key and fields of the one record of something that is there."""
    if len(answer.records) != 1:
        raise BadProof("what exists has one record")
    (record,) = answer.records
    try:
        fields = codec.decode(record.value)
    except codec.MalformedCbor as error:
        raise BadProof("the record is malformed") from error
    if not isinstance(fields, list):
        raise BadProof("the record is malformed")
    return record.key, fields


def _state_leaf(header: Header, answer: pb.GetProofResponse, key: bytes) -> list[Leaf]:
    _require_parts(header, answer)
    hung = blake2b256(key)
    root = answer.state_tree_root
    return verify(root, answer.proof, hung, hung + b"\0", _HASH_BYTES)


def _calendar_leaves(
    header: Header, answer: pb.GetProofResponse, low: bytes, high: bytes
) -> list[Leaf]:
    _require_parts(header, answer)
    root = answer.calendar_root
    return verify(root, answer.proof, low, high, _TIMER_KEY_BYTES)


def _globalbox_leaves(
    header: Header, answer: pb.GetProofResponse, low: bytes, high: bytes
) -> list[Leaf]:
    _require_parts(header, answer)
    root = answer.globalbox_root or EMPTY_ROOT
    return verify(root, answer.proof, low, high, keys.FIRE_ORDER_BYTES)


def _require_parts(header: Header, answer: pb.GetProofResponse) -> None:
    parts = (
        answer.globals_hash,
        answer.state_tree_root,
        answer.calendar_root,
        answer.globalbox_root or EMPTY_ROOT,  # of which nodes before it never spoke
    )
    if any(len(part) != _HASH_BYTES for part in parts):
        raise BadProof("a part of the state root has another length")
    if combine_state_root(*parts) != header.state_root:
        raise BadProof("the parts do not make the header's state root")
