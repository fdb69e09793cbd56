"""The gRPC server: one port for all services, with health and reflection.

Rules: a message over the limit is refused before it is decoded. `DevService` is not
registered on a chain without `dev`, so its methods answer UNIMPLEMENTED. Health is
NOT_SERVING for every service until `announce`, and again from `stop` on; it alone is
open to callers without the token.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from node.rpc.access import Access
from node.rpc.dev import Development
from node.rpc.guard import CallWatch, Guard
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
from node.runtime.types import Backend, CannotListen

__all__ = ["RpcServer"]

_PACKAGE = "cowboy.devnet.v1"
_SERVICES = (
    "TransactionService",
    "QueryService",
    "TimerService",
    "StreamService",
    "DevService",
)


class _Registrar:
    """What generated code sees of the server while it adds a service.

    Each service is put behind the guard. Generated code would also register each
    method by itself. For each call grpc.aio then waits on one future a method, and a
    transaction took a tenth longer; looking the method up by name costs nothing that
    can be seen.
    """

    __slots__ = ("_guard", "_server")

    def __init__(
        self,
        server: grpc.aio.Server,
        guard: Callable[[grpc.GenericRpcHandler], grpc.GenericRpcHandler],
    ) -> None:
        self._server = server
        self._guard = guard

    def add_generic_rpc_handlers(
        self, handlers: Sequence[grpc.GenericRpcHandler]
    ) -> None:
        """Add a service, whose methods are found by name."""
        self._server.add_generic_rpc_handlers(
            tuple(self._guard(handler) for handler in handlers)
        )

    def add_registered_method_handlers(
        self, service_name: str, handlers: Mapping[str, object]
    ) -> None:
        """Leave it at that."""


class RpcServer:
    """Serves a backend on one port; start it, announce it, stop it."""

    def __init__(
        self,
        backend: Backend,
        limits: RpcLimits | None = None,
        *,
        is_dev: bool,
        access: Access | None = None,
        watch: CallWatch | None = None,
    ) -> None:
        self._limits = limits or RpcLimits()
        self._access = access or Access()
        self._guard = Guard(
            self._access.token, self._limits.call_ms_max, watch or CallWatch()
        )
        self._server = grpc.aio.server(
            options=self._limits.options(),
            maximum_concurrent_rpcs=self._limits.calls_max,
        )
        self.is_announced = False
        """Whether the services serve."""
        self._health = health.aio.HealthServicer()
        self._services = [
            f"{_PACKAGE}.{name}" for name in _SERVICES if is_dev or name != "DevService"
        ]
        self._register(backend, is_dev=is_dev)

    def _register(self, backend: Backend, *, is_dev: bool) -> None:
        guard = self._guard
        server = cast("grpc.aio.Server", _Registrar(self._server, guard.watched))
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
        # A probe has no token, and learns nothing but whether the node serves.
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        admitted = cast("grpc.aio.Server", _Registrar(self._server, guard.admitted))
        names = (*self._services, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection_pb2_grpc.add_ServerReflectionServicer_to_server(
            reflection.aio.ReflectionServicer(names), admitted
        )

    async def start(self, address: str) -> int:
        """Listen on `host:port`, port 0 for a free one; the port.

        Raises:
            CannotListen: The address is taken, or not ours.
        """
        await self._tell_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        try:
            port = self._add_port(address)
        except RuntimeError as error:
            raise CannotListen(
                f"cannot listen on {address}: stop what listens there, or give "
                "another address or port 0"
            ) from error
        await self._server.start()
        return port

    def _add_port(self, address: str) -> int:
        certificate = self._access.certificate
        if certificate is None:
            return self._server.add_insecure_port(address)
        pair = (certificate.key, certificate.chain)
        return self._server.add_secure_port(
            address, grpc.ssl_server_credentials([pair])
        )

    async def announce(self) -> None:
        """Say that all services serve: the head is loaded."""
        await self._tell_health(health_pb2.HealthCheckResponse.SERVING)
        self.is_announced = True

    async def stop(self) -> None:
        """Say that nothing serves any more, let calls end, then close."""
        self.is_announced = False
        await self._health.enter_graceful_shutdown()
        await self._server.stop(self._limits.stop_grace_ms / 1_000)

    async def _tell_health(
        self, status: "health_pb2.HealthCheckResponse.ServingStatus.ValueType"
    ) -> None:
        for service in ("", *self._services):
            await self._health.set(service, status)
