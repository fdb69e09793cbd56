"""However time passes, the same happens: metamorphic laws of time (D22, D24, D36)."""

import asyncio
import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node.chain.transaction import DeployActor, ExecuteActor
from node.chain.transition import Caches, open_state
from node.client import AsyncApi, Wallet
from node.primitives import codec
from node.primitives.types import Address
from node.rpc.v1 import queries_pb2, types_pb2
from node.state.memory import MemoryStore
from node.state.store import WriteSet
from node.testing import Devnet
from tests.spec.driven_actors import SCHEDULER
from tests.unit.served.conftest import grpc_addresses, run_node, transport

__all__ = ["grpc_addresses", "run_node", "transport"]

HEIGHTS = 50
ALICE = Wallet.dev(0)
WORLDS = settings(
    max_examples=max(6, settings.default.max_examples // 20),
    suppress_health_check=list(HealthCheck),
)

HEART = """
class Heart:
    def start(self, payload):
        for every in payload:
            self._beat(every)

    def handle_timer(self, payload):
        self.storage["beats"] = self.storage.get("beats", 0) + 1
        if self.storage["beats"] % 3 == 0:
            pvm_host.create_deferred_tx("note", payload)
        self._beat(payload[0])

    def note(self, payload):
        self.storage["notes"] = self.storage.get("notes", 0) + 1

    def _beat(self, every):
        at = pvm_host.block_height() + every
        pvm_host.schedule_timer(at, bytes([every]), None, 400_000)
"""


def timers():
    """Due heights ahead, limits and expiries: some overdue, expired, put off."""
    return st.lists(
        st.tuples(
            st.integers(3, 50),
            st.sampled_from([1_000, 100_000, 550_000]),
            st.integers(3, 80),
        ),
        min_size=1,
        max_size=12,
    )


class Unsorted(MemoryStore):
    """A store that takes the writes of a commit in an order of its own."""

    def __init__(self, order):
        super().__init__()
        self._order = order

    def commit(self, writes, *, sync=True):
        pairs = list(writes.changes.items())
        self._order.shuffle(pairs)
        super().commit(WriteSet(dict(pairs)), sync=sync)


def begin(wanted, beats, store=None):
    """A chain with these timers, one actor whose money runs out, and hearts."""
    chain = Devnet(store=store)
    rich = chain.deploy(SCHEDULER, value="20 CBY")
    poor = chain.deploy(SCHEDULER, value="1 CBY")
    heart = chain.deploy(HEART, value="20 CBY")
    entries = [
        [chain.height + ahead, b"", {"gas_limit": limit, "expires_at": 5 + expiry}]
        for ahead, limit, expiry in wanted
    ]
    for actor in (rich, poor):
        actor.call("schedule_all", codec.encode(entries))
    heart.call("start", bytes(beats))
    return chain


def happened(chain):
    """All that anybody could see, and where it left the chain."""
    seen = [
        (r.header.height, r.receipts, r.events, r.trace)
        for r in chain.results
        if not r.is_empty
    ]
    return seen, chain.height, chain.timestamp_ms, chain.head.state_root


def jump(chain, last):
    while chain.timers() and chain.timers()[0].height <= last and chain.height < last:
        chain.advance(next_timer=True)
    if chain.height < last:
        chain.advance(height=last)


def one_by_one(chain, last):
    while chain.height < last:
        chain.advance(blocks=1)


def mined(chain, last):
    while chain.height < last:
        chain.mine()


def restarted(chain, last):
    """With everything but the store forgotten between any two blocks (D24).

    But for the compiled actors, mostly: to compile them anew takes a test's time.
    """
    while chain.height < last:
        caches = Caches() if chain.height % 20 == 0 else Caches(chain.state.caches.code)
        snapshot = chain._store.snapshot()
        chain.state = open_state(chain.params, chain.head, snapshot, caches)
        chain.mine()


def idled(chain, last):
    while chain.height < last:
        chain.advance(until_idle=last - chain.height)
        if chain.height < last:
            chain.advance(height=last)


def tried_before(chain, last):
    """A dry run and a snapshot that is left leave no trace."""
    chain.simulate(last - chain.height)
    with chain.snapshot():
        chain.advance(blocks=17)
    chain.advance(height=last)


WAYS = (jump, one_by_one, mined, restarted, idled, tried_before)


@WORLDS
@given(timers(), st.lists(st.integers(2, 30), max_size=3), st.data())
def test_every_way_to_pass_time_is_the_same(wanted, beats, data):
    """advance(1) N times = advance(N) = a jump = a restart after every block."""
    with begin(wanted, beats) as chain:
        last = chain.height + HEIGHTS
        chain.advance(blocks=HEIGHTS)
        expected = happened(chain)
    way = data.draw(st.sampled_from(WAYS))
    with begin(wanted, beats) as chain:
        way(chain, last)
        assert happened(chain) == expected


@WORLDS
@given(timers(), st.integers())
def test_the_order_of_fires_does_not_depend_on_the_database(wanted, seed):
    """It is (height, sequence) (D22), in whatever order the store took the writes."""
    with begin(wanted, [7]) as chain:
        last = chain.height + HEIGHTS
        mined(chain, last)
        expected = happened(chain)
    store = Unsorted(random.Random(seed))
    with begin(wanted, [7], store) as chain:
        restarted(chain, last)
        assert happened(chain) == expected


# --- the same over sockets ------------------------------------------------------------


async def prepare(client):
    deployment = DeployActor(bytes(32), HEART.encode(), b"", 10**11)
    actor = (await client.execute(ALICE, deployment)).receipt.actor
    call = ExecuteActor(Address(actor), "start", bytes([7, 9, 9, 9, 9, 9]), 0)
    await client.execute(ALICE, call)
    # In instant mode the messages of a block bring the next one, whoever asks.
    await client.set_mining(queries_pb2.MINING_MODE_MANUAL)


async def observed(client):
    """The end, and every receipt, event and decision with its height."""
    seen = []
    async for listed in client.blocks(0):
        if listed.receipt_count or listed.event_count:
            height = listed.header.height
            block = await client.block(height, view=types_pb2.BLOCK_VIEW_FULL)
            decisions = [d async for d in client.explain_block(height)]
            seen.append((height, block.receipts, block.events, decisions))
    head = (await client.status()).head
    return seen, head.height, head.timestamp_ms, head.state_root


async def advance_whole(client, blocks):
    assert [answer async for answer in client.advance(blocks=blocks)][-1].done


async def advance_singly(client, blocks):
    for _ in range(blocks):
        await advance_whole(client, 1)


async def jump_on(client, blocks):
    last = (await client.status()).head.height + blocks
    while True:
        following = await anext(client.timers())
        if following.height > last:
            break
        async for _ in client.advance(next_timer=True):
            pass
    async for _ in client.advance(height=last):
        pass


async def mine(client, blocks):
    await client.mine(blocks)


def test_every_way_to_pass_time_over_grpc_is_the_same(run_node):
    async def pass_time(way):
        async with run_node() as served, AsyncApi(served.url) as client:
            await prepare(client)
            await way(client, HEIGHTS)
            return await observed(client)

    async def scenario():
        expected = await pass_time(advance_whole)
        assert len(expected[0]) > 5
        for way in (advance_singly, jump_on, mine):
            assert await pass_time(way) == expected, way.__name__

    asyncio.run(scenario())
