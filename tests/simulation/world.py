"""A small world: one node on a machine that may die, and a crowd that uses it.

The node is the real one, from `open_chain` over `Engine` to `StreamService`; what is
simulated lies below it (machine.py). A world lives through some lives of the process:
in each, clients send, an operator gives orders, readers follow the blocks. At any
point between *execute*, *commit*, *prune*, *publish* and *answer* the process may be
killed, or the power fail. What was promised to anybody is remembered here, and what is
there afterwards is compared with it and with a replay from genesis.
"""

import asyncio
import hashlib
from random import Random

import grpc

from node import history
from node.archive.opening import open_chain
from node.chain.errors import InvalidTransaction
from node.chain.genesis import parse_genesis
from node.chain.upgrades import UPGRADED
from node.mempool import Pool, PoolLimits
from node.query import find_transaction
from node.rpc.answers import Answers, EncodedAnswer
from node.rpc.errors import refusal_of
from node.rpc.streams import Streams
from node.rpc.v1 import streams_pb2, types_pb2
from node.runtime.engine import Engine, EngineParts, EngineSettings
from node.runtime.feed import Feed
from node.runtime.settings import FeedLimits
from node.runtime.types import (
    BlockNotice,
    Committed,
    MiningMode,
    NodeStopping,
    UnknownTransaction,
)
from node.state import snapshots
from node.state.commitment import recompute
from node.state.snapshots import SnapshotRefused, UnknownSnapshot
from pvm import CodeCache
from tests.replaying_chain import Replica
from tests.simulation.machine import Death, Disk, Machine
from tests.worlds import Crowd, Mixed, Upgraders

CROWDS = Crowd, Mixed, Crowd, Upgraders
MODES = tuple(MiningMode)
PACE_MS = 50
LIVES_MAX = 3
"""Of a process in one world, the last of which is not cut short."""
SNAPSHOT = "here"
SENDERS = 2
READERS = 2


class SilentLog:
    """Takes what a node logs."""

    def info(self, event, /, **fields):
        pass


class Call:
    """What a service sees of one call."""

    def peer(self):
        return "ipv4:127.0.0.1:50000"


def as_received(response):
    """An answer as the caller has it, who decodes one that was encoded before."""
    if isinstance(response, EncodedAnswer):
        return streams_pb2.StreamBlocksResponse.FromString(response.data)
    return response


class AnswersInTurn(Answers):
    """Makes answers at once: a world has one thread, and time of its own."""

    async def run(self, make):
        return make()


class Reader:
    """Who follows the blocks, over reconnects, restarts and rewinds."""

    def __init__(self, name):
        self.name = name
        self.seen = []

    @property
    def request(self):
        if not self.seen:
            return streams_pb2.StreamBlocksRequest()
        height, block_hash = self.seen[-1]
        place = types_pb2.BlockRef(height=height, hash=block_hash)
        return streams_pb2.StreamBlocksRequest(resume_after=place)

    def take(self, response):
        """The next message; what it means for the chain as the reader knows it."""
        if response.HasField("reverted"):
            place = response.reverted
            self.seen = [one for one in self.seen if one[0] < place.height]
            self.seen.append((place.height, place.hash))
            return
        header = response.block.header
        if self.seen:
            height, block_hash = self.seen[-1]
            assert header.parent_hash == block_hash, f"{self.name}: a gap or a repeat"
            assert header.height == height + header.span
        self.seen.append((header.height, header.hash))


