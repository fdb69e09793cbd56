"""Large answers: none is made on the event loop, and unread ones are bounded."""

import asyncio
import socket
import threading
from contextlib import closing

import grpc
import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from node.chain.transaction import DeployActor, ExecuteActor
from node.client import AsyncApi, EventFilter, NodeError, Wallet
from node.query import blocks
from node.rpc import convert
from node.rpc.answers import SMALL_BYTES, Answers, delimited
from node.rpc.errors import STATUS_KEY
from node.rpc.limits import RpcLimits
from node.rpc.peers import close_connection
from node.rpc.room import AnswerRoom, NoRoom
from node.rpc.v1 import queries_pb2, streams_pb2, types_pb2
from node.rpc.v1.streams_pb2_grpc import StreamServiceStub
from node.runtime import block_builder, feed
from node.runtime.types import NodeStopping

ALICE = Wallet.dev(0)
FULL = types_pb2.BLOCK_VIEW_FULL
SOURCE = b"""
import pvm_host

def shout(payload):
    for _ in range(9):
        pvm_host.emit_event("shout", payload)
"""
EVENTS = 9
WORD = bytes(4_000)


async def shouting(client, word=WORD, blocks=1):
    """An actor that filled some blocks with events; genesis' place."""
    deploy = DeployActor(bytes(32), SOURCE, b"", 0)
    actor = (await client.execute(ALICE, deploy)).receipt.actor
    for _ in range(blocks):
        done = await client.execute(ALICE, ExecuteActor(actor, "shout", word, 0))
    header = (await client.block(0)).header
    return done, types_pb2.BlockRef(height=0, hash=header.hash)


METHOD = "cowboy.devnet.v1.StreamService/StreamBlocks"


async def read(call):
    """The last height that a stream tells before it fails, and how it fails."""
    seen = 0
    try:
        async for message in call:
            seen = message.block.header.height
    except grpc.aio.AioRpcError as error:
        return seen, error


async def first(stream, count):
    taken = [await anext(stream) for _ in range(count)]
    await stream.aclose()
    return taken


@pytest.fixture
def threads(monkeypatch):
    """On which threads events were put into messages."""
    seen = set()
    show = convert.event_to_proto

    def event_to_proto(*args):
        seen.add(threading.current_thread().name.rpartition("_")[0])
        return show(*args)

    monkeypatch.setattr(convert, "event_to_proto", event_to_proto)
    return seen


ASKED = {
    "GetBlock": lambda client, done, _: client.block(done.block.height, view=FULL),
    "GetTransaction": lambda client, done, _: client.transaction(done.receipt.id),
    "SubmitAndWait": lambda client, done, _: client.execute(
        ALICE, ExecuteActor(done.receipt.actor, "shout", done.events[0].data, 0)
    ),
    "StreamBlocks": lambda client, _, genesis: first(
        client.stream_blocks(genesis, view=FULL), 2
    ),
    "StreamEvents": lambda client, _, genesis: first(
        client.stream_events(
            EventFilter(topics=("shout",)), streams_pb2.EventCursor(block=genesis)
        ),
        EVENTS,
    ),
}


@pytest.mark.parametrize("method", ASKED)
@pytest.mark.parametrize(("word", "thread"), [(WORD, {"answers"}), (b"", {""})])
def test_only_large_answers_are_made_beside_the_event_loop(
    run_node, threads, method, word, thread
):
    """20 callers of a block with 35,000 events held it for five seconds."""

    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            done, genesis = await shouting(client, word)
            threads.clear()
            await ASKED[method](client, done, genesis)
            assert threads == thread

    asyncio.run(scenario())


def test_what_takes_long_of_a_block_is_found_on_the_worker(run_node, monkeypatch):
    """To weigh 35,000 events, and sort them by receipt, held the loop for 56 ms."""
    names = []

    def noted(function):
        def note(*args):
            names.append(threading.current_thread().name)
            return function(*args)

        return note

    for name in ("weigh", "look_up_block"):
        function = noted(getattr(block_builder, name))
        monkeypatch.setattr(block_builder, name, function)
    monkeypatch.setattr(feed, "weigh", noted(feed.weigh))
    look_up_block = noted(blocks.look_up_block)
    monkeypatch.setattr(blocks, "look_up_block", look_up_block)

    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            following = asyncio.create_task(first(client.stream_blocks(), 1))
            await node.until_readers(1)
            await shouting(client)
            await following

    asyncio.run(scenario())
    assert names
    assert "MainThread" not in names


