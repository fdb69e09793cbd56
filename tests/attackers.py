"""What whoever got out of the sandbox would try: each line of the table of walls.

`python -m tests.attackers FOLDER SECRET PORT` is a process that confines itself to
FOLDER, as a node does, and tries all of them; it prints what came of each as JSON. The
same functions are called from inside a node (`tests/escape.py`). SECRET is a file of
this user's outside of FOLDER, PORT one on which somebody listens.

Every attack is one that succeeds without walls, which a test shows.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from node.runtime.confinement.seccomp import MACHINES
from node.runtime.confinement.walls import Needs, confine, refuse_links
from node.runtime.settings import Confinement

LIBC = ctypes.CDLL(None, use_errno=True)
MSG_FASTOPEN = 0x20000000
AF_NETLINK = 16
IN_ALL_EVENTS = 0xFFF
IPC_INFO = 3
LOWEST_PRIORITY = 19
IPPROTO_MPTCP = 262
PTRACE_SEIZE = 0x4206


def call(name: str, *arguments: object) -> int:
    """A system call, by the table of this machine."""
    number = MACHINES[os.uname().machine][1][name]
    answer = LIBC.syscall(number, *arguments)
    if answer < 0:
        raise OSError(ctypes.get_errno(), name)
    return answer


def ran(code: int) -> None:
    if code != 0:
        raise OSError(errno.EPERM, f"exit code {code}")


def fork() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def execute() -> None:
    """In place of this process, if nobody refuses; a program that is not there."""
    words = (ctypes.c_char_p * 2)(b"/nowhere", None)
    try:
        call("execve", b"/nowhere", words, words)
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise


def send_fast(port: int) -> None:
    with socket.socket() as sender:
        sender.sendto(b"x", MSG_FASTOPEN, ("127.0.0.1", port))


def send_datagram(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", port))


def opened(*kind: int) -> None:
    socket.socket(*kind).close()


def listen_elsewhere() -> None:
    socket.create_server(("127.0.0.1", 0)).close()


def make(path: Path) -> None:
    path.write_text("x")
    path.unlink()


def link(folder: Path, how: Callable[[Path, Path], None]) -> None:
    place = folder / "link"
    how(folder / "own", place)
    place.unlink()


def change_mode(folder: Path) -> None:
    (folder / "own").chmod(0o700)


def raise_limit() -> None:
    """Of core files: both walls and the memory limit rest on limits that stay."""
    most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.prlimit(0, resource.RLIMIT_CORE, most)


def own_signals(process: int) -> None:
    """Let what arrives in a pipe be told to another process, which it would end."""
    reads, writes = os.pipe()
    try:
        fcntl.fcntl(reads, fcntl.F_SETOWN, process)
    finally:
        os.close(reads)
        os.close(writes)


def slow_down(process: int) -> None:
    os.setpriority(os.PRIO_PROCESS, process, LOWEST_PRIORITY)


def watch(folder: Path) -> None:
    """See which files of a folder somebody uses."""
    watching = LIBC.inotify_init()
    try:
        call("inotify_add_watch", watching, bytes(folder), IN_ALL_EVENTS)
    finally:
        os.close(watching)


def listen_anywhere() -> None:
    """Without a bind: the system picks the port, and Landlock is not asked."""
    with socket.socket() as server:
        server.listen(1)


def map_code() -> None:
    """Memory to write machine code into, and to run it."""
    every = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, every).close()


def attacks(given: SimpleNamespace) -> dict[str, tuple[str, Callable[[], object]]]:
    """By name: which wall stops it, and how it is tried."""
    folder, secret, port = given.folder, given.secret, given.port
    other = given.other
    outside = secret.parent / "new"
    here = Path(__file__)
    return {
        "os.system": ("programs", lambda: ran(os.system("true"))),
        "subprocess": ("programs", lambda: subprocess.run(["true"], check=True)),
        "fork": ("programs", fork),
        "execve": ("programs", execute),
        "ptrace": (
            "programs",
            lambda: call("ptrace", PTRACE_SEIZE, other, 0, 0),
        ),
        "memfd": ("programs", lambda: os.close(os.memfd_create("x"))),
        "io_uring": ("programs", lambda: os.close(ring())),
        "unshare": ("programs", lambda: call("unshare", 0)),
        "symlink": ("programs", lambda: link(folder, lambda a, b: b.symlink_to(a))),
        "hard link": ("programs", lambda: link(folder, lambda a, b: b.hardlink_to(a))),
        "chmod": ("programs", lambda: change_mode(folder)),
        "limits": ("programs", raise_limit),
        "read /etc/passwd": ("files", Path("/etc/passwd").read_text),
        "read a key": ("files", secret.read_text),
        "look at home": ("files", lambda: list(secret.parent.iterdir())),
        "read another process": (
            "files",
            Path(f"/proc/{other}/environ").read_bytes,
        ),
        "write outside": ("files", lambda: make(outside)),
        "write into the program": ("files", lambda: make(here.with_name(".written"))),
        "truncate": ("files", lambda: os.truncate(secret, 6)),
        "connect": (
            "network",
            lambda: socket.create_connection(("127.0.0.1", port)).close(),
        ),
        "fast open": ("network", lambda: send_fast(port)),
        "UDP": ("network", lambda: send_datagram(port)),
        "UNIX": ("network", lambda: opened(socket.AF_UNIX, socket.SOCK_STREAM)),
        "netlink": ("network", lambda: opened(AF_NETLINK, socket.SOCK_RAW)),
        "multipath": (
            "network",
            lambda: opened(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP),
        ),
        "another port": ("ports", listen_elsewhere),
        "signal": ("signals", lambda: os.kill(other, 0)),
        "signal by a pipe": ("signals", lambda: own_signals(other)),
        "priority of another process": ("programs", lambda: slow_down(other)),
        "times of a file": ("programs", lambda: os.utime(secret)),
        "watch home": ("programs", lambda: watch(secret.parent)),
        "memory that others share": ("programs", shared_memory),
        "queued signal": (
            "signals",
            lambda: signal.pidfd_send_signal(os.pidfd_open(other), 0),
        ),
        "read its environment": ("", lambda: Path("/proc/self/environ").read_bytes()),
        "listen on a port of the system's": ("", listen_anywhere),
        "look whether a file is there": ("", secret.stat),
        "run code of its own": ("", map_code),
        "write into the folder": ("", lambda: make(folder / "left.py")),
    }


def ring() -> int:
    """An io_uring of eight entries."""
    parameters = ctypes.create_string_buffer(120)
    return call("io_uring_setup", 8, parameters)


def shared_memory() -> None:
    """The machine's, as whoever may end some of it can look at it."""
    call("shmctl", 0, IPC_INFO, ctypes.create_string_buffer(256))


def outcome(attack: Callable[[], object]) -> str:
    """`done`, or the name of the error that the kernel answered."""
    try:
        attack()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "refused")
    except (ValueError, subprocess.SubprocessError):
        return "refused"
    return "done"


def given_by(words: list[str]) -> SimpleNamespace:
    """What the attacks are tried on, with a process of this user that is left alone.

    It ends with this one, which holds its input.
    """
    folder, secret, port = words
    other = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    (Path(folder) / "own").write_text("own")
    return SimpleNamespace(
        folder=Path(folder),
        secret=Path(secret),
        port=int(port),
        other=other.pid,
        process=other,
    )


def main(choice: str, *words: str) -> None:
    given = given_by(list(words))
    table = attacks(given)
    walls = confine(Needs(folders=(given.folder,), ports=(1,)), Confinement(choice))
    refuse_links(walls)
    found = {name: outcome(attack) for name, (_, attack) in table.items()}
    told = {name: [wall, found[name]] for name, (wall, _) in table.items()}
    print(json.dumps({"walls": walls.standing, "found": told}))  # noqa: T201
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
