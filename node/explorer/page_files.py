"""The files of the page, as the operators' port hands them out.

They lie in `static/`, as they are written: nothing builds them. The page itself is `/`;
all else is under a path with a digest of all files, so that a browser keeps them for
ever and never mixes two versions.

Rules: nothing is read before somebody asks; then each file once. A path is looked up
among the files that there are, so none leads elsewhere. Every answer says that the page
takes nothing from another host, no script that stands in a page, and no frame around
it.
"""

import gzip
from collections.abc import Mapping
from functools import cached_property
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Final

from node.http.static_answer import StaticAnswer
from node.primitives.crypto import blake2b256

__all__ = ["PageFiles"]

_PREFIX = "/static/"
_DIGEST_LETTERS = 16

_TYPES: Mapping[str, str] = MappingProxyType(
    {
        ".css": "text/css; charset=utf-8",
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".json": "application/json",
        ".svg": "image/svg+xml",
    }
)
_PLAIN = "text/plain; charset=utf-8"

_GUARDED: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": (
            "default-src 'self'; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'; object-src 'none'; "
            "require-trusted-types-for 'script'; trusted-types 'none'"
        ),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Referrer-Policy": "no-referrer",
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
)
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"


class PageFiles:
    """The files by the paths under which a browser asks for them."""

    FOLDER: Final = Path(__file__).parent / "static"
    """Where they lie."""

    def __init__(self, folder: Path = FOLDER, *, shown: str = "") -> None:
        """Take the files from `folder`; the page says that `shown` is only read."""
        self._folder = folder
        self._shown = shown
        self._made: dict[str, StaticAnswer] = {}

    def answer(self, path: str, headers: Mapping[str, str]) -> StaticAnswer | None:
        """The answer for a path; None: there is no such file."""
        name = self._name_of(path)
        if name is None:
            return None
        is_packed = "gzip" in headers.get("Accept-Encoding", "")
        whole = self._made.get(name) or self._make(name)
        if headers.get("If-None-Match") == whole.headers["ETag"]:
            return StaticAnswer(304, whole.headers)
        if is_packed:
            packed = {**whole.headers, "Content-Encoding": "gzip"}
            return StaticAnswer(whole.status, packed, whole.body)
        return StaticAnswer(whole.status, whole.headers, gzip.decompress(whole.body))

    def _name_of(self, path: str) -> str | None:
        """The file that is meant, if it is one of ours."""
        if path == "/":
            return "index.html"
        if path == "/favicon.ico":
            return "favicon.svg"
        name = path.removeprefix(f"{_PREFIX}{self._digest}/")
        return name if name != path and name in self._names else None

    @cached_property
    def _names(self) -> frozenset[str]:
        found = (path for path in self._folder.rglob("*") if path.is_file())
        return frozenset(path.relative_to(self._folder).as_posix() for path in found)

    @cached_property
    def _digest(self) -> str:
        """Names the version of all files."""
        parts = [
            part
            for name in sorted(self._names)
            for part in (name.encode(), (self._folder / name).read_bytes())
        ]
        lengths = b"".join(len(part).to_bytes(8, "big") for part in parts)
        return blake2b256(lengths + b"".join(parts)).hex()[:_DIGEST_LETTERS]

    def _shown_attribute(self) -> bytes:
        return f'content="{escape(self._shown)}"'.encode("ascii", "xmlcharrefreplace")

    def _make(self, name: str) -> StaticAnswer:
        """A file as it goes over the wire, packed, and kept so."""
        path = self._folder / name
        body = path.read_bytes()
        is_page = name == "index.html"
        if is_page:
            own = f'"{_PREFIX}{self._digest}/'.encode()
            body = body.replace(f'"{_PREFIX}'.encode(), own)
            body = body.replace(b'content="SHOWN"', self._shown_attribute())
        tag = blake2b256(body).hex()[:_DIGEST_LETTERS]
        headers = {
            **_GUARDED,
            "Content-Type": _TYPES.get(path.suffix, _PLAIN),
            "Cache-Control": _ASK_AGAIN if is_page else _FOR_EVER,
            "ETag": f'W/"{tag}"',
        }
        made = StaticAnswer(200, headers, gzip.compress(body, mtime=0))
        self._made[name] = made
        return made
