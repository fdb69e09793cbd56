"""The orders in which `bidding` looks for due timers: those of the poor beside others.

A timer whose payer was found poor keeps a note of it: the epoch, and what was wanted.
Through that epoch it is dormant while its payer has less, so that the penniless cost
the chain one look an epoch and keep no run from passing (D45). Instead of those of
`due_index` timers stand in these families:

* `b` those with a Gas Bidding Agent: the highest last tip first, which no rank exceeds,
  so that a block reads as many as it looks at; → the last maximum fee

and with a note

* `y` those that no fee of their own can hold back: by the note's epoch, then as `b`,
  the stated priority for the tip; → whether the timer was seen to sleep, and the last
  maximum fee
* `z` those with a stated maximum fee, likewise; → the same, maximum fee, priority

and beside them:

* `p` payer ‖ what was wanted: so that who got money wakes its timers, and no others
* `q` the payers who have what the least of their notes wants

Rules: a note of an earlier epoch holds nobody, and of those that have one a block
reads as many as it looks at, too. `refresh` makes `q` what it says; a block calls it
before it looks at timers, and again at its end.
"""

from collections.abc import Iterator
from heapq import heappush, heappushpop

from typing_extensions import override

from node.chain.accounts import load_account
from node.chain.params import U128_MAX
from node.chain.reader import Reader
from node.chain.timers.due_index import (
    AMOUNT_BYTES,
    ASLEEP,
    AWAKE,
    BIDS,
    PAYER_FUNDED,
    PLACE_BYTES,
    POOR_BIDS,
    POOR_FEES,
    POOR_PAYER,
    Decline,
    DueIndex,
    LaneView,
    Waiting,
    amount16,
    descending16,
    family,
    is_below,
    load_at,
    place_of,
)
from node.chain.timers.timer import Timer
from node.primitives.types import Address
from node.state import keys
from node.state.journal import Journal

BEHIND = U128_MAX + 1
"""Above every rank: whoever has a note ranks behind all that have none (D45)."""
_WANTED_BYTES = 24  # of a limit times a basefee, and more
_ACCOUNT = keys.account(Address(b""))
_TIP = slice(len(BIDS), len(BIDS) + AMOUNT_BYTES)
_NOTED_EPOCH = slice(len(POOR_BIDS), len(POOR_BIDS) + keys.HEIGHT_BYTES)
_NOTED_TIP = slice(_NOTED_EPOCH.stop, _NOTED_EPOCH.stop + AMOUNT_BYTES)
_PAYER = slice(len(POOR_PAYER), len(POOR_PAYER) + 20)


class BiddingView(LaneView, frozen=True):
    """What decides under `bidding` who is awake at a height (D44, D45, D49).

    Its basefee is that of cycles, its p50 is 0, and nobody waits over the cap.
    """

    epoch: int
    epoch_length: int
    reader: Reader
    """For balances of payers."""

    @override
    def is_dormant(self, timer: Timer) -> bool:
        if timer.max_fee_per_cycle is None and timer.poor_note is None:
            return False  # as of most: nothing could make it sleep
        if self.height > timer.expires_at:
            return False
        return is_below(timer, self.basefee) or self.is_held_by_note(timer)

    @override
    def is_over_cap(self, timer: Timer) -> bool:
        del timer
        return False

    def is_held_by_note(self, timer: Timer) -> bool:
        """Whether a note of this epoch says that its payer is still poor (D45)."""
        if timer.poor_note is None or timer.poor_note[0] != self.epoch:
            return False
        balance = load_account(self.reader, timer.fee_payer).balance
        return balance < timer.poor_note[1]

    @override
    def released_at(self, timer: Timer) -> int:
        """The first height of the next epoch, if a note holds it (D49)."""
        if self.is_held_by_note(timer):
            return (self.epoch + 1) * self.epoch_length
        return self.height

    @override
    def stated_priority(self, timer: Timer) -> int:
        rank = super().stated_priority(timer)
        return rank if timer.poor_note is None else rank - BEHIND


