"""Values of the storage that must not change while something else is done."""

from typing import Any

from cowboy_sdk.errors import StateConflictError as StateConflictError

class GuardedValue:
    """A value of `self.storage` as it was when the guard was made."""

    key: str
    fingerprint: bytes
    """keccak256 of the value's canonical CBOR, 32 bytes."""

    def __init__(self, key: str) -> None:
        """Remember what `self.storage[key]` is now."""

    @property
    def value(self) -> Any:
        """The value, None if there is none.

        Raises:
            StateConflictError: it is another by now.
        """

    def verify(self, fingerprint: bytes) -> None:
        """Compare with a fingerprint.

        Raises:
            StateConflictError: the value has another.
        """

class GuardSet:
    """Guards of several keys."""

    guards: list[GuardedValue]

    def __init__(self, *keys: str) -> None:
        """Remember what each of the keys is now."""

    def verify(self) -> None:
        """Compare all.

        Raises:
            StateConflictError: one is not what it was.
        """

def storage_guard(key: str) -> GuardedValue:
    """A guard of one key of `self.storage`."""
