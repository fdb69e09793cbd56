"""Validation of transactions and headers: what is refused, and what may wait (D5).

Stateless checks look at the transaction alone; inclusion checks look at the block
being made. Nothing is charged for a refused transaction.
"""

from typing import TYPE_CHECKING

from node.chain.accounts import Account, load_account
from node.chain.block import Header
from node.chain.context import BlockContext
from node.chain.errors import InvalidBlock, InvalidTransaction, TransactionFault
from node.chain.params import (
    WRITES_BEFORE_TRANSACTIONS_STOP,
    ChainParams,
)
from node.chain.transaction import Body, Transaction
from node.primitives.types import Amount

if TYPE_CHECKING:
    from node.chain.transition import State

NONCE_GAP_MAX = 64  # how far ahead a queued nonce may be (D5)


def max_cost(transaction: Transaction) -> Amount:
    """The most base units it can take from its sender; 0 of dev instructions."""
    return Amount(0) if transaction.is_dev else _max_cost(transaction)


def _max_cost(transaction: Transaction) -> Amount:
    """Of one that is no development instruction."""
    body = transaction.body
    return Amount(
        body.cycles_limit * body.max_fee_per_cycle
        + body.cells_limit * body.max_fee_per_cell
        + transaction.amount
    )


def validate_stateless(params: ChainParams, transaction: Transaction) -> None:
    """Chain id, development instructions, limits against intrinsic cost and block.

    Raises:
        InvalidTransaction: WRONG_CHAIN, NOT_DEV, LIMIT_BELOW_INTRINSIC, TOO_LARGE
            or LIMIT_ABOVE_BLOCK.
    """
    body = transaction.body
    if body.chain_id != params.chain_id:
        raise InvalidTransaction(
            TransactionFault.WRONG_CHAIN,
            f"the transaction is for chain {body.chain_id}, this is {params.chain_id}",
            {"chain_id": body.chain_id, "expected": params.chain_id},
        )
    is_dev = transaction.is_dev
    if not params.dev and (is_dev or transaction.is_impersonated):
        raise InvalidTransaction(
            TransactionFault.NOT_DEV,
            "development instructions and impersonation need a genesis with dev: true",
        )
    if is_dev:
        return
    cycles, cells = transaction.intrinsic_cycles, transaction.intrinsic_cells
    if body.cycles_limit < cycles or body.cells_limit < cells:
        raise _below_intrinsic(params, body, cycles, cells)
    if (
        body.cycles_limit > params.lane_user_cycles
        or body.cells_limit > params.transaction_cells_max
    ):
        raise InvalidTransaction(
            TransactionFault.LIMIT_ABOVE_BLOCK,
            f"a block gives transactions {params.lane_user_cycles} cycles and "
            f"{params.transaction_cells_max} cells",
            {
                "cycles_limit": body.cycles_limit,
                "cycles_max": params.lane_user_cycles,
                "cells_limit": body.cells_limit,
                "cells_max": params.transaction_cells_max,
            },
        )


def _below_intrinsic(
    params: ChainParams, body: Body, cycles: int, cells: int
) -> InvalidTransaction:
    """No limit is enough for what no block can take."""
    fault = TransactionFault.LIMIT_BELOW_INTRINSIC
    message = f"{cycles} cycles and {cells} cells are due before anything executes"
    cycles_max, cells_max = params.lane_user_cycles, params.transaction_cells_max
    if cycles > cycles_max or cells > cells_max:
        fault = TransactionFault.TOO_LARGE
        message += f", and a block has {cycles_max} and {cells_max} for it"
    numbers: dict[str, int | str] = {
        "cycles_limit": body.cycles_limit,
        "cycles_required": cycles,
        "cells_limit": body.cells_limit,
        "cells_required": cells,
    }
    return InvalidTransaction(fault, message, numbers)


def validate_admission(
    state: "State",
    transaction: Transaction,
    *,
    queued_cost: int = 0,
    nonce_gap_max: int = NONCE_GAP_MAX,
) -> None:
    """Whether the pool may take it: nonce and funds at the head (D5).

    `queued_cost` is the sum of `max_cost` of the sender's other queued transactions.

    Raises:
        InvalidTransaction: what `validate_stateless` raises, NONCE_USED,
            NONCE_TOO_FAR or INSUFFICIENT_BALANCE.
    """
    validate_stateless(state.params, transaction)
    account = load_account(state.snapshot, transaction.sender)
    nonce = transaction.body.nonce
    _refuse_used_nonce(account, nonce)
    if nonce > account.nonce + nonce_gap_max:
        raise InvalidTransaction(
            TransactionFault.NONCE_TOO_FAR,
            f"nonces up to {account.nonce + nonce_gap_max} may queue, not {nonce}",
            {"nonce": nonce, "expected": account.nonce, "gap_max": nonce_gap_max},
        )
    if not transaction.is_dev:  # it costs nothing, whatever else is queued (D41)
        _refuse_unaffordable(account, max_cost(transaction) + queued_cost)


