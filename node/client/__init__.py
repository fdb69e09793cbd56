"""For users: a node's chain in Python, and the keys to sign with.

`Client` and its twin `AsyncClient` speak gRPC, each over an `api` with one method a
call; `Wallet` signs. Neither needs LevelDB
or the engine. Names are imported when they are first used (PEP 562), so that who only
signs does not load gRPC.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from node.client._async.actor import AsyncActor, AsyncChain, AsyncSnapshot
    from node.client._async.api import AsyncApi
    from node.client._async.client import AsyncClient
    from node.client._sync.actor import Actor, Chain, Snapshot
    from node.client._sync.api import Api
    from node.client._sync.client import Client
    from node.client.exceptions import (
        BundleRefused,
        ChainClosed,
        InvalidArgument,
        NodeError,
        NodeUnreachable,
        OutcomeUnknown,
        ReadFailed,
        TransactionDropped,
        TransactionFailed,
        TransactionRefused,
        UnknownId,
    )
    from node.client.inputs import DevAccount
    from node.client.messages import EventFilter, TimerFilter, TimerQuery, draft
    from node.client.profiles import Profile
    from node.client.proofs import (
        AccountProof,
        BadProof,
        DueProof,
        Proven,
        ReceiptProof,
        StorageProof,
        TimerProof,
        TransactionProof,
        check_proof,
    )
    from node.client.wallet import Wallet, build_body

__all__ = [
    "AccountProof",
    "Actor",
    "Api",
    "AsyncActor",
    "AsyncApi",
    "AsyncChain",
    "AsyncClient",
    "AsyncSnapshot",
    "BadProof",
    "BundleRefused",
    "Chain",
    "ChainClosed",
    "Client",
    "DevAccount",
    "DueProof",
    "EventFilter",
    "FireFailed",
    "InvalidArgument",
    "NodeError",
    "NodeUnreachable",
    "OutcomeUnknown",
    "Profile",
    "Proven",
    "ReadFailed",
    "ReceiptProof",
    "Snapshot",
    "StorageProof",
    "TimerFilter",
    "TimerProof",
    "TimerQuery",
    "TransactionDropped",
    "TransactionFailed",
    "TransactionProof",
    "TransactionRefused",
    "UnknownId",
    "Wallet",
    "build_body",
    "check_proof",
    "draft",
]

_HOMES = {
    "AccountProof": ".proofs",
    "Actor": "._sync.actor",
    "Api": "._sync.api",
    "AsyncActor": "._async.actor",
    "AsyncApi": "._async.api",
    "AsyncChain": "._async.actor",
    "AsyncClient": "._async.client",
    "AsyncSnapshot": "._async.actor",
    "BadProof": ".proofs",
    "BundleRefused": ".exceptions",
    "Chain": "._sync.actor",
    "ChainClosed": ".exceptions",
    "Client": "._sync.client",
    "DevAccount": ".inputs",
    "DueProof": ".proofs",
    "EventFilter": ".messages",
    "FireFailed": ".exceptions",
    "InvalidArgument": ".exceptions",
    "NodeError": ".exceptions",
    "NodeUnreachable": ".exceptions",
    "OutcomeUnknown": ".exceptions",
    "Profile": ".profiles",
    "Proven": ".proofs",
    "ReadFailed": ".exceptions",
    "ReceiptProof": ".proofs",
    "Snapshot": "._sync.actor",
    "StorageProof": ".proofs",
    "TimerFilter": ".messages",
    "TimerProof": ".proofs",
    "TimerQuery": ".messages",
    "TransactionDropped": ".exceptions",
    "TransactionFailed": ".exceptions",
    "TransactionProof": ".proofs",
    "TransactionRefused": ".exceptions",
    "UnknownId": ".exceptions",
    "Wallet": ".wallet",
    "build_body": ".wallet",
    "check_proof": ".proofs",
    "draft": ".messages",
}


def __getattr__(name: str) -> object:
    from pvm.lazy_exports import resolve  # noqa: PLC0415 - nothing until a name is used

    return resolve(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return __all__
