"""The server: health, reflection, sizes, and what a chain without `dev` lacks."""

import asyncio
from contextlib import suppress

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from node.chain.transaction import DeployActor, ExecuteActor
from node.client import (
    AsyncApi,
    AsyncClient,
    InvalidArgument,
    NodeError,
    NodeUnreachable,
    Wallet,
)
from node.rpc.limits import RpcLimits
from node.rpc.server import RpcServer
from node.rpc.v1 import dev_pb2, queries_pb2
from node.runtime.types import CannotListen, MiningMode, TooManyReads

SERVICES = {
    f"cowboy.devnet.v1.{name}Service"
    for name in ("Transaction", "Query", "Timer", "Stream", "Dev")
}
SERVING = health_pb2.HealthCheckResponse.SERVING
DEADLINE_SECONDS = 30
BOB = Wallet.dev(1)
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


async def health_of(channel, service):
    stub = health_pb2_grpc.HealthStub(channel)
    request = health_pb2.HealthCheckRequest(service=service)
    return (await stub.Check(request)).status


def test_every_service_serves_once_it_is_announced(run_node):
    async def scenario():
        async with run_node() as node, node.channel() as channel:
            for service in ("", *SERVICES):
                assert await health_of(channel, service) == SERVING

    asyncio.run(scenario())


def test_nothing_serves_before_it_is_announced_nor_while_it_stops(run_node):
    async def scenario():
        async with run_node() as node:
            server = RpcServer(node.engine, is_dev=True)
            port = await server.start("127.0.0.1:0")
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                for service in ("", *SERVICES):
                    assert await health_of(channel, service) == NOT_SERVING
                await server.announce()
                stub = health_pb2_grpc.HealthStub(channel)
                watching = stub.Watch(health_pb2.HealthCheckRequest())
                assert (await watching.read()).status == SERVING
                stopping = asyncio.create_task(server.stop())
                assert (await watching.read()).status == NOT_SERVING
                watching.cancel()
                await stopping

    asyncio.run(scenario())


def test_a_bounded_number_watches_the_health(run_node):
    """Each holds a call, and needs no token for it."""

    async def scenario():
        limits = RpcLimits(health_watchers_max=3)
        async with run_node(limits=limits) as node, node.channel() as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            request = health_pb2.HealthCheckRequest()
            watching = [stub.Watch(request) for _ in range(3)]
            for watch in watching:
                assert (await watch.read()).status == SERVING
            with pytest.raises(grpc.aio.AioRpcError) as error:
                await anext(aiter(stub.Watch(request)))
            assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert (await stub.Check(request)).status == SERVING
            watching[0].cancel()
            while node.server._health._watchers == 3:  # noqa: ASYNC110 - as it ends
                await asyncio.sleep(0)
            assert (await stub.Watch(request).read()).status == SERVING

    asyncio.run(scenario())


def test_the_services_can_be_asked_for(run_node):
    async def scenario():
        async with run_node() as node, node.channel() as channel:
            stub = reflection_pb2_grpc.ServerReflectionStub(channel)
            request = reflection_pb2.ServerReflectionRequest(list_services="")
            answer = await anext(aiter(stub.ServerReflectionInfo(iter([request]))))
            names = {s.name for s in answer.list_services_response.service}
            assert names >= SERVICES | {"grpc.health.v1.Health"}

    asyncio.run(scenario())


def test_a_chain_without_dev_has_no_dev_service(run_node):
    async def scenario():
        async with run_node(is_dev=False) as node, AsyncApi(node.url) as client:
            with pytest.raises(NodeError) as error:
                await client.mine()
            assert error.value.code == "UNIMPLEMENTED"
            assert not (await client.status()).dev

    asyncio.run(scenario())


def test_a_message_over_the_limit_is_refused_before_it_is_decoded(run_node):
    async def scenario():
        limits = RpcLimits(request_bytes_max=1_000)
        async with run_node(limits=limits) as node, AsyncApi(node.url) as client:
            with pytest.raises(NodeError) as error:
                await client.submit(bytes(1_001))
            assert error.value.code == "RESOURCE_EXHAUSTED"
            assert (await client.status()).chain_id == 100

    asyncio.run(scenario())


def test_an_address_that_is_taken_is_refused(run_node):
    async def scenario():
        async with run_node() as node:
            second = RpcServer(node.engine, is_dev=True)
            with pytest.raises(CannotListen, match="port 0"):
                await second.start(node.url)
            await second.stop()

    asyncio.run(scenario())


