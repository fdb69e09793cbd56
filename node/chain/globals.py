"""Globals, configurations and activations: state that belongs to no account.

The globals are one record beside the trees, since they change with every block (D38).
Configurations are absent until governance sets them: the genesis values then apply
(CIP-5 §6.4).
"""

from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter, methodcaller

from msgspec import Struct
from msgspec.structs import astuple

from node.chain.params import (
    BasefeeConfig,
    BiddingConfig,
    ChainParams,
    GlobalboxConfig,
    TimerConfig,
)
from node.chain.reader import Reader
from node.primitives import codec
from node.primitives.crypto import keccak256
from node.primitives.types import Amount, Hash32, Height
from node.state import keys
from node.state.journal import Journal

RULES_AT_GENESIS = "fifo"
_GOVERNED_PREFIXES = (
    keys.TIMER_CONFIG,
    keys.BASEFEE_CONFIG,
    keys.BIDDING_CONFIG,
    keys.WEIGHTS_RESET,
    keys.GLOBALBOX_CONFIG,
    keys.GLOBALBOX_CLOCK,
    keys.ACTIVATION_PREFIX,
)
GLOBALS_REMEMBERED_MAX = 16
"""Records whose globals are remembered, the latest: all ask for those of the head."""


class Globals(Struct, frozen=True, gc=False):
    """What every block changes; prices are those of the next block (D7)."""

    height: Height
    timestamp_ms: int
    basefee_cycle: Amount
    basefee_cell: Amount
    basefee_lane: Amount
    """Of the timer lane under `auction`, else 0."""
    last_cycles_used: int
    """Of the latest block: a Gas Bidding Agent's congestion signal (CIP-1 §7.2)."""
    p50_priority: Amount
    """Median priority of the latest block's fires under `auction` (D32)."""
    minted: Amount
    """At genesis and by development instructions; what they took is taken off."""
    burned_cycle: Amount
    burned_cell: Amount
    burned_lane: Amount
    timer_sequence: int
    """Of the next accepted timer (D22)."""

    @property
    def burned(self) -> Amount:
        """All that was ever burned, in base units."""
        return Amount(self.burned_cycle + self.burned_cell + self.burned_lane)


class BlockPrices(Struct, frozen=True, gc=False):
    """What is in force in one block, in base units a cycle or a cell.

    As the parent's globals say, but for what rules that enter begin with (D29).
    """

    basefee_cycle: Amount
    basefee_cell: Amount
    basefee_lane: Amount
    """Of the timer lane under `auction`, else 0."""
    p50_priority: Amount
    """Median priority of the parent's fires under `auction`, else 0 (D32)."""


def load_globals(reader: Reader) -> Globals:
    """The globals; every chain has them from block 0 on."""
    record = reader.get(keys.GLOBALS)
    assert record is not None, "a chain without globals was never started"
    return _decode_globals(record)


@lru_cache(maxsize=GLOBALS_REMEMBERED_MAX)
def _decode_globals(record: bytes) -> Globals:
    return Globals(*codec.decode(record))  # type: ignore[misc]


def save_globals(journal: Journal, globals_: Globals) -> None:
    """Write the globals, once a block."""
    journal.put(keys.GLOBALS, codec.encode(list(astuple(globals_))))


def load_timer_config(reader: Reader, params: ChainParams) -> TimerConfig:
    """The timer configuration as governance left it (D3)."""
    record = reader.get(keys.TIMER_CONFIG)
    if record is None:
        return params.timer_config
    values = [tuple(v) if isinstance(v, list) else v for v in codec.decode(record)]  # type: ignore[union-attr]
    return TimerConfig(*values)  # type: ignore[arg-type]


def load_basefee_config(reader: Reader, params: ChainParams) -> BasefeeConfig:
    """The fee configuration as governance left it (D3)."""
    record = reader.get(keys.BASEFEE_CONFIG)
    return params.basefee_config if record is None else decode_basefee_config(record)


def decode_basefee_config(record: bytes) -> BasefeeConfig:
    """What `encode_config` made of one; trusts its bytes."""
    return BasefeeConfig(*codec.decode(record))  # type: ignore[misc]


def load_bidding_config(reader: Reader, params: ChainParams) -> BiddingConfig:
    """The configuration of `bidding` as governance left it (D3, D49)."""
    record = reader.get(keys.BIDDING_CONFIG)
    if record is None:
        return params.bidding_config
    return BiddingConfig(*codec.decode(record))  # type: ignore[misc]


def load_weights_reset(reader: Reader) -> Height | None:
    """At which height governance last reset the weights of `bidding`, if ever (D49)."""
    record = reader.get(keys.WEIGHTS_RESET)
    return None if record is None else Height(int.from_bytes(record, "big"))


def load_globalbox_config(reader: Reader, params: ChainParams) -> GlobalboxConfig:
    """The configuration of `globalbox` as governance left it (D3, D56)."""
    record = reader.get(keys.GLOBALBOX_CONFIG)
    if record is None:
        return params.globalbox_config
    return GlobalboxConfig(*codec.decode(record))  # type: ignore[misc]


