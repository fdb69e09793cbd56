"""Execution of transactions: validate → pre-charge → act → settle → receipt.

A transaction that fails keeps its nonce increment and its charge and leaves no other
trace but its receipt (D6). What one that stands did to timers and messages is in its
`ExecutionSideEffects`, which `book` takes into the block.
"""

from msgspec.structs import replace

import pvm
from node.chain.accounts import Account, load_account, save_account, transfer
from node.chain.block import Price, ReceiptKind
from node.chain.booking import book
from node.chain.context import BlockContext, ExecutionScope
from node.chain.fees import settle, transaction_price
from node.chain.messages import Call, exhausted, process_message
from node.chain.system import InstructionRefused, perform_dev, perform_system
from node.chain.transaction import (
    DEV_INSTRUCTIONS,
    DeployActor,
    ExecuteActor,
    Fund,
    SetBalance,
    Transaction,
    Transfer,
)
from node.chain.validation import validate_inclusion
from node.primitives.crypto import derive_actor_address, keccak256
from node.primitives.types import Address, Amount
from node.state import keys
from pvm import (
    CompileError,
    Entry,
    Failure,
    HostMemoryExhausted,
    Meter,
    Outcome,
    OutOfCycles,
)

DEPLOYMENT_HANDLERS = ("deploy", "init")
NO_PRICE = Price(Amount(0), Amount(0), Amount(0), Amount(0))
_DONE = Outcome(b"", None)


def execute_transaction(block: BlockContext, transaction: Transaction) -> None:
    """Execute one transaction into `block`.

    Raises:
        InvalidTransaction: it cannot be included; nothing was changed.
    """
    sender = validate_inclusion(block, transaction)
    if isinstance(transaction.instruction, DEV_INSTRUCTIONS):
        _execute_dev(block, transaction, transaction.instruction)
        return
    body = transaction.body
    price = transaction_price(
        body, block.prices.basefee_cycle, block.prices.basefee_cell
    )
    execution = ExecutionScope(
        block=block,
        kind=ReceiptKind.TRANSACTION,
        origin=transaction.id,
        payer=transaction.sender,
        price=price,
        signer=transaction.sender,
        nonce=body.nonce,
    )
    _pre_charge(block, transaction, sender, price)
    meter = Meter(body.cycles_limit, body.cells_limit)
    meter.charge_cycles(transaction.intrinsic_cycles)
    meter.charge_cells(transaction.intrinsic_cells)
    actor, handler, outcome = _act(execution, transaction, meter)
    settle(block, transaction.sender, price, meter)
    book(
        execution,
        meter,
        outcome,
        id_=transaction.id,
        call=Call(actor, transaction.sender, (handler,), b""),
    )


def _pre_charge(
    block: BlockContext, transaction: Transaction, sender: Account, price: Price
) -> None:
    """Debit limit times price and count the nonce (D5)."""
    body = transaction.body
    charge = price.cost(body.cycles_limit, body.cells_limit)
    assert sender.balance >= charge, "validation lets in who can pay the maximum"
    save_account(
        block.journal,
        transaction.sender,
        replace(sender, balance=sender.balance - charge, nonce=sender.nonce + 1),
    )


def _act(
    execution: ExecutionScope, transaction: Transaction, meter: Meter
) -> tuple[Address, str, Outcome]:
    """Carry out the instruction; (target, handler, outcome)."""
    mark = execution.mark()
    instruction = transaction.instruction
    target = Address(b"")
    handler = ""
    try:
        match instruction:
            case ExecuteActor():
                target, handler = instruction.actor, instruction.handler
                outcome = _call(execution, transaction, instruction, meter)
            case Transfer(to, amount):
                target = to
                transfer(execution.block.journal, transaction.sender, to, amount)
                outcome = _DONE
            case DeployActor():
                target, outcome = _deploy(execution, transaction, instruction, meter)
                handler = DEPLOYMENT_HANDLERS[0]
            case Fund() | SetBalance():
                raise AssertionError("development instructions are executed apart")
            case _:
                perform_system(execution, transaction.sender, instruction)
                outcome = _DONE
    except InstructionRefused as error:
        outcome = Outcome(b"", Failure(error.kind, error.message, handler, None))
    except CompileError as error:
        outcome = Outcome(b"", pvm.source_refused(error))
    if outcome.is_success:
        execution.commit(mark)
    else:
        execution.revert(mark)
    return target, handler, outcome


def _deploy(
    execution: ExecutionScope,
    transaction: Transaction,
    instruction: DeployActor,
    meter: Meter,
) -> tuple[Address, Outcome]:
    """Create an actor at its derived address and run `deploy`, else `init` (D9)."""
    block = execution.block
    code_hash = keccak256(instruction.code)
    address = derive_actor_address(transaction.sender, instruction.salt, code_hash)
    account = load_account(block.journal, address)
    if account.is_actor:
        raise InstructionRefused(
            "AlreadyDeployed",
            "this deployer has this code at this salt already; choose another salt",
        )
    try:
        block.code_cache.get(code_hash, instruction.code, meter.charge_cycles)
    except OutOfCycles as halt:
        reason = "compiling takes more cycles than are left"
        raise InstructionRefused(type(halt).__name__, reason) from None
    except HostMemoryExhausted:
        raise exhausted(execution, address) from None
    block.journal.put(keys.code(code_hash), instruction.code)
    save_account(
        block.journal,
        address,
        replace(account, code_hash=code_hash, deployer=transaction.sender),
    )
    transfer(block.journal, transaction.sender, address, instruction.value)
    call = Call(
        address,
        transaction.sender,
        DEPLOYMENT_HANDLERS,
        instruction.payload,
        instruction.value,
        Entry.DEPLOYMENT,
    )
    return address, process_message(execution, call, meter)


def _call(
    execution: ExecutionScope,
    transaction: Transaction,
    instruction: ExecuteActor,
    meter: Meter,
) -> Outcome:
    """Move the value, then call the handler (D5)."""
    journal = execution.block.journal
    if not load_account(journal, instruction.actor).is_actor:
        raise InstructionRefused("NotFound", "no actor lives at this address")
    transfer(journal, transaction.sender, instruction.actor, instruction.value)
    call = Call(
        instruction.actor,
        transaction.sender,
        (instruction.handler,),
        instruction.payload,
        instruction.value,
    )
    return process_message(execution, call, meter)


def _execute_dev(
    block: BlockContext, transaction: Transaction, instruction: Fund | SetBalance
) -> None:
    """Mint or take: no fee, no lane; the nonce advances (D41)."""
    sender = load_account(block.journal, transaction.sender)
    save_account(
        block.journal, transaction.sender, replace(sender, nonce=sender.nonce + 1)
    )
    target = perform_dev(block, instruction)
    execution = ExecutionScope(
        block=block,
        kind=ReceiptKind.TRANSACTION,
        origin=transaction.id,
        payer=transaction.sender,
        price=NO_PRICE,
        signer=transaction.sender,
        nonce=transaction.body.nonce,
    )
    book(
        execution,
        Meter(0, 0),
        _DONE,
        id_=transaction.id,
        call=Call(target, transaction.sender, ("",), b""),
    )
