"""Feed: readers get everything once, in order; a slow one loses only itself."""

import asyncio
from types import SimpleNamespace

import pytest

from node.primitives.types import Hash32, Height
from node.runtime.feed import Feed, FeedLimits
from node.runtime.types import (
    BlockNotice,
    NodeStopping,
    ReaderTooSlow,
    RewindNotice,
    TooManyReads,
)


def notice(height: int) -> RewindNotice:
    """Anything with a height."""
    header = SimpleNamespace(height=Height(height))
    return RewindNotice(header, hash_of(height))  # type: ignore[arg-type]


def hash_of(height: int) -> Hash32:
    return Hash32(bytes([height]) * 32)


def heights(notices) -> list[int]:
    return [n.header.height for n in notices]


async def read_all(subscription) -> list[int]:
    return heights([n async for n in subscription])


def test_every_reader_gets_what_is_published_after_it_came() -> None:
    async def scene() -> None:
        feed = Feed()
        early = feed.subscribe(Height(0), hash_of(0))
        feed.publish(notice(1))
        late = feed.subscribe(Height(1), hash_of(1))
        feed.publish(notice(2))
        feed.stop()
        assert await read_all(early) == [1, 2]
        assert await read_all(late) == [2]

    asyncio.run(scene())


def test_a_reader_waits_for_what_is_not_there_yet() -> None:
    async def scene() -> None:
        feed = Feed()
        subscription = feed.subscribe(Height(0), hash_of(0))
        reading = asyncio.create_task(anext(subscription))
        await asyncio.sleep(0)
        assert not reading.done()
        feed.publish(notice(1))
        assert (await reading).header.height == 1

    asyncio.run(scene())


def test_a_slow_reader_is_told_the_height_to_resume_after() -> None:
    """RESOURCE_EXHAUSTED with the height; it never slows the node."""

    async def scene() -> None:
        feed = Feed(FeedLimits(buffered_max=2))
        slow, quick = (
            feed.subscribe(Height(0), hash_of(0)),
            feed.subscribe(Height(0), hash_of(0)),
        )
        for height in (1, 2, 3, 4, 5):
            feed.publish(notice(height))
            assert (await anext(quick)).header.height == height
            if height == 1:
                assert (await anext(slow)).header.height == 1
        with pytest.raises(ReaderTooSlow) as ended:
            await anext(slow)
        assert ended.value.resume_height == 1
        assert ended.value.resume_hash == hash_of(1)
        assert len(feed) == 1, "the slow reader is forgotten"
        assert not slow._buffer, "nothing is kept for who may never come back"

    asyncio.run(scene())


def test_what_waits_for_a_reader_is_bounded_in_bytes_too() -> None:
    def block(height: int, data: bytes) -> BlockNotice:
        header = SimpleNamespace(height=Height(height))
        events = (SimpleNamespace(data=data),)
        content = SimpleNamespace(header=header, transactions=())
        return BlockNotice(content, Hash32(bytes(32)), (), events, ())  # type: ignore[arg-type]

    async def scene() -> None:
        feed = Feed(FeedLimits(buffered_bytes_max=100_000))
        slow, quick = (
            feed.subscribe(Height(0), hash_of(0)),
            feed.subscribe(Height(0), hash_of(0)),
        )
        for height in range(1, 20):
            feed.publish(block(height, bytes(20_000)))
            assert (await anext(quick)).block.header.height == height
            assert len(slow._buffer) <= 4
        with pytest.raises(ReaderTooSlow):
            await anext(slow)

    asyncio.run(scene())


def test_many_readers_do_not_come_before_all_other_calls() -> None:
    async def scene() -> None:
        feed = Feed()
        order: list[str] = []

        async def read(subscription) -> None:
            await anext(subscription)
            order.append("reader")

        readers = [
            asyncio.create_task(read(feed.subscribe(Height(0), hash_of(0))))
            for _ in range(100)
        ]
        await asyncio.sleep(0)
        feed.publish(notice(1))
        asyncio.get_running_loop().call_soon(order.append, "another call")
        await asyncio.gather(*readers)
        assert order.index("another call") <= 8, "two turns of four readers"
        assert order.count("reader") == 100

    asyncio.run(scene())


def test_a_reader_that_read_nothing_resumes_after_the_head_it_came_at() -> None:
    async def scene() -> None:
        feed = Feed(FeedLimits(buffered_max=0))
        subscription = feed.subscribe(Height(7), hash_of(7))
        feed.publish(notice(8))
        with pytest.raises(ReaderTooSlow) as ended:
            await anext(subscription)
        assert ended.value.resume_height == 7

    asyncio.run(scene())


def test_a_closed_subscription_is_forgotten_and_ends() -> None:
    async def scene() -> None:
        feed = Feed()
        with feed.subscribe(Height(0), hash_of(0)) as subscription:
            feed.publish(notice(1))
        assert len(feed) == 0
        assert await read_all(subscription) == []
        subscription.close()

    asyncio.run(scene())


def test_the_number_of_readers_is_bounded() -> None:
    async def scene() -> None:
        feed = Feed(FeedLimits(subscriptions_max=1))
        first = feed.subscribe(Height(0), hash_of(0))
        with pytest.raises(TooManyReads):
            feed.subscribe(Height(0), hash_of(0))
        first.close()
        feed.subscribe(Height(0), hash_of(0))

    asyncio.run(scene())


def test_a_stopped_feed_takes_no_readers() -> None:
    async def scene() -> None:
        feed = Feed()
        feed.stop()
        with pytest.raises(NodeStopping):
            feed.subscribe(Height(0), hash_of(0))

    asyncio.run(scene())
