"""CIP-5 §7, §8 and Appendix B: determinism, abuse, and the recurring pattern."""

import pytest

from node.chain.block import ReceiptKind
from node.chain.transaction import UpdateTimerConfig
from node.chain.transition import Caches, apply_block, build_block, open_state
from node.primitives import codec
from node.primitives.crypto import keccak256
from pvm import Worker
from tests.spec.driven_actors import (
    SCHEDULER,
    STEADY,
    decisions,
    fired_payloads,
    fires,
    refusal,
    said,
    schedule,
    schedule_all,
)

# --- §7 ----------------------------------------------------------------------------


def play(chain):
    """A world with every kind of exit; its state roots."""
    actor = chain.deploy(SCHEDULER, value="3 CBY")
    poor = chain.deploy(SCHEDULER)
    ids = schedule_all(actor, *[(9, bytes([i]), {}) for i in range(4)])
    schedule_all(poor, (9, b"", {"expires_at": 8}), (9, b"", {}))
    actor.call("cancel", ids[1])
    chain.mine_until(12)
    return [result.header.state_root for result in chain.results]


def test_7_the_same_chain_gives_the_same_roots(devnet):
    # §7: "The timer mechanism is fully deterministic"; "Local randomness, VRF, and
    # wall-clock time are prohibited".
    first, second = devnet(), devnet()
    assert play(first) == play(second)
    assert first.head == second.head


def test_7_ids_come_from_on_chain_data_only(devnet):
    """§7: "Timer IDs are derived from on-chain data only": whenever they are made."""
    ids = []
    for blocks in (1, 3):
        chain = devnet()
        chain.mine(blocks)
        ids.append(schedule(chain.deploy(SCHEDULER), 99, b"x"))
    assert ids[0] == ids[1]


def test_7_what_is_due_depends_on_the_state_alone(chain, actor):
    # §7: "get_timers_by_height(h) depends only on the state": nothing held in memory
    # between blocks matters.
    schedule_all(actor, *[(9, bytes([i]), {}) for i in range(8)])
    chain.mine_until(9)
    fresh = open_state(chain.params, chain.head, chain.state.snapshot, Caches())
    worker = Worker()
    try:
        again = worker.run(lambda: build_block(fresh, []))
    finally:
        worker.close()
    chain.mine()
    assert fires(chain.last)
    assert again.header == chain.last.header
    assert again.trace == chain.last.trace


def test_7_order_follows_the_execution_of_transactions(chain, actor):
    # §7: "Insertion order within a height bucket is determined by transaction
    # execution order".
    twin = chain.deploy(SCHEDULER, value="5 CBY")
    small = {"gas_limit": 50_000}
    second = schedule(twin, 19, b"2", **small)
    first = schedule(actor, 18, b"1", **small)
    third = schedule(actor, 19, b"3", **small)
    fourth = schedule(twin, 19, b"4", **small)
    chain.mine_until(18)
    assert [f.id for f in fires(chain.last)] == [first]
    chain.mine()
    assert [f.id for f in fires(chain.last)] == [second, third, fourth]


def test_7_prices_are_those_of_the_block_boundary(devnet):
    # §7: "integer arithmetic over the basefee read from BasefeeConfig at the block
    # boundary"; what the block itself uses does not move them.
    chain = devnet(basefee_config={"target_cycles": 1_000, "target_cells": 1_000})
    actor = chain.deploy(SCHEDULER, value="100 CBY")
    schedule_all(actor, *[(9, bytes([i]), {"gas_limit": 50_000}) for i in range(9)])
    chain.mine_until(9)
    prices = {(f.price.cycle, f.price.cell) for f in fires(chain.last)}
    assert prices == {(chain.head.basefee_cycle, chain.head.basefee_cell)}
    assert len(fires(chain.last)) == 9


def test_7_the_config_is_read_once_per_block(chain, actor):
    # §7: "TimerConfig is read once per block from consensus state; mid-block changes
    # do not apply".
    config = chain.params.timer_config
    raised = {"max_cycles_per_fire": 600_000, "max_ttl_blocks": 5}
    changed = type(config)(
        **{f: raised.get(f, getattr(config, f)) for f in config.__struct_fields__}
    )
    height = chain.height + 2
    schedule(actor, height, b"fires")
    chain.submit(UpdateTimerConfig(changed))
    chain.mine()
    (fire,) = fires(chain.last)
    assert fire.cycles_limit == 550_000
    timer_id = schedule(actor, height + 50)
    assert chain.timer(timer_id).gas_limit == 600_000
    assert chain.timer(timer_id).expires_at == chain.height + 5


