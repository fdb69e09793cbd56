"""RequestBodies: what callers send over HTTP, within bounds.

Rules: a body that is announced too large is refused before a byte of it is read, and
one that grows too large when it does. All bodies that are being received have one bound
together, so that many who send half of one hold little. A body is not compressed.
"""

import asyncio

import grpc
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web import BaseRequest, RequestPayloadError

from node.rpc.connect.call import ConnectRefusal
from node.rpc.limits import RpcLimits
from node.rpc.requests import MalformedRequest

__all__ = ["RequestBodies"]

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class RequestBodies:
    """Receives bodies of requests."""

    __slots__ = ("_limits", "_received")

    def __init__(self, limits: RpcLimits) -> None:
        self._limits = limits
        self._received = 0
        """Bytes of bodies that are not whole yet."""

    async def read(self, request: BaseRequest) -> bytes:
        """The body of a request.

        Raises:
            ConnectRefusal: It is too large, or compressed, or there is no room for it,
                or it does not come.
            MalformedRequest: It ended before its time.
        """
        for header in ("Content-Encoding", "Connect-Content-Encoding"):
            if request.headers.get(header, "identity").strip().lower() != "identity":
                raise ConnectRefusal(
                    grpc.StatusCode.UNIMPLEMENTED,
                    f"{header}: this node reads `identity` alone: send the body as "
                    "it is",
                )
        announced = request.content_length
        if announced is not None and announced > self._limits.request_bytes_max:
            raise self._too_large()
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(_CONTINUE)
        milliseconds = self._limits.receiving_ms_max
        try:
            async with asyncio.timeout(milliseconds / 1_000):
                return await self._receive(request)
        except TimeoutError:
            raise ConnectRefusal(
                grpc.StatusCode.DEADLINE_EXCEEDED,
                f"the body was not whole within {milliseconds} ms",
            ) from None
        except (RequestPayloadError, HttpProcessingError):
            raise MalformedRequest("the body ended before its time") from None

    async def _receive(self, request: BaseRequest) -> bytes:
        limits, body = self._limits, bytearray()
        try:
            async for part in request.content.iter_any():
                body += part
                self._received += len(part)
                if len(body) > limits.request_bytes_max:
                    raise self._too_large()
                if self._received > limits.receiving_bytes_max:
                    raise ConnectRefusal(
                        grpc.StatusCode.RESOURCE_EXHAUSTED,
                        "requests of others are being received and leave no room: "
                        "try again in a moment",
                    )
        finally:
            self._received -= len(body)
        return bytes(body)

    def _too_large(self) -> ConnectRefusal:
        limit = self._limits.request_bytes_max
        return ConnectRefusal(
            grpc.StatusCode.RESOURCE_EXHAUSTED, f"a request has at most {limit} bytes"
        )
