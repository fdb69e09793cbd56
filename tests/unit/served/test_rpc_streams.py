"""StreamService: no gaps, no repeats, also across a reconnect and a reset."""

import asyncio
from contextlib import aclosing
from itertools import pairwise

import pytest

from node.chain.transaction import DeployActor, ExecuteActor
from node.client import AsyncApi, EventFilter, NodeError, TimerFilter, Wallet
from node.rpc import block_follower
from node.rpc.streams import SHARED_BLOCKS, Streams
from node.rpc.v1 import streams_pb2, types_pb2
from node.runtime.feed import FeedLimits
from node.runtime.types import ReaderTooSlow

ALICE = Wallet.dev(0)


async def take(stream, count):
    """The first answers of a stream, which is then left."""
    taken = []
    async with aclosing(stream) as answers:
        async for answer in answers:
            taken.append(answer)
            if len(taken) == count:
                break
    return taken


async def start_stream(client, **options):
    """A stream of blocks that stands at the head already: it has shown one block."""
    head = (await client.status()).head
    parent = types_pb2.BlockRef(height=head.height - 1, hash=head.parent_hash)
    stream = client.stream_blocks(parent, **options)
    assert (await anext(stream)).block.header.height == head.height
    return stream


def place_of(header):
    return types_pb2.BlockRef(height=header.height, hash=header.hash)


