"""One module a rule set; the table of those that this node carries (D1)."""

from collections.abc import Mapping
from types import MappingProxyType

from node.chain.timers.rules.auction import Auction
from node.chain.timers.rules.fifo import Fifo
from node.chain.timers.ruleset import RuleSet

RULE_SETS: Mapping[str, RuleSet] = MappingProxyType(
    {rules.name: rules for rules in (Fifo(), Auction())}
)
"""By the name that activations use."""
