"""How a refusal is told over HTTP: a code, a message, and details with their types.

The codes are gRPC's under other names, each with a status of HTTP (Connect protocol,
Error codes). `google.rpc.ErrorInfo` stands among the details as it does over gRPC, and
once more as plain JSON, for who reads along.
"""

import base64
import json
import logging
from collections.abc import Mapping
from types import MappingProxyType

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import ErrorInfo

from node.rpc.connect.call import ConnectRefusal
from node.rpc.errors import refusal_of

__all__ = ["as_refused", "end_of_stream", "error_document", "http_status"]

_Code = grpc.StatusCode

_HTTP_STATUSES: Mapping[grpc.StatusCode, int] = MappingProxyType(
    {
        _Code.CANCELLED: 499,
        _Code.UNKNOWN: 500,
        _Code.INVALID_ARGUMENT: 400,
        _Code.DEADLINE_EXCEEDED: 504,
        _Code.NOT_FOUND: 404,
        _Code.ALREADY_EXISTS: 409,
        _Code.PERMISSION_DENIED: 403,
        _Code.RESOURCE_EXHAUSTED: 429,
        _Code.FAILED_PRECONDITION: 400,
        _Code.ABORTED: 409,
        _Code.OUT_OF_RANGE: 400,
        _Code.UNIMPLEMENTED: 501,
        _Code.INTERNAL: 500,
        _Code.UNAVAILABLE: 503,
        _Code.DATA_LOSS: 500,
        _Code.UNAUTHENTICATED: 401,
    }
)


def http_status(refused: ConnectRefusal) -> int:
    """The status of HTTP that goes with a refusal's code."""
    return _HTTP_STATUSES[refused.code]


def as_refused(error: Exception, method: str) -> ConnectRefusal:
    """Whatever ended a call, as the table of errors tells it; a defect is logged."""
    if isinstance(error, ConnectRefusal):
        return error
    refusal = refusal_of(error)
    if refusal.code is grpc.StatusCode.INTERNAL:
        logging.getLogger(__name__).error("%s failed", method, exc_info=error)
    return ConnectRefusal(refusal.code, refusal.message, refusal.trailing_metadata())


def error_document(refused: ConnectRefusal) -> bytes:
    """A refusal as the body of an answer, JSON."""
    return _encoded(_error(refused))


def end_of_stream(refused: ConnectRefusal | None) -> bytes:
    """The last message of a stream, JSON: whether it was refused, and why."""
    return _encoded({} if refused is None else {"error": _error(refused)})


def _error(refused: ConnectRefusal) -> dict[str, object]:
    name = refused.code.name.lower()
    error: dict[str, object] = {
        "code": "canceled" if refused.code is _Code.CANCELLED else name,
        "message": refused.message,
    }
    if refused.details:
        error["details"] = [_detail(detail) for detail in refused.details]
    return error


def _detail(detail: AnyMessage) -> dict[str, object]:
    told: dict[str, object] = {
        "type": detail.TypeName(),
        "value": base64.b64encode(detail.value).rstrip(b"=").decode(),
    }
    info = ErrorInfo()
    if detail.Unpack(info):
        told["debug"] = {
            "reason": info.reason,
            "domain": info.domain,
            "metadata": dict(sorted(info.metadata.items())),
        }
    return told


def _encoded(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
