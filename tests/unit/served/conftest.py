"""A chain in memory, and a node on a real socket, for what serves and reads them."""

import asyncio
from contextlib import asynccontextmanager

import grpc
import pytest
from msgspec.structs import replace

from node import history
from node.archive.opening import open_chain
from node.chain.genesis import build_genesis, override
from node.chain.transaction import (
    Body,
    DeployActor,
    ExecuteActor,
    Fund,
    SetBalance,
    decode_transaction,
)
from node.chain.transition import build_block, build_run, next_state, open_state
from node.client import Wallet
from node.client._async import api as async_api
from node.client._sync import api as sync_api
from node.client.channels import Endpoint
from node.config import load_genesis
from node.http.server import HttpPort, HttpSite, Probes
from node.primitives.crypto import derive_actor_address
from node.rpc.connect.endpoint import ConnectEndpoint
from node.rpc.guard import CallWatch
from node.rpc.limits import RpcLimits
from node.rpc.server import RpcServer
from node.runtime.clock import SystemClock
from node.runtime.engine import Engine, EngineParts, EngineSettings
from node.runtime.shared_store import SharedStore
from node.runtime.types import MiningMode
from node.state.memory import MemoryStore
from pvm import Worker, keccak256
from tests.connect_client import ConnectChannel

OVER_BOTH = {
    f"tests.unit.served.test_{name}"
    for name in (
        "holding_time",
        "profiling",
        "rpc_queries",
        "rpc_streams",
        "rpc_timers",
        "rpc_transactions",
        "traces",
    )
}
"""Modules whose tests hold over gRPC and over the Connect protocol."""

OVER_GRPC_ALONE = {"test_a_client_that_dies_lets_go"}
"""Its client is another process."""

SOURCE = b"""
import pvm_host

def start(payload):
    height = pvm_host.block_height() + int.from_bytes(payload, "big")
    return pvm_host.schedule_timer(height, b"tick", None, 100_000)

def start_expired(payload):
    height = pvm_host.block_height() + 9
    expires_at = pvm_host.block_height() + 3
    return pvm_host.schedule_timer(height, b"late", None, 100_000, expires_at)

def handle_timer(payload):
    pvm_host.emit_event("fired", payload)

def say(payload):
    pvm_host.set_state(b"said", payload)
    pvm_host.emit_event("said", payload)
    pvm_host.emit_event("again", payload)

def said(payload):
    return pvm_host.get_state(b"said")

def stop(payload):
    pvm_host.cancel_timer(payload)

def fail(payload):
    return [][1]

class Counter:
    def count(self):
        self.storage["count"] = 7
"""


@pytest.fixture(scope="session")
def source():
    return SOURCE


@pytest.fixture(scope="session")
def worker():
    with Worker() as worker:
        yield worker


class Chain:
    """Blocks made one by one over a store in memory, with their history."""

    def __init__(self, worker, genesis):
        self.worker = worker
        self.genesis = genesis
        self.store = MemoryStore()
        result = worker.run(lambda: build_genesis(genesis))
        self.results = [result]
        self.store.commit(result.writes | history.record(result))
        self.state = open_state(
            genesis.params, result.block.header, self.store.snapshot()
        )
        self.nonces = {}

    def transaction(self, wallet, instruction, **fields):
        nonce = self.nonces.get(wallet.address, 0)
        self.nonces[wallet.address] = nonce + 1
        body = Body(100, nonce, 0, 0, 2_000, 0, 2_000, 0, instruction)
        if isinstance(instruction, Fund | SetBalance):
            body = replace(body, max_fee_per_cycle=0, max_fee_per_cell=0)
        else:
            body = replace(body, cycles_limit=1_000_000, cells_limit=100_000)
        return decode_transaction(wallet.sign(replace(body, **fields)))

    def block(self, *transactions):
        return self._take(lambda: build_block(self.state, transactions))

    def run(self, span):
        """Empty heights as one header."""
        return self._take(lambda: build_run(self.state, span))

    def _take(self, build):
        result = self.worker.run(build)
        assert not result.rejected
        self.results.append(result)
        self.store.commit(result.writes | history.record(result))
        self.state = next_state(self.state, result, self.store.snapshot())
        return result

    def deploy(self, source, value=10**12):
        """An actor with money, deployed by account 0."""
        wallet = Wallet.dev(0)
        instruction = DeployActor(bytes(32), source, b"", 0)
        deployment = self.transaction(
            wallet, instruction, cycles_limit=2_000_000, cells_limit=1_000_000
        )
        code_hash = keccak256(source)
        address = derive_actor_address(wallet.address, bytes(32), code_hash)
        result = self.block(deployment, self.transaction(wallet, Fund(address, value)))
        assert result.receipts[0].failure is None, result.receipts[0].failure
        return address

    def call(self, actor, handler, payload=b""):
        """A block with one call by account 0."""
        instruction = ExecuteActor(actor, handler, payload, 0)
        return self.block(self.transaction(Wallet.dev(0), instruction))


