"""The gRPC server: one port for all services, with health and reflection.

Rules: a message over the limit is refused before it is decoded. `DevService` is not
registered on a chain without `dev`, so its methods answer UNIMPLEMENTED. Health is
NOT_SERVING for every service until `announce`, and again from `stop` on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from node.rpc.dev import Development
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

__all__ = ["CannotListen", "RpcLimits", "RpcServer"]

_PACKAGE = "cowboy.devnet.v1"
_SERVICES = (
    "TransactionService",
    "QueryService",
    "TimerService",
    "StreamService",
    "DevService",
)


@dataclass(frozen=True, slots=True)
class RpcLimits:
    """What bounds the server; sizes in bytes, times in milliseconds."""

    request_bytes_max: int = 2 << 20
    """A transaction of 1.2 MB, and room."""
    response_bytes_max: int = 64 << 20
    """A full block's content; only GetBlock and streams come near."""
    calls_max: int = 4_096
    """Calls in progress, streams included; more are refused at once."""
    streams_per_connection_max: int = 1_024
    keepalive_ms: int = 60_000
    """Between pings to a silent client."""
    keepalive_timeout_ms: int = 20_000
    """Until a client that does not answer a ping is given up."""
    ping_interval_ms_min: int = 5_000
    """Clients that ping more often are disconnected."""
    stop_grace_ms: int = 2_000
    """For calls in progress when the server stops."""

    def options(self) -> list[tuple[str, int]]:
        """As gRPC names them."""
        return [
            ("grpc.max_receive_message_length", self.request_bytes_max),
            ("grpc.max_send_message_length", self.response_bytes_max),
            ("grpc.max_concurrent_streams", self.streams_per_connection_max),
            ("grpc.keepalive_time_ms", self.keepalive_ms),
            ("grpc.keepalive_timeout_ms", self.keepalive_timeout_ms),
            (
                "grpc.http2.min_recv_ping_interval_without_data_ms",
                self.ping_interval_ms_min,
            ),
            # Two nodes on one port would share its calls; the second must fail.
            ("grpc.so_reuseport", 0),
        ]


class CannotListen(Exception):  # noqa: N818 - a refusal, named like the others
    """The address cannot be bound; the message says what to do."""


class _Registrar:
    """What generated code sees of the server while it adds a service.

    It would also register each method by itself. For each call grpc.aio then waits on
    one future a method, and a transaction took a tenth longer; looking the method up
    by name costs nothing that can be seen.
    """

    __slots__ = ("_server",)

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server

    def add_generic_rpc_handlers(
        self, handlers: Sequence[grpc.GenericRpcHandler]
    ) -> None:
        """Add a service, whose methods are found by name."""
        self._server.add_generic_rpc_handlers(handlers)

    def add_registered_method_handlers(
        self, service_name: str, handlers: Mapping[str, object]
    ) -> None:
        """Leave it at that."""


class RpcServer:
    """Serves a backend on one port; start it, announce it, stop it."""

    def __init__(
        self, backend: Backend, limits: RpcLimits | None = None, *, is_dev: bool
    ) -> None:
        self._limits = limits or RpcLimits()
        self._server = grpc.aio.server(
            options=self._limits.options(),
            maximum_concurrent_rpcs=self._limits.calls_max,
        )
        self._health = health.aio.HealthServicer()
        self._services = [
            f"{_PACKAGE}.{name}" for name in _SERVICES if is_dev or name != "DevService"
        ]
        self._register(backend, is_dev=is_dev)

    def _register(self, backend: Backend, *, is_dev: bool) -> None:
        server = cast("grpc.aio.Server", _Registrar(self._server))
        transactions_pb2_grpc.add_TransactionServiceServicer_to_server(
            Transactions(backend, is_dev=is_dev), server
        )
        queries_pb2_grpc.add_QueryServiceServicer_to_server(
            Queries(backend, is_dev=is_dev), server
        )
        timers_pb2_grpc.add_TimerServiceServicer_to_server(Timers(backend), server)
        streams_pb2_grpc.add_StreamServiceServicer_to_server(Streams(backend), server)
        if is_dev:
            dev_pb2_grpc.add_DevServiceServicer_to_server(Development(backend), server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        names = (*self._services, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection_pb2_grpc.add_ServerReflectionServicer_to_server(
            reflection.aio.ReflectionServicer(names), server
        )

    async def start(self, address: str) -> int:
        """Listen on `host:port`, port 0 for a free one; the port.

        Raises:
            CannotListen: The address is taken, or not ours.
        """
        await self._tell_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        try:
            port = self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise CannotListen(
                f"cannot listen on {address}: stop what listens there, or give "
                "another address or port 0"
            ) from error
        await self._server.start()
        return port

    async def announce(self) -> None:
        """Say that all services serve: the head is loaded."""
        await self._tell_health(health_pb2.HealthCheckResponse.SERVING)

    async def stop(self) -> None:
        """Say that nothing serves any more, let calls end, then close."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(self._limits.stop_grace_ms / 1_000)

    async def _tell_health(
        self, status: "health_pb2.HealthCheckResponse.ServingStatus.ValueType"
    ) -> None:
        for service in ("", *self._services):
            await self._health.set(service, status)
