"""A node under load: how long others wait while blocks execute; and a soak.

The caller who is measured has a connection of its own and asks `GetStatus`, one call
after another. Beside it the node executes blocks of 20,000,000 cycles, and hundreds of
streams follow them, some of which never read.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import grpc
import psutil
import uvloop
from msgspec import Struct

from benches.longchain import folder_bytes
from benches.nodes import ROOT, Running, running_node
from benches.report import Row, Section, median
from benches.starting import MEBIBYTE, memory_mib
from benches.traffic import DEADLINE_SECONDS, Sender
from node.chain.transaction import DeployActor, ExecuteActor
from node.client.wallet import Wallet, build_body
from node.primitives.crypto import derive_actor_address, keccak256
from node.primitives.types import Amount, Hash32
from node.rpc.v1.queries_pb2 import GetStatusRequest
from node.rpc.v1.queries_pb2_grpc import QueryServiceStub
from node.rpc.v1.streams_pb2 import StreamBlocksRequest
from node.rpc.v1.streams_pb2_grpc import StreamServiceStub
from node.rpc.v1.transactions_pb2 import SubmitAndWaitRequest, SubmitRequest
from node.rpc.v1.transactions_pb2_grpc import TransactionServiceStub

PACE_MS = 100
MEASURED_SECONDS = 10
SETTLE_SECONDS = 2
"""The node loads its log and opens its other port meanwhile."""
ASK_SECONDS = 0.005
STREAMS = 500
STREAMS_PER_CONNECTION = 50
NEVER_READING_EACH = 10
"""Of that many streams one never reads."""
SOAK_SAMPLE_SECONDS = 30
SOAK_SEND_SECONDS = 0.05
SOAK_STREAMS = 20

STATUS_P99_MS_MAX = 25

_CHAIN_ID = 100
_MAX_FEES = (1_000_000, 1_000_000)
_DEPLOY_LIMITS = (2_000_000, 200_000)
_BURN_LIMITS = (19_990_000, 2_000)
_ACTOR = b"""
import pvm_host

def burn(payload):
    total = 0
    while True:
        total = (total + 3) % 7

def arm(payload):
    pvm_host.schedule_timer(pvm_host.block_height() + 1, b"", gas_limit=50_000)

def handle_timer(payload):
    arm(payload)
