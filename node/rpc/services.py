"""The services of the port, by the names under which callers find them."""

from collections.abc import Mapping, Sequence
from typing import cast

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from node.rpc.answers import Answers
from node.rpc.dev import Development
from node.rpc.limits import RpcLimits
from node.rpc.queries import Queries
from node.rpc.streams import Streams
from node.rpc.timers import Timers
from node.rpc.transactions import Transactions
from node.rpc.v1 import (
    dev_pb2_grpc,
    queries_pb2_grpc,
    streams_pb2_grpc,
    timers_pb2_grpc,
    transactions_pb2_grpc,
)
from node.runtime.types import Backend

__all__ = ["health_service", "make_services", "reflection_service"]


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
        self.handlers: dict[str, grpc.GenericRpcHandler] = {}
        """Service → what finds its methods."""

    def add_generic_rpc_handlers(
        self, handlers: Sequence[grpc.ServiceRpcHandler]
    ) -> None:
        """Take a service, whose methods are found by name."""
        self.handlers |= {handler.service_name(): handler for handler in handlers}

    def add_registered_method_handlers(
        self, service_name: str, handlers: Mapping[str, object]
    ) -> None:
        """Leave it at that."""


def make_services(
    backend: Backend, limits: RpcLimits, answers: Answers, *, is_dev: bool
) -> dict[str, grpc.GenericRpcHandler]:
    """All services of a backend by their names in full.

    `DevService` is one of them only where there is development.
    """
    collector = _Collector()
    server = cast("grpc.aio.Server", collector)
    transactions_pb2_grpc.add_TransactionServiceServicer_to_server(
        Transactions(backend, answers, is_dev=is_dev), server
    )
    queries_pb2_grpc.add_QueryServiceServicer_to_server(
        Queries(backend, answers, is_dev=is_dev), server
    )
    timers_pb2_grpc.add_TimerServiceServicer_to_server(Timers(backend, answers), server)
    streams_pb2_grpc.add_StreamServiceServicer_to_server(
        Streams(backend, answers), server
    )
    if is_dev:
        dev_pb2_grpc.add_DevServiceServicer_to_server(
            Development(backend, limits, answers), server
        )
    return collector.handlers


def health_service(servicer: health.aio.HealthServicer) -> grpc.GenericRpcHandler:
    """Health as this servicer tells it."""
    collector = _Collector()
    server = cast("grpc.aio.Server", collector)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    return collector.handlers[health.SERVICE_NAME]


def reflection_service(names: Sequence[str]) -> grpc.GenericRpcHandler:
    """The reflection of services of these names, and of itself."""
    collector = _Collector()
    server = cast("grpc.aio.Server", collector)
    name = reflection.SERVICE_NAME
    servicer = reflection.aio.ReflectionServicer((*names, name))
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(servicer, server)
    return collector.handlers[name]
