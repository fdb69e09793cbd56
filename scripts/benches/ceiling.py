"""The ceiling of traffic: the least that any such node would do, and nothing else.

A bare grpc.aio server on uvloop: it takes bytes, recovers the signer, puts them into
LevelDB with a synced batch, and answers. No decoding, no pool, no execution, no
state, no receipt. Run as a program, it prints its port and serves until it is killed.

`Each` syncs for every call, as a chain with a block a transaction must. `Grouped`
syncs once for all calls that came in meanwhile, as a chain with many in a block may.
"""

import asyncio
import sys

import grpc
import plyvel
import uvloop

from node.primitives.crypto import keccak256, recover

SIGNATURE_BYTES = 65
_SERVICE = "bench.Ceiling"
EACH = f"/{_SERVICE}/Each"
GROUPED = f"/{_SERVICE}/Grouped"

_Waiting = tuple[bytes, bytes, asyncio.Future[None]]


class Ceiling:
    """Echo with a signature recovered and a batch synced."""

    def __init__(self, folder: str) -> None:
        self._database = plyvel.DB(folder, create_if_missing=True)
        self._waiting: list[_Waiting] = []
        self._writer: asyncio.Task[None] | None = None
        self._count = 0

    def _accept(self, raw: bytes) -> tuple[bytes, bytes]:
        recover(keccak256(raw[:-SIGNATURE_BYTES]), raw[-SIGNATURE_BYTES:])
        self._count += 1
        return self._count.to_bytes(8, "big"), raw

    async def each(self, raw: bytes, _context: object) -> bytes:
        """A synced batch of its own for every call."""
        key, value = self._accept(raw)
        with self._database.write_batch(sync=True) as batch:
            batch.put(key, value)
        return raw

    async def grouped(self, raw: bytes, _context: object) -> bytes:
        """A batch on another thread, for all that came while it wrote the last one."""
        key, value = self._accept(raw)
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((key, value, done))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_out())
        await done
        return raw

    async def _write_out(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            await asyncio.to_thread(self._commit, waiting)
            for _, _, done in waiting:
                done.set_result(None)
        self._writer = None

    def _commit(self, waiting: list[_Waiting]) -> None:
        with self._database.write_batch(sync=True) as batch:
            for key, value, _ in waiting:
                batch.put(key, value)


async def serve(folder: str) -> None:
    """Listen on a free port and print it."""
    ceiling = Ceiling(folder)
    server = grpc.aio.server()
    handlers = {
        "Each": grpc.unary_unary_rpc_method_handler(ceiling.each),
        "Grouped": grpc.unary_unary_rpc_method_handler(ceiling.grouped),
    }
    generic = grpc.method_handlers_generic_handler(_SERVICE, handlers)
    server.add_generic_rpc_handlers((generic,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await server.wait_for_termination()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
