"""A computer that can be simulated: its time, its executing thread, its disk.

The node's own code runs on it unchanged. Time passes only when nothing is left to be
done at the moment; the thread executes one job after another, each taking a while;
the disk forgets what was not synced when the power fails. Everything happens in one
order, which the world's choices decide and nothing else.
"""

import asyncio

from node.state.memory import MemoryStore


class Death(KeyboardInterrupt):
    """The process ends here: asyncio lets it through at once, past all other tasks."""


class Disk:
    """A store of which only what was synced is sure to survive.

    `reach` is told of the moments before and after a commit, and may not return.
    """

    def __init__(self, reach):
        self._reach = reach
        self._commits = []
        self._synced = 0
        self._store = MemoryStore()

    def snapshot(self):
        return self._store.snapshot()

    def commit(self, writes, *, sync=True):
        self._reach("commit")
        self._commits.append(writes)
        self._store.commit(writes)
        if sync:
            self._synced = len(self._commits)
        self._reach("committed")

    def close(self):
        pass

    def unsynced(self):
        """Commits that only the operating system has."""
        return len(self._commits) - self._synced

    def lose(self, commits):
        """The power failed: the latest commits never reached the disk."""
        assert 0 <= commits <= self.unsynced()
        if commits:
            del self._commits[-commits:]
            self._store = MemoryStore()
            for writes in self._commits:
                self._store.commit(writes)
        self._synced = len(self._commits)


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
