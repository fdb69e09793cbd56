"""Transfers over gRPC: serial, and 32 in flight, against the ceiling of both.

The client is this process: one event loop on uvloop, one connection a server, the
same for the node and for the ceiling, which are processes of their own. Everything
that is sent was signed before the clock starts.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import grpc
import uvloop
from msgspec import Struct

from benches import ceiling
from benches.nodes import ROOT, running_node
from benches.report import Row, Section, median, median_ratio
from node.chain.transaction import Transfer
from node.client.wallet import Wallet, build_body
from node.primitives.types import Amount
from node.rpc.v1.transactions_pb2 import SubmitAndWaitRequest, SubmitRequest
from node.rpc.v1.transactions_pb2_grpc import TransactionServiceStub

SERIAL_ROUNDS = 9
SERIAL_CALLS = 250
FLIGHT_ROUNDS = 7
IN_FLIGHT = 32
CALLS_PER_SENDER = 60
PACE_MS = 100
DEADLINE_SECONDS = 10
LOG_SECONDS = 0.1

SERIAL_SHARE_MIN = 0.55
FLIGHT_SHARE_MIN = 0.55

_CHAIN_ID = 100
_LIMITS = (10_000, 2_000)
_MAX_FEES = (1_000_000, 1_000_000)

_PHASES = ("build_ms", "commit_ms")

Send = Callable[[bytes], Awaitable[object]]


class Sender(Struct):
    """A development account with the nonces it has used."""

    wallet: Wallet
    nonce: int = 0

    def transfers(self, count: int) -> list[bytes]:
        """Signed transfers of one base unit to its neighbour."""
        signed = []
        for _ in range(count):
            body = build_body(
                Transfer(Wallet.dev(0).address, Amount(1)),
                chain_id=_CHAIN_ID,
                nonce=self.nonce,
                limits=_LIMITS,
                max_fees=_MAX_FEES,
            )
            self.nonce += 1
            signed.append(self.wallet.sign(body))
        return signed


@contextmanager
def running_ceiling() -> Iterator[str]:
    """The ceiling's process; its address."""
    with tempfile.TemporaryDirectory(prefix="cowboy-bench-") as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", ceiling.__name__, f"{folder}/db"],
            cwd=ROOT / "scripts",
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            yield f"127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()
            process.communicate()


# --- serial ------------------------------------------------------------------------


def measure_serial() -> Section:
    """`SubmitAndWait`, one after another, a synced block for each."""
    with running_node("--mining", "instant") as node, running_ceiling() as address:
        rates, each, grouped = uvloop.run(_serial(node.address, address))
        build, commit = _phases(node.log)
    rows = []
    for name, ceilings, target in (
        ("synced on the event loop", each, SERIAL_SHARE_MIN),
        ("synced on a thread of its own", grouped, None),
    ):
        share = median_ratio(rates, ceilings)
        rows.append(
            Row(
                "serial `SubmitAndWait` of transfers, mode `instant`",
                f"{median(rates):,.0f}/s = {share:.0%} of the ceiling",
                f"ceiling, {name}: {median(ceilings):,.0f}/s",
                "" if target is None else f"≥ {target:.0%}",
                None if target is None else share >= target,
            )
        )
    rows.append(
        Row(
            "of such a transfer, in the node: building its block, committing it synced",
            f"{build:.2f} ms, {commit:.2f} ms of {1_000 / median(rates):.2f}",
            f"ceiling, all of it: {1_000 / median(each):.2f} ms",
            "",
            None,
        )
    )
    method = (
        f"{SERIAL_ROUNDS} rounds of {SERIAL_CALLS} transfers, each sent when the one "
        "before was answered; a round of each ceiling after each. The ceiling is a "
        "bare grpc.aio server on uvloop that recovers the signer, writes the bytes to "
        "LevelDB in a synced batch and echoes them (`scripts/benches/ceiling.py`): "
        "once on its event loop, which stands still meanwhile, once on a thread, as "
        "the node does, whose loop must answer others. It is grpc.aio as it comes; "
        "the node has switched one of gRPC's experiments off, as it always does. All "
        "calls have the same deadline. Shares are medians of the rounds' ratios. The "
        "node's event loop and its executing thread are pinned to no core, and hand "
        "each transfer over twice: on two cores, whatever else runs takes more from it "
        "than from the ceiling, whose one thread does all."
    )
    return Section("Transactions, serial", method, tuple(rows))


