"""A call as its method sees it, where gRPC's server does not stand between.

Methods and their guard ask a call for its peer and the time that it has left, want to
be told when it has ended, and end it with a status. `ConnectCall` is that much of
gRPC's context, and nothing of it needs a server.
"""

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self, TypeAlias

import grpc
from google.rpc.status_pb2 import Status

from node.rpc.errors import STATUS_KEY

if TYPE_CHECKING:
    from google.protobuf.any_pb2 import Any as AnyMessage

__all__ = ["ConnectCall", "ConnectRefusal"]

_Metadata: TypeAlias = Sequence[tuple[str, str | bytes]]


class ConnectRefusal(Exception):  # noqa: N818 - a refusal, named like the others
    """A call that ends with a status other than OK."""

    def __init__(
        self, code: grpc.StatusCode, message: str, trailing_metadata: _Metadata = ()
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details: tuple[AnyMessage, ...] = ()
        for key, value in trailing_metadata:
            if key == STATUS_KEY and isinstance(value, bytes):
                self.details = tuple(Status.FromString(value).details)


class ConnectCall:
    """The context of one call, which ends with the `with` block that it is of."""

    __slots__ = ("_callbacks", "_code", "_deadline", "_peer")

    def __init__(self, peer: str, deadline: float | None) -> None:
        self._peer = peer
        self._deadline = deadline
        self._code: grpc.StatusCode | None = None
        self._callbacks: list[Callable[[ConnectCall], None]] = []

    def peer(self) -> str:
        """Who calls, as gRPC writes it: `ipv4:127.0.0.1:4242`."""
        return self._peer

    def time_remaining(self) -> float | None:
        """Seconds that the caller gave it, those that are left; None if none were."""
        if self._deadline is None:
            return None
        return max(0.0, self._deadline - asyncio.get_running_loop().time())

    def code(self) -> grpc.StatusCode | None:
        """How it was ended; None as long as it was not."""
        return self._code

    def add_done_callback(self, callback: "Callable[[ConnectCall], None]") -> None:
        """Have this called when the call has ended."""
        self._callbacks.append(callback)

    async def abort(
        self,
        code: grpc.StatusCode,
        details: str = "",
        trailing_metadata: _Metadata = (),
    ) -> NoReturn:
        """End the call.

        Raises:
            ConnectRefusal: Always.
        """
        self._code = code
        raise ConnectRefusal(code, details, trailing_metadata)

    def __enter__(self) -> Self:
        """The call itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Tell those who wanted to know that it has ended."""
        for callback in self._callbacks:
            callback(self)
        self._callbacks.clear()
