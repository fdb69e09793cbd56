"""The Connect protocol, as plain HTTP: what is answered, refused, and survived."""

import asyncio
import base64
import json

import pytest
from google.rpc.error_details_pb2 import ErrorInfo

from node.rpc.access import Access
from node.rpc.limits import RpcLimits
from node.rpc.v1 import queries_pb2, streams_pb2
from tests.connect_client import http_exchange

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
        large = {"Content-Length": str(1 << 20)}
        for one in (JSON, wrong, JSON | {"Authorization": TOKEN}):
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
