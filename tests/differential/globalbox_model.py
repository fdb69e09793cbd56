"""Rules `globalbox` of a block, D50 to D56 read literally; see `timer_model`.

The queue is a dictionary that is sorted anew whenever its order is asked for.
"""

from dataclasses import dataclass, replace

from tests.differential.timer_model import (
    Model,
    RulesModel,
    Timer,
    keccak256,
)

BUCKETS = {"economy": 1, "standard": 2, "fast": 3, "urgent": 4}
MATCHED_KEYS_MAX = 4


@dataclass(frozen=True)
class Hit:
    """What made a watch fire."""

    height: int
    keys: tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True)
class Place:
    """A fire in the Globalbox."""

    key: bytes
    bid_fp: int
    """The bid that bought it."""
    hit: Hit | None


@dataclass(frozen=True)
class Candidate:
    """What Deliver enqueues (D52)."""

    timer: Timer
    origin: int
    hit: Hit | None


class GlobalboxModel(RulesModel):
    """Deliver, Materialize, Execute."""

    name = "globalbox"

    # --- coming and going ---------------------------------------------------------

    def before_timers(self) -> None:
        """D55: under other rules what is queued goes back, the head first."""
        model = self.model
        if model.in_force is self:
            return
        for timer, place in self._queued()[: model.fixed.leaving_max]:
            del model.queue[timer.id]
            if place.hit is not None:
                model.noted[timer.id] = place.hit

    def has_work(self) -> bool:
        """D55: of noted hits only `globalbox` knows what to do."""
        return bool(self.model.noted)

    # --- scheduling ---------------------------------------------------------------

    def limits(self) -> tuple[int, int]:
        """D50."""
        numbers = self.model.numbers
        return max(numbers.gas_min, numbers.fire_base), numbers.cap

    def refuses(self, terms: dict) -> str:
        """D50."""
        numbers, bid = self.model.numbers, terms.get("bid")
        if bid is not None and not numbers.bid_min <= bid <= numbers.bid_max:
            return "InvalidInput"
        if terms.get("hint", "fast") not in BUCKETS:
            return "InvalidInput"
        if len(terms["packed"]) > numbers.payload_max:
            return "InvalidInput"
        return ""

    def fees(self, terms: dict) -> dict:
        """D50: other fee fields are recorded, unused."""
        bid = terms.get("bid")
        return super().fees(terms) | {
            "bid_fp": self.model.numbers.bid_min if bid is None else bid,
            "bucket": BUCKETS.get(terms.get("hint"), 0),
        }

    # --- the phases ---------------------------------------------------------------

    def run(self) -> None:
        """Deliver, Materialize, Execute (GBX §4)."""
        self.removals = 0
        self._deliver()
        self._execute(self._materialize())

    def finish(self) -> None:
        """D51: hits by timers are noted, and enqueued from the next height on."""
        model = self.model
        for timer, hit in self._matches(model.storage_between, model.storage):
            model.noted[timer.id] = hit

    def _deliver(self) -> None:
        """D52: who is due, hits that were noted, hits of this block."""
        model, numbers = self.model, self.model.numbers
        candidates = []
        for timer in model.due()[: numbers.examined_max]:
            if model.height > timer.expires_at:
                self.removals += 1
                model.leave(timer, "TimerExpired")
            else:
                candidates.append(Candidate(timer, timer.due, None))
        noted = sorted(
            ((model.find(timer_id), hit) for timer_id, hit in model.noted.items()),
            key=lambda one: (one[1].height, one[0].sequence),
        )[: numbers.hits_max]
        hits = self._matches(model.storage_before, model.storage_between)
        for timer, hit in [*noted, *hits]:
            candidates.append(Candidate(timer, hit.height, hit))
            model.noted.pop(timer.id, None)
        self._enqueue(candidates)

    def _matches(self, before: dict, after: dict) -> list[tuple[Timer, Hit]]:
        """D51: idle watches of what changed, the first so many."""
        model = self.model
        changed = sorted(
            key
            for key in before.keys() | after.keys()
            if before.get(key) != after.get(key)
        )
        found = []
        for timer in model.timers:
            is_idle = timer.id not in model.queue and timer.id not in model.noted
            is_old = timer.scheduled_at < model.height <= timer.expires_at
            if timer.is_watch and is_idle and is_old:
                keys = [key for key in changed if _watches(timer, key)]
                if keys:
                    found.append((keys[0], timer.sequence, timer, keys))
        found.sort(key=lambda one: one[:2])
        lost = found[model.numbers.hits_max :]
        if lost:
            model.told.events.append(("WatchHitsPruned", lost[0][0]))
        return [
            (timer, Hit(model.height, tuple(keys[:MATCHED_KEYS_MAX])))
            for _, _, timer, keys in found[: model.numbers.hits_max]
        ]

    def _enqueue(self, candidates: list[Candidate]) -> None:
        """D52: the order is frozen."""
        model, age = self.model, age_of(self.model)
        ordered = []
        for one in candidates:
            waited = model.height - one.origin
            score = model.numbers.w_age * waited
            score += model.numbers.w_bid * one.timer.bid_fp
            ordered.append((-score, -one.timer.bucket, one.origin, one.timer.id, one))
        ordered.sort(key=lambda entry: entry[:4])
        cursors: dict[str, int] = {}
        for negated, _, _, _, one in ordered:
            timer = one.timer
            cursor = cursors.get(timer.target, 0)
            cursors[timer.target] = cursor + 1
            key = place_key(
                -negated - age,
                timer.bucket,
                cursor,
                (one.origin, model.fixed.addresses[timer.target], timer.id),
            )
            model.queue[timer.id] = Place(key, timer.bid_fp, one.hit)
            model.told.enqueued.append((timer.id, -negated, key))

    def _queued(self) -> list[tuple[Timer, Place]]:
        model = self.model
        ordered = sorted(model.queue.items(), key=lambda one: one[1].key)
        return [(model.find(timer_id), place) for timer_id, place in ordered]

    def _materialize(self) -> list[tuple]:
        """D53: from the head, under quotas."""
        model, numbers = self.model, self.model.numbers
        fires: list[tuple] = []
        reserved = 0
        taken: dict[str, int] = {}
        for timer, place in self._queued():
            if len(fires) >= numbers.fires_max:
                break
            if taken.get(timer.target, 0) >= numbers.fires_per_target:
                continue
            is_expired = model.height > timer.expires_at
            limit = model.limit_of(timer, numbers.cap)
            cost = model.cost(limit, place.bid_fp >> 96)
            is_poor = model.balances[timer.payer] < cost
            if not is_expired and reserved + limit > numbers.lane:
                model.put_off(timer, "lane")
                break
            if is_expired or is_poor:
                if self.removals == numbers.examined_max:
                    model.put_off(timer, "gc")
                    break
                self.removals += 1
                model.leave(
                    timer,
                    "TimerExpired" if is_expired else "TimerCancelledInsufficientFunds",
                )
                continue
            model.balances[timer.payer] -= cost
            reserved += limit
            taken[timer.target] = taken.get(timer.target, 0) + 1
            del model.queue[timer.id]
            if not timer.is_watch:
                model.timers.remove(timer)
            # As it stands now (GBX §9.1: a snapshot).
            fires.append((timer, replace(timer), place, limit, cost))
            model.told.materialized.append(timer.id)
        return fires

    def _execute(self, fires: list[tuple]) -> None:
        """D54: in that order, until a gate refuses one."""
        model = self.model
        while fires:
            if not (model.has_keys() and model.has_cells()):
                break
            timer, as_it_was, place, limit, cost = fires.pop(0)
            model.materialized = [one[0] for one in fires if not one[0].is_watch]
            self._start(timer, place)
            model.fire(as_it_was, limit, place.bid_fp >> 96, cost)
            model.told.fires[-1].trigger = self.trigger
        model.materialized = []
        reason = "cells" if model.has_keys() else "writes"
        for timer, _, place, _, cost in fires:
            model.balances[timer.payer] += cost
            if timer.is_watch and not any(one is timer for one in model.timers):
                continue  # cancelled meanwhile
            if not timer.is_watch:
                model.timers.append(timer)
            model.queue[timer.id] = place
            model.put_off(timer, reason)

    def _start(self, timer: Timer, place: Place) -> None:
        """What the fire learns of itself, and that it began."""
        model = self.model
        height, fire_seq = model.height.to_bytes(8, "big"), timer.fire_seq
        hit = place.hit
        self.trigger = {
            "kind": "STATE_WATCH" if timer.is_watch else "HEIGHT",
            "due_height": None if timer.is_watch else timer.due,
            "hit_height": hit.height if hit else None,
            "matched_keys": hit.keys if hit else None,
            "deliver_id": keccak256(
                height, model.parent_root, timer.id, fire_seq.to_bytes(4, "big")
            ),
            "deliver_seq": model.deliver_seq,
            "fire_seq": fire_seq,
        }
        model.deliver_seq += 1
        timer.fire_seq += 1


def _watches(timer: Timer, key: tuple[bytes, bytes]) -> bool:
    address, name = key
    return any(
        address == watched and name.startswith(prefix)
        for watched, prefix in timer.watched
    )


def age_of(model: Model) -> int:
    """D52: A(h), how much older all that wait has become since genesis."""
    base, since = model.clock
    return base + model.numbers.w_age * (model.height - since)


def place_key(frozen: int, bucket: int, cursor: int, last: tuple) -> bytes:
    """D52: the key of a place; `frozen` is the score less A(h)."""
    origin, target, timer_id = last
    return b"".join(
        (
            (2**255 - frozen).to_bytes(32, "big"),
            bytes([255 - bucket]),
            cursor.to_bytes(4, "big"),
            origin.to_bytes(8, "big"),
            target,
            timer_id,
        )
    )
