"""Feed: what became visible, told to any number of readers.

Rules: publishing never waits. Each subscription has a bounded buffer; a reader that
lets it overflow gets what was buffered, then the height after which to resume, and is
forgotten: the node is never slower for it. What is published is shared by all
readers, not copied.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from node.primitives.types import Height
from node.runtime.choices import FeedLimits
from node.runtime.types import (
    BlockNotice,
    NodeStopping,
    Notice,
    ReaderTooSlow,
    TooManyReads,
)

__all__ = ["Feed", "FeedLimits", "FeedSubscription"]


class FeedSubscription:
    """One reader's view of a feed, its own asynchronous iterator."""

    __slots__ = (
        "_buffer",
        "_buffered_max",
        "_forget",
        "_is_ended",
        "_is_too_slow",
        "_read_height",
        "_wake",
    )

    def __init__(
        self,
        head_height: Height,
        buffered_max: int,
        forget: Callable[["FeedSubscription"], None],
    ) -> None:
        self._read_height = head_height
        self._buffered_max = buffered_max
        self._forget = forget
        self._buffer: deque[Notice] = deque()
        self._is_too_slow = False
        self._is_ended = False
        self._wake = asyncio.Event()

    def offer(self, notice: Notice) -> None:
        """Buffer `notice`; if there is no room, end after what is buffered."""
        if len(self._buffer) >= self._buffered_max:
            self._is_too_slow = True
            self._forget(self)
        else:
            self._buffer.append(notice)
        self._wake.set()

    def stop(self) -> None:
        """Let the reader have what is buffered, then end."""
        self._is_ended = True
        self._wake.set()

    def close(self) -> None:
        """End the subscription: the reader has gone; idempotent."""
        self._buffer.clear()
        self._forget(self)
        self.stop()

    def __aiter__(self) -> Self:
        """The notices."""
        return self

    async def __anext__(self) -> Notice:
        """The next notice; waits for it.

        Raises:
            ReaderTooSlow: The buffer overflowed, and what it held was read.
        """
        while not self._buffer:
            if self._is_too_slow:
                raise ReaderTooSlow(self._read_height)
            if self._is_ended:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        notice = self._buffer.popleft()
        self._read_height = _height_of(notice)
        return notice

    def __enter__(self) -> Self:
        """The subscription itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()


class Feed:
    """Tells every subscription what is published after it was made."""

    __slots__ = ("_is_stopped", "_limits", "_subscriptions")

    def __init__(self, limits: FeedLimits | None = None) -> None:
        self._limits = limits or FeedLimits()
        # A dict for its order: readers hear of a thing in the order in which they came.
        self._subscriptions: dict[FeedSubscription, None] = {}
        self._is_stopped = False

    def __len__(self) -> int:
        """Readers that are served."""
        return len(self._subscriptions)

    def subscribe(self, head_height: Height) -> FeedSubscription:
        """A subscription to everything that is published after the head.

        Raises:
            TooManyReads: `subscriptions_max` are open.
            NodeStopping: The feed has ended.
        """
        if self._is_stopped:
            raise NodeStopping("the node is stopping")
        if len(self._subscriptions) >= self._limits.subscriptions_max:
            raise TooManyReads(
                f"{self._limits.subscriptions_max} streams are open: close one, or try "
                "again later"
            )
        subscription = FeedSubscription(
            head_height, self._limits.buffered_max, self._forget
        )
        self._subscriptions[subscription] = None
        return subscription

    def publish(self, notice: Notice) -> None:
        """Tell every reader."""
        for subscription in list(self._subscriptions):
            subscription.offer(notice)

    def stop(self) -> None:
        """End all subscriptions after what they have buffered; accept no more."""
        self._is_stopped = True
        for subscription in list(self._subscriptions):
            subscription.stop()
        self._subscriptions.clear()

    def _forget(self, subscription: FeedSubscription) -> None:
        self._subscriptions.pop(subscription, None)


def _height_of(notice: Notice) -> Height:
    if isinstance(notice, BlockNotice):
        return notice.block.header.height
    return notice.header.height
