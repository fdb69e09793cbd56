"""Messages: one call of one handler, with everything it does kept or undone.

checkpoint → execute → commit or revert: the same four lines for a transaction, a
fire, a deferred message and a `call_actor` inside any of them. What compiles and
executes is imported by the first of them.
"""

from typing import TYPE_CHECKING

from msgspec import Struct

import pvm
from node.chain.accounts import Account, load_account, load_code
from node.chain.block import ReceiptKind
from node.chain.context import BlockContext, ExecutionScope
from node.chain.host import ActorHost
from node.primitives.types import Address
from pvm import (
    Entry,
    Failure,
    Halt,
    HostError,
    HostErrorCode,
    HostMemoryExhausted,
    Message,
    Meter,
    Outcome,
    costs,
    reverted,
)

if TYPE_CHECKING:
    from pvm import ActorCode


class MemoryExhausted(HostMemoryExhausted):
    """This machine has no memory left for an execution of a block."""

    def __init__(
        self, height: int, kind: ReceiptKind, actor: Address, id_: bytes
    ) -> None:
        super().__init__(height, kind, actor, id_)
        self.height = height
        self.kind = kind
        self.actor = actor
        self.id = id_
        """As of its receipt, had there been one."""


def exhausted(execution: ExecutionScope, actor: Address) -> MemoryExhausted:
    """Of a top-level execution, once its frames are forgotten: this takes some, too."""
    height = execution.block.height
    return MemoryExhausted(height, execution.kind, actor, execution.id())


def forget_frames(error: BaseException) -> None:
    """Let go of what an exception's frames hold: it is what there was no memory for."""
    seen: BaseException | None = error
    while seen is not None:
        seen.__traceback__, before = None, seen.__context__
        seen.__context__, seen = None, before


class Call(Struct, frozen=True):
    """What is called, by whom, with what."""

    actor: Address
    sender: Address
    handlers: tuple[str, ...]
    payload: bytes
    value: int = 0
    entry: Entry = Entry.CALL
    is_structured: bool = False
    """Whether payload and answer are canonical CBOR of values (pvm.Message)."""


def load_actor(block: BlockContext, account: Account) -> "ActorCode":
    """Compiled code of an actor; what was accepted once always compiles."""
    cached = block.code_cache.find(account.code_hash)
    if cached is not None:
        return cached
    source = load_code(block.journal, account.code_hash)
    return block.code_cache.get(account.code_hash, source)


def process_message(
    execution: ExecutionScope, call: Call, meter: Meter, depth: int = 0
) -> Outcome:
    """Execute a handler; a failure leaves nothing behind but what the meter counted.

    The actor must exist. What a host call raised and no actor should see, such as a
    `StoreError`, is raised again.

    Raises:
        MemoryExhausted: this machine has no memory left; nothing is a result.
    """
    block = execution.block
    account = load_account(block.journal, call.actor)
    message = Message(
        environment=block.environment,
        entry=call.entry,
        actor=call.actor,
        deployer=Address(account.deployer),
        sender=call.sender,
        handlers=call.handlers,
        payload=call.payload,
        is_structured=call.is_structured,
        value=call.value,
        origin=execution.origin,
        msg_id=execution.msg_id,
        nonce=execution.nonce,
        delivery=execution.delivery if depth == 0 else None,
    )
    mark = execution.mark()
    host = ActorHost(execution, call.actor, meter, call_actor, depth)
    outcome: Outcome | None = None
    try:
        code = load_actor(block, account)
        if depth == 0 and len(call.handlers) > 1:  # of one name it is known which
            execution.handler = pvm.find_handler(code, call.handlers, call.entry) or ""
        outcome = block.execute(code, message, host, meter)
    except HostMemoryExhausted as error:
        if depth:
            raise
        forget_frames(error)
    if outcome is None:
        raise exhausted(execution, call.actor)
    if block.defect is not None:
        raise block.defect
    if outcome.is_success:
        execution.commit(mark)
    else:
        execution.revert(mark)
        meter.release_reserved()
    return outcome


def call_actor(
    caller: ActorHost, target: Address, handler: str, payload: bytes, cycles_limit: int
) -> bytes:
    """Synchronous call of another actor (D14).

    The callee gets at most the cycles and all the cells that its caller has left; what
    it used is the caller's loss, whatever came of it.

    Raises:
        HostError: HandlerNotFound.
        RevertError: the callee failed; its effects are undone.
    """
    block = caller.execution.block
    nodes = load_actor(block, load_account(block.journal, target)).nodes
    caller.meter.charge_cycles(costs.CALL_ACTOR_PER_NODE * nodes)
    limit = min(cycles_limit, caller.meter.cycles_left)
    meter = Meter(limit, caller.meter.cells_left, caller=caller.meter)
    call = Call(target, caller.actor, (handler,), payload)
    outcome = process_message(caller.execution, call, meter, caller.depth + 1)
    caller.meter.charge_cycles(meter.cycles_used)
    caller.meter.charge_cells(meter.cells_used)
    caller.meter.reserve(meter.cycles_reserved, meter.cells_reserved)
    failure = outcome.failure
    if failure is None:
        return outcome.value
    if failure.kind == HostErrorCode.HandlerNotFound.name:
        raise HostError(HostErrorCode.HandlerNotFound, failure.message)
    raise reverted(target, failure)


def process_entered(
    execution: ExecutionScope, call: Call, meter: Meter, entry_cycles: int
) -> Outcome:
    """A fire or a message: the entry charge, inside the budget, comes first (D16)."""
    try:
        meter.charge_cycles(entry_cycles)
    except Halt as halt:
        failure = Failure(
            type(halt).__name__, "the entry charge is above the limit", "", None
        )
        return Outcome(b"", failure)
    return process_message(execution, call, meter)
