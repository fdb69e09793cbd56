"""For users: a node's API in Python, and the keys to sign with.

`Client` and its twin `AsyncClient` speak gRPC; `Wallet` signs. Neither needs LevelDB
or the engine. Names are imported when they are first used (PEP 562), so that who only
signs does not load gRPC.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from node.client.asynchronous import AsyncClient
    from node.client.client import Client
    from node.client.errors import NodeError, NodeUnreachable, TransactionDropped
    from node.client.messages import EventFilter, TimerFilter, TimerQuery, draft
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
    "AsyncClient",
    "BadProof",
    "Client",
    "DueProof",
    "EventFilter",
    "NodeError",
    "NodeUnreachable",
    "Proven",
    "ReceiptProof",
    "StorageProof",
    "TimerFilter",
    "TimerProof",
    "TimerQuery",
    "TransactionDropped",
    "TransactionProof",
    "Wallet",
    "build_body",
    "check_proof",
    "draft",
]

_HOMES = {
    "AccountProof": "proofs",
    "AsyncClient": "asynchronous",
    "BadProof": "proofs",
    "Client": "client",
    "DueProof": "proofs",
    "EventFilter": "messages",
    "NodeError": "errors",
    "NodeUnreachable": "errors",
    "Proven": "proofs",
    "ReceiptProof": "proofs",
    "StorageProof": "proofs",
    "TimerFilter": "messages",
    "TimerProof": "proofs",
    "TimerQuery": "messages",
    "TransactionDropped": "errors",
    "TransactionProof": "proofs",
    "Wallet": "wallet",
    "build_body": "wallet",
    "check_proof": "proofs",
    "draft": "messages",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