class BiddingIndex(DueIndex):
    """Of `bidding`, under which a timer of a poor payer waits unseen."""

    # --- what stands there -------------------------------------------------------

    @override
    def main_entry(self, timer: Timer, *, is_asleep: bool) -> tuple[bytes, bytes]:
        if timer.poor_note is None:
            if timer.gba is None:
                return super().main_entry(timer, is_asleep=is_asleep)
            fee, tip = _last_bid(timer)
            key = BIDS + descending16(tip) + place_of(timer)
            return key, b"" if fee is None else amount16(fee)
        flag = ASLEEP if is_asleep else AWAKE
        epoch, priority = timer.poor_note[0], timer.max_priority_fee_per_cycle
        since, place = keys.height8(epoch), place_of(timer)
        if timer.gba is None and timer.max_fee_per_cycle is not None:
            stated = b"" if priority is None else amount16(priority)
            fees = amount16(timer.max_fee_per_cycle) + stated
            return POOR_FEES + since + place, flag + fees
        fee, tip = (None, priority or 0) if timer.gba is None else _last_bid(timer)
        key = POOR_BIDS + since + descending16(tip) + place
        return key, flag if fee is None else flag + amount16(fee)

    @override
    def can_sleep(self, timer: Timer) -> bool:
        return timer.poor_note is not None or super().can_sleep(timer)

    @override
    def entries(self, timer: Timer, *, is_asleep: bool) -> list[tuple[bytes, bytes]]:
        entries = super().entries(timer, is_asleep=is_asleep)
        if timer.poor_note is not None:
            wanted = _wanted(timer.poor_note[1])
            key = POOR_PAYER + timer.fee_payer + wanted + place_of(timer)
            entries.append((key, b""))
        return entries

    @override
    def expected(self, reader: Reader, height: int) -> Iterator[tuple[bytes, bytes]]:
        funded = dict[Address, None]()
        for key, value in super().expected(reader, height):
            yield key, value
            if key.startswith(POOR_PAYER):
                payer = Address(key[_PAYER])
                if key < _stop_of_funded(reader, payer):
                    funded[payer] = None
        yield from ((PAYER_FUNDED + payer, b"") for payer in funded)

    def refresh(self, journal: Journal) -> None:
        """Say anew of the payers whose balance or notes changed if they have enough."""
        if not any(
            next(family(journal, prefix), None) for prefix in (POOR_PAYER, PAYER_FUNDED)
        ):
            return
        payers = dict[Address, None]()
        for key in journal.changed_keys():
            if key.startswith(_ACCOUNT):
                payers[Address(key[len(_ACCOUNT) :])] = None
            elif key.startswith(POOR_PAYER):
                payers[Address(key[_PAYER])] = None
        for payer in payers:
            is_funded = next(_of_funded(journal, payer), None) is not None
            key = PAYER_FUNDED + payer
            if is_funded != (journal.get(key) is not None):
                journal.put(key, b"" if is_funded else None)

    # --- who is looked at --------------------------------------------------------

    @override
    def with_agents(
        self, reader: Reader, view: LaneView, count_max: int
    ) -> Iterator[Waiting]:
        """The first so many without a note, and as many with one that holds nobody."""
        assert isinstance(view, BiddingView), (
            "the index and the view are one rule set's"
        )
        best = _Best(view, count_max)
        for key, fee in family(reader, BIDS):
            if not best.take(key[_TIP], key[-PLACE_BYTES:], fee, is_asleep=False):
                break
        yield from best.found(below=0)
        yield from self._noted(reader, view, count_max)

    def _noted(
        self, reader: Reader, view: BiddingView, count_max: int
    ) -> Iterator[Waiting]:
        """Of those with a note of an earlier epoch the first so many by rank."""
        best, is_cut = _Best(view, count_max), True
        start, stop = POOR_BIDS, POOR_BIDS + keys.height8(view.epoch)
        while is_cut:
            is_cut = False
            for key, value in reader.range(start, stop):
                tip, place, fee = key[_NOTED_TIP], key[-PLACE_BYTES:], value[1:]
                if not best.take(tip, place, fee, is_asleep=value[:1] == ASLEEP):
                    epoch = int.from_bytes(key[_NOTED_EPOCH], "big")
                    start, is_cut = POOR_BIDS + keys.height8(epoch + 1), True
                    break
        yield from best.found(below=BEHIND)

    @override
    def woken(self, reader: Reader, view: LaneView) -> Iterator[Waiting]:
        """Those whom their expiry or money woke; with a stated fee a new epoch, too."""
        assert isinstance(view, BiddingView), (
            "the index and the view are one rule set's"
        )
        yield from super().woken(reader, view)
        this_epoch = keys.height8(view.epoch)
        for key, value in reader.range(POOR_FEES, POOR_FEES + this_epoch):
            fee, stated = _read_fees(value)
            if fee >= view.basefee:
                rank = (view.p50 if stated is None else stated) - BEHIND
                yield key[-PLACE_BYTES:], rank, value[:1] == ASLEEP
        for key, _ in family(reader, PAYER_FUNDED):
            payer = Address(key[len(PAYER_FUNDED) :])
            for place in _of_funded(reader, payer):
                if not view.is_dormant(load_at(reader, place)):
                    yield self.waiting_at(reader, view, place)

    # --- when somebody wakes -----------------------------------------------------

    @override
    def wakings(
        self, reader: Reader, view: LaneView, decline: Decline
    ) -> Iterator[int]:
        assert isinstance(view, BiddingView), (
            "the index and the view are one rule set's"
        )
        yield from super().wakings(reader, view, decline)
        # Notes of earlier epochs hold nobody, so the first is of this one.
        if next(family(reader, POOR_BIDS), None) is not None:
            yield (view.epoch + 1) * view.epoch_length
        for key, _ in family(reader, POOR_FEES):
            yield decline.wakes(load_at(reader, key[-PLACE_BYTES:]), view)


