"""Every public method refuses what no call can take, by the name of the argument.

One table of bad values by the names of parameters, walked over every method of
`Devnet`, `Client`, `AsyncClient`, `Api` and `AsyncApi`: a new parameter without a row
fails, and so does a new method that lets one of these through. The clients have no
node: what is refused is refused before anything is sent.
"""

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Iterator
from math import inf, nan
from pathlib import Path

import pytest

from node.chain.transaction import Transfer
from node.client import (
    AccountProof,
    Api,
    AsyncApi,
    AsyncClient,
    ChainClosed,
    Client,
    InvalidArgument,
    Wallet,
    draft,
)
from node.rpc.v1 import timers_pb2
from node.testing import Devnet

NOWHERE = "127.0.0.1:1"
TO, ID = bytes(20), bytes(32)

ADDRESSES = (5, "0x00", "00" * 20, f"0x{'0g' * 20}", bytes(19), [], 1.5)
COUNTS = (-1, 1.5, "1", True, 2**64)
IDS = (None, 5, "0x", "0x0", "00" * 32, f"0x{'00' * 65}", b"", bytes(65))
TEXTS = (None, 5, b"text", ["text"], "\ud800")
BYTES = (None, 5, "text", bytearray(b"x"), [1])
AMOUNTS = (-1, 2**128, 1.5, None, "many", True, b"5")
PATHS = (None, 5, b"file", "", "a\0b", ["file"])
SECONDS = (0, -1, "5", True, float("nan"), [])
MESSAGES = (5, "text", [])
FLAGS = (None, 5, "yes")

BAD = {
    "actor": ADDRESSES,
    "address": (*ADDRESSES, None),
    "amount": AMOUNTS,
    "blocks": (*COUNTS, 0, None),
    "buckets": (*COUNTS, 0, 1_025, None),
    "cells_limit": COUNTS,
    "changes": (*COUNTS, 0, 10_001, None),
    "cycles_limit": COUNTS,
    "execution_id": IDS,
    "expect_failure": FLAGS,
    "fee_payer": ADDRESSES,
    "from_height": COUNTS,
    "file": PATHS,
    "handler": TEXTS,
    "height": COUNTS,
    "instruction": (None, 5, b"", "transfer"),
    "key": (None, 5, []),
    "name": TEXTS,
    "kind": (5, "fire", 0),
    "payload": BYTES,
    "prefix": (None, 5, bytearray(b"x"), "\ud800"),
    "raw": BYTES,
    "resume_after": MESSAGES,
    "salt": (b"", bytes(31), 5, "s"),
    "sender": ADDRESSES,
    "source": (None, 5, [], "\ud800", "heart.py", Path("nowhere.py")),
    "strict": FLAGS,
    "target": ADDRESSES,
    "timeout": SECONDS,
    "timer_id": IDS,
    "to": (*ADDRESSES, None),
    "to_height": COUNTS,
    "topic": TEXTS[1:],
    "transaction_id": IDS,
    "value": AMOUNTS,
    "wanted": MESSAGES,
    "watched": ADDRESSES,
    "who": (*ADDRESSES, None),
}
"""What each parameter refuses, whichever method has it."""

WIRE = (None, 5, "0x00", [], 1.5)
OF_API = BAD | {
    **dict.fromkeys(("actor", "address", "as_sender", "prefix", "to"), WIRE),
    **dict.fromkeys(("block_hash", "sender", "timer_id", "transaction"), WIRE),
    "target": WIRE,
    "amount": (1.5, None, "many", True, b"5"),
    "blocks": (*COUNTS, None),
    "transaction_id": WIRE,
    "actors": (None, 5, b"actor", ["actor"]),
    "buckets": (*COUNTS, 2**32, None),
    "changes": (*COUNTS, 2**32, None),
    "code": (None, 5, "text", []),
    "earlier": (None, 5, [5]),
    "include_supply": FLAGS,
    "is_descending": FLAGS,
    "mode": (-1, "interval", None, 2**31, True),
    "name": TEXTS,
    "pace_ms": COUNTS,
    "parts": (None, 5, "text", b"bytes"),
    "put_offs_to": COUNTS,
    "subject": MESSAGES,
    "to_height": COUNTS,
    "trace": FLAGS,
    "view": (-1, "full", None, 2**31, True),
    "wallet": (None, 5, bytes(32)),
}
"""What the wire cannot carry; the node refuses the rest by the name of its field."""

