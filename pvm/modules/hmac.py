"""`hmac` for actors: keyed hashes over the algorithms of `hashlib`.

Rules: key and message are bytes, the algorithm is one of our `hashlib` functions or
its name; priced as two hashes of the key's block and one of the message.
"""

import hmac
from collections.abc import Mapping
from typing import Final

from pvm import costs
from pvm.modules.arguments import require_bytes
from pvm.modules.hashlib import ALGORITHMS, Hash, HashFunction, charge_blocks, name_of
from pvm.runtime.context import Bound, ModuleContext
from pvm.runtime.exceptions import refused

EXPORTS: Final = frozenset({"compare_digest", "digest", "new"})

_KEY_BLOCKS_BYTES = 4 * 136  # inner and outer pad, each at most a block of sha3_256


def make(context: ModuleContext) -> Mapping[str, object]:
    """The names of `hmac` for one execution."""
    functions = _Hmac(context)
    return {name: getattr(functions, name) for name in EXPORTS}


class _Hmac(Bound):
    """The functions of the module."""

    __slots__ = ()

    def new(self, key: object, msg: object, digestmod: object) -> Hash:
        """A keyed hash that has taken in `msg`."""
        self._meter.charge_memory(costs.HASH_BYTES)
        return Hash(self._meter, self._start(key, msg, digestmod))

    def digest(self, key: object, msg: object, digest: object) -> bytes:
        """The keyed digest of `msg`."""
        return self._start(key, msg, digest).digest()

    def compare_digest(self, a: object, b: object) -> bool:
        """Whether two byte strings are equal."""
        self._meter.charge_cycles(costs.HASH_UPDATE)
        first, second = require_bytes(a), require_bytes(b)
        self._meter.charge_cycles(min(len(first), len(second)) // costs.COMPARED_PER)
        return first == second

    def _start(self, key: object, msg: object, algorithm: object) -> hmac.HMAC:
        meter = self._meter
        meter.charge_cycles(2 * costs.SHA)
        if type(algorithm) is HashFunction:
            algorithm = name_of(algorithm)
        if type(algorithm) is not str or algorithm not in ALGORITHMS:
            raise refused(ValueError("an algorithm of hashlib is wanted"))
        native_key, message = require_bytes(key), require_bytes(msg)
        length = len(native_key) + len(message) + _KEY_BLOCKS_BYTES
        charge_blocks(meter, 0, length)
        return hmac.new(native_key, message, algorithm)
