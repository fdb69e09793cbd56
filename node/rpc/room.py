"""AnswerRoom: how many bytes of answers may be on their way to those who read them.

Why: gRPC keeps a copy of each message until its reader takes it, and a reader may take
none: 200 callers who read nothing held 900 MB, and there may be 4,096 of them.

Rules: room is lent for one connection, which may have so much of it, and there is so
much in all; a connection, or the node, that has lent none lends any amount, since the
largest message must fit. Who finds no room waits for it, in the order of coming, where
nobody is held up by a connection that is full; and who waited long enough is refused.
A connection that takes nothing of what it was sent for long, while others wait for the
room that it has, is closed. Nobody waits for the sake of a small answer.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Self

from node.rpc.limits import RpcLimits
from node.rpc.peers import close_connection

__all__ = ["AnswerRoom", "Lease", "NoRoom"]

_LOOK_SECONDS = 1.0
"""Between two looks at whose room others wait for."""


class NoRoom(Exception):  # noqa: N818 - a refusal, named like the others
    """So many bytes of earlier answers are not read yet that there is no room."""

    def __init__(self, unread: int, size: int) -> None:
        super().__init__(
            f"{unread:,} bytes of earlier answers are unread, and this one has some "
            f"{size:,}"
        )
        self.unread_bytes = unread
        self.answer_bytes = size


class Lease:
    """Room that is lent for one answer; release it, or leave it to `with`."""

    __slots__ = ("_give_back", "_now", "peer", "sent_at", "size")

    def __init__(
        self,
        peer: str,
        size: int,
        now: Callable[[], float],
        give_back: Callable[["Lease", int], None],
    ) -> None:
        self.peer = peer
        self.size = size
        self.sent_at: float | None = None
        """When its answer, or the last part of it, was given to gRPC."""
        self._now = now
        self._give_back = give_back

    def resize(self, size: int) -> None:
        """Say how large the answer has become."""
        change, self.size = self.size - size, size
        self._give_back(self, change)

    def send(self) -> None:
        """Say that its answer, or a part of it, is given to gRPC now."""
        self.sent_at = self._now()

    def release(self) -> None:
        """Give it back: the answer was taken, or is none; idempotent."""
        self.resize(0)

    def __enter__(self) -> Self:
        """The lease itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Release."""
        self.release()


class _Waiting:
    """Somebody who waits for room."""

    __slots__ = ("granted", "peer", "size")

    def __init__(self, peer: str, size: int) -> None:
        self.peer = peer
        self.size = size
        self.granted: asyncio.Future[Lease] = asyncio.get_running_loop().create_future()


class AnswerRoom:
    """Lends room to answers."""

    __slots__ = ("_close", "_is_looking", "_leases", "_lent", "_limits", "_waiting")

    def __init__(
        self, limits: RpcLimits, close: Callable[[str], None] = close_connection
    ) -> None:
        self._limits = limits
        self._close = close
        self._lent: Counter[str] = Counter()
        """Bytes by connection, of those that have any."""
        self._leases: dict[Lease, None] = {}
        self._waiting: dict[_Waiting, None] = {}
        self._is_looking = False

    @property
    def lent(self) -> int:
        """Bytes that are lent, to all."""
        return self._lent.total()

    def lend_now(self, peer: str, size: int) -> Lease:
        """Room for an answer that was made already.

        Raises:
            NoRoom: There is none.
        """
        if self._fits(peer, size):
            return self._lend(peer, size)
        raise self._refusal(peer, size)

    async def lend(self, peer: str, size: int) -> Lease:
        """Room for an answer of about so many bytes, once there is.

        Raises:
            NoRoom: There was none for `room_wait_ms`.
        """
        if not self._waiting and self._fits(peer, size):
            return self._lend(peer, size)
        waiting = _Waiting(peer, size)
        self._waiting[waiting] = None
        self._lend_to_waiting()
        self._look_later()
        granted = waiting.granted
        try:
            async with asyncio.timeout(self._limits.room_wait_ms / 1_000):
                return await granted
        except BaseException as error:
            self._waiting.pop(waiting, None)
            if granted.done() and not granted.cancelled():
                granted.result().release()
            self._lend_to_waiting()  # those behind one that was too large
            if isinstance(error, TimeoutError):
                raise self._refusal(peer, size) from None
            raise

    def _fits(self, peer: str, size: int) -> bool:
        return self._fits_connection(peer, size) and self._fits_all(size)

    def _fits_connection(self, peer: str, size: int) -> bool:
        lent = self._lent[peer]
        return not lent or lent + size <= self._limits.unread_bytes_connection_max

    def _fits_all(self, size: int) -> bool:
        return not self._lent or self.lent + size <= self._limits.unread_bytes_max

    def _refusal(self, peer: str, size: int) -> NoRoom:
        is_own = not self._fits_connection(peer, size)
        return NoRoom(self._lent[peer] if is_own else self.lent, size)

    def _lend(self, peer: str, size: int) -> Lease:
        lease = Lease(peer, size, asyncio.get_running_loop().time, self._give_back)
        self._lent[peer] += size
        self._leases[lease] = None
        return lease

    def _give_back(self, lease: Lease, size: int) -> None:
        """Take room back, or more of it if `size` is below 0."""
        if lease not in self._leases:
            return
        self._lent[lease.peer] -= size
        if not lease.size:
            del self._leases[lease]
        if not self._lent[lease.peer]:
            del self._lent[lease.peer]
        if size > 0:
            self._lend_to_waiting()

    def _lend_to_waiting(self) -> None:
        for waiting in list(self._waiting):
            if not self._fits_all(waiting.size):
                return
            if self._fits_connection(waiting.peer, waiting.size):
                del self._waiting[waiting]
                if not waiting.granted.done():
                    waiting.granted.set_result(self._lend(waiting.peer, waiting.size))

    # --- those who read nothing ----------------------------------------------------

    def _look_later(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            loop = asyncio.get_running_loop()
            loop.call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        """Close connections that have what others wait for, and read nothing."""
        self._is_looking = False
        if not self._waiting:
            return
        if any(not self._fits_all(waiting.size) for waiting in self._waiting):
            now = asyncio.get_running_loop().time()
            before = now - self._limits.unread_ms_max / 1_000
            stalled = {
                lease.peer
                for lease in self._leases
                if lease.sent_at is not None and lease.sent_at < before
            }
            for peer in sorted(stalled):
                self._close(peer)
        self._look_later()
