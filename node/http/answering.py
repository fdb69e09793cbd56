"""What the HTTP port answers, once somebody may ask: the half that needs the library.

It is imported when the port begins to answer, with the library.

Rules: probes and scrapers come under whatever name, and from anywhere; everything else
must name this machine in `Host`, and must not come from a page of a foreign origin
(`origins`). Whose connection stays is decided in `connections`.
"""

import json

from aiohttp import hdrs, web

from node.http.connections import Connections
from node.http.origins import PREFLIGHT_HEADERS, Origins
from node.http.request import make_requests, make_server
from node.http.server import HttpSite, Probes
from node.runtime.settings import HttpLimits

__all__ = ["PortAnswers"]

_PROBES = ("/healthz", "/readyz", "/metrics")
_READING = (hdrs.METH_GET, hdrs.METH_HEAD)
_OK, _UNAVAILABLE = 200, 503

_CODES = {403: "permission_denied", 404: "unimplemented", 421: "permission_denied"}
"""What a refusal is called where callers of the API read it."""


class PortAnswers:
    """Answers requests: probes to all, the rest to those who may ask."""

    def __init__(self, probes: Probes, site: HttpSite, limits: HttpLimits) -> None:
        self._probes = probes
        self._limits = limits
        self._origins = Origins(site.access)
        self._connections = Connections(limits)
        self._handlers = site.load()

    def make_server(self) -> web.Server:
        """What makes the protocol of each connection; called on the event loop."""
        requests = make_requests(self._probes.note_answer, self._origins)
        return make_server(self.answer, requests, self._connections, self._limits)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to a request."""
        with self._connections.answering(request.protocol):
            if request.path in _PROBES:
                return await self._probed(request)
            return self._refusal(request) or await self._served(request)

    async def _probed(self, request: web.BaseRequest) -> web.Response:
        """The answer to a probe or a scraper."""
        if request.method not in _READING:
            return _not_allowed()
        match request.path:
            case "/healthz":
                return self._told(is_good=self._probes.is_alive())
            case "/readyz":
                return self._told(is_good=self._probes.is_ready())
            case _:
                accept = request.headers.get(hdrs.ACCEPT, "")
                text, content_type = await self._probes.metrics(accept)
                headers = {hdrs.CONTENT_TYPE: content_type}
                return web.Response(body=text, headers=headers)

    def _told(self, *, is_good: bool) -> web.Response:
        status = "ok" if is_good else "unavailable"
        document = {"status": status, "height": self._probes.height()}
        return web.Response(
            status=_OK if is_good else _UNAVAILABLE,
            text=json.dumps(document) + "\n",
            content_type="application/json",
        )

    # --- for those who may ask -----------------------------------------------------

    def _refusal(self, request: web.BaseRequest) -> web.Response | None:
        """Why whoever asks may not, if so."""
        if not self._origins.is_ours(request):
            return _refused(
                421,
                "Host must name the machine that is asked, or be one of --http-hosts",
            )
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is None or self._origins.is_admitted(request, origin):
            return None
        return _refused(
            403,
            "this page's origin may not ask this node: it is not of this machine, nor "
            "one of --http-origins",
        )

    async def _served(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == hdrs.METH_OPTIONS and hdrs.ORIGIN in request.headers:
            return web.Response(status=204, headers=PREFLIGHT_HEADERS)

        def keep() -> bool:
            return self._connections.keep(request.protocol)

        for handler in self._handlers:
            answer = await handler(request, keep)
            if answer is not None:
                return answer
        return _refused(404, "there are /, /healthz, /readyz and /metrics")


def _not_allowed() -> web.Response:
    return web.Response(status=405, headers={hdrs.ALLOW: ", ".join(_READING)})


def _refused(status: int, message: str) -> web.Response:
    document = {"code": _CODES[status], "message": message}
    return web.Response(
        status=status,
        text=json.dumps(document) + "\n",
        content_type="application/json",
    )
