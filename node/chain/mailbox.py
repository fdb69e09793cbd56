"""Deferred messages: queued when sent, delivered in the next block (D14).

There are two parts, served in this order at the end of a block (CIP-5 §5.1):
`engine` holds what `create_deferred_tx` queued, `mailbox` what `send_message` did. A
message's budget was taken from its sender's meter and paid for at a price locked at
sending; what it does not use goes back to the payer, without a second balance check.
"""

from collections.abc import Iterator
from functools import partial

from msgspec import Struct

from node.chain.accounts import credit
from node.chain.block import Price, ReceiptKind
from node.chain.context import BlockContext, ExecutionScope
from node.chain.params import (
    MESSAGE_AGE_BLOCKS_MAX,
    PAYER_WAITING_LANES_MAX,
    PENDING_PER_PAIR_MAX,
    PENDING_PER_TARGET_MAX,
    TOTAL_WAITING_LANES_MAX,
    WRITES_BEFORE_DEFERRED_STOP,
)
from node.chain.reader import Reader, load_count
from node.primitives import codec
from node.primitives.types import Address, Amount, Hash32
from node.state import keys
from node.state.journal import Journal
from pvm import HostError, HostErrorCode

DEFAULT_MESSAGE_HANDLERS = ("main", "handle_message")
"""Of a message that names none (host-api.md: the two-argument form)."""


class PendingMessage(Struct, frozen=True):
    """A message that waits for its block."""

    kind: ReceiptKind
    """ENGINE_MESSAGE or MAILBOX_MESSAGE: the part it is served in."""
    queued_at: int
    index: int
    target: Address
    sender: Address
    handler: str
    """"" for the default handlers."""
    payload: bytes
    cycles: int
    cells: int
    price: Price
    """Locked at sending, all parts with their destinations."""
    payer: Address
    origin: Hash32

    @property
    def key(self) -> bytes:
        """Where the record lies: parts apart, in order of queueing."""
        if self.kind is ReceiptKind.ENGINE_MESSAGE:
            return keys.engine_message(self.queued_at, self.index)
        return keys.mailbox_message(self.queued_at, self.index)

    @property
    def prepaid(self) -> Amount:
        """Base units held for it (D10)."""
        return self.price.cost(self.cycles, self.cells)

    @property
    def handlers(self) -> tuple[str, ...]:
        """Which handlers may take it."""
        return (self.handler,) if self.handler else DEFAULT_MESSAGE_HANDLERS

    def count_changes(self) -> dict[bytes, int]:
        """How much it adds to each derived count while it waits."""
        return {
            keys.pending_pair(self.target, self.sender): 1,
            keys.pending_count(self.target): 1,
            keys.waiting_by_payer(self.payer): self.cycles,
            keys.WAITING_TOTAL: self.cycles,
        }

    def encode(self) -> bytes:
        """The record: the fields after the key, in order."""
        return codec.encode(
            [
                self.target,
                self.sender,
                self.handler,
                self.payload,
                self.cycles,
                self.cells,
                self.price.fields(),
                self.payer,
                self.origin,
            ]
        )


_PARTS = (
    (ReceiptKind.ENGINE_MESSAGE, keys.engine_message(0, 0)[:2]),
    (ReceiptKind.MAILBOX_MESSAGE, keys.mailbox_message(0, 0)[:2]),
)


def decode_message(key: bytes, record: bytes) -> PendingMessage:
    """The message under `se…` or `sm…`; trusts its bytes."""
    fields = codec.decode(record)
    assert isinstance(fields, list)
    price = fields.pop(6)
    assert isinstance(price, list)
    kind = next(kind for kind, prefix in _PARTS if key.startswith(prefix))
    return PendingMessage(  # type: ignore[call-arg]
        kind,
        int.from_bytes(key[2:10], "big"),
        int.from_bytes(key[10:], "big"),
        *fields[:6],  # type: ignore[arg-type]
        Price(*price),  # type: ignore[arg-type]
        *fields[6:],
    )


def pending_messages(reader: Reader) -> Iterator[PendingMessage]:
    """All waiting messages, engine part first, each part in order."""
    for _, prefix in _PARTS:
        for key, record in reader.range(prefix, keys.prefix_stop(prefix)):
            yield decode_message(key, record)


