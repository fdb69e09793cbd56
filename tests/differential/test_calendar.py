"""The chain's calendar and rules `fifo` | one sorted list and a page of plain Python.

The model knows CIP-5 §5.1 and D26 and nothing of trees, indexes, views or floors. The
world is random: the sizes of the calendar, who schedules, extends and cancels what, who
is poor, how much is examined and fits, and when memory is forgotten, as a restart does.
After each block everything that a user can see of timers is compared: what was decided
and why, what waits, in which tier and bucket, by actor and by id, when the next is due,
and the proof that nothing else is due in some range.
"""

from dataclasses import dataclass, field
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from node import query
from node.chain.params import CalendarSizes, TimerConfig
from node.chain.timers.tiers import TieredCalendar
from node.chain.transaction import ExecuteActor, SetBalance, UpdateTimerConfig
from node.chain.transition import Caches, next_timer_height, open_state
from node.primitives import codec
from node.primitives.merkle import position_of
from node.primitives.proof import verify
from node.state import keys
from node.state.commitment import recompute
from node.testing import Devnet

PRICE = 1_000
LANE = 100_000
CELLS_MAX = 10_000
ACTOR = """
import pvm_host

def act(payload):
    ids = []
    for kind, a, b, c in pvm_host.cbor_decode(payload):
        if kind == "schedule":
            height = pvm_host.block_height() + a
            ids.append(pvm_host.schedule_timer(height, b"", None, b, height + c))
        elif kind == "cancel":
            timers = pvm_host.list_timers()
            if timers:
                pvm_host.cancel_timer(timers[a % len(timers)])
        else:
            timers = pvm_host.list_timers()
            if timers:
                expires_at = pvm_host.block_height() + 2 + c
                pvm_host.extend_timer(timers[a % len(timers)], expires_at)
    return ids

def handle_timer(payload):
    pass
"""


@dataclass
class Model:
    """All live timers in one list: (height, sequence, id, owner, limit, expiry)."""

    timers: list[tuple] = field(default_factory=list)
    sequence: int = 0

    def act(self, owner, steps, ids, height):
        """What a transaction of the owner's did."""
        ids = list(ids)
        for kind, a, b, c in steps:
            own = sorted(t for t in self.timers if t[3] == owner)
            if kind == "schedule":
                due = height + a
                timer = (due, self.sequence, ids.pop(0), owner, b, due + c)
                self.timers.append(timer)
                self.sequence += 1
            elif own and kind == "cancel":
                self.timers.remove(own[a % len(own)])
            elif own:
                timer = own[a % len(own)]
                at = self.timers.index(timer)
                self.timers[at] = (*timer[:5], height + 2 + c)

    def lane(self, height, balances, config, fee):
        """The decisions of one block, in order, and the balances after it."""
        decided, queue, reserved = [], [], 0
        due = sorted(t for t in self.timers if t[0] <= height)
        for timer in due[: config.max_due_examined]:
            _, _, timer_id, owner, limit, expires_at = timer
            cost = (limit + CELLS_MAX) * PRICE
            if height > expires_at:
                decided.append((timer_id, "expired", ""))
            elif balances[owner] < cost:
                decided.append((timer_id, "removed_insufficient_funds", ""))
            elif reserved + limit > config.lane_timer_cycles:
                decided.append((timer_id, "put_off", "lane"))
                continue
            else:
                reserved += limit
                balances[owner] -= cost
                queue.append((timer_id, owner, cost))
            self.timers.remove(timer)
        for timer_id, owner, cost in queue:
            decided.append((timer_id, "fired", ""))
            balances[owner] += cost - fee
        return decided

    def tiers(self, height, sizes):
        """Each timer's place, tier and bucket, as D24 says them."""
        length = sizes["epoch_length"]
        for due, sequence, *_ in sorted(self.timers):
            if due - height < sizes["ring_size"]:
                yield due, sequence, "ring", max(due, height) % sizes["ring_size"]
            elif due // length - height // length <= sizes["epochs"]:
                yield due, sequence, "epoch", due // length
            else:
                yield due, sequence, "overflow", None


STEP = st.tuples(
    st.sampled_from(["schedule"] * 5 + ["cancel", "extend"]),
    st.integers(1, 3) | st.integers(4, 40),
    st.sampled_from([5_000, 20_000, 40_000, 60_000, 100_000]),
    st.integers(-1, 4),
)
SIZES = st.fixed_dictionaries(
    {
        "ring_size": st.sampled_from([1, 2, 3, 7, 256]),
        "epoch_length": st.sampled_from([1, 2, 5, 10, 360]),
        "epochs": st.sampled_from([1, 2, 3, 24]),
    }
)
"""Rings smaller and larger than an epoch, single slots, and the ordinary ones."""
BALANCES = [0, 30_000_000, 45_000_000, 110_000_000, 400_000_000]
"""Also exactly what one fire of 20,000 or of 100,000 cycles reserves."""
WORLDS = settings(
    max_examples=settings.default.max_examples
    if settings.default.max_examples > 50
    else 15
)
"""All of them in the profiles `ci` and `nightly`; a world takes some 30 ms."""
BLOCK = st.fixed_dictionaries(
    {
        "steps": st.lists(STEP, max_size=8),
        "owner": st.integers(0, 1),
        "balance": st.sampled_from([None] * 6 + BALANCES),
        "config": st.none() | st.tuples(st.integers(1, 5), st.integers(1, 3)),
        "forgets": st.booleans(),
    }
)
CONFIG = replace(
    TimerConfig(),
    lane_timer_cycles=LANE,
    max_cycles_per_fire=LANE,
    max_cycles_per_fire_auction=LANE,
    max_cells_per_fire=CELLS_MAX,
)


