"""On which cores the interpreter's threads run.

Why: one of Python's threads runs at a time. In mode `instant` a transaction goes from
the thread that reads connections to the event loop's, to the worker's and back, and
each sleeps while another works. Spread over the cores, every such step wakes a core
from its sleep and finds the interpreter's memory in another one's cache: on two cores
that is 100 to 190 of 1,730 µs of a serial transfer. So these threads share a core, the
one on which a sync returns first: on a machine whose disk interrupts one core, it took
190 µs there and 275 on the other.

Rules: only in mode `instant`, for there blocks are short; in the other modes reads and
admission go on beside long blocks, on all cores. Only Python's threads: gRPC's own and
LevelDB's keep all cores, but for what LevelDB begins meanwhile on the worker's thread.
Never a core that the process was not given. Who waits for a shared core that others
keep busy, another node perhaps that chose the same, gets all of them back for some
seconds. Where the system knows nothing of this, or forbids it, nothing happens.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from node.runtime.clock import Clock
from node.runtime.settings import MiningMode

__all__ = ["Cores"]

_THREADS = Path("/proc/self/task")
_STAT = Path("/proc/self/stat")
_PROCESSOR_FIELD = 36
"""Behind the name, from 0."""

_TRIED_MAX = 4
"""Cores whose syncs are compared; each takes some 2 ms."""

_SYNCS = 8
_SYNCS_SECONDS = 0.01
"""After which no further one is begun on a core: on a slow disk it matters little."""
_SYNCED_BYTES = 2_048
"""As a block with one transfer."""

_SCHEDULED = Path("/proc/self/schedstat")
"""Of the main thread: nanoseconds that it ran, and that it waited for its core."""

_LOOK_SECONDS = 1.0

_WAITED_MIN_NS = 50_000_000
"""Between two looks: less is no matter. Python's threads wait for each other, too, a
third of the time that they run; two busy nodes on a core wait longer than they run."""

_LOOKS_OFF = 15
"""Until a core that others kept busy is tried again."""

_QUICKER_PERCENT = 90
"""Of the time on the present core: only for that another one is taken."""


class Cores:
    """The cores that the process was given, and whether its threads share one."""

    def __init__(self, clock: Clock, folder: Path | None) -> None:
        """`folder`: where the chain is kept, if it is."""
        self._given: frozenset[int] = frozenset()
        if sys.platform == "linux":
            self._given = frozenset(os.sched_getaffinity(0))
        self._clock = clock
        self._folder = folder
        self._chosen: int | None = None
        self._is_wanted = False
        self._is_shared = False
        self._looks_off = 0
        self._scheduled = (0, 0)

    def suit(self, mode: MiningMode) -> None:
        """Let the threads that there are run where it suits a mining mode."""
        self._is_wanted = mode is MiningMode.INSTANT and len(self._given) > 1
        with suppress(OSError):
            if self._is_wanted and not self._is_shared:
                self._share()
            elif self._is_shared and not self._is_wanted:
                self._give_back()

    async def watch(self) -> None:
        """Look every second whether others keep the shared core busy."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Give all cores back if the shared one was waited for, share again later."""
        with suppress(OSError):
            if self._is_shared:
                before, self._scheduled = self._scheduled, _read_scheduled()
                ran, waited = (
                    now - then
                    for now, then in zip(self._scheduled, before, strict=True)
                )
                if waited >= max(_WAITED_MIN_NS, ran):
                    self._give_back()
                    self._looks_off = _LOOKS_OFF
            elif self._is_wanted:
                self._looks_off -= 1
                if self._looks_off <= 0:
                    self._share()

    def _share(self) -> None:
        try:
            self._scheduled = _read_scheduled()  # or nobody could tell when to end it
            if self._chosen is None:
                self._chosen = self._choose()
            python = (thread.native_id for thread in threading.enumerate())
            _move(filter(None, python), {self._chosen})
        except OSError:
            self._is_wanted = False  # nor will it be possible a second later
        else:
            self._is_shared = True

    def _give_back(self) -> None:
        _move((int(one.name) for one in _THREADS.iterdir()), self._given)
        self._is_shared = False

    def _choose(self) -> int:
        """The core that the main thread is on, if no other one syncs sooner."""
        present = _present(self._given)
        others = sorted(self._given - {present})
        if self._folder is None:
            return present
        try:
            seconds = {
                core: self._sync_seconds(self._folder, core)
                for core in (present, *others[: _TRIED_MAX - 1])
            }
        except OSError:  # the file system has no unnamed files, say
            return present
        finally:
            _move((threading.get_native_id(),), self._given)
        quickest = min(seconds, key=seconds.__getitem__)
        if 100 * seconds[quickest] < _QUICKER_PERCENT * seconds[present]:
            return quickest
        return present

    def _sync_seconds(self, folder: Path, core: int) -> float:
        """The least of some small synced writes to a file without a name.

        What else the machine does makes some of them longer, and none shorter.
        """
        assert sys.platform == "linux"
        _move((threading.get_native_id(),), {core})
        descriptor = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC)
        try:
            taken: list[float] = []
            while len(taken) < _SYNCS and sum(taken) < _SYNCS_SECONDS:
                began = self._clock.monotonic()
                os.write(descriptor, bytes(_SYNCED_BYTES))
                os.fdatasync(descriptor)
                taken.append(self._clock.monotonic() - began)
        finally:
            os.close(descriptor)
        return min(taken)


def _present(given: frozenset[int]) -> int:
    """The core on which the main thread ran last: the system found room there."""
    fields = _STAT.read_text("ascii").rpartition(")")[2].split()
    present = int(fields[_PROCESSOR_FIELD])
    return present if present in given else min(given)


def _read_scheduled() -> tuple[int, int]:
    ran, waited, _times = _SCHEDULED.read_text("ascii").split()
    return int(ran), int(waited)


def _move(threads: Iterable[int], cores: Iterable[int]) -> None:
    for thread in threads:
        if sys.platform == "linux":
            with suppress(ProcessLookupError):  # it has ended
                os.sched_setaffinity(thread, cores)
