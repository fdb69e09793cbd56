"""seccomp: which system calls the kernel refuses to this process from now on.

A program for the kernel's filter looks at the number of each call and at its arguments,
not at what pointers point to. It answers EPERM, or ENOSYS where libraries then take an
older call; nothing is killed, so a library that tries what it does not need goes on.

Rules: what is not named is allowed, since a list of what is allowed breaks with each
new version of a library. Numbers are those of the kernel's own headers, one table a
machine; a call that a machine does not have is not in its table. Of a machine without
a table nothing is refused.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final, TypeAlias

from node.runtime.confinement.landlock import system_call

__all__ = [
    "MACHINES",
    "REFUSED",
    "REFUSED_LATER",
    "Machine",
    "encode_later",
    "encode_program",
    "install",
    "install_later",
]

REFUSED: Final = (
    # programs
    *("execve", "execveat", "fork", "vfork", "uselib"),
    # other processes, and their memory
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise"),
    *("process_mrelease", "kcmp", "pidfd_open", "pidfd_getfd", "pidfd_send_signal"),
    *("tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "move_pages", "migrate_pages"),
    *("setpriority", "sched_setparam", "sched_setscheduler", "sched_setattr"),
    "ioprio_set",
    # networks: what is accepted is connected already
    "connect",
    # the kernel's large and seldom used parts
    *("bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key"),
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load"),
    *("fanotify_init", "lookup_dcookie", "nfsservctl", "_sysctl", "modify_ldt"),
    # what is mounted where, and who sees it
    *("mount", "umount2", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount"),
    *("fspick", "mount_setattr", "pivot_root", "chroot", "unshare", "setns"),
    *("name_to_handle_at", "open_by_handle_at", "quotactl", "quotactl_fd"),
    *("open_tree_attr", "statmount", "listmount"),
    # files without a name, from which programs can be begun
    *("memfd_create", "memfd_secret"),
    # who this is
    *("setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid"),
    *("setgroups", "setfsuid", "setfsgid", "capset", "personality", "setrlimit"),
    # what others take files for; Landlock of ABI 1 and 2 knows no `truncate`
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown"),
    *("fchownat", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr"),
    *("fremovexattr", "setxattrat", "removexattrat", "link", "linkat", "mknod"),
    *("mknodat", "truncate", "file_setattr"),
    # times of files, and whoever uses them, of which Landlock knows nothing
    *("utime", "utimes", "futimesat", "utimensat", "inotify_add_watch"),
    # memory and messages shared with other processes
    *("shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl"),
    *("msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink"),
    # the machine
    *("reboot", "swapon", "swapoff", "acct", "settimeofday", "clock_settime"),
    *("adjtimex", "clock_adjtime", "sethostname", "setdomainname", "iopl", "ioperm"),
    *("syslog", "vhangup"),
)
"""Answered EPERM, whatever their arguments."""

REFUSED_LATER: Final = ("symlink", "symlinkat")
"""Likewise, once the chain is open: opening it may lay links beside its files."""

_MISSING: Final = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register")
"""Answered ENOSYS: glibc takes `clone` instead, whose flags can be seen; uvloop takes
epoll instead of a ring, whose calls no filter sees."""

_ALL_MACHINES: Final = {
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_open": 434,
    "clone3": 435,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "memfd_secret": 447,
    "process_mrelease": 448,
    "fchmodat2": 452,
    "statmount": 457,
    "listmount": 458,
    "setxattrat": 463,
    "removexattrat": 466,
    "open_tree_attr": 467,
    "file_setattr": 469,
}
"""Calls that came later: from 424 on each has one number, whatever the machine."""

_X86_64: Final = {
    "ioctl": 16,
    "shmget": 29,
    "shmat": 30,
    "shmctl": 31,
    "socket": 41,
    "connect": 42,
    "sendto": 44,
    "sendmsg": 46,
    "clone": 56,
    "fork": 57,
    "vfork": 58,
    "execve": 59,
    "kill": 62,
    "semget": 64,
    "semop": 65,
    "semctl": 66,
    "msgget": 68,
    "msgsnd": 69,
    "msgrcv": 70,
    "msgctl": 71,
    "fcntl": 72,
    "truncate": 76,
    "link": 86,
    "symlink": 88,
    "chmod": 90,
    "fchmod": 91,
    "chown": 92,
    "fchown": 93,
    "lchown": 94,
    "ptrace": 101,
    "syslog": 103,
    "setuid": 105,
    "setgid": 106,
    "setreuid": 113,
    "setregid": 114,
    "setgroups": 116,
    "setresuid": 117,
    "setresgid": 119,
    "setfsuid": 122,
    "setfsgid": 123,
    "capset": 126,
    "rt_sigqueueinfo": 129,
    "utime": 132,
    "mknod": 133,
    "uselib": 134,
    "personality": 135,
    "setpriority": 141,
    "sched_setparam": 142,
    "sched_setscheduler": 144,
    "vhangup": 153,
    "modify_ldt": 154,
    "pivot_root": 155,
    "_sysctl": 156,
    "adjtimex": 159,
    "setrlimit": 160,
    "chroot": 161,
    "acct": 163,
    "settimeofday": 164,
    "mount": 165,
    "umount2": 166,
    "swapon": 167,
    "swapoff": 168,
    "reboot": 169,
    "sethostname": 170,
    "setdomainname": 171,
    "iopl": 172,
    "ioperm": 173,
    "init_module": 175,
    "delete_module": 176,
    "quotactl": 179,
    "nfsservctl": 180,
    "setxattr": 188,
    "lsetxattr": 189,
    "fsetxattr": 190,
    "removexattr": 197,
    "lremovexattr": 198,
    "fremovexattr": 199,
    "tkill": 200,
    "lookup_dcookie": 212,
    "semtimedop": 220,
    "clock_settime": 227,
    "tgkill": 234,
    "utimes": 235,
    "mq_open": 240,
    "mq_unlink": 241,
    "kexec_load": 246,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "ioprio_set": 251,
    "inotify_add_watch": 254,
    "migrate_pages": 256,
    "mknodat": 259,
    "fchownat": 260,
    "futimesat": 261,
    "linkat": 265,
    "symlinkat": 266,
    "fchmodat": 268,
    "unshare": 272,
    "move_pages": 279,
    "utimensat": 280,
    "rt_tgsigqueueinfo": 297,
    "perf_event_open": 298,
    "fanotify_init": 300,
    "prlimit64": 302,
    "name_to_handle_at": 303,
    "open_by_handle_at": 304,
    "clock_adjtime": 305,
    "sendmmsg": 307,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "finit_module": 313,
    "sched_setattr": 314,
    "seccomp": 317,
    "memfd_create": 319,
    "kexec_file_load": 320,
    "bpf": 321,
    "execveat": 322,
    "userfaultfd": 323,
    **_ALL_MACHINES,
}

_AARCH64: Final = {
    "setxattr": 5,
    "lsetxattr": 6,
    "fsetxattr": 7,
    "removexattr": 14,
    "lremovexattr": 15,
    "fremovexattr": 16,
    "lookup_dcookie": 18,
    "fcntl": 25,
    "inotify_add_watch": 27,
    "ioctl": 29,
    "ioprio_set": 30,
    "mknodat": 33,
    "symlinkat": 36,
    "linkat": 37,
    "umount2": 39,
    "mount": 40,
    "pivot_root": 41,
    "nfsservctl": 42,
    "truncate": 45,
    "chroot": 51,
    "fchmod": 52,
    "fchmodat": 53,
    "fchownat": 54,
    "fchown": 55,
    "vhangup": 58,
    "quotactl": 60,
    "utimensat": 88,
    "acct": 89,
    "capset": 91,
    "personality": 92,
    "unshare": 97,
    "kexec_load": 104,
    "init_module": 105,
    "delete_module": 106,
    "clock_settime": 112,
    "syslog": 116,
    "ptrace": 117,
    "sched_setparam": 118,
    "sched_setscheduler": 119,
    "kill": 129,
    "tkill": 130,
    "tgkill": 131,
    "rt_sigqueueinfo": 138,
    "setpriority": 140,
    "reboot": 142,
    "setregid": 143,
    "setgid": 144,
    "setreuid": 145,
    "setuid": 146,
    "setresuid": 147,
    "setresgid": 149,
    "setfsuid": 151,
    "setfsgid": 152,
    "setgroups": 159,
    "sethostname": 161,
    "setdomainname": 162,
    "setrlimit": 164,
    "settimeofday": 170,
    "adjtimex": 171,
    "mq_open": 180,
    "mq_unlink": 181,
    "msgget": 186,
    "msgctl": 187,
    "msgrcv": 188,
    "msgsnd": 189,
    "semget": 190,
    "semctl": 191,
    "semtimedop": 192,
    "semop": 193,
    "shmget": 194,
    "shmctl": 195,
    "shmat": 196,
    "socket": 198,
    "connect": 203,
    "sendto": 206,
    "sendmsg": 211,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "clone": 220,
    "execve": 221,
    "swapon": 224,
    "swapoff": 225,
    "migrate_pages": 238,
    "move_pages": 239,
    "rt_tgsigqueueinfo": 240,
    "perf_event_open": 241,
    "prlimit64": 261,
    "fanotify_init": 262,
    "name_to_handle_at": 264,
    "open_by_handle_at": 265,
    "clock_adjtime": 266,
    "setns": 268,
    "sendmmsg": 269,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "kcmp": 272,
    "finit_module": 273,
    "sched_setattr": 274,
    "seccomp": 277,
    "memfd_create": 279,
    "bpf": 280,
    "execveat": 281,
    "userfaultfd": 282,
    "kexec_file_load": 294,
    **_ALL_MACHINES,
}

Machine: TypeAlias = tuple[int, Mapping[str, int]]
"""The kernel's word for the machine (`AUDIT_ARCH_…`), and numbers of its calls."""