def test_7_delivery_replays_identically(chain, actor):
    # §7: "On reorg, timer state (including pre-charge debits) rolls back with the …
    # state root, and delivery replays identically against the new parent state".
    schedule(actor, 9, b"again")
    chain.mine_until(8)
    parent = chain.state
    chain.mine()
    worker = Worker()
    try:
        replayed = worker.run(lambda: apply_block(parent, chain.last.block))
        alternative = worker.run(lambda: build_block(parent, []))
    finally:
        worker.close()
    assert replayed.receipts == alternative.receipts == chain.last.receipts
    assert replayed.header == chain.last.header


# --- §8 ----------------------------------------------------------------------------


def test_8_no_fire_is_free(devnet):
    # §8 "Unbounded free execution": "every fire is metered against fee_payer and
    # self-destructs when funds run out", the deployer's poverty notwithstanding.
    chain = devnet(**STEADY)
    actor = chain.deploy(HEARTBEAT, value="1.105 CBY")
    chain.mine(60)
    fees = [receipt.fee for receipt in chain.receipts(ReceiptKind.FIRE)]
    assert 1 < len(fees) < 5
    assert min(fees) >= 1_000 * 1_000
    assert chain.timers() == []
    assert actor.balance < 1_100_000_000


def test_8_a_storm_is_bounded_per_actor_and_per_block(devnet):
    """§8 "Timer storms": "max_timers_per_actor" and "LANE_TIMER_CYCLES"."""
    chain = devnet(timer_config={"max_timers_per_actor": 60})
    actor = chain.deploy(SCHEDULER, value="1000 CBY")
    entries = [(9, bytes([i]), {"gas_limit": 50_000}) for i in range(60)]
    schedule_all(actor, *entries)
    assert refusal(actor, 9) == "TimerLimit"
    chain.mine_until(9)
    assert len(fires(chain.last)) == 40  # 2,000,000 / 50,000
    assert chain.last.use.timer_cycles <= 2_000_000
    chain.mine()
    assert len(fires(chain.last)) == 20


def test_8_a_poor_payer_makes_one_event_a_timer(chain):
    # §8 "Gas suicide": "a zero-balance fee_payer produces at most one self-destruct
    # event per scheduled timer before removal".
    actor = chain.deploy(SCHEDULER)
    ids = schedule_all(actor, *[(9, bytes([i]), {}) for i in range(5)])
    chain.mine_until(20)
    events = chain.events("TimerCancelledInsufficientFunds")
    assert [said(e)["timer_id"] for e in events] == ids


def test_8_nobody_is_drained_without_consent(chain):
    # §8 "Fee-payer griefing": "any other third-party address is rejected at schedule
    # time", the deployer included when somebody else signs.
    victim, attacker = chain.accounts[2], chain.accounts[3]
    actor = chain.deploy(SCHEDULER, sender=victim)
    arguments = codec.encode([9, b"", {"fee_payer": victim.address}])
    receipt = actor.call("schedule", arguments, sender=attacker, expect_failure=True)
    assert receipt.failure.kind == "HostError.InvalidInput"
    before = chain.balance(victim)
    chain.mine_until(12)  # a timer that had been accepted would have fired
    assert chain.balance(victim) == before
    assert chain.receipts()[-1].kind is ReceiptKind.TRANSACTION


FRESH = """
import pvm_host

seen = []

class Fresh:
    def __init__(self):
        self.count = 0

    def schedule(self):
        self.count = self.count + 1
        seen.append(1)
        pvm_host.schedule_timer_ex(9, b"", None, 50_000)
        pvm_host.schedule_timer_ex(9, b"", None, 50_000)

    def handle_timer(self, payload):
        self.count = self.count + 1
        seen.append(1)
        self.storage[str(len(self.storage.keys()))] = [self.count, len(seen)]
"""


def test_8_a_fire_runs_in_a_fresh_context(chain):
    """§8 "Reentrancy": "Timer handlers execute in a fresh transaction context"."""
    actor = chain.deploy(FRESH, value="5 CBY")
    actor.call("schedule")
    chain.mine_until(9)
    assert actor.storage == {"0": [1, 1], "1": [1, 1]}