class World:
    """Everything that happens for one seed; `run` it once."""

    def __init__(self, seed, *, die_at=None, is_power_cut=None, code=None):
        """`die_at`: end the first life at that point, counted from 0, and no other."""
        self.seed = seed
        self._random = Random(seed)
        self._die_at = die_at
        self._is_power_cut = is_power_cut
        self._code = CodeCache() if code is None else code
        self._digest = hashlib.blake2b(digest_size=16)
        self._points = 0
        self.deaths = 0
        self.power_cuts = 0
        self.blocks = 0
        self.upgrades = 0
        crowd = CROWDS[seed % len(CROWDS)]
        self.genesis = parse_genesis(crowd.document)
        self._crowd = crowd(self.genesis, self.pick)
        self._crowd.next_nonce = self._next_nonce
        self._promised = {}
        """Transaction id → (height, index, receipt) that somebody was told."""
        self._is_way_back_asked = False
        self._named = None
        """The block that the named snapshot is known to stand on."""
        self._content_height = 0
        """Of the latest block with content that became visible."""
        self._readers = [Reader(f"reader {index}") for index in range(READERS)]
        self._replica = None
        self._engine = None
        self._mortality = 0
        self._machine = None
        self._disk = Disk(self._reach, self.pick)

    def pick(self, count):
        """A number from 0 to count - 1; the only source of chance."""
        return self._random.randrange(count)

    @property
    def height(self):
        """Where the world is."""
        return self._engine.state.head.height if self._engine else 0

    @property
    def points(self):
        """How many points were passed at which a life may end."""
        return self._points

    def run(self):
        """Live; the digest of all that happened."""
        for life in range(LIVES_MAX):
            is_last = self._die_at is None and life == LIVES_MAX - 1
            self._mortality = 0 if is_last or self._die_at is not None else 40
            self._machine = Machine()
            is_ended = self._machine.run(self._live())
            self._engine = None
            if not is_ended:
                self._fall()
            elif is_last or self._die_at is not None:
                break
        return self._digest.hexdigest()

    # --- the end of a process ---------------------------------------------------------

    def _reach(self, point):
        """A point at which the process may end."""
        if self._machine is None or self._machine.is_dead:
            return
        index, self._points = self._points, self._points + 1
        is_end = index == self._die_at or (
            self._mortality and self.pick(self._mortality) == 0
        )
        if is_end:
            self._note("died", point)
            self.deaths += 1
            raise Death

    def _fall(self):
        """What the disk has after the process died."""
        lost = ()
        is_cut = self._is_power_cut
        if is_cut or (is_cut is None and self.pick(2)):
            self.power_cuts += 1
            lost = self._disk.lose(self.pick if is_cut is None else None)
        self._note("fell", lost)
        self._disk.start()

    def _note(self, *facts):
        if not self._machine.is_dead:
            self._digest.update(repr(facts).encode())

    # --- a life ----------------------------------------------------------------------

    async def _live(self):
        machine, disk = self._machine, self._disk
        opened = open_chain(disk, lambda stored: stored or self.genesis)
        opened.state.caches.code = self._code
        self._require_kept(opened.state)
        parts = EngineParts(disk, machine.executor, machine, SilentLog())
        settings = EngineSettings(
            MODES[self.pick(len(MODES))],
            PACE_MS,
            pool=PoolLimits(transactions_max=6),
            feed=FeedLimits(buffered_max=1 + self.pick(8)),
        )
        self._engine = engine = Engine(parts, opened.genesis, opened.state, settings)
        engine._pool = WatchedPool(settings.pool, self._reach)
        engine._feed = WatchedFeed(settings.feed, self._reach, self._follow)
        self._crowd.state = engine.state
        self._note("opened", engine.state.head.hash(), settings.mode.value)
        run = machine.begin(engine.run())
        readers = [machine.begin(self._read(reader)) for reader in self._readers]
        users = [machine.begin(self._send()) for _ in range(SENDERS)]
        users.append(machine.begin(self._operate()))
        if engine.state.head.height == 0:
            users.append(machine.begin(self._deploy()))
        for user in users:
            await user
        engine.stop()
        await run
        for reader in readers:
            await reader
        assert self._is_all_kept(engine.state)
        self._require_read(engine.state)

    async def _deploy(self):
        for raw in self._crowd.deployments():
            await self._submit(raw, is_awaited=False)

    async def _send(self):
        """Some transactions; what was answered was promised."""
        for _ in range(1 + self.pick(4)):
            await self._machine.pause(self.pick(40) / 1_000)
            self._crowd.state = self._engine.state
            (raw,) = self._crowd.transactions(1)
            await self._submit(raw, is_awaited=self.pick(3) == 0)

    async def _submit(self, raw, *, is_awaited):
        engine = self._engine
        try:
            transaction = await engine.submit(raw)
        except InvalidTransaction as error:
            self._note("refused", error.fault.value)
            return
        self._note("admitted", transaction.id)
        if not is_awaited:
            return
        outcome = await self._or_give_up(engine.wait_for(transaction.id))
        if isinstance(outcome, Committed):
            self._promise(outcome)
        self._note("outcome", type(outcome).__name__)

    def _promise(self, committed):
        if self._machine.is_dead:
            return
        receipt = committed.receipt.encode()
        place = (committed.height, committed.index, receipt)
        self._promised[committed.transaction.id] = place
        self._note("promised", place)
        self._reach("told")

    async def _or_give_up(self, waiting):
        """Wait as long as a patient client does; None after that."""
        task = self._machine.loop.create_task(waiting)
        given_up = self._machine.loop.call_later(0.4, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            if self._machine.is_dead:
                raise
            self._note("gave up")
        except (InvalidTransaction, NodeStopping, UnknownTransaction) as error:
            self._note("not answered", type(error).__name__)
        finally:
            given_up.cancel()
        return None

    async def _operate(self):
        """Orders of whoever runs the node."""
        engine = self._engine
        for _ in range(2 + self.pick(4)):
            await self._machine.pause(self.pick(60) / 1_000)
            kind = self.pick(12)
            if kind < 5:
                head = await self._or_give_up(engine.mine(1 + self.pick(3)))
                self._note("mined", head and head.height)
            elif kind < 7:
                await engine.set_mining(MODES[self.pick(len(MODES))], None)
            elif kind < 9:
                account = self._crowd.choose(self._crowd.accounts)
                change = self._crowd.choose([engine.fund, engine.set_balance])
                committed = await self._or_give_up(change(account, 10**15))
                if committed is not None:
                    self._promise(committed)
            elif kind == 9:
                await self._or_give_up(engine.run_read(require_root))
            else:
                await self._go_back()

    async def _go_back(self):
        """Name the head, return to it, or to genesis."""
        engine, kind = self._engine, self.pick(4)
        try:
            if kind < 2:
                named = await engine.create_snapshot(SNAPSHOT)
                if not self._machine.is_dead:
                    self._named = named.block_hash
                    self._note("named", named.height)
                return
            self._is_way_back_asked = True
            if kind == 2:
                self._note(
                    "reverted", (await engine.revert_to_snapshot(SNAPSHOT)).height
                )
                return
            self._named = None
            self._note("reset", (await engine.reset()).height)
        except (SnapshotRefused, UnknownSnapshot) as error:
            self._note("not named", type(error).__name__)

    # --- readers ---------------------------------------------------------------------

    async def _read(self, reader):
        """Follow the blocks until the node ends; connect again when told to."""
        while True:
            streams = Streams(self._engine, AnswersInTurn())
            stream = streams.StreamBlocks(reader.request, Call())
            try:
                async for response in stream:
                    reader.take(as_received(response))
                    if self.pick(4) == 0:
                        await self._machine.pause(self.pick(300) / 1_000)
            except Exception as error:
                code = refusal_of(error).code
                self._note(reader.name, code.name)
                if code is grpc.StatusCode.UNAVAILABLE:
                    return
                if code is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                    raise

    def _require_read(self, state):
        """What a reader put together is the chain, each block once."""
        for reader in self._readers:
            for height, block_hash in reader.seen:
                header = history.load_header(state.snapshot, height)
                assert header is not None, f"{reader.name} saw what never was"
                assert header.hash() == block_hash
            self._note(reader.name, len(reader.seen))

    # --- what must hold --------------------------------------------------------------

    def _follow(self, notice):
        """A block became visible, or the chain went back."""
        state = self._engine.state
        if not isinstance(notice, BlockNotice):
            self._begin_anew()
            self._replica.follow_all(state.snapshot)
        else:
            self.blocks += 1
            self.upgrades += sum(e.topic == UPGRADED for e in notice.events)
            result = self._replica.follow(notice.block)
            assert notice.receipts == result.receipts
            assert notice.events == result.events
            if not result.is_empty:
                self._content_height = result.header.height
        assert self._replica.state.head == state.head
        self._replica.require_same_content(state.snapshot)
        self._note("block", state.head.height, state.head.hash())

    def _begin_anew(self):
        self._replica = Replica(self.genesis, self._code)
        self._promised.clear()
        self._is_way_back_asked = False
        self._content_height = 0

    def _require_kept(self, state):
        """All that was promised is there, and nothing that no replay would give."""
        if self._is_way_back_asked and not self._is_all_kept(state):
            self._begin_anew()  # the order to forget was carried out before the end
        assert self._is_all_kept(state)
        if self._named is not None:
            held = [one.block_hash for one in snapshots.list_all(state.snapshot)]
            assert held == [self._named], "a named snapshot is gone"
        self._replica = Replica(self.genesis, self._code)
        self._replica.follow_all(state.snapshot)
        assert self._replica.state.head == state.head
        self._replica.require_same_content(state.snapshot)

    def _is_all_kept(self, state):
        if state.head.height < self._content_height:
            return False
        for transaction_id, place in self._promised.items():
            found = find_transaction(state, transaction_id)
            if found is None:
                return False
            if (found.height, found.index, found.receipt.encode()) != place:
                return False
        return True

    def _next_nonce(self, address):
        return self._engine.next_nonce(address)


def require_root(state):
    """A read between two blocks sees one whole state."""
    assert recompute(state.snapshot) == state.head.state_root


class WatchedPool(Pool):
    """A pool around which a process may end."""

    __slots__ = ("_reach",)

    def __init__(self, limits, reach):
        super().__init__(limits)
        self._reach = reach

    def prune(self, result):
        self._reach("prune")
        dropped = super().prune(result)
        self._reach("pruned")
        return dropped


class WatchedFeed(Feed):
    """A feed around which a process may end, and where every block is checked."""

    __slots__ = ("_follow", "_reach")

    def __init__(self, limits, reach, follow):
        super().__init__(limits)
        self._reach = reach
        self._follow = follow

    def publish(self, notice, weight_bytes=None):
        self._reach("publish")
        self._follow(notice)
        super().publish(notice, weight_bytes)
        self._reach("published")
