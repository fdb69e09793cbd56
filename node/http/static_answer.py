"""Answers of the HTTP port that are made of files.

Imported with the library, when the port begins to answer. Whoever has files says what
the answer for a path is, as a value; here it becomes one of the library's.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from aiohttp import web
from msgspec import Struct

from node.http.server import HttpHandler

__all__ = ["StaticAnswer", "StaticFiles", "handler_of"]


class StaticAnswer(Struct, frozen=True):
    """Status, headers and bytes; a HEAD gets no bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


StaticFiles: TypeAlias = Callable[[str, Mapping[str, str]], StaticAnswer | None]
"""The answer for a path and the request's headers; None: there is no such file."""


def handler_of(files: StaticFiles) -> HttpHandler:
    """What answers requests for these files."""

    async def answer(
        request: web.BaseRequest, _keep: Callable[[], bool]
    ) -> web.Response | None:
        file = files(request.path, request.headers)
        if file is None:
            return None
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, headers={"Allow": "GET, HEAD"})
        return web.Response(status=file.status, headers=file.headers, body=file.body)

    return answer
