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
    from node.client._async.receipt import AsyncSentReceipt
    from node.client._sync.actor import Actor, Chain, Snapshot
    from node.client._sync.api import Api
    from node.client._sync.client import Client
    from node.client._sync.receipt import SentReceipt
    from node.client.exceptions import (
        BlockOpen,
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
        QueueProof,
        ReceiptProof,
        StorageProof,
        TimerProof,
        TransactionProof,
        check_proof,
    )
    from node.client.wallet import Wallet, build_body
    from node.query.height_ranges import DueTimers, LaneUseRange
    from node.query.trace.records import (
        Changes,
        ExecutionTrace,
        HistoryStop,
        StorageHistory,
    )

__all__ = [
    "AccountProof",
    "Actor",
    "Api",
    "AsyncActor",
    "AsyncApi",
    "AsyncChain",
    "AsyncClient",
    "AsyncSentReceipt",
    "AsyncSnapshot",
    "BadProof",
    "BlockOpen",
    "BundleRefused",
    "Chain",
    "ChainClosed",
    "Changes",
    "Client",
    "DevAccount",
    "DueProof",
    "DueTimers",
    "EventFilter",
    "ExecutionTrace",
    "FireFailed",
    "HistoryStop",
    "InvalidArgument",
    "LaneUseRange",
    "NodeError",
    "NodeUnreachable",
    "OutcomeUnknown",
    "Profile",
    "Proven",
    "QueueProof",
    "ReadFailed",
    "ReceiptProof",
    "SentReceipt",
    "Snapshot",
    "StorageHistory",
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
    "AsyncSentReceipt": "._async.receipt",
    "AsyncSnapshot": "._async.actor",
    "BadProof": ".proofs",
    "BlockOpen": ".exceptions",
    "BundleRefused": ".exceptions",
    "Chain": "._sync.actor",
    "ChainClosed": ".exceptions",
    "Changes": "node.query.trace.records",
    "Client": "._sync.client",
    "DevAccount": ".inputs",
    "DueProof": ".proofs",
    "DueTimers": "node.query.height_ranges",
    "EventFilter": ".messages",
    "ExecutionTrace": "node.query.trace.records",
    "FireFailed": ".exceptions",
    "HistoryStop": "node.query.trace.records",
    "InvalidArgument": ".exceptions",
    "LaneUseRange": "node.query.height_ranges",
    "NodeError": ".exceptions",
    "NodeUnreachable": ".exceptions",
    "OutcomeUnknown": ".exceptions",
    "Profile": ".profiles",
    "Proven": ".proofs",
    "QueueProof": ".proofs",
    "ReadFailed": ".exceptions",
    "ReceiptProof": ".proofs",
    "SentReceipt": "._sync.receipt",
    "Snapshot": "._sync.actor",
    "StorageHistory": "node.query.trace.records",
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
