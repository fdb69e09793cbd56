"""The chain as a whole, accounts and actors, read at the head."""

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from node.chain.accounts import Account, decode_account, load_account, load_code
from node.chain.block import CodeVersion, Header
from node.chain.globals import (
    Globals,
    Governed,
    load_globals,
)
from node.chain.mailbox import pending_count, pending_messages
from node.chain.timers.calendar import count_of
from node.chain.timers.rules.auction import tier_priorities
from node.chain.transition import State, begin_block, head_governed
from node.history import load_code_versions, load_header
from node.primitives.types import Address, Amount, Hash32, Height
from node.query.errors import MissingKind, NotFound, SupplyTooLarge
from node.query.pagination import Budget, Page
from node.state import keys

SUPPLY_RECORDS_MAX = 100_000
"""Accounts, or messages, that a count of the supply reads: about a second."""

VERSIONS_MAX = 1_000
"""Of an actor's code that are told, the latest: some 50 KB."""

Item = TypeVar("Item")


class ChainStatus(Struct, frozen=True):
    """The head, and what the next block starts from."""

    head: Header
    head_hash: Hash32
    genesis_hash: Hash32
    globals: Globals
    """Its basefees are the next block's."""
    rules: str
    """Timer rules in force in the next block."""


def chain_status(state: State) -> ChainStatus:
    """Where the chain stands."""
    genesis = load_header(state.snapshot, Height(0))
    assert genesis is not None, "a chain without block 0 was never started"
    return ChainStatus(
        state.head,
        state.head.hash(),
        genesis.hash(),
        load_globals(state.snapshot),
        head_governed(state).rules_at(state.head.height + 1),
    )


class NextFees(Struct, frozen=True):
    """The parts of what a unit costs in the next block (D7, D29)."""

    rules: str
    basefee_cycle: Amount
    basefee_cell: Amount
    basefee_lane: Amount
    """Of the timer lane under `auction`, on top of the cycle's; else 0."""
    p50_priority: Amount
    """What the default agent offers above that (CIP-1 §7.1)."""
    tier_priorities: tuple[Amount, ...]
    """What the tiers of priority stand for, the cheapest first (CIP-1 §7.3)."""


def next_fees(state: State) -> NextFees:
    """What a unit costs in the next block, by its parts."""
    block = begin_block(state)
    prices = block.prices
    return NextFees(
        block.rule_set.name,
        prices.basefee_cycle,
        prices.basefee_cell,
        prices.basefee_lane,
        prices.p50_priority,
        tier_priorities(block.timer_config, prices.p50_priority),
    )


def governed(state: State) -> Governed:
    """Configurations and activations as they stand."""
    return head_governed(state)


class Supply(Struct, frozen=True):
    """minted = balances + burned + held (D10); all in base units."""

    globals: Globals
    balances: Amount
    held: Amount

    @property
    def minted(self) -> Amount:
        """At genesis and by development instructions."""
        return self.globals.minted

    @property
    def burned(self) -> Amount:
        """All that was ever burned."""
        return self.globals.burned

    @property
    def is_balanced(self) -> bool:
        """Whether the equation holds."""
        return self.minted == self.balances + self.burned + self.held


def count_supply(state: State, records_max: int | None = SUPPLY_RECORDS_MAX) -> Supply:
    """The supply, counted in full; however long it takes if `records_max` is None.

    Raises:
        SupplyTooLarge: There are more than `records_max` accounts, or messages.
    """
    start = keys.account(Address(b""))
    pairs = _bounded(state.snapshot.range(start, keys.prefix_stop(start)), records_max)
    balances = sum(decode_account(record).balance for _, record in pairs)
    messages = _bounded(pending_messages(state.snapshot), records_max)
    held = sum(message.prepaid for message in messages)
    return Supply(load_globals(state.snapshot), Amount(balances), Amount(held))


def _bounded(items: Iterable[Item], count_max: int | None) -> Iterable[Item]:
    for count, item in enumerate(items):
        if count == count_max:
            raise SupplyTooLarge(
                f"more than {count_max} accounts or messages: counting them would "
                "hold up the chain"
            )
        yield item


# --- accounts and actors -----------------------------------------------------------


def account(state: State, address: Address) -> Account:
    """The account at an address, an empty one if nothing ever touched it."""
    return load_account(state.snapshot, address)


class ActorView(Struct, frozen=True):
    """An account that is an actor, with its code and what waits for it."""

    address: Address
    account: Account
    source: bytes
    live_timers: int
    mailbox_length: int
    versions: tuple[CodeVersion, ...]
    """The code that it had so far, as far as it is known, in order."""


def actor(state: State, address: Address) -> ActorView:
    """The actor at an address.

    Raises:
        NotFound: ACTOR.
    """
    found = require_actor(state, address)
    return ActorView(
        address,
        found,
        load_code(state.snapshot, found.code_hash),
        count_of(state.snapshot, address),
        pending_count(state.snapshot, address),
        tuple(load_code_versions(state.snapshot, address)[-VERSIONS_MAX:]),
    )


def require_actor(state: State, address: Address) -> Account:
    """The account of an actor.

    Raises:
        NotFound: ACTOR.
    """
    found = load_account(state.snapshot, address)
    if not found.is_actor:
        raise NotFound(MissingKind.ACTOR, address)
    return found


def storage_value(state: State, address: Address, key: bytes) -> bytes:
    """One entry of an actor's state, by its raw key.

    Raises:
        NotFound: ACTOR or STORAGE_KEY.
    """
    require_actor(state, address)
    value = state.snapshot.get(keys.storage(address, key))
    if value is None:
        raise NotFound(MissingKind.STORAGE_KEY, key)
    return value


def storage_page(
    state: State, address: Address, prefix: bytes, start: bytes, count: int
) -> Page[tuple[bytes, bytes]]:
    """Entries of an actor's state whose raw keys have a prefix, from `start` on.

    Raises:
        NotFound: ACTOR.
    """
    require_actor(state, address)
    whole = keys.storage(address, prefix)
    skip = len(keys.storage(address))
    budget = Budget(count)
    entries: list[tuple[bytes, bytes]] = []
    first = max(whole, keys.storage(address, start))
    for key, value in state.snapshot.range(first, keys.prefix_stop(whole)):
        if budget.is_spent:
            return Page(tuple(entries), key[skip:])
        budget.examine(len(key) + len(value))
        budget.take()
        entries.append((key[skip:], value))
    return Page(tuple(entries), None)
