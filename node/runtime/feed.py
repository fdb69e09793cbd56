"""Feed: what became visible, told to any number of readers.

Rules: publishing never waits. Each subscription has a buffer, bounded in notices and in
bytes; a reader that lets it overflow loses what it holds, is told the block after
which to resume, and is forgotten: the node is never slower for it, and what a reader
that never comes back had to read is kept for nobody. What is published is shared by all
readers, not copied, so all buffers together hold what one may. Readers are woken a few
at a time, with pauses: hundreds of them must not come before every other call, and the
last of 500 hears of a block a quarter of a second after the first.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import islice
from types import TracebackType
from typing import Self

from msgspec import Struct

from node.primitives.types import Hash32, Height
from node.runtime.settings import FeedLimits
from node.runtime.types import (
    BlockNotice,
    NodeStopping,
    Notice,
    ReaderTooSlow,
    RewindNotice,
    TooManyReads,
)

__all__ = ["Feed", "FeedLimits", "FeedSubscription", "weigh"]


_WOKEN_AT_ONCE = 4
_PAUSE_SECONDS = 0.002
"""Before the next ones are woken. An answer takes some 60 µs: without pauses, 500
readers held up one call in a hundred for 60 ms while full blocks executed."""

_PART_BYTES = 1_024
"""What a transaction, receipt, event or decision takes, beside the bytes it carries."""


class _Weighed(Struct, frozen=True):
    """A notice, and about what it takes in memory."""

    notice: Notice
    weight_bytes: int


class FeedSubscription:
    """One reader's view of a feed, its own asynchronous iterator."""

    __slots__ = (
        "_buffer",
        "_buffered_bytes",
        "_forget",
        "_is_ended",
        "_is_too_slow",
        "_limits",
        "_read",
        "_wake",
    )

    def __init__(
        self,
        head: tuple[Height, Hash32],
        limits: FeedLimits,
        forget: Callable[["FeedSubscription"], None],
    ) -> None:
        self._read = head
        self._limits = limits
        self._forget = forget
        self._buffer: deque[_Weighed] = deque()
        self._buffered_bytes = 0
        self._is_too_slow = False
        self._is_ended = False
        self._wake = asyncio.Event()

    def offer(self, weighed: "_Weighed") -> None:
        """Buffer a notice; if there is no room, end here. Nobody is woken yet."""
        self._buffered_bytes += weighed.weight_bytes
        is_over = self._buffered_bytes > self._limits.buffered_bytes_max
        if len(self._buffer) >= self._limits.buffered_max or (
            is_over and self._buffer  # who reads all at once has room for any block
        ):
            self._is_too_slow = True
            self._buffer.clear()
            self._forget(self)
        else:
            self._buffer.append(weighed)

    def wake(self) -> None:
        """Let the reader see what was offered."""
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
            ReaderTooSlow: The buffer overflowed; what it held is lost.
        """
        while not self._buffer:
            if self._is_too_slow:
                raise ReaderTooSlow(*self._read)
            if self._is_ended:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        weighed = self._buffer.popleft()
        self._buffered_bytes -= weighed.weight_bytes
        self._read = _place_of(weighed.notice)
        return weighed.notice

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

    __slots__ = (
        "_is_stopped",
        "_is_waking",
        "_limits",
        "_subscriptions",
        "_to_wake",
    )

    def __init__(self, limits: FeedLimits | None = None) -> None:
        self._limits = limits or FeedLimits()
        # A dict for its order: readers hear of a thing in the order in which they came.
        self._subscriptions: dict[FeedSubscription, None] = {}
        self._is_stopped = False
        self._to_wake: dict[FeedSubscription, None] = {}
        self._is_waking = False

    def __len__(self) -> int:
        """Readers that are served."""
        return len(self._subscriptions)

    def subscribe(self, height: Height, block_hash: Hash32) -> FeedSubscription:
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
            (height, block_hash), self._limits, self._forget
        )
        self._subscriptions[subscription] = None
        return subscription

    def publish(self, notice: Notice, weight_bytes: int | None = None) -> None:
        """Tell every reader; `weight_bytes` is what `weigh` says of the notice."""
        if not self._subscriptions:
            return
        readers = list(self._subscriptions)
        weight = weigh(notice) if weight_bytes is None else weight_bytes
        weighed = _Weighed(notice, weight)
        for subscription in readers:
            subscription.offer(weighed)
        self._to_wake.update(dict.fromkeys(readers))
        if self._to_wake and not self._is_waking:
            self._is_waking = True
            self._wake_some()

    def stop(self) -> None:
        """End all subscriptions after what they have buffered; accept no more."""
        self._is_stopped = True
        for subscription in list(self._subscriptions):
            subscription.stop()
        self._subscriptions.clear()

    def _wake_some(self) -> None:
        """Wake some readers, and the others after a pause."""
        woken = list(islice(self._to_wake, _WOKEN_AT_ONCE))
        for subscription in woken:
            del self._to_wake[subscription]
            subscription.wake()
        self._is_waking = bool(self._to_wake)
        if self._is_waking:
            loop = asyncio.get_running_loop()
            loop.call_later(_PAUSE_SECONDS, self._wake_some)

    def _forget(self, subscription: FeedSubscription) -> None:
        self._subscriptions.pop(subscription, None)


def weigh(notice: Notice) -> int:
    """About what a notice takes in memory, in bytes."""
    if isinstance(notice, RewindNotice):
        return _PART_BYTES
    carried = (
        *[transaction.raw for transaction in notice.block.transactions],
        *[receipt.value for receipt in notice.receipts],
        *[event.data for event in notice.events],
    )
    parts = 1 + len(carried) + len(notice.trace)
    return parts * _PART_BYTES + sum(map(len, carried))


def _place_of(notice: Notice) -> tuple[Height, Hash32]:
    header = notice.block.header if isinstance(notice, BlockNotice) else notice.header
    return header.height, notice.block_hash