def test_8_a_replayed_transaction_registers_nothing(chain, actor):
    # §8 "Deduplication": "preventing duplicate registration from replayed
    # transactions": the nonce is used.
    schedule(actor, 99)
    raw = chain.last.block.transactions[0].raw
    chain.submit_raw(raw)
    chain.mine()
    ((_, error),) = chain.last.rejected
    assert error.fault.value == "NONCE_USED"
    assert len(actor.timers) == 1


# --- Appendix B --------------------------------------------------------------------

HEARTBEAT = """
class HeartbeatActor:
    INTERVAL = 10  # fire every 10 blocks

    def deploy(self):
        pvm_host.schedule_timer(
            pvm_host.block_height() + self.INTERVAL,
            b""
        )

    def handle_timer(self, payload):
        self.check_positions()
        self.rebalance()
        pvm_host.schedule_timer(
            pvm_host.block_height() + self.INTERVAL,
            b""
        )

    def check_positions(self):
        self.storage["beats"] = self.storage.get("beats", 0) + 1

    def rebalance(self):
        pass
"""


def test_b_the_heartbeat_ends_when_its_money_does(devnet):
    # Appendix B: "when fee_payer runs dry, the loop terminates automatically on the
    # next fire (§5.4 path 2)"; "this schedule succeeds but that fire will
    # self-destruct".
    reference = devnet(**STEADY)
    reference.deploy(HEARTBEAT, value="9 CBY")
    reference.mine(40)
    first, second, third = (fires(reference.result_at(h))[0].fee for h in (11, 21, 31))
    chain = devnet(**STEADY)
    actor = chain.deploy(HEARTBEAT)
    chain.fund(actor, 1_100_000_000 + first + second)
    chain.mine(70)
    beats = [r.header.height for r in chain.results if fires(r)]
    assert beats == [11, 21, 31]
    assert actor.storage["beats"] == 3
    (event,) = chain.events("TimerCancelledInsufficientFunds")
    assert said(event)["required"] == 1_100_000_000
    assert said(event)["available"] == 1_100_000_000 - third == actor.balance
    assert decisions(chain, said(event)["timer_id"])[0] == "scheduled"
    assert chain.result_at(41).events == (event,)
    assert chain.timers() == []


DEPLOYER_FUNDED = """
class Oracle:
    INTERVAL = 10

    def deploy(self):
        self._schedule()

    def again(self):
        self._schedule()

    def _schedule(self):
        pvm_host.schedule_timer_ex(
            pvm_host.block_height() + self.INTERVAL,
            b"",
            fee_payer=self.deployer,       # == tx_sender during deploy → accepted
            gas_limit=200_000,              # tighter budget than the default 550k
            expires_at=pvm_host.block_height() + 2_592_000,
        )

    def handle_timer(self, payload):
        self._schedule()
"""


def test_b_the_deployer_pays_the_fires_it_scheduled(chain):
    # Appendix B: "Because deploy runs as part of the deployer-initiated tx, tx_sender
    # == deployer — the fee_payer check in §4.2 accepts this value"; later fires have no
    # signer, so the re-schedule is refused (D13).
    deployer, other = chain.accounts[6], chain.accounts[7]
    actor = chain.deploy(DEPLOYER_FUNDED, sender=deployer)
    (timer,) = actor.timers
    assert timer.fee_payer == deployer.address
    assert (timer.gas_limit, timer.expires_at) == (200_000, 2_592_001)
    before = chain.balance(deployer)
    chain.mine_until(timer.height)
    (fire,) = fires(chain.last)
    assert chain.balance(deployer) == before - fire.fee
    assert fire.failure.message.startswith("fee_payer: ")
    assert chain.timers() == []
    receipt = actor.call("again", sender=other, expect_failure=True)
    assert receipt.failure.message.startswith("fee_payer: ")
    actor.call("again", sender=deployer)
    assert actor.timers[0].fee_payer == deployer.address


@pytest.mark.parametrize("payload", [b"", b"x" * 40])
def test_ids_of_the_first_timer_of_an_actor(actor, payload):
    """§3.3, §7: everything in an id is known beforehand."""
    expected = keccak256(actor.address + (99).to_bytes(8, "big") + payload + bytes(8))
    assert schedule(actor, 99, payload) == expected
    assert fired_payloads(actor) == []
