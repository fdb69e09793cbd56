"""The worker thread (sandbox-internals.md §5): stack, recursion limit, collection."""

import gc
import sys
import threading
import weakref

import pytest

from pvm import Meter, execute
from pvm.testing import DictionaryHost, World
from pvm.worker import (
    DIGITS_MAX,
    NEAR_FRAMES_MAX,
    NEAR_STACK_BYTES_MIN,
    RECURSION_LIMIT,
    SHALLOW_FRAMES_MAX,
    NearWorker,
    Worker,
    shallow,
)


@pytest.fixture
def worker():
    with Worker() as worker:
        yield worker


def test_run_returns_what_the_function_returns(worker):
    assert worker.run(lambda: 7) == 7


def test_everything_runs_on_one_thread_that_is_not_the_callers(worker):
    idents = {worker.run(threading.get_ident) for _ in range(5)}
    assert len(idents) == 1
    assert threading.get_ident() not in idents


def test_exceptions_propagate_halts_included(worker):
    class Halt(BaseException):
        pass

    def fail(error):
        raise error

    for error in (ValueError("x"), Halt(), SystemExit(3), StopIteration(4)):
        with pytest.raises(type(error)) as caught:
            worker.run(lambda error=error: fail(error))
        assert caught.value is error
    assert worker.run(lambda: 1) == 1  # the thread survived them all


def test_a_nested_run_just_calls(worker):
    def outer():
        return threading.get_ident(), worker.run(threading.get_ident)

    first, second = worker.run(outer)
    assert first == second


def test_how_many_digits_an_int_may_have_is_not_the_environments(worker):
    """PYTHONINTMAXSTRDIGITS=640 would make `str` of 4,096 bits a ValueError."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert worker.run(sys.get_int_max_str_digits) == DIGITS_MAX
        assert worker.run(lambda: len(str(2**4095))) == 1_233
        assert sys.get_int_max_str_digits() == 640
    finally:
        sys.set_int_max_str_digits(before)


def test_recursion_limit_is_set_while_work_runs_and_restored(worker):
    before = sys.getrecursionlimit()
    assert worker.run(sys.getrecursionlimit) == RECURSION_LIMIT > 10_000
    assert sys.getrecursionlimit() == before
    with pytest.raises(ValueError, match="x"):
        worker.run(lambda: int("x"))
    assert sys.getrecursionlimit() == before


def test_results_do_not_depend_on_the_limit_of_the_process(worker):
    def depth():
        def down(n):
            try:
                return down(n + 1)
            except RecursionError:
                return n

        return down(0)

    usual = worker.run(depth)
    before = sys.getrecursionlimit()
    try:
        for limit in (600, 20_000):
            sys.setrecursionlimit(limit)
            assert worker.run(depth) == usual
            assert sys.getrecursionlimit() == limit
    finally:
        sys.setrecursionlimit(before)
    assert RECURSION_LIMIT - 50 < usual <= RECURSION_LIMIT


def test_the_stack_carries_deep_calls_through_c(worker):
    """`sorted(key=…)` within itself: 8 MiB die of it on 3.11 beyond 1,200 levels."""

    def down(n):
        if n == 0:
            return 0
        return sum(sorted([n], key=lambda _: down(n - 1)))

    levels = 400
    assert worker.run(lambda: down(levels)) == levels


def test_little_of_a_large_stack_is_used_whoever_asks(worker, monkeypatch):
    """In place where that is so, else on a thread for it; settings are a worker's."""

    def seen():
        frames = 0
        while sys._getframe(frames).f_back is not None:
            frames += 1
        assert frames < SHALLOW_FRAMES_MAX
        assert (sys.getrecursionlimit(), gc.isenabled()) == (RECURSION_LIMIT, False)
        return threading.get_ident()

    def there(frames):
        own = threading.get_ident()
        return below(frames, lambda: shallow(seen)) == own

    before = sys.getrecursionlimit()
    assert worker.run(lambda: there(9))
    assert not worker.run(lambda: there(SHALLOW_FRAMES_MAX))
    assert shallow(lambda: there(9))
    assert below(400, lambda: shallow(lambda: there(9)))
    assert not there(SHALLOW_FRAMES_MAX)
    monkeypatch.setattr("pvm.worker._main_stack_bytes", lambda: 2**20)
    assert not there(9)
    assert (sys.getrecursionlimit(), gc.isenabled()) == (before, True)
    with pytest.raises(ValueError, match="x"):
        below(400, lambda: shallow(lambda: int("x")))
    assert sys.getrecursionlimit() == before


