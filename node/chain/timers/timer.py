"""Timer: one scheduled fire; TimerDecision: one entry of the timer trace.

A timer's place in the calendar, (height, sequence), is its key and not repeated in
its record (D22, D24). The record remembers what was stated and what was defaulted,
because defaults follow the configuration in force at the fire (D23, D31).
"""

import base64
import binascii
import json
import re
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias, cast

from msgspec import Struct

from node.chain.params import HANDLER_BYTES_MAX, U64_MAX
from node.primitives import codec
from node.primitives.crypto import keccak256
from node.primitives.hex_repr import show_struct
from node.primitives.types import ZERO_HASH, Address, Amount, Hash32, Height, TimerId

WatchKey = tuple[Address, bytes]
"""An actor, and what the keys of its state that are watched begin with (D51)."""


class TimerKind(StrEnum):
    """What makes a timer fire (D50)."""

    HEIGHT = "HEIGHT"
    STATE_WATCH = "STATE_WATCH"


class Timer(Struct, frozen=True):
    """A live timer (CIP-5 §3.1, and what CIP-1 §6 and D50 add).

    A watch's height is the one at which it is collected: above its expiry (D51).
    """

    __repr__ = show_struct

    height: Height
    """The first height at which the timer is due."""
    sequence: int
    """Number in the order of all timers that were ever accepted (D22)."""
    timer_id: TimerId
    """Its id, 32 bytes (CIP-5 §3.3)."""
    actor: Address
    """Address of the actor that owns the timer."""
    payload: bytes
    """Bytes that the handler gets."""
    handler: str
    """Handler that the payload names (CIP-5 §4.2), or "" for the default one."""
    fee_payer: Address
    """Address that pays for the fire."""
    gas_limit: int
    """Most cycles of a fire: as stated, or the cap when it was scheduled."""
    is_gas_limit_defaulted: bool
    """Whether no limit was stated."""
    expires_at: Height
    """The last height at which it may fire."""
    scheduled_at: Height
    """Height of the execution that scheduled it."""
    max_fee_per_cycle: Amount | None = None
    """Highest fee for one cycle, in base units, if stated (CIP-1 §6)."""
    max_priority_fee_per_cycle: Amount | None = None
    """Highest priority fee for one cycle, in base units, if stated."""
    gba: Address | None = None
    """Address of its Gas Bidding Agent, if it has one."""
    is_over_cap_noted: bool = False
    """Whether its limit was once found above the auction's cap (D17, D36)."""
    last_bid: tuple[Amount, Amount] | None = None
    """Last valid answer of its agent: max fee and priority fee, in base units (D8)."""
    poor_note: tuple[int, Amount] | None = None
    """Under `bidding`, if its payer was last found poor: the epoch in which it was, and
    the base units that were wanted (D45)."""
    other_target: Address | None = None
    """Address of the actor whose handler it calls, if that is not its owner (D50)."""
    bid_fp: int = 0
    """Bid under `globalbox`, Q32.96: base units a cycle times 2⁹⁶ (D50)."""
    bucket: int = 0
    """Its tier under `globalbox`: 1 to 4, economy to urgent; 0 for none.
    """
    watch_keys: tuple[WatchKey, ...] = ()
    """What a watch watches; a HEIGHT timer nothing (D51)."""
    fire_seq: int = 0
    """How often a watch has fired (D54)."""

    @property
    def target(self) -> Address:
        """Address of the actor whose handler it calls (D50)."""
        return self.other_target or self.actor

    @property
    def is_watch(self) -> bool:
        """Whether changes of state make it fire, and not a height (D51)."""
        return bool(self.watch_keys)

    @property
    def kind(self) -> TimerKind:
        """What makes it fire (D50)."""
        return TimerKind.STATE_WATCH if self.watch_keys else TimerKind.HEIGHT

    def limit_under(self, cap: int) -> int:
        """Cycles a fire may use: as stated, at most the cap in force (D23)."""
        return cap if self.is_gas_limit_defaulted else min(self.gas_limit, cap)

    def encode(self) -> bytes:
        """The record under the calendar key: the fields after the key, in order.

        What only `bidding` and `globalbox` know stands at the end, left out while it
        says nothing (D45, D50).
        """
        fields: list[codec.Value] = [
            self.timer_id,
            self.actor,
            self.payload,
            self.handler,
            self.fee_payer,
            self.gas_limit,
            self.is_gas_limit_defaulted,
            self.expires_at,
            self.scheduled_at,
            self.max_fee_per_cycle,
            self.max_priority_fee_per_cycle,
            self.gba,
            self.is_over_cap_noted,
            None if self.last_bid is None else list(self.last_bid),
        ]
        terms = self._globalbox_terms()
        if self.poor_note is not None or terms != _NO_TERMS:
            fields.append(None if self.poor_note is None else list(self.poor_note))
        if terms != _NO_TERMS:
            fields.append(terms)
        return codec.encode(fields)

    def _globalbox_terms(self) -> list[codec.Value]:
        return [
            self.other_target,
            self.bid_fp,
            self.bucket,
            [[address, prefix] for address, prefix in self.watch_keys],
            self.fire_seq,
        ]


