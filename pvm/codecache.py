"""Compiled actors by code hash, so that a source is compiled once: by its deployment.

Compiling is what a deployment pays for, by the byte and by the node; a message pays the
same whatever the cache holds, so it must not compile. Rules: what is kept is derived
from the source alone and is never part of the state; no result depends on it; both
levels are bounded by bytes, whatever actors are deployed.
"""

import marshal
import zlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from msgspec.structs import astuple

from pvm import costs
from pvm.alarm import suspended
from pvm.errors import without_memory_errors
from pvm.node_charges import Charge, free

if TYPE_CHECKING:
    from pvm.actor_code import ActorCode

LIVE_BYTES_MAX: Final = 64 * 2**20
"""Of code that can run at once, by its marshalled length: some 1,500 ordinary actors.
In memory it takes about twice that."""

KEPT_BYTES_MAX: Final = 256 * 2**20
"""Of packed code: some 20,000 ordinary actors, or 2,000 that were made for it."""

_ENTRY_BYTES: Final = 512
"""What an entry takes beside its code, so that many small ones are bounded, too."""

_FASTEST: Final = 1

_T = TypeVar("_T")


class _Bounded(Generic[_T]):
    """What was used last, as much as has room."""

    __slots__ = ("_entries", "_room")

    def __init__(self, bytes_max: int) -> None:
        self._entries: OrderedDict[bytes, tuple[_T, int]] = OrderedDict()
        self._room = bytes_max

    def find(self, key: bytes) -> _T | None:
        found = self._entries.get(key)
        if found is None:
            return None
        self._entries.move_to_end(key)
        return found[0]

    def put(self, key: bytes, value: _T, size: int) -> None:
        self._entries[key] = value, size + _ENTRY_BYTES
        self._room -= size + _ENTRY_BYTES
        while self._room < 0 and len(self._entries) > 1:
            _, (_, freed) = self._entries.popitem(last=False)
            self._room += freed

    def __len__(self) -> int:
        return len(self._entries)


class CodeCache:
    """Compiled actors by code hash: those used last ready to run, others packed."""

    def __init__(
        self, live_bytes_max: int = LIVE_BYTES_MAX, kept_bytes_max: int = KEPT_BYTES_MAX
    ) -> None:
        """An empty cache; each level holds at least the actor that was used last."""
        self._live: _Bounded[ActorCode] = _Bounded(live_bytes_max)
        self._kept: _Bounded[bytes] = _Bounded(kept_bytes_max)
        self.compilations = 0
        """Sources compiled so far, for whoever watches."""

    @without_memory_errors
    def find(self, code_hash: bytes) -> "ActorCode | None":
        """The compiled actor, if the cache holds it; its source is not needed."""
        live = self._live.find(code_hash)
        if live is not None:
            return live
        packed = self._kept.find(code_hash)
        if packed is None:
            return None
        marshalled = zlib.decompress(packed)
        with suspended():
            code = _unpacked(marshalled)
        self._live.put(code_hash, code, len(marshalled))
        return code

    @without_memory_errors
    def get(
        self, code_hash: bytes, source: bytes, charge: Charge = free
    ) -> "ActorCode":
        """The compiled actor; the source is compiled if the cache does not hold it.

        Args:
            code_hash: hash of the source, under which it is kept.
            source: source of the actor.
            charge: takes the cycles of compiling; they are the same if nothing needs to
                be compiled.

        Raises:
            CompileError: the source is refused; refusals are not remembered.
            HostMemoryExhausted: this machine has no memory left.
        """
        code = self.find(code_hash)
        if code is not None:
            charge(costs.COMPILE_PER_NODE * code.nodes)
        else:
            self.compilations += 1
            with suspended():
                code, marshalled = _compiled(source, charge)
            packed = zlib.compress(marshalled, _FASTEST)
            self._kept.put(code_hash, packed, len(packed))
            self._live.put(code_hash, code, len(marshalled))
        return code

    def __len__(self) -> int:
        """Number of compiled actors that are ready to run."""
        return len(self._live)


def _compiled(source: bytes, charge: Charge) -> "tuple[ActorCode, bytes]":
    """The code, and how it is packed."""
    from pvm.driver.actors import compile_actor  # noqa: PLC0415 - half of pvm

    code = compile_actor(source, charge=charge)
    return code, marshal.dumps(astuple(code))


def _unpacked(marshalled: bytes) -> "ActorCode":
    """What this process packed: it comes from nowhere else."""
    from pvm.actor_code import ActorCode  # noqa: PLC0415 - as above

    return ActorCode(*marshal.loads(marshalled))  # noqa: S302 - our own bytes
