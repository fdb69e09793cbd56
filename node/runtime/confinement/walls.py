"""The second wall: what a process may do that executes actors, whatever gets out.

An actor that leaves the language is the user who started the node. So before the first
actor, the first caller and the second thread, the process gives up what it does not
need, and the kernel keeps to that: files by Landlock, programs, networks and other
processes by seccomp, memory by a limit. docs/security.md says what each stops.

Rules: no wall decides a result; it ends the process or fails a system call. What the
machine does not have is left out and named, unless it was required. Whoever is told
which walls stand is told the words of `WALLS`.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

import node
import pvm
from node.runtime.confinement import landlock, seccomp
from node.runtime.confinement.landlock import Right, Ruleset
from node.runtime.settings import Confinement

__all__ = [
    "WALLS",
    "CannotConfine",
    "Needs",
    "Walls",
    "confine",
    "limit_memory",
    "memory_max_default",
    "refuse_links",
]

WALLS: Final = ("files", "network", "signals", "programs", "memory", "tripwire")
"""Every word for a wall, in the order in which they are told."""

_OF_SECCOMP: Final = frozenset({"network", "signals", "programs"})

_NO_LANDLOCK = "this kernel has no Landlock"
_NO_SECCOMP = "this kernel has no seccomp"
_OLD_LANDLOCK = "this kernel's Landlock is older than ABI 4"
_OFF = "--confine off was asked for"

_WARNING_ROOT = (
    "this process runs as root, to whom the kernel refuses less: run it as a user who "
    "owns nothing but the chain's folder"
)

_MEBIBYTE = 1 << 20
_MEMORY_MAX_DEFAULT = 4 << 30
MEMORY_MAX_LEAST: Final = 1 << 30
"""Less and a node could not do its work: it has 150 MiB when it is idle."""

_READ = Right.READ_FILE | Right.READ_FOLDER
_KEEP = (
    _READ
    | Right.WRITE_FILE
    | Right.TRUNCATE
    | Right.REFER
    | Right.MAKE_FILE
    | Right.MAKE_FOLDER
    | Right.MAKE_SYMLINK  # until `refuse_links`
    | Right.REMOVE_FILE
    | Right.REMOVE_FOLDER
)
_REPLACE = Right.WRITE_FILE | Right.TRUNCATE | Right.MAKE_FILE | Right.REMOVE_FILE

_SYSTEM_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/lib", "/lib64")
_SYSTEM_FILES = (
    *("/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf"),
    *("/etc/gai.conf", "/etc/localtime", "/etc/ld.so.cache", "/etc/mime.types"),
    *("/proc/stat", "/proc/meminfo", "/proc/cpuinfo", "/dev/urandom"),
    *("/proc/sys/net/core/somaxconn", "/sys/devices/system/cpu/online"),
)
"""What Python, gRPC, LevelDB and the system's resolver look at."""


class CannotConfine(Exception):  # noqa: N818 - a condition of the machine
    """Walls are required that this machine does not have; the message names them."""


class Needs(Struct, frozen=True):
    """What a process goes on to need; everything else is refused."""

    folders: tuple[Path, ...] = ()
    """It keeps things there."""
    replaced: tuple[Path, ...] = ()
    """Files that it writes and removes, anywhere in the folders that they are in."""
    removed: tuple[Path, ...] = ()
    """Empty folders that it removes: allowed in all of the folders that they are in."""
    read: tuple[Path, ...] = ()
    """Files and folders that it reads."""
    ports: tuple[int, ...] = ()
    """TCP ports that it listens on; with 0 among them it may listen on any."""
    memory_max: int | None = None
    """Bytes that it writes to at the most; None: as many as there are."""


class Walls(Struct, frozen=True):
    """Which walls stand."""

    standing: tuple[str, ...] = ()
    """Words of `WALLS`, in their order."""
    missing: tuple[str, ...] = ()
    """Why walls of the kernel do not stand, in words."""
    memory_max: int | None = None
    """Bytes, if memory is limited."""
    is_root: bool = False

    def with_wall(self, name: str) -> "Walls":
        """These and one more."""
        return self._having({*self.standing, name}, self.memory_max)

    def with_memory(self, bytes_max: int) -> "Walls":
        """These, and memory limited."""
        return self._having({*self.standing, "memory"}, bytes_max)

    def _having(self, names: set[str], memory_max: int | None) -> "Walls":
        standing = tuple(name for name in WALLS if name in names)
        return Walls(standing, self.missing, memory_max, self.is_root)

    def told(self) -> str:
        """The walls as a line for people."""
        words = [
            f"memory {_size(self.memory_max)}"
            if name == "memory" and self.memory_max is not None
            else name
            for name in self.standing
        ]
        return ", ".join(words) or "no"

    def warnings(self) -> list[str]:
        """What whoever started the process should know."""
        found = []
        if self.missing:
            whose = "is root" if self.is_root else "is you"
            found.append(
                f"NOT CONFINED: {'; '.join(self.missing)}; an actor that leaves the "
                f"sandbox {whose}"
            )
        if self.is_root:
            found.append(_WARNING_ROOT)
        return found


def _size(count: int) -> str:
    gibibytes, rest = divmod(count, 1 << 30)
    return f"{count // _MEBIBYTE} MiB" if rest else f"{gibibytes} GiB"


