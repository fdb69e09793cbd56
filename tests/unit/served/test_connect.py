"""The Connect protocol, as plain HTTP: what is answered, refused, and survived."""

import asyncio
import base64
import json
import socket
import threading
from contextlib import closing

import pytest
from google.rpc.error_details_pb2 import ErrorInfo

from node.client import AsyncApi
from node.http import request
from node.rpc.access import Access
from node.rpc.connect import endpoint
from node.rpc.connect.call import ConnectRefusal
from node.rpc.connect.messages import as_json, from_json
from node.rpc.connect.procedures import Procedures
from node.rpc.limits import RpcLimits
from node.rpc.requests import MalformedRequest
from node.rpc.v1 import queries_pb2, streams_pb2, types_pb2
from tests.connect_client import http_exchange
from tests.unit.served.test_answers import EVENTS, shouting

QUERIES = "/cowboy.devnet.v1.QueryService"
STREAMS = "/cowboy.devnet.v1.StreamService"
JSON = {"Content-Type": "application/json"}
PROTO = {"Content-Type": "application/proto"}
JSON_STREAM = {"Content-Type": "application/connect+json"}
TOKEN = "a-token-of-a-test"
DEADLINE_SECONDS = 30


@pytest.fixture
def transport():
    return "connect"


def envelope(message, flags=0):
    return bytes((flags,)) + len(message).to_bytes(4, "big") + message


