"""Header, Block, Receipt, Event: what a chain leaves behind.

What roots commit to is `encode…`d here. Roots over transactions, receipts and events
use the tree of `primitives.merkle` over eight-byte indexes, so that each entry can be
proven. A receipt's error text and hint are for people and stay out of its root.

What stays of a block refers to values alone, so that no cycle goes through it: structs
that are kept are `gc=False`, and the collector does not walk a long chain repeatedly.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import cast

from msgspec import Struct
from msgspec.structs import astuple

from node.chain.params import ADDRESS_BYTES
from node.chain.transaction import Transaction
from node.primitives import codec
from node.primitives.crypto import blake2b256
from node.primitives.hex_repr import show_struct
from node.primitives.merkle import commit_ascending
from node.primitives.returned import decode_returned
from node.primitives.types import NOTHING, Address, Amount, Hash32, Height
from pvm import Failure, FireContext
from pvm.output import NO_PRINTOUT, Printout

HASH_BYTES = 32
_HASHES = (
    "parent_hash",
    "transactions_root",
    "receipts_root",
    "events_root",
    "state_root",
)

HEADERS_REMEMBERED_MAX = 64
"""Headers whose bytes and hashes are remembered, the latest: several ask for each."""


class Header(Struct, frozen=True, gc=False):
    """A block's commitment to its content and to the state after it."""

    __repr__ = show_struct

    height: Height
    """Height of the block; of a run, its last height."""
    parent_hash: Hash32
    timestamp_ms: int
    """Milliseconds of virtual time (D37)."""
    span: int
    """Heights this header stands for, ≥ 1; above 1 it is a run of empty blocks."""
    proposer: Address
    basefee_cycle: Amount
    """Base units for one cycle in this block; of a run, in its first height. The state
    holds the next block's (D7)."""
    basefee_cell: Amount
    """Base units for one cell, likewise."""
    basefee_lane: Amount
    """Base units for one cycle of the timer lane under `auction`, else 0."""
    cycles_used: int
    """Cycles that all executions of the block used."""
    cells_used: int
    """Cells that all executions of the block used."""
    transactions_root: Hash32
    receipts_root: Hash32
    events_root: Hash32
    state_root: Hash32

    def encode(self) -> bytes:
        """The bytes that are hashed: the fields as one array, in order."""
        return _header_bytes(self)[0]

    def hash(self) -> Hash32:
        """blake2b-256 of the encoding (D38)."""
        return _header_bytes(self)[1]


@lru_cache(maxsize=HEADERS_REMEMBERED_MAX)
def _header_bytes(header: Header) -> tuple[bytes, Hash32]:
    """The encoding and its hash: who wants one mostly wants the other."""
    encoded = codec.encode(list(astuple(header)))
    return encoded, blake2b256(encoded)


def decode_header(data: bytes) -> Header:
    """The header that `Header.encode` wrote; trusts its bytes."""
    return Header(*codec.decode(data))  # type: ignore[misc]


def parse_header(data: bytes) -> Header:
    """The header in bytes that nobody vouches for; whether it is right is not asked.

    Raises:
        ValueError: They are not the encoding of one.
    """
    try:
        values = codec.decode(data)
    except codec.MalformedCbor as error:
        raise ValueError("the header is malformed") from error
    if not isinstance(values, list) or len(values) != len(Header.__struct_fields__):
        raise ValueError("the header is malformed")
    named = dict(zip(Header.__struct_fields__, values, strict=True))
    lengths = dict.fromkeys(_HASHES, HASH_BYTES) | {"proposer": ADDRESS_BYTES}
    for name, value in named.items():
        length = lengths.get(name)
        if length is None:
            is_right = type(value) is int and value >= 0
        else:
            is_right = isinstance(value, bytes) and len(value) == length
        if not is_right:
            raise ValueError(f"the header is malformed: {name}")
    return Header(*values)  # type: ignore[arg-type]


class Block(Struct, frozen=True, gc=False):
    """A header and the transactions it commits to."""

    header: Header
    transactions: tuple[Transaction, ...]


