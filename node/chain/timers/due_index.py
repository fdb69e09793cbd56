"""The orders in which `auction` looks for due timers: derived keys, no outcome (D36).

Under `auction` a due timer may wait for long, and a dormant one may wait unseen. So
that a block costs the timers it looks at and not those that wait, each timer that was
due already when the latest block was made stands in one family, by what decides about
it, and in up to two orders beside it (after the prefix, then due height ‖ sequence):

* `o` open, with a stated priority and no stated maximum: the highest priority first
* `n` open, with nothing stated
* `g` with a Gas Bidding Agent; → the last bid
* `m` with a stated maximum fee: the highest first, so that those below the lane
  basefee, which sleep, are the end of it; → whether it was seen to sleep, priority
* `c` noted as over the cap: the lowest limit first; → whether it was seen to sleep
* `x` of `m` and `c`: by expiry, which wakes everybody
* `l` of `m` with a stated limit: by that limit, for a cap that was lowered

What stands here is a function of the calendar, the head and the rules; a run of empty
blocks and single ones leave the same. `expected` says it for those who doubt.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import islice
from operator import neg

from msgspec import Struct

from node.chain.fees import idle_lane_basefee
from node.chain.params import U64_MAX, U128_MAX
from node.chain.reader import Reader
from node.chain.timers.calendar import timers_between
from node.chain.timers.timer import Timer, decode_timer
from node.primitives.types import Amount
from node.state import keys
from node.state.journal import Journal

_OPEN, _BARE, _AGENT, _MAXIMUM, _NOTED, _EXPIRY, _LIMIT = (
    keys.DUE_PREFIX + family for family in (b"o", b"n", b"g", b"m", b"c", b"x", b"l")
)
_AWAKE, _ASLEEP = b"\x00", b"\x01"
_PLACE_BYTES = keys.HEIGHT_BYTES + keys.SEQUENCE_BYTES
_AMOUNT_BYTES = 16
_FEE_SLICE = slice(len(_MAXIMUM), len(_MAXIMUM) + _AMOUNT_BYTES)


class LaneView(Struct, frozen=True):
    """What decides who is awake at a height, and in which order they are looked at."""

    height: int
    basefee: Amount
    """Of the lane, in force at the height."""
    cap: int
    """Cycles that a fire may have."""
    p50: Amount

    def is_dormant(self, timer: Timer) -> bool:
        """Whether a timer that is due is not looked at (D36)."""
        if timer.max_fee_per_cycle is None and timer.gas_limit <= self.cap:
            return False  # as of most: nothing could make it sleep
        if self.height > timer.expires_at:
            return False
        if self.is_over_cap(timer):
            return timer.is_over_cap_noted
        return is_below(timer, self.basefee)

    def is_over_cap(self, timer: Timer) -> bool:
        """Whether its stated limit is above the cap in force (D23)."""
        return not timer.is_gas_limit_defaulted and timer.gas_limit > self.cap

    def stated_priority(self, timer: Timer) -> int:
        """By which the first so many are chosen (D8)."""
        if timer.gba is not None:
            return self.priority_of_bid(timer.last_bid)
        priority = timer.max_priority_fee_per_cycle
        return self.p50 if priority is None else priority

    def priority_of_bid(self, bid: tuple[int, int] | None) -> int:
        """What an agent's last valid answer comes to at the present basefee (D8)."""
        if bid is None:
            return self.p50
        return max(0, min(bid[1], bid[0] - self.basefee))


def is_below(timer: Timer, basefee: int) -> bool:
    """Whether a fee that nobody reconsiders is below the lane basefee."""
    fee = timer.max_fee_per_cycle
    return timer.gba is None and fee is not None and fee < basefee


# --- keys ----------------------------------------------------------------------------


def _amount(value: int) -> bytes:
    return value.to_bytes(_AMOUNT_BYTES, "big")


def _descending(value: int) -> bytes:
    return _amount(U128_MAX - value)


