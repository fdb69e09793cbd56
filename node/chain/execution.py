"""Execution of transactions: validate → pre-charge → act → settle → receipt.

A transaction that fails keeps its nonce increment and its charge and leaves no other
trace but its receipt (D6). What one that stands did to timers and messages is in its
`ExecutionSideEffects`, which `book` takes into the block.
"""

from msgspec.structs import replace

import pvm
from node.chain.accounts import (
    Account,
    load_account,
    save_account,
    save_code,
    transfer,
)
from node.chain.block import Price, ReceiptKind
from node.chain.booking import book, take_effects
from node.chain.context import BlockContext, ExecutionScope, Mark
from node.chain.errors import InstructionRefused
from node.chain.fees import settle, transaction_price
from node.chain.messages import Call, exhausted, process_message
from node.chain.params import ZERO_ADDRESS
from node.chain.system import perform_dev, perform_system
from node.chain.transaction import (
    DeployActor,
    ExecuteActor,
    Fund,
    Instruction,
    SetBalance,
    SetCode,
    SetStorage,
    Transaction,
    Transfer,
    UpgradeActor,
)
from node.chain.upgrades import (
    UPGRADE_HANDLER,
    UPGRADED,
    install_code,
    owner_of,
    require_actor,
    require_upgradable,
)
from node.chain.validation import validate_inclusion
from node.primitives.crypto import derive_actor_address, keccak256
from node.primitives.types import ZERO_HASH, Address, Amount, Hash32
from pvm import (
    CompileError,
    Entry,
    Failure,
    HostMemoryExhausted,
    Meter,
    Outcome,
    OutOfCycles,
)
from pvm.node_charges import Charge, free

DEPLOYMENT_HANDLERS = ("deploy", "init")
NO_PRICE = Price(Amount(0), Amount(0), Amount(0), Amount(0))
_DONE = Outcome(b"", None)


def execute_transaction(block: BlockContext, transaction: Transaction) -> None:
    """Execute one transaction into `block`.

    Raises:
        InvalidTransaction: it cannot be included; nothing was changed.
    """
    sender = validate_inclusion(block, transaction)
    if transaction.is_dev:
        _execute_dev(block, transaction)
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
    """Carry out the instruction, or undo what it did; (target, handler, outcome)."""
    mark = execution.mark()
    instruction = transaction.instruction
    target, handler = _target_of(instruction)
    try:
        if isinstance(instruction, DeployActor):
            target, outcome = _deploy(execution, transaction, instruction, meter)
            handler = DEPLOYMENT_HANDLERS[0]
        else:
            outcome = _carry_out(execution, transaction, meter)
    except (InstructionRefused, CompileError) as error:
        outcome = _refused(error, handler)
    _close(execution, mark, outcome)
    return target, handler, outcome


def _refused(error: InstructionRefused | CompileError, handler: str) -> Outcome:
    if isinstance(error, CompileError):
        return Outcome(b"", pvm.source_refused(error))
    return Outcome(b"", Failure(error.kind, error.message, handler, None))


def _close(execution: ExecutionScope, mark: Mark, outcome: Outcome) -> None:
    """Keep what was done since the mark, or undo it."""
    if outcome.is_success:
        execution.commit(mark)
    else:
        execution.revert(mark)


def _target_of(instruction: Instruction) -> tuple[Address, str]:
    """Whom an instruction is about, and which handler it calls.

    A deployment has no target before its source was accepted.
    """
    match instruction:
        case ExecuteActor(actor=target, handler=handler):
            return target, handler
        case UpgradeActor(actor=target):
            return target, UPGRADE_HANDLER
        case Transfer(to=target) | Fund(to=target) | SetBalance(address=target):
            return target, ""
        case SetStorage(actor=target) | SetCode(actor=target):
            return target, ""
        case _:
            return Address(b""), ""


def _carry_out(
    execution: ExecutionScope, transaction: Transaction, meter: Meter
) -> Outcome:
    """What an instruction asks, a deployment aside."""
    instruction = transaction.instruction
    match instruction:
        case ExecuteActor():
            return _call(execution, transaction, instruction, meter)
        case UpgradeActor(actor=actor):
            require_upgradable(execution, transaction.sender, actor)
            return _upgrade(execution, instruction, meter)
        case Transfer(to, amount):
            transfer(execution.block.journal, transaction.sender, to, amount)
        case SetCode(actor, code):
            _replace_code(execution, actor, code, free)
        case Fund() | SetBalance() | SetStorage():
            perform_dev(execution, instruction)
        case DeployActor():
            raise AssertionError("a deployment is carried out apart")
        case _:
            perform_system(execution, transaction.sender, instruction)
    return _DONE


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
    _compile(execution, address, instruction.code, meter.charge_cycles)
    save_code(block.journal, code_hash, instruction.code)
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


