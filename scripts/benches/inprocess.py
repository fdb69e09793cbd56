"""The chain in this process: a new `Devnet`, empty blocks, fires; and the bare VM."""

import gc
import json
import threading
import time
from pathlib import Path

from msgspec.structs import replace

from benches.report import Row, Section, interleave, median, median_ratio
from node.chain.transaction import ExecuteActor
from node.client import Wallet, build_body
from node.config import genesis_folder
from node.primitives.types import Amount
from node.testing import Actor, Devnet
from pvm import Meter, execute
from pvm.testing import World

DEVNETS = 60
EMPTY_BLOCKS = 500
ROUNDS = 5
ACTORS = 4
TIMERS_PER_ACTOR = 1_000
PER_HEIGHT = 100
GAS_LIMIT = 2_000
MESSAGES = 2_000

NEW_DEVNET_MS_MAX = 10
EMPTY_BLOCK_MS_MAX = 0.3
FIRES_PER_SECOND_MIN = 4_000
IMPERSONATED_PER_SECOND_MIN = 5_000
SIGNED_PER_SECOND_MIN = 2_500
CALLS = 200
TRACES = 100
TRACE_MS_MAX = 5

_CALL_CYCLES = 19_000_000
_CALL_CELLS = 3_000_000
_HORIZON = 20
"""Blocks until the first timer is due: time to schedule them all."""

_ACTOR = f"""
import pvm_host

def arm(payload):
    first = int.from_bytes(payload, "big")
    for i in range({TIMERS_PER_ACTOR}):
        height = first + i // {PER_HEIGHT // ACTORS}
        pvm_host.schedule_timer(height, b"", gas_limit={GAS_LIMIT})

def handle_timer(payload):
    pass
"""


def measure_devnet() -> Section:
    """A new chain, from the preset's file to block 0."""

    def new_devnet() -> float:
        began = time.perf_counter()
        chain = Devnet()
        spent = time.perf_counter() - began
        chain.close()
        return spent

    devnets, threads = interleave(DEVNETS, new_devnet, _thread)
    milliseconds = median(devnets) * 1_000
    row = Row(
        "new `Devnet`",
        f"{milliseconds:.2f} ms (greatest {max(devnets) * 1_000:.2f})",
        f"a thread started and joined: {median(threads) * 1_000:.2f} ms",
        f"< {NEW_DEVNET_MS_MAX} ms",
        milliseconds < NEW_DEVNET_MS_MAX,
    )
    method = f"`Devnet()` {DEVNETS} times: thread, genesis and block 0 included."
    return Section("In-process chain: start", method, (row,))


def _thread() -> float:
    began = time.perf_counter()
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    return time.perf_counter() - began


def measure_empty_blocks() -> Section:
    """`Devnet.mine()` with nothing to do."""
    with Devnet() as chain:
        # More than are remembered, so that each is encoded and hashed again.
        headers = [replace(chain.head, height=h) for h in range(EMPTY_BLOCKS)]

        def blocks() -> float:
            began = time.perf_counter()
            for _ in range(EMPTY_BLOCKS):
                chain.mine()
            return (time.perf_counter() - began) / EMPTY_BLOCKS

        def hashes() -> float:
            began = time.perf_counter()
            for header in headers:
                header.hash()
            return (time.perf_counter() - began) / EMPTY_BLOCKS

        spent, baselines = interleave(ROUNDS, blocks, hashes)
    milliseconds = median(spent) * 1_000
    row = Row(
        "empty block",
        f"{milliseconds:.3f} ms",
        f"a header encoded and hashed: {median(baselines) * 1_000:.3f} ms",
        f"< {EMPTY_BLOCK_MS_MAX} ms",
        milliseconds < EMPTY_BLOCK_MS_MAX,
    )
    method = (
        f"`Devnet.mine()`, {ROUNDS} x {EMPTY_BLOCKS} blocks one by one: over the "
        "worker thread, committed to the store in memory."
    )
    return Section("In-process chain: empty blocks", method, (row,))


def measure_fires() -> Section:
    """Fires of a handler that does nothing, in blocks as the node makes them."""
    fires, messages = interleave(ROUNDS, fires_per_second, _messages_per_second)
    rate = median(fires)
    row = Row(
        "fires of a trivial handler",
        f"{rate:,.0f}/s",
        "the bare VM executing the same handler: "
        f"{median(messages):,.0f}/s; ratio {median_ratio(fires, messages):.2f}",
        f"> {FIRES_PER_SECOND_MIN:,}/s",
        rate > FIRES_PER_SECOND_MIN,
    )
    heights = ACTORS * TIMERS_PER_ACTOR // PER_HEIGHT
    method = (
        f"{ACTORS} actors with {TIMERS_PER_ACTOR:,} timers each, {PER_HEIGHT} due in "
        f"each of {heights} heights, `gas_limit` {GAS_LIMIT:,}, `pass` as handler, in "
        "a chain with the parameters of preset `devnet`. The time is that of the "
        f"{heights} blocks: pre-charge, fire, settlement, receipts, timer trace, "
        "trees, roots, header, commit in memory."
    )
    return Section("In-process chain: fires", method, (row,))


