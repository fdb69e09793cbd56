"""The HTTP port, over real sockets: what it answers, and whom it survives."""

import asyncio
import json
import re
import socket
from contextlib import asynccontextmanager, closing
from itertools import islice
from types import SimpleNamespace

import pytest

from node.explorer.page_files import PageFiles
from node.http.server import HttpPort, HttpSite, Probes
from node.http.static_answer import handler_of
from node.runtime.settings import HttpLimits
from node.runtime.types import CannotListen

DEADLINE_SECONDS = 20


@asynccontextmanager
async def serving(limits=None, *, is_page=False):
    """A port whose probes answer what `node` says."""

    async def metrics(accept):
        return f"scraped with {accept}\n".encode(), "text/plain; version=1"

    node = SimpleNamespace(is_alive=True, is_ready=True, statuses=[])
    probes = Probes(
        lambda: node.is_alive,
        lambda: node.is_ready,
        lambda: 7,
        metrics,
        node.statuses.append,
    )
    handlers = (handler_of(PageFiles().answer),) if is_page else ()
    port = HttpPort(probes, limits, HttpSite(lambda: handlers))
    node.port = port.bind("127.0.0.1", 0)
    try:
        await port.serve()
        yield node
    finally:
        await port.close()


async def exchange(port, request):
    """What comes back until the port closes the connection."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.close()


async def ask(port, path, method="GET", headers="", host="h"):
    request = (
        f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
        f"{headers}\r\n"
    )
    answer = await exchange(port, request.encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


def test_it_says_whether_the_node_is_alive_and_ready():
    async def scenario():
        async with serving() as node:
            for path in ("/healthz", "/readyz"):
                status, body = await ask(node.port, path)
                assert status == 200
                assert json.loads(body) == {"status": "ok", "height": 7}
            node.is_ready = False
            assert (await ask(node.port, "/readyz"))[0] == 503
            assert (await ask(node.port, "/healthz"))[0] == 200
            node.is_alive = False
            assert (await ask(node.port, "/healthz"))[0] == 503

    asyncio.run(scenario())


def test_it_hands_the_scraper_what_it_accepts():
    async def scenario():
        async with serving() as node:
            answer = await ask(node.port, "/metrics", headers="Accept: all\r\n")
            assert answer == (200, "scraped with all\n")

    asyncio.run(scenario())


def test_it_answers_nothing_else():
    async def scenario():
        async with serving() as node:
            assert (await ask(node.port, "/", host="localhost"))[0] == 404
            assert (await ask(node.port, "/healthz", "POST"))[0] == 405
            assert await ask(node.port, "/healthz", "HEAD") == (200, "")

    asyncio.run(scenario())


def test_it_hands_out_the_page_to_whoever_names_this_machine():
    async def scenario():
        async with serving(is_page=True) as node:
            status, page = await ask(node.port, "/", host="localhost")
            assert (status, page[:15]) == (200, "<!doctype html>")
            (path,) = re.findall(r'src="([^"]+)"', page)
            status, script = await ask(node.port, path, host="127.0.0.1")
            assert (status, "import" in script) == (200, True)
            assert await ask(node.port, "/", "HEAD", host="localhost") == (200, "")
            assert (await ask(node.port, path, host="evil.example"))[0] == 421
            assert (await ask(node.port, "/static/x", host="localhost"))[0] == 404
            assert (await ask(node.port, path, "POST", host="localhost"))[0] == 405

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 404),
        ("Localhost:8080", 404),
        ("node.localhost", 404),
        ("127.0.0.1:1", 404),
        ("127.9.9.9", 404),
        ("[::1]:8080", 404),
        ("evil.example", 421),
        ("evil.example:8080", 421),
        ("localhost.evil.example", 421),
        ("10.0.0.1", 421),
        ("", 421),
    ],
)
def test_a_page_with_a_name_of_its_own_reaches_probes_alone(host, status):
    """The HTTP port checks `Host`, except for health and metrics."""

    async def scenario():
        async with serving() as node:
            assert (await ask(node.port, "/", host=host))[0] == status
            for path in ("/healthz", "/readyz", "/metrics"):
                assert (await ask(node.port, path, host=host))[0] == 200

    asyncio.run(scenario())


def test_no_answer_names_the_software():
    async def scenario():
        async with serving() as node:
            for path in ("/healthz", "/metrics", "/"):
                request = f"GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
                answer = await exchange(node.port, request.encode())
                assert b"server:" not in answer.lower()
            assert node.statuses == [200, 200, 421]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS to a port without it
        b"nonsense\r\n\r\n",
        b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"a" * 9_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: 1\r\n" * 1_000 + b"\r\n",
    ],
)
def test_a_broken_request_ends_only_its_own_connection(request_bytes, caplog):
    """It is counted, and no line of the log."""

    async def scenario():
        async with serving(HttpLimits(idle_ms_max=100)) as node:
            answer = await exchange(node.port, request_bytes)
            assert answer[8:12] in {b"", b" 400"}
            assert node.statuses == [400] * bool(answer)
            assert not caplog.records
            assert b"server:" not in answer.lower()
            assert (await ask(node.port, "/healthz"))[0] == 200

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"GET /healthz HT",
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 999999\r\n\r\nhalf",
    ],
)
def test_a_slow_client_is_let_go(beginning):
    """It is closed when it has sent no whole request, or its time is up."""

    async def scenario():
        limits = HttpLimits(idle_ms_max=50, connection_ms_max=200)
        async with serving(limits) as node:
            await exchange(node.port, beginning)  # ends when the port ends it
            assert (await ask(node.port, "/healthz"))[0] == 200

    asyncio.run(scenario())


def test_the_oldest_of_too_many_connections_gives_way():
    async def scenario():
        async with serving(HttpLimits(connections_max=3)) as node:
            silent = [asyncio.create_task(exchange(node.port, b"")) for _ in range(9)]
            for ended in islice(asyncio.as_completed(silent), 6):
                assert await ended == b""
            assert (await ask(node.port, "/healthz"))[0] == 200
            for task in silent:
                task.cancel()
            await asyncio.gather(*silent, return_exceptions=True)

    asyncio.run(scenario())


def test_a_port_that_is_taken_is_refused():
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = HttpPort(Probes(bool, bool, int, None))
        with pytest.raises(CannotListen, match="`off`"):
            port.bind("127.0.0.1", taken.getsockname()[1])


def test_a_port_that_never_served_can_be_closed():
    async def scenario():
        port = HttpPort(Probes(bool, bool, int, None))
        number = port.bind("127.0.0.1", 0)
        await port.close()
        await port.close()
        socket.create_server(("127.0.0.1", number)).close()

    asyncio.run(scenario())
