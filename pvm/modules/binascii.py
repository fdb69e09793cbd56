"""`binascii` for actors: hexadecimal.

Rules: `hexlify` gives lower-case bytes; `unhexlify` takes bytes or ASCII text of
either case without spaces, else `ValueError`. 10 cycles and one a byte.
"""

import binascii
from collections.abc import Mapping
from typing import Final

from pvm import costs
from pvm.modules.arguments import ascii_bytes, require_bytes
from pvm.modules.base64 import charge_text, len_of_base16
from pvm.runtime.context import Bound, ModuleContext
from pvm.runtime.exceptions import refused

EXPORTS: Final = frozenset({"hexlify", "unhexlify"})


def make(context: ModuleContext) -> Mapping[str, object]:
    """The names of `binascii` for one execution."""
    functions = _Binascii(context)
    return {name: getattr(functions, name) for name in EXPORTS}


class _Binascii(Bound):
    """The functions of the module."""

    __slots__ = ()

    def hexlify(self, data: object) -> bytes:
        """Bytes in lower-case hexadecimal."""
        self._meter.charge_cycles(costs.TRANSCODE)
        data = require_bytes(data)
        length = len_of_base16(len(data))
        self._meter.charge_cycles(length)
        charge_text(self._meter, length)
        return binascii.hexlify(data)

    def unhexlify(self, hexstr: object) -> bytes:
        """The bytes that hexadecimal text stands for; `ValueError` else."""
        self._meter.charge_cycles(costs.TRANSCODE)
        text = ascii_bytes(hexstr)
        self._meter.charge_cycles(len(text))
        charge_text(self._meter, len(text))
        try:
            return binascii.unhexlify(text)
        except binascii.Error:
            raise refused(
                ValueError("an even number of hexadecimal digits is wanted")
            ) from None
