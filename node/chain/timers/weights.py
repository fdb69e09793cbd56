"""Weights of actors under `bidding`: what an epoch earned for the next (CIP-1v1 §3).

A weight breaks ties among equal effective tips and apportions the lane. At the end of
an epoch it moves by a part λ towards a score S: what the actor's fires paid beside
everybody's, whether its timers were put off, how late they fired, and how little of
the lane they took; without fires, towards neutral (D48). An actor's record lies in the
state and is folded when it is read: no epoch costs anything for those who do nothing.

Rules: a block reads everything as it stood at its start, and writes at its end; all is
integer and floored. A record of the height of a reset or before counts as none (D49).
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import astuple

from node.chain.context import BlockContext
from node.chain.params import (
    OVERDUE_ACTORS_MAX,
    PERMILLE,
    WEIGHT_NEUTRAL,
    BiddingConfig,
)
from node.chain.reader import Reader
from node.chain.timers.timer import Timer
from node.primitives import codec
from node.primitives.types import PPM, Address, Height
from node.state import keys
from node.state.journal import Journal

PRICE_UNKNOWN = PPM // 2
"""The part of the price in a score where there is nothing to compare (D48)."""
LATENESS_HALF = 16  # blocks late that give half of the part of lateness (D48)
EPOCHS_FOLDED_MAX = 40  # of an epoch after the other without fires (D48)
EPOCHS_REMEMBERED = 2  # of everybody (D48)


class FireSums(Struct):
    """What some fires of an actor come to (D48)."""

    fires: int = 0
    tips: int = 0
    """Effective tips a cycle, summed up, in base units."""
    cycles: int = 0
    lateness: int = 0
    """Blocks from due height to fire, summed up."""

    def count(self, tip: int, cycles: int, late: int) -> None:
        """Count one more fire."""
        self.fires += 1
        self.tips += tip
        self.cycles += cycles
        self.lateness += late

    def add(self, other: "FireSums") -> None:
        """Count other fires as well."""
        self.fires += other.fires
        self.tips += other.tips
        self.cycles += other.cycles
        self.lateness += other.lateness


class ActorWeight(Struct, frozen=True):
    """An actor's record: the weight of an epoch, and its fires in it (D48)."""

    height: Height
    """Of the last write."""
    weight: int
    """In the epoch of that height, in parts per million."""
    sums: FireSums = field(default_factory=FireSums)
    """Of its fires in that epoch."""

    def encode(self) -> bytes:
        """The record: one array of height, weight and sums."""
        return codec.encode([self.height, self.weight, *astuple(self.sums)])


def decode_actor_weight(data: bytes) -> ActorWeight:
    """What `encode` made of one; trusts its bytes."""
    fields = codec.decode(data)
    assert isinstance(fields, list)
    height, weight, *sums = fields
    return ActorWeight(height, weight, FireSums(*sums))  # type: ignore[arg-type]


class EpochFires(Struct, frozen=True):
    """Everybody's fires in one epoch (D48)."""

    height: Height
    """Of the last write."""
    fires: int
    tips: int
    """Effective tips a cycle, summed up, in base units."""

    @property
    def mean_tip(self) -> int:
        """Floored, in base units a cycle."""
        return self.tips // self.fires


class Overdue(Struct):
    """Candidates of an actor that were due before the first block of an epoch (D48)."""

    timers: int = 0
    lateness: int = 0
    """Blocks since they were due, summed up."""


NOT_OVERDUE = Overdue()


