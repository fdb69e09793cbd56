"""What happens in the Globalbox, in sentences: hits, the queue, its turns, watches.

As in `text`, every number is one that was recorded when it was decided (D17), but for
where a fire stands now.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from node.chain.block import Receipt
from node.chain.timers.globalbox.fires import BID_FRACTION_BITS
from node.chain.timers.timer import Timer, TimerDecision, WatchKey
from node.primitives.amounts import cby_text
from node.query.explain.block import QueueTurns
from node.query.explain.numbers import counted, ordinal
from node.query.forecasts.forecast import QueueRoom
from node.query.queue_place import QueuePlace, WatchState, WatchStatus

__all__ = [
    "bid_text",
    "enqueued_text",
    "hit_text",
    "materialized_text",
    "passed_over_text",
    "put_back_text",
    "queue_text",
    "returned_text",
    "room_text",
    "turns_text",
    "watch_text",
]


def bid_text(bid_fp: int) -> str:
    """A bid in whole base units a cycle: what a fire pays of it (D54)."""
    return f"{bid_fp >> BID_FRACTION_BITS:,} base units a cycle"


def hit_text(decision: TimerDecision, _receipt: Receipt | None) -> str:
    """A change of what it watches."""
    return f"hit: what it watches changed, {_keys_text(decision.matched_keys)}"


def _keys_text(found: Iterable[WatchKey]) -> str:
    return ", ".join(
        f"{_key_text(key)} of actor 0x{actor.hex()}" for actor, key in found
    )


def _key_text(key: bytes) -> str:
    """A key of an actor's state, or its beginning: as a text where it is one."""
    text = key.decode(errors="replace")
    is_shown = text.isprintable() and text.isascii() and "'" not in text
    return f"'{text}'" if key and is_shown else f"0x{key.hex()}"


def enqueued_text(decision: TimerDecision, _receipt: Receipt | None) -> str:
    """Its place, and what gave it that."""
    numbers = decision.numbers
    waited = numbers["current_height"] - numbers["origin"]
    return (
        f"queued in the Globalbox with a score of {numbers['score']:,}, of "
        f"{counted(waited, 'block')} of age and a bid of "
        f"{bid_text(numbers['bid_fp'])}; its key is 0x{decision.order.hex()}"
    )


def passed_over_text(_decision: TimerDecision, _receipt: Receipt | None) -> str:
    """Its target had its quota."""
    return (
        "passed over with all behind it of its target, which had its share of fires in "
        "this block"
    )


def materialized_text(decision: TimerDecision, _receipt: Receipt | None) -> str:
    """Its money was set aside."""
    required, available = decision.numbers["required"], decision.numbers["available"]
    return (
        f"materialized: {cby_text(required)} of its payer's {cby_text(available)} were "
        "set aside"
    )


_PUT_BACK: Mapping[str, str] = MappingProxyType(
    {
        "lane": (
            "the timer lane had no room: {reserved} of its {lane} cycles were "
            "reserved, and it may use {limit}"
        ),
        "cells": "the block had no room for its cells: {used} of {limit} were used",
        "writes": "the block had written {used} keys, of {limit} that it may",
        "gc": "it was to be removed, and the block had removed {removed} of {limit}",
    }
)


def put_back_text(decision: TimerDecision, _receipt: Receipt | None) -> str:
    """Why it keeps its place."""
    numbers = {name: f"{number:,}" for name, number in decision.numbers.items()}
    why = _PUT_BACK[decision.reason].format_map(numbers)
    return f"keeps its place in the Globalbox: {why}"


def returned_text(decision: TimerDecision, _receipt: Receipt | None) -> str:
    """Other rules empty the Globalbox."""
    where = "noted as a hit" if "hit_height" in decision.numbers else "due again"
    return f"taken out of the Globalbox, whose rules no longer hold: it is {where}"


# --- as things are -------------------------------------------------------------------


def queue_text(place: QueuePlace) -> str:
    """Where a queued fire stands now."""
    rank = "far behind" if place.rank is None else ordinal(place.rank)
    return (
        f"In the Globalbox it is {rank}, by a score of {place.score:,} in the next "
        f"block and a bid of {bid_text(place.bid_fp)}; its key is "
        f"0x{place.order.hex()}."
    )


def room_text(room: QueueRoom) -> str:
    """Whether the quotas of its block leave it a fire (D53)."""
    quotas = room.quotas
    text = (
        f"A block takes at most {quotas.fires:,} fires, and {quotas.target_fires:,} of "
        f"one target; before it {room.fires:,} come in that block, "
        f"{room.target_fires:,} of them of its target"
    )
    if room.is_passed_over:
        return f"{text}, so it will be passed over."
    return f"{text}." if room.is_left else f"{text}, so its turn comes later."


def watch_text(watch: Timer, status: WatchStatus) -> Iterator[str]:
    """What a live watch watches, and how it is doing."""
    prefixes = ", ".join(
        f"{_key_text(prefix)}… of actor 0x{actor.hex()}"
        if prefix
        else f"all of actor 0x{actor.hex()}"
        for actor, prefix in watch.watch_keys
    )
    yield f"It watches {prefixes}, and has fired {_times(watch.fire_seq)}."
    if status.state is WatchState.IDLE:
        yield (
            "It is idle: under `globalbox` it fires when a value changes there, up to "
            f"height {watch.expires_at:,}."
        )
        return
    keys = _keys_text(status.matched_keys)
    where = "noted" if status.state is WatchState.NOTED else "queued"
    yield (
        f"It is {where}: height {status.hit_height:,} changed {keys}; what changes "
        "until it fires adds nothing."
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def turns_text(turns: QueueTurns) -> str:
    """What a block did with the Globalbox."""
    hits, targets = counted(turns.hits, "hit"), counted(turns.passed_over, "target")
    return (
        f"In the Globalbox: {hits}, {turns.enqueued:,} queued, "
        f"{targets} passed over, {turns.materialized:,} "
        f"materialized, {turns.put_back:,} kept their places, {turns.returned:,} taken "
        "out for other rules."
    )