MACHINES: Final[Mapping[str, Machine]] = MappingProxyType(
    {"x86_64": (0xC000003E, _X86_64), "aarch64": (0xC00000B7, _AARCH64)}
)
"""By what `uname` says."""

# --- programs of the kernel's filter: <linux/filter.h>, <linux/seccomp.h> -------------

_Instruction: TypeAlias = tuple[int, int, int, int]
"""Code, jump if true, jump if false, constant."""

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT = 0x15, 0x35, 0x45
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _ARGUMENTS_OFFSET = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_SET_MODE_FILTER, _FILTER_FLAG_ALL_THREADS = 1, 1

_X32_FROM = 0x40000000
"""Numbers of the x32 table, which x86_64 kernels may carry, too."""

_CLONE_THREAD = 0x10000
_AF_INET, _AF_INET6, _SOCK_STREAM, _SOCK_TYPE_MASK = 2, 10, 1, 0xF
_IPPROTO_ANY, _IPPROTO_TCP = 0, 6
_MSG_FASTOPEN = 0x20000000
"""With it, sending connects, which no wall for connections sees."""
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: type on the terminal of whoever started the process."""
_SIGNALLED = (0x8901, 0x8902)
"""FIOSETOWN and SIOCSPGRP: let another process have the signals of a file."""
_F_SETOWN, _F_SETOWN_EX = 8, 15
"""Likewise: what arrives in a pipe of one's own would end it."""