class Scale(Struct, frozen=True):
    """By what weights are folded in a block: what is in force in it."""

    config: BiddingConfig
    epoch_length: int
    lane: int
    """Cycles of the lane in one block."""

    def fold(self, record: ActorWeight, mean_tip: int | None, overdue: Overdue) -> int:
        """The weight of the epoch after a record's, in parts per million.

        `mean_tip` is everybody's in the record's epoch; None if nobody knows it.
        """
        done, put_off = record.sums, overdue.timers
        turns = done.fires + put_off
        if not turns:
            return self.move(record.weight, WEIGHT_NEUTRAL)
        late = (done.lateness + overdue.lateness) // turns
        deferral = PPM * put_off // turns
        lateness = PPM * late // (late + LATENESS_HALF)
        thrift = max(0, PPM - PPM * done.cycles // (self.lane * self.epoch_length))
        score = (_price_score(done, mean_tip) + deferral + lateness + thrift) // 2
        weight = self.move(record.weight, score)
        return weight if done.fires else max(weight, self.config.starvation_floor)

    def move(self, weight: int, score: int) -> int:
        """Weight' = (1 - λ) · weight + λ · S, within its bounds (CIP-1v1 §3)."""
        config = self.config
        rate = config.lambda_permille
        moved = ((PERMILLE - rate) * weight + rate * score) // PERMILLE
        return min(config.weight_max, max(config.weight_min, moved))

    def rest(self, weight: int, epochs: int) -> int:
        """A weight after so many epochs in which its actor did nothing."""
        if epochs > EPOCHS_FOLDED_MAX:
            return WEIGHT_NEUTRAL
        for _ in range(epochs):
            weight = self.move(weight, WEIGHT_NEUTRAL)
        return weight


def _price_score(done: FireSums, everybody: int | None) -> int:
    """10⁶ t // (t + p): the actor's mean tip beside everybody's (D48)."""
    own = done.tips // done.fires if done.fires else 0
    if everybody is None or not own + everybody:
        return PRICE_UNKNOWN
    return PPM * own // (own + everybody)


class EpochWeights(Struct):
    """The weights of one block, as they stood at its start."""

    reader: Reader
    height: int
    scale: Scale
    reset: int
    """Records of this height and before count as none; -1 where none do."""
    epochs: tuple[EpochFires, ...] = ()
    """Everybody's, the latest first."""
    overdue: dict[Address, Overdue] = field(default_factory=dict)
    """In the first block of an epoch, of the first so many actors (D48)."""
    _known: dict[Address, int] = field(default_factory=dict)

    @property
    def epoch(self) -> int:
        """Number of the block's epoch."""
        return self.height // self.scale.epoch_length

    def note_overdue(self, candidates: Iterable[Timer]) -> None:
        """Count overdue candidates, given by (height, sequence), in a first block."""
        assert not self._known, "overdue timers count before any weight is known"
        if self.height % self.scale.epoch_length:
            return
        for timer in candidates:
            if timer.height >= self.height:
                return  # they are in the order in which they were due
            overdue = self.overdue.get(timer.actor)
            if overdue is None:
                if len(self.overdue) == OVERDUE_ACTORS_MAX:
                    continue
                overdue = self.overdue[timer.actor] = Overdue()
            overdue.timers += 1
            overdue.lateness += self.height - timer.height

    def of(self, actor: Address) -> int:
        """An actor's weight in the block's epoch, in parts per million (D48)."""
        weight = self._known.get(actor)
        if weight is None:
            weight = self._known[actor] = self._weigh(actor)
        return weight

    def _weigh(self, actor: Address) -> int:
        overdue = self.overdue.get(actor, NOT_OVERDUE)
        record = load_actor_weight(self.reader, actor, self.reset)
        if record is None:  # neutral in every epoch so far
            return self._after_rest(WEIGHT_NEUTRAL, self.epoch - 1, overdue)
        epoch = record.height // self.scale.epoch_length
        if epoch == self.epoch:
            return record.weight
        is_last = epoch == self.epoch - 1
        waited = overdue if is_last else NOT_OVERDUE
        weight = self.scale.fold(record, self._mean_tip(epoch), waited)
        return weight if is_last else self._after_rest(weight, epoch + 1, overdue)

    def _after_rest(self, weight: int, epoch: int, overdue: Overdue) -> int:
        """From the weight of an epoch, if its actor has not fired since it began."""
        last = self.epoch - 1
        if not overdue.timers:
            return self.scale.rest(weight, self.epoch - epoch)
        idle = ActorWeight(Height(self.height), self.scale.rest(weight, last - epoch))
        return self.scale.fold(idle, self._mean_tip(last), overdue)

    def _mean_tip(self, epoch: int) -> int | None:
        for one in self.epochs:
            if one.height // self.scale.epoch_length == epoch:
                return one.mean_tip
        return None

    # --- at the end of the block -------------------------------------------------

    def save(self, journal: Journal, fires: Mapping[Address, FireSums]) -> None:
        """Write the records of those that fired, or were overdue (D48).

        `fires` are what this block adds to the sums of an actor.
        """
        records = list[tuple[Address, ActorWeight]]()
        for actor in dict.fromkeys((*self.overdue, *fires)):
            sums = self._sums(actor)
            if actor in fires:
                sums.add(fires[actor])
            record = ActorWeight(Height(self.height), self.of(actor), sums)
            records.append((actor, record))
        for actor, record in records:
            journal.put(keys.weight(actor), record.encode())
        if fires:
            self._save_epochs(journal, fires.values())

    def _sums(self, actor: Address) -> FireSums:
        """What the actor did in this epoch so far."""
        record = load_actor_weight(self.reader, actor, self.reset)
        if record is None or record.height // self.scale.epoch_length != self.epoch:
            return FireSums()
        return record.sums

    def _save_epochs(self, journal: Journal, added: Iterable[FireSums]) -> None:
        total, before = FireSums(), self.epochs
        for sums in added:
            total.add(sums)
        latest = before[0] if before else None
        if latest and latest.height // self.scale.epoch_length == self.epoch:
            total.add(FireSums(latest.fires, latest.tips))
            before = before[1:]
        now = EpochFires(Height(self.height), total.fires, total.tips)
        kept = (now, *before)[:EPOCHS_REMEMBERED]
        record = codec.encode([list(astuple(one)) for one in kept])
        journal.put(keys.EPOCHS_WITH_FIRES, record)


def load_actor_weight(reader: Reader, actor: Address, reset: int) -> ActorWeight | None:
    """An actor's record, unless it was last written before a reset, or at it."""
    data = reader.get(keys.weight(actor))
    record = None if data is None else decode_actor_weight(data)
    return record if record is not None and record.height > reset else None


def load_epoch_fires(reader: Reader, reset: int) -> tuple[EpochFires, ...]:
    """Everybody's fires in the last epochs that had any, the latest first."""
    data = reader.get(keys.EPOCHS_WITH_FIRES)
    if data is None:
        return ()
    epochs = [EpochFires(*one) for one in codec.decode(data)]  # type: ignore[misc, union-attr]
    return tuple(one for one in epochs if one.height > reset)


def begin_weights(block: BlockContext) -> EpochWeights:
    """The weights of a block, before anything of them is asked or written.

    Weights of before `bidding` was entered count as none, as those before a reset do
    (D49).
    """
    governed = block.governed
    entered = governed.in_force_since(block.height)
    by_governance = governed.weights_reset
    reset = max(entered - 1, -1 if by_governance is None else by_governance)
    config = block.timer_config
    scale = Scale(
        block.bidding_config,
        block.params.calendar.epoch_length,
        config.lane_timer_cycles,
    )
    epochs = load_epoch_fires(block.journal, reset)
    return EpochWeights(block.journal, block.height, scale, reset, epochs)
