"""Ranges of heights in few numbers are what a count of all timers and blocks gives.

The judge shares nothing with what is judged: it walks the live timers, the headers, the
receipts and the traces, whatever was rewound and whatever is not kept any more.
"""

from collections import Counter

import pytest

from node import history
from node.archive.verification import verify
from node.chain.block import ReceiptKind
from node.chain.block_totals import FeeRange
from node.chain.globals import load_globals
from node.chain.timers import calendar
from node.query import (
    BUCKETS_MAX,
    DueBucket,
    block_at,
    count_due,
    lane_use,
    past_of,
)
from node.state.memory import MemoryStore
from pvm import Worker
from tests.worlds import KeptWorld, Mixed, fixed_pick

MESSAGES = (ReceiptKind.ENGINE_MESSAGE, ReceiptKind.MAILBOX_MESSAGE)
LANES = {
    "transaction_cycles": (ReceiptKind.TRANSACTION,),
    "timer_cycles": (ReceiptKind.FIRE,),
    "message_cycles": MESSAGES,
    "agent_cycles": (ReceiptKind.AGENT,),
}
DECIDED = {
    "scheduled": "scheduled",
    "put_offs": "put_off",
    "expired": "expired",
    "removed": "removed_insufficient_funds",
    "cancelled": "cancelled",
}


class KeptMixed(Mixed, KeptWorld):
    """A world under rules that change, committed as the node commits it."""


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


def heights_of(header):
    return range(header.height - header.span + 1, header.height + 1)


def fees_of(state, headers, name):
    """Of every single height that the headers stand for."""
    found = [
        getattr(block_at(state, height).block.header, name)
        for header in headers
        for height in heights_of(header)
    ]
    return FeeRange(found[0], min(found), max(found), found[-1])


def recounted(state, headers):
    """What the totals of some headers must say, by the name of the field."""
    snapshot = state.snapshot
    each = [history.load_results(snapshot, header.height) for header in headers]
    traces = [history.load_trace(snapshot, header.height) for header in headers]
    receipts = [one for found, _ in each for one in found]
    decided = Counter(one.decision.value for trace in traces for one in trace)
    kinds = Counter(one.kind for one in receipts)
    contents = zip(each, traces, strict=True)
    told = {
        "headers": len(headers),
        "heights": sum(header.span for header in headers),
        "busy": sum(bool(r or e or trace) for (r, e), trace in contents),
        "transactions": kinds[ReceiptKind.TRANSACTION],
        "fires": decided["fired"],
        "messages": sum(kinds[kind] for kind in MESSAGES),
        "failed": sum(not one.is_success for one in receipts),
        "cells": sum(header.cells_used for header in headers),
        "cells_max": max(header.cells_used for header in headers),
        "burned": sum(r.burned_cycle + r.burned_lane + r.burned_cell for r in receipts),
        "tipped": sum(one.tip for one in receipts),
    }
    told |= {name: decided[word] for name, word in DECIDED.items()}
    cycles = sum(one.cycles_used for one in receipts)
    assert cycles == sum(header.cycles_used for header in headers)
    for name, lane in LANES.items():
        used = [
            sum(r.cycles_used for r in found if r.kind in lane) for found, _ in each
        ]
        told |= {name: sum(used), f"{name}_max": max(used)}
    for name in ("basefee_cycle", "basefee_cell", "basefee_lane"):
        told[name] = fees_of(state, headers, name)
    return told


def require_right(state, first, last, buckets_max):
    """Both answers about a range, against a count of everything."""
    due, use = (
        ask(state, past_of(state), (first, last), buckets_max)
        for ask in (count_due, lane_use)
    )
    timers = calendar.timers_between(state.snapshot, 0, 2**64 - 1)
    live = Counter(one.height for one in timers)
    headers = list(history.headers_after(state.snapshot, -1))
    assert due.pending == live.total()
    assert due.width == use.width
    assert len(use.buckets) <= buckets_max
    assert due.buckets[0].first_height <= first
    assert due.buckets[-1].last_height >= last
    following = due.buckets[0].first_height
    for one, other in zip(due.buckets, use.buckets, strict=True):
        within = range(following, following + due.width)
        following += due.width
        assert within[0] % due.width == 0
        for bucket in (one, other):
            assert (bucket.first_height, bucket.last_height) == (within[0], within[-1])
        pending = sum(count for height, count in live.items() if height in within)
        own = [header for header in headers if header.height in within]
        if not own:
            assert (other.totals, one) == (
                None,
                DueBucket(within[0], within[-1], pending),
            )
            continue
        wanted = recounted(state, own)
        assert {name: getattr(other.totals, name) for name in wanted} == wanted
        assert set(other.totals.__struct_fields__) == set(wanted)
        told = {name: getattr(one, name) for name in one.__struct_fields__[3:]}
        assert told == {name: wanted[name] for name in told}
        assert one.pending == pending


def require_all_right(world, pick):
    head = world.state.head.height
    require_right(world.state, 0, head, BUCKETS_MAX)
    require_right(world.state, 0, head + 20, 1)
    first = pick(head + 1)
    require_right(world.state, first, first + pick(2 * head), 1 + pick(40))
    (whole,) = lane_use(world.state, past_of(world.state), (0, head), 1).buckets
    assert whole.totals.burned == load_globals(world.state.snapshot).burned
    assert whole.totals.heights == head + 1
    verify(world.state)


@pytest.mark.parametrize("kind", [KeptWorld, KeptMixed])
@pytest.mark.parametrize("seed", range(2))
def test_counts_are_those_of_all_blocks_and_timers(kind, seed, worker):
    """Through runs of empty heights, and through rewinds."""
    pick = fixed_pick(100 + seed)
    world = kind(MemoryStore(), pick, worker)
    for _ in range(40):
        match pick(8):
            case 0:
                world.run_empty(1 + pick(90))
            case 1 if len(world.blocks) > 9:
                place = world.blocks[-2 - pick(6)].header
                world.rewind(place)
                while world.blocks[-1].header.height > place.height:
                    world.blocks.pop()
            case _:
                world.step()
    require_all_right(world, pick)