def validate_inclusion(block: BlockContext, transaction: Transaction) -> Account:
    """Whether this block takes it now, gates in the order lane, funds, cells (D8).

    Returns the sender's account.

    Raises:
        InvalidTransaction: also NONCE_GAP, MAX_FEE_BELOW_BASEFEE and BLOCK_FULL,
            which may wait for a later block.
    """
    validate_stateless(block.params, transaction)
    account = load_account(block.journal, transaction.sender)
    body = transaction.body
    _refuse_used_nonce(account, body.nonce)
    if body.nonce > account.nonce:
        raise InvalidTransaction(
            TransactionFault.NONCE_GAP,
            f"nonce {account.nonce} comes first, this is {body.nonce}",
            {"nonce": body.nonce, "expected": account.nonce},
        )
    if block.writes >= WRITES_BEFORE_TRANSACTIONS_STOP:
        raise _block_full("state keys", block.writes, WRITES_BEFORE_TRANSACTIONS_STOP)
    if transaction.is_dev:
        return account
    _refuse_low_fee(block, body)
    if exceeds_lane(block, transaction):
        raise _block_full("cycles", block.user_cycles, block.params.lane_user_cycles)
    _refuse_unaffordable(account, _max_cost(transaction))
    if block.cells + body.cells_limit > block.params.transaction_cells_max:
        raise _block_full("cells", block.cells, block.params.transaction_cells_max)
    return account


def exceeds_lane(block: BlockContext, transaction: Transaction) -> bool:
    """Whether its limit is more than what the lane has left (D8).

    Development instructions use no lane (D41).
    """
    used = block.user_cycles + transaction.body.cycles_limit
    return used > block.params.lane_user_cycles and not transaction.is_dev


def _refuse_used_nonce(account: Account, nonce: int) -> None:
    if nonce < account.nonce:
        raise InvalidTransaction(
            TransactionFault.NONCE_USED,
            f"nonce {nonce} was used, the next one is {account.nonce}",
            {"nonce": nonce, "expected": account.nonce},
        )


def _refuse_unaffordable(account: Account, required: int) -> None:
    if account.balance < required:
        raise InvalidTransaction(
            TransactionFault.INSUFFICIENT_BALANCE,
            f"limits times maximum fees and the amount are {required} base units, "
            f"the sender has {account.balance}",
            {"required": required, "available": account.balance},
        )


def _refuse_low_fee(block: BlockContext, body: Body) -> None:
    basefee_cycle, basefee_cell = block.prices.basefee_cycle, block.prices.basefee_cell
    if body.max_fee_per_cycle < basefee_cycle or body.max_fee_per_cell < basefee_cell:
        raise InvalidTransaction(
            TransactionFault.MAX_FEE_BELOW_BASEFEE,
            f"the basefees are {basefee_cycle} a cycle and {basefee_cell} a cell",
            {
                "max_fee_per_cycle": body.max_fee_per_cycle,
                "basefee_cycle": basefee_cycle,
                "max_fee_per_cell": body.max_fee_per_cell,
                "basefee_cell": basefee_cell,
            },
        )


def _block_full(what: str, used: int, limit: int) -> InvalidTransaction:
    return InvalidTransaction(
        TransactionFault.BLOCK_FULL,
        f"the block's {what} for transactions are used up",
        {"used": used, "limit": limit},
    )


def validate_header(parent: Header, header: Header, params: ChainParams) -> None:
    """Whether a header can follow its parent; its roots are checked by executing.

    Raises:
        InvalidBlock: with the field that does not fit.
    """
    if header.span < 1:
        raise InvalidBlock(f"span is {header.span}, not at least 1")
    expected: dict[str, tuple[object, object]] = {
        "height": (header.height, parent.height + header.span),
        "parent_hash": (header.parent_hash, parent.hash()),
        "timestamp_ms": (header.timestamp_ms, params.timestamp_ms(header.height)),
        "proposer": (header.proposer, params.proposer),
    }
    for name, (value, wanted) in expected.items():
        if value != wanted:
            raise InvalidBlock(f"{name} is {_show(value)}, not {_show(wanted)}")


def require_same_header(given: Header, computed: Header) -> None:
    """Whether executing a block led where its header says.

    Raises:
        InvalidBlock: with the first field that differs.
    """
    for name in Header.__struct_fields__:
        value, wanted = getattr(given, name), getattr(computed, name)
        if value != wanted:
            raise InvalidBlock(f"{name} is {_show(value)}, computed {_show(wanted)}")


def _show(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