def test_no_thread_left_is_no_room(monkeypatch):
    """A failure of the host's: never a refusal of the source."""

    def none_left(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("pvm.worker._start_deep", none_left)
    with pytest.raises(MemoryError):
        below(SHALLOW_FRAMES_MAX, lambda: shallow(lambda: 1))


def test_garbage_collection_is_paused_only_there_and_restored(worker):
    assert gc.isenabled()
    assert worker.run(gc.isenabled) is False
    assert gc.isenabled()
    gc.disable()
    try:
        assert worker.run(gc.isenabled) is False
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_settings_hold_until_the_last_of_several_workers_is_done(worker):
    before = sys.getrecursionlimit()
    started, go = threading.Event(), threading.Event()
    seen = []

    def first():
        started.set()
        go.wait()
        return sys.getrecursionlimit(), gc.isenabled()

    worker.post(first, lambda result, _: seen.append(result))
    started.wait()
    with Worker() as other:
        assert other.run(sys.getrecursionlimit) == RECURSION_LIMIT
        assert not gc.isenabled()
        go.set()
        worker.run(lambda: None)
    assert seen == [(RECURSION_LIMIT, False)]
    assert sys.getrecursionlimit() == before
    assert gc.isenabled()


def test_post_reports_on_the_worker_thread(worker):
    reports = []

    def on_done(result, error):
        reports.append((result, type(error), threading.get_ident()))

    worker.post(lambda: 5, on_done)
    worker.post(lambda: int("x"), on_done)
    ident = worker.run(threading.get_ident)  # after both: jobs keep their order
    assert reports == [(5, type(None), ident), (None, ValueError, ident)]


def test_settings_are_restored_before_on_done_is_called(worker):
    seen = []
    before = sys.getrecursionlimit()
    worker.post(lambda: None, lambda *_: seen.append(sys.getrecursionlimit()))
    worker.run(lambda: None)
    assert seen == [before]


def test_an_on_done_that_raises_harms_no_later_job(worker, monkeypatch):
    hooked = []
    monkeypatch.setattr(threading, "excepthook", lambda args: hooked.append(args[1]))
    worker.post(lambda: None, lambda *_: int("x"))
    assert worker.run(lambda: 3) == 3
    assert [type(error) for error in hooked] == [ValueError]


def test_close_finishes_what_was_given_and_refuses_more():
    worker = Worker()
    done = []
    for n in range(3):
        worker.post(lambda n=n: n, lambda result, _: done.append(result))
    worker.close()
    assert done == [0, 1, 2]
    with pytest.raises(RuntimeError, match="closed"):
        worker.run(lambda: None)
    with pytest.raises(RuntimeError, match="closed"):
        worker.post(lambda: None, lambda *_: None)
    worker.close()


def test_close_on_the_worker_thread_does_not_wait_for_itself():
    worker = Worker()
    worker.run(worker.close)
    worker.close()
    assert not worker._thread.is_alive()


def test_a_forgotten_worker_ends_its_thread():
    worker = Worker()
    thread = worker._thread
    assert thread.is_alive()
    del worker
    gc.collect()
    thread.join(timeout=2)
    assert not thread.is_alive()


def test_a_waiting_worker_keeps_nothing_of_its_last_job_alive(worker):
    class Thing:
        pass

    thing, gone = Thing(), threading.Event()
    weakref.finalize(thing, gone.set)
    worker.run(lambda thing=thing: id(thing))
    del thing
    assert gone.wait(timeout=2)


def test_the_thread_starts_with_a_stack_of_64_mib(monkeypatch):
    sizes = []
    set_size = threading.stack_size

    def record(size):
        sizes.append(size)
        return set_size(size)

    before = set_size()
    monkeypatch.setattr(threading, "stack_size", record)
    with Worker():
        assert sizes == [64 * 2**20, before]
    assert set_size() == before


def test_an_error_leaves_no_cycle_behind(worker):
    class FailingError(Exception):
        pass

    def fail():
        raise FailingError

    def provoke():
        try:
            worker.run(fail)
        except FailingError as error:
            return weakref.ref(error)

    gc.collect()
    gc.disable()
    try:
        reference = provoke()
        worker.run(lambda: None)
        assert reference() is None
    finally:
        gc.enable()


def test_many_threads_may_run_at_once(worker):
    results = [None] * 8

    def call(n):
        results[n] = [worker.run(lambda i=i: (n, i)) for i in range(50)]

    threads = [threading.Thread(target=call, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[(n, i) for i in range(50)] for n in range(8)]


# --- near the caller -----------------------------------------------------------------


@pytest.fixture
def near():
    worker = NearWorker()
    yield worker
    worker.close()


def below(frames, function):
    """Call `function` with so many frames more on the stack."""
    return below(frames - 1, function) if frames else function()


def test_a_near_worker_runs_on_the_main_thread_in_the_same_settings(near):
    def seen():
        return threading.get_ident(), sys.getrecursionlimit(), gc.isenabled()

    before = sys.getrecursionlimit()
    assert near.run(seen) == (threading.get_ident(), RECURSION_LIMIT, False)
    assert (sys.getrecursionlimit(), gc.isenabled()) == (before, True)
    with pytest.raises(ValueError, match="x"):
        near.run(lambda: int("x"))
    assert near.run(lambda: near.run(threading.get_ident)) == threading.get_ident()


def test_it_runs_on_a_thread_of_its_own_where_the_caller_has_no_room(near):
    def seen():
        return threading.get_ident(), near.run(threading.get_ident)

    own, nested = below(NEAR_FRAMES_MAX, lambda: near.run(seen))
    assert own == nested != threading.get_ident()
    answers = []
    other = threading.Thread(target=lambda: answers.append(near.run(seen)))
    other.start()
    other.join()
    assert answers == [(own, own)]


@pytest.mark.parametrize("bytes_", [0, NEAR_STACK_BYTES_MIN - 1])
def test_a_small_main_stack_is_no_room(monkeypatch, bytes_):
    """Linux and macOS give 8 MiB; a shell may give less, Windows gives 1."""
    monkeypatch.setattr("pvm.worker._main_stack_bytes", lambda: bytes_)
    worker = NearWorker()
    try:
        assert worker.run(threading.get_ident) != threading.get_ident()
    finally:
        worker.close()


def test_a_near_worker_does_one_job_at_a_time_whoever_asks(near):
    running, most = [], []

    def job():
        running.append(1)
        most.append(len(running))
        running.pop()

    threads = [
        threading.Thread(target=lambda: [near.run(job) for _ in range(200)])
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for _ in range(200):
        near.run(job)
    for thread in threads:
        thread.join()
    assert most == [1] * 600


def test_a_closed_near_worker_refuses_and_closes_again(near):
    near.run(lambda: None)
    near.run(near.close)
    near.close()
    with pytest.raises(RuntimeError, match="the worker is closed"):
        near.run(lambda: None)


DEEPEST = """
def run(payload):
    return down(300)

def down(n):
    if n == 0:
        return 0
    return sum(sorted([n], key=lambda x: down(n - 1)))
"""


def test_an_actor_fails_alike_wherever_its_caller_stands(near):
    """The interpreter's own limit never decides: the depth of calls does, at 256."""
    world = World()
    actor = world.add(DEEPEST)
    message = world.message(actor, ("run",), b"")

    def run():
        meter = Meter(10_000_000, 1_000_000)
        outcome = execute(
            world.codes[actor], message, DictionaryHost(world, message, meter), meter
        )
        return outcome.failure.kind, meter.cycles_used

    def through_c(levels):
        if levels == 0:
            return near.run(lambda: (threading.get_ident(), run()))
        return sorted([0], key=lambda _: found.append(through_c(levels - 1)))

    found = []
    expected = world.worker.run(run)
    assert expected[0] == "TooDeepRecursion"
    assert near.run(run) == expected
    through_c(NEAR_FRAMES_MAX // 4)
    assert found[0] == (threading.get_ident(), expected)
