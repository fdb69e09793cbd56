"""For users: the chain in this process, without sockets, event loop or LevelDB.

Names resolve when they are first used (PEP 562), so that importing costs little.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from node.client.actor import Actor
    from node.client.failures import (
        BundleRefused,
        InvalidArgument,
        ReadFailed,
        TransactionFailed,
        TransactionRefused,
        UnknownId,
    )
    from node.client.profiles import Profile
    from node.client.values import DevAccount
    from node.query.chain import Supply
    from node.testing.assertions import assert_event, assert_fires_at
    from node.testing.devnet import Devnet
    from node.testing.failures import DevnetClosed, SnapshotGone
    from node.testing.process import NodeNotStarted, NodeProcess, RunningNode
    from node.testing.snapshots import ChainSnapshot

__all__ = [
    "Actor",
    "BundleRefused",
    "ChainSnapshot",
    "DevAccount",
    "Devnet",
    "DevnetClosed",
    "FireFailed",
    "InvalidArgument",
    "NodeNotStarted",
    "NodeProcess",
    "Profile",
    "ReadFailed",
    "RunningNode",
    "SnapshotGone",
    "Supply",
    "TransactionFailed",
    "TransactionRefused",
    "UnknownId",
    "assert_event",
    "assert_fires_at",
]

_HOMES = {
    "Actor": "node.client.actor",
    "BundleRefused": "node.client.failures",
    "ChainSnapshot": "node.testing.snapshots",
    "DevAccount": "node.client.values",
    "Devnet": "node.testing.devnet",
    "Supply": "node.query.chain",
    "DevnetClosed": "node.testing.failures",
    "FireFailed": "node.client.failures",
    "InvalidArgument": "node.client.failures",
    "NodeNotStarted": "node.testing.process",
    "NodeProcess": "node.testing.process",
    "Profile": "node.client.profiles",
    "ReadFailed": "node.client.failures",
    "RunningNode": "node.testing.process",
    "SnapshotGone": "node.testing.failures",
    "TransactionFailed": "node.client.failures",
    "TransactionRefused": "node.client.failures",
    "UnknownId": "node.client.failures",
    "assert_event": "node.testing.assertions",
    "assert_fires_at": "node.testing.assertions",
}


def __getattr__(name: str) -> object:
    """Load the module behind an exported name."""
    from pvm.late import resolve  # noqa: PLC0415 - the plugin of pytest loads nothing

    return resolve(__name__, _HOMES, name)
