"""`--prove`: what a command shows is checked against the hash of a block.

The command shows then what the proven record says, not what the node says of it, and
which block's hash that follows from. With `--json` it prints the proofs themselves.
"""

import click

from node.cli.connection import Connection
from node.cli.output import hexadecimal
from node.client.proofs import BadProof, Proven, Subject, check_proof
from node.primitives import codec
from node.rpc.v1 import types_pb2
from node.rpc.v1.queries_pb2_grpc import QueryServiceStub

__all__ = ["Prover", "prove_option", "receipt_record"]

prove_option = click.option(
    "--prove",
    "is_proven",
    is_flag=True,
    help="Check it against the hash of a block, which is shown.",
)


class Prover:
    """Asks for proofs, checks them, and remembers which blocks they led to."""

    __slots__ = ("_at_height", "_blocks", "_connection", "_service")

    def __init__(self, connection: Connection, at_height: int | None = None) -> None:
        self._at_height = at_height
        self._connection = connection
        self._service = QueryServiceStub(connection.channel)
        self._blocks: dict[bytes, int] = {}

    def prove(self, subject: Subject) -> Proven:
        """What is proven about a subject; ends the command if it is not."""
        connection = self._connection
        request = subject.request()
        if self._at_height is not None:
            request.at_height = self._at_height
        answer = self._service.GetProof(request, timeout=connection.timeout)
        try:
            proven = check_proof(subject, answer)
        except BadProof as error:
            connection.refuse(f"what the node answers is not proven: {error}")
        self._blocks[proven.block_hash] = proven.header.height
        if connection.output.is_json:
            connection.output.message(answer)
        return proven

    def tell(self, what: str) -> None:
        """Say what was proven, and from which blocks it follows."""
        if not self._connection.output.is_json:
            for block_hash, height in self._blocks.items():
                place = f"block {height} with hash {hexadecimal(block_hash)}"
                self._connection.output.line(f"proven by {place}: {what}")


def receipt_record(receipt: types_pb2.Receipt) -> bytes:
    """The bytes that a receipts root commits to, of the receipt as it is shown."""
    price = receipt.price
    parts = [
        *(price.cycle_burn, price.cycle_tip, price.cell_burn, price.cell_tip),
        price.lane_burn,
    ]
    return codec.encode(
        [
            # Kinds on the wire begin with the one that is unspecified.
            receipt.kind - types_pb2.RECEIPT_KIND_TRANSACTION,
            receipt.id,
            receipt.origin,
            receipt.sender,
            receipt.actor,
            receipt.handler,
            receipt.payer,
            receipt.cycles_limit,
            receipt.cells_limit,
            receipt.cycles_used,
            receipt.cells_used,
            [int(part) for part in parts],
            receipt.cycles_held,
            receipt.cells_held,
            receipt.value,
            receipt.error.kind if receipt.HasField("error") else "",
            list(receipt.scheduled_timer_ids),
        ]
    )
