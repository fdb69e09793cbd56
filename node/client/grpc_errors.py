"""What gRPC raises, turned into what a client raises (`node.client.exceptions`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import grpc
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from node.client.channels import tls_trouble
from node.client.exceptions import ChainClosed, NodeError, NodeUnreachable

__all__ = ["maps_grpc_errors", "require_open"]

_STATUS_KEY = "grpc-status-details-bin"


@contextmanager
def maps_grpc_errors(url: str) -> Iterator[None]:
    """Turn what gRPC raises into what a client raises."""
    try:
        yield
    except grpc.RpcError as error:
        raise _told(error, url) from None
    except (ValueError, grpc.aio.UsageError) as error:
        if "closed" not in str(error).lower():
            raise
        raise _closed(url) from None


class Connected(Protocol):
    """A connection, as `Api` and its twin are."""

    url: str
    is_closed: bool


def require_open(connection: Connected) -> None:
    """Refuse a connection that was closed.

    Raises:
        ChainClosed: make a new one.
    """
    if connection.is_closed:
        raise _closed(connection.url)


def _closed(url: str) -> ChainClosed:
    return ChainClosed(f"the connection to {url} was closed: make a new client")


def _told(error: grpc.RpcError, url: str) -> NodeError | NodeUnreachable:
    # Both of gRPC's error classes answer these three, without a common base.
    assert isinstance(error, grpc.Call | grpc.aio.AioRpcError)
    code, details = error.code(), error.details() or ""
    for key, value in error.trailing_metadata() or ():
        if key == _STATUS_KEY and isinstance(value, bytes):
            return _from_status(Status.FromString(value), code.name)
    if code is grpc.StatusCode.UNAVAILABLE:
        return NodeUnreachable(url, tls_trouble(details) or details)
    return NodeError(code.name, details, {}, code.name)


def _from_status(status: Status, code: str) -> NodeError:
    info = ErrorInfo()
    for detail in status.details:
        if detail.Unpack(info):
            break
    return NodeError(info.reason or code, status.message, dict(info.metadata), code)
