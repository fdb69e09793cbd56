"""A computer that can be simulated: its time, its executing thread, its disk.

The node's own code runs on it unchanged. Time passes only when nothing is left to be
done at the moment; the thread executes one job after another, each taking a while;
the disk forgets what was not synced when the power fails. Everything happens in one
order, which the world's choices decide and nothing else.
"""

import asyncio
from pathlib import Path

from node.state import keys
from node.state.errors import damaged
from node.state.memory import MemoryStore
from node.state.watermark import Commits, Watermark, height_of


class Death(KeyboardInterrupt):
    """The process ends here: asyncio lets it through at once, past all other tasks."""


class HeightFile:
    """The file `HEAD`: what was written since the last sync may be there, or not."""

    def __init__(self, reach):
        self._reach = reach
        self.versions = [b""]
        """What was synced last, and all that was written after it."""

    def read(self):
        return self.versions[-1]

    def write(self, data):
        self._reach("HEAD")
        self.versions.append(data)

    def sync(self):
        self._reach("HEAD written")
        del self.versions[:-1]

    def lose(self, writes):
        if writes:
            del self.versions[-writes:]
        del self.versions[:-1]


class Log:
    """A log of commits, the first of which are sure to be on disk."""

    def __init__(self):
        self.commits = []
        self.synced = 0

    @property
    def unsynced(self):
        return len(self.commits) - self.synced

    def sync(self):
        self.synced = len(self.commits)

    def lose(self, commits):
        if commits:
            del self.commits[-commits:]
        self.sync()


class Medium:
    """Logs as LevelDB has them: it begins one when it likes, and syncs the newest.

    An older one is on disk for sure once a table holds it.
    """

    LOGS_MAX = 3

    def __init__(self, disk, pick):
        self._disk = disk
        self._pick = pick
        self._is_full = False

    def may_begin_log(self, _writes):
        return self._is_full or self._pick(4) == 0

    def write(self, writes, *, sync):
        disk = self._disk
        if self._is_full:
            disk.logs.append(Log())
            if len(disk.logs) > self.LOGS_MAX:
                disk.table += disk.logs.pop(0).commits
        self._is_full = self._pick(4) == 0
        disk.logs[-1].commits.append(writes)
        disk.store.commit(writes)
        if sync:
            disk.reach("written")
            disk.logs[-1].sync()
            disk.reach("synced")

    def sync_logs(self):
        for log in self._disk.logs:
            self._disk.reach("log")
            log.sync()


class Disk:
    """A store of which only what was synced is sure to survive, file by file.

    Logs and `HEAD` lose what was not synced, each for itself; what goes into them in
    which order is the real store's doing. `reach` is told of the moments between, and
    may not return.
    """

    def __init__(self, reach, pick):
        self.reach = reach
        self._pick = pick
        self.table = []
        self.logs = [Log()]
        self.height_file = HeightFile(reach)
        self.start()

    def start(self):
        """Open the store, as it is on disk.

        Raises:
            StoreCorrupt: It ends before what was on disk already.
        """
        self.store = MemoryStore()
        for writes in self.table + [one for log in self.logs for one in log.commits]:
            self.store.commit(writes)
        head = height_of(self.store.snapshot().get(keys.HEAD))
        watermark = Watermark(self.height_file)
        if head < watermark.height:
            raise damaged(f"it ends at {head} below {watermark.height}", Path("disk"))
        self._commits = Commits(Medium(self, self._pick), watermark, head)

    def snapshot(self):
        return self.store.snapshot()

    def commit(self, writes, *, sync=True):
        self.reach("commit")
        self._commits.commit(writes, sync=sync)
        self.reach("committed")

    def close(self):
        pass

    def lose(self, pick=None):
        """The power failed; each file loses as much as `pick` says, or all."""
        pick = pick or (lambda count: count - 1)
        lost = [pick(log.unsynced + 1) for log in self.logs]
        for log, commits in zip(self.logs, lost, strict=True):
            log.lose(commits)
        writes = pick(len(self.height_file.versions))
        self.height_file.lose(writes)
        return (*lost, writes)


class Executor:
    """Stands for `pvm.Worker`: jobs in order, each at its own moment."""

    JOB_SECONDS = 0.004

    def __init__(self, machine):
        self._machine = machine
        self._free_at = 0.0

    def run(self, function):
        return function()

    def post(self, function, on_done):
        loop = self._machine.loop
        self._free_at = max(self._free_at, loop.time()) + self.JOB_SECONDS

        def job():
            if self._machine.is_dead:
                return
            try:
                result = function()
            except Exception as error:  # noqa: BLE001 - the caller's to judge
                on_done(None, error)
            else:
                on_done(result, None)

        loop.call_at(self._free_at, job)


class Loop(asyncio.BaseEventLoop):
    """An event loop without a system below it: waiting moves its clock."""

    def __init__(self):
        super().__init__()
        self._now = 0.0
        self._selector = self
        self.set_exception_handler(lambda _loop, _context: None)

    def time(self):
        return self._now

    def select(self, timeout):
        """In the place of a selector: no events, and time goes by."""
        assert timeout is not None, "nobody will ever do anything again"
        self._now += timeout
        return ()

    def _process_events(self, _events):
        pass

    def _write_to_self(self):
        pass


class Machine:
    """One life of a process: from its start to its end, or its death."""

    def __init__(self):
        self.loop = Loop()
        self.is_dead = False
        self.tasks = []
        self.executor = Executor(self)

    def monotonic(self):
        """As the node's clock."""
        return self.loop.time()

    def utc(self):
        return f"{self.loop.time():.3f}"

    async def pause(self, seconds):
        """Let some time pass."""
        woken = self.loop.create_future()
        self.loop.call_later(seconds, woken.set_result, None)
        await woken

    def run(self, main):
        """Run a coroutine; False if the machine died meanwhile."""
        task = self.loop.create_task(main)
        try:
            self.loop.run_until_complete(task)
        except Death:
            self.is_dead = True
            self._require_no_failure()
        finally:
            self._bury()
        return not self.is_dead

    def _require_no_failure(self):
        """What failed before the end must not be forgotten over it."""
        for task in self.tasks:
            if task.done() and not task.cancelled():
                error = task.exception()
                if error is not None and not isinstance(error, Death):
                    raise error

    def begin(self, work):
        """A task that lives as long as the process, if need be."""
        task = self.loop.create_task(work)
        self.tasks.append(task)
        return task

    def _bury(self):
        """End what is left of the process; nobody hears of it."""
        is_dead, self.is_dead = self.is_dead, True
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.wait(tasks))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()
        self.is_dead = is_dead
