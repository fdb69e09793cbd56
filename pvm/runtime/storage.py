"""`self.storage`: the state of an actor as a dictionary of values (host-api.md §3).

Rules: keys are str of at most 200 bytes of UTF-8 and live in the actor's own state
under a prefix, values are canonical CBOR. What is read is a copy: changing it
persists nothing, `storage[key] = value` does. An operation is priced as the `get`
and `set` it is made of, plus the encoding (sandbox.md §4).

Actors reach only public names and can assign only names that exist: with slots of
private names and no instance dictionary, a view cannot be changed from their side.
So one view serves one execution after another.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NoReturn

from pvm import costs
from pvm.cbor import MalformedCbor, UnencodableValue, Value, decode
from pvm.errors import HostError, HostErrorCode, ReadOnlyViolation
from pvm.host import Host
from pvm.meter import Meter
from pvm.runtime.values import from_cbor, to_cbor, type_name

STORAGE_PREFIX: Final = b"storage:"
"""Begins every key of the view, apart from those of `pvm_host.set_state`."""

STORAGE_KEY_BYTES_MAX: Final = 200
"""With the prefix, below the 256 bytes of a state key."""

KEYS_LIMIT: Final = 1_000
"""Keys that one `keys()` returns: the limit of `state_scan_prefix`."""

_VALUE_BYTES_MAX: Final = 65_536


class _Missing:
    """Type of the default that says that there is none."""

    __slots__ = ()


_MISSING: Final = _Missing()


def storage_key(key: str) -> bytes:
    """The state key under which `self.storage[key]` lies.

    Raises:
        HostError: `StorageError`, for a key that is too long or not UTF-8.
    """
    if len(key) > STORAGE_KEY_BYTES_MAX:  # before the work of encoding it
        raise _error(f"key must be at most {STORAGE_KEY_BYTES_MAX} bytes")
    try:
        encoded = key.encode()
    except UnicodeEncodeError:
        raise _error("key must be valid UTF-8, it has a lone surrogate") from None
    if len(encoded) > STORAGE_KEY_BYTES_MAX:
        raise _error(
            f"key must be at most {STORAGE_KEY_BYTES_MAX} bytes, not {len(encoded)}"
        )
    return STORAGE_PREFIX + encoded


def stored_values(entries: Iterable[tuple[bytes, bytes]]) -> dict[str, Value]:
    """What a view holds, of raw keys that begin with its prefix, and their values.

    What `pvm_host.set_state` wrote past the view is left out: a name that is no UTF-8,
    and a value that is no canonical CBOR, which the view refuses to read.
    """
    found: dict[str, Value] = {}
    for key, value in entries:
        with suppress(UnicodeDecodeError, MalformedCbor):
            found[key[len(STORAGE_PREFIX) :].decode()] = decode(value)
    return found


class StorageView:
    """Reads and writes an actor's state, charging its meter."""

    __slots__ = ("_host", "_meter")

    _host: Host
    _meter: Meter

    __iter__ = None
    """Not iterable: `keys()` is bounded and says so."""

    def __getitem__(self, key: object) -> Value:
        """The value under `key`; `KeyError(key)` where there is none."""
        value = self._load(key)
        if isinstance(value, _Missing):
            raise KeyError(key)
        return value

    def __setitem__(self, key: object, value: object) -> None:
        """Write `value` under `key`."""
        self._require_writable()
        state_key = self._state_key(key, costs.SET_STATE)
        try:
            encoded = to_cbor(value, self._meter)
        except UnencodableValue as error:
            self._refuse(costs.SET_STATE, f"value: {error}")
        if len(encoded) > _VALUE_BYTES_MAX:
            self._refuse(
                costs.SET_STATE,
                f"value must be at most {_VALUE_BYTES_MAX} bytes, not {len(encoded)}",
            )
        self._host.set_state(state_key, encoded)

    def __delitem__(self, key: object) -> None:
        """Remove `key`; `KeyError(key)` where there is nothing."""
        self._require_writable()
        state_key = self._state_key(key, costs.DELETE_STATE)
        if self._host.get_state(state_key) is None:
            raise KeyError(key)
        self._host.delete_state(state_key)

    def __contains__(self, key: object) -> bool:
        """True if there is a value under `key`."""
        self._meter.raise_if_halted()
        state_key = self._state_key(key, costs.GET_STATE)
        return self._host.get_state(state_key) is not None

    def get(self, key: object, default: object = None) -> object:
        """The value under `key`, else `default`."""
        value = self._load(key)
        return default if isinstance(value, _Missing) else value

    def pop(self, key: object, default: object = _MISSING) -> object:
        """Remove `key` and return its value; without one `default`, or `KeyError`."""
        self._require_writable()
        value = self._load(key)
        if isinstance(value, _Missing):
            if isinstance(default, _Missing):
                raise KeyError(key)
            return default
        self._host.delete_state(self._state_key(key, costs.DELETE_STATE))
        return value

    def setdefault(self, key: object, default: object = None) -> object:
        """The value under `key`; where there is none, `default` after writing it."""
        self._require_writable()
        value = self._load(key)
        if not isinstance(value, _Missing):
            return value
        self[key] = default
        return default

    def keys(self, prefix: object = "") -> list[str]:
        """Keys that begin with `prefix`, ascending, at most 1,000 of them."""
        self._meter.raise_if_halted()
        state_prefix = self._state_key(prefix, costs.SCAN_STATE)
        pairs = self._host.state_scan_prefix(state_prefix, KEYS_LIMIT)
        names = [key[len(STORAGE_PREFIX) :] for key, _ in pairs]
        self._meter.charge_memory(
            costs.SEQUENCE_BYTES
            + sum(8 + costs.TEXT_BYTES + 4 * len(name) for name in names)
        )
        try:
            return [name.decode() for name in names]
        except UnicodeDecodeError:
            raise _error("a key was written past the view: not UTF-8") from None

    def _load(self, key: object) -> "Value | _Missing":
        meter = self._meter
        meter.raise_if_halted()
        state_key = self._state_key(key, costs.GET_STATE)
        encoded = self._host.get_state(state_key)
        if encoded is None:
            return _MISSING
        try:
            return from_cbor(encoded, meter)
        except MalformedCbor:
            raise _error("the value was written past the view: not CBOR") from None

    def _require_writable(self) -> None:
        self._meter.raise_if_halted()
        if self._meter.read_only:
            self._meter.halt(ReadOnlyViolation())

    def _state_key(self, key: object, base: int) -> bytes:
        if type(key) is str and key.isascii() and len(key) <= STORAGE_KEY_BYTES_MAX:
            return STORAGE_PREFIX + key.encode()  # as nearly all are
        if type(key) is not str:
            self._refuse(base, f"key must be str, not {type_name(key)}")
        try:
            return storage_key(key)
        except HostError:
            self._meter.charge_cycles(base)
            raise

    def _refuse(self, base: int, message: str) -> NoReturn:
        # Charged like the host call that this would have become (D16).
        self._meter.charge_cycles(base)
        raise _error(message)


# Functions, not methods: an actor reaches every public name of its view.


def attach(view: StorageView, host: Host, meter: Meter) -> None:
    """Have a view show the state of the execution that begins."""
    view._host, view._meter = host, meter  # noqa: SLF001 - private to this module


def detach(view: StorageView) -> None:
    """End a view with its execution: what is used without one fails."""
    del view._host, view._meter  # noqa: SLF001 - private to this module


def _error(message: str) -> HostError:
    return HostError(HostErrorCode.StorageError, message)