def _say(answer: int) -> _Instruction:
    return _RETURN, 0, 0, answer


def _refuse(error: int) -> _Instruction:
    return _say(_ERRNO | error)


_OK: Final = _say(_ALLOW)
_NO: Final = _refuse(errno.EPERM)
_NOT_HERE: Final = _refuse(errno.ENOSYS)


def _argument(index: int, *, is_high: bool = False) -> _Instruction:
    """Load half an argument; both machines put the low half first."""
    return _LOAD, 0, 0, _ARGUMENTS_OFFSET + 8 * index + 4 * is_high


def _only(test: int, constant: int, otherwise: _Instruction) -> list[_Instruction]:
    """Go on if the test of what is loaded holds, else give this answer."""
    return [(test, 1, 0, constant), otherwise]


def _unless(test: int, constant: int, answer: _Instruction) -> list[_Instruction]:
    """Give this answer if the test of what is loaded holds, else go on."""
    return [(test, 0, 1, constant), answer]


def _own_only(own: int) -> list[_Instruction]:
    """Calls whose first argument is a process: this one."""
    return [_argument(0), *_only(_IF_EQUAL, own, _NO), _OK]


def _socket() -> list[_Instruction]:
    """TCP over IP: anything else can send without a connection."""
    no = _refuse(errno.EAFNOSUPPORT)
    return [
        _argument(0),
        (_IF_EQUAL, 2, 0, _AF_INET),
        *_only(_IF_EQUAL, _AF_INET6, no),
        _argument(1),
        (_AND, 0, 0, _SOCK_TYPE_MASK),
        *_only(_IF_EQUAL, _SOCK_STREAM, no),
        _argument(2),
        *_unless(_IF_EQUAL, _IPPROTO_ANY, _OK),
        *_only(_IF_EQUAL, _IPPROTO_TCP, no),
        _OK,
    ]