MORE = {
    "fees": ({"max_fee": 5}, {"max_fee_per_cycle": -1}, {"max_fee_per_cell": "1"}),
    "limits": ({"cycles_limit": -1}, {"cells_limit": "1"}),
    "options": ({"further": -1}, {"costs_within": "1"}, {"no_such_option": 5}),
    "terms": ({"gas_limit": -1}, {"no_such_term": 5}),
    "target": ({}, {"blocks": None}, {"blocks": 1, "height": 2}, {"eon": 1}),
    "wanted": ({}, {"blocks": None}, {"blocks": 1, "height": 2}, {"eon": 1}),
}
"""What methods refuse that take names themselves."""

GOOD = {
    "actor": TO,
    "address": TO,
    "amount": 5,
    "blocks": 1,
    "code": b"x = 1",
    "execution_id": ID,
    "file": "file",
    "handler": "handler",
    "height": 1,
    "instruction": Transfer(TO, 5),
    "key": b"key",
    "mode": 1,
    "name": "name",
    "parts": [b""],
    "raw": b"raw",
    "source": "x = 1\n",
    "subject": AccountProof(TO),
    "timer_id": ID,
    "to": TO,
    "transaction": b"raw",
    "transaction_id": ID,
    "value": b"value",
    "wallet": Wallet.dev(0),
    "who": TO,
}
"""For what is not tried and has no default."""

OF_ADVANCE = {
    **dict.fromkeys(
        ("blocks", "height", "duration_ms", "until_idle"), ("1", 1.5, True)
    ),
    "next_timer": (False, 1, "yes"),
}
"""Its targets: which numbers a chain can advance to it says itself."""

OF_METHODS = {
    "advance": OF_ADVANCE,
    "set_storage": {"value": (5, "text", 1.5, bytes(65_537))},
    "rehearse_upgrade": {
        "allow": (5, None, [5], ["anything"]),
        "over": (5, b"file", "", range(0), range(1, 9, 2)),
    },
}
OF_API_METHODS = {"set_storage": {"value": (5, "text"), "key": (None, 5, "text")}}
"""What a parameter refuses in one method alone."""

KINDS = (Devnet, Client, AsyncClient, Api, AsyncApi)
NEVER_REFUSED = {"close"}


def methods(kind):
    for name in sorted(dir(kind)):
        found = inspect.getattr_static(kind, name)
        if isinstance(found, classmethod):
            found = found.__func__
        if not name.startswith("_") and inspect.isfunction(found):
            yield name, list(inspect.signature(found).parameters.values())[1:]


ROWS = [
    (kind, name, parameter)
    for kind in KINDS
    for name, parameters in methods(kind)
    for parameter in parameters
]


@pytest.fixture(scope="module")
def chains():
    """One of each; the clients lead nowhere."""
    loop = asyncio.new_event_loop()

    async def connected(kind):
        return kind(NOWHERE)

    with Devnet() as devnet, Client(NOWHERE) as client, Api(NOWHERE) as api:
        made = {Devnet: devnet, Client: client, Api: api}
        for kind in (AsyncClient, AsyncApi):
            made[kind] = loop.run_until_complete(connected(kind))
        yield made, loop
        for kind in (AsyncClient, AsyncApi):
            loop.run_until_complete(made[kind].close())
    loop.close()


def run(chains, kind, name, arguments):
    """Call a method to its end, whatever colour it is of."""
    made, loop = chains

    async def ended(outcome):
        if outcome is None:
            return None
        if inspect.isawaitable(outcome):
            return await outcome
        if isinstance(outcome, AsyncIterator):
            return await anext(outcome)
        async with outcome:
            return None

    outcome = getattr(made[kind], name)(**arguments)
    if kind in (AsyncClient, AsyncApi):
        return loop.run_until_complete(ended(outcome))
    if isinstance(outcome, Iterator):
        return next(outcome)
    if hasattr(outcome, "__enter__"):
        with outcome:
            return None
    return outcome


