"""The orders in which `bidding` looks for due timers: those of the poor beside others.

A timer whose payer was found poor keeps a note of it: the epoch, and what was wanted.
Through that epoch it is dormant while its payer has less, so that the penniless cost
the chain one look an epoch and keep no run from passing (D45). Instead of those of
`due_index` timers stand in these families:

* `b` those with a Gas Bidding Agent: the highest last tip first, which no rank exceeds,
  so that a block reads as many as it looks at; → the last maximum fee

and with a note

* `y` those that no fee of their own can hold back: by the note's epoch; → whether the
  timer was seen to sleep, its agent's last bid or its stated priority
* `z` those with a stated maximum fee, likewise; → the same, maximum fee, priority

and beside them:

* `p` payer ‖ what was wanted: so that who got money wakes its timers, and no others
* `q` the payers who have what the least of their notes wants

Rules: a note of an earlier epoch holds nobody. `refresh` makes `q` what it says; a
block calls it before it looks at timers, and again at its end.
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
    decode_bid,
    descending16,
    encode_bid,
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
            fee, tip = timer.last_bid or (None, 0)
            key = BIDS + descending16(tip) + place_of(timer)
            return key, b"" if fee is None else amount16(fee)
        flag = ASLEEP if is_asleep else AWAKE
        epoch, priority = timer.poor_note[0], timer.max_priority_fee_per_cycle
        rest = keys.height8(epoch) + place_of(timer)
        if timer.gba is not None:
            return POOR_BIDS + rest, flag + encode_bid(timer.last_bid)
        stated = b"" if priority is None else amount16(priority)
        if timer.max_fee_per_cycle is None:
            return POOR_BIDS + rest, flag + stated
        return POOR_FEES + rest, flag + amount16(timer.max_fee_per_cycle) + stated

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
        """The first so many by rank, then due height and sequence.

        None ranks above its tip, by which they stand: once so many are found that the
        next one's tip and place could not come before them, nobody behind can.
        """
        best = list[tuple[int, int, bytes]]()  # a heap, the last of them first
        for key, value in family(reader, BIDS):
            tip, place = U128_MAX - int.from_bytes(key[_TIP], "big"), key[-PLACE_BYTES:]
            order = -int.from_bytes(place, "big")
            if len(best) == count_max and best[0] >= (tip, order):
                break
            bid = (int.from_bytes(value, "big"), tip) if value else None
            one = view.priority_of_bid(bid), order, place
            if len(best) < count_max:
                heappush(best, one)
            else:
                heappushpop(best, one)
        for rank, _, place in best:
            yield place, rank, False

    @override
    def woken(self, reader: Reader, view: LaneView) -> Iterator[Waiting]:
        """Those whom their expiry, a new epoch or money woke."""
        assert isinstance(view, BiddingView), (
            "the index and the view are one rule set's"
        )
        yield from super().woken(reader, view)
        this_epoch = keys.height8(view.epoch)
        for key, value in reader.range(POOR_BIDS, POOR_BIDS + this_epoch):
            offered = value[1:]
            if len(offered) == AMOUNT_BYTES:  # stated, without an agent
                rank = int.from_bytes(offered, "big")
            else:
                rank = view.priority_of_bid(decode_bid(offered))
            yield key[-PLACE_BYTES:], rank - BEHIND, value[:1] == ASLEEP
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
