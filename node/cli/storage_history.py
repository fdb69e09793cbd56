"""`storage --past`: how an actor's storage came to be what it is."""

from node.cli.connection import Connection
from node.cli.formatting import receipt_kind_text
from node.cli.output import bytes_text, cbor_text, hexadecimal
from node.rpc.v1 import queries_pb2 as messages
from node.rpc.v1.queries_pb2_grpc import QueryServiceStub

__all__ = ["tell_past"]

_COLUMNS = ("height", "key", "before", "after", "by", "handler", "id")
_NONE = "-"


def tell_past(connection: Connection, actor: bytes, prefix: bytes) -> None:
    """Each change of an actor's storage, the latest first, as far as it is kept."""
    request = messages.StreamStorageHistoryRequest(actor=actor, prefix=prefix)
    stream = QueryServiceStub(connection.channel).StreamStorageHistory(request)
    rows, end = [], messages.StorageHistoryEnd()
    for message in stream:
        if connection.output.is_json:
            connection.output.message(message)
        elif message.HasField("change"):
            rows.append(_row(message.change))
        else:
            end = message.end
    if connection.output.is_json:
        return
    connection.output.table("", _COLUMNS, rows)
    if end.stop == messages.HISTORY_STOP_NOT_KEPT:
        place = f"{end.next_to_height:,}"
        connection.output.aside(f"the states before block {place} are not kept")
    elif end.stop == messages.HISTORY_STOP_BOUND:
        place = f"{end.next_to_height:,}"
        connection.output.aside(f"there may be more: it ends above block {place}")


def _row(change: messages.StorageHistoryChange) -> tuple[str, ...]:
    is_named = change.HasField("name")
    text = cbor_text if is_named else bytes_text
    return (
        f"{change.height:,}",
        change.name if is_named else bytes_text(change.key),
        text(change.before) if change.HasField("before") else _NONE,
        text(change.after) if change.HasField("after") else _NONE,
        receipt_kind_text(change.kind),
        change.handler,
        hexadecimal(change.id),
    )
