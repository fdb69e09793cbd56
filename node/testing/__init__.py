"""For users: the chain in this process, without sockets, event loop or LevelDB.

Names resolve when they are first used (PEP 562), so that importing costs little.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from node.query.chain import Supply
    from node.testing.actor import Actor, DevAccount
    from node.testing.devnet import Devnet
    from node.testing.failures import (
        DevnetClosed,
        ReadFailed,
        SnapshotGone,
        TransactionFailed,
        TransactionRefused,
    )
    from node.testing.snapshots import ChainSnapshot

__all__ = [
    "Actor",
    "ChainSnapshot",
    "DevAccount",
    "Devnet",
    "DevnetClosed",
    "ReadFailed",
    "SnapshotGone",
    "Supply",
    "TransactionFailed",
    "TransactionRefused",
]

_HOMES = {
    "Actor": "node.testing.actor",
    "ChainSnapshot": "node.testing.snapshots",
    "DevAccount": "node.testing.actor",
    "Devnet": "node.testing.devnet",
    "Supply": "node.query.chain",
    "DevnetClosed": "node.testing.failures",
    "ReadFailed": "node.testing.failures",
    "SnapshotGone": "node.testing.failures",
    "TransactionFailed": "node.testing.failures",
    "TransactionRefused": "node.testing.failures",
}


def __getattr__(name: str) -> object:
    """Load the module behind an exported name."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
