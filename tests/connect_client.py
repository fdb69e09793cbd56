"""A channel that speaks the Connect protocol where gRPC's is expected.

The stubs of the generated code and the clients above them work over it as over gRPC's,
so that one suite of tests holds for both. It is written from the protocol's reference
and shares no code with the node; each call has a connection of its own. Calls take
turns in writing JSON and protobuf.
"""

import asyncio
import base64
import json
from itertools import count

import grpc
from google.protobuf import json_format
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.status_pb2 import Status

CODES = {code.name.lower(): code for code in grpc.StatusCode} | {
    "canceled": grpc.StatusCode.CANCELLED
}


async def http_exchange(address, path, headers, body, method="POST"):
    """Status, headers and the parts of the body that come back for a request."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        lines = [f"{method} {path} HTTP/1.1", f"Host: {address}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if "Content-Length" not in headers:
            lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join((*lines, "", "")).encode(errors="surrogateescape")
        writer.write(head + body)
        status = int((await reader.readuntil(b"\r\n")).split()[1])
        answered = {}
        while line := (await reader.readuntil(b"\r\n")).strip().decode():
            name, _, value = line.partition(":")
            answered[name.lower()] = value.strip()
    except BaseException:
        writer.close()
        raise
    return status, answered, _Parts(reader, writer, answered)


class _Parts:
    """The parts of a body, as they come."""

    def __init__(self, reader, writer, headers):
        self.reader, self.writer = reader, writer
        is_chunked = headers.get("transfer-encoding") == "chunked"
        self.size = None if is_chunked else int(headers.get("content-length", 0))

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self.size is None:
            size = int(await self.reader.readuntil(b"\r\n"), 16)
            part = (await self.reader.readexactly(size + 2))[:-2]
        else:
            part, self.size = await self.reader.readexactly(self.size), 0
        if not part:
            self.close()
            raise StopAsyncIteration
        return part

    def close(self):
        """Go away."""
        self.writer.close()


def refused(error):
    """What gRPC's client raises, of an error in JSON."""
    status = Status(message=error.get("message", ""))
    for detail in error.get("details", ()):
        value = base64.b64decode(detail["value"] + "=" * (-len(detail["value"]) % 4))
        type_url = f"type.googleapis.com/{detail['type']}"
        status.details.append(AnyMessage(type_url=type_url, value=value))
    trailing = grpc.aio.Metadata(
        ("grpc-status-details-bin", status.SerializeToString())
    )
    return grpc.aio.AioRpcError(
        CODES[error["code"]], grpc.aio.Metadata(), trailing, status.message
    )


class ConnectChannel:
    """Stands in for `grpc.aio.Channel`."""

    def __init__(self, address, token=None):
        self.address = address
        self.token = token
        self.turns = count()
        self.open = set()

    async def __aenter__(self):  # noqa: D105 - as Python's
        return self

    async def __aexit__(self, *_exc):  # noqa: D105 - as Python's
        await self.close()

    async def close(self):
        for task in self.open:
            task.cancel()
        await asyncio.gather(*self.open, return_exceptions=True)

    def start(self, coroutine):
        task = asyncio.ensure_future(coroutine)
        self.open.add(task)
        task.add_done_callback(self.open.discard)
        return task

    def request(self, message, metadata, timeout, *, is_raw=False):
        """Whether it is JSON, headers without a type, and the message."""
        is_json = not is_raw and next(self.turns) % 2 == 0
        headers = {"Connect-Protocol-Version": "1", **dict(metadata or ())}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if timeout is not None:
            headers["Connect-Timeout-Ms"] = str(max(1, int(timeout * 1_000)))
        if is_json:
            return True, headers, json_format.MessageToJson(message).encode()
        body = message if isinstance(message, bytes) else message.SerializeToString()
        return False, headers, body

    def unary_unary(self, path, response_deserializer=None, **_):
        async def ask(message, metadata, timeout):
            is_raw = response_deserializer is None
            is_json, headers, body = self.request(
                message, metadata, timeout, is_raw=is_raw
            )
            headers["Content-Type"] = f"application/{'json' if is_json else 'proto'}"
            status, answered, parts = await http_exchange(
                self.address, path, headers, body
            )
            data = b"".join([part async for part in parts])
            if status != 200:
                assert answered["content-type"] == "application/json"
                raise refused(json.loads(data))
            assert answered["content-type"] == headers["Content-Type"]
            if is_raw:
                return data
            kind = response_deserializer.__self__
            return json_format.Parse(data, kind()) if is_json else kind.FromString(data)

        def call(message, timeout=None, metadata=None, **_):
            return self.start(ask(message, metadata, timeout))

        return call

    def unary_stream(self, path, response_deserializer, **_):
        kind = response_deserializer.__self__

        def call(message, timeout=None, metadata=None, **_):
            is_json, headers, body = self.request(message, metadata, timeout)
            codec = "json" if is_json else "proto"
            headers["Content-Type"] = f"application/connect+{codec}"
            body = bytes(1) + len(body).to_bytes(4, "big") + body
            exchange = self.start(http_exchange(self.address, path, headers, body))
            return ConnectStream(exchange, kind, is_json)

        return call

    def stream_unary(self, _path, **_):
        def call(*_args, **_kwargs):
            raise refused({"code": "unimplemented"})

        return call


class ConnectStream:
    """Stands in for a call that is answered by a stream."""

    def __init__(self, exchange, kind, is_json):
        self.exchange, self.kind, self.is_json = exchange, kind, is_json
        self.parts = None
        self.data = b""
        self.is_over = False

    def __aiter__(self):  # noqa: D105 - as Python's
        return self

    async def __anext__(self):  # noqa: D105 - as Python's
        answer = await self.read()
        if answer is grpc.aio.EOF:
            raise StopAsyncIteration
        return answer

    async def take(self, size):
        while len(self.data) < size:
            self.data += await anext(self.parts)
        taken, self.data = self.data[:size], self.data[size:]
        return taken

    async def read(self):
        if self.is_over:
            return grpc.aio.EOF
        if self.parts is None:
            try:
                status, headers, self.parts = await self.exchange
            except asyncio.CancelledError:
                raise refused({"code": "canceled"}) from None
            assert status == 200, status
            codec = "json" if self.is_json else "proto"
            assert headers["content-type"] == f"application/connect+{codec}"
        head = await self.take(5)
        message = await self.take(int.from_bytes(head[1:], "big"))
        if head[0] == 0:
            kind = self.kind
            if self.is_json:
                return json_format.Parse(message, kind())
            return kind.FromString(message)
        assert head[0] == 2
        self.is_over = True
        assert not self.data
        assert [part async for part in self.parts] == [], "the end is the end"
        end = json.loads(message)
        if "error" in end:
            raise refused(end["error"])
        return grpc.aio.EOF

    def cancel(self):
        """End it by going away."""
        self.is_over = True
        self.exchange.cancel()
        if self.parts is not None:
            self.parts.close()
