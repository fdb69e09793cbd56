"""Executions that leave nothing: simulated transactions and read-only calls (D15).

They run on the same functions as a block does, over a journal that is thrown away, as
if alone in the next block; a read-only call sees the head.
"""

from collections.abc import Iterable
from contextlib import suppress
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from node.chain.accounts import Account, load_account, save_account
from node.chain.block import (
    Event,
    Price,
    ReadOnlyResult,
    Receipt,
    ReceiptKind,
)
from node.chain.context import ExecutionScope
from node.chain.errors import InvalidTransaction, TransactionFault
from node.chain.execution import execute_transaction
from node.chain.globals import derive_beacon
from node.chain.messages import Call, process_message
from node.chain.params import ZERO_ADDRESS
from node.chain.transaction import (
    Body,
    Transaction,
    decode_transaction,
    impersonate,
)
from node.chain.transition import State, begin_block
from node.chain.validation import max_cost
from node.primitives.types import NOTHING, ZERO_HASH, Address, Amount
from pvm import Environment, Meter
from pvm.errors import without_memory_errors
from pvm.output import NO_PRINTOUT, Printout

LIMIT_MARGIN_DIVISOR = 8  # an estimate adds an eighth to what was used


class Simulated(Struct, frozen=True):
    """What a transaction would have done as the only one of the next block."""

    receipt: Receipt | None
    events: tuple[Event, ...]
    refused: InvalidTransaction | None
    """Why it could not be included; then there is no receipt."""
    output: Printout = NO_PRINTOUT
    """What it would have printed (D59)."""


@without_memory_errors
def simulate_transaction(state: State, transaction: Transaction) -> Simulated:
    """The receipt that a transaction would get; nothing is kept."""
    block = begin_block(state)
    try:
        execute_transaction(block, transaction)
    except InvalidTransaction as error:
        return Simulated(None, (), error)
    receipt = block.receipts[-1]
    printed = block.outputs.get(receipt.index, NO_PRINTOUT)
    return Simulated(receipt, tuple(block.events), None, printed)


def unsigned(state: State, body: Body, sender: Address) -> tuple[State, Transaction]:
    """A state that takes a body for signed, and the transaction that it is there."""
    permissive = replace(state, params=replace(state.params, dev=True))
    return permissive, decode_transaction(impersonate(body.encode(), sender))


@without_memory_errors
def estimate_limits(
    state: State, body: Body, sender: Address, earlier: Iterable[Transaction] = ()
) -> tuple[int, int]:
    """Cycles and cells that suffice, found by executing with a block's whole limits.

    An eighth is added to what was used, rounded up: use may differ a little in
    another block. The sender's funds are not looked at. Transactions that are to be in
    the block before it are executed first; one that cannot be is left out.

    Raises:
        InvalidTransaction: it could not be included for another reason.
    """
    params = replace(state.params, dev=True)
    block = begin_block(replace(state, params=params))
    for transaction in earlier:
        with suppress(InvalidTransaction):
            execute_transaction(block, transaction)
    block.user_cycles = block.cells = block.writes = 0  # all room is this one's
    prices = block.prices
    unlimited = replace(
        body,
        cycles_limit=params.lane_user_cycles,
        cells_limit=params.transaction_cells_max,
        max_fee_per_cycle=prices.basefee_cycle,
        max_priority_fee_per_cycle=NOTHING,
        max_fee_per_cell=prices.basefee_cell,
        max_priority_fee_per_cell=NOTHING,
    )
    raw = impersonate(unlimited.encode(), sender)
    transaction = decode_transaction(raw)
    account = load_account(block.journal, sender)
    _refuse_unaffordable_amount(account, transaction)
    advance = max_cost(transaction)
    rich = replace(account, balance=Amount(account.balance + advance))
    save_account(block.journal, sender, rich)
    execute_transaction(block, transaction)
    receipt = block.receipts[-1]
    stated = replace(
        body,
        cycles_limit=unlimited.cycles_limit,
        cells_limit=unlimited.cells_limit,
    )
    longer = max(0, len(stated.encode()) - transaction.body_bytes)  # a cell a byte
    cycles = receipt.cycles_used + receipt.cycles_held
    cells = receipt.cells_used + receipt.cells_held + longer
    return (
        _with_margin(cycles, params.lane_user_cycles),
        _with_margin(cells, params.transaction_cells_max),
    )


def _refuse_unaffordable_amount(account: Account, transaction: Transaction) -> None:
    """What is moved must be there; fees are advanced for the estimate."""
    if account.balance < transaction.amount:
        raise InvalidTransaction(
            TransactionFault.INSUFFICIENT_BALANCE,
            f"{transaction.amount} base units are to be moved, the sender has "
            f"{account.balance}",
            {"required": transaction.amount, "available": account.balance},
        )


def _with_margin(used: int, maximum: int) -> int:
    return min(maximum, used + -(-used // LIMIT_MARGIN_DIVISOR))


@without_memory_errors
def call_read_only(
    state: State,
    actor: Address,
    handler: str,
    payload: bytes,
    sender: Address = ZERO_ADDRESS,
) -> ReadOnlyResult:
    """A handler's answer at the head; mutating host calls halt (D15).

    It may use one block's user lane of cycles. The actor must exist.
    """
    block = begin_block(state)
    head = state.head
    block.environment = Environment(
        chain_id=state.params.chain_id,
        height=head.height,
        timestamp_ms=head.timestamp_ms,
        beacon=partial(derive_beacon, state.params.chain_id, head.height),
    )
    zero = Amount(0)
    execution = ExecutionScope(
        block=block,
        kind=ReceiptKind.AGENT,
        origin=ZERO_HASH,
        payer=sender,
        price=Price(zero, zero, zero, zero),
        signer=None,
    )
    meter = Meter(
        state.params.lane_user_cycles, state.params.block_cells, read_only=True
    )
    outcome = process_message(
        execution, Call(actor, sender, (handler,), payload), meter
    )
    printed = NO_PRINTOUT if execution.output is None else execution.output.output()
    return ReadOnlyResult(
        outcome.value, outcome.failure, meter.cycles_used, meter.cells_used, printed
    )
