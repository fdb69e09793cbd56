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
    from node.client.wallet import Wallet, build_body

__all__ = [
    "AsyncClient",
    "Client",
    "EventFilter",
    "NodeError",
    "NodeUnreachable",
    "TimerFilter",
    "TimerQuery",
    "TransactionDropped",
    "Wallet",
    "build_body",
    "draft",
]

_HOMES = {
    "AsyncClient": "asynchronous",
    "Client": "client",
    "EventFilter": "messages",
    "NodeError": "errors",
    "NodeUnreachable": "errors",
    "TimerFilter": "messages",
    "TimerQuery": "messages",
    "TransactionDropped": "errors",
    "Wallet": "wallet",
    "build_body": "wallet",
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