def test_a_block_in_parts_is_the_block(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            _, genesis = await shouting(client, blocks=2)
            for height in (2, 3):
                whole = await client.block(height, view=FULL)
                assert len(whole.SerializeToString()) > SMALL_BYTES
                assert [event.index for event in whole.events] == list(range(EVENTS))
                assert len(whole.transactions) == len(whole.receipts) == 1
                stream = client.stream_blocks(genesis, view=FULL)
                assert (await first(stream, height))[-1].block == whole

    asyncio.run(scenario())


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_383, 16_384, 1 << 21])
def test_what_is_delimited_is_a_field(size):
    block = types_pb2.Block(transaction_ids=[bytes(size)])
    parts = iter([block.SerializeToString()])
    data = delimited(queries_pb2.GetBlockResponse.BLOCK_FIELD_NUMBER, parts)
    assert data == queries_pb2.GetBlockResponse(block=block).SerializeToString()


def test_who_reads_nothing_is_told_where_to_resume(run_node):
    """200 streams that nobody read held 900 MB."""
    most = 400_000
    limits = RpcLimits(unread_bytes_connection_max=most, room_wait_ms=1)

    async def scenario():
        async with (
            run_node(limits=limits) as node,
            AsyncApi(node.url) as client,
            node.channel() as channel,
        ):
            _, genesis = await shouting(client, blocks=40)
            room = node.server.answers.room
            request = streams_pb2.StreamBlocksRequest(resume_after=genesis, view=FULL)
            stub = StreamServiceStub(channel)
            unread = [stub.StreamBlocks(request) for _ in range(40)]
            refused = (METHOD, "RESOURCE_EXHAUSTED")
            while not node.stats.calls[refused]:
                await asyncio.sleep(0)
                assert room.lent <= 2 * most, "about: the records are weighed"
            reading = [asyncio.create_task(read(call)) for call in unread]
            ended = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
            seen, error = next(iter(ended[0])).result()
            assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            details = Status.FromString(dict(error.trailing_metadata())[STATUS_KEY])
            info = ErrorInfo.FromString(details.details[0].value)
            assert info.reason == "READER_TOO_SLOW"
            assert info.metadata["resume_height"] == str(seen)
            block_hash = bytes.fromhex(info.metadata["resume_hash"])
            place = types_pb2.BlockRef(height=seen, hash=block_hash)
            (following,) = await first(client.stream_blocks(place), 1)
            assert following.block.header.height == seen + 1
            for task in reading:
                task.cancel()

    asyncio.run(scenario())


@pytest.mark.parametrize("transport", ["grpc", "connect"])
def test_an_answer_without_room_is_refused_and_the_next_is_not(run_node):
    limits = RpcLimits(room_wait_ms=1)

    async def scenario():
        async with run_node(limits=limits) as node, AsyncApi(node.url) as client:
            await shouting(client)
            room = node.server.answers.room
            with room.lend_now("somebody", limits.unread_bytes_max):
                with pytest.raises(NodeError) as error:
                    await client.block(2, view=FULL)
                assert error.value.reason == "ANSWERS_UNREAD"
                assert error.value.code == "RESOURCE_EXHAUSTED"
                assert (await client.status()).head.height == 2, (
                    "a small one needs none"
                )
            assert (await client.block(2, view=FULL)).event_count == EVENTS
            while room.lent:  # noqa: ASYNC110 - the call ends after its answer is read
                await asyncio.sleep(0)

    asyncio.run(scenario())


def test_nothing_is_made_once_the_node_stops():
    async def scenario():
        answers = Answers()
        answers.close()
        with pytest.raises(NodeStopping):
            await answers.run(bytes)

    asyncio.run(scenario())


# --- room --------------------------------------------------------------------------

LIMITS = RpcLimits(unread_bytes_max=10, unread_bytes_connection_max=6, room_wait_ms=1)


