# Written by scripts/gensync.py from _async/profiler.py: change that one.
"""Profiler: what the blocks of a node cost, while a profile of them is open.

The node executes each block again, watched, and tells what it cost, as long as it keeps
the state before it: so the client looks after each act of its own.
"""

import threading

from node.client._sync.api import Api
from node.client.exceptions import NodeError
from node.client.labels import Labels
from node.client.profiles import Profile, profile_from_proto

__all__ = ["Profiler"]


class Profiler:
    """Follows the chain from a height on."""

    def __init__(self, api: Api, height: int, labels: Labels) -> None:
        self.profile = Profile(labels=labels)
        self._api = api
        self._height = height
        self._lock = threading.Lock()
        self._refusal: NodeError | None = None

    def look(self) -> None:
        """Count what was executed since; what a rewind undid stays counted.

        What the node refuses is kept for `finish`: the act that was made is done.
        """
        with self._lock:
            try:
                self._look()
            except NodeError as error:
                self._refusal = self._refusal or error

    def _look(self) -> None:
        status = self._api.status()
        self._height = min(self._height, status.head.height)
        if self._refusal is not None:
            return
        for block in self._api.blocks(self._height + 1):
            height = block.header.height
            if block.receipt_count:
                told = self._api.block_profile(height)
                self.profile.add(profile_from_proto(told))
            self._height = height

    def finish(self) -> None:
        """Count the rest.

        Raises:
            NodeError: a block was not told, and what came after it is not counted.
        """
        self.look()
        if self._refusal is not None:
            raise self._refusal
