"""`ExportBundle`, `ImportBundle` on a real socket: parts, bounds, refusals, readers."""

import asyncio

import pytest

from node.archive.bundle import KIND
from node.chain.transaction import DeployActor, Transfer
from node.client import AsyncApi, AsyncClient, BundleRefused, Client, NodeError, Wallet
from node.client.messages import draft
from node.rpc.access import Access
from node.rpc.bundles import PART_BYTES_MAX, Bundles
from node.rpc.limits import RpcLimits
from node.rpc.v1 import dev_pb2
from node.runtime.types import MiningMode, TooManyReads
from pvm import HostMemoryExhausted

ALICE = Wallet.dev(0)
BOB = bytes(19) + b"\x07"


def scene(run_node, act, **options):
    async def play():
        async with (
            run_node(**options) as node,
            AsyncApi(node.url, token="secret") as api,
        ):
            return await act(node, api)

    return asyncio.run(play())


async def live(api):
    for _ in range(3):
        await api.execute(ALICE, Transfer(BOB, 5))
    async for _ in api.advance(blocks=100):
        pass


async def exported(api):
    return [part async for part in api.export_bundle()]


@pytest.fixture
def data(run_node):
    async def act(_node, api):
        await live(api)
        return b"".join(await exported(api))

    return scene(run_node, act)


async def refused(awaitable):
    with pytest.raises(NodeError) as error:
        await awaitable
    return error.value


def test_a_chain_goes_out_and_into_another_node(run_node, data):
    async def act(_node, api):
        head = await api.import_bundle([data])
        assert b"".join(await exported(api)) == data
        assert head == (await api.status()).head
        await live(api)

    scene(run_node, act)


@pytest.mark.parametrize("error", [MemoryError(), HostMemoryExhausted()], ids=repr)
def test_an_import_without_memory_is_refused_and_undone(
    run_node, data, monkeypatch, error
):
    """Nothing of it stays, and the node goes on."""

    def poor(*_arguments):
        raise error

    async def act(_node, api):
        before = (await api.status()).head
        with monkeypatch.context() as patch:
            patch.setattr("node.chain.transition.begin_block", poor)
            told = await refused(api.import_bundle([data]))
        assert told.reason == "HOST_MEMORY_EXHAUSTED"
        assert (await api.status()).head == before
        assert (await api.import_bundle([data])).height > before.height

    scene(run_node, act)


@pytest.mark.parametrize("error", [MemoryError(), HostMemoryExhausted()], ids=repr)
def test_reads_estimates_and_simulations_without_memory_are_refused(
    run_node, monkeypatch, error
):
    """Each ends alone: the node makes its next block."""

    def poor(*_arguments):
        raise error

    async def act(_node, api):
        transfer = Transfer(BOB, 5)
        deploy = DeployActor(bytes(32), b"def run(): return 7", b"", 0)
        actor = (await api.execute(ALICE, deploy)).receipt.actor
        with monkeypatch.context() as patch:
            patch.setattr("node.chain.simulation.begin_block", poor)
            for asked in (
                api.read(actor, "run"),
                api.estimate_limits(draft(ALICE.address, transfer)),
                api.simulate(draft(ALICE.address, transfer)),
            ):
                assert (await refused(asked)).reason == "HOST_MEMORY_EXHAUSTED"
        await api.execute(ALICE, transfer)

    scene(run_node, act)


def test_an_answer_without_memory_is_refused(run_node, monkeypatch):
    """Outside of the executing thread, too."""

    def poor(*_arguments, **_named):
        raise MemoryError

    async def act(_node, api):
        with monkeypatch.context() as patch:
            patch.setattr("node.rpc.convert.block_to_proto", poor)
            told = await refused(api.block(0))
        assert told.reason == "HOST_MEMORY_EXHAUSTED"
        assert "no memory left" in str(told)
        assert await api.block(0)

    scene(run_node, act)


def test_parts_are_bounded_both_ways(run_node, data, monkeypatch):
    monkeypatch.setattr("node.rpc.bundles.PART_BYTES_MAX", 100)

    async def act(_node, api):
        await api.import_bundle(data[at : at + 99] for at in range(0, len(data), 99))
        sent = await exported(api)
        assert max(map(len, sent)) == 100
        assert b"".join(sent) == data
        await api.reset()
        error = await refused(api.import_bundle([data[:101]]))
        assert (error.reason, error.metadata) == ("INVALID_ARGUMENT", {"field": "data"})

    scene(run_node, act)


def test_a_part_over_the_servers_limit_is_refused_before_it_is_decoded(run_node):
    async def act(_node, api):
        error = await refused(api.import_bundle([bytes(3 << 20)]))
        assert error.code == "RESOURCE_EXHAUSTED"
        assert RpcLimits().request_bytes_max > PART_BYTES_MAX

    scene(run_node, act)


def test_the_whole_is_bounded(run_node, data):
    async def act(_node, api):
        error = await refused(api.import_bundle([data]))
        assert error.reason == "BUNDLE_TOO_LARGE"
        assert error.metadata == {"size": str(len(data)), "max": "1000"}
        assert (await api.status()).head.height == 0

    scene(run_node, act, limits=RpcLimits(bundle_bytes_max=1_000))


