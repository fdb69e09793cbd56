"""Delivery of deferred messages at the end of a block (CIP-5 §5.1, D14)."""

from node.chain.block import ReceiptKind
from node.chain.booking import book
from node.chain.context import BlockContext, ExecutionScope
from node.chain.fees import settle
from node.chain.mailbox import PendingMessage, dequeue, due_messages
from node.chain.messages import Call, process_entered
from pvm import Meter


def run_part(block: BlockContext, kind: ReceiptKind) -> None:
    """Deliver one part, engine or mailbox, in order while it fits."""
    for message in due_messages(block, kind):
        deliver(block, message)


def deliver(block: BlockContext, message: PendingMessage) -> None:
    """Run one message on its prepaid budget; the unused part goes to its payer."""
    dequeue(block.journal, message)
    execution = ExecutionScope(
        block=block,
        kind=message.kind,
        origin=message.origin,
        payer=message.payer,
        price=message.price,
        signer=None,
    )
    call = Call(message.target, message.sender, message.handlers, message.payload)
    meter = Meter(message.cycles, message.cells)
    outcome = process_entered(
        execution, call, meter, block.timer_config.fire_base_cycles
    )
    settle(block, message.payer, message.price, meter)
    book(execution, meter, outcome, id_=execution.msg_id(), call=call)
