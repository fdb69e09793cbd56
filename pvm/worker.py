"""The one thread on which everything executes (sandbox-internals.md §5).

Why: how deep Python may recurse before the interpreter gives up, or dies, depends on
the caller's stack, on the recursion limit of whoever runs the process, and on the
version. Actors have a depth limit of their own that must be met first, everywhere:
so blocks, simulations and read-only calls, of a node and of a test alike, run on a
thread with a large stack and a fixed recursion limit.

Compiling wants a stack of which little is used (`shallow`): a transaction's actor is
compiled at a shallow one, a cold callee at a deep one, and both must come to the same.

Rules:

* one job at a time, in the order given;
* while a job runs, the recursion limit is `RECURSION_LIMIT`, that of digits is
  `DIGITS_MAX` and garbage collection is paused; all are put back as they were. They
  belong to the process, so workers that run at the same time share them: the first
  saves, the last restores;
* nothing here knows asyncio: `post` reports on the worker thread, and an event loop
  wraps that with its own thread-safe call.
"""

import gc
import sys
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType
from typing import Final, Self, TypeAlias, TypeVar

from pvm.types import DEPTH_MAX

Result = TypeVar("Result")

STACK_BYTES: Final = 64 * 1024 * 1024
"""Address space, touched only as deep as something recurses."""

FRAMES_PER_LINK: Final = 48
"""Of the interpreter, from one counted entry of an actor's to the next, at most: the
function, 15 comprehensions in it, which are frames on 3.11, and what is between: a
`call_actor` with the body of the callee's module is the longest way, 30 frames."""

FRAMES_BESIDE: Final = 2_000
"""Those of whoever called, and what calls nothing of an actor's: encoding values 64
deep, importing a module. The steps of the compiler take 2,400 where a stack is
shallow: eight a level (`language.LEVELS_MAX`)."""

RECURSION_LIMIT: Final = FRAMES_PER_LINK * DEPTH_MAX + FRAMES_BESIDE
"""Nothing that the language admits comes near it (sandbox-internals.md §5).

Recursion in C, which 3.12 counts apart and ends at 1,500, is at most three calls a
link: slots and natives that call an actor's function, and no native calls another
without taking a link (`VmExecution.deeper`)."""

DIGITS_MAX: Final = 4_300
"""Of an int as text, as CPython has it unless PYTHONINTMAXSTRDIGITS says otherwise."""

NEAR_STACK_BYTES_MIN: Final = 8 * 1024 * 1024
"""What systems give a main thread. The deepest actors that there are use 2 MiB."""

NEAR_FRAMES_MAX: Final = 150
"""Of the caller, where its thread is used: pytest has two thirds of them. Each may
stand on three calls in C, and 3.12 has 1,500 in all."""

SHALLOW_FRAMES_MAX: Final = 100
"""Of whoever compiles in place: the deepest source takes half of the 1,500 in C."""

_Jobs: TypeAlias = "SimpleQueue[Callable[[], None] | None]"


class _Interpreter:
    """The settings of the process that hold while any worker runs a job."""

    __slots__ = ("_collecting", "_digits", "_lock", "_recursion_limit", "_running")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._recursion_limit = 0
        self._digits = 0
        self._collecting = False

    def __enter__(self) -> None:
        with self._lock:
            if self._running == 0:
                self._recursion_limit = sys.getrecursionlimit()
                self._collecting = gc.isenabled()
                gc.disable()
                sys.setrecursionlimit(RECURSION_LIMIT)
                self._digits = sys.get_int_max_str_digits()
                sys.set_int_max_str_digits(DIGITS_MAX)
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._running -= 1
            if self._running == 0:
                sys.setrecursionlimit(self._recursion_limit)
                sys.set_int_max_str_digits(self._digits)
                if self._collecting:
                    gc.enable()


# The one piece of module state of the virtual machine: it mirrors state that the
# interpreter itself keeps once a process, and no result depends on it.
_INTERPRETER: Final = _Interpreter()
_STARTING: Final = threading.Lock()
_THREAD: Final = threading.local()
"""`is_deep`: this thread has a stack of `STACK_BYTES`."""


