"""Runs: how far the chain can pass without anything happening (D36).

A run of empty blocks is one header with span > 1. It changes what N empty blocks
would change, the passing of time, and nothing else; so passing N heights costs the
same for every N. Rules: a run ends before the next height at which a block could do
anything; any split of a run leads to the same state.
"""

from node.chain.mailbox import is_any_pending
from node.chain.timers.ruleset import Prospect, RuleSet
from node.primitives.types import Height
from node.state.commitment import is_globalbox_empty


def next_work_height(prospect: Prospect, rules: RuleSet) -> Height | None:
    """The least height above the head whose block may not be empty; None for never.

    The least of: the next activation; the next height if a message is pending or a fire
    is queued (D55); the wake height of each timer, which is the rules' to say.
    """
    reader, head = prospect.reader, prospect.head
    if is_any_pending(reader) or not is_globalbox_empty(reader):
        return Height(head + 1)
    heights = [prospect.activation, rules.wake_height(prospect)]
    return min((h for h in heights if h is not None), default=None)