def _main_entry(timer: Timer, *, is_asleep: bool) -> tuple[bytes, bytes]:
    """The one family that a timer stands in, and what is kept there."""
    place = keys.timer_place(timer.height, timer.sequence)
    flag = _ASLEEP if is_asleep else _AWAKE
    priority = timer.max_priority_fee_per_cycle
    if timer.is_over_cap_noted:
        return _NOTED + keys.height8(timer.gas_limit) + place, flag
    if timer.gba is not None:
        bid = timer.last_bid
        return _AGENT + place, b"" if bid is None else _amount(bid[0]) + _amount(bid[1])
    if timer.max_fee_per_cycle is not None:
        stated = b"" if priority is None else _amount(priority)
        return _MAXIMUM + _descending(timer.max_fee_per_cycle) + place, flag + stated
    if priority is not None:
        return _OPEN + _descending(priority) + place, b""
    return _BARE + place, b""


def can_sleep(timer: Timer) -> bool:
    """Whether there is anything that could make it dormant (D36)."""
    if timer.is_over_cap_noted:
        return True
    return timer.gba is None and timer.max_fee_per_cycle is not None


def _entries(timer: Timer, *, is_asleep: bool) -> list[tuple[bytes, bytes]]:
    entries = [_main_entry(timer, is_asleep=is_asleep)]
    if can_sleep(timer):
        place = keys.timer_place(timer.height, timer.sequence)
        entries.append((_EXPIRY + keys.height8(timer.expires_at) + place, b""))
        if not timer.is_over_cap_noted and not timer.is_gas_limit_defaulted:
            entries.append((_LIMIT + keys.height8(timer.gas_limit) + place, b""))
    return entries


def add(journal: Journal, timer: Timer, *, is_asleep: bool = False) -> None:
    """Let a due timer that stays be found by the blocks to come."""
    for key, value in _entries(timer, is_asleep=is_asleep):
        journal.put(key, value)


def forget(journal: Journal, timer: Timer) -> None:
    """Take out a timer that stands here."""
    for key, _ in _entries(timer, is_asleep=False):
        journal.delete(key)


def amend(journal: Journal, old: Timer, new: Timer) -> None:
    """A timer that stands here got another expiry, note or bid."""
    is_asleep = was_asleep(journal, old)
    forget(journal, old)
    add(journal, new, is_asleep=is_asleep)


def was_asleep(reader: Reader, timer: Timer) -> bool:
    """Whether a timer that stands here was seen to sleep and not to wake since."""
    if not can_sleep(timer):
        return False
    key, _ = _main_entry(timer, is_asleep=False)
    value = reader.get(key)
    return value is not None and value[:1] == _ASLEEP


def clear(journal: Journal) -> None:
    """Forget everything: `auction` is left."""
    stop = keys.prefix_stop(keys.DUE_PREFIX)
    for key, _ in list(journal.range(keys.DUE_PREFIX, stop)):
        journal.delete(key)


# --- who is looked at ----------------------------------------------------------------


class DueTimer(Struct, frozen=True, gc=False):
    """A timer that a block looks at, as it stood when it was looked at."""

    timer: Timer
    key: bytes
    """Of it in the calendar."""
    record: bytes
    was_asleep: bool
    """Whether it was seen to sleep and not to wake since."""

    @classmethod
    def read(cls, key: bytes, record: bytes, *, is_asleep: bool) -> "DueTimer":
        """The timer that a key and a record of the calendar name."""
        return cls(decode_timer(key, record), key, record, is_asleep)

    def present(self, journal: Journal) -> Timer | None:
        """The timer as others left it meanwhile: cancelled, extended."""
        if self.key not in journal.changed_keys():
            return self.timer
        record = journal.get(self.key)
        if record is None or record == self.record:
            return None if record is None else self.timer
        return decode_timer(self.key, record)

    def as_it_stands(self, reader: Reader) -> "DueTimer":
        """The same, looked at again; it is still there."""
        return _look(reader, self.key, is_asleep=self.was_asleep)


