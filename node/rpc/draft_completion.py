"""Completing a draft: what a caller left out of a transaction's body.

Everything is taken from one state, on the worker thread, so that nonce, basefees and
limits belong together.
"""

from msgspec import Struct
from msgspec.structs import replace

from node.chain.accounts import load_account
from node.chain.params import U128_MAX
from node.chain.simulation import LIMIT_MARGIN_DIVISOR, estimate_limits
from node.chain.transaction import DEV_INSTRUCTIONS, Body
from node.chain.transition import State, head_globals
from node.primitives.types import Amount
from node.rpc.requests import TransactionDraft

__all__ = ["MARGIN_PERMILLE", "Completed", "complete_draft"]

MARGIN_PERMILLE = 1_000 // LIMIT_MARGIN_DIVISOR
"""What an estimate adds to what was used, in thousandths of it."""

MAX_FEE_FACTOR = 2
"""A default max fee over the next basefee: holds for some six full blocks."""


class Completed(Struct, frozen=True):
    """A whole body, and the head for which its limits were found."""

    body: Body
    state: State


def complete_draft(state: State, draft: TransactionDraft) -> Completed:
    """Fill in what a draft leaves out; without a nonce it takes the chain's next.

    Limits are found by execution, with the chain's next nonce whatever is stated:
    what waits in the pool has not been executed yet.

    Raises:
        InvalidTransaction: It could not be included, whatever its limits.
    """
    account = load_account(state.snapshot, draft.sender)
    body = _body(state, draft, account.nonce)
    if isinstance(draft.instruction, DEV_INSTRUCTIONS):
        return Completed(body, state)
    if draft.cycles_limit is None or draft.cells_limit is None:
        probe = replace(body, nonce=account.nonce)
        cycles, cells = estimate_limits(state, probe, draft.sender)
        body = replace(
            body,
            cycles_limit=cycles if draft.cycles_limit is None else draft.cycles_limit,
            cells_limit=cells if draft.cells_limit is None else draft.cells_limit,
        )
    return Completed(body, state)


def _body(state: State, draft: TransactionDraft, nonce: int) -> Body:
    """The body with what needs no execution; development instructions are free."""
    is_free = isinstance(draft.instruction, DEV_INSTRUCTIONS)
    globals_ = head_globals(state)
    cycle, cell = draft.max_priority_fee_per_cycle, draft.max_priority_fee_per_cell
    max_cycle, max_cell = draft.max_fee_per_cycle, draft.max_fee_per_cell
    if max_cycle is None:
        max_cycle = _default_max_fee(globals_.basefee_cycle, cycle)
    if max_cell is None:
        max_cell = _default_max_fee(globals_.basefee_cell, cell)
    no_fee = Amount(0)
    return Body(
        state.params.chain_id,
        nonce if draft.nonce is None else draft.nonce,
        0 if is_free else draft.cycles_limit or 0,
        0 if is_free else draft.cells_limit or 0,
        no_fee if is_free else max_cycle,
        no_fee if is_free else cycle,
        no_fee if is_free else max_cell,
        no_fee if is_free else cell,
        draft.instruction,
    )


def _default_max_fee(basefee: Amount, priority: Amount) -> Amount:
    return Amount(min(U128_MAX, MAX_FEE_FACTOR * basefee + priority))
