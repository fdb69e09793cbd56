"""Genesis: the document a chain starts from, and its block 0.

A document is JSON; what it does not name is as in `devnet` (D7, D42). Its canonical
bytes stand in for a parent: block 0's parent hash is blake2b-256 over them, so two
chains that differ in any parameter differ in every hash.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from node.chain.accounts import Account, save_account
from node.chain.block import Block, Header, encode_results
from node.chain.context import LaneUse
from node.chain.errors import InvalidGenesis
from node.chain.globals import (
    RULES_AT_GENESIS,
    Globals,
    save_activation,
    save_globals,
)
from node.chain.params import (
    CELLS_KEPT_FROM_TRANSACTIONS,
    MESSAGE_LANE_FRACTION,
    U64_MAX,
    U128_MAX,
    ZERO_ADDRESS,
    BasefeeConfig,
    BiddingConfig,
    CalendarSizes,
    ChainParams,
    GlobalboxConfig,
    TieBreak,
    TimerConfig,
)
from node.chain.timers.rules import RULE_SETS
from node.chain.transition import BlockResult, Known
from node.primitives import codec
from node.primitives.crypto import blake2b256, dev_private_key, public_key_address
from node.primitives.merkle import EMPTY_ROOT
from node.primitives.types import Address, Amount, Hash32, Height
from node.state.commitment import seal
from node.state.journal import Journal
from node.state.memory import MemoryStore
from node.state.store import WriteSet

ACCOUNTS_MAX = 1_000
"""Dev accounts of a genesis: each is derived, funded and printed at every start."""
AMOUNT_DIGITS_MAX = 39  # of 2^128 - 1
_Config = TypeVar(
    "_Config",
    TimerConfig,
    BasefeeConfig,
    BiddingConfig,
    GlobalboxConfig,
    CalendarSizes,
)


class Genesis(Struct, frozen=True):
    """Everything that a chain's first state is made of."""

    name: str
    params: ChainParams
    balances: Mapping[Address, int]
    activations: Mapping[Height, str] = field(
        default_factory=lambda: {Height(0): "fifo"}
    )
    dev_account_count: int = 0
    dev_account_balance: int = 0

    def document(self) -> dict[str, object]:
        """The whole document; `parse_genesis` reads it back.

        Defaults are written out, but for those of what later versions have added: a
        chain that does not choose them keeps the hash that it always had.
        """
        params = asdict(self.params)
        for config in ("calendar", "timer_config", "basefee_config"):
            params[config] = asdict(params[config])
        for config, kind in _ADDED.items():
            params[config] = asdict(params[config])
            if params[config] == asdict(kind()):
                del params[config]
        params["proposer"] = self.params.proposer.hex()
        params["system_deployers"] = [a.hex() for a in self.params.system_deployers]
        params["auction_tie_break"] = self.params.auction_tie_break.value
        tiers = self.params.timer_config.tier_multipliers_permille
        params["timer_config"]["tier_multipliers_permille"] = list(tiers)
        return {
            "name": self.name,
            **params,
            "accounts": {
                "count": self.dev_account_count,
                "balance": str(self.dev_account_balance),
            },
            "balances": {
                address.hex(): str(balance)
                for address, balance in sorted(self.balances.items())
            },
            "activations": [
                {"height": height, "rules": rules}
                for height, rules in sorted(self.activations.items())
            ],
        }

    def encode(self) -> bytes:
        """Canonical bytes of the document: what block 0's parent hash is of."""
        return codec.encode(self.document())


def differing_fields(one: Genesis, other: Genesis) -> list[str]:
    """Fields of the document in which two of them differ, by name."""
    there, here = one.document(), other.document()
    names = there.keys() | here.keys()
    return sorted(name for name in names if there.get(name) != here.get(name))


def dev_account(index: int) -> Address:
    """Address of a deterministic development account (D42)."""
    return public_key_address(dev_private_key(index))


def parse_genesis(document: Mapping[str, object]) -> Genesis:
    """Read a genesis document.

    Raises:
        InvalidGenesis: naming the field, what came and what is wanted.
    """
    unknown = sorted(set(_mapping(document, "the document")) - _FIELDS)
    if unknown:
        known = ", ".join(sorted(_FIELDS))
        raise InvalidGenesis(f"unknown field: {unknown[0]}; there are {known}")
    count, balance = _accounts(document.get("accounts", {}))
    balances = {dev_account(i): balance for i in range(count)}
    for address, amount in _mapping(document.get("balances", {}), "balances").items():
        balances[_address(address, "balances")] = _amount(amount, "balances")
    params = _params(document, count)
    _check_params(params)
    return Genesis(
        name=_text(document.get("name", "custom"), "name"),
        params=params,
        balances=balances,
        activations=_activations(document.get("activations", [])),
        dev_account_count=count,
        dev_account_balance=balance,
    )


