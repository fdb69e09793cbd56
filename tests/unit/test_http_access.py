"""Who may ask the HTTP port for more than probes, and whose connection stays."""

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from aiohttp import web

from node.config import ConfigError, parse_http_access
from node.http.server import HttpPort, HttpSite, Probes
from node.rpc.access import Access
from node.runtime.settings import HttpAccess, HttpLimits
from tests.connect_client import http_exchange

DEADLINE_SECONDS = 20


@asynccontextmanager
async def serving(limits=None, access=None):
    """A port whose handler notes what is asked: `/call`, `/wait`, or `/large`."""
    node = SimpleNamespace(calls=[], waiting=0, leave=asyncio.Event())

    async def handler(request, keep):
        node.calls.append(request.path)
        if not keep():
            return web.Response(status=429)
        if request.path == "/wait":
            node.waiting += 1
            try:
                await node.leave.wait()
            finally:
                node.waiting -= 1
        if request.path == "/large":
            return web.Response(body=bytes(9 << 20))
        return web.Response(text="called")

    async def metrics(_accept):
        return b"", "text/plain"

    site = HttpSite(lambda: (handler,), access or HttpAccess())
    port = HttpPort(Probes(bool, bool, int, metrics), limits, site)
    node.http = port
    node.address = f"127.0.0.1:{port.bind('127.0.0.1', 0)}"
    try:
        await port.serve()
        async with asyncio.timeout(DEADLINE_SECONDS):
            yield node
    finally:
        node.leave.set()
        await port.close()


async def ask(node, path="/call", method="POST", **headers):
    """Status and headers of the answer."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    status, answered, parts = await http_exchange(
        node.address, path, named, b"", method
    )
    async for _ in parts:
        pass
    return status, answered


async def connected(node, request=b""):
    """A connection on which something was sent, that stays open."""
    host, port = node.address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    return reader, writer


async def until(is_so):
    """Let the loop run until it is so."""
    while not is_so():  # noqa: ASYNC110 - nothing tells it
        await asyncio.sleep(0)


def call(path="/call"):
    """The bytes of a request after which the connection stays."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode()
    )


# --- Host ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [
        ("localhost", True),
        ("node.localhost:9", True),
        ("127.0.0.1", True),
        ("[::1]:8080", True),
        ("devnet.example", True),
        ("DEVNET.example:8080", True),
        ("10.0.0.9", True),
        ("devnet.example.evil", False),
        ("evil.devnet.example", False),
        ("10.0.0.1", False),
        ("127.0.0.1.evil.example", False),
        ("localhost@evil.example", False),
        ("", False),
    ],
)
def test_host_names_this_machine_or_is_one_of_the_operators(host, is_ours):
    """DNS rebinding ends here: nothing else reaches a handler."""

    async def scenario():
        access = HttpAccess(hosts=frozenset({"devnet.example", "10.0.0.9"}))
        async with serving(access=access) as node:
            _, port = node.address.split(":")
            reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
            writer.write(
                f"POST /call HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n"
                "Connection: close\r\n\r\n".encode()
            )
            status = int((await reader.read()).split()[1])
            writer.close()
            assert status == (200 if is_ours else 421)
            assert bool(node.calls) is is_ours

    asyncio.run(scenario())


def test_a_request_with_two_hosts_reaches_nothing():
    async def scenario():
        async with serving() as node:
            reader, writer = await connected(
                node, b"POST /call HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n"
            )
            assert int((await reader.read()).split()[1]) == 400
            writer.close()
            assert node.calls == []

    asyncio.run(scenario())


# --- Origin --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "is_admitted"),
    [
        ("http://localhost:5173", True),
        ("https://localhost", True),
        ("http://app.localhost:3000", True),
        ("http://127.0.0.1:8000", True),
        ("http://[::1]:8000", True),
        ("https://app.example", True),
        ("HTTPS://APP.example", True),
        ("https://app.example:444", False),
        ("http://app.example", False),
        ("https://evil.example", False),
        ("https://localhost.evil.example", False),
        ("http://127.0.0.1.evil.example", False),
        ("null", False),
        ("", False),
        ("file://localhost", False),
        ("chrome-extension://localhost", False),
        ("http://", False),
        ("*", False),
    ],
)
def test_pages_of_this_machine_and_of_the_operator_s_origins_may_ask(
    origin, is_admitted
):
    async def scenario():
        access = HttpAccess(origins=frozenset({"https://app.example"}))
        async with serving(access=access) as node:
            status, headers = await ask(node, Origin=origin)
            assert status == (200 if is_admitted else 403)
            assert bool(node.calls) is is_admitted, "nothing is executed"
            allowed = headers.get("access-control-allow-origin")
            assert allowed == (origin if is_admitted else None)
            assert "access-control-allow-credentials" not in headers
            assert headers["vary"] == "Origin"
            assert headers["x-content-type-options"] == "nosniff"

    asyncio.run(scenario())


def test_a_page_that_the_port_serves_under_a_name_of_the_operator_s_may_ask():
    async def scenario():
        access = HttpAccess(hosts=frozenset({"devnet.example"}))
        async with serving(access=access) as node:
            for origin, status in (
                ("http://devnet.example:8080", 200),
                ("http://devnet.example", 403),
                ("https://devnet.example:8080", 403),
            ):
                reader, writer = await connected(
                    node,
                    b"POST /call HTTP/1.1\r\nHost: devnet.example:8080\r\n"
                    b"Content-Length: 0\r\nConnection: close\r\n"
                    + f"Origin: {origin}\r\n\r\n".encode(),
                )
                assert int((await reader.read()).split()[1]) == status
                writer.close()

    asyncio.run(scenario())