def _phases(log: Path) -> tuple[float, float]:
    """Milliseconds of building and of committing a block, as the node's log has it."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    blocks: list[dict[str, float]] = []
    while not blocks:  # it is written a little after the node says so
        assert time.monotonic() < deadline, "the node logs its blocks"
        time.sleep(LOG_SECONDS)
        whole = log.read_text(encoding="utf-8").rpartition("\n")[0]
        lines = map(json.loads, whole.splitlines())
        blocks = [line for line in lines if line["event"] == "block_committed"]
    build, commit = ([block[name] for block in blocks] for name in _PHASES)
    return median(build), median(commit)


async def _serial(
    node_address: str, ceiling_address: str
) -> tuple[list[float], list[float], list[float]]:
    sender = Sender(Wallet.dev(1))
    async with (
        grpc.aio.insecure_channel(node_address) as node,
        grpc.aio.insecure_channel(ceiling_address) as other,
    ):
        submit_and_wait = TransactionServiceStub(node).SubmitAndWait

        async def send(raw: bytes) -> None:
            answer = await submit_and_wait(
                SubmitAndWaitRequest(transaction=raw), timeout=DEADLINE_SECONDS
            )
            assert answer.HasField("committed"), answer

        each, grouped = map(other.unary_unary, (ceiling.EACH, ceiling.GROUPED))
        sends = (
            send,
            lambda raw: each(raw, timeout=DEADLINE_SECONDS),
            lambda raw: grouped(raw, timeout=DEADLINE_SECONDS),
        )
        samples: tuple[list[float], ...] = ([], [], [])
        for index in range(1 + SERIAL_ROUNDS):  # the first is to warm up
            signed = sender.transfers(SERIAL_CALLS)
            for one, taken in zip(sends, samples, strict=True):
                rate = await _one_by_one(one, signed)
                if index:
                    taken.append(rate)
    return samples[0], samples[1], samples[2]


async def _one_by_one(send: Send, signed: Sequence[bytes]) -> float:
    """Calls a second."""
    began = time.perf_counter()
    for raw in signed:
        await send(raw)
    return len(signed) / (time.perf_counter() - began)


# --- 32 in flight ------------------------------------------------------------------


def measure_in_flight() -> Section:
    """`Submit`, 32 calls in flight, until the last transfer is committed."""
    flags = ("--pace", f"{PACE_MS}ms", "--accounts", str(IN_FLIGHT))
    with running_node(*flags) as node, running_ceiling() as address:
        rates, each, grouped = uvloop.run(_in_flight(node.address, address))
    rows = []
    for name, ceilings in (
        ("a synced batch a call", each),
        ("one synced batch for all in hand", grouped),
    ):
        share = median_ratio(rates, ceilings)
        rows.append(
            Row(
                f"`Submit`, {IN_FLIGHT} in flight, mode `interval`, pace {PACE_MS} ms, "
                "until committed",
                f"{median(rates):,.0f}/s = {share:.0%} of the ceiling",
                f"ceiling, {name}: {median(ceilings):,.0f}/s",
                f"≥ {FLIGHT_SHARE_MIN:.0%}",
                share >= FLIGHT_SHARE_MIN,
            )
        )
    method = (
        f"{FLIGHT_ROUNDS} rounds of {IN_FLIGHT} senders with {CALLS_PER_SENDER} "
        "transfers each, one call of each in flight; the last of each sender is a "
        "`SubmitAndWait`, so that the clock stops when all are committed. A round of "
        "each ceiling after each: the same server, once with a synced batch for every "
        "call, once, which is harder to reach, with one on a thread of its own for all "
        "calls that came while it wrote the last."
    )
    return Section(f"Transactions, {IN_FLIGHT} in flight", method, tuple(rows))


async def _in_flight(
    node_address: str, ceiling_address: str
) -> tuple[list[float], list[float], list[float]]:
    senders = [Sender(Wallet.dev(index)) for index in range(IN_FLIGHT)]
    async with (
        grpc.aio.insecure_channel(node_address) as node,
        grpc.aio.insecure_channel(ceiling_address) as other,
    ):
        stub = TransactionServiceStub(node)
        each, grouped = (
            other.unary_unary(method) for method in (ceiling.EACH, ceiling.GROUPED)
        )

        async def submit(raw: bytes) -> None:
            await stub.Submit(SubmitRequest(transaction=raw))

        async def submit_last(raw: bytes) -> None:
            answer = await stub.SubmitAndWait(
                SubmitAndWaitRequest(transaction=raw), timeout=DEADLINE_SECONDS
            )
            assert answer.HasField("committed"), answer

        runs = ((submit, submit_last), (each, each), (grouped, grouped))
        samples: tuple[list[float], ...] = ([], [], [])
        for index in range(1 + FLIGHT_ROUNDS):  # the first is to warm up
            signed = [sender.transfers(CALLS_PER_SENDER) for sender in senders]
            for (send, send_last), taken in zip(runs, samples, strict=True):
                rate = await side_by_side(send, send_last, signed)
                if index:
                    taken.append(rate)
    return samples[0], samples[1], samples[2]


async def side_by_side(
    send: Send, send_last: Send, signed: Sequence[Sequence[bytes]]
) -> float:
    """Calls a second of senders that each send one by one."""
    # The last of each may be another call, one that answers when all is done.

    async def run(own: Sequence[bytes]) -> None:
        for raw in own[:-1]:
            await send(raw)
        await send_last(own[-1])

    began = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for own in signed:
            tasks.create_task(run(own))
    return sum(len(own) for own in signed) / (time.perf_counter() - began)
