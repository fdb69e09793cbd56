"""How far back the history of a store reaches.

All of it, unless old blocks were pruned or the store was made of a state file. One
small record says so; it only ever rises.
"""

from msgspec import Struct

from node.primitives.types import Height
from node.state import keys
from node.state.store import StoreSnapshot

__all__ = ["Oldest", "load_oldest"]

_GENESIS = Height(0)


class Oldest(Struct, frozen=True):
    """How far back the history reaches; genesis' header is there, too."""

    header: Height = _GENESIS
    """Of the oldest block whose header is kept."""
    contents: Height = _GENESIS
    """Of the oldest one of which all is kept: transactions, receipts, decisions."""

    def encode(self) -> bytes:
        """What is kept under `keys.OLDEST`."""
        return keys.height8(self.header) + keys.height8(self.contents)


def load_oldest(snapshot: StoreSnapshot) -> Oldest:
    """How far back a store's history reaches."""
    data = snapshot.get(keys.OLDEST)
    if data is None:
        return Oldest()
    heights = data[: keys.HEIGHT_BYTES], data[keys.HEIGHT_BYTES :]
    header, contents = (Height(int.from_bytes(height, "big")) for height in heights)
    return Oldest(header, contents)
