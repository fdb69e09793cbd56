"""The numbers that consensus rests on, each with its unit and its source.

Constants are the same on every chain. `ChainParams` is what a genesis may choose;
the configurations start from it and are governed afterwards (D25, D49, D56).
"""

from enum import Enum

from msgspec import Struct, field
from msgspec.structs import astuple

from node.primitives.types import Address

# --- encoding and admission --------------------------------------------------------
BODY_BYTES_MAX = 1_200_000  # a transaction's body (D5): a 1 MiB payload and room
HANDLER_BYTES_MAX = 256  # CIP-5 §3.1
TIMER_ID_BYTES_MAX = 256  # CIP-5 §3.1; ours are 32 long
CODE_BYTES_MAX = 65_536  # an actor's source (sandbox.md §5)
PAYLOAD_BYTES_MAX = 1_048_576  # a timer's payload, 1 MiB (CIP-5 §4.2)
U64_MAX = 2**64 - 1
U128_MAX = 2**128 - 1
PERMILLE = 1_000

# --- intrinsic cost of a transaction (D6) ------------------------------------------
INTRINSIC_CYCLES = 5_000
INTRINSIC_CELLS = 500  # + 1 per byte of the body
DEPLOY_CYCLES = 50_000
DEPLOY_CYCLES_PER_CODE_BYTE = 100
DEPLOY_CELLS = 10_000
DEPLOY_CELLS_PER_CODE_BYTE = 200

# --- budgets of a block (D8) -------------------------------------------------------
GC_CYCLES_PER_REMOVAL = 200  # of the GC budget: a rate limit, nothing executes
CELLS_KEPT_FROM_TRANSACTIONS = 1_200_000  # so payloads cannot starve fires
MESSAGE_CELLS_MAX = CELLS_KEPT_FROM_TRANSACTIONS // 8  # 150,000 (D14)

# --- writes (D43) ------------------------------------------------------------------
WRITES_PER_EXECUTION_MAX = 4_000  # distinct state keys
WRITES_BEFORE_TRANSACTIONS_STOP = 12_000  # of a block
WRITES_BEFORE_DEFERRED_STOP = 20_000  # of a block: fires and messages
assert WRITES_BEFORE_TRANSACTIONS_STOP < WRITES_BEFORE_DEFERRED_STOP

# --- deferred messages (D14) -------------------------------------------------------
MESSAGE_LANE_FRACTION = 8  # one message's budget is at most an eighth of the lane
PAYER_WAITING_LANES_MAX = 2  # budgets waiting on one payer, in lanes
TOTAL_WAITING_LANES_MAX = 20  # all budgets waiting, in lanes
PENDING_PER_PAIR_MAX = 64  # from one sender to one target
PENDING_PER_TARGET_MAX = 1_000  # both kinds together
MESSAGE_AGE_BLOCKS_MAX = 1_000  # older ones are dropped when met
CALL_DEPTH_MAX = 32  # call_actor; the 33rd is TooDeep

# --- events and state (D17, host-api.md) --------------------------------------------
EVENT_TOPIC_BYTES_MAX = 64
EVENT_DATA_BYTES_MAX = 4_096
EVENTS_PER_EXECUTION_MAX = 1_024
STATE_KEY_BYTES_MAX = 256
STATE_VALUE_BYTES_MAX = 65_536
SCAN_ENTRIES_MAX = 1_000

# --- addresses (D9) ----------------------------------------------------------------
ADDRESS_BYTES = 20
ZERO_ADDRESS = Address(bytes(20))  # burn; what is sent there stays a balance
SYSTEM_ADDRESS_LAST = 0x0F  # 0x01..0x0f are reserved for system actors
BASEFEE_DIVISOR_MAX = 1_000  # alpha, denom (D7)
AGENT_CYCLES = 50_000  # a Gas Bidding Agent may use so many for a bid (D34)
FIRE_BASE_CYCLES_MAX = AGENT_CYCLES  # D25: far below a message's


class TieBreak(Enum):
    """Who goes first among equal priorities under `auction` (D33)."""

    FAIR = "fair"
    CIP = "cip"


TIERS = ("economy", "standard", "fast", "urgent")
"""Of `priority_tier_hint`, in the order of `tier_multipliers_permille`."""


