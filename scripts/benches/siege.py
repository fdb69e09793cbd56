"""A node besieged: endless reads, streams that nobody reads, the largest blocks.

Who is measured asks for the node's health on a connection of its own, from a process
that does nothing else. All others ask from processes of their own, and take what they
are sent without looking at it.

Run by itself (`python -m benches.siege MINUTES`) it besieges a node for that long.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import TypeAlias, cast

import grpc
import uvloop
from grpc_health.v1.health_pb2 import HealthCheckRequest
from grpc_health.v1.health_pb2_grpc import HealthStub
from msgspec import Struct

from benches.load import PACE_MS, percentile
from benches.nodes import ROOT, Running, running_node
from benches.report import Row, Section, median, render_section
from benches.starting import memory_mib
from benches.traffic import DEADLINE_SECONDS
from node.chain.transaction import DeployActor, ExecuteActor
from node.client.wallet import Wallet, build_body
from node.primitives.crypto import derive_actor_address, keccak256
from node.primitives.types import Address, Amount, Hash32
from node.rpc.v1 import queries_pb2, streams_pb2, types_pb2
from node.rpc.v1.dev_pb2 import SetBalanceRequest
from node.rpc.v1.dev_pb2_grpc import DevServiceStub
from node.rpc.v1.queries_pb2_grpc import QueryServiceStub
from node.rpc.v1.streams_pb2_grpc import StreamServiceStub
from node.rpc.v1.transactions_pb2 import SubmitAndWaitRequest
from node.rpc.v1.transactions_pb2_grpc import TransactionServiceStub

SECONDS = 180
READERS = 35
"""One more than may wait for the executing thread, and one that executes."""
UNREAD_STREAMS = 200
STREAMS_PER_CONNECTION = 10
BLOCK_READERS = 20
EVENTS = 1_024
"""Of a transaction: no execution may emit more."""
TRANSACTIONS = 36
"""Of a block, by whose cycles it is full."""
ASK_SECONDS = 0.02
SAMPLE_SECONDS = 1.0
IDLE_SECONDS = 5
STANDING_SECONDS = 120
"""At most, until the siege stands: its processes start beside what besieges already."""
REFUSED_SECONDS = 0.05
"""Until who was refused asks again."""

HEALTH_P99_MS_MAX = 100
MEMORY_MIB_MAX = 400

_CHAIN_ID = 100
_MAX_FEES = (10**29, 10**29)
_BALANCE = 10**36
"""Full blocks raise the basefee by an eighth each, for as long as the siege lasts."""
_DEPLOY_LIMITS = (2_000_000, 200_000)
_SHOUT_LIMITS = (550_000, 5_000)
_SOURCE = b"""
import pvm_host

def shout(payload):
    for _ in range(int.from_bytes(payload, "big")):
        pvm_host.emit_event("event", b"")

def burn(payload):
    total = 0
    while True:
        total = (total + 3) % 7
