"""The node of the loop: one of its own, or one that somebody else starts and ends.

Rule: a node that goes away ends nothing. One of its own is started again, of another
the loop waits until it answers; both are told once.
"""

import socket
from contextlib import closing
from urllib.parse import urlsplit

from node.cli.loop.signals import without_interruption
from node.cli.loop.telling import Teller
from node.client._sync.client import Client
from node.client.channels import Endpoint
from node.client.exceptions import NodeError, NodeUnreachable
from node.rpc.v1 import queries_pb2
from node.testing.process import NodeNotStarted, NodeProcess

__all__ = ["NodeLink", "OwnNode"]

LOOK_SECONDS = 2.0
"""Between two looks whether the node is there."""

PROBE_SECONDS = 5.0
"""Until a node is taken for busy, or not found where it is looked for."""

CALL_SECONDS = 20.0
"""Until a save is in a block, on a node that makes blocks by the clock."""

_USUAL, _USUAL_HTTP = "127.0.0.1:50051", "127.0.0.1:8080"
"""Where the other commands look for a node, and `open` for its page."""


class OwnNode:
    """A node that ends with the loop; its chain is in memory."""

    def __init__(self) -> None:
        self._process: NodeProcess | None = None
        self._listen, self._http_listen = (
            usual if _is_free(usual) else "127.0.0.1:0"
            for usual in (_USUAL, _USUAL_HTTP)
        )
        self.page = ""
        """URL of its page, once it was started."""

    def start(self) -> Endpoint:
        """Start it, where it was before if it was.

        Raises:
            NodeNotStarted: it ended, or did not serve in time.
        """
        self.stop()
        listens = "--grpc-listen", self._listen, "--http-listen", self._http_listen
        process = NodeProcess(*listens)
        with without_interruption():
            process.__enter__()
            self._process, self._listen = process, process.url
        self.page = process.page
        self._http_listen = urlsplit(self.page).netloc
        return Endpoint(process.url)

    def stop(self) -> None:
        """End it; a second call has no effect."""
        process, self._process = self._process, None
        if process is not None:
            process.__exit__(None, None, None)


def _is_free(address: str) -> bool:
    host, _, port = address.partition(":")
    with closing(socket.socket()) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, int(port)))
        except OSError:
            return False
    return True


def _client(endpoint: Endpoint, timeout: float) -> Client:
    return Client(
        endpoint.url, tls_ca=endpoint.tls_ca, token=endpoint.token, timeout=timeout
    )


class NodeLink:
    """A connection that outlives the node."""

    def __init__(self, teller: Teller, home: OwnNode | Endpoint) -> None:
        self._teller = teller
        self._home = home
        self._client: Client | None = None
        self._probe: Client | None = None
        self._looked = 0.0
        self._is_trouble_told = False

    @property
    def is_up(self) -> bool:
        """Whether the node answered when it was asked last."""
        return self._client is not None

    @property
    def page(self) -> str:
        """URL of the page of a node of its own; empty of another's."""
        return self._home.page if isinstance(self._home, OwnNode) else ""

    @property
    def client(self) -> Client:
        """The client of a node that is there."""
        assert self._client is not None, "it is asked of a node that is up"
        return self._client

    def open(self) -> queries_pb2.GetStatusResponse:
        """Start the node, or find it; what it is.

        Raises:
            NodeNotStarted: the own node does not start.
            NodeUnreachable: no node is there.
            NodeError: it refuses to answer.
        """
        home = self._home
        endpoint = home.start() if isinstance(home, OwnNode) else home
        self._probe = _client(endpoint, PROBE_SECONDS)
        try:
            status = self._probe.api.status()
        except BaseException:
            self._hang_up()
            raise
        self._client = _client(endpoint, CALL_SECONDS)
        return status

    def look(self, now: float) -> bool:
        """See from time to time whether the node is there; whether it came back."""
        if now - self._looked < LOOK_SECONDS:
            return False
        self._looked = now
        if self._client is None or self._probe is None:
            return self._try_again()
        try:
            self._probe.api.status()
        except NodeUnreachable as error:
            self.lost(error)
        except NodeError:
            return False  # it is busy
        return False

    def lost(self, error: NodeUnreachable) -> None:
        """Note that the node went away."""
        self._hang_up()
        is_own = isinstance(self._home, OwnNode)
        next_ = "a new one is started" if is_own else "waiting for it"
        self._teller.say("node_gone", f"the node went away: {next_}", url=error.url)
        self._looked = 0.0  # look at once

    def _try_again(self) -> bool:
        try:
            status = self.open()
        except (NodeUnreachable, NodeError, NodeNotStarted) as error:
            if not isinstance(error, NodeUnreachable) and not self._is_trouble_told:
                self._is_trouble_told = True
                self._teller.say("node_trouble", f"{error}")
            return False
        self._is_trouble_told = False
        url, height = self.client.api.url, status.head.height
        text = f"the node is back at {url}, at height {height}"
        self._teller.say("node_back", text, url=url, height=height)
        return True

    def _hang_up(self) -> None:
        for client in (self._client, self._probe):
            if client is not None:
                client.close()
        self._client = self._probe = None

    def close(self) -> None:
        """Hang up, and end the node if it is the loop's own."""
        self._hang_up()
        if isinstance(self._home, OwnNode):
            self._home.stop()