class ReceiptKind(IntEnum):
    """What was executed."""

    TRANSACTION = 0
    FIRE = 1
    ENGINE_MESSAGE = 2
    MAILBOX_MESSAGE = 3
    AGENT = 4


class Price(Struct, frozen=True, gc=False):
    """Base units for one cycle and one cell, by where they go (D7, D29)."""

    cycle_burn: Amount
    cycle_tip: Amount
    cell_burn: Amount
    cell_tip: Amount
    lane_burn: Amount = NOTHING
    """Base units for one cycle that a fire under `auction` burns for the lane."""

    @property
    def cycle(self) -> int:
        """Base units for one cycle, all parts together."""
        return self.cycle_burn + self.cycle_tip + self.lane_burn

    @property
    def cell(self) -> int:
        """Base units for one cell, all parts together."""
        return self.cell_burn + self.cell_tip

    def cost(self, cycles: int, cells: int) -> Amount:
        """Base units for a number of cycles and cells."""
        of_cycles = cycles * (self.cycle_burn + self.cycle_tip + self.lane_burn)
        return Amount(of_cycles + cells * (self.cell_burn + self.cell_tip))

    def fields(self) -> list[int]:
        """For encodings, in the order of the fields."""
        return list(astuple(self))


class Event(Struct, frozen=True, gc=False):
    """An event that an actor or the system emitted (D17)."""

    __repr__ = show_struct

    emitter: Address | None
    """Address of the actor that emitted it, or None for the system."""
    topic: str
    data: bytes
    """The actor's own bytes; for the system, canonical CBOR of named numbers."""
    receipt_index: int | None
    """Index of the receipt of the execution that emitted it, or None."""

    def encode(self) -> bytes:
        """The bytes that the events root commits to."""
        return codec.encode(
            [self.emitter or b"", self.topic, self.data, self.receipt_index]
        )


class CodeVersion(Struct, frozen=True, gc=False):
    """Code that an actor got: by its deployment, or by an upgrade (D58)."""

    __repr__ = show_struct

    actor: Address
    height: Height
    """Height of the block in which it got the code."""
    code_hash: Hash32