def is_any_pending(reader: Reader) -> bool:
    """Whether a message waits for the next block."""
    return load_count(reader, keys.WAITING_TOTAL) > 0  # every message has cycles


def pending_count(reader: Reader, target: Address) -> int:
    """How many messages wait for a target, both kinds together."""
    return load_count(reader, keys.pending_count(target))


# --- sending -----------------------------------------------------------------------


def validate_send(
    execution: ExecutionScope, target: Address, sender: Address, cycles: int
) -> None:
    """Refuse what would crowd the queues; counts are before adding this message.

    Raises:
        HostError: MailboxFull or DeferredLaneFull (D14).
    """
    block = execution.block
    load = partial(execution.effects.load_waiting, block.journal)
    pair = load(keys.pending_pair(target, sender))
    if pair >= PENDING_PER_PAIR_MAX:
        raise HostError(
            HostErrorCode.MailboxFull,
            f"{pair} messages of this sender wait for the target already",
        )
    count = load(keys.pending_count(target))
    if count >= PENDING_PER_TARGET_MAX:
        raise HostError(
            HostErrorCode.MailboxFull, f"{count} messages wait for the target already"
        )
    lane = block.params.lane_deferred_cycles
    waiting = load(keys.waiting_by_payer(execution.payer))
    if waiting > PAYER_WAITING_LANES_MAX * lane:
        raise HostError(
            HostErrorCode.DeferredLaneFull,
            f"{waiting} cycles of this payer's messages wait already",
        )
    total = load(keys.WAITING_TOTAL)
    if total > TOTAL_WAITING_LANES_MAX * lane:
        raise HostError(
            HostErrorCode.DeferredLaneFull, f"{total} cycles of messages wait already"
        )
    assert cycles > 0


def enqueue(journal: Journal, message: PendingMessage) -> None:
    """Take a message whose sending execution stands."""
    journal.put(message.key, message.encode())
    _change_counts(journal, message, 1)


def dequeue(journal: Journal, message: PendingMessage) -> None:
    """Take a message out, delivered or dropped."""
    journal.delete(message.key)
    _change_counts(journal, message, -1)


def _change_counts(journal: Journal, message: PendingMessage, sign: int) -> None:
    for key, change in message.count_changes().items():
        count = load_count(journal, key) + sign * change
        assert count >= 0, "more left a queue than entered it"
        if count:
            journal.put(key, keys.height8(count))
        else:
            journal.delete(key)


# --- meeting what waits ------------------------------------------------------------


def due_messages(block: BlockContext, kind: ReceiptKind) -> Iterator[PendingMessage]:
    """Messages of one part that this block may deliver, in order.

    Those queued in this block wait for the next; those older than 1,000 blocks are
    dropped here, when met. The first that does not fit ends the part (D14).
    """
    if not is_any_pending(block.journal):
        return
    prefix = dict(_PARTS)[kind]
    start = prefix + keys.height8(block.oldest_message)
    stop = prefix + keys.height8(block.height)
    for key, record in block.journal.range(start, stop):
        message = decode_message(key, record)
        if block.height - message.queued_at > MESSAGE_AGE_BLOCKS_MAX:
            drop(block, message)
        elif fits(block, message):
            yield message
        else:
            block.oldest_left = min(block.oldest_left, message.queued_at)
            return


def fits(block: BlockContext, message: PendingMessage) -> bool:
    """The deferred lane's gates: cycles, cells, writes (D8, D14, D43)."""
    return (
        block.deferred_cycles + message.cycles <= block.params.lane_deferred_cycles
        and block.cells + message.cells <= block.params.block_cells
        and block.writes < WRITES_BEFORE_DEFERRED_STOP
    )


def drop(block: BlockContext, message: PendingMessage) -> None:
    """Give the whole budget back and say so (D14)."""
    dequeue(block.journal, message)
    credit(block.journal, message.payer, message.prepaid)
    block.emit(
        "MessageDropped",
        target=message.target,
        sender=message.sender,
        queued_at=message.queued_at,
        current_height=block.height,
        refunded=message.prepaid,
    )