def _by_arguments(own: int) -> dict[str, Sequence[_Instruction]]:
    """Calls that are refused for some of their arguments; `own` is this process."""
    ioctl = [_argument(1)]
    for request in (*_TERMINAL_INPUT, *_SIGNALLED):
        ioctl += _unless(_IF_EQUAL, request, _NO)
    owner = [_argument(1)]
    for command in (_F_SETOWN, _F_SETOWN_EX):
        owner += _unless(_IF_EQUAL, command, _NO)
    limits = [_argument(0), (_IF_EQUAL, 2, 0, 0), *_only(_IF_EQUAL, own, _NO)]
    for is_high in (False, True):  # a pointer to new limits
        limits += [_argument(2, is_high=is_high), *_only(_IF_EQUAL, 0, _NO)]
    return {
        "clone": [_argument(0), *_only(_IF_ANY_BIT, _CLONE_THREAD, _NO), _OK],
        "socket": _socket(),
        "sendto": [_argument(3), *_unless(_IF_ANY_BIT, _MSG_FASTOPEN, _NO), _OK],
        "sendmsg": [_argument(2), *_unless(_IF_ANY_BIT, _MSG_FASTOPEN, _NO), _OK],
        "sendmmsg": [_argument(3), *_unless(_IF_ANY_BIT, _MSG_FASTOPEN, _NO), _OK],
        "kill": _own_only(own),
        "tgkill": _own_only(own),
        "prlimit64": [*limits, _OK],
        "ioctl": [*ioctl, _OK],
        "fcntl": [*owner, _OK],
    }


def encode_program(machine: Machine, own: int) -> bytes:
    """The filter of a machine, as `struct sock_filter`s; `own` is the process's id."""
    return _encode(
        machine,
        {
            **dict.fromkeys(REFUSED, (_NO,)),
            **dict.fromkeys(_MISSING, (_NOT_HERE,)),
            **_by_arguments(own),
        },
    )


def encode_later(machine: Machine) -> bytes:
    """The filter that comes on top of it."""
    return _encode(machine, dict.fromkeys(REFUSED_LATER, (_NO,)))


def _encode(machine: Machine, bodies: Mapping[str, Sequence[_Instruction]]) -> bytes:
    architecture, numbers = machine
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        *_only(_IF_EQUAL, architecture, _NOT_HERE),  # calls of a 32-bit machine
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        *_unless(_IF_AT_LEAST, _X32_FROM, _NOT_HERE),
        *chain.from_iterable(
            [(_IF_EQUAL, 0, len(body), numbers[name]), *body]
            for name, body in bodies.items()
            if name in numbers
        ),
        _OK,
    ]
    return b"".join(struct.pack("=HBBI", *one) for one in program)


def install(machine: Machine) -> None:
    """Refuse all threads of this process what the filter refuses, for ever.

    `no_new_privileges` came first.

    Raises:
        OSError: The kernel has no such filter, or forbids it; nothing is refused.
    """
    _install(machine, encode_program(machine, os.getpid()))


def install_later(machine: Machine) -> None:
    """Refuse, likewise, what nothing needs once the chain is open."""
    _install(machine, encode_later(machine))


def _install(machine: Machine, code: bytes) -> None:
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(held))
    number = machine[1]["seccomp"]
    system_call(number, _SET_MODE_FILTER, _FILTER_FLAG_ALL_THREADS, program)
