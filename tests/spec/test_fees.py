"""Basefees, tips and supply: D7, D10."""

import pytest

from node.chain.fees import effective_tip, next_basefee
from node.chain.globals import load_globals
from node.chain.params import BasefeeConfig
from node.chain.transaction import Transfer, UpdateBasefeeConfig
from node.testing import Devnet, TransactionFailed

THERE = b"\x77" * 20
DEVNET = BasefeeConfig()
MESA = BasefeeConfig(20_000_000, 4_000_000, 96, 96, 10_000)
TARGET = 10_000_000


@pytest.fixture
def chain():
    with Devnet() as chain:
        yield chain


@pytest.mark.parametrize(
    ("basefee", "used", "after"),
    [
        (1_000, TARGET, 1_000),
        (1_000, 0, 875),  # - 1000 / 8
        (1_000, 2 * TARGET, 1_125),
        (1_000, TARGET // 2, 938),  # 1000 · 1/2 / 8 = 62.5, floored
        (1_000, TARGET * 3 // 2, 1_062),
        (1_000, TARGET + 1, 1_001),  # at least 1 when used > target
        (1_000, TARGET - 1, 1_000),  # no such least downwards
        (1_000, 100 * TARGET, 1_125),  # at most basefee // denom
        (1, 2 * TARGET, 2),
        (1, 0, 1),
        (7, 0, 7),
        (8, 0, 7),
        (2**100, 0, 2**100 - 2**97),
    ],
)
def test_the_basefee_follows_the_use_of_the_block(basefee, used, after):
    """`delta = basefee * abs(used - target) // target // alpha`, at most a denom-th."""
    assert next_basefee(basefee, used, TARGET, DEVNET) == after


@pytest.mark.parametrize(
    ("basefee", "used", "after"),
    [
        (100_000, 20_000_000, 100_000),
        (100_000, 0, 98_959),  # 100000 // 96 = 1041
        (100_000, 30_000_000, 100_520),
        (10_050, 0, 10_000),  # floor min_basefee
        (10_000, 0, 10_000),
        (5, 0, 10_000),
    ],
)
def test_the_figures_of_mesa(basefee, used, after):
    assert next_basefee(basefee, used, MESA.target_cycles, MESA) == after


def test_alpha_scales_and_denom_bounds():
    config = BasefeeConfig(100, 100, 2, 10, 1)
    assert next_basefee(1_000, 110, 100, config) == 1_050  # 1000 · 10% / 2
    assert next_basefee(1_000, 200, 100, config) == 1_100  # at most 1000 / 10
    assert next_basefee(1_000, 0, 100, config) == 900


@pytest.mark.parametrize(
    ("config", "rest"),
    [
        (DEVNET, 7),
        (MESA, 10_000),
        (BasefeeConfig(100, 100, 3, 50, 1), 49),
        (BasefeeConfig(100, 100, 50, 3, 1), 49),
        (BasefeeConfig(100, 100, 8, 8, 9), 9),
        (BasefeeConfig(100, 100, 1, 1, 1), 1),
    ],
)
def test_the_resting_value_from_above(config, rest):
    """`max(min_basefee, max(alpha, denom) - 1)`: 7 on devnet."""
    assert rest == max(config.min_basefee, max(config.alpha, config.denom) - 1)
    basefee = 10**6
    for _ in range(2_000):
        basefee = next_basefee(basefee, 0, config.target_cycles, config)
    assert basefee == rest


def test_an_idle_devnet_comes_to_rest_at_7(chain):
    chain.mine(60)
    after = load_globals(chain.state.snapshot)
    assert (after.basefee_cycle, after.basefee_cell) == (7, 7)


def test_cycles_and_cells_have_basefees_of_their_own(chain):
    """Each EIP-1559 on the use in this block, effective from the next."""
    config = chain.params.basefee_config
    chain.execute(Transfer(THERE, 1), cycles_limit=5_000, cells_limit=1_000)
    header = chain.last.header
    assert (header.basefee_cycle, header.basefee_cell) == (1_000, 1_000)
    assert (header.cycles_used, header.cells_used) == (
        chain.last.receipts[0].cycles_used,
        chain.last.receipts[0].cells_used,
    )
    after = load_globals(chain.state.snapshot)
    assert after.basefee_cycle == next_basefee(
        1_000, header.cycles_used, config.target_cycles, config
    )
    assert after.basefee_cell == next_basefee(
        1_000, header.cells_used, config.target_cells, config
    )
    following = chain.mine().header
    assert following.basefee_cycle == after.basefee_cycle
    assert following.basefee_cell == after.basefee_cell


def test_the_header_shows_the_one_in_force_the_state_the_next(chain):
    """State holds the next block's basefee; the header shows the one in force."""
    assert load_globals(chain.state.snapshot).basefee_cycle == 1_000
    assert chain.mine().header.basefee_cycle == 1_000
    assert load_globals(chain.state.snapshot).basefee_cycle == 875


@pytest.mark.parametrize(
    ("priority", "max_fee", "basefee", "tip"),
    [(5, 100, 50, 5), (60, 100, 50, 50), (0, 100, 50, 0), (5, 50, 50, 0)],
)
def test_the_tip_is_bounded_by_what_the_basefee_leaves(priority, max_fee, basefee, tip):
    """Tip = min(priority, max_fee - basefee)."""
    assert effective_tip(priority, max_fee, basefee) == tip


def test_the_basefee_is_burned_the_tip_is_not(chain):
    receipt = chain.execute(
        Transfer(THERE, 1),
        max_priority_fee_per_cycle=3,
        max_priority_fee_per_cell=5,
    )
    after = load_globals(chain.state.snapshot)
    assert after.burned_cycle == 1_000 * receipt.cycles_used == receipt.burned_cycle
    assert after.burned_cell == 1_000 * receipt.cells_used == receipt.burned_cell
    assert after.burned_lane == 0
    assert receipt.tip == 3 * receipt.cycles_used + 5 * receipt.cells_used
    assert chain.balance(chain.params.proposer) == receipt.tip
    assert chain.supply().is_balanced


def test_alpha_and_denom_are_at_most_1000(chain):
    """alpha, denom ≤ 1,000."""
    chain.execute(UpdateBasefeeConfig(BasefeeConfig(1, 1, 1_000, 1_000, 1)))
    for config in (
        BasefeeConfig(1, 1, 1_001, 8, 1),
        BasefeeConfig(1, 1, 8, 1_001, 1),
        BasefeeConfig(0, 1, 8, 8, 1),
        BasefeeConfig(1, 1, 8, 8, 0),
    ):
        with pytest.raises(TransactionFailed) as error:
            chain.execute(UpdateBasefeeConfig(config))
        assert error.value.failure.kind == "InvalidInput"


SENDER = """
import pvm_host

class Actor:
    def send(self):
        pvm_host.send_message(pvm_host.self_address(), "hear", b"", 50_000, 100)

    def hear(self):
        pass
"""


def test_minted_is_balances_and_burned_and_held(chain):
    """Minted = balances + burned + held, at every block."""
    genesis = chain.supply()
    assert genesis.minted == genesis.balances == 10 * 10**15
    actor = chain.deploy(SENDER)
    assert chain.supply().is_balanced
    receipt = actor.call("send", cycles_limit=300_000, cells_limit=20_000)
    supply = chain.supply()
    assert supply.held == receipt.price.cost(50_000, 100) > 0
    assert supply.is_balanced
    chain.mine()
    supply = chain.supply()
    assert supply.held == 0
    assert supply.is_balanced


def test_each_block_is_checked_on_its_write_set(chain, monkeypatch):
    """Checked on each block's write set: a leak stops the chain."""
    from node.chain import execution  # noqa: PLC0415 - to break it

    settle = execution.settle

    def leaking(block, payer, price, meter):
        settle(block, payer, price, meter)
        block.burned_cycle += 1

    monkeypatch.setattr(execution, "settle", leaking)
    with pytest.raises(AssertionError, match="supply"):
        chain.transfer(THERE, 1)
