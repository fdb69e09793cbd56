"""A chain of 100,000 blocks with 100,000 transfers: start, speed, memory, disk.

A node's own process makes it, over its port, so that the memory measured is that of a
process which lived through all of it. Its folder is then started from, compared with a
fresh one, and killed in.
"""

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import uvloop
from msgspec import Struct, field

from benches.nodes import Running, running_node
from benches.report import Row, Section, interleave, median, median_ratio
from benches.starting import MEBIBYTE, memory_mib
from benches.traffic import DEADLINE_SECONDS, Sender, side_by_side
from node.client.wallet import Wallet
from node.rpc.v1.queries_pb2 import GetAccountRequest, GetStatusRequest
from node.rpc.v1.queries_pb2_grpc import QueryServiceStub
from node.rpc.v1.transactions_pb2 import SubmitAndWaitRequest, SubmitRequest
from node.rpc.v1.transactions_pb2_grpc import TransactionServiceStub

EMPTY_BLOCKS = 50_000
BLOCKS = 100_000
SENDERS = 200
ROUNDS = 10
TRANSFERS_PER_SENDER = 50
"""In a round; a pool takes 64 of one sender."""
GROWING_PACE_MS = 1
SAMPLES = 8
LOOK_SECONDS = 0.2
STARTS = 9
KILLS = 7
RATE_ROUNDS = 7
RATE_SENDERS = 32
RATE_TRANSFERS = 40
PACE_MS = 100

START_MS_MAX = 400
RECOVERY_MS_MAX = 1_000
RATE_RATIO_MIN = 0.9
ANONYMOUS_MIB_MAX = 200

_FLAGS = ("--accounts", str(SENDERS))


class Size(Struct, frozen=True):
    """A folder at some moment."""

    height: int
    transfers: int
    folder_bytes: int


def folder_bytes(data: Path) -> int:
    """Of all files in a folder; LevelDB may remove one meanwhile."""
    total = 0
    with os.scandir(data) as entries:
        for entry in entries:
            try:
                total += entry.stat().st_size
            except FileNotFoundError:
                continue
    return total


class Made(Struct):
    """A long chain, and what it took."""

    data: Path
    empty: list[Size] = field(default_factory=list)
    """While it made empty blocks."""
    mixed: list[Size] = field(default_factory=list)
    """While it took transfers."""
    height: int = 0
    memory: tuple[float, float] = (0, 0)
    seconds: float = 0


@contextmanager
def long_chain() -> Iterator[Made]:
    """A folder with a long chain; removed at the end."""
    flags = ("--pace", f"{GROWING_PACE_MS}ms", *_FLAGS)
    with tempfile.TemporaryDirectory(prefix="cowboy-bench-") as folder:
        made = Made(Path(folder) / "data")
        began = time.perf_counter()
        with running_node(*flags, data=made.data) as node:
            uvloop.run(_grow(node, made))
            made.memory = memory_mib(node.process.pid)
            node.process.send_signal(signal.SIGTERM)
            node.process.wait(DEADLINE_SECONDS)
        made.seconds = time.perf_counter() - began
        yield made


async def _grow(node: Running, made: Made) -> None:
    async with grpc.aio.insecure_channel(node.address) as channel:
        status = QueryServiceStub(channel).GetStatus
        submit = TransactionServiceStub(channel).Submit

        async def send(raw: bytes) -> None:
            await submit(SubmitRequest(transaction=raw))

        async def look(transfers: int) -> Size:
            height = (await status(GetStatusRequest())).head.height
            return Size(height, transfers, folder_bytes(made.data))

        async def reach(height: int, transfers: int) -> Size:
            while True:
                size = await look(transfers)
                if size.height >= height:
                    return size
                await asyncio.sleep(LOOK_SECONDS)

        made.empty.append(await look(0))
        for _ in range(SAMPLES):
            height = made.empty[-1].height + EMPTY_BLOCKS // SAMPLES
            made.empty.append(await reach(height, 0))
        senders = [Sender(Wallet.dev(index)) for index in range(SENDERS)]
        made.mixed.append(await look(0))
        for index in range(ROUNDS):
            signed = [sender.transfers(TRANSFERS_PER_SENDER) for sender in senders]
            await side_by_side(send, send, signed)
            sent = (index + 1) * SENDERS * TRANSFERS_PER_SENDER
            made.mixed.append(await look(sent))
        made.height = (await reach(BLOCKS, sent)).height


