"""A module for each set of timer rules, and the table of them (D1)."""

from collections.abc import Mapping
from types import MappingProxyType

from node.chain.timers.bidding_index import BIDDING_INDEX
from node.chain.timers.due_index import AUCTION_INDEX, DueIndex
from node.chain.timers.rules.auction import Auction
from node.chain.timers.rules.bidding import Bidding
from node.chain.timers.rules.fifo import Fifo
from node.chain.timers.rules.globalbox import Globalbox
from node.chain.timers.ruleset import RuleSet

RULE_SETS: Mapping[str, RuleSet] = MappingProxyType(
    {rules.name: rules for rules in (Fifo(), Auction(), Bidding(), Globalbox())}
)
"""By the name that activations use."""

INDEXES: Mapping[str, DueIndex] = MappingProxyType(
    {Auction.name: AUCTION_INDEX, Bidding.name: BIDDING_INDEX}
)
"""By the same name, of those that look for due timers in orders of their own."""