class TimerConfig(Struct, frozen=True):
    """Governed timer parameters (CIP-5 §6.4, D25), in the order of the wire."""

    max_ttl_blocks: int = 2_592_000
    max_cycles_per_fire: int = 550_000
    max_cells_per_fire: int = 550_000
    max_timers_per_actor: int = 1_024
    gc_cycles_per_block: int = 5_000_000
    lane_timer_cycles: int = 2_000_000
    max_cycles_per_fire_auction: int = 250_000
    fairness_window_blocks: int = 1_000
    tier_multipliers_permille: tuple[int, ...] = (800, 1_000, 1_500, 2_500)
    max_due_examined: int = 10_000
    lane_gba_cycles: int = 1_000_000
    fire_base_cycles: int = 1_000

    def violations(self) -> list[str]:
        """The rules of D25 that this config breaks, as sentences."""
        scalars = astuple(self)
        flat = [n for v in scalars for n in (v if isinstance(v, tuple) else (v,))]
        caps = (self.max_cycles_per_fire, self.max_cycles_per_fire_auction)
        rules = {
            "every field must be above 0 and below 2^64": all(
                0 < n <= U64_MAX for n in flat
            ),
            "there are four tier multipliers": len(self.tier_multipliers_permille) == 4,  # noqa: PLR2004 - economy, standard, fast, urgent
            "lane_timer_cycles must be at least both caps per fire": (
                self.lane_timer_cycles >= max(caps)
            ),
            "both caps per fire must be at least fire_base_cycles": (
                min(caps) >= self.fire_base_cycles
            ),
            "gc_cycles_per_block must be at least 200 * max_due_examined": (
                self.gc_cycles_per_block
                >= GC_CYCLES_PER_REMOVAL * self.max_due_examined
            ),
            "max_cells_per_fire must be at most 1,200,000": (
                self.max_cells_per_fire <= CELLS_KEPT_FROM_TRANSACTIONS
            ),
            "fire_base_cycles must be at most 50,000": (
                self.fire_base_cycles <= FIRE_BASE_CYCLES_MAX
            ),
            "fairness_window_blocks must be at most 10,000": (
                self.fairness_window_blocks <= 10_000  # noqa: PLR2004 - D25
            ),
            "lane_timer_cycles must be below 2^30": self.lane_timer_cycles < 2**30,
        }
        return [rule for rule, holds in rules.items() if not holds]


class BasefeeConfig(Struct, frozen=True):
    """Governed fee parameters (D7), in the order of the wire."""

    target_cycles: int = 10_000_000
    target_cells: int = 500_000
    alpha: int = 8
    denom: int = 8
    min_basefee: int = 1

    def violations(self) -> list[str]:
        """The rules of D7 and D25 that this config breaks, as sentences."""
        values = astuple(self)
        rules = {
            "every field must be above 0 and below 2^64": all(
                0 < n <= U64_MAX for n in values
            ),
            "alpha and denom must be at most 1,000": (
                max(self.alpha, self.denom) <= BASEFEE_DIVISOR_MAX
            ),
        }
        return [rule for rule, holds in rules.items() if not holds]


WEIGHT_NEUTRAL = 1_000_000  # of an actor under `bidding`, in parts per million (D48)
OVERDUE_ACTORS_MAX = 1_000  # whose waiting counts in the first block of an epoch (D48)


class BiddingConfig(Struct, frozen=True):
    """Governed parameters of the rules `bidding` (D49), in the order of the wire."""

    lambda_permille: int = 200
    weight_min: int = 250_000
    weight_max: int = 2_000_000
    starvation_floor: int = 1_500_000

    def violations(self) -> list[str]:
        """The rules of D49 that this config breaks, as sentences."""
        bounds = self.weight_min, WEIGHT_NEUTRAL, self.starvation_floor, self.weight_max
        rules = {
            "every field must be below 2^64": all(
                0 <= n <= U64_MAX for n in astuple(self)
            ),
            "lambda_permille must be at most 1,000": self.lambda_permille <= PERMILLE,
            "weight_min must be above 0": self.weight_min > 0,
            "weight_min, 1,000,000, starvation_floor and weight_max must ascend": (
                list(bounds) == sorted(bounds)
            ),
        }
        return [rule for rule, holds in rules.items() if not holds]


FIRE_QUOTA_MAX = 10_000  # of `globalbox`: fires and hits of a block (D56)
WATCH_KEYS_MAX = 64  # that governance may allow a watch (D56)
WATCH_PREFIX_BYTES_MAX = 256  # as long as a key of state (D51)
WATCH_LOOKUPS_MAX = 65_536  # of a matching: prefixes sought, and watches met (D51)
MATCHED_KEYS_MAX = 4  # that a hit remembers (D51)
CLIENT_NONCE_BYTES_MAX = 32  # D50
LEAVING_FIRES_MAX = 1_000  # moved out of the Globalbox in a block (D55)
AGE_WEIGHT_MAX = 2**96  # of a block of age (D56)


