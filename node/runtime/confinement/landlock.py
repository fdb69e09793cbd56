"""Landlock: which files and ports the kernel lets this process have from now on.

What is forbidden by it stays forbidden for the calling thread and for what it begins,
whatever they do; threads that run already are not bound. Numbers and layouts are those
of <linux/landlock.h>; the kernel says which of its versions (ABI) it knows.

Rules: all rights that the kernel knows are handled, so that what no rule allows is
refused. Nothing here decides what is allowed: `walls` does.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable, Mapping
from enum import IntFlag
from typing import Final

from msgspec import Struct

__all__ = [
    "ABI_NETWORK",
    "ABI_SIGNALS",
    "Right",
    "Ruleset",
    "abi",
    "encode_attributes",
    "no_new_privileges",
    "restrict",
    "system_call",
]

ABI_REFER = 2
"""From which on a file may be moved between folders that both allow it."""
ABI_TRUNCATE = 3
ABI_NETWORK = 4
"""From which on TCP is handled."""
ABI_DEVICES = 5
"""From which on `ioctl` of devices is."""
ABI_SIGNALS = 6
"""From which on signals and abstract sockets can be kept inside."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on every machine
_VERSION_ASKED = 1
_PATH_BENEATH, _NET_PORT = 1, 2
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2
_PR_SET_NO_NEW_PRIVS = 38


class Right(IntFlag):
    """What may be done below a path; bits of `LANDLOCK_ACCESS_FS_…`."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_FOLDER = 1 << 3
    REMOVE_FOLDER = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHARACTER_DEVICE = 1 << 6
    MAKE_FOLDER = 1 << 7
    MAKE_FILE = 1 << 8
    MAKE_SOCKET = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK_DEVICE = 1 << 11
    MAKE_SYMLINK = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEVICE = 1 << 15


_OF_FILES: Final = (
    Right.EXECUTE
    | Right.WRITE_FILE
    | Right.READ_FILE
    | Right.TRUNCATE
    | Right.IOCTL_DEVICE
)
"""Rights that a rule for something that is no folder can name."""


class Ruleset(Struct, frozen=True):
    """What is allowed; all else is refused."""

    paths: Mapping[str, Right]
    """What is not there is left out."""
    ports: frozenset[int] | None
    """TCP ports to listen on; None leaves all. No connection can be made."""


def system_call(number: int, *arguments: int | bytes) -> int:
    """A system call by its number.

    Raises:
        OSError: What the kernel said instead.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    call = libc.syscall
    call.restype = ctypes.c_long
    given = [
        ctypes.c_char_p(one) if isinstance(one, bytes) else ctypes.c_long(one)
        for one in arguments
    ]
    answer: int = call(ctypes.c_long(number), *given)
    if answer < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return answer


def no_new_privileges() -> None:
    """Let no program that is begun have more rights; both walls want that first."""
    libc = ctypes.CDLL(None, use_errno=True)
    on = ctypes.c_ulong(1), *(ctypes.c_ulong(0),) * 3
    if libc.prctl(ctypes.c_int(_PR_SET_NO_NEW_PRIVS), *on):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def abi() -> int:
    """The version of Landlock that the kernel has; 0 without it, or if it is off."""
    try:
        return system_call(_CREATE_RULESET, 0, 0, _VERSION_ASKED)
    except OSError:
        return 0


def handled_rights(version: int) -> Right:
    """All rights of files that a version knows."""
    known = (1 << 13) - 1
    for since, right in (
        (ABI_REFER, Right.REFER),
        (ABI_TRUNCATE, Right.TRUNCATE),
        (ABI_DEVICES, Right.IOCTL_DEVICE),
    ):
        if version >= since:
            known |= right
    return Right(known)


def encode_attributes(version: int, *, is_bind_handled: bool) -> bytes:
    """`struct landlock_ruleset_attr` as a version of the kernel reads it."""
    attributes = struct.pack("=Q", handled_rights(version))
    if version >= ABI_NETWORK:
        handled = _CONNECT_TCP | (_BIND_TCP if is_bind_handled else 0)
        attributes += struct.pack("=Q", handled)
    if version >= ABI_SIGNALS:
        attributes += struct.pack("=Q", _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS)
    return attributes


def restrict(version: int, allowed: Ruleset) -> None:
    """Refuse this thread, and all that it begins, what is not allowed.

    `version` is what `abi` said, at least 1; `no_new_privileges` came first.

    Raises:
        OSError: The kernel takes no more rules, or forbids it; nothing is refused.
    """
    is_bind_handled = allowed.ports is not None
    attributes = encode_attributes(version, is_bind_handled=is_bind_handled)
    rules = system_call(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        _add_paths(rules, allowed.paths.items(), handled_rights(version))
        if version >= ABI_NETWORK:
            for port in allowed.ports or ():
                rule = struct.pack("=QQ", _BIND_TCP, port)
                system_call(_ADD_RULE, rules, _NET_PORT, rule, 0)
        system_call(_RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _add_paths(rules: int, paths: Iterable[tuple[str, Right]], handled: Right) -> None:
    for path, rights in paths:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            kept = rights & handled
            if not stat.S_ISDIR(os.fstat(place).st_mode):
                kept &= _OF_FILES
            if kept:
                rule = struct.pack("=Qi", kept, place)
                system_call(_ADD_RULE, rules, _PATH_BENEATH, rule, 0)
        finally:
            os.close(place)