class Worker:
    """A thread with a large stack that runs what it is given, one job after another.

    Close it, or leave that to `with`. A worker that nobody refers to any more ends by
    itself.
    """

    __slots__ = ("__weakref__", "_closed", "_jobs", "_lock", "_stop", "_thread")

    def __init__(self) -> None:
        self._jobs: _Jobs = SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        # The thread must not hold the worker, or it would never be forgotten.
        self._thread = _start(self._jobs)
        self._stop = weakref.finalize(self, self._jobs.put, None)

    def run(self, function: Callable[[], Result]) -> Result:
        """Run `function` on the worker thread, wait, and return what it returns.

        Its exceptions propagate. Called on the worker thread itself it just calls.

        Raises:
            RuntimeError: the worker is closed.
        """
        if threading.get_ident() == self._thread.ident:
            with _INTERPRETER:
                return function()
        results: list[Result] = []
        errors: list[BaseException] = []
        done = threading.Lock()
        done.acquire()

        def job() -> None:
            try:
                with _INTERPRETER:
                    results.append(function())
            except BaseException as error:  # noqa: BLE001 - the caller's to judge
                errors.append(error)
            finally:
                done.release()

        self._put(job)
        done.acquire()
        if errors:
            # Popped: its traceback holds this frame, which must not hold it.
            raise errors.pop()
        return results[0]

    def post(
        self,
        function: Callable[[], Result],
        on_done: Callable[[Result | None, BaseException | None], None],
    ) -> None:
        """Run `function` later; then call `on_done` on the worker thread.

        `on_done(result, None)` after a return, `on_done(None, exception)` else. What
        it raises goes to `threading.excepthook` and harms no later job.

        Raises:
            RuntimeError: the worker is closed.
        """

        def job() -> None:
            result: Result | None = None
            failure: BaseException | None = None
            try:
                with _INTERPRETER:
                    result = function()
            except BaseException as error:  # noqa: BLE001 - the caller's to judge
                failure = error
            on_done(result, failure)

        self._put(job)

    def close(self) -> None:
        """Finish the jobs and end the thread; afterwards `run` raises `RuntimeError`.

        Called on the worker thread itself, the thread ends after the present job.
        """
        with self._lock:
            self._closed = True
            self._stop()
        if threading.get_ident() != self._thread.ident:
            self._thread.join()

    def __enter__(self) -> Self:
        """The worker itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def _put(self, job: Callable[[], None]) -> None:
        # Under the lock, so that no job comes behind the order to stop.
        with self._lock:
            if self._closed:
                raise RuntimeError("the worker is closed")
            self._jobs.put(job)


class NearWorker:
    """Runs jobs on the caller's thread if that has room, else on a worker.

    Handing a job to another thread takes longer than an empty block. This one is for a
    chain that one program drives from a main thread with a stack of 8 MiB or more, of
    which little is used. Everything else is as with `Worker`: one job at a time, in the
    same settings.
    """

    __slots__ = ("_closed", "_main", "_owner", "_turn", "_worker")

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._owner = 0
        """Thread whose job runs, 0 for none."""
        self._worker: Worker | None = None
        self._closed = False
        self._main = _deep_main_thread()

    def run(self, function: Callable[[], Result]) -> Result:
        """Run `function` and return what it returns; its exceptions propagate.

        Called from inside of a job it just calls.

        Raises:
            RuntimeError: the worker is closed.
        """
        if self._owner == threading.get_ident():
            return function()
        with self._turn:
            if self._closed:
                raise RuntimeError("the worker is closed")
            if threading.get_ident() == self._main and _is_near_the_stack(
                NEAR_FRAMES_MAX
            ):
                with _INTERPRETER:
                    return self._own(function)
            if self._worker is None:
                self._worker = Worker()
            return self._worker.run(lambda: self._own(function))

    def _own(self, function: Callable[[], Result]) -> Result:
        self._owner = threading.get_ident()
        try:
            return function()
        finally:
            self._owner = 0

    def close(self) -> None:
        """Finish the jobs; afterwards `run` raises `RuntimeError`."""
        if self._owner == threading.get_ident():
            self._close()
            return
        with self._turn:
            self._close()

    def _close(self) -> None:
        self._closed = True
        if self._worker is not None:
            self._worker.close()


def _main_stack_bytes() -> int:
    """What the main thread's stack may grow to; 0 where the system does not say."""
    try:
        from resource import (  # noqa: PLC0415 - absent on Windows
            RLIM_INFINITY,
            RLIMIT_STACK,
            getrlimit,
        )
    except ImportError:
        return 0
    soft, _ = getrlimit(RLIMIT_STACK)
    return STACK_BYTES if soft == RLIM_INFINITY else soft


def _deep_main_thread() -> int | None:
    """The main thread, if its stack has the room."""
    has_room = _main_stack_bytes() >= NEAR_STACK_BYTES_MIN
    return threading.main_thread().ident if has_room else None


def _is_near_the_stack(frames: int) -> bool:
    """Whether fewer frames are on this thread's stack."""
    try:
        sys._getframe(frames)  # noqa: SLF001 - counts without a frame object
    except ValueError:
        return True
    return False


def shallow(function: Callable[[], Result]) -> Result:
    """Run `function` where little of a large stack is used; its errors propagate.

    In place where that is so, else on a fresh thread; in the settings of a worker.

    Raises:
        MemoryError: the system has no thread left.
    """
    if _is_near_the_stack(SHALLOW_FRAMES_MAX) and (
        getattr(_THREAD, "is_deep", False)
        or threading.get_ident() == _deep_main_thread()
    ):
        with _INTERPRETER:
            return function()
    results: list[Result] = []
    errors: list[BaseException] = []

    def job() -> None:
        _THREAD.is_deep = True
        try:
            with _INTERPRETER:
                results.append(function())
        except BaseException as error:  # noqa: BLE001 - the caller's to judge
            errors.append(error)

    thread = threading.Thread(target=job, name="pvm-compile", daemon=True)
    try:
        _start_deep(thread)
    except RuntimeError:
        raise MemoryError from None
    thread.join()
    if errors:
        # Popped: its traceback holds this frame, which must not hold it.
        raise errors.pop()
    return results[0]


def _start(jobs: _Jobs) -> threading.Thread:
    thread = threading.Thread(target=_work, args=(jobs,), name="pvm", daemon=True)
    _start_deep(thread)
    return thread


def _start_deep(thread: threading.Thread) -> None:
    # The stack size is a setting of the process that the next thread start reads.
    with _STARTING:
        before = threading.stack_size(STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(before)


def _work(jobs: _Jobs) -> None:
    _THREAD.is_deep = True
    while (job := jobs.get()) is not None:
        try:
            job()
        except BaseException as error:  # noqa: BLE001 - only of an `on_done`
            threading.excepthook(
                threading.ExceptHookArgs(
                    (
                        type(error),
                        error,
                        error.__traceback__,
                        threading.current_thread(),
                    )
                )
            )
        del job  # do not keep its results alive while waiting