class GlobalboxClock(Struct, frozen=True):
    """How far ageing has come for all that was ever queued in the Globalbox (D52)."""

    base: int = 0
    """The sum of `w_age` over all blocks up to `since`."""
    since: Height = Height(0)

    def at(self, height: int, w_age: int) -> int:
        """A(h) = base + w_age · (h - since), while the weight stays (D52)."""
        return self.base + w_age * (height - self.since)


def load_globalbox_clock(reader: Reader) -> GlobalboxClock:
    """The clock as the last change of weights left it; (0, 0) before the first."""
    record = reader.get(keys.GLOBALBOX_CLOCK)
    if record is None:
        return GlobalboxClock()
    return GlobalboxClock(*codec.decode(record))  # type: ignore[misc]


GovernedConfig = TimerConfig | BasefeeConfig | BiddingConfig | GlobalboxConfig
"""What governance replaces as a whole (D3)."""


def encode_config(config: GovernedConfig) -> bytes:
    """One array of all fields in order: the record, and an update event's data."""
    return codec.encode(
        [list(v) if isinstance(v, tuple) else v for v in astuple(config)]
    )


def save_timer_config(journal: Journal, config: TimerConfig) -> None:
    """Write through at once; the next block sees it (D3)."""
    journal.put(keys.TIMER_CONFIG, encode_config(config))


def save_basefee_config(journal: Journal, config: BasefeeConfig) -> None:
    """Write through at once; the next block sees it (D3)."""
    journal.put(keys.BASEFEE_CONFIG, encode_config(config))


def save_bidding_config(journal: Journal, config: BiddingConfig) -> None:
    """Write through at once; the next block sees it (D3)."""
    journal.put(keys.BIDDING_CONFIG, encode_config(config))


def save_weights_reset(journal: Journal, height: Height) -> None:
    """From the next block on weights of this height and before are none (D49)."""
    journal.put(keys.WEIGHTS_RESET, keys.height8(height))


def save_globalbox_config(
    journal: Journal, config: GlobalboxConfig, clock: GlobalboxClock
) -> None:
    """Write through at once; the next block sees it (D3).

    The clock is as the block that does it shows it: its own weight was the old one.
    """
    journal.put(keys.GLOBALBOX_CONFIG, encode_config(config))
    journal.put(keys.GLOBALBOX_CLOCK, codec.encode([clock.base, clock.since]))


class Governed(Struct, frozen=True):
    """What governance decided, read once a block at most (D3)."""

    activations: tuple[tuple[Height, str], ...]
    """Height → rules, ascending, past and to come; the first is genesis' (D1)."""
    timer_config: TimerConfig
    basefee_config: BasefeeConfig
    bidding_config: BiddingConfig
    weights_reset: Height | None
    """At which height the weights of `bidding` were last reset, if ever (D49)."""
    globalbox_config: GlobalboxConfig
    globalbox_clock: GlobalboxClock

    def rules_at(self, height: int) -> str:
        """Name of the rules in force at a height: the latest activation's."""
        return self.activations[self._latest(height)][1]

    def in_force_since(self, height: int) -> Height:
        """The height at which the rules of a height came into force."""
        latest = self._latest(height)
        first, rules = self.activations[latest]
        for index in range(latest - 1, -1, -1):
            since, name = self.activations[index]
            if name != rules:
                break
            first = since
        return first

    def _latest(self, height: int) -> int:
        """Index of the latest activation at a height, however many are to come."""
        above = bisect_right(self.activations, height, key=itemgetter(0))
        assert above, "genesis activates rules at height 0"
        return above - 1


def load_governed(reader: Reader, params: ChainParams) -> Governed:
    """All that governance decided, whenever it comes into force."""
    start = keys.ACTIVATION_PREFIX
    activations = {
        Height(int.from_bytes(key.removeprefix(start), "big")): rules.decode()
        for key, rules in reader.range(start, keys.prefix_stop(start))
    }
    return Governed(
        tuple(({Height(0): RULES_AT_GENESIS} | activations).items()),
        load_timer_config(reader, params),
        load_basefee_config(reader, params),
        load_bidding_config(reader, params),
        load_weights_reset(reader),
        load_globalbox_config(reader, params),
        load_globalbox_clock(reader),
    )


is_governed: Callable[[bytes], bool] = methodcaller("startswith", _GOVERNED_PREFIXES)
"""Whether what stands under a key is part of `Governed`."""


def save_activation(journal: Journal, height: Height, rules: str) -> None:
    """Schedule rules; a second activation for a height replaces the first (D1)."""
    journal.put(keys.activation(height), rules.encode())


def derive_beacon(chain_id: int, height: int) -> Hash32:
    """keccak256("beacon" ‖ chain id BE8 ‖ height BE8) (D39)."""
    return Hash32(keccak256(b"beacon" + keys.height8(chain_id) + keys.height8(height)))
