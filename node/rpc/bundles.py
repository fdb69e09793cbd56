"""Bundles on the wire: a file in parts, out of a chain and into one.

Rules: parts are bounded, so is the whole of what comes, and how many come at a time.
What comes goes into a file without a name in the chain's folder, which is gone with the
process; a chain in memory has its bundle there, too. Nothing of it reaches the chain
before it was read to its end.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import ExitStack
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, cast

from node.archive.bundle import check_bundle, pack_chain
from node.chain.block import Header
from node.chain.bundle_errors import BundleFault, BundleRefused, refuse_bundle
from node.rpc.answers import Answers
from node.rpc.limits import RpcLimits
from node.rpc.requests import InvalidRequest
from node.rpc.v1 import dev_pb2 as pb
from node.runtime.types import Backend, TooManyReads

__all__ = ["PART_BYTES_MAX", "Bundles"]

PART_BYTES_MAX = 1 << 20
"""Of one message: half of what a server takes before it decodes."""

_NAME = "the bundle"


class Bundles:
    """What a service does with bundles."""

    __slots__ = ("_answers", "_backend", "_coming", "_limits")

    def __init__(
        self, backend: Backend, limits: RpcLimits, answers: Answers | None = None
    ) -> None:
        self._backend = backend
        self._answers = answers or Answers()
        self._limits = limits
        self._coming = 0

    async def export(self) -> AsyncGenerator[bytes, None]:
        """The chain up to the head, part by part; later blocks change nothing of it.

        Raises:
            HistoryNotKept: Blocks were pruned, or the chain began with a state file.
        """
        state = self._backend.state
        parts = iter(pack_chain(state.snapshot, state.head).parts())
        while part := await self._answers.run(lambda: next(parts, b"")):
            for piece in _pieces(part):
                yield piece

    async def take(self, requests: AsyncIterator[pb.ImportBundleRequest]) -> Header:
        """Fill the chain with what comes; the new head.

        Whoever goes away once all has come does not stop it.

        Raises:
            BundleRefused: See `Backend.import_bundle`; or it is too large.
            TooManyReads: Others come already.
        """
        if self._coming >= self._limits.imports_max:
            raise TooManyReads(f"{self._coming} bundles are being imported")
        with ExitStack() as ending:
            self._coming += 1
            ending.callback(self._forget)
            file = ending.enter_context(_new_file(self._backend.folder))
            await self._receive(requests, file)
            bundle = await asyncio.to_thread(check_bundle, file, _NAME)
            work = asyncio.create_task(self._backend.import_bundle(bundle))
            work.add_done_callback(partial(_end, ending.pop_all()))
        return await asyncio.shield(work)

    def _forget(self) -> None:
        self._coming -= 1

    async def _receive(
        self, requests: AsyncIterator[pb.ImportBundleRequest], file: BinaryIO
    ) -> None:
        size, most = 0, self._limits.bundle_bytes_max
        async for request in requests:
            if len(request.data) > PART_BYTES_MAX:
                raise InvalidRequest("data", f"has at most {PART_BYTES_MAX} bytes")
            size += len(request.data)
            if size > most:
                raise refuse_bundle(
                    BundleFault.TOO_LARGE,
                    f"the bundle has more than {most} bytes",
                    size=size,
                    max=most,
                )
            await asyncio.to_thread(_write, file, request.data)


def _new_file(folder: Path | None) -> BinaryIO:
    """A file that is gone when it is closed."""
    if folder is None:
        return BytesIO()
    try:
        return cast("BinaryIO", tempfile.TemporaryFile(dir=folder))
    except OSError as error:
        raise _unusable(error) from error


def _write(file: BinaryIO, data: bytes) -> None:
    try:
        file.write(data)
        file.flush()
    except MemoryError as error:
        file.close()
        raise _unusable(OSError("there is not enough memory")) from error
    except OSError as error:
        raise _unusable(error) from error


def _unusable(error: OSError) -> BundleRefused:
    return refuse_bundle(
        BundleFault.FILE_UNUSABLE,
        f"a temporary file cannot be written: {error.strerror or error}",
    )


def _end(ending: ExitStack, work: asyncio.Task[Header]) -> None:
    """Release what an import needed; if nobody waits for it, nobody is told."""
    ending.close()
    if not work.cancelled():
        work.exception()


def _pieces(part: bytes) -> Iterator[bytes]:
    for begin in range(0, len(part), PART_BYTES_MAX):
        yield part[begin : begin + PART_BYTES_MAX]