def override(
    genesis: Genesis,
    *,
    account_count: int | None = None,
    account_balance: int | None = None,
    block_interval_ms: int | None = None,
    rules: str | None = None,
    dev: bool | None = None,
) -> Genesis:
    """A genesis with some of an operator's choices in place of its own.

    `rules` are those in force at height 0; activations at later heights stay.

    Raises:
        InvalidGenesis: a number out of its range, or unknown rules.
    """
    document = genesis.document()
    count = genesis.dev_account_count if account_count is None else account_count
    balance = (
        genesis.dev_account_balance if account_balance is None else account_balance
    )
    if account_count is not None or account_balance is not None:
        own = {dev_account(i).hex() for i in range(genesis.dev_account_count)}
        document["accounts"] = {"count": count, "balance": str(balance)}
        document["balances"] = {
            address.hex(): str(amount)
            for address, amount in genesis.balances.items()
            if address.hex() not in own
        }
        if genesis.params.proposer == dev_account(genesis.dev_account_count):
            del document["proposer"]  # tips never change a test account (D42)
        if count == 0 and genesis.params.system_deployers == (dev_account(0),):
            document["system_deployers"] = []
    if block_interval_ms is not None:
        document["block_interval_ms"] = block_interval_ms
    if rules is not None:
        activations = {**genesis.activations, Height(0): rules}
        document["activations"] = [
            {"height": height, "rules": name} for height, name in activations.items()
        ]
    if dev is not None:
        document["dev"] = dev
    return parse_genesis(document)


def build_genesis(genesis: Genesis) -> BlockResult:
    """Block 0 and, as `writes`, the whole first state against an empty store."""
    snapshot = MemoryStore().snapshot()
    journal = Journal(snapshot)
    params = genesis.params
    for address, balance in genesis.balances.items():
        save_account(journal, address, Account(balance=Amount(balance)))
    for height, rules in genesis.activations.items():
        save_activation(journal, height, rules)
    zero = Amount(0)
    at_start = RULE_SETS[genesis.activations.get(Height(0), RULES_AT_GENESIS)]
    basefee_lane = at_start.first_lane_basefee(params.basefee_cycle)
    globals_ = Globals(
        height=Height(0),
        timestamp_ms=params.genesis_timestamp_ms,
        basefee_cycle=Amount(params.basefee_cycle),
        basefee_cell=Amount(params.basefee_cell),
        basefee_lane=basefee_lane,
        last_cycles_used=0,
        p50_priority=zero,
        minted=Amount(sum(genesis.balances.values())),
        burned_cycle=zero,
        burned_cell=zero,
        burned_lane=zero,
        timer_sequence=0,
    )
    save_globals(journal, globals_)
    state_root, tree_writes, _ = seal(journal, snapshot)
    header = Header(
        height=Height(0),
        parent_hash=blake2b256(genesis.encode()),
        timestamp_ms=params.genesis_timestamp_ms,
        span=1,
        proposer=params.proposer,
        basefee_cycle=globals_.basefee_cycle,
        basefee_cell=globals_.basefee_cell,
        basefee_lane=basefee_lane,
        cycles_used=0,
        cells_used=0,
        transactions_root=Hash32(EMPTY_ROOT),
        receipts_root=Hash32(EMPTY_ROOT),
        events_root=Hash32(EMPTY_ROOT),
        state_root=state_root,
    )
    return BlockResult(
        block=Block(header, ()),
        receipts=(),
        events=(),
        trace=(),
        rejected=(),
        writes=journal.write_set() | tree_writes,
        undo=WriteSet(),  # nothing was before it
        use=LaneUse(0, 0, 0, 0, 0, 0, 0),
        known=Known(params, state_root, globals_, 0, None),
        encodings=encode_results((), ()),
        basefee_config=params.basefee_config,
    )


# --- reading a document --------------------------------------------------------------

_ADDED: Mapping[str, type[BiddingConfig | GlobalboxConfig]] = MappingProxyType(
    {"bidding_config": BiddingConfig, "globalbox_config": GlobalboxConfig}
)
"""What a document has named since 0.1.0, where it is not the default."""
_FIELDS = set(ChainParams.__struct_fields__) | {
    "name",
    "accounts",
    "balances",
    "activations",
}


def _params(document: Mapping[str, object], account_count: int) -> ChainParams:
    defaults = ChainParams()
    numbers = {
        name: _int(document.get(name, getattr(defaults, name)), name, 0, high)
        for name, high in _NUMBERS.items()
    }
    proposer = document.get("proposer")
    deployers = document.get("system_deployers")
    default_deployers = [dev_account(0).hex()] if account_count else []
    tie_break = document.get("auction_tie_break", TieBreak.FAIR.value)
    if tie_break not in {t.value for t in TieBreak}:
        raise InvalidGenesis("auction_tie_break: fair or cip is wanted")
    return ChainParams(
        **numbers,
        dev=_bool(document.get("dev", defaults.dev), "dev"),
        proposer=(
            dev_account(account_count)
            if proposer is None
            else _address(proposer, "proposer")
        ),
        system_deployers=tuple(
            _address(value, "system_deployers")
            for value in _list(
                default_deployers if deployers is None else deployers,
                "system_deployers",
            )
        ),
        auction_tie_break=TieBreak(tie_break),
        calendar=_config(document, "calendar", defaults.calendar),
        timer_config=_config(document, "timer_config", defaults.timer_config),
        basefee_config=_config(document, "basefee_config", defaults.basefee_config),
        bidding_config=_config(document, "bidding_config", defaults.bidding_config),
        globalbox_config=_config(
            document, "globalbox_config", defaults.globalbox_config
        ),
    )