def _upgrade(
    execution: ExecutionScope, instruction: UpgradeActor, meter: Meter
) -> Outcome:
    """Give an actor new code, and run its `upgrade` as the owner (D58)."""
    actor = instruction.actor
    owner = owner_of(execution.block.journal, actor) or ZERO_ADDRESS
    _replace_code(execution, actor, instruction.code, meter.charge_cycles)
    call = Call(
        actor, owner, (UPGRADE_HANDLER,), instruction.payload, entry=Entry.UPGRADE
    )
    return process_message(execution, call, meter)


def _call(
    execution: ExecutionScope,
    transaction: Transaction,
    instruction: ExecuteActor,
    meter: Meter,
) -> Outcome:
    """Move the value, then call the handler (D5)."""
    journal = execution.block.journal
    require_actor(journal, instruction.actor)
    transfer(journal, transaction.sender, instruction.actor, instruction.value)
    call = Call(
        instruction.actor,
        transaction.sender,
        (instruction.handler,),
        instruction.payload,
        instruction.value,
    )
    return process_message(execution, call, meter)


def upgrade_beforehand(
    block: BlockContext, actor: Address, code: bytes, payload: bytes
) -> Outcome:
    """Upgrade an actor ahead of a block's content, for a rehearsal (D58).

    Whoever owns it; nobody pays, no lane is used, and the block does not tell of it. A
    failure leaves nothing behind.
    """
    owner = owner_of(block.journal, actor) or ZERO_ADDRESS
    execution = ExecutionScope(
        block=block,
        kind=ReceiptKind.TRANSACTION,
        origin=ZERO_HASH,
        payer=owner,
        price=NO_PRICE,
        signer=owner,
    )
    meter = Meter(block.params.lane_user_cycles, block.params.transaction_cells_max)
    told = len(block.events), len(block.trace)
    wanted = UpgradeActor(actor, code, payload)
    mark = execution.mark()
    try:
        outcome = _upgrade(execution, wanted, meter)
    except (InstructionRefused, CompileError) as error:
        outcome = _refused(error, UPGRADE_HANDLER)
    _close(execution, mark, outcome)
    take_effects(execution)
    del block.events[told[0] :], block.trace[told[1] :]
    return outcome


def _replace_code(
    execution: ExecutionScope, actor: Address, code: bytes, charge: Charge
) -> None:
    """Give an actor other code at once (D58).

    Raises:
        CompileError: the source is refused.
        InstructionRefused: NotFound, SameCode or OutOfCycles.
    """
    journal = execution.block.journal
    account, code_hash = require_actor(journal, actor), Hash32(keccak256(code))
    if account.code_hash == code_hash:
        raise InstructionRefused("SameCode", "the actor has this code already")
    _compile(execution, actor, code, charge)
    execution.emit_system(UPGRADED, **install_code(journal, actor, code, code_hash))


def _compile(
    execution: ExecutionScope, actor: Address, code: bytes, charge: Charge
) -> None:
    """Compile what is to be an actor's code, which is charged (D6).

    Raises:
        CompileError: the source is refused.
        InstructionRefused: OutOfCycles.
        MemoryExhausted: this machine has no memory left.
    """
    try:
        execution.block.code_cache.get(keccak256(code), code, charge)
    except OutOfCycles as halt:
        reason = "compiling takes more cycles than are left"
        raise InstructionRefused(type(halt).__name__, reason) from None
    except HostMemoryExhausted:
        raise exhausted(execution, actor) from None


def _execute_dev(block: BlockContext, transaction: Transaction) -> None:
    """No fee, no lane; the nonce advances, also of one that fails (D41, D58)."""
    sender = load_account(block.journal, transaction.sender)
    save_account(
        block.journal, transaction.sender, replace(sender, nonce=sender.nonce + 1)
    )
    execution = ExecutionScope(
        block=block,
        kind=ReceiptKind.TRANSACTION,
        origin=transaction.id,
        payer=transaction.sender,
        price=NO_PRICE,
        signer=transaction.sender,
        nonce=transaction.body.nonce,
    )
    meter = Meter(0, 0)
    target, handler, outcome = _act(execution, transaction, meter)
    call = Call(target, transaction.sender, (handler,), b"")
    book(execution, meter, outcome, id_=transaction.id, call=call)
