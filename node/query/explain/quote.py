"""What a timer would cost: to schedule it, to fire it, and for how long it is paid.

At the prices of the next block. Nothing is scheduled, so nothing is refused that a
schedule call alone can judge (consent of a payer, D13).
"""

from collections.abc import Iterable
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from node.chain.accounts import load_account
from node.chain.globals import load_globalbox_config
from node.chain.params import U64_MAX
from node.chain.timers.calendar import count_of
from node.chain.transition import State, head_globals
from node.primitives.types import Address, Amount, Height
from node.query.blocks import Warnings
from node.query.chain import require_actor
from node.query.explain.lane_history import (
    PAST_BLOCKS_DEFAULT,
    PAST_BLOCKS_MAX,
    Offered,
    PastBlock,
    PastPlace,
    kept_blocks,
    past_place,
)
from node.query.forecasts.forecast import FireTerms, fire_terms, pending_cost, weight_of
from node.query.forecasts.turn import TimerOffer
from pvm import costs

FEW_FIRES_A_BLOCK = 3
"""So many fires with the default limit fill the lane of the presets (D8, D23)."""


class InvalidQuote(Exception):  # noqa: N818 - a refusal, named like the others
    """A schedule call with this argument would be refused."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field} {message}")
        self.field = field
        self.message = message


class QuoteRequest(Struct, frozen=True):
    """A timer that might be scheduled in the next block."""

    actor: Address
    fee_payer: Address
    height: int | None = None
    """When it would be due; None leaves that open."""
    gas_limit: int | None = None
    expires_at: int | None = None
    payload_bytes: int = 0
    max_fee: Amount | None = None
    """Of what it would state a cycle under `auction`; None is the default agent's."""
    max_priority: Amount | None = None
    bid_fp: int | None = None
    """What it would bid under `globalbox`, Q32.96; None is the least bid."""
    blocks: int | None = None
    """How many of the last blocks are told of, `PAST_BLOCKS_DEFAULT` if not stated."""


class Quote(Struct, frozen=True):
    """What it would cost, and how far the payer's balance goes."""

    schedule_cycles: int
    """Of the host call alone (CIP-5 §6.1); the execution around it costs its own."""
    schedule_cells: int
    schedule_cost: Amount
    terms: FireTerms
    expires_at: Height
    balance: Amount
    """Of the payer."""
    pending: int
    """Live timers of the actor that the payer pays."""
    pending_cost: Amount
    """What their fires set aside, all together (D26: a reserve for each)."""
    warnings: tuple[Warnings, ...]
    weight_ppm: int = 0
    """W of the actor under `auction`."""
    past: tuple[PastPlace, ...] = ()
    """What a place cost in the last blocks under `auction`, the latest first."""

    @property
    def fires_covered(self) -> int:
        """Fires, at their full cost, that the balance pays; at most 2^64 - 1."""
        return min(self.balance // self.terms.max_cost, U64_MAX)

    @property
    def fires_free(self) -> int:
        """The same beside the reserves of the pending ones."""
        left = max(0, self.balance - self.pending_cost)
        return min(left // self.terms.max_cost, U64_MAX)


def quote_timer(
    state: State, wanted: QuoteRequest, blocks: Iterable[PastBlock] | None = None
) -> Quote:
    """What a timer would cost if it were scheduled in the next block.

    `blocks` are the last ones, if they are not in the history of the state.

    Raises:
        NotFound: ACTOR, who would schedule it.
        InvalidQuote: the schedule call would be refused.
    """
    require_actor(state, wanted.actor)
    offer = TimerOffer(wanted.max_fee, wanted.max_priority, wanted.bid_fp)
    terms = fire_terms(state, wanted.gas_limit, offer)
    expires_at = _validate(state, wanted, terms)
    pending, reserved = pending_cost(state, wanted.actor, wanted.fee_payer)
    price = terms.price
    quote = Quote(
        costs.SCHEDULE_TIMER,
        wanted.payload_bytes,
        # Whoever schedules pays no more than the basefees; the lane's is the fire's.
        Amount(
            costs.SCHEDULE_TIMER * price.cycle_burn
            + wanted.payload_bytes * price.cell_burn
        ),
        terms,
        Height(expires_at),
        load_account(state.snapshot, wanted.fee_payer).balance,
        pending,
        reserved,
        warnings=(),
    )
    live = count_of(state.snapshot, wanted.actor)
    found = {
        Warnings.EXPIRES_BEFORE_DUE: wanted.height is not None
        and expires_at < wanted.height,
        Warnings.FEW_FIRES_FILL_A_BLOCK: terms.fires_a_block <= FEW_FIRES_A_BLOCK,
        Warnings.PAYER_CANNOT_PAY: not quote.fires_free,
        Warnings.TIMER_LIMIT_REACHED: live >= terms.config.max_timers_per_actor,
    }
    holding = tuple(warning for warning, holds in found.items() if holds)
    weight = weight_of(state, wanted.actor)
    quote = replace(quote, warnings=holding, weight_ppm=weight)
    if not weight:
        return quote
    count = PAST_BLOCKS_DEFAULT if wanted.blocks is None else wanted.blocks
    if blocks is None:
        blocks = kept_blocks(state, count)
    offered = Offered(
        terms.cycles_limit,
        weight,
        wanted.max_fee,
        wanted.max_priority,
        head_globals(state).p50_priority,
    )
    places = (past_place(block, offered) for block in islice(blocks, count))
    return replace(quote, past=tuple(places))


def _validate(state: State, wanted: QuoteRequest, terms: FireTerms) -> int:
    """When it would expire; what `schedule_timer` refuses is refused alike."""
    config, now = terms.config, state.head.height + 1
    latest = min(now + config.max_ttl_blocks, U64_MAX)
    expires_at = latest if wanted.expires_at is None else wanted.expires_at
    cap = fire_terms(state, None).cycles_limit
    limit = cap if wanted.gas_limit is None else wanted.gas_limit
    if wanted.height is not None and wanted.height <= now:
        raise InvalidQuote(
            "height", f"is above {now}, the height at which it would be scheduled"
        )
    if terms.is_owner_paying and wanted.fee_payer != wanted.actor:
        raise InvalidQuote("fee_payer", "is the actor itself under the rules in force")
    least = terms.bounds.gas_limit_min
    if not least <= limit <= cap:
        raise InvalidQuote("gas_limit", f"is from {least} to {cap}")
    if expires_at > latest:
        raise InvalidQuote("expires_at", f"is at most {latest}")
    _validate_bid(state, wanted.bid_fp)
    lane = terms.price.lane_burn
    if lane and wanted.max_fee is not None and wanted.max_fee < lane:
        raise InvalidQuote("max_fee_per_cycle", f"is at least the lane basefee {lane}")
    if not 0 <= (wanted.blocks or 0) <= PAST_BLOCKS_MAX:
        raise InvalidQuote("blocks", f"is from 0 to {PAST_BLOCKS_MAX}")
    longest = terms.bounds.payload_bytes_max
    if wanted.payload_bytes > longest:
        raise InvalidQuote("payload_bytes", f"is at most {longest}")
    return expires_at


def _validate_bid(state: State, bid_fp: int | None) -> None:
    if bid_fp is None:
        return
    bounds = load_globalbox_config(state.snapshot, state.params)
    low, high = bounds.min_bid_fp, bounds.max_bid_fp
    if not low <= bid_fp <= high:
        raise InvalidQuote("bid_fp", f"is from {low} to {high}")