def frame(kind, flags, stream, payload):
    """Of HTTP/2."""
    head = len(payload).to_bytes(3, "big") + bytes((kind, flags))
    return head + stream.to_bytes(4, "big") + payload


def call_of(path):
    """A whole call of a method, with an empty request."""
    names = (b":method", b":scheme", b":authority", b":path", b"content-type", b"te")
    values = (b"POST", b"http", b"node", path, b"application/grpc", b"trailers")
    headers = b"".join(
        bytes((0, len(name))) + name + bytes((len(value),)) + value
        for name, value in zip(names, values, strict=True)
    )
    greeting = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"")
    return greeting + frame(1, 4, 1, headers) + frame(0, 1, 1, bytes(5))


def test_a_call_that_ends_the_library_s_server_does_not_end_the_node_s(run_node):
    """Its own, in gRPC, ends with its port at a method's name that is not UTF-8."""

    async def scenario():
        async with (
            asyncio.timeout(DEADLINE_SECONDS),
            run_node() as node,
            AsyncClient(node.url) as client,
        ):
            told = []
            keeping = asyncio.create_task(node.server.keep(told.append))
            first = asyncio.create_task(anext(client.stream_blocks()))
            await node.until_readers(1)
            for times in (1, 2):
                host, port = node.url.split(":")
                reader, writer = await asyncio.open_connection(host, int(port))
                writer.write(call_of(b"/\xbb"))
                while await reader.read(1_000):
                    pass  # until the server has closed the connection
                writer.close()
                assert len(told) == times
                async with grpc.aio.insecure_channel(node.url) as channel:
                    await channel.channel_ready()
                    assert await health_of(channel, "") == SERVING
            await node.until_readers(1)
            await node.engine.mine(1)
            assert (await first).block.header.height == 1, "streams go on by themselves"
            keeping.cancel()
            assert all(isinstance(error, UnicodeDecodeError) for error in told)

    asyncio.run(scenario())


def test_hundreds_of_such_calls_at_once_do_not_end_the_node_s(run_node):
    """Nor does it end while one of them ends the library's: its own stop raised."""

    async def call(url, path):
        host, port = url.split(":")
        with suppress(OSError):  # it may listen again a little later
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(call_of(path))
            await reader.read(1)
            writer.close()

    async def scenario():
        async with asyncio.timeout(DEADLINE_SECONDS), run_node() as node:
            told = []
            keeping = asyncio.create_task(node.server.keep(told.append))
            paths = (b"/\xff", b"/grpc.health.v1.Health/\xc3", b"/\xed\xa0\x80")
            for times in range(6):
                async with asyncio.TaskGroup() as calls:
                    for path in paths * 10:
                        calls.create_task(call(node.url, path))
                while len(told) <= times:
                    await call(node.url, paths[0])
            async with grpc.aio.insecure_channel(node.url) as channel:
                await channel.channel_ready()
                assert await health_of(channel, "") == SERVING
            assert not keeping.done()
            keeping.cancel()
            await call(node.url, paths[0])

    asyncio.run(scenario())


def test_a_server_that_says_twice_why_it_ended_is_stopped_all_the_same(run_node):
    """The node ended with it, and with a defect's exit code."""

    async def scenario():
        async with run_node() as node, grpc.aio.insecure_channel(node.url) as channel:
            library, graces = node.server._server, []

            class Ending:
                async def stop(self, grace):
                    graces.append(grace)
                    if len(graces) == 1:
                        raise UnicodeDecodeError("utf-8", b"/\xff", 1, 2, "invalid")
                    await library.stop(grace)

            node.server._server = Ending()
            await node.server._replace()
            assert graces == [None, None]
            await channel.channel_ready()
            assert await health_of(channel, "") == SERVING

    asyncio.run(scenario())


def test_no_method_is_registered_with_the_library_s_server(run_node, monkeypatch):
    """Its core would write to what the library frees when such a call ends it."""
    make, registered = grpc.aio.server, []

    def watched(*args, **options):
        server = make(*args, **options)
        monkeypatch.setattr(
            server,
            "add_registered_method_handlers",
            lambda service, _handlers: registered.append(service),
        )
        return server

    async def scenario():
        monkeypatch.setattr(grpc.aio, "server", watched)
        async with run_node() as node, node.channel() as channel:
            assert await health_of(channel, "") == SERVING

    asyncio.run(scenario())
    assert registered == []


