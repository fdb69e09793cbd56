"""The walls of the kernel: what is asked of it, and what it then refuses.

What the kernel is asked is tested everywhere; what it refuses, where it has the wall.
`REQUIRE_WALLS` says that this machine has them all: as those that test every change.
"""

import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from node.runtime.confinement import landlock, seccomp
from node.runtime.confinement import walls as confining
from node.runtime.confinement.landlock import Right, encode_attributes
from node.runtime.confinement.seccomp import MACHINES, REFUSED, REFUSED_LATER
from node.runtime.confinement.walls import (
    WALLS,
    CannotConfine,
    Needs,
    Walls,
    confine,
    memory_max_default,
)
from node.runtime.settings import Confinement

ROOT = Path(__file__).parents[2]
DEADLINE_SECONDS = 60
EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
OWN = 4_321
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def lacks(what, *, is_missing):
    """Whether this machine lacks something; one that tests every change must not."""
    wanted = os.environ.get("REQUIRE_WALLS") == "1"
    assert not (is_missing and wanted), what
    return is_missing


# --- numbers of system calls ---------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_are_those_of_the_kernels_header(machine):
    path = HEADERS[machine]
    if lacks(f"{path}, of linux-libc-dev", is_missing=not path.exists()):
        return
    defined = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", path.read_text())
    header = {name: int(number) for name, number in defined}
    newest = max(header.values())
    _, numbers = MACHINES[machine]
    for name, number in numbers.items():
        if name in header:
            assert header[name] == number, name
        else:
            assert number > newest, f"{name} is in no header that old"


@pytest.mark.parametrize("machine", MACHINES)
def test_a_call_is_missing_only_where_the_machine_has_none(machine):
    path = HEADERS[machine]
    if lacks(f"{path}, of linux-libc-dev", is_missing=not path.exists()):
        return
    header = set(re.findall(r"#define __NR(?:3264)?_(\w+)\s", path.read_text()))
    names = {*REFUSED, *REFUSED_LATER, *seccomp._MISSING, *seccomp._by_arguments(1)}
    assert not (names & header) - set(MACHINES[machine][1])


# --- the filter, executed as the kernel does -----------------------------------------


def answer(program, machine, name, *arguments, number=None, architecture=None):
    """What a filter says of a call: None to let it through, else the error."""
    known, numbers = MACHINES[machine]
    given = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack(
        "=iIQ6Q",
        numbers[name] if number is None else number,
        known if architecture is None else architecture,
        0,
        *given,
    )
    steps = list(struct.iter_unpack("=HBBI", program))
    accumulator, place = 0, 0
    while True:
        code, if_true, if_false, constant = steps[place]
        place += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, constant)
        elif code == 0x54:
            accumulator &= constant
        elif code == 0x06:
            break
        else:
            holds = {
                0x15: accumulator == constant,
                0x35: accumulator >= constant,
                0x45: bool(accumulator & constant),
            }[code]
            place += if_true if holds else if_false
    if constant == 0x7FFF0000:
        return None
    assert constant & 0xFFFF0000 == 0x00050000
    return constant & 0xFFFF


TCP, UDP, RAW = 1, 2, 3
INET, INET6, UNIX, NETLINK = 2, 10, 1, 16
CLOEXEC = 0o2000000
FAST = 0x20000000
THREAD = 0x10000

