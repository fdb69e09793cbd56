"""How the outcome of a transaction is told, and turned into an exit code."""

from node.cli.connection import Connection
from node.cli.formatting import (
    EVENT_COLUMNS,
    event_row,
    failure_text,
    is_success,
    printed_text,
    receipt_fields,
)
from node.rpc.v1 import types_pb2

__all__ = ["print_committed"]


def print_committed(
    connection: Connection,
    committed: types_pb2.CommittedTransaction,
    *,
    is_deployment: bool = False,
) -> None:
    """Show receipt and events; a failed execution ends the command.

    With `--json` the whole answer was printed already.
    """
    output, receipt = connection.output, committed.receipt
    if not output.is_json:
        output.fields("", receipt_fields(receipt, is_deployment=is_deployment))
        if receipt.HasField("output"):
            output.line(f"\nprinted\n{printed_text(receipt.output)}")
        if committed.events:
            rows = [event_row(event) for event in committed.events]
            output.table("\nevents", EVENT_COLUMNS, rows)
    if not is_success(receipt):
        connection.refuse(failure_text(receipt.error) + _way_out(receipt.error))


def _way_out(error: types_pb2.ExecutionError) -> str:
    """How the command line goes on after a failure that it has a flag for."""
    if error.kind == "AlreadyDeployed":
        return ": --salt TEXT deploys the same file at another address"
    return ""