def test_a_stopped_server_does_not_answer(run_node):
    async def scenario():
        async with run_node() as node:
            url = node.url
        async with AsyncApi(url, timeout=2) as client:
            with pytest.raises(NodeUnreachable, match="start one"):
                await client.status()

    asyncio.run(scenario())


def test_too_many_reads_are_refused(run_node, monkeypatch):
    async def refuse(_function, _at_height):
        raise TooManyReads("32 reads wait already")

    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            monkeypatch.setattr(node.engine, "run_read", refuse)
            with pytest.raises(NodeError) as error:
                await client.actor(bytes(20))
            assert (error.value.code, error.value.reason) == (
                "RESOURCE_EXHAUSTED",
                "TOO_MANY_READS",
            )

    asyncio.run(scenario())


def test_a_defect_is_told_as_internal_and_logged(run_node, monkeypatch, caplog):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:

            def fail(_address):
                raise ZeroDivisionError("secret")

            monkeypatch.setattr(node.engine, "next_nonce", fail)
            with pytest.raises(NodeError) as error:
                await client.account(bytes(20))
            assert (error.value.code, error.value.reason) == ("INTERNAL", "INTERNAL")
            assert "secret" not in error.value.message

    asyncio.run(scenario())
    assert "GetAccount" in caplog.text
    assert "ZeroDivisionError" in caplog.text


# --- DevService --------------------------------------------------------------------