def _look(reader: Reader, key: bytes, *, is_asleep: bool) -> DueTimer:
    record = reader.get(key)
    assert record is not None, "an order names a timer that is not in the calendar"
    return DueTimer.read(key, record, is_asleep=is_asleep)


def select(
    reader: Reader, view: LaneView, count_max: int, fresh: Sequence[DueTimer] = ()
) -> list[DueTimer]:
    """Those whom a block looks at, by due height and sequence (D8).

    Of more than `count_max` the first by stated priority, due height, sequence.
    `fresh` are some that are awake and do not stand here, in that order.
    """
    waiting = list(_waiting(reader, view, count_max))
    if not waiting and len(fresh) <= count_max:
        return list(fresh)
    known = {one.key[-_PLACE_BYTES:]: one for one in fresh}
    ranks = {place: view.stated_priority(one.timer) for place, one in known.items()}
    asleep: set[bytes] = set()
    for place, rank, was_seen in waiting:
        ranks[place] = rank
        if was_seen:
            asleep.add(place)
    places: Iterable[bytes] = ranks
    if len(ranks) > count_max:
        places = nsmallest(count_max, ranks, key=lambda p: (-ranks[p], p))
    prefix = keys.TIMER_PREFIX
    return [
        known.get(place) or _look(reader, prefix + place, is_asleep=place in asleep)
        for place in sorted(places)
    ]


def _load(reader: Reader, place: bytes) -> Timer:
    return _look(reader, keys.TIMER_PREFIX + place, is_asleep=False).timer


def _waiting(
    reader: Reader, view: LaneView, count_max: int
) -> Iterator[tuple[bytes, int, bool]]:
    """Of those that stand here awake: place, stated priority, if seen to sleep.

    Of the two open families, which are in the order of the ranks, as many as can be
    among the first `count_max`; the others are passed over in full.
    """
    if not is_any(reader):
        return
    for key, _ in islice(_family(reader, _OPEN), count_max):
        priority = U128_MAX - int.from_bytes(key[_FEE_SLICE], "big")
        yield key[-_PLACE_BYTES:], priority, False
    for key, _ in islice(_family(reader, _BARE), count_max):
        yield key[-_PLACE_BYTES:], view.p50, False
    for key, value in _family(reader, _AGENT):
        yield key[-_PLACE_BYTES:], view.priority_of_bid(_bid(value)), False
    for key, value in _above(reader, view.basefee):
        priority = int.from_bytes(value[1:], "big") if value[1:] else view.p50
        yield key[-_PLACE_BYTES:], priority, value[:1] == _ASLEEP
    for place in _woken(reader, view):
        timer = _load(reader, place)
        yield place, view.stated_priority(timer), was_asleep(reader, timer)


def _woken(reader: Reader, view: LaneView) -> Iterator[bytes]:
    """Places of those whom their expiry or a changed cap wakes."""
    expired = _EXPIRY + keys.height8(view.height)
    for key, _ in reader.range(_EXPIRY, expired):
        yield key[-_PLACE_BYTES:]
    over = _LIMIT + keys.height8(min(view.cap + 1, U64_MAX))
    for key, _ in reader.range(over, keys.prefix_stop(_LIMIT)):
        yield key[-_PLACE_BYTES:]
    fits = _NOTED + keys.height8(min(view.cap + 1, U64_MAX))
    for key, _ in reader.range(_NOTED, fits):
        place = key[-_PLACE_BYTES:]
        if not view.is_dormant(_load(reader, place)):
            yield place


def _bid(value: bytes) -> tuple[int, int] | None:
    if not value:
        return None
    fee, priority = value[:_AMOUNT_BYTES], value[_AMOUNT_BYTES:]
    return int.from_bytes(fee, "big"), int.from_bytes(priority, "big")


def is_any(reader: Reader) -> bool:
    """Whether any timer that was due is left."""
    return next(_family(reader, keys.DUE_PREFIX), None) is not None