_Terms: TypeAlias = tuple[Address | None, int, int, list[tuple[Address, bytes]], int]
_NO_TERMS: list[codec.Value] = [None, 0, 0, [], 0]

_STATED = 13
"""Fields of a record before its notes: the last bid, that its payer is poor."""
_NOTES = 2
"""Of them, before what D50 adds."""
RECORDS_REMEMBERED_MAX = 16_384
RECORD_BYTES_REMEMBERED_MAX = 512
"""Waiting timers are looked at in every block: some 20 MB at the most."""


def decode_timer(key: bytes, record: bytes) -> Timer:
    """The timer under a calendar key `t ‖ height8 ‖ sequence8`; trusts its bytes."""
    if len(record) > RECORD_BYTES_REMEMBERED_MAX:
        return _decode(key, record)
    return _decode_once(key, record)


def _decode(key: bytes, record: bytes) -> Timer:
    fields = codec.decode(record)
    assert isinstance(fields, list)
    stated, notes = fields[:_STATED], fields[_STATED:]
    terms = notes.pop() if len(notes) > _NOTES else _NO_TERMS
    last_bid, poor_note = (*notes, None)[:_NOTES]
    target, bid_fp, bucket, watch_keys, fire_seq = cast("_Terms", terms)
    return Timer(  # type: ignore[call-arg]
        Height(int.from_bytes(key[1:9], "big")),
        int.from_bytes(key[9:], "big"),
        *stated,  # type: ignore[arg-type]
        tuple(last_bid) if isinstance(last_bid, list) else None,
        tuple(poor_note) if isinstance(poor_note, list) else None,
        target,
        bid_fp,
        bucket,
        tuple([(address, prefix) for address, prefix in watch_keys]),
        fire_seq,
    )


_decode_once = lru_cache(maxsize=RECORDS_REMEMBERED_MAX)(_decode)


def derive_client_id(owner: Address, target: Address, nonce: bytes) -> TimerId:
    """keccak256("client" ‖ owner20 ‖ target20 ‖ nonce) (GBX §6.2, D50)."""
    return TimerId(keccak256(b"client" + owner + target + nonce))


def watch_height(expires_at: int, registered_at: int) -> Height:
    """Where a watch stands in the calendar: max(expires_at, registered) + 1 (D51)."""
    return Height(min(max(expires_at, registered_at) + 1, U64_MAX))


def derive_timer_id(
    actor: Address, height: Height, payload: bytes, nonce: int
) -> TimerId:
    """keccak256(actor20 ‖ height BE8 ‖ payload ‖ nonce BE8) (CIP-5 §3.3, D19).

    `nonce` is the actor's own scheduling counter, read before it is incremented.
    """
    return TimerId(
        keccak256(
            actor + height.to_bytes(8, "big") + payload + nonce.to_bytes(8, "big")
        )
    )


