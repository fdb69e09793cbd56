"""A module for each set of timer rules, and the table of them (D1)."""

from collections.abc import Mapping
from types import MappingProxyType

from node.chain.timers.rules.auction import Auction
from node.chain.timers.rules.fifo import Fifo
from node.chain.timers.ruleset import RuleSet

RULE_SETS: Mapping[str, RuleSet] = MappingProxyType(
    {rules.name: rules for rules in (Fifo(), Auction())}
)
"""By the name that activations use."""
