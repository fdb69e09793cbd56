"""Health as `grpc.health.v1` has it, with an end to how many may watch it.

Health is open to callers without the token, and each who watches it holds one of the
calls that there may be at a time.
"""

from typing import TypeAlias

import grpc
from grpc_health.v1 import health, health_pb2
from typing_extensions import override

from node.rpc.service import Context

__all__ = ["Health"]

_Context: TypeAlias = Context[
    health_pb2.HealthCheckRequest, health_pb2.HealthCheckResponse
]


class Health(health.aio.HealthServicer):  # type: ignore[misc] # it has no types
    """Tells the library's health to a bounded number of watchers."""

    def __init__(self, watchers_max: int) -> None:
        super().__init__()
        self._watchers_max = watchers_max
        self._watchers = 0

    @override
    async def Watch(
        self, request: health_pb2.HealthCheckRequest, context: _Context
    ) -> None:
        """The health of a service, again whenever it changes."""
        if self._watchers >= self._watchers_max:
            await context.abort(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"{self._watchers} callers watch already: use Check",
            )
        self._watchers += 1
        try:
            await super().Watch(request, context)
        finally:
            self._watchers -= 1