def test_room_is_lent_by_connection_and_in_all():
    async def scenario():
        room = AnswerRoom(LIMITS)
        one = room.lend_now("a", 6)
        with pytest.raises(NoRoom) as error:
            room.lend_now("a", 1)
        assert (error.value.unread_bytes, error.value.answer_bytes) == (6, 1)
        other = room.lend_now("b", 4)
        with pytest.raises(NoRoom) as error:
            room.lend_now("c", 1)
        assert error.value.unread_bytes == 10
        one.release()
        one.release()
        assert room.lent == 4
        other.resize(2)
        assert room.lent == 2
        other.release()
        with room.lend_now("a", 99):
            assert room.lent == 99, "the largest answer fits if there is no other"

    asyncio.run(scenario())


def test_who_waits_gets_room_in_turn_and_a_full_connection_holds_up_nobody():
    async def scenario():
        room = AnswerRoom(RpcLimits(unread_bytes_max=10, unread_bytes_connection_max=6))
        held = [room.lend_now("a", 6), room.lend_now("b", 4)]
        order = []

        async def want(peer, size):
            with await room.lend(peer, size):
                order.append(peer)

        wanting = [
            asyncio.create_task(want(*wish))
            for wish in (("a", 1), ("c", 4), ("d", 1), ("e", 1))
        ]
        await asyncio.sleep(0)
        held[1].release()
        await asyncio.wait(wanting[1:])
        assert order == ["c", "d", "e"]
        held[0].release()
        await wanting[0]
        assert room.lent == 0

    asyncio.run(scenario())


def test_who_waits_no_more_leaves_its_place():
    async def scenario():
        room = AnswerRoom(LIMITS)
        with room.lend_now("a", 8):
            with pytest.raises(NoRoom):
                await room.lend("b", 6)
            large = asyncio.create_task(room.lend("b", 6))
            await asyncio.sleep(0)
            large.cancel()
            with pytest.raises(asyncio.CancelledError):
                await large
            (await room.lend("c", 2)).release()
        assert room.lent == 0

    asyncio.run(scenario())


def test_those_who_read_nothing_are_closed_when_others_wait():
    limits = RpcLimits(
        unread_bytes_max=10, unread_bytes_connection_max=10, unread_ms_max=0
    )

    async def scenario():
        closed = []
        room = AnswerRoom(limits, closed.append)
        idle, busy = room.lend_now("idle", 5), room.lend_now("busy", 5)
        idle.send()
        waiting = asyncio.create_task(room.lend("c", 5))
        await asyncio.sleep(0)
        room._look()
        assert closed == ["idle"], "what is not sent yet cannot be read"
        idle.release()
        await waiting
        busy.send()
        room._look()
        assert closed == ["idle"], "nobody waits"

    asyncio.run(scenario())


@pytest.mark.parametrize("bound", ["127.0.0.1", "::"])
def test_a_connection_is_closed_by_its_name(bound):
    """Also one that the listener for both families knows by a mapped address."""
    is_both = bound == "::"
    family = socket.AF_INET6 if is_both else socket.AF_INET
    listener = socket.create_server((bound, 0), family=family, dualstack_ipv6=is_both)
    with closing(listener):
        address = ("127.0.0.1", listener.getsockname()[1])
        one, other = (socket.create_connection(address) for _ in range(2))
        accepted = [listener.accept()[0] for _ in range(2)]
        close_connection("unix:/nowhere")
        close_connection(f"ipv4:127.0.0.1:{one.getsockname()[1]}")
        assert one.recv(1) == b""
        accepted[1].sendall(b"x")
        assert other.recv(1) == b"x"
        for each in (one, other, *accepted):
            each.close()


def test_a_connection_that_is_closed_gives_its_room_back(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            _, genesis = await shouting(client, blocks=40)
            room = node.server.answers.room
            async with node.channel() as channel:
                request = streams_pb2.StreamBlocksRequest(
                    resume_after=genesis, view=FULL
                )
                stub = StreamServiceStub(channel)
                unread = [stub.StreamBlocks(request) for _ in range(9)]
                while not room.lent:  # noqa: ASYNC110 - nothing tells it
                    await asyncio.sleep(0)
                (peer,) = {lease.peer for lease in room._leases}
                close_connection(peer)
                for call in unread:
                    _, error = await read(call)
                    assert error.code() is grpc.StatusCode.UNAVAILABLE
                while room.lent:  # noqa: ASYNC110 - nothing tells it
                    await asyncio.sleep(0)

    asyncio.run(scenario())