"""
_FULL = types_pb2.BLOCK_VIEW_FULL
_Bytes: TypeAlias = Callable[[bytes], Awaitable[bytes]]


class Siege(Struct, frozen=True):
    """What was seen of a besieged node."""

    health: list[float]
    """Seconds that each question took."""
    memory_mib: list[float]
    """Resident, a second after the other."""


def measure_siege() -> Section:
    """Health and memory of a node under all that is dear at once."""
    return _measured(SECONDS)


def _measured(seconds: float) -> Section:
    with running_node(
        "--pace", f"{PACE_MS}ms", "--accounts", str(TRANSACTIONS)
    ) as node:
        idle, siege, events = uvloop.run(_besiege(node, seconds))
    p99 = percentile(siege.health, 99) * 1_000
    most = max(siege.memory_mib)
    half = len(siege.memory_mib) // 2
    rows = (
        Row(
            "health of a besieged node",
            f"p99 {p99:.1f} ms, median {median(siege.health) * 1_000:.1f} ms, at most "
            f"{max(siege.health) * 1_000:.0f} ms",
            f"the same node idle: p99 {percentile(idle.health, 99) * 1_000:.1f} ms, "
            f"median {median(idle.health) * 1_000:.1f} ms",
            f"p99 < {HEALTH_P99_MS_MAX} ms",
            p99 < HEALTH_P99_MS_MAX,
        ),
        Row(
            "its memory",
            f"RSS at most {most:.0f} MiB; in the first half "
            f"{median(siege.memory_mib[: half + 1]):.0f}, in the second "
            f"{median(siege.memory_mib[half:]):.0f}",
            f"the same node idle: {max(idle.memory_mib):.0f} MiB",
            f"RSS < {MEMORY_MIB_MAX} MiB",
            most < MEMORY_MIB_MAX,
        ),
    )
    method = (
        f"{READERS} callers of `CallReadOnly` whose handler counts until its cycles "
        f"are used up; {UNREAD_STREAMS} streams of whole blocks, "
        f"{STREAMS_PER_CONNECTION} on a connection, half of them from the first block "
        "on, none of which is ever read and each of which begins again when it is "
        f"ended; {BLOCK_READERS} callers of `GetBlock` for the whole of the largest "
        f"block; and blocks of up to {EVENTS * TRANSACTIONS:,} events, as fast "
        f"as they are made. All of it for {seconds:.0f} s from the first of these on: "
        f"{len(events):,} blocks "
        f"with {sum(events):,} events, at most {max(events):,}. `Check` of the health "
        f"is asked each {ASK_SECONDS * 1_000:.0f} ms on a connection of its own, "
        "from a process that does nothing else, and memory is looked at each "
        f"{SAMPLE_SECONDS:.0f} s."
    )
    return Section("A node besieged", method, rows)


async def _besiege(node: Running, seconds: float) -> tuple[Siege, Siege, list[int]]:
    """The node idle, and under siege; events of the blocks that had any."""
    actor, first = await _prepare(node.address)
    idle = await _watch(node, min(seconds, IDLE_SECONDS))
    with ExitStack() as besiegers:
        for name in BESIEGERS:
            besiegers.enter_context(_besieger(name, node.address, actor, first))
        await _wait_for_events(node.address)
        siege = await _watch(node, seconds)
    return idle, siege, await _count(node.address)


@contextmanager
def _besieger(name: str, address: str, actor: Address, first: Hash32) -> Iterator[None]:
    """One kind of caller, in a process of its own."""
    words = (name, address, actor.hex(), first.hex())
    command = [sys.executable, "-m", "benches.siege", *words]
    with subprocess.Popen(command, cwd=ROOT / "scripts") as process:
        try:
            yield
            assert process.poll() is None, f"{name} has ended"
        finally:
            process.kill()


async def _prepare(address: str) -> tuple[Address, Hash32]:
    """Deploy the actor; its address, and the hash of the first block."""
    wallet, salt = Wallet.dev(0), Hash32(bytes(32))
    actor = derive_actor_address(wallet.address, salt, keccak256(_SOURCE))
    raw = _sign(wallet, 0, DeployActor(salt, _SOURCE, b"", Amount(0)), _DEPLOY_LIMITS)
    async with _connected(address) as channel:
        set_balance = DevServiceStub(channel).SetBalance
        for index in range(TRANSACTIONS):
            await set_balance(
                SetBalanceRequest(
                    address=Wallet.dev(index).address, amount=str(_BALANCE)
                )
            )
        answer = await TransactionServiceStub(channel).SubmitAndWait(
            SubmitAndWaitRequest(transaction=raw), timeout=DEADLINE_SECONDS
        )
        assert not answer.committed.receipt.error.kind, answer
        genesis = await QueryServiceStub(channel).GetBlock(
            queries_pb2.GetBlockRequest(height=0)
        )
    return actor, Hash32(genesis.block.header.hash)


async def _watch(node: Running, seconds: float) -> Siege:
    health: list[float] = []
    memory: list[float] = []
    async with _connected(node.address) as channel:
        check = HealthStub(channel).Check
        await check(HealthCheckRequest())  # connects
        end = time.perf_counter() + seconds
        while (began := time.perf_counter()) < end:
            await check(HealthCheckRequest())
            now = time.perf_counter()
            health.append(now - began)
            if now >= end - seconds + len(memory) * SAMPLE_SECONDS:
                memory.append(memory_mib(node.process.pid)[0])
            await asyncio.sleep(ASK_SECONDS)
    return Siege(health, memory)


async def _wait_for_events(address: str) -> None:
    """Until the siege stands: its processes have started, and a block has events."""
    async with _connected(address) as channel, asyncio.timeout(STANDING_SECONDS):
        list_blocks = QueryServiceStub(channel).ListBlocks
        newest = queries_pb2.ListBlocksRequest(descending=True)
        while True:
            page = await list_blocks(newest)
            if any(block.event_count for block in page.blocks):
                return
            await asyncio.sleep(SAMPLE_SECONDS)


async def _count(address: str) -> list[int]:
    """How many events blocks had, of those with any."""
    events: list[int] = []
    token = ""
    async with _connected(address) as channel:
        list_blocks = QueryServiceStub(channel).ListBlocks
        while True:
            page = await list_blocks(queries_pb2.ListBlocksRequest(page_token=token))
            events += [block.event_count for block in page.blocks if block.event_count]
            token = page.next_page_token
            if not token:
                return events


def _sign(
    wallet: Wallet,
    nonce: int,
    instruction: DeployActor | ExecuteActor,
    limits: tuple[int, int],
) -> bytes:
    body = build_body(
        instruction,
        chain_id=_CHAIN_ID,
        nonce=nonce,
        limits=limits,
        max_fees=_MAX_FEES,
    )
    return wallet.sign(body)


@asynccontextmanager
async def _connected(address: str) -> AsyncIterator[grpc.aio.Channel]:
    """A connection of its own."""
    options = (
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.max_receive_message_length", -1),
    )
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        yield channel


# --- the besiegers -------------------------------------------------------------------


async def _read_endlessly(address: str, actor: Address, _first: Hash32) -> None:
    """Calls whose handler has no end, from connections of their own."""
    request = queries_pb2.CallReadOnlyRequest(actor=actor, handler="burn")

    async def read() -> None:
        async with _connected(address) as channel:
            call = QueryServiceStub(channel).CallReadOnly
            await _endlessly(lambda: call(request))

    await asyncio.gather(*(read() for _ in range(READERS)))


async def _read_nothing(address: str, _actor: Address, first: Hash32) -> None:
    """Streams of whole blocks that nobody reads."""
    genesis = types_pb2.BlockRef(height=0, hash=first)
    live = streams_pb2.StreamBlocksRequest(view=_FULL)
    whole = streams_pb2.StreamBlocksRequest(view=_FULL, resume_after=genesis)

    async def follow(count: int) -> None:
        async with _connected(address) as channel:
            stub = StreamServiceStub(channel)

            def stream(request: streams_pb2.StreamBlocksRequest) -> Awaitable[None]:
                return _endlessly(lambda: stub.StreamBlocks(request).code())

            asked = (whole if index % 2 else live for index in range(count))
            await asyncio.gather(*map(stream, asked))

    each = STREAMS_PER_CONNECTION
    counts = (min(each, UNREAD_STREAMS - at) for at in range(0, UNREAD_STREAMS, each))
    await asyncio.gather(*map(follow, counts))


async def _read_largest(address: str, _actor: Address, _first: Hash32) -> None:
    """The block with the most events, whole, again and again, as bytes."""
    largest = queries_pb2.GetBlockRequest(latest=True, view=_FULL)
    wanted = [largest]

    async def look() -> None:
        async with _connected(address) as channel:
            blocks = QueryServiceStub(channel).ListBlocks
            most = 0
            while True:
                page = await blocks(queries_pb2.ListBlocksRequest(descending=True))
                for block in page.blocks:
                    if block.event_count > most:
                        most = block.event_count
                        height = block.header.height
                        wanted[0] = queries_pb2.GetBlockRequest(
                            height=height, view=_FULL
                        )
                await asyncio.sleep(SAMPLE_SECONDS)

    async def read() -> None:
        async with _connected(address) as channel:
            method = "/cowboy.devnet.v1.QueryService/GetBlock"
            get_block = cast("_Bytes", channel.unary_unary(method))
            await _endlessly(lambda: get_block(wanted[0].SerializeToString()))

    await asyncio.gather(_endlessly(look), *(read() for _ in range(BLOCK_READERS)))


async def _fill_blocks(address: str, actor: Address, _first: Hash32) -> None:
    """Transactions with as many events as there may be, as many as fit into blocks."""
    instruction = ExecuteActor(actor, "shout", EVENTS.to_bytes(2, "big"), Amount(0))

    async def send(index: int) -> None:
        wallet = Wallet.dev(index)
        async with _connected(address) as channel:
            submit = TransactionServiceStub(channel).SubmitAndWait
            account = QueryServiceStub(channel).GetAccount
            asked = queries_pb2.GetAccountRequest(address=wallet.address)

            async def send_next() -> None:
                nonce = (await account(asked)).next_nonce
                raw = _sign(wallet, nonce, instruction, _SHOUT_LIMITS)
                answer = await submit(SubmitAndWaitRequest(transaction=raw))
                assert not answer.committed.receipt.error.kind, answer

            await _endlessly(send_next)

    await asyncio.gather(*(send(index) for index in range(TRANSACTIONS)))


async def _endlessly(call: Callable[[], Awaitable[object]]) -> None:
    """Call again whatever comes of it."""
    while True:
        try:
            await call()
        except grpc.aio.AioRpcError:
            await asyncio.sleep(REFUSED_SECONDS)


BESIEGERS = {
    "readers": _read_endlessly,
    "streams": _read_nothing,
    "blocks": _read_largest,
    "filling": _fill_blocks,
}


def _main(words: list[str]) -> None:
    if len(words) == 1:
        sys.stdout.write(render_section(_measured(float(words[0]) * 60)))
        return
    name, address, actor, first = words
    besiege = BESIEGERS[name]
    uvloop.run(
        besiege(address, Address(bytes.fromhex(actor)), Hash32(bytes.fromhex(first)))
    )


if __name__ == "__main__":
    _main(sys.argv[1:])
