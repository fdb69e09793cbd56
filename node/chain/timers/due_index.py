"""The orders in which rules look for due timers: derived keys, no outcome (D36).

Under `auction` and `bidding` a due timer may wait for long, and a dormant one may wait
unseen. So that a block costs the timers it looks at and not those that wait, each timer
that was due already when the latest block was made stands in one family, by what
decides about it, and in orders beside it (after the prefix; before the timer's place):

* `o` open, with a stated priority and no stated maximum: the highest priority first
* `n` open, with nothing stated
* `g` with a Gas Bidding Agent; → the last bid
* `m` with a stated maximum fee: the highest first, so that those below the basefee,
  which sleep, are the end of it; → whether it was seen to sleep, priority
* `x` of those that can sleep: by expiry, which wakes everybody

`DueIndex` keeps these, which both rule sets have. What else can make a timer wait has
families of its own: `AuctionIndex` here those over the cap, `bidding_index` those whose
payer is poor.

What stands here is a function of the state, the head and the rules; a run of empty
blocks and single ones leave the same. `DueIndex.expected` says it for those who doubt.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import islice
from operator import neg
from typing import TYPE_CHECKING

from msgspec import Struct
from typing_extensions import override

from node.chain.params import U64_MAX, U128_MAX
from node.chain.reader import Reader
from node.chain.timers.calendar import timers_between
from node.chain.timers.timer import Timer, decode_timer
from node.primitives.types import Amount, Height
from node.state import keys
from node.state.journal import Journal

if TYPE_CHECKING:
    from node.chain.timers.ruleset import Prospect

OPEN, BARE, AGENT, MAXIMUM, NOTED, EXPIRY, LIMIT = (
    keys.DUE_PREFIX + family for family in (b"o", b"n", b"g", b"m", b"c", b"x", b"l")
)
BIDS, POOR_BIDS, POOR_FEES, POOR_PAYER, PAYER_FUNDED = (
    keys.DUE_PREFIX + family for family in (b"b", b"y", b"z", b"p", b"q")
)
"""Families of `bidding_index`."""
FLAGGED = (MAXIMUM, NOTED, POOR_BIDS, POOR_FEES)
"""Families that remember whether a timer was seen to sleep."""
AWAKE, ASLEEP = b"\x00", b"\x01"
PLACE_BYTES = keys.HEIGHT_BYTES + keys.SEQUENCE_BYTES
AMOUNT_BYTES = 16
_FEE_SLICE = slice(len(MAXIMUM), len(MAXIMUM) + AMOUNT_BYTES)
Waiting = tuple[bytes, int, bool]
"""Of a timer that is awake: its place, its rank among those a block may look at, and
whether it was seen to sleep and not to wake since."""


class LaneView(Struct, frozen=True):
    """What decides who is awake at a height, and in which order they are looked at."""

    height: int
    basefee: Amount
    """What a maximum fee has to reach at the height: the lane's, under `bidding` the
    cycle's."""
    cap: int
    """Cycles that a fire may have; whoever wants more waits."""
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

    def released_at(self, timer: Timer) -> int:
        """From which height on only its fee could hold a timer that fits the cap."""
        del timer
        return self.height

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
    """Whether a fee that nobody reconsiders is below the basefee."""
    fee = timer.max_fee_per_cycle
    return timer.gba is None and fee is not None and fee < basefee


# --- keys ----------------------------------------------------------------------------


def amount16(value: int) -> bytes:
    """An amount as sixteen bytes, ascending."""
    return value.to_bytes(AMOUNT_BYTES, "big")


def descending16(value: int) -> bytes:
    """An amount as sixteen bytes, descending."""
    return amount16(U128_MAX - value)


def _after(expires_at: int) -> int:
    """The least height at which a timer has expired; none lies above the last one."""
    return min(expires_at + 1, U64_MAX)


def place_of(timer: Timer) -> bytes:
    """Due height and sequence: one timer's alone, in the order of D22."""
    return keys.timer_place(timer.height, timer.sequence)


def encode_bid(bid: tuple[int, int] | None) -> bytes:
    """An agent's last answer; nothing if it never gave one."""
    return b"" if bid is None else amount16(bid[0]) + amount16(bid[1])


