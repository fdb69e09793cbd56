"""`--trace` and `--changes`: what executions did, found by executing them again.

The trees and the lists are made here, of what the node tells in numbers and bytes; what
actors say in them is shown and never obeyed.
"""

from collections.abc import Mapping
from typing import Final

import click
from msgspec import Struct

from node.cli.connection import Connection
from node.cli.formatting import failure_text, is_success
from node.client.traces import (
    changes_from_proto,
    read_trace_from_proto,
    trace_from_proto,
)
from node.query.trace.records import with_names
from node.rpc.v1 import queries_pb2, traces_pb2
from node.rpc.v1.queries_pb2_grpc import QueryServiceStub

__all__ = [
    "TRACED",
    "TraceOptions",
    "changes_option",
    "read_text",
    "tell_block",
    "tell_executions",
    "tell_timer",
    "tell_transaction",
    "trace_option",
]

trace_option = click.option(
    "--trace",
    "is_traced",
    is_flag=True,
    help="Which calls were made, and what each did.",
)
changes_option = click.option(
    "--changes",
    "are_changes_told",
    is_flag=True,
    help="Keys, balances and timers before and after.",
)


class TraceOptions(Struct, frozen=True):
    """What a command was asked to tell."""

    is_traced: bool = False
    are_changes_told: bool = False


TRACED: Final = TraceOptions(is_traced=True)


def tell_transaction(connection: Connection, id_: bytes, options: TraceOptions) -> None:
    """Of a transaction; a failed one ends the command."""
    answer = QueryServiceStub(connection.channel).TraceTransaction(
        traces_pb2.TraceTransactionRequest(id=id_), timeout=connection.timeout
    )
    if connection.output.is_json:
        connection.output.message(answer)
    else:
        tell_executions(connection, [answer.trace], options)
    if not is_success(answer.trace.receipt):
        connection.refuse(failure_text(answer.trace.receipt.error))


def tell_timer(connection: Connection, timer_id: bytes) -> None:
    """Of a timer's latest fire, and of its agent's answer before it."""
    answer = QueryServiceStub(connection.channel).TraceTimer(
        traces_pb2.TraceTimerRequest(timer_id=timer_id), timeout=connection.timeout
    )
    if connection.output.is_json:
        connection.output.message(answer)
    else:
        tell_executions(connection, list(answer.executions), TRACED)


def tell_block(connection: Connection, height: int, options: TraceOptions) -> None:
    """Of all executions of a block, and what it changed in all."""
    answer = QueryServiceStub(connection.channel).TraceBlock(
        traces_pb2.TraceBlockRequest(height=height), timeout=connection.timeout
    )
    if connection.output.is_json:
        connection.output.message(answer)
        return
    if options.is_traced:
        tell_executions(connection, list(answer.executions), TRACED)
    if options.are_changes_told:
        changes = changes_from_proto(answer.changes)
        connection.output.line(f"{with_names(changes, connection.output.labels)}")


def tell_executions(
    connection: Connection,
    executions: list[traces_pb2.ExecutionTrace],
    options: TraceOptions,
) -> None:
    """Trees and changes of executions, one after another."""
    for one in executions:
        trace = with_names(trace_from_proto(one), connection.output.labels)
        if options.is_traced:
            connection.output.line(f"{trace}")
        if options.are_changes_told:
            connection.output.line(f"{trace.changes}")


def read_text(
    answer: queries_pb2.CallReadOnlyResponse, names: Mapping[bytes, str]
) -> str:
    """The tree of a read-only call."""
    return f"{with_names(read_trace_from_proto(answer), names)}"