def fires_per_second(**overrides: object) -> float:
    """Of a trivial handler, on a chain with these overrides of its genesis."""
    with Devnet(**overrides) as chain:
        actors = [chain.deploy(_ACTOR, value="1000 CBY") for _ in range(ACTORS)]
        first = chain.height + _HORIZON
        for actor in actors:
            _arm(actor, first)
        chain.mine_until(first - 1)
        before = len(chain.results)
        heights = ACTORS * TIMERS_PER_ACTOR // PER_HEIGHT
        before = len(chain.results)
        gc.collect()
        began = time.perf_counter()
        chain.mine(heights)
        spent = time.perf_counter() - began
        receipts = [r for result in chain.results[before:] for r in result.receipts]
        assert len(receipts) == ACTORS * TIMERS_PER_ACTOR
        assert all(receipt.is_success for receipt in receipts)
    return len(receipts) / spent


def measure_traces() -> Section:
    """A transfer of the example token, executed again right after it, and watched."""
    source = (Path(genesis_folder()) / "actors" / "token.py").read_text("utf-8")
    with Devnet() as chain:
        supply = {"name": "Hay", "supply": 10**9}
        token = chain.deploy(source, payload=json.dumps(supply).encode())
        wanted = {"to": "0x" + chain.accounts[1].address.hex(), "amount": 1}
        payload = json.dumps(wanted).encode()
        limits = {"cycles_limit": 20_000, "cells_limit": 3_000}

        def traces() -> float:
            receipt = token.call("transfer", payload, **limits)
            began = time.perf_counter()
            assert receipt.trace.call is not None
            return time.perf_counter() - began

        def calls() -> float:
            began = time.perf_counter()
            token.call("transfer", payload, **limits)
            return time.perf_counter() - began

        traced, called = interleave(TRACES, traces, calls)
    milliseconds = median(traced) * 1_000
    row = Row(
        "a trace of a token transfer, after the call",
        f"{milliseconds:.2f} ms (greatest {max(traced) * 1_000:.2f})",
        f"the call, with its block: {median(called) * 1_000:.2f} ms; "
        f"ratio {median_ratio(traced, called):.2f}",
        f"< {TRACE_MS_MAX} ms",
        milliseconds < TRACE_MS_MAX,
    )
    method = (
        f"`receipt.trace` of the latest of {TRACES} calls, again and again: calls, "
        "steps, and what was changed."
    )
    return Section("In-process chain: traces", method, (row,))


def measure_calls() -> Section:
    """Transfers of the example token, one a block, impersonated and signed."""
    source = (Path(genesis_folder()) / "actors" / "token.py").read_text("utf-8")
    with Devnet() as chain:
        owner, other = chain.accounts[:2]
        supply = {"name": "Hay", "supply": 10**9}
        token = chain.deploy(source, payload=json.dumps(supply).encode())
        wanted = {"to": "0x" + other.address.hex(), "amount": 1}
        payload = json.dumps(wanted).encode()

        def impersonated() -> float:
            began = time.perf_counter()
            for _ in range(CALLS):
                token.call("transfer", payload, cycles_limit=20_000, cells_limit=3_000)
            return CALLS / (time.perf_counter() - began)

        def signed() -> float:
            wallet, nonce = Wallet.dev(owner.index), chain.account(owner).nonce
            raws = [
                wallet.sign(
                    build_body(
                        ExecuteActor(token.address, "transfer", payload, Amount(0)),
                        chain_id=chain.params.chain_id,
                        nonce=nonce + i,
                        limits=(20_000, 3_000),
                        max_fees=(10_000, 10_000),
                    )
                )
                for i in range(CALLS)
            ]
            began = time.perf_counter()
            for raw in raws:
                chain.submit_raw(raw)
                assert chain.mine().receipts[0].is_success
            return CALLS / (time.perf_counter() - began)

        def empty() -> float:
            began = time.perf_counter()
            for _ in range(CALLS):
                chain.mine()
            return CALLS / (time.perf_counter() - began)

        rates = interleave(ROUNDS, impersonated, signed, empty)
    named = (
        ("impersonated", rates[0], IMPERSONATED_PER_SECOND_MIN),
        ("signed", rates[1], SIGNED_PER_SECOND_MIN),
    )
    rows = tuple(
        Row(
            f"{name} calls of a token transfer, each its own block",
            f"{median(taken):,.0f}/s",
            f"empty blocks: {median(rates[2]):,.0f}/s",
            f"> {least:,}/s",
            median(taken) > least,
        )
        for name, taken, least in named
    )
    method = (
        f"{ROUNDS} x {CALLS} calls of `transfer` of the example token (JSON in, two "
        "storage entries, an event), one after another from the test's thread; what "
        "is signed was signed before the clock starts."
    )
    return Section("In-process chain: calls", method, rows)


def _arm(actor: Actor, first: int) -> None:
    actor.call(
        "arm",
        first.to_bytes(8, "big"),
        cycles_limit=_CALL_CYCLES,
        cells_limit=_CALL_CELLS,
    )


def _messages_per_second() -> float:
    """The virtual machine alone: no chain, no journal, no receipt."""
    world = World()
    address = world.add(_ACTOR)
    code = world.codes[address]
    message = world.message(address, ("handle_timer",), b"")

    def run() -> float:
        began = time.perf_counter()
        for _ in range(MESSAGES):
            meter = Meter(GAS_LIMIT, GAS_LIMIT)
            # A handler that does nothing asks its host for nothing.
            outcome = execute(code, message, world, meter)  # type: ignore[arg-type]
            assert outcome.is_success
        return MESSAGES / (time.perf_counter() - began)

    try:
        return world.worker.run(run)
    finally:
        world.worker.close()