def confine(needs: Needs, choice: Confinement) -> Walls:
    """Refuse this process all but what it needs, as far as the kernel can.

    Called while there is one thread: Landlock binds the caller's and what comes after.
    What was opened before stays usable. Memory is limited whatever the choice.

    Raises:
        CannotConfine: Something is missing that is required.
    """
    most = needs.memory_max  # first: the other walls refuse to change it
    is_limited = most is not None and limit_memory(most)
    walls = _confine_by_kernel(needs, choice)
    return walls.with_memory(most) if is_limited and most is not None else walls


def _confine_by_kernel(needs: Needs, choice: Confinement) -> Walls:
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if choice is Confinement.OFF:
        return Walls(missing=(_OFF,), is_root=is_root)
    machine = _machine()
    version = landlock.abi() if sys.platform == "linux" else 0
    if choice is Confinement.REQUIRED:
        _require(version, machine)
    standing, missing = set[str](), list[str]()
    if sys.platform == "linux":
        _require_one_thread()
        _give_up_privileges()
    if version and _is_done(lambda: landlock.restrict(version, _ruleset(needs))):
        standing |= _walls_of_landlock(version)
    else:
        missing.append(_NO_LANDLOCK)
    if machine and _is_done(lambda: seccomp.install(machine)):
        standing |= _OF_SECCOMP
    else:
        missing.append(_NO_SECCOMP)
    if choice is Confinement.REQUIRED and missing:
        raise _required(missing)
    names = tuple(name for name in WALLS if name in standing)
    return Walls(names, tuple(missing), is_root=is_root)


def _is_done(build: Callable[[], None]) -> bool:
    try:
        build()
    except OSError:  # the kernel has it, and somebody forbids it
        return False
    return True


def _walls_of_landlock(version: int) -> set[str]:
    """What holds by Landlock alone.

    Not the network: it lets a fast open connect, and UDP pass.
    """
    return {"files", "signals"} if version >= landlock.ABI_SIGNALS else {"files"}


def refuse_links(walls: Walls) -> None:
    """Refuse to make links from now on, where programs are: the chain is open."""
    machine = _machine()
    if machine is not None and "programs" in walls.standing:
        seccomp.install_later(machine)


def _require(version: int, machine: seccomp.Machine | None) -> None:
    missing = []
    if not version:
        missing.append(_NO_LANDLOCK)
    elif version < landlock.ABI_NETWORK:
        missing.append(_OLD_LANDLOCK)
    if machine is None:
        missing.append(_NO_SECCOMP)
    if missing:
        raise _required(missing)


def _required(missing: Iterable[str]) -> CannotConfine:
    return CannotConfine(
        f"--confine required: {'; '.join(missing)}. Run it where the kernel has both "
        "(Linux 6.7 or later; in a container, an engine that lets them through), or "
        "with --confine auto"
    )


def _machine() -> seccomp.Machine | None:
    if sys.platform != "linux" or sys.maxsize < 1 << 32:
        return None
    return seccomp.MACHINES.get(os.uname().machine)


def _require_one_thread() -> None:
    threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208 - names only
    assert threads == 1, f"{threads} threads, and only one can be confined"


def _give_up_privileges() -> None:
    """Let nothing that is begun have more rights, and no crash leave a core file."""
    import resource  # noqa: PLC0415 - absent on Windows

    landlock.no_new_privileges()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# --- files ---------------------------------------------------------------------------


def _ruleset(needs: Needs) -> Ruleset:
    rights: dict[str, Right] = {}

    def allow(paths: Iterable[Path | str], what: Right) -> None:
        for path in paths:
            name = os.path.abspath(path)  # noqa: PTH100 - as the kernel will look
            rights[name] = rights.get(name, Right(0)) | what

    allow(_SYSTEM_FOLDERS, _READ)
    allow(_SYSTEM_FILES, Right.READ_FILE)
    allow(("/proc/self",), _READ)
    allow((os.devnull,), Right.READ_FILE | Right.WRITE_FILE)
    allow(_of_python(sys.path), _READ)
    allow(needs.read, _READ)
    allow(needs.folders, _KEEP)
    allow((path.absolute().parent for path in needs.replaced), _REPLACE)
    allow((path.absolute().parent for path in needs.removed), Right.REMOVE_FOLDER)
    ports = None if 0 in needs.ports else frozenset(needs.ports)
    return Ruleset(rights, ports)


def _of_python(search_path: Sequence[str]) -> list[str]:
    """Where modules are found that are imported later.

    Not the working folder, which `python -m` puts first: it may be anybody's home.
    """
    packages = [Path(module.__file__ or "").parent for module in (node, pvm)]
    own = [str(path) for path in packages]
    own += [str(path.parent / "genesis") for path in packages]
    roots = (os.path.realpath(""), os.path.realpath("/"), "")
    found = [one for one in search_path if one and os.path.realpath(one) not in roots]
    return [sys.prefix, sys.base_prefix, sys.exec_prefix, *own, *found]


# --- memory --------------------------------------------------------------------------


def memory_max_default() -> int:
    """Bytes: 4 GiB, at most half of the machine's, at least 1 GiB."""
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return _MEMORY_MAX_DEFAULT
    return max(MEMORY_MAX_LEAST, min(_MEMORY_MAX_DEFAULT, machine // 2))


def limit_memory(bytes_max: int) -> bool:
    """Let the process write to no more memory than this; whether the system does that.

    What it maps of files does not count. It is to be called before `confine`, which
    forbids to change it.
    """
    if sys.platform != "linux":  # macOS takes the number, and does nothing
        return False
    try:
        import resource  # noqa: PLC0415 - absent on Windows

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = bytes_max
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    except (OSError, ValueError):
        return False
    return True
