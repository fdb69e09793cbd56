"""Procedures: what may be called over HTTP, by the path under which it is found.

Rules: what is no method, takes a stream, or is not served by this node, is not
implemented, and the refusal says which of them. Descriptors are read when a path is
first asked for.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from msgspec import Struct

from node.rpc.connect.call import ConnectRefusal

__all__ = ["PATH_PREFIX", "Procedure", "Procedures"]

PATH_PREFIX = "/cowboy.devnet."
"""Of every path of a procedure: `/`, and the package of the .proto files."""

_SHOWN_MAX = 100
"""Characters of a path that a refusal repeats."""

_Handler: TypeAlias = "grpc.RpcMethodHandler[object, object]"


class Procedure(Struct, frozen=True):
    """A method that may be called over HTTP."""

    path: str
    """`/package.Service/Method`."""
    service: str
    request: type[Message]
    response: type[Message]
    is_stream: bool
    """Whether it answers with a stream."""


class _CallDetails(NamedTuple):
    """What a service is asked for a method with."""

    method: str
    invocation_metadata: tuple[tuple[str, str], ...]


class Procedures:
    """Finds procedures of services that stand behind their guard."""

    def __init__(self, services: Mapping[str, grpc.GenericRpcHandler]) -> None:
        self._services = services
        self._known: dict[str, Procedure] = {}

    def find(self, path: str) -> Procedure:
        """The procedure of a path.

        Raises:
            ConnectRefusal: There is none that can be called over HTTP.
        """
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._look_up(path)
        return known

    def handler(self, procedure: Procedure, authorization: str | None) -> _Handler:
        """What answers a call with bytes, or refuses one without the token."""
        metadata = () if authorization is None else (("authorization", authorization),)
        details = _CallDetails(procedure.path, metadata)
        service = self._services[procedure.service]
        found = service.service(details)  # type: ignore[arg-type] # of the same form
        assert found is not None, "what has a descriptor has a method"
        return found

    def _look_up(self, path: str) -> Procedure:
        service, _, name = path.removeprefix("/").partition("/")
        shown = path[:_SHOWN_MAX]
        if service not in self._services:
            raise _unimplemented(
                f"{shown} is of no service of this node; DevService is one of a "
                "development chain that was started without --no-dev"
            )
        descriptor = descriptor_pool.Default().FindServiceByName(service)
        method = descriptor.methods_by_name.get(name)
        if method is None:
            raise _unimplemented(f"{shown} is no method of this node")
        if method.client_streaming:
            raise _unimplemented(f"{shown} takes a stream: call it over gRPC")
        return Procedure(
            path,
            service,
            GetMessageClass(method.input_type),
            GetMessageClass(method.output_type),
            method.server_streaming,
        )


def _unimplemented(message: str) -> ConnectRefusal:
    return ConnectRefusal(grpc.StatusCode.UNIMPLEMENTED, message)