def test_blocks_come_from_history_and_then_live_without_a_gap(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            for _ in range(3):
                await client.mine()
            genesis = place_of((await client.block(0)).header)
            taking = asyncio.create_task(take(client.stream_blocks(genesis), 6))
            for _ in range(3):
                await client.mine()
            answers = await taking
            headers = [answer.block.header for answer in answers]
            assert [h.height for h in headers] == [1, 2, 3, 4, 5, 6]
            assert all(
                later.parent_hash == earlier.hash
                for earlier, later in pairwise(headers)
            )

    asyncio.run(scenario())


def test_a_stream_resumes_after_the_block_that_was_seen_last(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            for _ in range(2):
                await client.mine()
            seen = place_of((await client.block(1)).header)
            (answer,) = await take(client.stream_blocks(seen), 1)
            for _ in range(2):
                await client.mine()
            place = place_of(answer.block.header)
            rest = await take(client.stream_blocks(place), 2)
            assert [a.block.header.height for a in rest] == [3, 4]

    asyncio.run(scenario())


def test_a_stream_resumes_after_a_height_inside_a_run(run_node, source):
    """A run has one hash, and clients see each of its heights (D36)."""

    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            await client.mine()
            _ = [answer async for answer in client.advance(blocks=100)]
            await client.mine()
            inside = place_of((await client.block(50)).header)
            whole, last = await take(client.stream_blocks(inside), 2)
            assert (whole.block.header.height, whole.block.header.span) == (101, 100)
            assert whole.block.header.hash == inside.hash
            assert last.block.header.height == 102
            cursor = streams_pb2.EventCursor(block=inside, event_index=0)
            await speak(client, source, 1)
            said = EventFilter(topics=("said",))
            assert told(await take(client.stream_events(said, cursor), 1)) == [
                (104, 0, "said")
            ]

    asyncio.run(scenario())


def test_readers_of_one_block_get_each_what_they_asked_for(run_node, source):
    """Messages are shared by readers, not their wishes."""

    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            actor = await speak(client, source, 0)
            views = types_pb2.BlockView.values()
            blocks = [
                asyncio.create_task(take(client.stream_blocks(view=view), 9))
                for view in views * 2
            ]
            wishes = [EventFilter(topics=(topic,)) for topic in ("said", "again")]
            events = [
                asyncio.create_task(take(client.stream_events(wish), 9))
                for wish in wishes * 2
            ]
            await node.until_readers(len(blocks) + len(events))
            for number in range(9):
                say = ExecuteActor(actor, "say", bytes([number]), 0)
                await client.execute(ALICE, say)
            first = place_of((await client.block(1)).header)
            for view, told_blocks in zip(views * 2, blocks, strict=True):
                alone = client.stream_blocks(first, view=view)
                assert await told_blocks == await take(alone, 9)
                parts = (await told_blocks)[0].block
                is_full = view == types_pb2.BLOCK_VIEW_FULL
                assert bool(parts.transactions) == is_full
                is_header = view == types_pb2.BLOCK_VIEW_HEADER
                assert bool(parts.transaction_ids) != is_header
            for wish, told_events in zip(wishes * 2, events, strict=True):
                answers = [answer.event for answer in await told_events]
                assert {event.topic for event in answers} == set(wish.topics)
                assert [event.height for event in answers] == list(range(2, 11))

    asyncio.run(scenario())


def test_messages_of_the_latest_blocks_only_are_kept_for_others(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            for _ in range(20):
                await node.engine.mine(1)
            service = Streams(node.engine)
            genesis = place_of((await client.block(0)).header)
            request = streams_pb2.StreamBlocksRequest(resume_after=genesis)
            one, other = [
                await take(service.StreamBlocks(request, None), 20) for _ in range(2)
            ]
            assert one == other
            shared = [a is b for a, b in zip(one, other, strict=True)]
            assert shared == [False] * 16 + [True] * 4
            assert len(service._blocks._small) == SHARED_BLOCKS

    asyncio.run(scenario())


def test_without_a_place_a_stream_begins_with_the_next_block(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            for _ in range(2):
                await client.mine()
            stream = client.stream_blocks()
            first = asyncio.create_task(anext(stream))
            await node.until_readers(1)
            await client.mine()
            assert (await first).block.header.height == 3
            await stream.aclose()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "place",
    [
        types_pb2.BlockRef(height=1, hash=b"\x01" * 32),
        types_pb2.BlockRef(height=99, hash=b"\x01" * 32),
        types_pb2.BlockRef(height=2**64 - 1, hash=b"\x01" * 32),
    ],
)
def test_a_place_that_is_not_in_the_chain_is_reverted(run_node, place):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            await client.mine(1)
            reverted, block = await take(client.stream_blocks(place), 2)
            genesis = (await client.block(0)).header
            assert reverted.reverted == place_of(genesis)
            assert block.block.header.height == 1

    asyncio.run(scenario())


def test_a_reset_is_told_to_running_streams(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            for _ in range(3):
                await client.mine()
            stream = await start_stream(client)
            waiting = asyncio.create_task(anext(stream))
            await node.until_readers(1)
            genesis = await client.reset()
            assert (await waiting).reverted == place_of(genesis)
            await client.mine()
            assert (await anext(stream)).block.header.height == 1
            await stream.aclose()

    asyncio.run(scenario())


def test_a_reset_while_the_history_is_read_is_noticed(run_node):
    async def scenario():
        async with run_node() as node:
            for _ in range(3):
                await node.engine.mine(1)
            genesis = block_follower._genesis(node.engine)
            steps = block_follower.follow(node.engine, block_follower.Start(genesis))
            assert (await anext(steps)).place.height == 1
            await node.engine.reset()
            assert await anext(steps) == genesis
            await steps.aclose()

    asyncio.run(scenario())


def test_a_reader_that_does_not_keep_up_is_told_where_to_resume(run_node):
    async def scenario():
        run = run_node(feed=FeedLimits(buffered_max=2))
        async with run as node:
            steps = block_follower.follow(node.engine, block_follower.Start())
            first = asyncio.create_task(anext(steps))
            await node.until_readers(1)
            for _ in range(9):
                await node.engine.mine(1)
            heights = [(await first).place.height]

            async def read_on():
                async for step in steps:
                    heights.append(step.place.height)  # noqa: PERF401 - it ends

            with pytest.raises(ReaderTooSlow) as error:
                await read_on()
            assert heights == list(range(1, len(heights) + 1))
            assert error.value.resume_height == heights[-1] < 9

    asyncio.run(scenario())


def test_streams_end_with_a_reason_when_the_node_stops(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            await client.mine()
            stream = await start_stream(client)
            waiting = asyncio.create_task(anext(stream))
            await node.until_readers(1)
            node.engine.stop()
            with pytest.raises(NodeError) as error:
                await waiting
            assert (error.value.code, error.value.reason) == (
                "UNAVAILABLE",
                "NODE_STOPPING",
            )

    asyncio.run(scenario())


def test_a_stream_that_is_left_is_forgotten(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            await client.mine()
            stream = await start_stream(client)
            waiting = asyncio.create_task(anext(stream))
            await node.until_readers(1)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await node.until_readers(0)

    asyncio.run(scenario())


# --- events ------------------------------------------------------------------------


async def speak(client, source, times=2):
    """An actor that said and repeated something in each of the blocks 2 and up."""
    deploy = DeployActor(bytes(32), source, b"", 0)
    actor = (await client.execute(ALICE, deploy)).receipt.actor
    for _ in range(times):
        await client.execute(ALICE, ExecuteActor(actor, "say", b"hi", 0))
    return actor


def told(answers):
    return [(a.event.height, a.event.index, a.event.topic) for a in answers]


ALL = [(2, 0, "said"), (2, 1, "again"), (3, 0, "said"), (3, 1, "again")]


async def genesis_cursor(client):
    place = place_of((await client.block(0)).header)
    return streams_pb2.EventCursor(block=place)


def test_events_resume_after_any_of_them(run_node, source):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            await speak(client, source)
            cursor = await genesis_cursor(client)
            answers = await take(client.stream_events(None, cursor), 4)
            assert told(answers) == ALL
            for seen, answer in enumerate(answers[:-1], 1):
                rest = client.stream_events(None, answer.cursor)
                assert told(await take(rest, 4 - seen)) == ALL[seen:]
            whole_block = streams_pb2.EventCursor(block=answers[0].cursor.block)
            rest = client.stream_events(None, whole_block)
            assert told(await take(rest, 2)) == ALL[2:]

    asyncio.run(scenario())


def test_events_go_on_live_after_the_one_that_was_seen_last(run_node, source):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            actor = await speak(client, source)
            cursor = await genesis_cursor(client)
            last = (await take(client.stream_events(None, cursor), 4))[-1].cursor
            taking = asyncio.create_task(take(client.stream_events(None, last), 2))
            await node.until_readers(1)
            await client.execute(ALICE, ExecuteActor(actor, "say", b"hi", 0))
            assert told(await taking) == [(4, 0, "said"), (4, 1, "again")]

    asyncio.run(scenario())


def test_events_are_filtered_by_emitter_and_topic(run_node, source):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            actor = await speak(client, source)
            await client.execute(ALICE, ExecuteActor(actor, "start", b"\x40", 0))
            cursor = await genesis_cursor(client)

            async def first(count, **fields):
                stream = client.stream_events(EventFilter(**fields), cursor)
                return [topic for _, _, topic in told(await take(stream, count))]

            assert await first(2, topics=("again",)) == ["again", "again"]
            assert await first(2, emitters=(actor,), topics=("said",)) == ["said"] * 2
            system = await first(1, emitters=(bytes(20),), include_system=True)
            assert system == ["TimerScheduled"]
            everything = await first(5)
            assert everything[-1] == "TimerScheduled"

    asyncio.run(scenario())


def test_a_cursor_that_is_not_in_the_chain_is_reverted(run_node, source):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            await speak(client, source)
            place = types_pb2.BlockRef(height=2, hash=b"\x01" * 32)
            cursor = streams_pb2.EventCursor(block=place, event_index=1)
            answers = await take(client.stream_events(None, cursor), 3)
            genesis = place_of((await client.block(0)).header)
            assert answers[0].reverted == answers[0].cursor.block == genesis
            assert told(answers[1:]) == ALL[:2]

    asyncio.run(scenario())


def test_filters_are_bounded_and_checked(run_node):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            for wanted, field in (
                (EventFilter(emitters=(b"1",)), "emitters"),
                (EventFilter(emitters=(bytes(20),) * 257), "emitters"),
                (EventFilter(topics=("t",) * 257), "topics"),
            ):
                with pytest.raises(NodeError) as error:
                    await take(client.stream_events(wanted), 1)
                assert error.value.metadata == {"field": field}

    asyncio.run(scenario())


# --- timers ------------------------------------------------------------------------


async def live_through(client, source):
    """Timers that are scheduled in blocks 2 and 3: one is cancelled, one fires."""
    deploy = DeployActor(bytes(32), source, b"", 10**12)
    actor = (await client.execute(ALICE, deploy)).receipt.actor
    ids = []
    for delay in (b"\x09", b"\x03"):
        call = ExecuteActor(actor, "start", delay, 0)
        receipt = (await client.execute(ALICE, call)).receipt
        ids += receipt.scheduled_timer_ids
    await client.execute(ALICE, ExecuteActor(actor, "stop", ids[0], 0))
    await client.mine(2)
    return actor, ids


def lives(answers):
    return [
        (a.change.decision.height, a.change.decision.decision, a.change.timer_id)
        for a in answers
    ]


async def genesis_timer_cursor(client):
    return streams_pb2.TimerCursor(block=place_of((await client.block(0)).header))


def test_every_change_in_a_timers_life_is_told_and_can_be_resumed_after(
    run_node, source
):
    """StreamTimers: every change in a timer's life, without gaps or repeats."""

    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            live = client.stream_timers()
            watching = asyncio.create_task(take(live, 4))
            await node.until_readers(1)
            actor, (first, second) = await live_through(client, source)
            expected = [
                (2, "scheduled", first),
                (3, "scheduled", second),
                (4, "cancelled", first),
                (6, "fired", second),
            ]
            answers = await watching
            assert lives(answers) == expected
            assert answers[1].change.actor == answers[1].change.fee_payer == actor
            assert answers[1].change.due_height == 6
            cursor = await genesis_timer_cursor(client)
            history = await take(client.stream_timers(None, cursor), 4)
            assert history == answers, "the history tells what was told live"
            for seen, answer in enumerate(answers[:-1], 1):
                rest = client.stream_timers(None, answer.cursor)
                assert lives(await take(rest, 4 - seen)) == expected[seen:]

    asyncio.run(scenario())


def test_changes_are_filtered_by_actor_and_timer(run_node, source):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            actor, (first, second) = await live_through(client, source)
            cursor = await genesis_timer_cursor(client)

            async def told(count, **fields):
                stream = client.stream_timers(TimerFilter(**fields), cursor)
                return [(h, what) for h, what, _ in lives(await take(stream, count))]

            assert await told(2, timer_ids=(first,)) == [
                (2, "scheduled"),
                (4, "cancelled"),
            ]
            by_both = await told(2, actors=(actor,), timer_ids=(second,))
            assert by_both == [(3, "scheduled"), (6, "fired")]
            for wanted, field in (
                (TimerFilter(actors=(b"1",)), "actors"),
                (TimerFilter(actors=(actor,) * 257), "actors"),
                (TimerFilter(timer_ids=(b"",)), "timer_ids"),
                (TimerFilter(timer_ids=(first,) * 257), "timer_ids"),
            ):
                with pytest.raises(NodeError) as error:
                    await take(client.stream_timers(wanted), 1)
                assert error.value.metadata == {"field": field}

    asyncio.run(scenario())


def test_a_rewind_is_told_to_those_who_watch_timers(run_node, source):
    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            await live_through(client, source)
            watching = asyncio.create_task(take(client.stream_timers(), 1))
            await node.until_readers(1)
            genesis = place_of(await client.reset())
            (answer,) = await watching
            assert answer.reverted == answer.cursor.block == genesis

    asyncio.run(scenario())


# --- rewinds -----------------------------------------------------------------------


def test_a_revert_to_a_snapshot_is_told_to_all_streams(run_node, source):
    """Each says after which block it goes on, and then tells what is new."""

    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            actor, _ = await live_through(client, source)
            base = (await client.create_snapshot("base")).block
            start = ExecuteActor(actor, "start", b"\x02", 0)
            say = ExecuteActor(actor, "say", b"hi", 0)
            reading = [
                asyncio.create_task(take(client.stream_blocks(), 4)),
                asyncio.create_task(take(client.stream_events(), 5)),
                asyncio.create_task(take(client.stream_timers(), 3)),
            ]
            await node.until_readers(3)
            undone = (await client.execute(ALICE, start)).receipt.scheduled_timer_ids
            await client.execute(ALICE, say)
            assert place_of(await client.revert_to_snapshot("base")) == base
            await client.execute(ALICE, say)
            made = (await client.execute(ALICE, start)).receipt.scheduled_timer_ids
            blocks, events, timers = await asyncio.gather(*reading)
            first, second = base.height + 1, base.height + 2
            assert [answer.block.header.height for answer in blocks] == [
                *(first, second, 0, first),
            ]
            assert blocks[2].reverted == base
            assert blocks[3].block.header.parent_hash == base.hash
            assert told(events) == [
                (first, 0, "TimerScheduled"),
                *((second, 0, "said"), (second, 1, "again")),
                *((0, 0, ""), (first, 0, "said")),
            ]
            assert events[3].reverted == events[3].cursor.block == base
            assert lives(timers) == [
                (first, "scheduled", *undone),
                (0, "", b""),
                (second, "scheduled", *made),
            ]
            assert timers[1].reverted == timers[1].cursor.block == base

    asyncio.run(scenario())


def test_a_stream_goes_on_after_the_latest_block_that_both_know(run_node):
    """A block that was lost, or reverted, while nobody was connected."""

    async def scenario():
        async with run_node() as node, AsyncApi(node.url) as client:
            for _ in range(3):
                await client.mine()
            seen = [place_of((await client.block(h)).header) for h in (3, 2, 1)]
            lost = types_pb2.BlockRef(height=4, hash=b"\x01" * 32)
            other = types_pb2.BlockRef(height=3, hash=b"\x02" * 32)
            stream = client.stream_blocks(lost, earlier=[other, *seen[1:]])
            reverted, block = await take(stream, 2)
            assert reverted.reverted == seen[1]
            assert block.block.header.height == 3
            with pytest.raises(NodeError) as error:
                await take(client.stream_blocks(lost, earlier=[other] * 65), 1)
            assert error.value.metadata == {"field": "earlier"}

    asyncio.run(scenario())


def test_a_slow_reader_is_told_over_the_wire_where_to_resume(run_node):
    """RESOURCE_EXHAUSTED with the height; the reader misses nothing."""

    async def scenario():
        run = run_node(feed=FeedLimits(buffered_max=0))
        async with run as node, AsyncApi(node.url) as client:
            await client.mine(2)
            reading = asyncio.create_task(take(client.stream_blocks(), 1))
            await node.until_readers(1)
            for _ in range(3):
                await client.mine()
            with pytest.raises(NodeError) as error:
                await reading
            told = error.value.metadata
            assert (error.value.code, error.value.reason) == (
                "RESOURCE_EXHAUSTED",
                "READER_TOO_SLOW",
            )
            assert told["resume_height"] == "2"
            block_hash = bytes.fromhex(told["resume_hash"])
            place = types_pb2.BlockRef(height=2, hash=block_hash)
            rest = await take(client.stream_blocks(place), 3)
            assert [answer.block.header.height for answer in rest] == [3, 4, 5]

    asyncio.run(scenario())
