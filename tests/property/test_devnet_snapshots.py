"""Snapshot, act, revert leaves no trace, in any nesting (interface §3).

A chain that tries things and takes them back is compared with one that never tried.
"""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node.chain.transaction import Transfer
from node.primitives.types import Address, Amount
from node.testing import Devnet
from tests.unit.test_devnet_snapshots import BEATING, trace_of

SOMEBODY = Address(b"\x0c" * 20)


def deploy(chain, number):
    actor = chain.deploy(BEATING, value=f"{number} CBY")
    actor.call("start", expect_failure=False)


def fund(chain, number):
    chain.fund(SOMEBODY, number)


def submit(chain, number):
    chain.submit(Transfer(SOMEBODY, Amount(number)), sender=chain.accounts[number % 10])


def mine(chain, number):
    chain.mine(number)


def advance(chain, number):
    chain.advance(blocks=number * 50)


ACTIONS = st.tuples(
    st.sampled_from([deploy, fund, submit, mine, advance]), st.integers(1, 9)
)
PLANS = st.recursive(
    st.lists(ACTIONS, max_size=4),
    lambda inner: st.lists(ACTIONS | inner, max_size=5),
    max_leaves=12,
)
"""Lists inside a list are tried in a snapshot."""


def carry_out(chain, plan, *, tries):
    for part in plan:
        if isinstance(part, list):
            if tries:
                with chain.snapshot():
                    carry_out(chain, part, tries=True)
        else:
            act, number = part
            act(chain, number)


@settings(
    suppress_health_check=list(HealthCheck),
    max_examples=max(8, settings.default.max_examples // 20),
)
@given(plan=PLANS)
def test_what_was_tried_in_a_snapshot_never_happened(plan):
    with Devnet() as trying, Devnet() as plain:
        carry_out(trying, plan, tries=True)
        carry_out(plain, plan, tries=False)
        assert trace_of(trying) == trace_of(plain)
        trying.mine(10)
        plain.mine(10)
        assert trace_of(trying) == trace_of(plain)
