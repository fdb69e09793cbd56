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

from msgspec import Struct
from msgspec.structs import astuple

from node.chain.params import ADDRESS_BYTES
from node.chain.transaction import Transaction
from node.primitives import codec
from node.primitives.crypto import blake2b256
from node.primitives.hex_repr import show_struct
from node.primitives.merkle import commit_ascending
from node.primitives.types import NOTHING, Address, Amount, Hash32, Height
from pvm import Failure

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
    parent_hash: Hash32
    timestamp_ms: int
    span: int
    """Heights this header stands for, ≥ 1; above 1 it is a run of empty blocks."""
    proposer: Address
    basefee_cycle: Amount
    """In force in this block, of a run in its first height; the state holds the next
    one's (D7)."""
    basefee_cell: Amount
    basefee_lane: Amount
    """Of the timer lane under `auction`, else 0."""
    cycles_used: int
    cells_used: int
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
    """What one unit costs, in base units, by destination (D7, D29)."""

    cycle_burn: Amount
    cycle_tip: Amount
    cell_burn: Amount
    cell_tip: Amount
    lane_burn: Amount = NOTHING
    """Per cycle, of a fire under `auction`."""

    @property
    def cycle(self) -> int:
        """Base units per cycle."""
        return self.cycle_burn + self.cycle_tip + self.lane_burn

    @property
    def cell(self) -> int:
        """Base units per cell."""
        return self.cell_burn + self.cell_tip

    def cost(self, cycles: int, cells: int) -> Amount:
        """Base units for an amount of both."""
        of_cycles = cycles * (self.cycle_burn + self.cycle_tip + self.lane_burn)
        return Amount(of_cycles + cells * (self.cell_burn + self.cell_tip))

    def fields(self) -> list[int]:
        """For encodings, in the order of the fields."""
        return list(astuple(self))


class Event(Struct, frozen=True, gc=False):
    """Something that happened, in execution order (D17)."""

    __repr__ = show_struct

    emitter: Address | None
    """The actor, or None for the system."""
    topic: str
    data: bytes
    """An actor's own bytes; of the system, canonical CBOR of named numbers."""
    receipt_index: int | None
    """Index in the block of the receipt of the execution it belongs to."""

    def encode(self) -> bytes:
        """The bytes that the events root commits to."""
        return codec.encode(
            [self.emitter or b"", self.topic, self.data, self.receipt_index]
        )


class Receipt(Struct, frozen=True, gc=False):
    """What became of one execution and what it cost whom."""

    __repr__ = show_struct

    kind: ReceiptKind
    index: int
    """Within the block, over all kinds, in order of execution."""
    id: bytes
    """Of the transaction or timer, or the message's msg_id."""
    origin: Hash32
    """Id of the causing transaction, 32 zero bytes for fires and what they send."""
    sender: Address
    actor: Address
    """The executing actor; of a transfer or a system instruction, its target."""
    handler: str
    payer: Address
    cycles_limit: int
    cells_limit: int
    cycles_used: int
    cells_used: int
    price: Price
    cycles_held: int
    """Of the limit, set aside for the messages it sent (D14)."""
    cells_held: int
    value: bytes
    failure: Failure | None
    scheduled: tuple[bytes, ...] = ()
    """Ids of the timers that it scheduled and that stand."""
    hint: str = ""
    """What its sender may want to know of a success; kept beside the receipt."""

    @property
    def is_success(self) -> bool:
        """True if the execution took effect."""
        return self.failure is None

    @property
    def burned_cycle(self) -> Amount:
        """Base units burned for cycles, without the lane's part."""
        return Amount(self.cycles_used * self.price.cycle_burn)

    @property
    def burned_lane(self) -> Amount:
        """Base units burned as the timer lane's basefee."""
        return Amount(self.cycles_used * self.price.lane_burn)

    @property
    def burned_cell(self) -> Amount:
        """Base units burned for cells."""
        return Amount(self.cells_used * self.price.cell_burn)

    @property
    def tip(self) -> Amount:
        """Base units credited to the proposer."""
        return Amount(
            self.cycles_used * self.price.cycle_tip
            + self.cells_used * self.price.cell_tip
        )

    @property
    def fee(self) -> Amount:
        """All that was paid for what was used."""
        return self.price.cost(self.cycles_used, self.cells_used)

    @property
    def refund(self) -> Amount:
        """What came back of the pre-charge at settlement."""
        return self.price.cost(
            self.cycles_limit - self.cycles_used - self.cycles_held,
            self.cells_limit - self.cells_used - self.cells_held,
        )

    def encode(self) -> bytes:
        """The bytes that the receipts root commits to: no text for people."""
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
            ]
        )


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
