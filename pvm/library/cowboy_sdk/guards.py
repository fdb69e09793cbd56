"""Values of the storage that must not change while something else is done."""

import pvm_host
from cowboy_sdk.errors import StateConflictError


class GuardedValue:
    """A value of `self.storage` as it was when the guard was made."""

    def __init__(self, key):
        self.key = key
        self.fingerprint = self._fingerprint()

    @property
    def value(self):
        """The value; raises StateConflictError if it is another by now."""
        self.verify(self.fingerprint)
        data = pvm_host.get_state(b"storage:" + self.key.encode())
        return None if data is None else pvm_host.cbor_decode(data)

    def verify(self, fingerprint):
        """Raise StateConflictError unless the value has this fingerprint."""
        if self._fingerprint() != fingerprint:
            raise StateConflictError(f"{self.key!r} changed")

    def _fingerprint(self):
        data = pvm_host.get_state(b"storage:" + self.key.encode())
        return pvm_host.keccak256(b"" if data is None else data)


class GuardSet:
    """Guards of several keys."""

    def __init__(self, *keys):
        self.guards = [GuardedValue(key) for key in keys]

    def verify(self):
        """Raise StateConflictError unless all are what they were."""
        for guard in self.guards:
            guard.verify(guard.fingerprint)


def storage_guard(key):
    """A guard of one key of `self.storage`."""
    return GuardedValue(key)
