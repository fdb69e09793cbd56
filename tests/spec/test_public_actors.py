"""Actors in the public conventions run as their authors expect (host-api.md §1, §4)."""

import json
from pathlib import Path

import pytest

from node.chain.block import ReceiptKind
from node.primitives import codec
from node.testing import Devnet

PAGE = Path(__file__).parents[1] / "actors" / "public.py"
TOKEN, GREETER, VAULT, HEARTBEAT, ORACLE = (
    chunk.split("\n", 1)[1] for chunk in PAGE.read_text().split("# --- ")[1:]
)
LIMITS = {"cycles_limit": 2_000_000, "cells_limit": 50_000}


@pytest.fixture
def chain():
    with Devnet() as opened:
        yield opened


def asked(actor, handler, **request):
    receipt = actor.call(handler, json.dumps(request).encode(), **LIMITS)
    return json.loads(receipt.value)


def test_a_main_that_dispatches_json(chain):
    token = chain.deploy(TOKEN)
    me, you = chain.accounts[0].address.hex(), chain.accounts[1].address.hex()

    def main(**request):
        return asked(token, "main", **request)

    assert main(action="mint", to=me, amount=10) == {"balance": 10, "ok": True}
    assert main(action="transfer", to=you, amount=3) == {"ok": True}
    assert main(action="balance", of=me)["balance"] == 7
    assert main(action="transfer", to=you, amount=9)["error"] == "7 < 9"


@pytest.mark.parametrize(
    ("request_bytes", "error"),
    [
        (b'{"action":"mint","to":"x","amount":0}', "amount must be positive, not 0"),
        (b'{"action":"fly"}', "unknown action: fly"),
        (b'{"action":"mint"}', "'to'"),
    ],
)
def test_an_answer_has_the_text_of_what_the_actor_raised(chain, request_bytes, error):
    """`str(exc)` of its own errors; a `KeyError` keeps its key."""
    receipt = chain.deploy(TOKEN).call("main", request_bytes, **LIMITS)
    assert json.loads(receipt.value) == {"ok": False, "error": error}


def test_only_the_owner_mints(chain):
    token = chain.deploy(TOKEN)
    mint = json.dumps({"action": "mint", "to": "x", "amount": 1}).encode()
    token.call("main", mint, **LIMITS)
    refused = token.call("main", mint, sender=chain.accounts[1], **LIMITS)
    assert json.loads(refused.value)["error"] == "only the owner mints"


def test_entry_points_that_make_an_instance(chain):
    greeter = chain.deploy(GREETER)
    assert asked(greeter, "greet", name="Ada")["message"] == "Hello, Cowboy! Ada"
    changed = greeter.call("set_greeting", b'{"greeting":"Hi"}', **LIMITS)
    assert changed.value == b"ok"
    assert greeter.call("set_greeting", b"junk", **LIMITS).value.startswith(b"error")
    answer = asked(greeter, "greet", name="Bob")
    assert (answer["message"], answer["count"]) == ("Hi Bob", 2)
    (event,) = [e for e in chain.events() if e.topic == "greeting.changed"]
    assert event.data == b'{"by":1,"greeting":"Hi"}'


def test_handlers_that_say_who_may_call_them(chain):
    vault = chain.deploy(VAULT)
    stranger = chain.accounts[1]

    def denied(handler, sender):
        receipt = vault.call(
            handler, b"1", sender=sender, expect_failure=True, **LIMITS
        )
        return receipt.failure.kind

    assert codec.decode(vault.call("limit", **LIMITS).value) == 10
    vault.call("set_limit", b"11", **LIMITS)
    assert denied("set_limit", stranger) == "HostError.PermissionDenied"
    for handler in ("settle", "internal"):
        assert denied(handler, chain.accounts[0]) == "HostError.PermissionDenied"
    assert denied("init", chain.accounts[0]) == "HandlerNotFound"
    vault.call("later", b"now", sender=stranger, **LIMITS)
    chain.mine(1)
    assert vault.storage["settled"] == b"now"
    vault.call("give_away", stranger.address, **LIMITS)
    assert denied("set_limit", chain.accounts[0]) == "HostError.PermissionDenied"
    vault.call("set_limit", b"12", sender=stranger, **LIMITS)
    assert vault.storage["limit"] == 12


def test_deploy_and_handle_timer(chain):
    heart = chain.deploy(HEARTBEAT, value="10 CBY")
    chain.mine(12)
    fires = chain.receipts(ReceiptKind.FIRE)
    assert [fire.value for fire in fires] == [b"1", b"2", b"3"]
    assert codec.decode(heart.call("beats").value) == {"beats": 3}
    refused = heart.call("handle_timer", b"", expect_failure=True)
    assert refused.failure.message == "only a timer calls this"


def test_actors_that_call_each_other(chain):
    first, second = chain.deploy(ORACLE), chain.deploy(ORACLE + "\n")
    second.call("set_price", codec.encode(["ETH", 40]), **LIMITS)
    second.call("set_price", codec.encode(["BTC", 2]), **LIMITS)
    asked_of = codec.encode(second.address)
    assert codec.decode(first.call("ask", asked_of, **LIMITS).value) == 42
    first.call("tell", asked_of, **LIMITS)
    chain.mine(1)
    assert second.storage["told"] == first.address