class Receipt(Struct, frozen=True, gc=False):
    """The result of one execution, and what it cost whom."""

    __repr__ = show_struct

    kind: ReceiptKind
    index: int
    """Position in the block, over all kinds, in order of execution, from 0."""
    id: bytes
    """Id of the transaction or timer, or the message's msg_id."""
    origin: Hash32
    """Id of the transaction that caused it; 32 zero bytes for fires and their messages.
    """
    sender: Address
    """Address of the caller."""
    actor: Address
    """Address of the actor; of a transfer or a system instruction, its target."""
    handler: str
    """Name of the handler that was called."""
    payer: Address
    """Address that pays the fee."""
    cycles_limit: int
    cells_limit: int
    cycles_used: int
    """Cycles to pay for; all of the limit if they ran out (D16)."""
    cells_used: int
    """Cells to pay for; all of the limit if they ran out (D16)."""
    price: Price
    cycles_held: int
    """Cycles of the limit that are set aside for messages it sent (D14)."""
    cells_held: int
    """Cells of the limit that are set aside for messages it sent (D14)."""
    value: bytes
    """Bytes that the handler returned."""
    failure: Failure | None
    """Why the execution failed, or None for a success."""
    scheduled: tuple[bytes, ...] = ()
    """Ids of the timers that it scheduled."""
    hint: str = ""
    """Advice to the sender of a success; may be empty, and is not part of the receipt.
    """
    delivery: FireContext | None = None
    """Of a fire under `globalbox`: what caused it, and its name (GBX §9.2, D54)."""

    @property
    def is_success(self) -> bool:
        """Whether the execution succeeded and took effect."""
        return self.failure is None

    @property
    def result(self) -> codec.Value:
        """What the handler returned, read from `value`; None after a failure.

        Bytes that may be several things are text before CBOR and CBOR before bytes.
        """
        return decode_returned(self.value)

    @property
    def burned_cycle(self) -> Amount:
        """Base units burned for cycles, without the part of the lane."""
        return Amount(self.cycles_used * self.price.cycle_burn)

    @property
    def burned_lane(self) -> Amount:
        """Base units burned for the timer lane."""
        return Amount(self.cycles_used * self.price.lane_burn)

    @property
    def burned_cell(self) -> Amount:
        """Base units burned for cells."""
        return Amount(self.cells_used * self.price.cell_burn)

    @property
    def tip(self) -> Amount:
        """Base units that the proposer got."""
        return Amount(
            self.cycles_used * self.price.cycle_tip
            + self.cells_used * self.price.cell_tip
        )

    @property
    def fee(self) -> Amount:
        """Base units that were paid in all."""
        return self.price.cost(self.cycles_used, self.cells_used)

    @property
    def refund(self) -> Amount:
        """Base units that came back of what was set aside before the execution."""
        return self.price.cost(
            self.cycles_limit - self.cycles_used - self.cycles_held,
            self.cells_limit - self.cells_used - self.cells_held,
        )

    def encode(self) -> bytes:
        """The bytes that the receipts root commits to: no text for people.

        What names a fire under `globalbox` stands behind all else, where there is any.
        """
        return codec.encode(
            [
                int(self.kind),
                self.id,
                self.origin,
                self.sender,
                self.actor,
                self.handler,
                self.payer,
                self.cycles_limit,
                self.cells_limit,
                self.cycles_used,
                self.cells_used,
                self.price.fields(),
                self.cycles_held,
                self.cells_held,
                self.value,
                self.failure.kind if self.failure is not None else "",
                list(self.scheduled),
                *([] if self.delivery is None else [_encode_delivery(self.delivery)]),
            ]
        )


def _encode_delivery(delivery: FireContext) -> list[codec.Value]:
    fields: list[codec.Value] = list(astuple(delivery))
    fields[_MATCHED] = [[address, key] for address, key in delivery.matched_keys]
    return fields


def decode_delivery(fields: Sequence[codec.Value]) -> FireContext:
    """What a receipt's encoding says of a fire under `globalbox`; trusts it."""
    values = list(fields)
    matched = cast("list[tuple[Address, bytes]]", values[_MATCHED])
    values[_MATCHED] = tuple([(address, key) for address, key in matched])  # type: ignore[call-overload]
    return FireContext(*values)  # type: ignore[arg-type]


_MATCHED = FireContext.__struct_fields__.index("matched_keys")


def show_block(
    header: Header, receipts: Sequence[Receipt], events: Sequence[Event]
) -> str:
    """A block in a few words, for whoever prints what became of one."""
    if header.span > 1:
        return f"<blocks {header.height - header.span + 1} to {header.height}, empty>"
    return (
        f"<block at height {header.height}: {len(receipts)} receipts, "
        f"{len(events)} events>"
    )


class ReadOnlyResult(Struct, frozen=True):
    """What a handler answered on a read view (D15)."""

    value: bytes
    failure: Failure | None
    cycles_used: int
    cells_used: int
    output: Printout = NO_PRINTOUT
    """What it printed (D59)."""


class Encodings(Struct, frozen=True, gc=False):
    """What the roots over a block's results speak of, and history keeps."""

    receipts: tuple[bytes, ...]
    events: tuple[bytes, ...]


def encode_results(receipts: Iterable[Receipt], events: Iterable[Event]) -> Encodings:
    """Each entry's bytes, made once a block."""
    return Encodings(
        tuple([receipt.encode() for receipt in receipts]),
        tuple([event.encode() for event in events]),
    )


def list_root(encodings: Sequence[bytes]) -> Hash32:
    """Root of the tree over index8 → blake2b256(encoding); zeros when empty."""
    return commit_ascending(
        [(i.to_bytes(8, "big"), blake2b256(e)) for i, e in enumerate(encodings)]
    )
