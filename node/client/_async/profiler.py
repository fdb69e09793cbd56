"""AsyncProfiler: what the blocks of a node cost, while a profile of them is open.

The node executes each block again, watched, and tells what it cost, as long as it keeps
the state before it: so the client looks after each act of its own.
"""

import asyncio

from node.client._async.api import AsyncApi
from node.client.exceptions import NodeError
from node.client.labels import Labels
from node.client.profiles import Profile, profile_from_proto

__all__ = ["AsyncProfiler"]


class AsyncProfiler:
    """Follows the chain from a height on."""

    def __init__(self, api: AsyncApi, height: int, labels: Labels) -> None:
        self.profile = Profile(labels=labels)
        self._api = api
        self._height = height
        self._lock = asyncio.Lock()
        self._refusal: NodeError | None = None

    async def look(self) -> None:
        """Count what was executed since; what a rewind undid stays counted.

        What the node refuses is kept for `finish`: the act that was made is done.
        """
        async with self._lock:
            try:
                await self._look()
            except NodeError as error:
                self._refusal = self._refusal or error

    async def _look(self) -> None:
        status = await self._api.status()
        self._height = min(self._height, status.head.height)
        if self._refusal is not None:
            return
        async for block in self._api.blocks(self._height + 1):
            height = block.header.height
            if block.receipt_count:
                told = await self._api.block_profile(height)
                self.profile.add(profile_from_proto(told))
            self._height = height

    async def finish(self) -> None:
        """Count the rest.

        Raises:
            NodeError: a block was not told, and what came after it is not counted.
        """
        await self.look()
        if self._refusal is not None:
            raise self._refusal
