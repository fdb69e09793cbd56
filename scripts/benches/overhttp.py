"""The same transfers over HTTP and over gRPC: what the Connect protocol adds to a call.

The client is this process, on uvloop, with one connection for each transport, which
stays. Over HTTP it writes requests and reads answers by itself; over gRPC it is
grpc.aio. Everything that is sent was signed before the clock starts.
"""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter

import grpc
import uvloop

from benches.nodes import Running, running_node
from benches.report import Row, Section, median, median_ratio
from benches.traffic import DEADLINE_SECONDS, Sender
from node.client.wallet import Wallet
from node.rpc.v1.transactions_pb2 import SubmitAndWaitRequest, SubmitAndWaitResponse
from node.rpc.v1.transactions_pb2_grpc import TransactionServiceStub

ROUNDS = 9
CALLS = 250
RATIO_MAX = 1.3

_PATH = "/cowboy.devnet.v1.TransactionService/SubmitAndWait"
_PROTO, _JSON = "application/proto", "application/json"

Send = Callable[[bytes], Awaitable[None]]


class _Connection:
    """HTTP/1.1 on one connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader = reader
        self._writer = writer

    async def post(self, content_type: str, body: bytes) -> bytes:
        """The body of the answer, which must be 200."""
        self._writer.write(
            f"POST {_PATH} HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: {content_type}\r\n"
            "Connect-Protocol-Version: 1\r\n"
            f"Connect-Timeout-Ms: {DEADLINE_SECONDS * 1_000}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert head.startswith("http/1.1 200 "), head
        length = int(head.partition("\r\ncontent-length: ")[2].partition("\r\n")[0])
        return await self._reader.readexactly(length)

    async def send_protobuf(self, raw: bytes) -> None:
        """A transaction, answered when it is committed."""
        request = SubmitAndWaitRequest(transaction=raw).SerializeToString()
        answer = SubmitAndWaitResponse.FromString(await self.post(_PROTO, request))
        assert answer.HasField("committed"), answer

    async def send_json(self, raw: bytes) -> None:
        """The same as JSON."""
        request = json.dumps({"transaction": base64.b64encode(raw).decode()})
        answer = json.loads(await self.post(_JSON, request.encode()))
        assert "committed" in answer, answer


def measure_http() -> Section:
    """`SubmitAndWait`, one after another, over each transport in turn."""
    with running_node("--mining", "instant") as node:
        over_grpc, protobuf, as_json = uvloop.run(_over_each(node))
    rows = []
    for name, seconds in (("protobuf", protobuf), ("JSON", as_json)):
        ratio = median_ratio(seconds, over_grpc)
        rows.append(
            Row(
                f"serial `SubmitAndWait` of transfers over HTTP, {name}",
                f"{median(seconds) * 1_000:.2f} ms = {ratio:.2f} times gRPC's",
                f"over gRPC: {median(over_grpc) * 1_000:.2f} ms",
                f"≤ {RATIO_MAX} times",
                ratio <= RATIO_MAX,
            )
        )
    method = (
        f"{ROUNDS} rounds of {CALLS} transfers over each of gRPC, HTTP with protobuf "
        "and HTTP with JSON, each sent when the one before was answered, mode "
        "`instant`: a synced block for each. One node, one connection a transport, the "
        "same deadline. A round gives the median of its calls; ratios are medians of "
        "the rounds' ratios."
    )
    return Section("Transactions over HTTP", method, tuple(rows))


async def _over_each(node: Running) -> tuple[list[float], list[float], list[float]]:
    sender = Sender(Wallet.dev(1))
    host, _, port = node.http.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    connection = _Connection(reader, writer)
    async with grpc.aio.insecure_channel(node.address) as channel:
        submit_and_wait = TransactionServiceStub(channel).SubmitAndWait

        async def send(raw: bytes) -> None:
            answer = await submit_and_wait(
                SubmitAndWaitRequest(transaction=raw), timeout=DEADLINE_SECONDS
            )
            assert answer.HasField("committed"), answer

        sends: tuple[Send, ...] = (
            send,
            connection.send_protobuf,
            connection.send_json,
        )
        samples: tuple[list[float], ...] = ([], [], [])
        for index in range(1 + ROUNDS):  # the first is to warm up
            for one, taken in zip(sends, samples, strict=True):
                seconds = await _seconds_each(one, sender.transfers(CALLS))
                if index:
                    taken.append(seconds)
    writer.close()
    return samples[0], samples[1], samples[2]


async def _seconds_each(send: Send, signed: Sequence[bytes]) -> float:
    """Of a call, the middle one of a round: some are held up by what else runs."""
    seconds = []
    for raw in signed:
        began = perf_counter()
        await send(raw)
        seconds.append(perf_counter() - began)
    return median(seconds)
