"""For users: the chain inside a test, and the pytest plugin.

Names resolve when they are first used (PEP 562), so that importing costs little.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from node.client._sync.actor import Actor
    from node.client.exceptions import (
        BlockOpen,
        BundleRefused,
        InvalidArgument,
        ReadFailed,
        TransactionFailed,
        TransactionRefused,
        UnknownId,
    )
    from node.client.inputs import DevAccount
    from node.client.profiles import Profile
    from node.query.chain import Supply
    from node.testing.assertions import assert_event, assert_fires_at
    from node.testing.devnet import Devnet
    from node.testing.exceptions import DevnetClosed, SnapshotGone
    from node.testing.process import NodeNotStarted, NodeProcess, RunningNode
    from node.testing.snapshots import ChainSnapshot

__all__ = [
    "Actor",
    "BlockOpen",
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
    "Actor": "node.client._sync.actor",
    "BlockOpen": "node.client.exceptions",
    "BundleRefused": "node.client.exceptions",
    "ChainSnapshot": "node.testing.snapshots",
    "DevAccount": "node.client.inputs",
    "Devnet": "node.testing.devnet",
    "Supply": "node.query.chain",
    "DevnetClosed": "node.testing.exceptions",
    "FireFailed": "node.client.exceptions",
    "InvalidArgument": "node.client.exceptions",
    "NodeNotStarted": "node.testing.process",
    "NodeProcess": "node.testing.process",
    "Profile": "node.client.profiles",
    "ReadFailed": "node.client.exceptions",
    "RunningNode": "node.testing.process",
    "SnapshotGone": "node.testing.exceptions",
    "TransactionFailed": "node.client.exceptions",
    "TransactionRefused": "node.client.exceptions",
    "UnknownId": "node.client.exceptions",
    "assert_event": "node.testing.assertions",
    "assert_fires_at": "node.testing.assertions",
}


def __getattr__(name: str) -> object:
    """Load the module behind an exported name."""
    from pvm.lazy_exports import resolve  # noqa: PLC0415 - the plugin of pytest loads nothing

    return resolve(__name__, _HOMES, name)
