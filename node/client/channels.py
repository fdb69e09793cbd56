"""Channels to a node: in the clear or with TLS, and with its token if it wants one.

A URL that begins with `https://` means TLS, trusting the system's authorities, or
those that the caller gives, which mean TLS by themselves. A token goes with every
call; without TLS it can be read on the way.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import grpc
from typing_extensions import override

from node.rpc.access import METADATA_KEY, authorization

__all__ = [
    "CHANNEL_OPTIONS",
    "Endpoint",
    "open_async_channel",
    "open_channel",
    "tls_trouble",
]

_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")

MESSAGE_BYTES_MAX = 64 << 20
"""Of an answer: a whole block may be that large."""

_SAFE_TO_REPEAT = (
    ("QueryService", ""),
    ("TimerService", ""),
    ("TransactionService", "Prepare"),
    ("TransactionService", "Simulate"),
    ("TransactionService", "EstimateLimits"),
    ("TransactionService", "SubmitAndWait"),
)
"""Reading changes nothing, the same bytes wait for the same outcome. Not `Submit`: a
client must know whether it was the first to send them."""

_RETRIES = json.dumps(
    {
        "methodConfig": [
            {
                "name": [
                    {"service": f"cowboy.devnet.v1.{service}", "method": method}
                    for service, method in _SAFE_TO_REPEAT
                ],
                "retryPolicy": {
                    "maxAttempts": 4,
                    "initialBackoff": "0.05s",
                    "maxBackoff": "0.5s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
                },
            }
        ]
    }
)
"""gRPC's own retries, within the deadline of the call. CANCELLED is the node's: its
server ended while it answered. What the caller cancels is not sent again."""

CHANNEL_OPTIONS: Sequence[tuple[str, int | str]] = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.enable_http_proxy", 0),
    ("grpc.service_config", _RETRIES),
)

_TLS_SCHEMES = ("https", "grpcs")

_TLS_TROUBLES = {
    "WRONG_VERSION_NUMBER": "what listens there does not speak TLS: leave out https:// "
    "and authorities to trust",
    "CERTIFICATE_VERIFY_FAILED": "its certificate is of no authority that is trusted "
    "here, or has expired: name its authority (--tls-ca)",
    "Hostname Verification Check failed": "its certificate is for another name than "
    "the one in the URL",
    "Tls handshake failed": "it speaks TLS in a way that is not known here",
}
"""What gRPC and OpenSSL say, in our words; the first that is found holds."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a node is, and how it wants to be called."""

    url: str
    """`host:port`, with or without a scheme."""
    tls_ca: bytes | None = None
    """Authorities to trust, PEM; None: the system's."""
    token: str | None = field(default=None, repr=False)

    @property
    def target(self) -> str:
        """`host:port`."""
        return (self.url.partition("://")[2] or self.url).rstrip("/")

    @property
    def credentials(self) -> grpc.ChannelCredentials | None:
        """For TLS; None in the clear."""
        scheme = self.url.partition("://")[0]
        if self.tls_ca is None and scheme not in _TLS_SCHEMES:
            return None
        return grpc.ssl_channel_credentials(self.tls_ca)


def tls_trouble(details: str) -> str | None:
    """Why TLS with a node failed, by what gRPC says of a call; None if it did not."""
    found = (said for theirs, said in _TLS_TROUBLES.items() if theirs in details)
    return next(found, None)


def open_channel(endpoint: Endpoint) -> grpc.Channel:
    """A channel for programs without an event loop; nothing is sent yet."""
    target, credentials = endpoint.target, endpoint.credentials
    options = list(CHANNEL_OPTIONS)
    if credentials is None:
        channel = grpc.insecure_channel(target, options)
    else:
        channel = grpc.secure_channel(target, credentials, options)
    if endpoint.token is None:
        return channel
    return grpc.intercept_channel(channel, _Token(endpoint.token))


