"""`hashlib` for actors: four hashes with `update`, `digest`, `hexdigest`.

Rules: bytes only; 500 cycles and 8 for each started 64 bytes (sandbox.md §4). A hash
function and a hash are instances with slots of private names: nothing can be
assigned to them.
"""

import hashlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Protocol

from pvm import costs
from pvm.meter import Meter
from pvm.modules.arguments import require_bytes
from pvm.runtime.context import ModuleContext

_BLOCK_BYTES = 64


class NativeHash(Protocol):
    """What the standard library gives."""

    def update(self, data: bytes, /) -> None:
        """Take in more."""
        ...

    def digest(self) -> bytes:
        """The digest of what was taken in."""
        ...


ALGORITHMS: Final[Mapping[str, Callable[[bytes], NativeHash]]] = MappingProxyType(
    {
        "blake2b": hashlib.blake2b,
        "sha256": hashlib.sha256,
        "sha3_256": hashlib.sha3_256,
        "sha512": hashlib.sha512,
    }
)
"""The hashes there are, by name."""

EXPORTS: Final = frozenset(ALGORITHMS)


def make(context: ModuleContext) -> Mapping[str, object]:
    """The names of `hashlib` for one execution."""
    return {name: HashFunction(context, name) for name in ALGORITHMS}


def charge_blocks(meter: Meter, base: int, length: int) -> None:
    """Charge `base` and the work on `length` bytes."""
    blocks = (length + _BLOCK_BYTES - 1) // _BLOCK_BYTES
    meter.charge_cycles(base + costs.SHA_PER_BLOCK * blocks)


class Hash:
    """A hash that takes in bytes; what the functions of the module return."""

    __slots__ = ("_hash", "_meter")

    def __init__(self, meter: Meter, native: NativeHash) -> None:
        self._meter = meter
        self._hash = native

    def update(self, data: object) -> None:
        """Take in more bytes."""
        self._meter.charge_cycles(costs.HASH_UPDATE)
        data = require_bytes(data)
        charge_blocks(self._meter, 0, len(data))
        self._hash.update(data)

    def digest(self) -> bytes:
        """The digest of all that was taken in."""
        self._meter.charge_cycles(costs.HASH_DIGEST)
        return self._hash.digest()

    def hexdigest(self) -> str:
        """The digest as lower-case hexadecimal text."""
        digest = self.digest()
        length = 2 * len(digest)
        self._meter.charge_cycles(costs.TRANSCODE + length)
        if length > costs.TEXT_FREE:
            self._meter.charge_memory(costs.TEXT_BYTES + length)
        return digest.hex()


class HashFunction:
    """One name of the module: called with bytes, or nothing, it starts a hash."""

    __slots__ = ("_context", "_name")

    def __init__(self, context: ModuleContext, name: str) -> None:
        self._context = context
        self._name = name

    def __call__(self, data: object = b"") -> Hash:
        """A hash that has taken in `data`."""
        meter = self._context.meter
        meter.charge_cycles(costs.SHA)
        meter.charge_memory(costs.HASH_BYTES)
        data = require_bytes(data)
        charge_blocks(meter, 0, len(data))
        return Hash(meter, ALGORITHMS[self._name](data))


def name_of(function: HashFunction) -> str:
    """The algorithm's name; for `hmac`."""
    return function._name  # noqa: SLF001 - public it would be an actor's to read