def test_a_browser_asks_first_what_a_page_may_send():
    async def scenario():
        async with serving() as node:
            wanted = {"Access_Control_Request_Method": "POST"}
            origin = "http://localhost:5173"
            status, headers = await ask(
                node, "/call", "OPTIONS", Origin=origin, **wanted
            )
            assert status == 204
            assert headers["access-control-allow-origin"] == origin
            assert "POST" in headers["access-control-allow-methods"]
            allowed = headers["access-control-allow-headers"].lower().split(", ")
            assert {"authorization", "content-type"} <= set(allowed)
            assert {"connect-protocol-version", "connect-timeout-ms"} <= set(allowed)
            assert "Origin" in headers["vary"]
            assert "*" not in str(headers)
            status, headers = await ask(
                node, "/call", "OPTIONS", Origin="https://evil.example", **wanted
            )
            assert status == 403
            assert "access-control-allow-methods" not in headers
            assert node.calls == []

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "hosts",
    ["*", "a b", "http://a", "a:80", "a/b", "a,*.b", "-a", "[::1]", "ü"],
)
def test_a_host_that_is_none_is_a_sentence(hosts):
    with pytest.raises(ConfigError, match="--http-hosts"):
        parse_http_access(Access(), is_api_served=True, hosts=hosts, origins=None)


@pytest.mark.parametrize(
    "origins",
    ["*", "null", "a.example", "ftp://a", "https://a/", "https://*.a", "https://a:x"],
)
def test_an_origin_that_is_none_is_a_sentence(origins):
    with pytest.raises(ConfigError, match="--http-origins"):
        parse_http_access(Access(), is_api_served=True, hosts=None, origins=origins)


def test_lists_of_names_are_read_in_lower_case_without_what_is_empty():
    access = parse_http_access(
        Access(),
        is_api_served=True,
        hosts=" Node, ,10.0.0.9,fd00::1",
        origins="https://App.example:444,http://[::2]:80,",
    )
    assert access.hosts == {"node", "10.0.0.9", "fd00::1"}
    assert access.origins == {"https://app.example:444", "http://[::2]:80"}


# --- connections ---------------------------------------------------------------------


def test_probes_are_answered_while_callers_have_all_their_places():
    """Probes are never evicted for streams, nor streams for probes."""

    async def scenario():
        limits = HttpLimits(connections_max=2, callers_max=3)
        async with serving(limits) as node:
            streams = [await connected(node, call("/wait")) for _ in range(3)]
            await until(lambda: node.waiting == 3)
            for _ in range(10):
                assert (await ask(node, "/healthz", "GET"))[0] == 503
            status, _ = await ask(node, "/wait")
            assert status == 429, "told, not cut off"
            assert node.waiting == 3
            node.leave.set()
            for reader, writer in streams:
                assert b" 200 " in await reader.readline()
                writer.close()

    asyncio.run(scenario())


def test_a_caller_s_connection_outlives_a_stranger_s_time():
    async def scenario():
        limits = HttpLimits(connection_ms_max=250, idle_ms_max=250)
        async with serving(limits) as node:
            caller = await connected(node, call())
            assert b" 200 " in await caller[0].readline()
            for beginning in (b"", b"POST /call HTT"):
                stranger = await connected(node, beginning)
                assert await stranger[0].read() == b""
                stranger[1].close()
            caller[1].write(call())
            await until(lambda: len(node.calls) == 2)
            caller[1].close()

    asyncio.run(scenario())


def test_an_idle_caller_gives_way_to_a_new_one():
    async def scenario():
        async with serving(HttpLimits(callers_max=2)) as node:
            first, second = [await connected(node, call()) for _ in range(2)]
            await until(lambda: len(node.calls) == 2)
            for reader, _ in (first, second):
                assert b" 200 " in await reader.readline()
            busy = await connected(node, call("/wait"))
            await until(lambda: node.waiting == 1)
            assert b"called" in await first[0].read(), "the one idle for longest"
            assert (await ask(node))[0] == 200, "and then the other"
            assert node.waiting == 1
            for _, writer in (first, second, busy):
                writer.close()
            await until(lambda: node.waiting == 0)

    asyncio.run(scenario())


def test_who_takes_nothing_of_what_was_answered_is_cut_off():
    """Closed in peace, the connection would stay for as long as nothing is read."""

    async def scenario():
        async with serving(HttpLimits(caller_idle_ms_max=100)) as node:
            _, writer = await connected(node, call("/large"))
            await until(lambda: node.calls == ["/large"])
            writer.transport.pause_reading()
            await until(lambda: not node.http._handlers.connections)
            writer.close()

    asyncio.run(scenario())


def test_a_thousand_who_come_at_once_hold_no_more_than_there_is_room_for():
    async def scenario():
        limits = HttpLimits(connections_max=8, callers_max=4)
        async with serving(limits) as node:
            many = [await connected(node, call("/wait")) for _ in range(200)]
            reads = [asyncio.ensure_future(reader.read(12)) for reader, _ in many]
            await until(lambda: sum(read.done() for read in reads) == 196)
            assert node.waiting == 4
            assert (await ask(node, "/healthz", "GET"))[0] == 503
            for _, writer in many:
                writer.close()
            await until(lambda: node.waiting == 0)
            await asyncio.gather(*reads, return_exceptions=True)

    asyncio.run(scenario())