def open_async_channel(endpoint: Endpoint) -> grpc.aio.Channel:
    """A channel for programs with an event loop; nothing is sent yet."""
    target, credentials = endpoint.target, endpoint.credentials
    options = list(CHANNEL_OPTIONS)
    token = endpoint.token
    interceptors: list[grpc.aio.ClientInterceptor] = (
        []
        if token is None
        else [
            _AsyncUnaryToken(token),
            _AsyncStreamToken(token),
            _AsyncUploadToken(token),
        ]
    )
    if credentials is None:
        return grpc.aio.insecure_channel(target, options, interceptors=interceptors)
    return grpc.aio.secure_channel(
        target, credentials, options, interceptors=interceptors
    )


# --- the token -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Details(grpc.ClientCallDetails):
    """What gRPC asks of the details of a call."""

    method: str
    timeout: float | None
    metadata: tuple[tuple[str, str | bytes], ...] | None
    credentials: grpc.CallCredentials | None
    wait_for_ready: bool | None
    compression: grpc.Compression | None


class _Token(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
):
    """Sends the token with every call."""

    def __init__(self, token: str) -> None:
        self._entry = (METADATA_KEY, authorization(token))

    def _with_token(self, details: grpc.ClientCallDetails) -> grpc.ClientCallDetails:
        metadata = (*(details.metadata or ()), self._entry)
        return _Details(
            details.method,
            details.timeout,
            metadata,
            details.credentials,
            details.wait_for_ready,
            details.compression,
        )

    @override
    def intercept_unary_unary(
        self,
        continuation: Callable[[grpc.ClientCallDetails, _Request], _Answer],
        client_call_details: grpc.ClientCallDetails,
        request: _Request,
    ) -> _Answer:
        return continuation(self._with_token(client_call_details), request)

    @override
    def intercept_unary_stream(
        self,
        continuation: Callable[[grpc.ClientCallDetails, _Request], _Answer],
        client_call_details: grpc.ClientCallDetails,
        request: _Request,
    ) -> _Answer:
        return continuation(self._with_token(client_call_details), request)

    @override
    def intercept_stream_unary(
        self,
        continuation: Callable[[grpc.ClientCallDetails, _Request], _Answer],
        client_call_details: grpc.ClientCallDetails,
        request_iterator: _Request,
    ) -> _Answer:
        return continuation(self._with_token(client_call_details), request_iterator)


def _with_token(
    details: grpc.aio.ClientCallDetails, token: str
) -> grpc.aio.ClientCallDetails:
    metadata = grpc.aio.Metadata(*(details.metadata or ()))
    metadata.add(METADATA_KEY, authorization(token))
    return grpc.aio.ClientCallDetails(
        details.method,
        details.timeout,
        metadata,
        details.credentials,
        details.wait_for_ready,
    )


class _AsyncUnaryToken(grpc.aio.UnaryUnaryClientInterceptor):
    """Sends the token with every call that has one answer."""

    def __init__(self, token: str) -> None:
        self._token = token

    @override
    async def intercept_unary_unary(
        self,
        continuation: Callable[
            [grpc.aio.ClientCallDetails, _Request], Awaitable[_Answer]
        ],
        client_call_details: grpc.aio.ClientCallDetails,
        request: _Request,
    ) -> _Answer:
        details = _with_token(client_call_details, self._token)
        return await continuation(details, request)


class _AsyncStreamToken(grpc.aio.UnaryStreamClientInterceptor):
    """Sends the token with every call that is answered by a stream."""

    def __init__(self, token: str) -> None:
        self._token = token

    @override
    async def intercept_unary_stream(
        self,
        continuation: Callable[
            [grpc.aio.ClientCallDetails, _Request], Awaitable[_Answer]
        ],
        client_call_details: grpc.aio.ClientCallDetails,
        request: _Request,
    ) -> _Answer:
        details = _with_token(client_call_details, self._token)
        return await continuation(details, request)


class _AsyncUploadToken(grpc.aio.StreamUnaryClientInterceptor):
    """Sends the token with every call that sends a stream."""

    def __init__(self, token: str) -> None:
        self._token = token

    @override
    async def intercept_stream_unary(
        self,
        continuation: Callable[
            [grpc.aio.ClientCallDetails, _Request], Awaitable[_Answer]
        ],
        client_call_details: grpc.aio.ClientCallDetails,
        request_iterator: _Request,
    ) -> _Answer:
        details = _with_token(client_call_details, self._token)
        return await continuation(details, request_iterator)