def test_mining_can_be_changed(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            changed = await client.set_mining(queries_pb2.MINING_MODE_MANUAL, 500)
            assert (changed.mode, changed.pace_ms) == (
                queries_pb2.MINING_MODE_MANUAL,
                500,
            )
            again = await client.set_mining(queries_pb2.MINING_MODE_MANUAL)
            assert again.pace_ms == 500
            for mode, pace_ms in (
                (queries_pb2.MINING_MODE_UNSPECIFIED, None),
                (queries_pb2.MINING_MODE_INTERVAL, 0),
                (queries_pb2.MINING_MODE_INTERVAL, 3_600_001),
            ):
                with pytest.raises(NodeError) as error:
                    await client.set_mining(mode, pace_ms)
                assert error.value.code == "INVALID_ARGUMENT"

    asyncio.run(scenario())


def test_mining_makes_a_bounded_number_of_blocks(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            assert (await client.mine(0)).height == 1
            assert (await client.mine(5)).height == 6
            with pytest.raises(NodeError, match="at most 10000"):
                await client.mine(10_001)

    asyncio.run(scenario())


HEART = b"""
class Heart:
    def start(self):
        pvm_host.schedule_timer(pvm_host.block_height() + 10, b"", None, 20000)

    def handle_timer(self, payload):
        self.start()
"""


async def start_heart(client):
    """An actor that beats every ten blocks from height 12 on."""
    alice = Wallet.dev(0)
    deploy = DeployActor(bytes(32), HEART, b"", 5 * 10**14)
    heart = (await client.execute(alice, deploy)).receipt.actor
    await client.execute(alice, ExecuteActor(heart, "start", b"", 0))


async def advanced(client, **target):
    return [answer async for answer in client.advance(**target)]


def test_time_passes_to_a_target(run_node):
    """One header for a million empty heights, and progress that says so."""

    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            first, last = await advanced(client, blocks=1_000_000)
            assert (first.head.height, first.stop_height) == (0, 1_000_000)
            assert not first.done
            assert last.done
            assert (last.head.height, last.head.span) == (1_000_000, 1_000_000)
            assert list(last.heights) == []
            await advanced(client, height=1_000_010)
            *_, last = await advanced(client, duration_ms=5_000)
            assert last.head.height == 1_000_015
            *_, last = await advanced(client, until_idle=50)
            assert last.head.height == 1_000_015

    asyncio.run(scenario())


def test_an_advance_says_where_anything_happened(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            await start_heart(client)
            *_, last = await advanced(client, next_timer=True)
            assert (list(last.heights), last.summary.fires) == ([12], 1)
            answers = await advanced(client, blocks=2_000)
            heights = [height for one in answers for height in one.heights]
            assert heights == list(range(22, 2013, 10))
            assert [answer.done for answer in answers] == [False, False, False, True]
            summary = answers[-1].summary
            assert (summary.fires, summary.fires_failed) == (200, 0)
            assert int(summary.fire_fees) > 200 * 1_000

    asyncio.run(scenario())


def test_an_advance_ends_when_nobody_listens(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            await start_heart(client)
            answers = client.advance(blocks=10_000_000)
            await anext(answers)
            await anext(answers)
            await answers.aclose()
            # The next order is taken when the header in hand is made.
            assert (await client.mine()).height < 1_000_000

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ({"blocks": 0}, "NO_TIME_TO_PASS"),
        ({"duration_ms": 0}, "NO_TIME_TO_PASS"),
        ({"height": 0}, "HEIGHT_PASSED"),
        ({"height": 2**63}, "HEIGHT_TOO_FAR"),
        ({"blocks": 2**64 - 1}, "HEIGHT_TOO_FAR"),
        ({"duration_ms": 2**64 - 1}, "HEIGHT_TOO_FAR"),
        ({"until_idle": 2**64 - 1}, "HEIGHT_TOO_FAR"),
        ({"next_timer": True}, "NO_TIMER_PENDING"),
    ],
)
def test_an_impossible_target_is_refused(run_node, target, reason):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            with pytest.raises(NodeError) as refused:
                await advanced(client, **target)
            assert refused.value.reason == reason
            assert (await client.status()).head.height == 0
            with pytest.raises(TypeError, match="exactly one of"):
                await advanced(client)

    asyncio.run(scenario())


def test_a_flag_that_is_false_is_no_target(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            with pytest.raises(InvalidArgument, match="advance: exactly one of"):
                await advanced(client, next_timer=False)
            call = client._dev.Advance(dev_pb2.AdvanceRequest(next_timer=False))
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await anext(aiter(call))
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT

    asyncio.run(scenario())


@pytest.mark.parametrize("mode", MiningMode)
def test_a_hundred_concurrent_funds_are_all_served(run_node, mode):
    """The nonce is not the caller's."""

    async def scenario():
        run = run_node(mode=mode, pace_ms=1)
        async with run as node, AsyncApi(node.url) as client:
            before = int((await client.account(BOB.address)).balance)
            await asyncio.gather(*(client.fund(BOB.address, 1) for _ in range(100)))
            after = int((await client.account(BOB.address)).balance)
            assert after == before + 100

    asyncio.run(scenario())


def test_balances_can_be_funded_and_set(run_node):
    """D41: ordinary content of blocks, free of fees."""
    somebody = Wallet.random().address

    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            committed = await client.fund(somebody, 7)
            assert committed.block.height == (await client.status()).head.height
            assert (await client.account(somebody)).balance == "7"
            await client.set_balance(somebody, 3)
            assert (await client.account(somebody)).balance == "3"
            with pytest.raises(NodeError, match="decimal string"):
                await client.fund(somebody, -1)

    asyncio.run(scenario())


def test_a_reset_goes_back_to_genesis(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            genesis = (await client.block(0)).header
            await client.fund(bytes(20), 7)
            assert await client.reset() == genesis
            status = await client.status()
            assert status.head == genesis
            assert (await client.account(bytes(20))).balance == "0"
            with pytest.raises(NodeError):
                await client.block(1)

    asyncio.run(scenario())


def test_a_revert_goes_back_to_a_named_snapshot_and_undoes_what_came_since(run_node):
    somebody = Wallet.random().address

    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            await client.fund(somebody, 7)
            named = await client.create_snapshot("base")
            head = (await client.status()).head
            assert (named.block.height, named.block.hash) == (head.height, head.hash)
            undone = await client.fund(somebody, 1)
            await client.create_snapshot("above")
            assert await client.revert_to_snapshot("base") == head
            assert await client.snapshots() == [named], "what lay above is deleted"
            assert (await client.account(somebody)).balance == "7"
            answer = await client.transaction(undone.receipt.id)
            assert answer.WhichOneof("outcome") == "reverted"

    asyncio.run(scenario())


def test_snapshots_are_refused_with_a_reason(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            await client.create_snapshot("base")
            for call, reason in (
                (client.create_snapshot("base"), "SNAPSHOT_EXISTS"),
                (client.create_snapshot("a b"), "SNAPSHOT_NAME_REFUSED"),
                (client.create_snapshot(""), "SNAPSHOT_NAME_REFUSED"),
                (client.revert_to_snapshot("none"), "SNAPSHOT_NOT_FOUND"),
                (client.delete_snapshot("x" * 9_000), "SNAPSHOT_NOT_FOUND"),
            ):
                with pytest.raises(NodeError) as refused:
                    await call
                assert refused.value.reason == reason

    asyncio.run(scenario())
