"""Chains to look at, each served by a node in a process of its own.

A world says by name where in it something is, so that a test asks for the timer that
was put off and not for an id. What stands on the page is judged by the Python client
over gRPC, which shares no code with the page.
"""

import json

from msgspec import Struct, field

from node.client import Actor, Client, TimerQuery
from node.config import genesis_folder
from node.rpc.v1 import timers_pb2
from node.testing.process import NodeProcess
from tests.browser import actors

RULES = ("fifo", "auction", "bidding", "globalbox")
COURIERS = 13
"""Ten of their fires fill the timer lane of a block."""


class World(Struct):
    """A chain that is served, and where what is in it."""

    name: str
    client: Client
    origin: str
    """Where its page is: `http://127.0.0.1:PORT`."""
    node: NodeProcess | None = None
    """Its node, of a world that a test may end."""
    accounts: dict[str, bytes] = field(default_factory=dict)
    timers: dict[str, bytes] = field(default_factory=dict)
    transactions: dict[str, bytes] = field(default_factory=dict)
    heights: dict[str, int] = field(default_factory=dict)


def origin_of(node: NodeProcess) -> str:
    """Where the HTTP port of a node is, which its ready file alone tells."""
    return "http://" + json.loads(node._ready_file.read_text())["http"]


def fill_demo(world: World) -> None:
    """Trade, fires that cost, a lane that is too small, and each way a timer ends."""
    client = world.client
    _couriers(world)
    reporter = client.accounts[0].address
    oracle = client.deploy(
        genesis_folder() / "actors" / "bidding_oracle.py",
        json.dumps({"reporters": [reporter.hex()], "blocks": 4}).encode(),
        value="60 CBY",
    )
    oracle.report(b"41250")
    till = client.deploy(actors.TILL)
    shop = client.deploy(actors.SHOP, payload=till.address, value="40 CBY")
    world.accounts |= {"oracle": oracle.address, "till": till.address}
    world.accounts |= {"shop": shop.address}
    _trade(world, shop)
    broke = client.deploy(actors.BROKE)
    if world.name == "globalbox":
        watcher = client.deploy(actors.WATCHER, payload=shop.address, value="5 CBY")
        world.accounts["watcher"] = watcher.address
        world.timers["watch"] = next(
            client.api.timers(TimerQuery(actor=watcher.address))
        ).id
        shop.buy("pears")
        client.deploy(actors.CROWD, value="20 CBY")
    client.advance(height=world.heights["rush"] + 8)
    world.accounts["broke"] = broke.address
    for status in ("fired", "expired", "cancelled", "removed_insufficient_funds"):
        _note_ended(world, status)
    if world.name == "globalbox":
        _note_turns(world)
    world.timers["pending"] = client.timers(shop)[0].timer_id
    world.timers["oracle"] = client.timers(oracle)[0].timer_id
    world.heights["head"] = client.height


def _couriers(world: World) -> None:
    """Thirteen that are due at once; the last offers least and was last to come."""
    rush = world.client.height + COURIERS + 30
    world.heights["rush"] = rush
    for index in range(COURIERS):
        terms = {"tip": 100 * (COURIERS - 1 - index), "first": rush}
        courier = world.client.deploy(
            actors.COURIER, payload=json.dumps(terms).encode(), value="90 CBY"
        )
        if index in (0, COURIERS - 1):
            name = "first" if index == 0 else "put_off"
            world.accounts[name] = courier.address
            world.timers[name] = world.client.timers(courier)[0].timer_id


def _trade(world: World, shop: Actor) -> None:
    buy, late = shop.buy("apples"), shop.late()
    world.transactions |= {"buy": buy.id, "late": late.id}
    world.transactions["failed"] = shop.buy("plums", expect_failure=True).id
    world.transactions["open"] = shop.open().id
    sent = world.client.transfer(b"\xab" * 20, "3 CBY")
    world.transactions["transfer"] = sent.id


def _note_ended(world: World, status: str) -> None:
    wanted = timers_pb2.TimerStatus.Value(f"TIMER_STATUS_{status.upper()}")
    for timer in world.client.api.timers(TimerQuery(status=wanted)):
        world.timers[status] = timer.id
        return


def _note_turns(world: World) -> None:
    """Fires that waited: for their target, and for room in the lane."""
    for height in range(world.client.height):
        for timer in world.client.api.explain_block(height):
            if timer.decision.decision in ("passed_over", "put_back"):
                world.timers[timer.decision.decision] = timer.timer_id


def fill_million(world: World) -> None:
    """One timer more among a million that are due before it and after."""
    first = next(world.client.api.timers())
    owner = world.client.actor(first.actor)
    sent = world.client.api.transaction(owner.arm([300]).id).committed.receipt
    world.accounts["owner"] = owner.address
    world.timers["late"] = sent.scheduled_timer_ids[0]
    world.timers["first"] = first.id
    world.heights["rush"] = world.client.height


def fill_hostile(world: World) -> None:
    """An actor each of whose strings is an attack on whoever shows it."""
    client = world.client
    hostile = client.deploy(actors.HOSTILE, value="50 CBY")
    world.accounts["hostile"] = hostile.address
    said = hostile.say(b"")
    world.transactions["said"] = said.id
    world.timers["hostile"] = client.timers(hostile)[0].timer_id
    world.transactions["failed"] = hostile.fail(b"", expect_failure=True).id
    client.advance(blocks=55, strict=False)
    world.heights["head"] = client.height