@pytest.fixture
def chain(worker):
    return Chain(worker, load_genesis("devnet"))


class SilentLog:
    """Takes what an engine logs."""

    def info(self, event, /, **fields):
        pass


def pytest_generate_tests(metafunc):
    """Each test of a node of these modules is two: one suite for both transports."""
    if (
        metafunc.module.__name__ in OVER_BOTH
        and "run_node" in metafunc.fixturenames
        and metafunc.function.__name__ not in OVER_GRPC_ALONE
    ):
        metafunc.parametrize("transport", ["grpc", "connect"])


@pytest.fixture
def transport():
    """How clients call the node."""
    return "grpc"


@pytest.fixture
def grpc_addresses(monkeypatch):
    """HTTP ports, and the gRPC ports beside them.

    A client of a URL `connect://…` speaks the Connect protocol; one without an event
    loop speaks gRPC to the port beside.
    """
    addresses = {}
    open_async, open_blocking = async_api.open_async_channel, sync_api.open_channel

    def open_async_channel(endpoint):
        if endpoint.url.startswith("connect://"):
            return ConnectChannel(endpoint.target, endpoint.token)
        return open_async(endpoint)

    def open_channel(endpoint):
        url = addresses.get(endpoint.target, endpoint.url)
        return open_blocking(Endpoint(url, endpoint.tls_ca, endpoint.token))

    monkeypatch.setattr(async_api, "open_async_channel", open_async_channel)
    monkeypatch.setattr(sync_api, "open_channel", open_channel)
    return addresses


@pytest.fixture
def run_node(transport, grpc_addresses):
    """A node with an engine and its servers on free ports, as a context manager."""

    @asynccontextmanager
    async def run(
        *,
        mode=MiningMode.INSTANT,
        is_dev=True,
        limits=None,
        access=None,
        is_dev_genesis=True,
        **settings,
    ):
        genesis = override(load_genesis("devnet"), dev=is_dev_genesis)
        store = SharedStore()
        with Worker() as worker:
            opened = worker.run(lambda: open_chain(store, lambda _: genesis))
            parts = EngineParts(store, worker, SystemClock(), SilentLog())
            settings = EngineSettings(
                mode, is_dev_admitted=is_dev, **{"pace_ms": 1_000} | settings
            )
            engine = Engine(parts, opened.genesis, opened.state, settings)
            task = asyncio.create_task(engine.run())
            watch = CallWatch(parts.stats)
            server = RpcServer(
                engine,
                limits,
                is_dev=is_dev and is_dev_genesis,
                access=access,
                watch=watch,
            )
            grpc_port = await server.start("127.0.0.1:0")
            await server.announce()
            endpoint = ConnectEndpoint(
                server.services, server.answers, limits or RpcLimits()
            )
            site = HttpSite(lambda: (endpoint.answer,))
            http = HttpPort(Probes(bool, bool, int, None), site=site)
            http_port = http.bind("127.0.0.1", 0)
            if transport == "connect":
                await http.serve()
                grpc_addresses[f"127.0.0.1:{http_port}"] = f"127.0.0.1:{grpc_port}"
                url = f"connect://127.0.0.1:{http_port}"
            else:
                url = f"127.0.0.1:{grpc_port}"
            try:
                yield RunningNode(engine, server, url, parts.stats, http)
            finally:
                engine.stop()
                await task
                await server.stop()
                await http.close()

    return run


class RunningNode:
    """What a test needs of a node."""

    def __init__(self, engine, server, url, stats, http):
        self.engine = engine
        self.http = http
        self.server = server
        self.url = url
        self.stats = stats

    def channel(self):
        scheme, _, address = self.url.rpartition("://")
        if scheme == "connect":
            return ConnectChannel(address)
        return grpc.aio.insecure_channel(self.url)

    async def until_readers(self, count):
        """Let the loop run until that many streams are subscribed."""
        while len(self.engine._feed) != count:  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(0)

    async def until_pooled(self, count):
        """Let the loop run until that many transactions wait."""
        while self.engine.status.pool_transactions != count:  # noqa: ASYNC110
            await asyncio.sleep(0)