class _Best:
    """The first so many by rank, then due height and sequence, of some by their tips.

    Nobody ranks above its tip, by which they stand: once so many are found that the
    next one's tip and place could not come before them, nobody behind can.
    """

    __slots__ = ("_count_max", "_heap", "_view")

    def __init__(self, view: BiddingView, count_max: int) -> None:
        self._view = view
        self._count_max = count_max
        # The last of them first.
        self._heap: list[tuple[int, int, bytes, bool]] = []

    def take(self, tip16: bytes, place: bytes, fee: bytes, *, is_asleep: bool) -> bool:
        """Take the next one, unless nobody from it on comes before those that are here.

        Without a maximum fee it ranks as high as its tip. Returned is whether to go on.
        """
        heap, tip = self._heap, U128_MAX - int.from_bytes(tip16, "big")
        order = -int.from_bytes(place, "big")
        is_full = len(heap) == self._count_max
        if is_full and heap[0] >= (tip, order):
            return False
        rank = tip
        if fee:
            rank = self._view.priority_of_bid((int.from_bytes(fee, "big"), tip))
        one = rank, order, place, is_asleep
        if is_full:
            heappushpop(heap, one)
        else:
            heappush(heap, one)
        return True

    def found(self, below: int) -> Iterator[Waiting]:
        """Those that were taken, so far below their ranks."""
        for rank, _, place, is_asleep in self._heap:
            yield place, rank - below, is_asleep


def _last_bid(timer: Timer) -> tuple[int | None, int]:
    """Maximum fee and tip that its agent last bid; without an answer, of no tip."""
    return timer.last_bid or (None, 0)


def _wanted(amount: int) -> bytes:
    return amount.to_bytes(_WANTED_BYTES, "big")


def _stop_of_funded(reader: Reader, payer: Address) -> bytes:
    """The least key of a payer's notes that want more than it has."""
    balance = load_account(reader, payer).balance
    return POOR_PAYER + payer + _wanted(balance + 1)


def _of_funded(reader: Reader, payer: Address) -> Iterator[bytes]:
    """Places of the timers with a note that wants no more than their payer has."""
    stop = _stop_of_funded(reader, payer)
    for key, _ in reader.range(POOR_PAYER + payer, stop):
        yield key[-PLACE_BYTES:]


def _read_fees(value: bytes) -> tuple[int, int | None]:
    fee, stated = value[1 : 1 + AMOUNT_BYTES], value[1 + AMOUNT_BYTES :]
    return int.from_bytes(fee, "big"), int.from_bytes(stated, "big") if stated else None


BIDDING_INDEX = BiddingIndex()