@cache
def fee_of_a_fire():
    """What the empty handler costs, from a chain of its own."""
    with Devnet(basefee_config={"min_basefee": PRICE}) as chain:
        actor = chain.deploy(ACTOR, value="5 CBY")
        actor.call("act", codec.encode([["schedule", 1, 20_000, 9]]))
        chain.mine()
        return chain.last.receipts[0].fee


@WORLDS
@given(st.lists(BLOCK, min_size=1, max_size=8), SIZES)
def test_the_chain_shows_what_the_sorted_list_shows(blocks, sizes):
    model, config, fee = Model(), CONFIG, fee_of_a_fire()
    basefees = {"min_basefee": PRICE}
    with Devnet(basefee_config=basefees, calendar=sizes) as chain:
        actors = [chain.deploy(ACTOR, value="1 CBY") for _ in range(2)]
        chain.execute(UpdateTimerConfig(CONFIG))
        for block in [*blocks, *[{}] * 12]:
            if block.get("forgets"):
                chain.state = open_state(
                    chain.params, chain.head, chain.state.snapshot, Caches()
                )
            changed = submit(chain, actors, block)
            balances = [actor.balance for actor in actors]
            chain.mine()
            assert chain.last.rejected == ()
            if block.get("balance") is not None:
                balances[block["owner"]] = block["balance"]
            if block.get("steps"):
                receipt = chain.last.receipts[-1 - len(fires_of(chain))]
                ids = codec.decode(receipt.value)
                model.act(block["owner"], block["steps"], ids, chain.height)
            assert lane_of(chain) == model.lane(chain.height, balances, config, fee)
            assert [actor.balance for actor in actors] == balances
            compare(chain, model, actors, sizes)
            config = changed
        assert recompute(chain.state.snapshot) == chain.head.state_root


def compare(chain, model, actors, sizes):
    """All that is to be seen of the timers that wait."""
    live, height = sorted(model.timers), chain.height
    seen = chain.timers()
    assert [t[:3] for t in live] == [(t.height, t.sequence, t.timer_id) for t in seen]
    assert [t[4:] for t in live] == [(t.gas_limit, t.expires_at) for t in seen]
    shown = query.live_timers_page(chain.state, query.TimerCriteria(), b"", 1_000).items
    assert [
        (view.timer.height, view.timer.sequence, view.tier.value, view.bucket)
        for view in shown
    ] == list(model.tiers(height, sizes))
    tiered = TieredCalendar(chain.state.snapshot, height, CalendarSizes(**sizes))
    now = tiered.ring_bucket(height % sizes["ring_size"])
    assert [t.timer_id for t in now] == [t[2] for t in live if t[0] <= height]
    for owner, actor in enumerate(actors):
        own = [t[2] for t in live if t[3] == owner]
        assert [t.timer_id for t in chain.timers(actor=actor)] == own
    for _, sequence, timer_id, *_ in live:
        assert chain.timer(timer_id).sequence == sequence
    due = max(live[0][0], height + 1) if live else None
    assert next_timer_height(chain.state) == due
    compare_proof(chain, live, height + 2, height + 6)


def compare_proof(chain, live, first, last):
    """D24: who holds the state root knows what is due in a range, and no more is."""
    proof = query.prove_due(chain.state, first, last)
    low, high = (keys.height8(bound) for bound in (first, last + 1))
    found = verify(proof.parts[2], proof.proof, low, high, 16)
    expected = [t[:2] for t in live if first <= t[0] <= last]
    places = [divmod(position_of(key, 16), 1 << 64) for key, _ in found]
    assert places == expected


def submit(chain, actors, block):
    """Queue what a block holds; the configuration of the next block."""
    owner = actors[block.get("owner", 0)]
    if block.get("balance") is not None:
        chain.submit(SetBalance(owner.address, block["balance"]))
    if block.get("config"):
        examined, lanes = block["config"]
        config = replace(
            CONFIG, max_due_examined=examined, lane_timer_cycles=LANE * lanes
        )
        chain.submit(UpdateTimerConfig(config))
    if block.get("steps"):
        payload = codec.encode([list(step) for step in block["steps"]])
        call = ExecuteActor(owner.address, "act", payload, 0)
        chain.submit(call, cycles_limit=500_000, cells_limit=50_000)
    return (
        query.governed(chain.state).timer_config if not block.get("config") else config
    )


def fires_of(chain):
    return [r for r in chain.last.receipts if r.origin == bytes(32)]


def lane_of(chain):
    """The latest block's decisions of the lane, in order."""
    words = ("scheduled", "cancelled", "extended")
    return [
        (d.timer_id, d.decision.value, d.reason)
        for d in chain.last.trace
        if d.decision.value not in words
    ]
