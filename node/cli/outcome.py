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
    instruction: types_pb2.Instruction,
) -> None:
    """Show receipt and events; a failed execution ends the command.

    With `--json` the whole answer was printed already.
    """
    is_deployment = instruction.HasField("deploy_actor")
    output, receipt = connection.output, committed.receipt
    if not output.is_json:
        output.fields("", receipt_fields(receipt, is_deployment=is_deployment))
        if receipt.HasField("output"):
            output.line(f"\nprinted\n{printed_text(receipt.output)}")
        if committed.events:
            rows = [event_row(event) for event in committed.events]
            output.table("\nevents", EVENT_COLUMNS, rows)
    if not is_success(receipt):
        way_out = _way_out(receipt.error, instruction)
        connection.refuse(failure_text(receipt.error) + way_out)


def _way_out(
    error: types_pb2.ExecutionError, instruction: types_pb2.Instruction
) -> str:
    """What the command line knows of a failure beyond what the chain says."""
    if error.kind == "AlreadyDeployed":
        return ": --salt TEXT deploys the same file at another address"
    if error.kind == "CompileError":
        from pvm import syntax_hint  # noqa: PLC0415 - half of pvm

        hint = syntax_hint(_code_of(instruction))
        return f": {hint}" if hint else ""
    return ""


def _code_of(instruction: types_pb2.Instruction) -> bytes:
    """The source that a transaction brought; empty if it was none of these."""
    match instruction.WhichOneof("kind"):
        case "deploy_actor":
            return instruction.deploy_actor.code
        case "upgrade_actor":
            return instruction.upgrade_actor.code
        case "set_code":
            return instruction.set_code.code
        case _:
            return b""
