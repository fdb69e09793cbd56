"""On which cores Python's threads run, told by the system, and by a made-up one."""

import os
import threading
from pathlib import Path

import pytest

from node.runtime.clock import SystemClock
from node.runtime.cores import Cores
from node.runtime.settings import MiningMode

OTHERS = (MiningMode.INTERVAL, MiningMode.MANUAL)


class Machine:
    """Three cores, and how long a sync takes on each; a clock, too."""

    def __init__(self) -> None:
        self.moved: dict[int, set[int]] = {}
        self.sync_seconds = {0: 0.003, 1: 0.003, 2: 0.003}
        self.present = 0
        self.now = 0.0

    def given(self, thread: int) -> set[int]:
        return self.moved.get(thread, {0, 1, 2})

    def move(self, thread: int, cores) -> None:
        self.moved[thread] = set(cores)

    def sync(self, _descriptor: int) -> None:
        (core,) = self.given(threading.get_native_id())
        self.now += self.sync_seconds[core]

    def monotonic(self) -> float:
        return self.now

    def read_text(self, _encoding: str) -> str:
        fields = ["0"] * 50
        fields[36] = str(self.present)
        return "1 (a name) with) " + " ".join(fields)


class Scheduled:
    """What the system says of the main thread: nanoseconds it ran, and waited."""

    def __init__(self) -> None:
        self.ran = self.waited = 0

    def pass_time(self, ran: int, waited: int) -> None:
        self.ran += ran
        self.waited += waited

    def read_text(self, _encoding: str) -> str:
        return f"{self.ran} {self.waited} 7\n"


@pytest.fixture
def machine(monkeypatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(os, "sched_getaffinity", made.given)
    monkeypatch.setattr(os, "sched_setaffinity", made.move)
    monkeypatch.setattr(os, "fdatasync", made.sync)
    monkeypatch.setattr("node.runtime.cores._STAT", made)
    return made


@pytest.fixture
def scheduled(monkeypatch) -> Scheduled:
    made = Scheduled()
    monkeypatch.setattr("node.runtime.cores._SCHEDULED", made)
    return made


def python_threads() -> set[int | None]:
    return {thread.native_id for thread in threading.enumerate()}


def test_python_s_threads_share_one_core_in_mode_instant_and_all_get_theirs_back():
    main, given = threading.main_thread().native_id, os.sched_getaffinity(0)
    assert main is not None
    cores = Cores(SystemClock(), None)
    try:
        cores.suit(MiningMode.INSTANT)
        shared = os.sched_getaffinity(main)
        assert len(shared) == 1
        assert shared <= given
        for thread in python_threads():
            assert thread is not None
            assert os.sched_getaffinity(thread) == shared
    finally:
        cores.suit(MiningMode.INTERVAL)
    for one in Path("/proc/self/task").iterdir():
        assert os.sched_getaffinity(int(one.name)) == given


@pytest.mark.parametrize("mode", OTHERS)
def test_other_modes_move_nothing(machine, mode):
    Cores(machine, None).suit(mode)
    assert not machine.moved


@pytest.mark.parametrize(("quickest", "taken"), [(0.002, 2), (0.0028, 1)])
def test_the_core_is_the_present_one_if_no_other_syncs_sooner(
    machine, tmp_path, quickest, taken
):
    machine.present, machine.sync_seconds[2] = 1, quickest
    Cores(machine, tmp_path).suit(MiningMode.INSTANT)
    assert machine.moved == {thread: {taken} for thread in python_threads()}
    assert not list(tmp_path.iterdir())


def test_a_slow_disk_is_tried_once_on_each_core(machine, tmp_path):
    machine.sync_seconds = {0: 1.0, 1: 1.0, 2: 0.5}
    Cores(machine, tmp_path).suit(MiningMode.INSTANT)
    assert machine.now == sum(machine.sync_seconds.values())
    assert machine.moved[threading.get_native_id()] == {2}


@pytest.mark.parametrize(("present", "taken"), [(1, 1), (7, 0)])
def test_where_syncs_cannot_be_tried_it_is_the_present_core_of_those_given(
    machine, tmp_path, present, taken
):
    machine.present = present
    for folder in (None, tmp_path / "absent"):
        machine.moved.clear()
        Cores(machine, folder).suit(MiningMode.INSTANT)
        assert machine.moved == {thread: {taken} for thread in python_threads()}


def test_who_has_one_core_is_left_alone(machine, monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _thread: {1})
    Cores(machine, tmp_path).suit(MiningMode.INSTANT)
    assert not machine.moved


def test_a_system_that_forbids_it_is_obeyed(machine, monkeypatch, tmp_path):
    def refuse(thread: int, cores) -> None:
        raise PermissionError(thread, cores)

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    Cores(machine, tmp_path).suit(MiningMode.INSTANT)


def test_a_core_that_others_keep_busy_is_given_back_and_tried_again(machine, scheduled):
    """Two nodes that chose the same core are not to share it for good."""
    cores = Cores(machine, None)
    cores.suit(MiningMode.INSTANT)
    shared, second = dict(machine.moved), 1_000_000_000
    assert set(map(len, shared.values())) == {1}
    scheduled.pass_time(ran=second, waited=second // 3)  # for its own threads
    cores.look()
    assert machine.moved == shared
    scheduled.pass_time(ran=1_000, waited=2_000)  # idle: no matter
    cores.look()
    assert machine.moved == shared
    scheduled.pass_time(ran=second // 3, waited=second // 2)
    cores.look()
    assert {frozenset(moved) for moved in machine.moved.values()} == {
        frozenset(range(3))
    }
    looks = 0
    while any(machine.moved[thread] != shared[thread] for thread in shared):
        scheduled.pass_time(ran=second // 3, waited=second // 2)  # not of one core
        cores.look()
        looks += 1
        assert looks < 100
    assert looks > 1, "not at once"
    scheduled.pass_time(ran=second, waited=second // 3)
    cores.look()
    assert machine.moved.items() >= shared.items()


def test_nobody_looks_at_a_core_that_is_not_shared(machine, scheduled):
    cores = Cores(machine, None)
    cores.suit(MiningMode.INSTANT)
    cores.suit(MiningMode.INTERVAL)
    machine.moved.clear()
    for _ in range(100):
        scheduled.pass_time(ran=1, waited=1_000_000_000)
        cores.look()
    assert not machine.moved


def test_where_nobody_tells_who_waits_nothing_is_moved(machine, monkeypatch, tmp_path):
    """Threads that were moved and not noted would never get their cores back."""
    monkeypatch.setattr("node.runtime.cores._SCHEDULED", tmp_path / "absent")
    cores = Cores(machine, None)
    cores.suit(MiningMode.INSTANT)
    for _ in range(100):
        cores.look()
    assert not machine.moved


def test_what_the_system_forbids_is_tried_once(machine, monkeypatch):
    tried = []

    def refuse(thread: int, cores) -> None:
        tried.append(thread)
        raise PermissionError(thread, cores)

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    cores = Cores(machine, None)
    cores.suit(MiningMode.INSTANT)
    for _ in range(100):
        cores.look()
    assert len(tried) == 1