class Caller:
    """Sends requests to a node, one a connection."""

    def __init__(self, node):
        self.address = node.url.removeprefix("connect://")

    async def __call__(self, path, headers=JSON, body=b"{}", method="POST"):
        """Status, headers and body of the answer."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            status, answered, parts = await http_exchange(
                self.address, path, headers, body, method
            )
            return status, answered, b"".join([part async for part in parts])

    async def refusal(self, path, headers=JSON, body=b"{}", method="POST"):
        """Status, code and reason; "" if it is refused without one."""
        status, answered, data = await self(path, headers, body, method)
        if answered["content-type"].startswith("application/connect+"):
            assert status == 200
            assert data[:1] == b"\2", "the end, and nothing before it"
            assert int.from_bytes(data[1:5], "big") == len(data) - 5
            error = json.loads(data[5:])["error"]
        else:
            error = json.loads(data)
        assert error["message"]
        reason = ""
        for detail in error.get("details", ()):
            assert detail["type"] == "google.rpc.ErrorInfo"
            value = detail["value"] + "=" * (-len(detail["value"]) % 4)
            info = ErrorInfo.FromString(base64.b64decode(value))
            debug = detail["debug"]
            assert (debug["reason"], debug["metadata"]) == (
                *(info.reason, dict(info.metadata)),
            )
            reason = info.reason
        return status, error["code"], reason


def over_http(scenario, run_node, **options):
    async def run():
        async with run_node(**options) as node:
            await scenario(node, Caller(node))

    asyncio.run(run())


# --- what is answered ----------------------------------------------------------------


def test_a_message_is_answered_in_the_form_in_which_it_came(run_node):
    async def scenario(_node, call):
        status, headers, data = await call(f"{QUERIES}/GetStatus")
        assert (status, headers["content-type"]) == (200, "application/json")
        assert headers["x-content-type-options"] == "nosniff"
        said = json.loads(data)
        assert said["chainId"] == "100", "64 bits are a string"
        assert said["head"]["height"] == "0", "also where it is 0"
        status, headers, data = await call(f"{QUERIES}/GetStatus", PROTO, b"")
        assert (status, headers["content-type"]) == (200, "application/proto")
        answer = queries_pb2.GetStatusResponse.FromString(data)
        assert base64.b64decode(said["head"]["hash"]) == answer.head.hash

    over_http(scenario, run_node)


def test_names_of_fields_are_those_of_json_or_of_the_proto_files(run_node):
    async def scenario(_node, call):
        for name in ("includeSupply", "include_supply"):
            body = json.dumps({name: True}).encode()
            status, _, data = await call(f"{QUERIES}/GetStatus", JSON, body)
            assert (status, "supply" in json.loads(data)) == (200, True)

    over_http(scenario, run_node)


def test_a_stream_comes_in_envelopes_and_says_how_it_ended(run_node):
    async def scenario(node, call):
        body = envelope(b'{"blocks": 3}')
        status, headers, data = await call(
            "/cowboy.devnet.v1.DevService/Advance", JSON_STREAM, body
        )
        assert (status, headers["connection"]) == (200, "close")
        assert headers["content-type"] == "application/connect+json"
        messages = []
        while data:
            size = int.from_bytes(data[1:5], "big")
            messages.append((data[0], json.loads(data[5 : 5 + size])))
            data = data[5 + size :]
        *answers, (flags, end) = messages
        assert (flags, end) == (2, {})
        assert {flags for flags, _ in answers} == {0}
        assert answers[-1][1]["head"]["height"] == "3"
        assert node.engine.state.head.height == 3

    over_http(scenario, run_node)


# --- what is refused -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "headers", "body", "refusal"),
    [
        (f"{QUERIES}/GetNothing", JSON, b"{}", (501, "unimplemented", "")),
        (f"{QUERIES}/", JSON, b"{}", (501, "unimplemented", "")),
        (f"{QUERIES}/GetStatus/", JSON, b"{}", (501, "unimplemented", "")),
        ("/cowboy.devnet.v1.No/GetStatus", JSON, b"{}", (501, "unimplemented", "")),
        ("/cowboy.devnet.v1.No/No", JSON_STREAM, b"", (200, "unimplemented", "")),
        ("/cowboy.", JSON, b"{}", (404, "unimplemented", "")),
        ("/other.v1.Service/Method", JSON, b"{}", (404, "unimplemented", "")),
        (
            "/cowboy.devnet.v1.DevService/ImportBundle",
            JSON_STREAM,
            b"",
            (200, "unimplemented", ""),
        ),
        (f"{QUERIES}/GetStatus", {}, b"{}", (415, "invalid_argument", "")),
        (
            f"{QUERIES}/GetStatus",
            {"Content-Type": "text/plain"},
            b"{}",
            (415, "invalid_argument", ""),
        ),
        (
            f"{QUERIES}/GetStatus",
            {"Content-Type": "application/json; charset=latin-1"},
            b"{}",
            (415, "invalid_argument", ""),
        ),
        (
            f"{QUERIES}/GetStatus",
            {"Content-Type": "application/grpc"},
            b"{}",
            (415, "invalid_argument", ""),
        ),
        (f"{QUERIES}/GetStatus", JSON_STREAM, b"", (415, "invalid_argument", "")),
        (f"{STREAMS}/StreamBlocks", JSON, b"{}", (415, "invalid_argument", "")),
        (
            f"{QUERIES}/GetStatus",
            JSON | {"Connect-Protocol-Version": "2"},
            b"{}",
            (400, "invalid_argument", ""),
        ),
        (
            f"{QUERIES}/GetStatus",
            JSON | {"Content-Encoding": "gzip"},
            b"{}",
            (501, "unimplemented", ""),
        ),
        (
            f"{STREAMS}/StreamBlocks",
            JSON_STREAM | {"Connect-Content-Encoding": "br"},
            envelope(b"{}"),
            (200, "unimplemented", ""),
        ),
        *(
            (
                f"{QUERIES}/GetStatus",
                JSON | {"Connect-Timeout-Ms": text},
                b"{}",
                (400, "invalid_argument", "MALFORMED_REQUEST"),
            )
            for text in ("soon", "-1", "1.5", "12345678901", "")
        ),
    ],
)
def test_what_is_no_call_is_told_why(run_node, path, headers, body, refusal):
    async def scenario(_node, call):
        assert await call.refusal(path, headers, body) == refusal

    over_http(scenario, run_node)


def test_of_a_long_path_a_refusal_repeats_the_beginning():
    path = "/cowboy.devnet.v1.No/" + "N" * 1_000
    with pytest.raises(ConnectRefusal) as caught:
        Procedures({}).find(path)
    assert caught.value.message.startswith(f"{path[:100]} is of no service")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b"[]",
        b"null",
        b"1",
        b'"a"',
        b"\xff",
        b"\0" * 100,
        b'{"includeSupply": 1}',
        b'{"includeSupply": "true"}',
        b'{"nothing": 1}',
        b'{"includeSupply": true, "includeSupply": true}',
        b'{"\\ud800": 1, "\\ud800": 1}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 10_000,
        b"{} {}",
    ],
)
def test_what_is_no_json_of_the_method_is_malformed(run_node, body):
    async def scenario(_node, call):
        refusal = await call.refusal(f"{QUERIES}/GetStatus", JSON, body)
        assert refusal == (400, "invalid_argument", "MALFORMED_REQUEST")

    over_http(scenario, run_node)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"height":1,"height":2}', "duplicate key height"),
        (b'{"height":-1}', "Failed to parse height field: Value out of range: -1"),
    ],
)
def test_why_a_text_is_no_message_is_said_once(body, why):
    with pytest.raises(MalformedRequest) as caught:
        from_json(queries_pb2.GetBlockRequest, body)
    assert str(caught.value) == f"the JSON is no GetBlockRequest: {why}"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"\0\0\0\0",
        envelope(b"{}", 1),
        envelope(b"{}", 2),
        envelope(b"{}", 255),
        envelope(b"{}") + b"x",
        envelope(b"{}") * 2,
        envelope(b"{}")[:-1],
        b"\0\xff\xff\xff\xff{}",
        envelope(b"{"),
    ],
)
def test_what_is_no_envelope_is_malformed(run_node, body):
    async def scenario(node, call):
        refusal = await call.refusal(f"{STREAMS}/StreamBlocks", JSON_STREAM, body)
        assert refusal == (200, "invalid_argument", "MALFORMED_REQUEST")
        assert len(node.engine._feed) == 0

    over_http(scenario, run_node)


def test_protobuf_that_is_none_is_malformed(run_node):
    async def scenario(_node, call):
        refusal = await call.refusal(f"{QUERIES}/GetStatus", PROTO, b"\xff")
        assert refusal == (400, "invalid_argument", "MALFORMED_REQUEST")

    over_http(scenario, run_node)


def test_what_the_chain_refuses_is_refused_with_its_numbers(run_node):
    async def scenario(_node, call):
        body = b'{"height": "9"}'
        refusal = await call.refusal(f"{QUERIES}/GetBlock", JSON, body)
        assert refusal == (400, "out_of_range", "HEIGHT_NOT_REACHED")
        body = json.dumps({"address": base64.b64encode(bytes(20)).decode()}).encode()
        refusal = await call.refusal(f"{QUERIES}/GetActor", JSON, body)
        assert refusal == (404, "not_found", "ACTOR_NOT_FOUND")

    over_http(scenario, run_node)


def test_other_methods_of_http_are_not_allowed(run_node):
    async def scenario(_node, call):
        for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
            path = f"{QUERIES}/GetStatus?encoding=json&message=%7B%7D"
            status, headers, _ = await call(path, JSON, b"", method)
            assert (status, headers["allow"]) == (405, "POST")

    over_http(scenario, run_node)


def test_without_development_there_is_no_dev_service(run_node):
    async def scenario(node, call):
        refusal = await call.refusal("/cowboy.devnet.v1.DevService/Mine")
        assert refusal == (501, "unimplemented", "")
        assert node.engine.state.head.height == 0

    over_http(scenario, run_node, is_dev=False)


def test_who_lacks_the_token_is_refused_before_the_body_is_read(run_node):
    async def scenario(node, call):
        wrong = JSON | {"Authorization": "Bearer another-token-here"}
        unreadable = JSON | {"Authorization": "Bearer \udcff"}
        large = {"Content-Length": str(1 << 20)}
        for one in (JSON, wrong, unreadable, JSON | {"Authorization": TOKEN}):
            headers = one | large
            status, answered, _ = await call(f"{QUERIES}/GetStatus", headers, b"")
            assert (status, answered["www-authenticate"]) == (401, "Bearer")
        refusal = await call.refusal(f"{STREAMS}/StreamBlocks", JSON_STREAM, b"")
        assert refusal == (200, "unauthenticated", "UNAUTHENTICATED")
        headers = JSON | {"Authorization": f"Bearer {TOKEN}"}
        assert (await call(f"{QUERIES}/GetStatus", headers))[0] == 200
        assert len(node.engine._feed) == 0

    over_http(scenario, run_node, access=Access(TOKEN))


def test_a_request_that_is_too_large_is_refused_before_it_is_read(run_node):
    async def scenario(_node, call):
        refused = (429, "resource_exhausted", "")
        for announced in (1_001, 1 << 62):
            headers = JSON | {"Content-Length": str(announced)}
            refusal = await call.refusal(f"{QUERIES}/GetStatus", headers, b"")
            assert refusal == refused
        assert (await call(f"{QUERIES}/GetStatus"))[0] == 200

    over_http(scenario, run_node, limits=RpcLimits(request_bytes_max=1_000))


def test_who_still_writes_when_he_is_refused_sees_why(run_node, monkeypatch):
    """What he writes is dropped for a while: a closed connection would hide it."""
    monkeypatch.setattr(request, "_LINGER_SECONDS", DEADLINE_SECONDS)
    body = bytes(8 << 20)
    length = f"Content-Length: {len(body)}"

    async def scenario(node, _call):
        for path, status in ((f"{QUERIES}/No", b"501"), ("/No", b"404")):
            head = head_of(path, "application/json", length)
            async with asyncio.timeout(DEADLINE_SECONDS):
                reader, writer = await started(node, head, body)
                await writer.drain()
                assert (await reader.readline()).split()[1] == status
                writer.close()

    over_http(scenario, run_node)


def test_a_call_ends_when_its_caller_waits_no_longer(run_node):
    async def scenario(node, call):
        headers = JSON_STREAM | {"Connect-Timeout-Ms": "50"}
        refusal = await call.refusal(
            f"{STREAMS}/StreamBlocks", headers, envelope(b"{}")
        )
        assert refusal == (200, "deadline_exceeded", "")
        await node.until_readers(0)

    over_http(scenario, run_node)


def test_a_caller_who_goes_away_ends_the_call(run_node):
    async def scenario(node, call):
        body = envelope(streams_pb2.StreamBlocksRequest().SerializeToString())
        headers = {"Content-Type": "application/connect+proto"}
        async with asyncio.timeout(DEADLINE_SECONDS):
            _, _, parts = await http_exchange(
                call.address, f"{STREAMS}/StreamBlocks", headers, body
            )
            await node.until_readers(1)
            parts.close()
            await node.until_readers(0)

    over_http(scenario, run_node)


# --- bounds --------------------------------------------------------------------------


async def started(node, head, body=b""):
    """A connection on which the beginning of a request was sent."""
    host, port = node.url.removeprefix("connect://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(head.encode() + body)
    return reader, writer


def head_of(path, content_type, *headers):
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        f"Content-Type: {content_type}",
    ]
    return "\r\n".join((*lines, *headers, "", ""))


def test_bodies_that_are_not_whole_have_one_bound_together(run_node):
    """Half a body of many callers holds little; whoever finds no room is told."""
    head = head_of(f"{QUERIES}/GetStatus", "application/json", "Content-Length: 500")

    async def scenario(node, call):
        halves = [await started(node, head, b" " * 450) for _ in range(2)]
        async with asyncio.timeout(DEADLINE_SECONDS):
            large, status = b"{}" + b" " * 300, 200
            while status == 200:  # until both halves are received
                status, _, _ = await call(f"{QUERIES}/GetStatus", JSON, large)
            refusal = await call.refusal(f"{QUERIES}/GetStatus", JSON, large)
            assert refusal == (429, "resource_exhausted", "")
            status, _, _ = await call(f"{QUERIES}/GetStatus")
            assert status == 200, "a small one has room"
            for reader, writer in halves:
                writer.write(b" " * 48 + b"{}")
                assert b" 200 " in await reader.readline()
                writer.close()
            assert (await call(f"{QUERIES}/GetStatus"))[0] == 200

    limits = RpcLimits(request_bytes_max=1_000, receiving_bytes_max=1_000)
    over_http(scenario, run_node, limits=limits)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"3e9\r\n" + b" " * 1_001, b"429", b"resource_exhausted"),
        (b"1\r\n{\r\nx\r\n", b"400", b""),
        (b"1\r\n{\r\n0\r\n\r\n", b"400", b"invalid_argument"),
        (b"2\r\n{}\r\n0\r\n\r\n", b"200", b"chainName"),
    ],
)
def test_a_body_in_chunks_is_bounded_and_read_to_its_end(run_node, body, status, code):
    head = head_of(
        f"{QUERIES}/GetStatus", "application/json", "Transfer-Encoding: chunked"
    )

    async def scenario(node, _call):
        async with asyncio.timeout(DEADLINE_SECONDS):
            reader, writer = await started(node, head, body)
            answer = (await reader.readuntil(b"\r\n\r\n")).partition(b" ")[2]
            answer += await reader.read(100)
            writer.close()
        assert answer.startswith(status)
        assert code in answer

    over_http(scenario, run_node, limits=RpcLimits(request_bytes_max=1_000))


@pytest.mark.parametrize("beginning", [b"", b"{", b"2\r\n{}zz\r\n"])
def test_a_body_that_does_not_come_is_told(run_node, beginning):
    """So is one that breaks off in a way of which the library does not tell."""
    kind = "Transfer-Encoding: chunked" if b"\r" in beginning else "Content-Length: 2"
    head = head_of(f"{QUERIES}/GetStatus", "application/json", kind)

    async def scenario(node, _call):
        async with asyncio.timeout(DEADLINE_SECONDS):
            reader, writer = await started(node, head, beginning)
            status = (await reader.readline()).split()[1]
            answer = await reader.read()
            writer.close()
        assert status in {b"504", b"400"}
        assert b"deadline_exceeded" in answer or status == b"400"
        assert node.engine.state.head.height == 0

    over_http(scenario, run_node, limits=RpcLimits(receiving_ms_max=200))


def test_who_asks_first_is_told_to_go_on_or_why_not(run_node):
    """`Expect: 100-continue`, which curl sends before it sends much."""

    async def scenario(node, _call):
        for length, wanted in ((2, b"100"), (1_001, b"429")):
            head = head_of(
                f"{QUERIES}/GetStatus",
                "application/json",
                f"Content-Length: {length}",
                "Expect: 100-continue",
            )
            async with asyncio.timeout(DEADLINE_SECONDS):
                reader, writer = await started(node, head)
                assert (await reader.readline()).split()[1] == wanted
                if wanted == b"100":
                    writer.write(b"{}")
                    assert await reader.readline() == b"\r\n"
                    assert (await reader.readline()).split()[1] == b"200"
                writer.close()

    over_http(scenario, run_node, limits=RpcLimits(request_bytes_max=1_000))


def test_what_follows_a_stream_on_its_connection_is_dropped(run_node):
    """A caller who goes on writing makes the node keep nothing, and is noticed."""
    body = envelope(b"{}")
    head = head_of(
        f"{STREAMS}/StreamBlocks",
        "application/connect+json",
        f"Content-Length: {len(body)}",
    )

    async def scenario(node, call):
        async with asyncio.timeout(DEADLINE_SECONDS):
            reader, writer = await started(node, head, body + call_again * 100)
            assert b" 200 " in await reader.readline()
            await node.until_readers(1)
            for _ in range(20):
                writer.write(call_again * 100)
                await writer.drain()
            await call("/cowboy.devnet.v1.DevService/Mine")
            await reader.readuntil(b'"height":"1"')
            writer.close()
            await node.until_readers(0)

    call_again = head_of(f"{QUERIES}/GetStatus", "application/json").encode()
    over_http(scenario, run_node)


def test_who_takes_nothing_of_a_stream_is_let_go(run_node):
    """No ping tells of him, as gRPC's do: it ends when nothing was taken for long."""

    async def scenario(node, _call):
        async with AsyncApi(node.url) as client:
            _, genesis = await shouting(client, blocks=20)
        wanted = streams_pb2.StreamBlocksRequest(
            resume_after=genesis, view=types_pb2.BLOCK_VIEW_FULL
        )
        body = envelope(wanted.SerializeToString())
        head = head_of(
            f"{STREAMS}/StreamBlocks",
            "application/connect+proto",
            f"Content-Length: {len(body)}",
        )
        host, port = node.url.removeprefix("connect://").split(":")
        node.http._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
        with closing(socket.socket()) as caller:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            caller.setblocking(False)  # noqa: FBT003 - as the library has it
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(DEADLINE_SECONDS):
                await loop.sock_connect(caller, (host, int(port)))
                await loop.sock_sendall(caller, head.encode() + body)
                ended = "cowboy.devnet.v1.StreamService/StreamBlocks", "CANCELLED"
                while not node.stats.calls[ended]:  # noqa: ASYNC110 - nothing tells it
                    await asyncio.sleep(0)
                assert not node.server.answers.room.lent
                while node.http._handlers.connections:  # noqa: ASYNC110 - as it ends
                    await asyncio.sleep(0)

    over_http(scenario, run_node, limits=RpcLimits(stalled_ms_max=100))


