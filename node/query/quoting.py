"""What a timer would cost: to schedule it, to fire it, and for how long it is paid.

At the prices of the next block. Nothing is scheduled, so nothing is refused that a
schedule call alone can judge (consent of a payer, D13).
"""

from dataclasses import dataclass, replace

from node.chain.accounts import load_account
from node.chain.forecast import FireTerms, fire_terms, pending_cost
from node.chain.params import PAYLOAD_BYTES_MAX, U64_MAX
from node.chain.timers.calendar import count_of
from node.chain.transition import State
from node.primitives.types import Address, Amount, Height
from node.query.blocks import Warnings
from pvm import costs

FEW_FIRES_A_BLOCK = 3
"""So many fires with the default limit fill the lane of the presets (D8, D23)."""


class InvalidQuote(Exception):  # noqa: N818 - a refusal, named like the others
    """A schedule call with this argument would be refused."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field} {message}")
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class Wanted:
    """A timer that might be scheduled in the next block."""

    actor: Address
    fee_payer: Address
    height: int | None = None
    """When it would be due; None leaves that open."""
    gas_limit: int | None = None
    expires_at: int | None = None
    payload_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Quote:
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

    @property
    def fires_covered(self) -> int:
        """Fires, at their full cost, that the balance pays."""
        return self.balance // self.terms.max_cost

    @property
    def fires_free(self) -> int:
        """The same beside the reserves of the pending ones."""
        return max(0, self.balance - self.pending_cost) // self.terms.max_cost


def quote_timer(state: State, wanted: Wanted) -> Quote:
    """What a timer would cost if it were scheduled in the next block.

    Raises:
        InvalidQuote: the schedule call would be refused.
    """
    terms = fire_terms(state, wanted.gas_limit)
    expires_at = _validate(state, wanted, terms)
    pending, reserved = pending_cost(state, wanted.actor, wanted.fee_payer)
    price = terms.price
    quote = Quote(
        costs.SCHEDULE_TIMER,
        wanted.payload_bytes,
        price.cost(costs.SCHEDULE_TIMER, wanted.payload_bytes),
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
    return replace(quote, warnings=holding)


def _validate(state: State, wanted: Wanted, terms: FireTerms) -> int:
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
    if not config.fire_base_cycles <= limit <= cap:
        raise InvalidQuote("gas_limit", f"is from {config.fire_base_cycles} to {cap}")
    if expires_at > latest:
        raise InvalidQuote("expires_at", f"is at most {latest}")
    if wanted.payload_bytes > PAYLOAD_BYTES_MAX:
        raise InvalidQuote("payload_bytes", f"is at most {PAYLOAD_BYTES_MAX}")
    return expires_at
