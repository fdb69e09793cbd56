"""Closing the connection of a caller, which gRPC offers no call for.

A call that is aborted while its reader takes nothing keeps what was sent until the
connection ends: its status stands behind the message. So the connection is ended, by
its socket, as if the network had failed; gRPC then lets go of all that it kept.
"""

import os
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

__all__ = ["close_connection"]

_DESCRIPTORS = Path("/dev/fd")


def close_connection(peer: str) -> None:
    """End the connection of a caller that gRPC names, as `ipv4:127.0.0.1:4242`.

    Of another kind of connection, and of one that has ended, nothing happens.
    """
    family, _, address = peer.partition(":")
    host, _, port = unquote(address).rpartition(":")
    if family not in ("ipv4", "ipv6"):
        return
    wanted = (host.strip("[]"), int(port))
    with suppress(OSError):
        for entry in _DESCRIPTORS.iterdir():
            with suppress(OSError):
                _shut_down(int(entry.name), wanted)


def _shut_down(descriptor: int, wanted: tuple[str, int]) -> None:
    """Shut a socket down if it is the wanted one's."""
    # A copy, so that what is looked at is what is shut down, whoever closes it.
    copy = os.dup(descriptor)
    try:
        found = socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise
    with found:
        if found.family not in (socket.AF_INET, socket.AF_INET6):
            return
        host, port = found.getpeername()[:2]
        # gRPC listens on IPv6 for both families, and names a caller as it is known.
        if (host.removeprefix("::ffff:"), port) == wanted:
            found.shutdown(socket.SHUT_RDWR)