BY_ARGUMENTS = [
    ("clone", (0x3D0F00,), None),
    ("clone", (0x3D0F00 & ~THREAD,), EPERM),
    ("clone", (17,), EPERM),
    ("socket", (INET, TCP | CLOEXEC, 0), None),
    ("socket", (INET6, TCP, 6), None),
    ("socket", (INET, TCP, 262), EAFNOSUPPORT),
    ("socket", (INET, TCP, 132), EAFNOSUPPORT),
    ("socket", (INET6, UDP, 0), EAFNOSUPPORT),
    ("socket", (INET, RAW, 1), EAFNOSUPPORT),
    ("socket", (UNIX, TCP, 0), EAFNOSUPPORT),
    ("socket", (NETLINK, RAW, 0), EAFNOSUPPORT),
    ("sendto", (3, 0, 1, 0x4000), None),
    ("sendto", (3, 0, 1, 0x4000 | FAST), EPERM),
    ("sendmsg", (3, 0, FAST), EPERM),
    ("sendmsg", (3, FAST, 0), None),
    ("sendmmsg", (3, 0, 1, FAST), EPERM),
    ("kill", (OWN, 15), None),
    ("kill", (OWN + 1, 15), EPERM),
    ("kill", (0, 15), EPERM),
    ("kill", (0xFFFFFFFF, 15), EPERM),
    ("tgkill", (OWN, OWN + 3, 6), None),
    ("tgkill", (1, 1, 6), EPERM),
    ("prlimit64", (0, 2, 0, 0x7FFF_0000_1000), None),
    ("prlimit64", (OWN, 2, 0, 0x1000), None),
    ("prlimit64", (0, 2, 0x7FFF_0000_1000, 0), EPERM),
    ("prlimit64", (0, 2, 0x7FFF_0000_0000, 0), EPERM),
    ("prlimit64", (1, 2, 0, 0x1000), EPERM),
    ("ioctl", (0, 0x5401), None),
    ("ioctl", (0, 0x5412), EPERM),
    ("ioctl", (0, 0x541C), EPERM),
    ("ioctl", (0, 0x8901), EPERM),
    ("ioctl", (0, 0x8902), EPERM),
    ("fcntl", (0, 1), None),
    ("fcntl", (0, 8), EPERM),
    ("fcntl", (0, 15), EPERM),
    ("fcntl", (8, 4), None),
    ("clone3", (), ENOSYS),
    ("io_uring_setup", (8,), ENOSYS),
]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("name", "arguments", "wanted"), BY_ARGUMENTS)
def test_calls_are_refused_by_their_arguments(machine, name, arguments, wanted):
    program = seccomp.encode_program(MACHINES[machine], OWN)
    assert answer(program, machine, name, *arguments) == wanted


@pytest.mark.parametrize("machine", MACHINES)
def test_each_name_of_the_list_is_refused_and_no_other_call(machine):
    architecture, numbers = MACHINES[machine]
    program = seccomp.encode_program(MACHINES[machine], OWN)
    refused = {numbers[name] for name in REFUSED if name in numbers}
    others = set(numbers.values()) - refused
    for number in refused:
        assert answer(program, machine, "", number=number) == EPERM
    for number in set(range(470)) - refused - others:
        assert answer(program, machine, "", number=number) is None
    later = seccomp.encode_later(MACHINES[machine])
    assert answer(later, machine, "symlinkat") == EPERM
    assert answer(later, machine, "socket", UNIX) is None
    for one in (program, later):
        assert answer(one, machine, "socket", architecture=0x40000003) == ENOSYS
        assert answer(one, machine, "", number=0x40000000 + 59) == ENOSYS
        assert len(one) // 8 <= 4_096, "BPF_MAXINSNS"
    assert architecture in (0xC000003E, 0xC00000B7)


# --- what Landlock is told -----------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (1, [(1 << 13) - 1]),
        (2, [(1 << 14) - 1]),
        (3, [(1 << 15) - 1]),
        (4, [(1 << 15) - 1, 3]),
        (5, [(1 << 16) - 1, 3]),
        (6, [(1 << 16) - 1, 3, 3]),
        (7, [(1 << 16) - 1, 3, 3]),
    ],
)
def test_all_that_an_abi_knows_is_handled(version, words):
    found = encode_attributes(version, is_bind_handled=True)
    assert struct.unpack(f"={len(found) // 8}Q", found) == tuple(words)
    if version >= landlock.ABI_NETWORK:
        open_ports = encode_attributes(version, is_bind_handled=False)
        assert struct.unpack_from("=Q", open_ports, 8) == (2,), "no connection anyway"