def test_imports_at_a_time_are_bounded(run_node, data):
    async def act(node, _api):
        bundles = Bundles(node.engine, RpcLimits(imports_max=1))
        begun = asyncio.Event()

        async def never_whole():
            yield dev_pb2.ImportBundleRequest(data=data[:50])
            begun.set()
            await asyncio.Event().wait()

        async def whole():
            yield dev_pb2.ImportBundleRequest(data=data)

        first = asyncio.create_task(bundles.take(never_whole()))
        await begun.wait()
        with pytest.raises(TooManyReads, match="1 bundles are being imported"):
            await bundles.take(whole())
        first.cancel()  # whoever goes away before all was sent leaves nothing
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await bundles.take(whole())).height == 103

    scene(run_node, act)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[:5], "NO_BUNDLE"),
        (lambda data: data[:-1], "BUNDLE_DAMAGED"),
        (lambda data: data[:99] + b"\0" + data[100:], "BUNDLE_DAMAGED"),
        (lambda data: data + b"\0", "BUNDLE_DAMAGED"),
        (
            lambda data: data.replace(KIND.magic, KIND.magic.replace(b"3", b"4")),
            "BUNDLE_NEWER",
        ),
        (
            lambda data: data.replace(KIND.magic, KIND.magic.replace(b"3", b"2")),
            "BUNDLE_OLDER",
        ),
    ],
)
def test_what_is_no_whole_bundle_is_refused_and_nothing_written(
    run_node, data, change, reason
):
    async def act(_node, api):
        await api.mine(3)
        head = (await api.status()).head
        error = await refused(api.import_bundle([change(data)]))
        assert error.reason == reason
        assert (await api.status()).head == head

    scene(run_node, act, mode=MiningMode.MANUAL)


def test_a_chain_that_is_not_empty_says_so_with_its_numbers(run_node, data):
    async def act(_node, api):
        await live(api)
        error = await refused(api.import_bundle([data]))
        assert error.reason == "CHAIN_NOT_EMPTY"
        assert error.metadata == {"height": "103", "waiting": "0", "snapshots": "0"}

    scene(run_node, act)


def test_a_chain_that_forgot_blocks_has_no_bundle(run_node):
    async def act(_node, api):
        await live(api)
        for _ in range(20):
            await api.execute(ALICE, Transfer(BOB, 5))
        error = await refused(exported(api))
        assert error.reason == "HISTORY_NOT_KEPT"
        assert int(error.metadata["oldest_height"]) > 1

    scene(run_node, act, keep_blocks=5)


def test_later_blocks_change_nothing_of_an_export(run_node, data, monkeypatch):
    async def act(_node, api):
        await api.import_bundle([data])
        monkeypatch.setattr("node.rpc.bundles.PART_BYTES_MAX", 100)
        sent = []
        async for part in api.export_bundle():
            sent.append(part)
            if len(sent) == 2:
                await api.mine(5)
        assert b"".join(sent) == data

    scene(run_node, act)


def test_streams_say_reverted_and_tell_every_block_of_it(run_node, data):
    """Also to who stood at the head: they are announced to nobody one by one."""

    async def act(node, api):
        await api.mine(2)
        stream = api.stream_blocks()
        first = asyncio.create_task(anext(stream))
        await node.until_readers(1)
        await api.import_bundle([data])
        await api.mine(1)
        message = await first
        assert message.reverted.height == 0
        told = []
        while not told or told[-1].block.header.height < 104:
            told.append(await anext(stream))
        await stream.aclose()
        assert [m.block.header.height for m in told] == [1, 2, 3, 103, 104]
        assert told[-1].block.header == (await api.status()).head

    scene(run_node, act, mode=MiningMode.MANUAL)


def test_whoever_goes_away_once_all_has_come_does_not_stop_it(run_node, data):
    async def act(node, api):
        call = asyncio.create_task(api.import_bundle([data]))
        while node.engine._commands.next() is None:  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(0)
        call.cancel()
        while (await api.status()).head.height != 103:  # noqa: ASYNC110
            await asyncio.sleep(0)

    scene(run_node, act)


def test_the_token_goes_with_every_kind_of_call(run_node, tmp_path, data):
    def write(url):
        with Client(url, token="secret") as client:
            client.export_bundle(tmp_path / "sync")
            with pytest.raises(BundleRefused, match="is not empty"):
                client.import_bundle(tmp_path / "sync")

    async def act(node, api):
        assert (await api.import_bundle([data])).height == 103
        async with AsyncClient(node.url, token="secret") as client:
            await client.export_bundle(tmp_path / "async")
            with pytest.raises(BundleRefused, match="is not empty"):
                await client.import_bundle(tmp_path / "async")
        await asyncio.to_thread(write, node.url)
        async with AsyncApi(node.url) as stranger:
            error = await refused(stranger.import_bundle([data]))
            assert error.reason == "UNAUTHENTICATED"

    scene(run_node, act, access=Access(token="secret"))
    for name in ("sync", "async"):
        assert (tmp_path / name).read_bytes() == data
