"""The gRPC server: one port for all services, with health and reflection.

Rules: a message over the limit is refused before it is decoded. `DevService` is not
registered on a chain without `dev`, so its methods answer UNIMPLEMENTED. Health is
NOT_SERVING for every service until `announce`, and again from `stop` on; it alone is
open to callers without the token. A server that gave up by itself is replaced: gRPC's
ends, with its port, when a caller names a method that is not UTF-8 (grpcio 1.85).
"""

import asyncio
from collections.abc import Callable, Mapping

import grpc
from grpc_health.v1 import health, health_pb2

from node.rpc.access import Access
from node.rpc.answers import Answers
from node.rpc.guard import CallWatch, Guard
from node.rpc.health import Health
from node.rpc.limits import RpcLimits
from node.rpc.services import health_service, make_services, reflection_service
from node.runtime.types import Backend, CannotListen

__all__ = ["RpcServer", "cannot_listen"]

_LOOK_SECONDS = 0.1
"""Between two looks at whether the server still serves; a call waits no longer."""

_TRIES_MAX = 50
"""To listen on the port again: five seconds."""


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
        self.answers = Answers(self._limits)
        """Where large answers are made."""
        self._guard = Guard(
            self._access.token, self._limits, watch or CallWatch(), self.answers.room
        )
        self.is_announced = False
        """Whether the services serve."""
        self._health = Health(self._limits.health_watchers_max)
        services = make_services(backend, self._limits, self.answers, is_dev=is_dev)
        self.services: Mapping[str, grpc.GenericRpcHandler] = {
            name: self._guard.watched(handler) for name, handler in services.items()
        }
        """The services by their names in full, behind their guard."""
        self._handlers = self._behind_guard()
        self._address = ""
        self._server = self._make()

    def _behind_guard(self) -> tuple[grpc.GenericRpcHandler, ...]:
        guard = self._guard
        names = (*self.services, health.SERVICE_NAME)
        reflection = guard.admitted(reflection_service(names))
        # A probe has no token, and learns nothing but whether the node serves.
        return (*self.services.values(), reflection, health_service(self._health))

    def _make(self) -> grpc.aio.Server:
        server = grpc.aio.server(
            options=self._limits.options(),
            maximum_concurrent_rpcs=self._limits.calls_max,
        )
        server.add_generic_rpc_handlers(self._handlers)
        return server

    async def start(self, address: str) -> int:
        """Listen on `host:port`, port 0 for a free one; the port.

        Raises:
            CannotListen: The address is taken, or not ours.
        """
        await self._tell_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        try:
            port = self._add_port(address)
        except RuntimeError as error:
            raise cannot_listen(address) from error
        await self._server.start()
        self._address = f"{address.rpartition(':')[0]}:{port}"
        return port

    async def keep(self, tell: Callable[[BaseException], None]) -> None:
        """Serve until `stop`, or cancelled; `tell` is called with what ended it.

        Raises:
            CannotListen: Something else listens on the port meanwhile.
        """
        is_serving = True
        while is_serving:
            try:
                is_serving = await self._server.wait_for_termination(_LOOK_SECONDS)
            except Exception as error:  # noqa: BLE001 - whatever made the library end
                tell(error)
                await self._replace()

    async def _replace(self) -> None:
        """End what is left of the old one, and listen where callers look for it."""
        await self._end(None)
        self._server, tries = self._make(), 0
        while True:
            try:
                self._add_port(self._address)
                break
            except RuntimeError as error:
                tries += 1
                if tries == _TRIES_MAX:
                    raise cannot_listen(self._address) from error
                await asyncio.sleep(_LOOK_SECONDS)
        await self._server.start()

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
        await self._end(self._limits.stop_grace_ms / 1_000)
        self.answers.close()

    async def _end(self, grace_seconds: float | None) -> None:
        """Stop gRPC's server, which may raise once more what made it end by itself.

        Then it has begun to stop, and goes on when it is told again.
        """
        try:
            await self._server.stop(grace_seconds)
        except UnicodeDecodeError:
            await self._server.stop(grace_seconds)

    async def _tell_health(
        self, status: "health_pb2.HealthCheckResponse.ServingStatus.ValueType"
    ) -> None:
        for name in ("", *self.services):
            await self._health.set(name, status)


def cannot_listen(address: str) -> CannotListen:
    """The refusal of an address that is taken, or not ours."""
    return CannotListen(
        f"cannot listen on {address}: stop what listens there, or give another address "
        "or port 0"
    )
