"""Rules, configurations and system instructions: D1, D3, D25."""

import pytest
from msgspec.structs import replace

from node.chain.globals import (
    encode_config,
    load_basefee_config,
    load_globals,
    load_governed,
    load_timer_config,
)
from node.chain.params import BasefeeConfig, TimerConfig
from node.chain.transaction import (
    CancelTimer,
    ExtendTimer,
    ScheduleActivation,
    Transfer,
    UpdateBasefeeConfig,
    UpdateTimerConfig,
)
from node.primitives import codec
from node.testing import TransactionFailed
from tests.spec.driven_actors import SCHEDULER

THERE = b"\x77" * 20
CONFIG = TimerConfig()


@pytest.fixture
def timer(chain):
    """The id of a timer due at height 100."""
    actor = chain.deploy(SCHEDULER, value=10**10)
    actor.call("schedule", codec.encode([100, b"", {}]))
    return actor.timers[0].timer_id


def failure(chain, instruction, **options):
    with pytest.raises(TransactionFailed) as error:
        chain.execute(instruction, **options)
    return error.value.failure.kind


def topics(chain):
    return [event.topic for event in chain.last.events]


INSTRUCTIONS = [
    CancelTimer(b"i"),
    ExtendTimer(b"i", 9),
    UpdateTimerConfig(CONFIG),
    UpdateBasefeeConfig(BasefeeConfig()),
    ScheduleActivation(9, "fifo"),
]


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_only_system_deployers_may(chain, instruction):
    """D25: sender in `system_deployers`."""
    assert chain.params.system_deployers == (chain.accounts[0].address,)
    root = chain.mine().header.state_root
    assert failure(chain, instruction, sender=chain.accounts[1]) == "Unauthorized"
    assert topics(chain) == []
    assert root != chain.head.state_root  # fee and nonce


# --- D25: timers ---------------------------------------------------------------------


def test_cancel_timer_is_idempotent(chain, timer):
    """48 CancelTimer (idempotent); a cancel that finds nothing emits nothing (D17)."""
    chain.execute(CancelTimer(timer))
    assert chain.timer(timer) is None
    assert topics(chain) == ["timer.cancelled_by_governance"]
    ((height, decision),) = chain.decisions(timer)[1:]
    assert (height, decision.decision, decision.reason) == (
        chain.height, "cancelled", "governance",
    )  # fmt: skip
    assert chain.execute(CancelTimer(timer)).is_success
    assert topics(chain) == []


def test_extend_timer_emits_its_event(chain, timer):
    """Both extend paths alike; only governance's emits an event (D20)."""
    chain.execute(ExtendTimer(timer, 500))
    assert chain.timer(timer).expires_at == 500
    assert topics(chain) == ["timer.extended_by_governance"]
    # … set, even if lower than before, clamped to current + ttl
    chain.execute(ExtendTimer(timer, 200))
    assert chain.timer(timer).expires_at == 200
    chain.execute(ExtendTimer(timer, 2**64 - 1))
    assert chain.timer(timer).expires_at == chain.height + CONFIG.max_ttl_blocks


def test_extend_timer_refuses(chain, timer):
    """Exists → new > current; a failed one is a failed transaction."""
    assert failure(chain, ExtendTimer(b"\1" * 32, 500)) == "TimerNotFound"
    height = chain.height + 1
    assert failure(chain, ExtendTimer(timer, height)) == "InvalidInput"
    chain.execute(ExtendTimer(timer, chain.height + 2))


# --- D25: configurations -------------------------------------------------------------


def test_the_fields_of_timer_config_in_order():
    """CIP-5 §6.4's fields + those of D25, in this order on the wire."""
    assert list(TimerConfig.__struct_fields__) == [
        "max_ttl_blocks",
        "max_cycles_per_fire",
        "max_cells_per_fire",
        "max_timers_per_actor",
        "gc_cycles_per_block",
        "lane_timer_cycles",
        "max_cycles_per_fire_auction",
        "fairness_window_blocks",
        "tier_multipliers_permille",
        "max_due_examined",
        "lane_gba_cycles",
        "fire_base_cycles",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"fairness_window_blocks": 10_000},
        {"fairness_window_blocks": 1},
        {"lane_timer_cycles": 550_000},
        {"lane_timer_cycles": 2**30 - 1},
        {"max_cycles_per_fire": 1_000, "max_cycles_per_fire_auction": 1_000},
        {"gc_cycles_per_block": 200 * 10_000},
        {"max_cells_per_fire": 1_200_000},
        {"fire_base_cycles": 50_000},
    ],
)
def test_an_update_is_accepted_at_each_bound(chain, changes):
    config = replace(CONFIG, **changes)
    chain.execute(UpdateTimerConfig(config))
    assert load_timer_config(chain.state.snapshot, chain.params) == config
    (event,) = chain.last.events
    assert (event.emitter, event.topic) == (None, "timer_config.updated")
    assert codec.decode(event.data) == {"config": encode_config(config)}


