"""`base64` for actors: base 64 in both alphabets, and base 16.

Rules: encoders take bytes and give bytes. Decoders take bytes or ASCII text and
accept exactly what the encoder returns for some bytes, so that no version of the
interpreter has a say in what is lenient; else `ValueError`. 10 cycles and one a byte.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Final

from pvm import costs
from pvm.meter import Meter
from pvm.modules.arguments import ascii_bytes, require_bytes
from pvm.runtime.context import Bound, ModuleContext
from pvm.runtime.exceptions import refused

EXPORTS: Final = frozenset(
    {
        "b16decode",
        "b16encode",
        "b64decode",
        "b64encode",
        "urlsafe_b64decode",
        "urlsafe_b64encode",
    }
)


def make(context: ModuleContext) -> Mapping[str, object]:
    """The names of `base64` for one execution."""
    functions = _Base64(context)
    return {name: getattr(functions, name) for name in EXPORTS}


class _Base64(Bound):
    """The functions of the module."""

    __slots__ = ()

    def b64encode(self, s: object) -> bytes:
        """Bytes in base 64, with padding."""
        return self._encode(s, base64.b64encode, len_of_base64)

    def urlsafe_b64encode(self, s: object) -> bytes:
        """Bytes in base 64 with `-` and `_`, with padding."""
        return self._encode(s, base64.urlsafe_b64encode, len_of_base64)

    def b16encode(self, s: object) -> bytes:
        """Bytes in upper-case hexadecimal."""
        return self._encode(s, base64.b16encode, len_of_base16)

    def b64decode(self, s: object) -> bytes:
        """The bytes that base 64 encodes; `ValueError` for anything else."""
        return self._decode(s, base64.b64decode, base64.b64encode)

    def urlsafe_b64decode(self, s: object) -> bytes:
        """The bytes that url-safe base 64 encodes; `ValueError` for anything else."""
        return self._decode(s, base64.urlsafe_b64decode, base64.urlsafe_b64encode)

    def b16decode(self, s: object) -> bytes:
        """The bytes that upper-case hexadecimal encodes; `ValueError` else."""
        return self._decode(s, base64.b16decode, base64.b16encode)

    def _encode(
        self,
        value: object,
        encode: Callable[[bytes], bytes],
        length_of: Callable[[int], int],
    ) -> bytes:
        self._meter.charge_cycles(costs.TRANSCODE)
        data = require_bytes(value)
        length = length_of(len(data))
        self._meter.charge_cycles(length)
        charge_text(self._meter, length)
        return encode(data)

    def _decode(
        self,
        value: object,
        decode: Callable[[bytes], bytes],
        encode: Callable[[bytes], bytes],
    ) -> bytes:
        self._meter.charge_cycles(costs.TRANSCODE)
        text = ascii_bytes(value)
        self._meter.charge_cycles(len(text))
        charge_text(self._meter, len(text))
        try:
            data = decode(text)
        except binascii.Error:
            raise refused(ValueError("not what the encoder returns")) from None
        if encode(data) != text:
            raise refused(ValueError("not what the encoder returns"))
        return data


def len_of_base64(length: int) -> int:
    """Length of `length` bytes in base 64, padded."""
    return (length + 2) // 3 * 4


def len_of_base16(length: int) -> int:
    """Length of `length` bytes in base 16."""
    return 2 * length


def charge_text(meter: Meter, length: int) -> None:
    """Charge memory for `length` bytes or characters of ASCII that are made."""
    if length > costs.TEXT_FREE:
        meter.charge_memory(costs.TEXT_BYTES + length)
