"""Reads on the worker thread, between blocks.

Rules: the worker gets one read at a time and keeps the order in which it is given
jobs, so a block waits for at most one read and a read for at most one block. A read
that was cancelled while it waited never runs. How many wait is bounded.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TypeVar, cast

from msgspec import Struct

from node.runtime.types import READS_WAITING_MAX, NodeStopping, TooManyReads
from pvm.worker import Worker

__all__ = ["Reads", "on_worker"]

Result = TypeVar("Result")


def on_worker(worker: Worker, function: Callable[[], Result]) -> asyncio.Future[Result]:
    """Run `function` on the worker thread; what came of it, as a future."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def report(result: Result | None, error: BaseException | None) -> None:
        try:
            loop.call_soon_threadsafe(_resolve, future, result, error)
        except RuntimeError:
            if not loop.is_closed():  # a loop that was torn down hears nothing more
                raise

    worker.post(function, report)
    return future


def _resolve(
    future: asyncio.Future[Result], result: Result | None, error: BaseException | None
) -> None:
    if future.done():  # cancelled meanwhile
        return
    if isinstance(error, StopIteration):  # a future takes any other
        future.set_exception(RuntimeError("a job raised StopIteration"))
    elif error is not None:
        future.set_exception(error)
    else:
        future.set_result(cast("Result", result))


class _Read(Struct, frozen=True):
    """What is to be run, and who waits for it."""

    function: Callable[[], object]
    answer: asyncio.Future[object]


class Reads:
    """The queue of reads in front of the worker."""

    __slots__ = ("_is_running", "_stopping", "_waiting", "_waiting_max", "_worker")

    def __init__(self, worker: Worker, waiting_max: int = READS_WAITING_MAX) -> None:
        self._worker = worker
        self._waiting_max = waiting_max
        self._waiting: deque[_Read] = deque()
        self._is_running = False
        self._stopping: NodeStopping | None = None

    async def run(self, function: Callable[[], Result]) -> Result:
        """Run `function` on the worker when it is its turn.

        Raises:
            TooManyReads: Too many wait already.
            NodeStopping: The node stops.
        """
        if self._stopping is not None:
            raise self._stopping
        read = _Read(function, asyncio.get_running_loop().create_future())
        if not self._is_running:
            self._start(read)
        elif len(self._waiting) < self._waiting_max:
            self._waiting.append(read)
        else:
            raise TooManyReads(
                f"{self._waiting_max} reads wait for the executing thread: ask again"
            )
        return cast("Result", await read.answer)

    def stop(self, reason: NodeStopping) -> None:
        """Refuse what waits and what comes; one that runs still answers."""
        self._stopping = reason
        for read in self._waiting:
            if not read.answer.done():
                read.answer.set_exception(reason)
        self._waiting.clear()

    def _start(self, read: _Read) -> None:
        self._is_running = True
        job = on_worker(self._worker, read.function)
        job.add_done_callback(partial(self._finish, read))

    def _finish(self, read: _Read, job: asyncio.Future[object]) -> None:
        self._is_running = False
        while self._waiting and not self._is_running:
            following = self._waiting.popleft()
            if not following.answer.done():
                self._start(following)
        error = job.exception()
        _resolve(read.answer, None if error else job.result(), error)
