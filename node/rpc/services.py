"""The services of the port, each imported when it is called first, or soon after.

Why: a node answers a fifth of a second sooner when it imports no simulation, no
explanation and no stream before somebody asks for one. `load_all` imports the rest
once the first callers were answered.

Rules: what is there is known at once, to reflection and health too; only the code
comes later. Each service is put behind the guard before it is loaded.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from typing_extensions import override

from node.rpc.answers import Answers
from node.rpc.limits import RpcLimits
from node.runtime.types import Backend

__all__ = [
    "PACKAGE",
    "LateService",
    "late_health",
    "late_reflection",
    "late_services",
    "load_all",
]

PACKAGE = "cowboy.devnet.v1"

_Handler: TypeAlias = "grpc.RpcMethodHandler[object, object]"
_Add: TypeAlias = Callable[[grpc.aio.Server], None]


class _Collector:
    """What generated code sees of the server while it adds a service.

    Generated code would also register each method by itself, and grpc.aio then holds
    a request open for each. Every call waits on all of them, and a transaction took a
    tenth longer; looking the method up by name costs nothing that can be seen. And a
    server that gives up by itself (see `node.rpc.server`) frees those requests while
    gRPC's core still writes to them: the process dies, at once or later.
    """

    __slots__ = ("handlers",)

    def __init__(self) -> None:
        self.handlers: list[grpc.GenericRpcHandler] = []

    def add_generic_rpc_handlers(
        self, handlers: Sequence[grpc.GenericRpcHandler]
    ) -> None:
        """Take a service, whose methods are found by name."""
        self.handlers += handlers

    def add_registered_method_handlers(
        self, service_name: str, handlers: Mapping[str, object]
    ) -> None:
        """Leave it at that."""


class LateService(grpc.GenericRpcHandler):
    """A service that is made when it is first asked for one of its methods."""

    def __init__(self, name: str, add: _Add) -> None:
        self.name = name
        """In full, as callers name it."""
        self._prefix = f"/{name}/"
        self._add = add
        self._made: grpc.GenericRpcHandler | None = None

    @override
    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> "_Handler | None":
        if not handler_call_details.method.startswith(self._prefix):
            return None
        return self.load().service(handler_call_details)

    def load(self) -> grpc.GenericRpcHandler:
        """Import and make it, if it is not."""
        if self._made is None:
            collector = _Collector()
            self._add(cast("grpc.aio.Server", collector))
            (self._made,) = collector.handlers
        return self._made


async def load_all(services: Sequence[LateService]) -> None:
    """Load what is not, and answer calls between two of them."""
    for service in services:
        service.load()
        await asyncio.sleep(0)


def late_services(
    backend: Backend, limits: RpcLimits, answers: Answers, *, is_dev: bool
) -> list[LateService]:
    """All services of a backend; `DevService` only where there is development."""
    adds: dict[str, _Add] = {
        "TransactionService": lambda server: _transactions(
            server, backend, answers, is_dev=is_dev
        ),
        "QueryService": lambda server: _queries(
            server, backend, answers, is_dev=is_dev
        ),
        "TimerService": lambda server: _timers(server, backend, answers),
        "StreamService": lambda server: _streams(server, backend, answers),
    }
    if is_dev:
        adds["DevService"] = lambda server: _development(
            server, backend, limits, answers
        )
    return [LateService(f"{PACKAGE}.{name}", add) for name, add in adds.items()]


def late_health(servicer: health.aio.HealthServicer) -> LateService:
    """Health as this servicer tells it."""

    def add(server: grpc.aio.Server) -> None:
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)

    return LateService(health.SERVICE_NAME, add)


def late_reflection(names: Sequence[str]) -> LateService:
    """The reflection of services of these names, and of itself."""
    name = "grpc.reflection.v1alpha.ServerReflection"

    def add(server: grpc.aio.Server) -> None:
        from grpc_reflection.v1alpha import (  # noqa: PLC0415 - see the top
            reflection,
            reflection_pb2_grpc,
        )

        servicer = reflection.aio.ReflectionServicer((*names, name))
        reflection_pb2_grpc.add_ServerReflectionServicer_to_server(servicer, server)

    return LateService(name, add)


def _transactions(
    server: grpc.aio.Server, backend: Backend, answers: Answers, *, is_dev: bool
) -> None:
    from node.rpc.transactions import Transactions  # noqa: PLC0415 - see the top
    from node.rpc.v1 import transactions_pb2_grpc as generated  # noqa: PLC0415

    service = Transactions(backend, answers, is_dev=is_dev)
    generated.add_TransactionServiceServicer_to_server(service, server)


def _queries(
    server: grpc.aio.Server, backend: Backend, answers: Answers, *, is_dev: bool
) -> None:
    from node.rpc.queries import Queries  # noqa: PLC0415 - see the top
    from node.rpc.v1 import queries_pb2_grpc as generated  # noqa: PLC0415

    service = Queries(backend, answers, is_dev=is_dev)
    generated.add_QueryServiceServicer_to_server(service, server)


def _timers(server: grpc.aio.Server, backend: Backend, answers: Answers) -> None:
    from node.rpc.timers import Timers  # noqa: PLC0415 - see the top
    from node.rpc.v1 import timers_pb2_grpc as generated  # noqa: PLC0415

    generated.add_TimerServiceServicer_to_server(Timers(backend, answers), server)


def _streams(server: grpc.aio.Server, backend: Backend, answers: Answers) -> None:
    from node.rpc.streams import Streams  # noqa: PLC0415 - see the top
    from node.rpc.v1 import streams_pb2_grpc as generated  # noqa: PLC0415

    generated.add_StreamServiceServicer_to_server(Streams(backend, answers), server)


def _development(
    server: grpc.aio.Server, backend: Backend, limits: RpcLimits, answers: Answers
) -> None:
    from node.rpc.dev import Development  # noqa: PLC0415 - see the top
    from node.rpc.v1 import dev_pb2_grpc as generated  # noqa: PLC0415

    service = Development(backend, limits, answers)
    generated.add_DevServiceServicer_to_server(service, server)
