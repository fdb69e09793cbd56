"""Checks of arguments that native modules share.

Exact types, so that no object of the actor's answers a question of ours: `bytes` is
`bytes`, `int` is `int` and not `bool`. What is refused is a `TypeError` or
`ValueError` of the actor language, marked as ours so that actors may read its text.
"""

from pvm.runtime.exceptions import refused
from pvm.runtime.values import type_name


def require_bytes(value: object) -> bytes:
    """`value` if it is exactly bytes; `TypeError` else."""
    if type(value) is not bytes:
        raise refused(TypeError(f"bytes are wanted, not {type_name(value)}"))
    return value


def require_int(value: object) -> int:
    """`value` if it is exactly an int; `TypeError` else."""
    if type(value) is not int:
        raise refused(TypeError(f"an int is wanted, not {type_name(value)}"))
    return value


def require_str(value: object) -> str:
    """`value` if it is exactly a str; `TypeError` else."""
    if type(value) is not str:
        raise refused(TypeError(f"a str is wanted, not {type_name(value)}"))
    return value


def require_bool(value: object) -> bool:
    """`value` if it is exactly a bool; `TypeError` else."""
    if type(value) is not bool:
        raise refused(TypeError(f"a bool is wanted, not {type_name(value)}"))
    return value


def ascii_bytes(value: object) -> bytes:
    """Bytes, or a str of ASCII as bytes; `TypeError`, `ValueError` else."""
    if type(value) is str:
        if not value.isascii():
            raise refused(ValueError("text of ASCII is wanted"))
        return value.encode("ascii")
    return require_bytes(value)