def test_rules_follow_from_what_is_needed(tmp_path):
    needs = Needs(
        folders=(tmp_path / "chain",),
        replaced=(tmp_path / "run" / "ready.json",),
        removed=(tmp_path / "scratch" / "one",),
        read=(tmp_path / "state",),
        ports=(50051, 8080),
    )
    rules = confining._ruleset(needs)
    kept, paths = rules.paths[str(tmp_path / "chain")], rules.paths
    assert Right.READ_FILE | Right.WRITE_FILE | Right.REFER in kept
    assert not kept & (
        Right.EXECUTE | Right.MAKE_SOCKET | Right.MAKE_FIFO | Right.MAKE_BLOCK_DEVICE
    )
    assert Right.READ_FILE not in paths[str(tmp_path / "run")]
    assert paths[str(tmp_path / "scratch")] == Right.REMOVE_FOLDER
    assert paths[str(tmp_path / "state")] == Right.READ_FILE | Right.READ_FOLDER
    assert paths[sys.base_prefix] == Right.READ_FILE | Right.READ_FOLDER
    assert rules.ports == {50051, 8080}
    assert not any(Right.EXECUTE in right for right in paths.values())
    written = {path for path, right in paths.items() if Right.WRITE_FILE in right}
    assert written == {str(tmp_path / "chain"), str(tmp_path / "run"), "/dev/null"}


def test_a_free_port_leaves_all_of_them_open():
    assert confining._ruleset(Needs(ports=(0, 8080))).ports is None
    assert confining._ruleset(Needs()).ports == frozenset()