"""


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that so many of a hundred do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


class Caller(Struct):
    """An account that uses one actor."""

    wallet: Wallet
    actor: bytes = b""
    nonce: int = 0

    async def deploy(self, channel: grpc.aio.Channel) -> None:
        """Deploy the actor, and wait for it."""
        code_hash = keccak256(_ACTOR)
        salt = Hash32(bytes(32))
        self.actor = derive_actor_address(self.wallet.address, salt, code_hash)
        raw = self._sign(DeployActor(salt, _ACTOR, b"", Amount(0)), _DEPLOY_LIMITS)
        answer = await TransactionServiceStub(channel).SubmitAndWait(
            SubmitAndWaitRequest(transaction=raw), timeout=DEADLINE_SECONDS
        )
        assert not answer.committed.receipt.error.kind, answer

    async def call(self, channel: grpc.aio.Channel, handler: str) -> None:
        """Submit a call; it need not succeed."""
        instruction = ExecuteActor(self.actor, handler, b"", Amount(0))
        raw = self._sign(instruction, _BURN_LIMITS)
        await TransactionServiceStub(channel).Submit(SubmitRequest(transaction=raw))

    def _sign(
        self, instruction: DeployActor | ExecuteActor, limits: tuple[int, int]
    ) -> bytes:
        body = build_body(
            instruction,
            chain_id=_CHAIN_ID,
            nonce=self.nonce,
            limits=limits,
            max_fees=_MAX_FEES,
        )
        self.nonce += 1
        return self.wallet.sign(body)


# --- GetStatus while full blocks execute ---------------------------------------------


def measure_status() -> Section:
    """`GetStatus` of an idle node, under full blocks, and with 500 streams as well."""
    with running_node("--pace", f"{PACE_MS}ms") as node:
        idle, full, crowded = uvloop.run(_status(node))
    baseline = f"the same node idle: p99 {_ms(idle, 99)}, median {_ms(idle, 50)}"
    rows = tuple(
        Row(
            what,
            f"p99 {_ms(times, 99)}, median {_ms(times, 50)}",
            baseline,
            f"p99 < {STATUS_P99_MS_MAX} ms",
            percentile(times, 99) * 1_000 < STATUS_P99_MS_MAX,
        )
        for what, times in (
            ("`GetStatus` while blocks of 20,000,000 cycles execute", full),
            (f"and {STREAMS} streams follow, a tenth never reads", crowded),
        )
    )
    method = (
        f"Calls one after another, {ASK_SECONDS * 1_000:.0f} ms apart, for "
        f"{MEASURED_SECONDS} s each, on a connection of their own. A block holds one "
        f"call that counts until its 19,990,000 cycles are used up; the next begins "
        f"{PACE_MS} ms after the one before, or at once."
    )
    return Section("Answers under load", method, rows)


def _ms(times: Sequence[float], percent: int) -> str:
    return f"{percentile(times, percent) * 1_000:.1f} ms"


async def _status(node: Running) -> tuple[list[float], list[float], list[float]]:
    async with grpc.aio.insecure_channel(node.address) as channel:
        caller = Caller(Wallet.dev(0))
        await caller.deploy(channel)
        await asyncio.sleep(SETTLE_SECONDS)
        idle = await _ask(node.address)
        async with _full_blocks(channel, caller):
            full = await _ask(node.address)
            with _streams_of_another_process(node.address):
                crowded = await _ask(node.address)
    return idle, full, crowded


@asynccontextmanager
async def _full_blocks(
    channel: grpc.aio.Channel, caller: Caller
) -> AsyncIterator[None]:
    """A call in the pool at any time that fills a block."""

    async def feed() -> None:
        status = QueryServiceStub(channel).GetStatus
        while True:
            waiting = (await status(GetStatusRequest())).pool_transactions
            for _ in range(waiting, 3):
                await caller.call(channel, "burn")
            await asyncio.sleep(PACE_MS / 1_000)

    feeding = asyncio.create_task(feed())
    try:
        yield
    finally:
        feeding.cancel()
        await asyncio.wait([feeding])


@asynccontextmanager
async def _streams(address: str, count: int) -> AsyncIterator[None]:
    """Streams of blocks over some connections; every tenth is never read."""
    options = (("grpc.use_local_subchannel_pool", 1),)
    channels = [
        grpc.aio.insecure_channel(address, options=options)
        for _ in range(-(-count // STREAMS_PER_CONNECTION))
    ]

    async def follow(index: int) -> None:
        stub = StreamServiceStub(channels[index // STREAMS_PER_CONNECTION])
        call = stub.StreamBlocks(StreamBlocksRequest())
        if index % NEVER_READING_EACH:
            async for _ in call:
                continue
        else:
            await call.code()

    tasks = [asyncio.create_task(follow(index)) for index in range(count)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for channel in channels:
            await channel.close()


@contextmanager
def _streams_of_another_process(address: str) -> Iterator[None]:
    """The same, in a process that does not share this one's event loop."""
    command = [sys.executable, "-m", "benches.load", address, str(STREAMS)]
    with subprocess.Popen(command, cwd=ROOT / "scripts") as process:
        try:
            yield
        finally:
            process.kill()


async def _follow_for_ever(address: str, count: int) -> None:
    async with _streams(address, count):
        await asyncio.Event().wait()


async def _ask(address: str) -> list[float]:
    """Seconds that each call took."""
    options = (("grpc.use_local_subchannel_pool", 1),)
    times = []
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        status = QueryServiceStub(channel).GetStatus
        await status(GetStatusRequest())  # connects
        end = time.perf_counter() + MEASURED_SECONDS
        while time.perf_counter() < end:
            began = time.perf_counter()
            await status(GetStatusRequest())
            times.append(time.perf_counter() - began)
            await asyncio.sleep(ASK_SECONDS)
    return times


