"""The chain's calendar and rules `fifo` | one sorted list and a page of plain Python.

The model knows CIP-5 §5.1 and D26 and nothing of trees, indexes, views or floors. The
world is random: who schedules what, who is poor, what is cancelled, how many are
examined, and when memory is forgotten.
"""

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from node.chain.params import TimerConfig
from node.chain.transaction import ExecuteActor, SetBalance, UpdateTimerConfig
from node.chain.transition import Caches, open_state
from node.primitives import codec
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
            elif own:
                self.timers.remove(own[a % len(own)])

    def lane(self, height, balances, examined, fee):
        """The decisions of one block, in order, and the balances after it."""
        decided, queue, reserved = [], [], 0
        due = sorted(t for t in self.timers if t[0] <= height)[:examined]
        for timer in due:
            _, _, timer_id, owner, limit, expires_at = timer
            cost = (limit + CELLS_MAX) * PRICE
            if height > expires_at:
                decided.append((timer_id, "expired"))
            elif balances[owner] < cost:
                decided.append((timer_id, "removed_insufficient_funds"))
            elif reserved + limit > LANE:
                decided.append((timer_id, "put_off"))
                continue
            else:
                reserved += limit
                balances[owner] -= cost
                queue.append((timer_id, owner, cost))
            self.timers.remove(timer)
        for timer_id, owner, cost in queue:
            decided.append((timer_id, "fired"))
            balances[owner] += cost - fee
        return decided


STEP = st.tuples(
    st.sampled_from(["schedule"] * 4 + ["cancel"]),
    st.integers(1, 3),
    st.sampled_from([5_000, 20_000, 40_000, 60_000, 100_000]),
    st.integers(-1, 4),
)
BALANCES = [0, 30_000_000, 45_000_000, 110_000_000, 400_000_000]
"""Also exactly what one fire of 20,000 or of 100,000 cycles reserves."""
BLOCK = st.fixed_dictionaries(
    {
        "steps": st.lists(STEP, max_size=8),
        "owner": st.integers(0, 1),
        "balance": st.sampled_from([None] * 6 + BALANCES),
        "examined": st.none() | st.integers(1, 5),
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


def fee_of_a_fire():
    """What the empty handler costs, from a chain of its own."""
    with Devnet(basefee_config={"min_basefee": PRICE}) as chain:
        actor = chain.deploy(ACTOR, value="5 CBY")
        actor.call("act", codec.encode([["schedule", 1, 20_000, 9]]))
        chain.mine()
        return chain.last.receipts[0].fee


@settings(max_examples=max(15, settings.default.max_examples // 2))
@given(st.lists(BLOCK, min_size=1, max_size=10))
def test_the_chain_decides_what_the_sorted_list_decides(blocks):
    fee, model, examined = fee_of_a_fire(), Model(), CONFIG.max_due_examined
    with Devnet(basefee_config={"min_basefee": PRICE}) as chain:
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
            assert lane_of(chain) == model.lane(chain.height, balances, examined, fee)
            assert [actor.balance for actor in actors] == balances
            places = [(t.height, t.sequence, t.timer_id) for t in chain.timers()]
            assert places == [t[:3] for t in sorted(model.timers)]
            examined = changed or examined


def submit(chain, actors, block):
    """Queue what a block holds; the new `max_due_examined` of the next, if any."""
    owner = actors[block.get("owner", 0)]
    if block.get("balance") is not None:
        chain.submit(SetBalance(owner.address, block["balance"]))
    if block.get("examined"):
        config = replace(CONFIG, max_due_examined=block["examined"])
        chain.submit(UpdateTimerConfig(config))
    if block.get("steps"):
        payload = codec.encode([list(step) for step in block["steps"]])
        call = ExecuteActor(owner.address, "act", payload, 0)
        chain.submit(call, cycles_limit=500_000, cells_limit=50_000)
    return block.get("examined")


def fires_of(chain):
    return [r for r in chain.last.receipts if r.origin == bytes(32)]


def lane_of(chain):
    """The latest block's decisions of the lane, in order."""
    words = ("scheduled", "cancelled", "extended")
    return [
        (d.timer_id, d.decision.value)
        for d in chain.last.trace
        if d.decision.value not in words
    ]