def test_who_takes_nothing_of_a_large_answer_is_let_go_without_a_word(run_node, caplog):
    async def scenario(node, _call):
        async with AsyncApi(node.url) as client:
            await shouting(client)
        node.http._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
        body = get_block_of(2)
        head = head_of(
            f"{QUERIES}/GetBlock", "application/proto", f"Content-Length: {len(body)}"
        )
        asked = (head.encode() + body) * 9
        host, port = node.url.removeprefix("connect://").split(":")
        with closing(socket.socket()) as caller:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            caller.setblocking(False)  # noqa: FBT003 - as the library has it
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(DEADLINE_SECONDS):
                await loop.sock_connect(caller, (host, int(port)))
                await loop.sock_sendall(caller, asked)
                while not node.server.answers.room.lent:  # noqa: ASYNC110 - it is made
                    await asyncio.sleep(0)
                while node.http._handlers.connections:  # noqa: ASYNC110 - as it ends
                    await asyncio.sleep(0)
                assert not node.server.answers.room.lent

    over_http(scenario, run_node, limits=RpcLimits(stalled_ms_max=100))
    assert not caplog.records


def test_a_large_answer_as_json_is_made_beside_the_event_loop_and_has_room(
    run_node, monkeypatch
):
    made = []

    def watched(message, *, is_large=False):
        made.append((threading.current_thread().name, is_large))
        return as_json(message, is_large=is_large)

    async def scenario(node, call):
        async with AsyncApi(node.url) as client:
            await shouting(client)
        monkeypatch.setattr(endpoint, "as_json", watched)
        body = b'{"height": "2", "view": "BLOCK_VIEW_FULL"}'
        status, _, data = await call(f"{QUERIES}/GetBlock", JSON, body)
        assert status == 200
        ((thread, is_large),) = made
        assert (thread[:7], is_large) == ("answers", True)
        block = json.loads(data)["block"]
        answer = queries_pb2.GetBlockResponse.FromString(
            (await call(f"{QUERIES}/GetBlock", PROTO, get_block_of(2)))[2]
        )
        assert len(block["events"]) == len(answer.block.events) == EVENTS
        small = as_json(answer)
        assert json.loads(small) == json.loads(data), "in pieces as in one"
        room = node.server.answers.room
        while room.lent:  # noqa: ASYNC110 - the call ends after its answer is read
            await asyncio.sleep(0)
        with room.lend_now("json somebody", 64 << 20):
            refusal = await call.refusal(f"{QUERIES}/GetBlock", JSON, body)
            assert refusal == (429, "resource_exhausted", "ANSWERS_UNREAD")

    over_http(scenario, run_node, limits=RpcLimits(room_wait_ms=1))


def test_an_answer_too_large_for_json_can_be_had_as_protobuf(run_node):
    async def scenario(node, call):
        async with AsyncApi(node.url) as client:
            await shouting(client)
        body = b'{"height": "2", "view": "BLOCK_VIEW_FULL"}'
        refusal = await call.refusal(f"{QUERIES}/GetBlock", JSON, body)
        assert refusal == (429, "resource_exhausted", "")
        status, _, _ = await call(f"{QUERIES}/GetBlock", PROTO, get_block_of(2))
        assert status == 200
        while node.server.answers.room.lent:  # noqa: ASYNC110 - as the calls end
            await asyncio.sleep(0)

    over_http(scenario, run_node, limits=RpcLimits(json_bytes_max=30_000))


def get_block_of(height):
    request = queries_pb2.GetBlockRequest(height=height, view=types_pb2.BLOCK_VIEW_FULL)
    return request.SerializeToString()
