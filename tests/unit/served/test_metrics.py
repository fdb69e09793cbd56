"""What a scrape of a running node says: names, help, units, and true numbers."""

import asyncio
import re
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from node.chain.transaction import DeployActor, ExecuteActor
from node.client import AsyncApi, NodeError, Wallet
from node.http.metrics import Metrics
from node.runtime.clock import SystemClock
from node.runtime.stats import Histogram

ALICE = Wallet.dev(0)
OPERATIONS = Path(__file__).resolve().parents[3] / "docs" / "operations.md"
OPENMETRICS = "application/openmetrics-text"
PREFIX = "cowboy_devnet_"


async def scrape(node):
    """Families by name, without the process's own, which the library names."""
    metrics = Metrics(node.engine, node.stats, SystemClock(), lambda: 123)
    text, content_type = await metrics.render(OPENMETRICS)
    assert content_type.startswith(OPENMETRICS)
    families = text_string_to_metric_families(text.decode())
    return {
        family.name.removeprefix(PREFIX): family
        for family in families
        if not family.name.startswith("process_")
    }


def values(family):
    return {
        tuple(sample.labels.values()): sample.value
        for sample in family.samples
        if not sample.name.endswith(("_bucket", "_sum", "_created"))
    }


async def work(client, source):
    """Blocks with a deployment, a timer that fires, and something that fails."""
    with pytest.raises(NodeError):
        await client.submit(b"nonsense")
    deploy = DeployActor(bytes(32), source, b"", 10**12)
    actor = (await client.execute(ALICE, deploy)).receipt.actor
    await client.execute(ALICE, ExecuteActor(actor, "start", b"\x02", 0))
    await client.execute(ALICE, ExecuteActor(actor, "start", b"\x99", 0))
    await client.execute(ALICE, ExecuteActor(actor, "fail", b"", 0))


def test_the_numbers_are_those_of_the_chain(run_node, source):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            await work(client, source)
            found = await scrape(node)
            state, height = node.engine.state, node.engine.state.head.height

            def total(name):
                return values(found[name])

            assert total("height_blocks") == {(): height}
            assert sum(total("blocks").values()) == height
            executions = total("executions")
            assert executions["transaction", "failed"] == 1
            assert executions["transaction", "succeeded"] == 3
            assert executions["fire", "succeeded"] == 1
            decisions = total("timer_decisions")
            assert (decisions["scheduled",], decisions["fired",]) == (2, 1)
            tiers = {("ring",): 1, ("epoch",): 0, ("overflow",): 0}
            assert total("live_timers") == tiers
            assert total("pool_refusals") == {("MALFORMED_TRANSACTION",): 1}
            assert total("basefee")["cycle",] == state.head.basefee_cycle
            for phase in ("build", "commit", "publish"):
                assert total("block_phase_seconds")[phase,] == height
            calls = total("grpc_requests")
            service = "cowboy.devnet.v1.TransactionService"
            assert calls["INVALID_ARGUMENT", f"{service}/Submit"] == 1
            assert calls["OK", f"{service}/SubmitAndWait"] == 4
            assert total("grpc_request_seconds")[f"{service}/Submit",] == 1
            assert total("store_size_bytes") == {(): 123}
            lanes = total("lane_cycles")
            assert lanes["user",] > 0 < lanes["timer",]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "accept",
    [
        f"{OPENMETRICS}; version=soon",
        "text/plain; version=1.x.0",
        f"{OPENMETRICS}; version={'1' * 5_000}",
        f"{OPENMETRICS}; version=1.0.0\udcff; escaping=\udcff",
    ],
)
def test_a_scraper_may_ask_for_any_version(run_node, accept):
    """Who scrapes is anybody: nothing that is asked for is a defect of the node."""

    async def scenario():
        async with run_node() as node:
            metrics = Metrics(node.engine, node.stats, SystemClock(), int)
            text, content_type = await metrics.render(accept)
            assert content_type.startswith(accept.partition(";")[0])
            assert f"{PREFIX}height_blocks".encode() in text

    asyncio.run(scenario())


def test_scrapers_who_ask_at_once_get_one_text(run_node, monkeypatch):
    """Nobody who connects can slow the node: a text takes milliseconds."""

    async def scenario():
        async with run_node() as node:
            metrics = Metrics(node.engine, node.stats, SystemClock(), int)
            made = []
            collect = metrics.collect
            monkeypatch.setattr(metrics, "collect", lambda: made.append(1) or collect())
            await metrics.render("")
            alone = len(made)
            asked = (metrics.render(f"text/plain; q=0.{one}") for one in range(100))
            gone, *answers = map(asyncio.ensure_future, asked)
            await asyncio.sleep(0)
            gone.cancel()
            assert len({await answer for answer in answers}) == 1
            assert len(made) == 2 * alone
            await metrics.render("")
            assert len(made) == 3 * alone

    asyncio.run(scenario())


def test_every_name_has_a_help_and_a_unit_or_none_to_have(run_node):
    """Names by Prometheus's conventions."""

    async def scenario():
        async with run_node() as node:
            return await scrape(node)

    for name, family in asyncio.run(scenario()).items():
        assert re.fullmatch("[a-z]+(_[a-z]+)*", name), name
        assert family.documentation, name
        assert name.endswith(family.unit), name
        counts = ("blocks", "executions", "events", "timer_decisions", "pool_refusals")
        others = (
            "pool_drops",
            "store_commits",
            "grpc_requests",
            "http_requests",
            "basefee",
            "build_info",
        )
        assert family.unit or name in counts + others, name


def test_operations_md_names_each_of_them(run_node):
    """A counter with the `_total` that a scrape writes behind its name."""

    async def scenario():
        async with run_node() as node:
            return await scrape(node)

    _, _, rest = OPERATIONS.read_text().partition(
        "\n| metrics | about |\n| --- | --- |\n"
    )
    rows = rest.partition("\n\n")[0].splitlines()
    named = re.findall(r"`(\w+)", "".join(row.split(" | ")[0] for row in rows))
    assert sorted(named) == sorted(
        f"{name}_total" if family.type == "counter" else name
        for name, family in asyncio.run(scenario()).items()
    )


def test_timers_are_counted_at_most_once_in_a_while(run_node, source):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:

            class Clock(SystemClock):
                now = 100.0

                def monotonic(self):
                    return self.now

            clock = Clock()
            metrics = Metrics(node.engine, node.stats, clock, int)
            await metrics.render("")
            await work(client, source)
            text, _ = await metrics.render("")
            assert b'live_timers{tier="ring"} 0.0' in text
            clock.now += 11
            text, _ = await metrics.render("")
            assert b'live_timers{tier="ring"} 1.0' in text

    asyncio.run(scenario())


def test_a_histogram_counts_what_is_at_most_its_bounds():
    histogram = Histogram()
    for seconds in (0.0001, 0.0005, 0.3, 99.0):
        histogram.observe(seconds)
    buckets = dict(histogram.buckets())
    assert (buckets["0.0005"], buckets["0.25"], buckets["0.5"]) == (2, 2, 3)
    assert (buckets["10.0"], buckets["+Inf"]) == (3, 4)
    assert histogram.seconds == pytest.approx(99.3006)
