"""A node's process as operators and readers see it: port, TLS, streams, restarts."""

import asyncio
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import aclosing, closing
from pathlib import Path
from random import Random
from threading import Event
from typing import NoReturn

import grpc
import pytest
import trustme
from click.testing import CliRunner
from grpc_health.v1 import health_pb2, health_pb2_grpc

from node.chain.transaction import DeployActor
from node.cli import main
from node.client import Api, AsyncApi, Wallet
from node.rpc.v1 import streams_pb2, types_pb2
from tests.unit.test_app_process import DEADLINE_SECONDS, fund, refused, running

TOKEN = "a-token-of-a-test"
BEAT = b"""
class Beat:
    def deploy(self):
        self._sleep()

    def handle_timer(self, payload):
        self._sleep()

    def _sleep(self):
        pvm_host.schedule_timer(pvm_host.block_height() + 1, b"", gas_limit=20_000)
"""


def ask(address: str, path: str) -> tuple[int, str]:
    url = f"http://{address}{path}"
    with closing(urllib.request.urlopen(url, timeout=DEADLINE_SECONDS)) as answer:
        return answer.status, answer.read().decode()


def ask_for_ever(address: str, path: str) -> NoReturn:
    """Until an answer is none."""
    while True:
        ask(address, path)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Flags with a real certificate for this machine, and a token."""
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    paths = {name: tmp_path / name for name in ("cert", "key", "ca", "token")}
    paths["cert"].write_bytes(b"".join(p.bytes() for p in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(paths["key"])
    authority.cert_pem.write_to_path(paths["ca"])
    paths["token"].write_text(f"{TOKEN}\n")
    return {name: str(path) for name, path in paths.items()}


# --- the HTTP port -------------------------------------------------------------------


def test_operators_see_that_it_lives_and_what_it_does(tmp_path: Path) -> None:
    flags = ("--mining", "manual", "--http-listen", "127.0.0.1:0")
    public = ("--grpc-listen", "0.0.0.0:0")
    with running(tmp_path, *flags, *public, folder=":memory:") as node:
        address = node.ready["http"]
        for path in ("/healthz", "/readyz"):
            status, body = ask(address, path)
            assert (status, json.loads(body)) == (200, {"status": "ok", "height": 0})
        fund(node)
        _, text = ask(address, "/metrics")
        assert "cowboy_devnet_height_blocks 1.0" in text
        assert 'cowboy_devnet_blocks_total{kind="content"} 1.0' in text
        assert "process_resident_memory_bytes" in text
        again = refused(tmp_path, "--http-listen", address)
        assert "cannot listen" in again
        assert not (tmp_path / "data").exists(), "nothing is left behind"
        node.process.terminate()
        banner, log = node.process.communicate(timeout=DEADLINE_SECONDS)
    assert node.process.returncode == 0
    assert f"HTTP      {address}" in banner
    assert f"page      http://{address}/" in banner
    assert node.ready["page"] == f"http://{address}/"
    assert "WARNING: others on the network can reach this node" in banner
    (block,) = [
        line for line in map(json.loads, log.splitlines()) if "build_ms" in line
    ]
    assert (block["event"], block["height"], block["transactions"]) == (
        *("block_committed", 1),
        1,
    )


def test_the_http_port_can_be_left_without_the_api(tmp_path: Path) -> None:
    """Then it is no way in: nobody is warned of it."""
    public = ("--http-listen", "0.0.0.0:0", "--mining", "manual")
    for flags, is_api_served in (((), True), (("--no-http-api",), False)):
        with running(tmp_path, *public, *flags, folder=":memory:") as node:
            address = node.ready["http"].replace("0.0.0.0", "127.0.0.1")
            assert ask(address, "/readyz")[0] == 200
            request = urllib.request.Request(
                f"http://{address}/cowboy.devnet.v1.QueryService/GetStatus",
                b"{}",
                {"Content-Type": "application/json"},
            )
            if is_api_served:
                with closing(urllib.request.urlopen(request)) as answer:
                    assert json.load(answer)["chainId"] == "100"
            else:
                for asked in (request, f"http://{address}/"):
                    with pytest.raises(urllib.error.HTTPError, match="404") as none:
                        urllib.request.urlopen(asked)
                    none.value.close()
            node.process.terminate()
            banner, _ = node.process.communicate(timeout=DEADLINE_SECONDS)
        assert ("others on the network can reach" in banner) is is_api_served


def test_a_node_that_is_stopping_says_so(tmp_path: Path) -> None:
    """/readyz is 503 from the signal on, while calls that are open may end."""
    never = Event()

    def nothing() -> Iterator[bytes]:
        never.wait(DEADLINE_SECONDS)
        yield from ()

    with running(tmp_path, "--http-listen", "127.0.0.1:0", folder=":memory:") as node:
        address = node.ready["http"]
        assert ask(address, "/readyz")[0] == 200
        with node.channel() as channel:
            hanging = channel.stream_unary(
                "/cowboy.devnet.v1.QueryService/GetStatus",
                request_serializer=bytes,
                response_deserializer=bytes,
            )
            call = hanging.future(nothing())
            # One connection is read in order: the node has that call when it answers.
            health = health_pb2_grpc.HealthStub(channel)
            health.Check(health_pb2.HealthCheckRequest(), timeout=DEADLINE_SECONDS)
            node.process.terminate()
            with pytest.raises(urllib.error.HTTPError) as refused_probe:
                ask_for_ever(address, "/readyz")
            answer = refused_probe.value
            assert (answer.code, json.load(answer)["status"]) == (503, "unavailable")
            never.set()
            assert isinstance(call.exception(DEADLINE_SECONDS), grpc.RpcError)
        node.process.communicate(timeout=DEADLINE_SECONDS)
        assert node.process.returncode == 0


# --- TLS and a token -----------------------------------------------------------------


def ask_with_tls(port: str, authority: str) -> None:
    """The HTTP port speaks TLS, and wants the token for calls but not for probes."""
    context = ssl.create_default_context(cafile=authority)

    def asked(path: str, data: bytes | None, **headers: str) -> int:
        headers = {"Content-Type": "application/json", **headers}
        url = f"https://127.0.0.1:{port}{path}"
        request = urllib.request.Request(url, data, headers)
        try:
            answer = urllib.request.urlopen(
                request, timeout=DEADLINE_SECONDS, context=context
            )
        except urllib.error.HTTPError as error:
            answer = error
        with closing(answer):
            return answer.status

    path = "/cowboy.devnet.v1.QueryService/GetStatus"
    token = {"Authorization": f"Bearer {TOKEN}"}
    assert asked("/healthz", None) == 200
    assert asked(path, b"{}") == 401
    assert asked(path, b"{}", **token) == 200
    assert asked(path, b"{}", Host="devnet.example", **token) == 200
    assert asked(path, b"{}", Host="evil.example", **token) == 421
    assert asked(path, b"{}", Origin="https://app.example", **token) == 200
    assert asked(path, b"{}", Origin="https://evil.example", **token) == 403


def test_the_command_line_speaks_tls_and_sends_the_token(tmp_path, files) -> None:
    flags = ("--tls-cert", files["cert"], "--tls-key", files["key"])
    kept = (*flags, "--token-file", files["token"])
    public = ("--mining", "manual", "--grpc-listen", "0.0.0.0:0")
    http = ("--http-listen", "0.0.0.0:0", "--http-hosts", "devnet.example")
    http = (*http, "--http-origins", "https://app.example")
    with running(tmp_path, *kept, *public, *http, folder=":memory:") as node:
        assert node.ready["tls"] is node.ready["token"] is True
        ask_with_tls(node.ready["http"].rpartition(":")[2], files["ca"])
        port = node.ready["grpc"].rpartition(":")[2]

        def status(*words: str) -> tuple[int, str]:
            url = ("--url", f"https://127.0.0.1:{port}", "--timeout", "10")
            result = CliRunner().invoke(main, ["status", *url, *words])
            return result.exit_code, result.output

        ca = ("--tls-ca", files["ca"])
        code, output = status(*ca, "--token-file", files["token"], "--json")
        assert (code, json.loads(output)["chain_id"]) == (0, 100)
        code, output = status(*ca)
        assert code == 1
        assert "UNAUTHENTICATED" in output
        node.process.terminate()
        banner, log = node.process.communicate(timeout=DEADLINE_SECONDS)
    assert "(TLS, token)" in banner
    assert "others on the network can reach this node" not in banner
    assert TOKEN not in banner + log


def test_files_that_cannot_be_used_are_a_sentence(tmp_path, files) -> None:
    cert, key, token = files["cert"], files["key"], files["token"]
    for flags, sentence in (
        (("--tls-cert", cert), "give both"),
        (("--tls-cert", cert, "--tls-key", token), "cannot be used"),
        (("--token-file", "/nowhere"), "cannot be read"),
        (("--token-file", key), "holds no token"),
    ):
        assert sentence in refused(tmp_path, *flags)


# --- streams -------------------------------------------------------------------------


class Reader:
    """Reads a stream in pieces, each from a connection of its own."""

    def __init__(self, follow, cursor_of, random: Random) -> None:
        self.answers = []
        self._follow = follow
        self._cursor_of = cursor_of
        self._random = random

    async def read(self, url: str, count: int) -> None:
        """Read `count` more answers, with reconnects at random moments."""
        wanted = len(self.answers) + count
        while len(self.answers) < wanted:
            piece = min(self._random.randint(1, 7), wanted - len(self.answers))
            async with AsyncApi(url) as client:
                self.answers += await take(self._open(client), piece)

    def _open(self, client: AsyncApi):
        cursor = self._cursor_of(self.answers[-1]) if self.answers else None
        return self._follow(client, cursor)


async def take(stream, count: int):
    taken = []
    async with asyncio.timeout(DEADLINE_SECONDS), aclosing(stream) as answers:
        async for answer in answers:
            taken.append(answer)
            if len(taken) == count:
                break
    return taken


def genesis_of(url: str) -> types_pb2.BlockRef:
    with Api(url) as client:
        return types_pb2.BlockRef(height=0, hash=client.block(0).header.hash)


def readers(genesis: types_pb2.BlockRef, random: Random) -> list[Reader]:
    """One of blocks, one of timers, both from the beginning."""
    begin = streams_pb2.TimerCursor(block=genesis)
    return [
        Reader(
            lambda client, place: client.stream_blocks(place or genesis),
            lambda answer: types_pb2.BlockRef(
                height=answer.block.header.height, hash=answer.block.header.hash
            ),
            random,
        ),
        Reader(
            lambda client, cursor: client.stream_timers(None, cursor or begin),
            lambda answer: answer.cursor,
            random,
        ),
    ]


async def read_all(url: str, several: list[Reader], count: int) -> None:
    await asyncio.gather(*(reader.read(url, count) for reader in several))


def test_a_reader_that_comes_and_goes_sees_everything_once_in_order(tmp_path) -> None:
    """Without gaps or repeats across a reconnect and a restart of the node."""
    flags = ("--pace", "10ms")
    random = Random(7)
    with running(tmp_path, *flags) as node:
        url = node.ready["grpc"]
        genesis = genesis_of(url)
        several = readers(genesis, random)
        with Api(url) as client:
            deploy = DeployActor(bytes(32), BEAT, b"", 10**12)
            assert not client.execute(Wallet.dev(0), deploy).receipt.HasField("error")
        asyncio.run(read_all(url, several, 30))
        assert node.stop()[0] == 0
    with running(tmp_path, *flags) as node:
        url = node.ready["grpc"]
        asyncio.run(read_all(url, several, 30))
        straight = readers(genesis, random)

        async def read_straight():
            async with AsyncApi(url) as client:
                for reader in straight:
                    reader.answers = await take(reader._open(client), 60)

        asyncio.run(read_straight())
        with Api(url) as client:
            client.reset()
            answer = next(
                client.stream_blocks(types_pb2.BlockRef(height=60, hash=bytes(32)))
            )
    for pieces, whole in zip(several, straight, strict=True):
        assert pieces.answers == whole.answers
    headers = [answer.block.header for answer in several[0].answers]
    last = genesis
    for header in headers:
        assert (header.height - header.span, header.parent_hash) == (
            last.height,
            last.hash,
        )
        last = header
    changes = [a.change.decision.decision for a in several[1].answers]
    assert {"scheduled", "fired"} == set(changes)
    assert answer.reverted == genesis