@pytest.mark.parametrize(
    "changes",
    [
        *[
            {name: 0}
            for name in TimerConfig.__struct_fields__
            if name != "tier_multipliers_permille"
        ],
        {"tier_multipliers_permille": (800, 0, 1_500, 2_500)},
        {"fairness_window_blocks": 10_001},
        {"lane_timer_cycles": 549_999},
        {"lane_timer_cycles": 2**30},
        {"max_cycles_per_fire": 2_000_001},
        {"max_cycles_per_fire_auction": 2_000_001},
        {"max_cycles_per_fire": 999},
        {"max_cycles_per_fire_auction": 999},
        {"gc_cycles_per_block": 200 * 10_000 - 1},
        {"max_cells_per_fire": 1_200_001},
        {"fire_base_cycles": 50_001},
    ],
)
def test_an_update_is_refused_unless(chain, changes):
    """All > 0, lane ≥ both caps ≥ fire base, gc ≥ 200 * max_due_examined."""
    instruction = UpdateTimerConfig(replace(CONFIG, **changes))
    assert failure(chain, instruction) == "InvalidInput"
    assert load_timer_config(chain.state.snapshot, chain.params) == CONFIG
    assert topics(chain) == []


def test_a_change_is_seen_from_the_next_block(chain):
    """D3: configs are read once at the start of a block."""
    config = BasefeeConfig(target_cycles=1, target_cells=1, alpha=1, denom=1)
    chain.execute(UpdateBasefeeConfig(config))
    assert topics(chain) == ["basefee_config.updated"]
    assert load_globals(chain.state.snapshot).basefee_cycle == 876  # the old target
    chain.execute(Transfer(THERE, 1), cycles_limit=5_000, cells_limit=1_000)
    assert load_globals(chain.state.snapshot).basefee_cycle == 2 * 876


def test_the_last_change_in_a_block_wins(chain):
    """D3: written through at once; there is no pending slot."""
    first, last = BasefeeConfig(alpha=2), BasefeeConfig(alpha=3)
    for config in (first, last):
        chain.submit(UpdateBasefeeConfig(config))
    chain.mine()
    assert load_basefee_config(chain.state.snapshot, chain.params) == last
    assert topics(chain) == ["basefee_config.updated"] * 2
    chain.mine()
    assert chain.last.writes.changes.keys() == {b"g"}  # an empty block changes nothing


# --- D1: activations -----------------------------------------------------------------


def test_fifo_is_in_force_from_genesis(chain):
    """Default genesis: `fifo` at 0."""
    assert load_governed(chain.state.snapshot, chain.params).rules_at(0) == "fifo"
    assert load_governed(chain.state.snapshot, chain.params).rules_at(2**63) == "fifo"


def test_an_activation_is_scheduled_above_the_present_height(chain):
    """`ScheduleActivation{height > current, rules}` adds one; activations are state."""
    root = chain.head.state_root
    chain.execute(ScheduleActivation(2, "fifo"))
    assert chain.head.state_root != root
    assert topics(chain) == ["ActivationScheduled"]
    (event,) = chain.last.events
    assert codec.decode(event.data) == {"height": 2, "rules": "fifo"}
    assert failure(chain, ScheduleActivation(2, "fifo")) == "InvalidInput"
    assert topics(chain) == []


def test_unknown_rules_are_refused(chain):
    """Unknown rules are refused."""
    for rules in ("", "lifo", "FIFO"):
        assert failure(chain, ScheduleActivation(99, rules)) == "InvalidInput"


def test_a_second_for_a_height_replaces_the_first(chain):
    chain.execute(ScheduleActivation(50, "fifo"))
    before = len(list(chain.state.snapshot.range(b"sv", b"sw")))
    chain.execute(ScheduleActivation(50, "fifo"))
    assert len(list(chain.state.snapshot.range(b"sv", b"sw"))) == before
