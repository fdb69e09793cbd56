"""Who may call: a bearer token and a certificate, read from files.

The node and its clients read the same token file, and both say what is wrong with it
in a sentence. A token is a secret: it is in no `repr`, no log and no message.

Rules: this module imports no gRPC.
"""

import hmac
import re
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

__all__ = [
    "METADATA_KEY",
    "Access",
    "AccessError",
    "Certificate",
    "Unauthenticated",
    "authorization",
    "is_authorized",
    "read_authorities",
    "read_certificate",
    "read_token",
]

METADATA_KEY = "authorization"
"""The metadata that carries the token, as HTTP names it."""

_TOKEN = re.compile(r"[!-~]{16,1024}", re.ASCII)
"""Visible ASCII; with fewer than 16 characters it could be guessed."""

_FILE_BYTES_MAX = 1 << 20


class AccessError(Exception):
    """A file cannot be used; the message says which, and what to do."""


class Unauthenticated(Exception):  # noqa: N818 - a refusal, named like the others
    """A caller has no token, or not this one."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate with its chain, and its key, as PEM."""

    chain: bytes
    key: bytes = field(repr=False)
    context: ssl.SSLContext | None = field(default=None, repr=False, compare=False)
    """The same for a server of Python's, which reads them from files alone."""


@dataclass(frozen=True, slots=True)
class Access:
    """How the port is kept; nothing of it by default."""

    token: str | None = field(default=None, repr=False)
    certificate: Certificate | None = None


def authorization(token: str) -> str:
    """The metadata's value for a token."""
    return f"Bearer {token}"


def is_authorized(
    metadata: Iterable[tuple[str, str | bytes]] | None, wanted: bytes
) -> bool:
    """Whether a call's metadata has the wanted value; in constant time for its length.

    The first `authorization` counts.
    """
    for key, value in metadata or ():
        if key == METADATA_KEY:
            data = value if isinstance(value, bytes) else _bytes_of(value)
            return hmac.compare_digest(data, wanted)
    return False


def _bytes_of(value: str) -> bytes:
    """What was sent; over HTTP, it need not be a text."""
    return value.encode(errors="surrogateescape")


def read_token(path: Path) -> str:
    """The token in a file, without white space around it.

    Raises:
        AccessError: It cannot be read, or holds no token.
    """
    text = _read(path, "--token-file").decode(errors="replace").strip()
    if _TOKEN.fullmatch(text) is None:
        raise AccessError(
            f"--token-file {path} holds no token: write 16 to 1024 visible ASCII "
            "characters into it (`openssl rand -hex 32`)"
        )
    return text


def read_certificate(chain: Path, key: Path) -> Certificate:
    """A certificate and its key, which fit together.

    Raises:
        AccessError: One of them cannot be read or used.
    """
    pems = _read(chain, "--tls-cert"), _read(key, "--tls-key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # A password would be asked for on a terminal: no operator wants that.
        context.load_cert_chain(chain, key, password=b"")
    except (OSError, ValueError) as error:
        raise AccessError(
            f"--tls-cert {chain} and --tls-key {key} cannot be used "
            f"({error.__class__.__name__}): give a certificate and its own key in PEM, "
            "the key without a password"
        ) from error
    context.set_alpn_protocols(["http/1.1"])
    return Certificate(*pems, context)


def read_authorities(path: Path) -> bytes:
    """Certificates of authorities to trust, as PEM.

    Raises:
        AccessError: They cannot be read.
    """
    pem = _read(path, "--tls-ca")
    if b"-----BEGIN CERTIFICATE-----" not in pem:
        raise AccessError(f"--tls-ca {path} holds no certificate in PEM")
    return pem


def _read(path: Path, flag: str) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise AccessError(
            f"{flag} {path} cannot be read: {error.strerror or error}"
        ) from error
    if len(data) > _FILE_BYTES_MAX:
        raise AccessError(f"{flag} {path} has more than {_FILE_BYTES_MAX} bytes")
    return data