# --- rows --------------------------------------------------------------------------


def measure_long_chain() -> Section:
    """Everything that must not get worse as a chain grows."""
    with long_chain() as made:
        rows = (
            *_disk_rows(made),
            _memory_row(made),
            _start_row(made.data),
            _recovery_row(made.data),
            _rate_row(made.data),
        )
    transfers = ROUNDS * SENDERS * TRANSFERS_PER_SENDER
    method = (
        f"One node, mode `interval` with a pace of {GROWING_PACE_MS} ms, made "
        f"{made.height:,} blocks with {transfers:,} signed transfers that came over "
        f"its port, in {made.seconds:.0f} s; the first {EMPTY_BLOCKS:,} blocks are "
        "empty. Disk is the size of the folder, log and tables that are not yet "
        "compacted included. Recovery: SIGKILL while 32 senders had calls in flight, "
        "then the time from the new process to its first answer."
    )
    return Section("A long chain", method, rows)


def _disk_rows(made: Made) -> tuple[Row, Row]:
    empty_first, empty_last = _halves(made.empty, _bytes_a_block)
    first, last = _halves(
        made.mixed,
        lambda before, after: _bytes_a_transfer(before, after, empty_last),
    )
    total = folder_bytes(made.data) / MEBIBYTE
    return (
        Row(
            "disk per empty block",
            f"{empty_last:,.0f} bytes",
            f"in the first half {empty_first:,.0f}",
            "",
            None,
        ),
        Row(
            "disk per transfer",
            f"{last:,.0f} bytes",
            f"in the first half {first:,.0f}; the folder in all {total:,.0f} MiB",
            "",
            None,
        ),
    )


