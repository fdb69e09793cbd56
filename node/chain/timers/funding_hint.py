"""Hints for people in the receipt of an execution that scheduled timers.

No part of consensus: they read what the chain did, and change nothing.
"""

from collections.abc import Sequence

from node.chain.accounts import load_account
from node.chain.context import BlockContext
from node.chain.timers.timer import Timer


def funding_hint(block: BlockContext, scheduled: Sequence[Timer]) -> str:
    """What a timer's payer lacks for one fire at present prices; "" if nothing.

    The timer will be destroyed when it is due unless that changes (CIP-5 §5.4 path 2).
    """
    if not scheduled:
        return ""
    config = block.timer_config
    cap = block.rule_set.cycles_cap(config)
    for timer in scheduled:
        cycles = timer.limit_under(cap)
        price = block.rule_set.price(block.prices, timer)
        required = price.cost(cycles, config.max_cells_per_fire)
        available = load_account(block.journal, timer.fee_payer).balance
        if available < required:
            return (
                f"a fire of the timer sets aside {required} base units and its payer "
                f"has {available}: send it more, or state a lower gas_limit"
            )
    return ""