_WIDE = frozenset({"w_age", "min_bid_fp", "max_bid_fp"})
"""Numbers of configurations that 64 bits do not hold; JSON's are of any size."""
_NUMBERS = {
    "chain_id": U64_MAX,
    "genesis_timestamp_ms": 2**53,
    "block_interval_ms": 2**32,
    "lane_user_cycles": 2**30 - 1,
    "lane_deferred_cycles": 2**30 - 1,
    "block_cells": 2**40,
    "basefee_cycle": U128_MAX,
    "basefee_cell": U128_MAX,
}


def _check_params(params: ChainParams) -> None:
    """Relations between parameters without which a block could not be made."""
    violations = [
        *params.timer_config.violations(),
        *params.basefee_config.violations(),
        *params.bidding_config.violations(),
        *params.globalbox_config.violations(),
    ]
    sizes = params.calendar
    if min(sizes.ring_size, sizes.epoch_length, sizes.epochs) < 1:
        violations.append("calendar sizes must be above 0")
    if params.block_interval_ms < 1:
        violations.append("block_interval_ms must be above 0")
    if params.block_cells <= CELLS_KEPT_FROM_TRANSACTIONS:
        violations.append("block_cells must be above 1,200,000")
    least = MESSAGE_LANE_FRACTION * params.timer_config.fire_base_cycles
    if params.lane_deferred_cycles < least:
        violations.append("lane_deferred_cycles must hold eight entry charges")
    if params.proposer == ZERO_ADDRESS:
        violations.append("proposer must not be the zero address")
    if violations:
        raise InvalidGenesis("; ".join(violations))


def _config(document: Mapping[str, object], name: str, defaults: _Config) -> _Config:
    given = _mapping(document.get(name, {}), name)
    known = defaults.__struct_fields__
    changes: dict[str, object] = {}
    for key, value in given.items():
        if key not in known:
            there = ", ".join(known)
            raise InvalidGenesis(f"{name}: unknown field {key}; there are {there}")
        if isinstance(getattr(defaults, key), tuple):
            items = _list(value, f"{name}.{key}")
            changes[key] = tuple(_int(v, f"{name}.{key}", 0, U64_MAX) for v in items)
        else:
            high = U128_MAX if key in _WIDE else U64_MAX
            changes[key] = _int(value, f"{name}.{key}", 0, high)
    return replace(defaults, **changes)


def _accounts(value: object) -> tuple[int, Amount]:
    given = _mapping(value, "accounts")
    unknown = sorted(set(given) - {"count", "balance"})
    if unknown:
        raise InvalidGenesis(f"accounts: unknown field {unknown[0]}")
    count = _int(given.get("count", 0), "accounts.count", 0, ACCOUNTS_MAX)
    return count, _amount(given.get("balance", "0"), "accounts.balance")


def _activations(value: object) -> dict[Height, str]:
    activations = {Height(0): "fifo"}
    for item in _list(value, "activations"):
        given = _mapping(item, "activations")
        height = Height(_int(given.get("height"), "activations.height", 0, U64_MAX))
        rules = given.get("rules")
        if not isinstance(rules, str) or rules not in RULE_SETS:
            known = ", ".join(sorted(RULE_SETS))
            raise InvalidGenesis(f"activations.rules: known rules are {known}")
        activations[height] = rules
    return activations


def _mapping(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InvalidGenesis(f"{name}: an object is wanted")
    return value


def _list(value: object, name: str) -> list[object]:
    if not isinstance(value, list):
        raise InvalidGenesis(f"{name}: an array is wanted")
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidGenesis(f"{name}: a text is wanted")
    try:
        value.encode()
    except UnicodeEncodeError:  # JSON can write half of a surrogate pair
        raise InvalidGenesis(f"{name}: a text of Unicode is wanted") from None
    return value


def _bool(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidGenesis(f"{name}: true or false is wanted")
    return value


def _int(value: object, name: str, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise InvalidGenesis(f"{name}: an integer from {low} to {high} is wanted")
    return value


def _amount(value: object, name: str) -> Amount:
    """Base units as a decimal string: they exceed what JSON numbers can hold."""
    if (
        not isinstance(value, str)
        or not (value.isascii() and value.isdigit())
        or len(value) > AMOUNT_DIGITS_MAX
    ):
        raise InvalidGenesis(f"{name}: base units as a decimal string are wanted")
    return Amount(_int(int(value), name, 0, U128_MAX))


def _address(value: object, name: str) -> Address:
    text = value.removeprefix("0x") if isinstance(value, str) else ""
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if len(data) != len(ZERO_ADDRESS) or len(text) != 2 * len(ZERO_ADDRESS):
        raise InvalidGenesis(f"{name}: an address of 40 hex digits is wanted")
    return Address(data)