def _family(reader: Reader, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    return reader.range(prefix, keys.prefix_stop(prefix))


def _above(reader: Reader, basefee: int) -> Iterator[tuple[bytes, bytes]]:
    """Of those with a stated maximum fee, the ones that it does not hold back."""
    return reader.range(_MAXIMUM, _below_start(basefee))


def _below_start(basefee: int) -> bytes:
    """The least key of those with a stated maximum fee below the basefee."""
    assert basefee > 0, "the lane basefee has a floor"
    return _MAXIMUM + _amount(max(0, U128_MAX - basefee + 1))


# --- when somebody wakes -------------------------------------------------------------


def wake_height(
    reader: Reader, view: LaneView, decline: "Decline", best: int | None
) -> int | None:
    """The least height from `view.height` on at which one that stands here is awake.

    `view` is that of the next height; at most `best`. None for never.
    """
    if best == view.height or not is_any(reader):
        return best
    if next(_waiting(reader, view, 1), None) is not None:
        return view.height
    heights = [] if best is None else [best]
    for key, _ in _family(reader, _EXPIRY):
        expires_at = int.from_bytes(key[len(_EXPIRY) :][: keys.HEIGHT_BYTES], "big")
        heights.append(max(view.height, expires_at + 1))
        break
    stop = keys.prefix_stop(_MAXIMUM)
    for key, _ in reader.range(_below_start(view.basefee), stop):
        fee = U128_MAX - int.from_bytes(key[_FEE_SLICE], "big")
        since = decline.reaches(fee)
        if since is not None:
            heights.append(since)
        break
    fits = _NOTED + keys.height8(min(view.cap + 1, U64_MAX))
    for key, _ in reader.range(_NOTED, fits):
        timer = _load(reader, key[-_PLACE_BYTES:])
        heights.append(decline.wakes(timer, view))
    return min(heights, default=None)


class Decline:
    """How the lane basefee falls while nothing fires: a step a height, to its floor."""

    __slots__ = ("_fees", "_first")

    def __init__(self, first: int, basefee: int) -> None:
        """`basefee` is that of the height `first`."""
        self._first = first
        self._fees = [basefee]

    def _falling(self) -> list[int]:
        """The fees height by height, as far as they change: made when asked for."""
        fees = self._fees
        while (following := idle_lane_basefee(fees[-1], 1)) != fees[-1]:
            fees.append(following)
        return fees

    def reaches(self, fee: int) -> int | None:
        """The least height at which the basefee is at most `fee`; None for never."""
        fees = self._falling()
        steps = bisect_left(fees, -fee, key=neg)
        return None if steps == len(fees) else self._first + steps

    def wakes(self, timer: Timer, view: LaneView) -> int:
        """The least height from `view.height` on at which a timer is looked at.

        While nothing happens neither caps nor expiries change (D36).
        """
        due, expired = max(timer.height, view.height), timer.expires_at + 1
        if view.is_over_cap(timer):
            return max(due, expired) if timer.is_over_cap_noted else due
        if not is_below(timer, view.basefee):
            return due
        assert timer.max_fee_per_cycle is not None, "a fee is below the basefee"
        since = self.reaches(timer.max_fee_per_cycle)
        return max(due, expired if since is None else min(since, expired))


# --- for those who doubt -------------------------------------------------------------


def expected(reader: Reader, height: int) -> Iterator[tuple[bytes, bytes]]:
    """Every key of a state at a height, without whether somebody was seen to sleep."""
    for timer in timers_between(reader, 0, height):
        yield from _entries(timer, is_asleep=False)


def found(reader: Reader) -> Iterator[tuple[bytes, bytes]]:
    """Every key as it stands, without whether somebody was seen to sleep."""
    for pair in _family(reader, keys.DUE_PREFIX):
        yield as_found(*pair)


def as_found(key: bytes, value: bytes) -> tuple[bytes, bytes]:
    """A pair without whether somebody was seen to sleep."""
    is_flagged = value and key.startswith((_MAXIMUM, _NOTED))
    return key, _AWAKE + value[1:] if is_flagged else value