def test_the_working_folder_is_not_read_for_being_searched_first(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = confining._of_python(["", str(tmp_path), "/", "/usr/lib/python3"])
    assert str(tmp_path) not in found
    assert "/" not in found
    assert "" not in found
    assert {str(ROOT / "node"), "/usr/lib/python3"} <= set(found)


# --- words ---------------------------------------------------------------------------


@pytest.fixture
def kernel(monkeypatch):
    """A kernel that has what a test says, of which nothing is asked."""

    def pretend(abi=7, *, is_landlock_allowed=True, is_seccomp_allowed=True):
        def refuse(*_):
            raise PermissionError(1, "Operation not permitted")

        def take(*_):
            return None

        monkeypatch.setattr(landlock, "abi", lambda: abi)
        restrict = take if is_landlock_allowed else refuse
        monkeypatch.setattr(landlock, "restrict", restrict)
        monkeypatch.setattr(seccomp, "install", take if is_seccomp_allowed else refuse)
        monkeypatch.setattr(confining, "_require_one_thread", take)
        monkeypatch.setattr(confining, "_give_up_privileges", take)

    return pretend


ALL = ("files", "network", "signals", "programs")


@pytest.mark.parametrize(
    ("abi", "allowed", "standing", "missing"),
    [
        (7, (True, True), ALL, ""),
        (4, (True, True), ALL, ""),
        (1, (True, True), ALL, ""),
        (7, (True, False), ("files", "signals"), "this kernel has no seccomp"),
        (4, (True, False), ("files",), "this kernel has no seccomp"),
        (0, (True, True), ALL[1:], "this kernel has no Landlock"),
        (7, (False, True), ALL[1:], "this kernel has no Landlock"),
        (
            0,
            (True, False),
            (),
            "this kernel has no Landlock; this kernel has no seccomp",
        ),
    ],
)
def test_walls_that_are_missing_are_named(kernel, abi, allowed, standing, missing):
    kernel(abi, is_landlock_allowed=allowed[0], is_seccomp_allowed=allowed[1])
    walls = confine(Needs(), Confinement.AUTO)
    assert walls.standing == standing
    warned = [line for line in walls.warnings() if "NOT CONFINED" in line]
    assert bool(warned) is bool(missing)
    if missing:
        assert warned[0].startswith(f"NOT CONFINED: {missing}; an actor that leaves")


@pytest.mark.parametrize(
    ("abi", "allowed", "named"),
    [
        (0, (True, True), "this kernel has no Landlock."),
        (3, (True, True), "this kernel's Landlock is older than ABI 4."),
        (7, (False, True), "this kernel has no Landlock."),
        (7, (True, False), "this kernel has no seccomp."),
    ],
)
def test_required_names_what_is_missing(kernel, abi, allowed, named):
    kernel(abi, is_landlock_allowed=allowed[0], is_seccomp_allowed=allowed[1])
    with pytest.raises(CannotConfine) as refused:
        confine(Needs(), Confinement.REQUIRED)
    assert str(refused.value).startswith(f"--confine required: {named}")


def test_another_machine_has_landlock_alone(kernel, monkeypatch):
    kernel()
    monkeypatch.setattr(confining, "_machine", lambda: None)
    assert confine(Needs(), Confinement.AUTO).standing == ("files", "signals")


def test_off_is_no_wall_and_says_so():
    walls = confine(Needs(), Confinement.OFF)
    assert walls.standing == ()
    assert "--confine off was asked for" in walls.warnings()[0]


def test_a_second_thread_is_too_late():
    program = (
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
        "from node.runtime.confinement.walls import *\n"
        "from node.runtime.settings import Confinement\n"
        "confine(Needs(), Confinement.AUTO)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert "AssertionError: 2 threads, and only one can be confined" in done.stderr


def test_walls_are_told_in_one_order_of_words():
    walls = Walls(("network", "files")).with_wall("tripwire").with_memory(4 << 30)
    assert walls.standing == ("files", "network", "memory", "tripwire")
    assert walls.told() == "files, network, memory 4 GiB, tripwire"
    assert Walls().with_memory(1_536 << 20).told() == "memory 1536 MiB"
    assert Walls().told() == "no"
    assert set(walls.standing) < set(WALLS)


def test_root_is_warned():
    told = "\n".join(Walls(is_root=True).warnings())
    assert "runs as root" in told
    assert Walls().warnings() == []


@pytest.mark.parametrize(
    ("machine", "wanted"), [(64, 4), (8, 4), (6, 3), (2, 1), (1, 1)]
)
def test_memory_is_four_gibibytes_half_the_machine_at_least_one(
    monkeypatch, machine, wanted
):
    pages = {"SC_PHYS_PAGES": machine << 18, "SC_PAGE_SIZE": 4_096}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)
    assert memory_max_default() == wanted << 30


# --- what the kernel then refuses ----------------------------------------------------


@contextmanager
def a_place():
    """A folder, a secret beside it and a port, reachable for every user."""
    folder = Path(tempfile.mkdtemp(prefix="cowboy-walls-"))
    (folder / "data").mkdir()
    (folder / "key").write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield folder, server.getsockname()[1]
    shutil.rmtree(folder)


@pytest.fixture
def place():
    with a_place() as place:
        yield place


def as_user(folder):
    """How a command is run as an ordinary user without capabilities; None: not here."""
    if os.geteuid() != 0:
        return []
    if lacks("setpriv, of util-linux", is_missing=shutil.which("setpriv") is None):
        return None
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 10001, 10001)
    to_user = ["setpriv", "--reuid=10001", "--regid=10001", "--clear-groups"]
    to_user += ["--inh-caps=-all", "--bounding-set=-all"]
    tried = subprocess.run(
        [*to_user, sys.executable, "-c", "import node"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=DEADLINE_SECONDS,
    )
    # An interpreter in root's home is out of reach for everybody else.
    return None if tried.returncode else to_user


def attack(place, choice, through=()):
    folder, port = place
    words = [choice, str(folder / "data"), str(folder / "key"), str(port)]
    done = subprocess.run(
        [*through, sys.executable, "-m", "tests.attackers", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE_SECONDS,
    )
    return json.loads(done.stdout)


def test_every_attack_succeeds_where_no_wall_stands(place):
    told = attack(place, "off")
    assert told["walls"] == []
    assert {outcome for _, outcome in told["found"].values()} == {"done"}


def require_refused(told):
    walls = set(told["walls"])
    lacks(f"a wall; it has {walls}", is_missing=walls != set(ALL))
    if landlock.abi() >= landlock.ABI_NETWORK:
        walls.add("ports")
    for name, (wall, outcome) in told["found"].items():
        if wall in walls:
            assert outcome in {"EPERM", "EACCES", "ENOSYS", "EAFNOSUPPORT"}, name
        elif not wall:
            assert outcome == "done", name


def test_the_kernel_refuses_what_the_words_say(place):
    require_refused(attack(place, "auto"))


def test_the_kernel_refuses_an_ordinary_user_the_same(place):
    through = as_user(place[0])
    if through is not None:
        require_refused(attack(place, "auto", through))


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_from_424_on_have_one_number_on_all_machines(machine):
    _, numbers = MACHINES[machine]
    later = {name: number for name, number in numbers.items() if number >= 424}
    assert later == seccomp._ALL_MACHINES
