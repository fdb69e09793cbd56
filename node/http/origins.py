"""Origins: under which names the port answers, and to pages of which origins.

Why: a page in a browser can send requests to this machine. With a name of its own that
it points here (DNS rebinding), it could read the answers, too; from its own origin, it
could send what needs no answer.

Rules: `Host` is a loopback name, an address that the connection came to, or one of the
operator's names. A page's origin, which browsers state with each request that may
change something, is the port's own, of this machine, or one of the operator's. Nothing
is granted to all, and no credentials of a browser's are ever asked for.
"""

from ipaddress import ip_address
from typing import TYPE_CHECKING

from node.runtime.settings import HttpAccess

if TYPE_CHECKING:
    from aiohttp.web import BaseRequest

__all__ = ["PREFLIGHT_HEADERS", "Origins"]

PREFLIGHT_HEADERS = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST",
    "Access-Control-Allow-Headers": (
        "Authorization, Connect-Protocol-Version, Connect-Timeout-Ms, Content-Type, "
        "X-User-Agent"
    ),
    "Access-Control-Max-Age": "7200",
    "Vary": "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
}
"""What a page of an admitted origin may send; for two hours, as long as browsers keep
it."""


class Origins:
    """Who may ask, by the names in a request."""

    __slots__ = ("_access", "_scheme")

    def __init__(self, access: HttpAccess) -> None:
        self._access = access
        self._scheme = "http" if access.tls is None else "https"

    def is_ours(self, request: "BaseRequest") -> bool:
        """Whether `Host` names this machine."""
        name = _name_of(request.headers.get("Host", ""))
        if name in self._access.hosts or _is_loopback(name):
            return True
        try:
            address = ip_address(name)
        except ValueError:
            return False
        if request.transport is None:
            return False
        listening = ip_address(request.transport.get_extra_info("sockname")[0])
        return address in (listening, getattr(listening, "ipv4_mapped", None))

    def is_admitted(self, request: "BaseRequest", origin: str) -> bool:
        """Whether a page of this origin may ask what this request asks."""
        origin = origin.lower()
        if origin in self._access.origins:
            return True
        scheme, _, host = origin.partition("://")
        if scheme not in ("http", "https"):
            return False
        is_own = (
            scheme == self._scheme and host == request.headers.get("Host", "").lower()
        )
        return is_own or _is_loopback(_name_of(host))


def _name_of(host: str) -> str:
    """A host without its port."""
    name, _, port = host.rpartition(":")
    if not name or not port.isdecimal():
        name = host
    return name.strip("[]").lower()


def _is_loopback(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