# --- soak ----------------------------------------------------------------------------


class Sample(Struct, frozen=True):
    """A node at some moment of a soak."""

    seconds: float
    height: int
    transfers: int
    anonymous_mib: float
    folder_mib: float
    open_files: int
    threads: int


def measure_soak(minutes: float) -> Section:
    """A gentle load for long: what grows, and whether anything leaks."""
    with running_node("--pace", f"{PACE_MS}ms") as node:
        samples, times = uvloop.run(_soak(node, minutes * 60))
    first, middle, last = samples[0], samples[len(samples) // 2], samples[-1]
    rows = (
        _soak_row("anonymous memory, MiB", [s.anonymous_mib for s in samples]),
        _soak_row("open files", [s.open_files for s in samples]),
        _soak_row("threads", [s.threads for s in samples]),
        Row(
            "folder, bytes a block",
            f"{_bytes_a_block(middle, last):,.0f} in the second half",
            f"{_bytes_a_block(first, middle):,.0f} in the first",
            "",
            None,
        ),
        Row(
            "`GetStatus`",
            f"p99 {_ms(times, 99)}, at most {max(times) * 1_000:.0f} ms",
            f"median {_ms(times, 50)}",
            "",
            None,
        ),
    )
    method = (
        f"{last.seconds / 60:.0f} minutes, {last.height:,} blocks, one each "
        f"{PACE_MS} ms, {last.transfers:,} transfers, a timer that fires in every "
        f"block, {SOAK_STREAMS} streams that come and go every "
        f"{SOAK_SAMPLE_SECONDS} s, a tenth of which never read. Written by "
        "`scripts/bench.py --soak MINUTES`."
    )
    return Section("Soak", method, rows)


def _soak_row(what: str, values: Sequence[float]) -> Row:
    middle = len(values) // 2
    return Row(
        what,
        f"{median(values[middle:]):,.0f} in the second half, at the end "
        f"{values[-1]:,.0f}",
        f"{median(values[: middle + 1]):,.0f} in the first half, at the beginning "
        f"{values[0]:,.0f}",
        "",
        None,
    )


def _bytes_a_block(first: Sample, last: Sample) -> float:
    grown = (last.folder_mib - first.folder_mib) * MEBIBYTE
    return grown / max(1, last.height - first.height)


async def _soak(node: Running, seconds: float) -> tuple[list[Sample], list[float]]:
    samples: list[Sample] = []
    times: list[float] = []
    began = time.perf_counter()
    async with grpc.aio.insecure_channel(node.address) as channel:
        caller = Caller(Wallet.dev(0))
        await caller.deploy(channel)
        await caller.call(channel, "arm")
        sender = Sender(Wallet.dev(1))
        submit = TransactionServiceStub(channel).Submit
        status = QueryServiceStub(channel).GetStatus
        while not samples or samples[-1].seconds < seconds:
            async with _streams(node.address, SOAK_STREAMS):
                end = time.perf_counter() + min(SOAK_SAMPLE_SECONDS, seconds)
                while time.perf_counter() < end:
                    (raw,) = sender.transfers(1)
                    await submit(SubmitRequest(transaction=raw))
                    asked = time.perf_counter()
                    head = (await status(GetStatusRequest())).head
                    times.append(time.perf_counter() - asked)
                    await asyncio.sleep(SOAK_SEND_SECONDS)
            passed = time.perf_counter() - began
            samples.append(_sample(node, passed, head.height, sender.nonce))
    return samples, times


def _sample(node: Running, seconds: float, height: int, transfers: int) -> Sample:
    process = psutil.Process(node.process.pid)
    return Sample(
        seconds,
        height,
        transfers,
        memory_mib(node.process.pid)[1],
        folder_bytes(node.data) / MEBIBYTE,
        process.num_fds(),
        process.num_threads(),
    )


if __name__ == "__main__":
    uvloop.run(_follow_for_ever(sys.argv[1], int(sys.argv[2])))