def route_payload(payload: bytes) -> tuple[str, bytes]:
    """Which handler a payload names, and what that handler gets (CIP-5 §4.2, D12).

    A JSON object with exactly the two strings `_handler` (not empty) and `_payload`
    (base64) routes; anything else is an ordinary payload for the default handler,
    named "".
    Whatever nests is ordinary too, so that no parser's depth limit ever decides.
    """
    if not payload.lstrip(b" \t\r\n").startswith(b"{"):
        return "", payload
    try:
        routed = _two_strings(payload.decode("utf-8"))
    except ValueError:
        return "", payload
    if set(routed) != {"_handler", "_payload"} or not routed["_handler"]:
        return "", payload
    try:
        routed["_handler"].encode()
        inner = base64.b64decode(routed["_payload"].encode(), validate=True)
    except (ValueError, binascii.Error):
        return "", payload
    return routed["_handler"], inner


_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


def _two_strings(text: str) -> dict[str, str]:
    """Members of a JSON object that has two, both strings; `ValueError` of all else.

    It reads no further than to what cannot stand in one: lists of lists, which take
    ten times as long as strings, are never parsed.
    """
    strings: list[str] = []
    place = 0
    for mark in "{:,:":
        place = _after(text, place, mark)
        if not text.startswith('"', place):
            raise ValueError("a string is wanted")
        string, place = _DECODER.raw_decode(text, place)
        strings.append(string)
    if _after(text, place, "}") != len(text):
        raise ValueError("nothing follows the object")
    return {strings[0]: strings[1], strings[2]: strings[3]}


def _after(text: str, place: int, mark: str) -> int:
    """The place after a mark and the space around it."""
    start = _SPACE.match(text, place).end()  # type: ignore[union-attr]
    if not text.startswith(mark, start):
        raise ValueError(f"{mark} is wanted")
    return _SPACE.match(text, start + 1).end()  # type: ignore[union-attr]


def is_handler_too_long(handler: str) -> bool:
    """Whether a routed handler's name is refused at scheduling (D12)."""
    return len(handler.encode()) > HANDLER_BYTES_MAX


class Decision(StrEnum):
    """What was decided about a timer; the words of the timer trace."""

    SCHEDULED = "scheduled"
    EXTENDED = "extended"
    UPDATED = "updated"
    HIT = "hit"
    ENQUEUED = "enqueued"
    PASSED_OVER = "passed_over"
    MATERIALIZED = "materialized"
    PUT_BACK = "put_back"
    RETURNED = "returned"
    PUT_OFF = "put_off"
    SLEPT = "slept"
    WOKE = "woke"
    FIRED = "fired"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    REMOVED_INSUFFICIENT_FUNDS = "removed_insufficient_funds"


class TimerDecision(Struct, frozen=True):
    """One decision about one timer, with the numbers that were compared (D17)."""

    __repr__ = show_struct

    timer_id: TimerId
    actor: Address
    fee_payer: Address
    due_height: Height
    decision: Decision
    reason: str
    """Of a put-off: `lane`, `cells`, `writes`, `gc`, `cap`, `lane_basefee`,
    `below_basefee` or `funds`; of a sleep one of the last four, of its end also
    `expired`; of a cancel: by whom. Of a fire that stays in the Globalbox or goes back
    to it: `lane`, `cells`, `writes` or `gc`."""
    numbers: dict[str, int]
    """What was compared, by name."""
    receipt_index: int | None = None
    """Of a fire: its receipt in the block."""
    origin: Hash32 = ZERO_HASH
    """Of what an execution decided: its causing transaction."""
    rival: TimerId | None = None
    """Of a put-off from a full lane under `auction`: the timer whose fire took the last
    place that would have done; who comes before it fires."""
    order: bytes = b""
    """Of what happens in the Globalbox: 97 bytes by which the fire is ordered (D52); of
    a target that is passed over, those of its first fire."""
    matched_keys: tuple[WatchKey, ...] = ()
    """Of a hit: the first keys that changed, each with its actor (D51)."""

    @property
    def is_final(self) -> bool:
        """Whether the timer is gone after it (CIP-5 §5.4); of a watch a fire is not."""
        if self.decision is Decision.FIRED:
            return "hit_height" not in self.numbers
        return self.decision in (
            Decision.EXPIRED,
            Decision.CANCELLED,
            Decision.REMOVED_INSUFFICIENT_FUNDS,
        )