def decode_bid(value: bytes) -> tuple[int, int] | None:
    """What `encode_bid` made of one."""
    if not value:
        return None
    fee, priority = value[:AMOUNT_BYTES], value[AMOUNT_BYTES:]
    return int.from_bytes(fee, "big"), int.from_bytes(priority, "big")


# --- all of it -----------------------------------------------------------------------


def clear(journal: Journal) -> None:
    """Forget everything: the rules are left."""
    for key, _ in list(family(journal, keys.DUE_PREFIX)):
        journal.delete(key)


def is_any(reader: Reader) -> bool:
    """Whether any timer that was due is left."""
    return next(family(reader, keys.DUE_PREFIX), None) is not None


def family(reader: Reader, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Every pair of a family, in its order."""
    return reader.range(prefix, keys.prefix_stop(prefix))


def _below_start(basefee: int) -> bytes:
    """The least key of those with a stated maximum fee below the basefee."""
    assert basefee > 0, "basefees have a floor"
    return MAXIMUM + amount16(max(0, U128_MAX - basefee + 1))


def found(reader: Reader) -> Iterator[tuple[bytes, bytes]]:
    """Every key as it stands, without whether somebody was seen to sleep."""
    for pair in family(reader, keys.DUE_PREFIX):
        yield as_found(*pair)


def as_found(key: bytes, value: bytes) -> tuple[bytes, bytes]:
    """A pair without whether somebody was seen to sleep."""
    is_flagged = value and key.startswith(FLAGGED)
    return key, AWAKE + value[1:] if is_flagged else value


# --- who stands there, and who of them is looked at -----------------------------------


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
        return look(reader, self.key, is_asleep=self.was_asleep)


def look(reader: Reader, key: bytes, *, is_asleep: bool) -> DueTimer:
    """The timer of a key, which an order names."""
    record = reader.get(key)
    assert record is not None, "an order names a timer that is not in the calendar"
    return DueTimer.read(key, record, is_asleep=is_asleep)


def load_at(reader: Reader, place: bytes) -> Timer:
    """The timer of a place, which an order names."""
    return look(reader, keys.TIMER_PREFIX + place, is_asleep=False).timer


class DueIndex:
    """Families that all rules have which let timers bid, and how they are read."""

    # --- what stands there -------------------------------------------------------

    def main_entry(self, timer: Timer, *, is_asleep: bool) -> tuple[bytes, bytes]:
        """The one family that a timer stands in, and what is kept there."""
        place = place_of(timer)
        priority = timer.max_priority_fee_per_cycle
        if timer.gba is not None:
            return AGENT + place, encode_bid(timer.last_bid)
        if timer.max_fee_per_cycle is not None:
            flag = ASLEEP if is_asleep else AWAKE
            stated = b"" if priority is None else amount16(priority)
            return MAXIMUM + descending16(
                timer.max_fee_per_cycle
            ) + place, flag + stated
        if priority is not None:
            return OPEN + descending16(priority) + place, b""
        return BARE + place, b""

    def can_sleep(self, timer: Timer) -> bool:
        """Whether there is anything that could make it dormant (D36)."""
        return timer.gba is None and timer.max_fee_per_cycle is not None

    def entries(self, timer: Timer, *, is_asleep: bool) -> list[tuple[bytes, bytes]]:
        """All keys of a timer, with what is kept there."""
        entries = [self.main_entry(timer, is_asleep=is_asleep)]
        if self.can_sleep(timer):
            expiry = EXPIRY + keys.height8(timer.expires_at) + place_of(timer)
            entries.append((expiry, b""))
        return entries

    def add(self, journal: Journal, timer: Timer, *, is_asleep: bool = False) -> None:
        """Let a due timer that stays be found by the blocks to come."""
        for key, value in self.entries(timer, is_asleep=is_asleep):
            journal.put(key, value)

    def forget(self, journal: Journal, timer: Timer) -> None:
        """Take out a timer that stands here."""
        for key, _ in self.entries(timer, is_asleep=False):
            journal.delete(key)

    def amend(self, journal: Journal, old: Timer, new: Timer) -> None:
        """A timer that stands here got another expiry, note or bid."""
        is_asleep = self.was_asleep(journal, old)
        self.forget(journal, old)
        self.add(journal, new, is_asleep=is_asleep)

    def was_asleep(self, reader: Reader, timer: Timer) -> bool:
        """Whether a timer that stands here was seen to sleep and not to wake since."""
        if not self.can_sleep(timer):
            return False
        key, _ = self.main_entry(timer, is_asleep=False)
        value = reader.get(key)
        return value is not None and value[:1] == ASLEEP

    def expected(self, reader: Reader, height: int) -> Iterator[tuple[bytes, bytes]]:
        """Every key of a state at a height, without whether somebody was asleep."""
        for timer in timers_between(reader, 0, height):
            yield from self.entries(timer, is_asleep=False)

    # --- who is looked at --------------------------------------------------------

    def select(
        self,
        reader: Reader,
        view: LaneView,
        count_max: int,
        fresh: Sequence[DueTimer] = (),
    ) -> list[DueTimer]:
        """Those whom a block looks at, by due height and sequence (D8).

        Of more than `count_max` the first by stated priority, due height, sequence.
        `fresh` are some that are awake and do not stand here, in that order.
        """
        waiting = list(self._waiting(reader, view, count_max))
        if not waiting and len(fresh) <= count_max:
            return list(fresh)
        known = {one.key[-PLACE_BYTES:]: one for one in fresh}
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
            known.get(place) or look(reader, prefix + place, is_asleep=place in asleep)
            for place in sorted(places)
        ]

    def _waiting(
        self, reader: Reader, view: LaneView, count_max: int
    ) -> Iterator[Waiting]:
        """Those that stand here awake.

        Of the two open families, which are in the order of the ranks, as many as can be
        among the first `count_max`; the others are passed over in full.
        """
        if not is_any(reader):
            return
        for key, _ in islice(family(reader, OPEN), count_max):
            priority = U128_MAX - int.from_bytes(key[_FEE_SLICE], "big")
            yield key[-PLACE_BYTES:], priority, False
        for key, _ in islice(family(reader, BARE), count_max):
            yield key[-PLACE_BYTES:], view.p50, False
        yield from self.with_agents(reader, view, count_max)
        for key, value in reader.range(MAXIMUM, _below_start(view.basefee)):
            priority = int.from_bytes(value[1:], "big") if value[1:] else view.p50
            yield key[-PLACE_BYTES:], priority, value[:1] == ASLEEP
        yield from self.woken(reader, view)

    def with_agents(
        self, reader: Reader, view: LaneView, count_max: int
    ) -> Iterator[Waiting]:
        """Those with an agent, or as many of them as can be among the first."""
        del count_max
        for key, value in family(reader, AGENT):
            yield key[-PLACE_BYTES:], view.priority_of_bid(decode_bid(value)), False

    def woken(self, reader: Reader, view: LaneView) -> Iterator[Waiting]:
        """Those whom something else than the basefee woke: their expiry."""
        for key, _ in reader.range(EXPIRY, EXPIRY + keys.height8(view.height)):
            yield self.waiting_at(reader, view, key[-PLACE_BYTES:])

    def waiting_at(self, reader: Reader, view: LaneView, place: bytes) -> Waiting:
        """The same of one that is known to be awake."""
        timer = load_at(reader, place)
        return place, view.stated_priority(timer), self.was_asleep(reader, timer)

    # --- when somebody wakes -----------------------------------------------------

    def wake_height(
        self, reader: Reader, view: LaneView, decline: "Decline", best: int | None
    ) -> int | None:
        """The least height from `view.height` on at which one of these is awake.

        `view` is that of the next height; at most `best`. None for never.
        """
        if best == view.height or not is_any(reader):
            return best
        if next(self._waiting(reader, view, 1), None) is not None:
            return view.height
        heights = list(self.wakings(reader, view, decline))
        return min(heights if best is None else [best, *heights], default=None)

    def wake_in(
        self, prospect: "Prospect", view: LaneView, decline: "Decline"
    ) -> Height | None:
        """The least height above the head at which anybody is due and awake (D36).

        In the first block under their rules nobody stands here yet.
        """
        best: int | None = None
        start = 0
        if not prospect.is_entering:
            best = self.wake_height(prospect.reader, view, decline, None)
            start = view.height
        if best == view.height:
            return Height(best)
        for timer in prospect.calendar.timers(start, keys.HEIGHT_LAST):
            if best is not None and max(timer.height, view.height) >= best:
                break
            wakes = decline.wakes(timer, view)
            best = wakes if best is None else min(best, wakes)
        return None if best is None else Height(best)

    def wakings(
        self, reader: Reader, view: LaneView, decline: "Decline"
    ) -> Iterator[int]:
        """Heights at which those that sleep wake, the least among them."""
        for key, _ in family(reader, EXPIRY):
            expires_at = int.from_bytes(key[len(EXPIRY) :][: keys.HEIGHT_BYTES], "big")
            yield max(view.height, _after(expires_at))
            break
        for key, _ in reader.range(
            _below_start(view.basefee), keys.prefix_stop(MAXIMUM)
        ):
            fee = U128_MAX - int.from_bytes(key[_FEE_SLICE], "big")
            since = decline.reaches(fee)
            if since is not None:
                yield since
            break


class AuctionIndex(DueIndex):
    """Of `auction`, under which a timer over the cap waits unseen, once it was noted.

    * `c` noted as over the cap: the lowest limit first; → whether it was seen to sleep
    * `l` of `m` with a stated limit: by that limit, for a cap that was lowered
    """

    @override
    def main_entry(self, timer: Timer, *, is_asleep: bool) -> tuple[bytes, bytes]:
        if not timer.is_over_cap_noted:
            return super().main_entry(timer, is_asleep=is_asleep)
        flag = ASLEEP if is_asleep else AWAKE
        return NOTED + keys.height8(timer.gas_limit) + place_of(timer), flag

    @override
    def can_sleep(self, timer: Timer) -> bool:
        return timer.is_over_cap_noted or super().can_sleep(timer)

    @override
    def entries(self, timer: Timer, *, is_asleep: bool) -> list[tuple[bytes, bytes]]:
        entries = super().entries(timer, is_asleep=is_asleep)
        is_fee_held = super().can_sleep(timer) and not timer.is_over_cap_noted
        if is_fee_held and not timer.is_gas_limit_defaulted:
            limit = LIMIT + keys.height8(timer.gas_limit) + place_of(timer)
            entries.append((limit, b""))
        return entries

    @override
    def woken(self, reader: Reader, view: LaneView) -> Iterator[Waiting]:
        """Those whom their expiry or a changed cap wakes."""
        yield from super().woken(reader, view)
        over = LIMIT + keys.height8(min(view.cap + 1, U64_MAX))
        for key, _ in reader.range(over, keys.prefix_stop(LIMIT)):
            yield self.waiting_at(reader, view, key[-PLACE_BYTES:])
        for place in self._fitting(reader, view):
            if not view.is_dormant(load_at(reader, place)):
                yield self.waiting_at(reader, view, place)

    @override
    def wakings(
        self, reader: Reader, view: LaneView, decline: "Decline"
    ) -> Iterator[int]:
        yield from super().wakings(reader, view, decline)
        for place in self._fitting(reader, view):
            yield decline.wakes(load_at(reader, place), view)

    def _fitting(self, reader: Reader, view: LaneView) -> Iterator[bytes]:
        """Of those noted as over the cap the ones that are not any more."""
        fits = NOTED + keys.height8(min(view.cap + 1, U64_MAX))
        for key, _ in reader.range(NOTED, fits):
            yield key[-PLACE_BYTES:]


AUCTION_INDEX = AuctionIndex()


# --- how long a basefee holds somebody back ----------------------------------------


class Decline:
    """How a basefee falls while nothing is used: a step a height, to its floor."""

    __slots__ = ("_fees", "_first", "_following")

    def __init__(
        self, first: int, basefee: int, following: Callable[[int], int]
    ) -> None:
        """`basefee` is that of the height `first`; `following` says the next one's."""
        self._first = first
        self._following = following
        self._fees = [basefee]

    def _falling(self) -> list[int]:
        """The fees height by height, as far as they change: made when asked for."""
        fees = self._fees
        while (following := self._following(fees[-1])) != fees[-1]:
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
        due, expired = max(timer.height, view.height), _after(timer.expires_at)
        if view.is_over_cap(timer):
            return max(due, expired) if timer.is_over_cap_noted else due
        since: int | None = max(due, view.released_at(timer))
        if is_below(timer, view.basefee):
            assert timer.max_fee_per_cycle is not None, "a fee is below the basefee"
            reached = self.reaches(timer.max_fee_per_cycle)
            since = None if reached is None else max(since or 0, reached)
        if since == due:
            return due
        return max(due, expired if since is None else min(since, expired))
