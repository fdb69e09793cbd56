"""What a client raises: the node's refusals, typed, and a node that does not answer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import grpc
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from node.client.exceptions import ChainClosed

__all__ = [
    "NodeError",
    "NodeUnreachable",
    "OutcomeUnknown",
    "TransactionDropped",
    "errors_told",
    "require_open",
]

_STATUS_KEY = "grpc-status-details-bin"


class NodeError(Exception):
    """The node refuses a call."""

    def __init__(
        self, reason: str, message: str, metadata: Mapping[str, str], code: str
    ) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        """Stable name, as `NONCE_USED`; of what gRPC refuses itself, the status."""
        self.message = message
        """What happened, why, and what to do."""
        self.metadata = dict(metadata)
        """The numbers compared, as decimal strings."""
        self.code = code
        """Name of the gRPC status, as `FAILED_PRECONDITION`."""


class NodeUnreachable(Exception):  # noqa: N818 - a condition, not a defect
    """No node answers."""

    def __init__(self, url: str, detail: str) -> None:
        super().__init__(
            f"no node answers at {url} ({detail}): start one with `cowboy-devnet "
            "start`, or give another address"
        )
        self.url = url


class TransactionDropped(Exception):  # noqa: N818
    """A transaction was admitted, but left the pool without a block."""

    def __init__(
        self, transaction_id: bytes, reason: str, message: str, metadata: dict[str, str]
    ) -> None:
        super().__init__(f"{reason}: {message}")
        self.transaction_id = transaction_id
        self.reason = reason
        """Stable name; `REVERTED` when the chain was rewound."""
        self.message = message
        self.metadata = metadata


class OutcomeUnknown(Exception):  # noqa: N818
    """A transaction was sent, but nobody said what became of it.

    It may be in a block, or come into one. Ask by its id: `wait_for(transaction_id)`.
    """

    def __init__(self, transaction_id: bytes, cause: Exception) -> None:
        super().__init__(
            f"transaction 0x{transaction_id.hex()} was sent, but what became of it is "
            f"not known: ask again by this id ({cause})"
        )
        self.transaction_id = transaction_id


@contextmanager
def errors_told(url: str) -> Iterator[None]:
    """Turn what gRPC raises into what this module has."""
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


class Client(Protocol):
    """A client over a connection."""

    @property
    def api(self) -> Connected:
        """The connection."""
        ...


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
        return NodeUnreachable(url, details)
    return NodeError(code.name, details, {}, code.name)


def _from_status(status: Status, code: str) -> NodeError:
    info = ErrorInfo()
    for detail in status.details:
        if detail.Unpack(info):
            break
    return NodeError(info.reason or code, status.message, dict(info.metadata), code)