def arguments_but(kind, name, left_out):
    return {
        parameter.name: GOOD[parameter.name]
        for parameter in dict(methods(kind))[name]
        if parameter.default is parameter.empty
        and parameter.kind is not parameter.VAR_KEYWORD
        and parameter.name != left_out.name
    }


def refused_of(kind, name):
    if kind in (Api, AsyncApi):
        return OF_API | OF_API_METHODS.get(name, {})
    return BAD | OF_METHODS.get(name, {})


@pytest.mark.parametrize(
    ("kind", "name", "parameter"),
    ROWS,
    ids=[f"{kind.__name__}.{name}:{p.name}" for kind, name, p in ROWS],
)
def test_what_no_call_can_take_is_refused_by_name(chains, kind, name, parameter):
    others = arguments_but(kind, name, parameter)
    if parameter.kind is parameter.VAR_KEYWORD:
        tried = [(others | more, set(more)) for more in MORE[parameter.name]]
    else:
        tried = [
            (others | {parameter.name: bad}, {parameter.name})
            for bad in refused_of(kind, name)[parameter.name]
            if bad is not None or parameter.default is not None
        ]
    assert tried
    for arguments, names in tried:
        with pytest.raises(InvalidArgument) as error:
            run(chains, kind, name, arguments)
        assert error.value.argument in names | {parameter.name, "advance"}, arguments
        assert str(error.value).startswith(f"{error.value.argument}: ")
        assert re.search("want|known|from|exactly one", str(error.value))


@pytest.mark.parametrize("kind", [Api, AsyncApi, Client, AsyncClient])
@pytest.mark.parametrize(
    ("argument", "bad"),
    [
        *(("url", url) for url in ("", "https://", None, 7, "\udcff")),
        *(("timeout", seconds) for seconds in (0, -1, nan, inf, None, "1", True)),
    ],
)
def test_a_connection_that_cannot_be_is_refused_by_name(kind, argument, bad):
    with pytest.raises(InvalidArgument) as error:
        kind(**{argument: bad})
    assert error.value.argument == argument


@pytest.mark.parametrize("kind", KINDS)
def test_a_closed_chain_refuses_every_method(kind):
    """It says that it was closed, and what to do: make another."""
    loop = asyncio.new_event_loop()

    async def closed():
        chain = kind() if kind is Devnet else kind(NOWHERE)
        if kind in (AsyncClient, AsyncApi):
            await chain.close()
        else:
            chain.close()
        return chain

    chains = ({kind: loop.run_until_complete(closed())}, loop)
    for name, parameters in methods(kind):
        if name in NEVER_REFUSED or name == "from_bundle":
            continue
        arguments = {p.name: GOOD.get(p.name) for p in parameters if needed(p)}
        arguments |= {"advance": {"blocks": 1}}.get(name, {})
        arguments |= special(kind, name)
        with pytest.raises(ChainClosed, match=r"closed.*make a new"):
            run(chains, kind, name, arguments)
    for name in ("head", "height", "timestamp_ms", "last", "params"):
        if (
            hasattr(kind, name)
            and kind in (Devnet, Client)
            and not is_method(kind, name)
        ):
            with pytest.raises(ChainClosed):
                getattr(chains[0][kind], name)
    assert "closed" not in repr(chains[0][kind])
    loop.close()


def is_method(kind, name):
    return inspect.isfunction(inspect.getattr_static(kind, name))


def needed(parameter):
    return (
        parameter.default is parameter.empty
        and parameter.kind is not parameter.VAR_KEYWORD
    )


def special(kind, name):
    """Arguments that differ from method to method."""
    if kind not in (Api, AsyncApi):
        return {}
    message = draft(TO, Transfer(TO, 5))
    return {
        "estimate_limits": {"wanted": message},
        "prepare": {"wanted": message},
        "quote_timer": {"wanted": timers_pb2.QuoteTimerRequest(actor=TO)},
        "simulate": {"subject": message},
    }.get(name, {})