class GlobalboxConfig(Struct, frozen=True):
    """Governed parameters of `globalbox` (D56), in the order of the wire."""

    max_fires_per_block: int = 128
    max_fires_per_target: int = 8
    max_timers_per_target: int = 4_096
    w_age: int = AGE_WEIGHT_MAX
    w_bid: int = 1
    min_gas_limit: int = 1_000
    min_bid_fp: int = 0
    max_bid_fp: int = U128_MAX
    max_watch_keys: int = 16
    max_hits_per_block: int = 1_000
    max_payload: int = PAYLOAD_BYTES_MAX

    def violations(self) -> list[str]:
        """The rules of D56 that this config breaks, as sentences."""
        quotas = (
            self.max_fires_per_block,
            self.max_fires_per_target,
            self.max_hits_per_block,
        )
        above_zero = (
            *quotas,
            self.max_timers_per_target,
            self.w_age,
            self.w_bid,
            self.max_watch_keys,
            self.max_payload,
        )
        rules = {
            "every field but min_gas_limit and min_bid_fp must be above 0": (
                min(above_zero) > 0
            ),
            "min_gas_limit and max_timers_per_target must be from 0 to 2^64 - 1": (
                0 <= self.min_gas_limit <= U64_MAX
                and self.max_timers_per_target <= U64_MAX
            ),
            "min_bid_fp must be at most max_bid_fp, and that below 2^128": (
                0 <= self.min_bid_fp <= self.max_bid_fp <= U128_MAX
            ),
            "w_age must be at most 2^96": self.w_age <= AGE_WEIGHT_MAX,
            "w_bid must be below 2^64": self.w_bid <= U64_MAX,
            "max_fires_per_block, max_fires_per_target and max_hits_per_block must be "
            "at most 10,000": max(quotas) <= FIRE_QUOTA_MAX,
            "max_watch_keys must be at most 64": self.max_watch_keys <= WATCH_KEYS_MAX,
            "max_payload must be at most 1,048,576": (
                self.max_payload <= PAYLOAD_BYTES_MAX
            ),
        }
        return [rule for rule, holds in rules.items() if not holds]


class CalendarSizes(Struct, frozen=True):
    """Sizes of the three tiers (D24); any positive ones are right."""

    ring_size: int = 256  # buckets, one per height (CIP-1 §2.1)
    epoch_length: int = 3_600  # blocks, about an hour (CIP-1 §2.2)
    epochs: int = 24  # buckets of the epoch queue


class ChainParams(Struct, frozen=True):
    """What a genesis fixes for the life of a chain; the defaults are `devnet`."""

    chain_id: int = 100
    genesis_timestamp_ms: int = 1_700_000_000_000
    block_interval_ms: int = 1_000  # virtual time between heights (D37)
    dev: bool = True  # development instructions are valid (D41)
    proposer: Address = ZERO_ADDRESS  # receives tips
    system_deployers: tuple[Address, ...] = ()
    lane_user_cycles: int = 20_000_000
    lane_deferred_cycles: int = 5_000_000
    block_cells: int = 16_000_000
    basefee_cycle: int = 1_000  # base units, at genesis
    basefee_cell: int = 1_000  # base units, at genesis
    auction_tie_break: TieBreak = TieBreak.FAIR
    calendar: CalendarSizes = field(default_factory=CalendarSizes)
    timer_config: TimerConfig = field(default_factory=TimerConfig)
    basefee_config: BasefeeConfig = field(default_factory=BasefeeConfig)
    bidding_config: BiddingConfig = field(default_factory=BiddingConfig)
    globalbox_config: GlobalboxConfig = field(default_factory=GlobalboxConfig)

    @property
    def transaction_cells_max(self) -> int:
        """Cells that transactions of one block may take (D8)."""
        return self.block_cells - CELLS_KEPT_FROM_TRANSACTIONS

    @property
    def message_cycles_max(self) -> int:
        """The largest budget of one deferred message (D14)."""
        return self.lane_deferred_cycles // MESSAGE_LANE_FRACTION

    @property
    def height_max(self) -> int:
        """The last height to which time may be made to pass.

        Timestamps fit 63 bits for as many heights again.
        """
        last = (U64_MAX // 2 - self.genesis_timestamp_ms) // self.block_interval_ms
        return last // 2

    def timestamp_ms(self, height: int) -> int:
        """Virtual time of a height (D37)."""
        return self.genesis_timestamp_ms + height * self.block_interval_ms


def is_reserved(address: Address) -> bool:
    """Whether an address is zero or a system address (CIP-5 §4.2, D9)."""
    return int.from_bytes(address, "big") <= SYSTEM_ADDRESS_LAST