def _halves(
    sizes: list[Size], rate: Callable[[Size, Size], float]
) -> tuple[float, float]:
    middle = sizes[len(sizes) // 2]
    return rate(sizes[0], middle), rate(middle, sizes[-1])


def _bytes_a_block(before: Size, after: Size) -> float:
    grown = after.folder_bytes - before.folder_bytes
    return grown / (after.height - before.height)


def _bytes_a_transfer(before: Size, after: Size, block_bytes: float) -> float:
    blocks = after.height - before.height
    grown = after.folder_bytes - before.folder_bytes - blocks * block_bytes
    return grown / (after.transfers - before.transfers)


def _memory_row(made: Made) -> Row:
    rss, anonymous = made.memory
    with running_node() as fresh:
        idle_rss, idle_anonymous = memory_mib(fresh.process.pid)
    return Row(
        "memory of the process that made it",
        f"anonymous {anonymous:.0f} MiB, RSS {rss:.0f}",
        f"a node just started: {idle_anonymous:.0f}, RSS {idle_rss:.0f}",
        f"anonymous < {ANONYMOUS_MIB_MAX} MiB",
        anonymous < ANONYMOUS_MIB_MAX,
    )


def _start_row(data: Path) -> Row:
    def start(folder: Path | None) -> float:
        with running_node("--mining", "manual", data=folder) as node:
            return node.seconds

    long, fresh = interleave(STARTS, lambda: start(data), lambda: start(None))
    milliseconds = median(long) * 1_000
    return Row(
        "process start to first answered RPC in this folder",
        f"{milliseconds:.0f} ms (least {min(long) * 1_000:.0f})",
        f"in a fresh folder: {median(fresh) * 1_000:.0f} ms",
        f"< {START_MS_MAX} ms",
        milliseconds < START_MS_MAX,
    )


def _recovery_row(data: Path) -> Row:
    recovered = []
    for _ in range(KILLS):
        with running_node("--mining", "instant", data=data) as node:
            uvloop.run(_use_until_killed(node))
        with running_node("--mining", "manual", data=data) as node:
            recovered.append(node.seconds)
    with running_node("--mining", "manual") as fresh:
        baseline = fresh.seconds
    worst = max(recovered) * 1_000
    return Row(
        "recovery after SIGKILL to first answer",
        f"{median(recovered) * 1_000:.0f} ms, at most {worst:.0f}",
        f"a start in a fresh folder: {baseline * 1_000:.0f} ms",
        f"at most {RECOVERY_MS_MAX} ms",
        worst < RECOVERY_MS_MAX,
    )


async def _use_until_killed(node: Running) -> None:
    """32 accounts send, and the node is killed half a second later."""
    asyncio.get_running_loop().call_later(0.5, node.process.kill)

    async def use(index: int) -> None:
        wallet = Wallet.dev(index)
        async with grpc.aio.insecure_channel(node.address) as channel:
            stub = TransactionServiceStub(channel)
            sender = Sender(wallet, await _next_nonce(channel, wallet.address))
            while True:
                (raw,) = sender.transfers(1)
                await stub.SubmitAndWait(SubmitAndWaitRequest(transaction=raw))

    users = [use(index) for index in range(RATE_SENDERS)]
    for ended in await asyncio.gather(*users, return_exceptions=True):
        assert isinstance(ended, grpc.RpcError), ended


async def _next_nonce(channel: grpc.aio.Channel, address: bytes) -> int:
    request = GetAccountRequest(address=address)
    return (await QueryServiceStub(channel).GetAccount(request)).next_nonce


def _rate_row(data: Path) -> Row:
    flags = ("--pace", f"{PACE_MS}ms")
    with (
        running_node(*flags, data=data) as long,
        running_node(*flags, *_FLAGS) as fresh,
    ):
        rates, baselines = uvloop.run(_rates(long.address, fresh.address))
    ratio = median_ratio(rates, baselines)
    return Row(
        f"transfers a second, {RATE_SENDERS} in flight, at this height",
        f"{median(rates):,.0f}/s = {ratio:.2f} of the other",
        f"from height 1 on: {median(baselines):,.0f}/s",
        f"≥ {RATE_RATIO_MIN}",
        ratio >= RATE_RATIO_MIN,
    )


async def _rates(*addresses: str) -> tuple[list[float], ...]:
    """Transfers a second of nodes that are used in turns."""
    samples: tuple[list[float], ...] = tuple([] for _ in addresses)
    crowds = []
    for address in addresses:
        channel = grpc.aio.insecure_channel(address)
        wallets = [Wallet.dev(index) for index in range(RATE_SENDERS)]
        senders = [
            Sender(wallet, await _next_nonce(channel, wallet.address))
            for wallet in wallets
        ]
        crowds.append((channel, senders))
    for index in range(1 + RATE_ROUNDS):  # the first is to warm up
        for (channel, senders), taken in zip(crowds, samples, strict=True):
            rate = await _rate(channel, senders)
            if index:
                taken.append(rate)
    for channel, _ in crowds:
        await channel.close()
    return samples


async def _rate(channel: grpc.aio.Channel, senders: list[Sender]) -> float:
    stub = TransactionServiceStub(channel)

    async def send(raw: bytes) -> None:
        await stub.Submit(SubmitRequest(transaction=raw))

    async def send_last(raw: bytes) -> None:
        answer = await stub.SubmitAndWait(
            SubmitAndWaitRequest(transaction=raw), timeout=DEADLINE_SECONDS
        )
        assert answer.HasField("committed"), answer

    signed = [sender.transfers(RATE_TRANSFERS) for sender in senders]
    return await side_by_side(send, send_last, signed)
