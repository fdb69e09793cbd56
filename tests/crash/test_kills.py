"""SIGKILL at random moments under load: a real process, its folder opened again.

In each round clients call actors, schedule timers and pay, in every mining mode, and
some go back to genesis; the node is killed at a moment that the seed chooses, some
rounds before it even serves. What it left must be what a replay from genesis gives,
all of it, and hold every receipt that a client was told. The next round goes on in the
same folder.
"""

import asyncio
import json
import time
from contextlib import suppress
from random import Random

import pytest

from node.archive.opening import open_chain
from node.chain.genesis import parse_genesis
from node.client import AsyncApi, NodeError, NodeUnreachable
from node.query import find_transaction, is_in_chain
from node.rpc import convert
from node.state.leveldb import LevelStore
from pvm import Worker
from tests.crash.processes import Process, running
from tests.replaying_chain import Replica
from tests.worlds import GENESIS, Crowd

SEED = 4
ROUNDS = 5
ROUNDS_LONG = 60
START_SECONDS = 0.4
LOAD_SECONDS = 0.4
CLIENTS = 5
MODES = (1, 2, 3)
PACE_MS = 15


class Load:
    """Clients of one round, and what they were told."""

    def __init__(self, crowd, random):
        self._crowd = crowd
        self._random = random
        self._resets = 0
        """Asked for, and answered: odd while one is under way."""
        self.promised = {}
        """Transaction id → what was answered."""

    @property
    def is_reset_open(self):
        """Whether nobody knows if the chain went back to genesis."""
        return self._resets % 2 == 1

    async def run(self, process, address, seconds):
        """Use the node until it is killed, so many seconds from now."""
        asyncio.get_running_loop().call_later(seconds, process.kill)
        async with AsyncApi(address) as client:
            users = [self._send(client, index) for index in range(CLIENTS)]
            users += [self._operate(client), self._deploy(client)]
            for ended in await asyncio.gather(*users, return_exceptions=True):
                if not isinstance(ended, NodeUnreachable):
                    raise ended

    async def _deploy(self, client):
        """Actors, until they are there; then nobody answers any more."""
        crowd = self._crowd
        while True:
            if not (await client.account(crowd.actors[-1])).is_actor:
                deployer = await client.account(crowd.accounts[0])
                crowd.next_nonce = {crowd.accounts[0]: deployer.next_nonce}.get
                for raw in crowd.deployments():
                    with suppress(NodeError):
                        await client.submit(raw)
            await client.status()

    async def _send(self, client, index):
        """An account that sends until nobody answers any more."""
        crowd = self._crowd
        sender = crowd.accounts[index]
        while True:
            next_nonce = (await client.account(sender)).next_nonce
            crowd._nonces = {sender: next_nonce}
            raw = crowd._raw(index, crowd._call(), 200_000)
            resets = self._resets
            with suppress(NodeError):
                answer = await client.submit_and_wait(raw)
                is_certain = resets == self._resets and not self.is_reset_open
                if is_certain and answer.HasField("committed"):
                    self.promised[answer.committed.receipt.id] = answer.committed

    async def _operate(self, client):
        """Every mining mode, mining to order, and sometimes genesis again."""
        while True:
            mode = MODES[self._random.randrange(3)]
            with suppress(NodeError):
                await client.set_mining(mode, PACE_MS)
                await client.mine(1 + self._random.randrange(5))
                if self._random.randrange(60) == 0:
                    self._resets += 1
                    await client.reset()
                    self._resets += 1
                    self.promised.clear()


class Folder:
    """A chain's folder over the rounds, and all that was ever promised about it."""

    def __init__(self, path, seed, worker):
        self.path = path
        self.worker = worker
        self.random = Random(seed)
        self.genesis = parse_genesis(GENESIS)
        self.promised = {}
        self.promises = 0
        self.replica = None
        (path / "genesis.json").write_text(json.dumps(GENESIS))

    @property
    def flags(self):
        return ("--genesis", str(self.path / "genesis.json"))

    def round(self, *, is_while_starting):
        """Start, use, kill; then look at what is left."""
        process = Process(self.path, *self.flags)
        load = Load(Crowd(self.genesis, self.random.randrange), self.random)
        load.promised = self.promised
        if is_while_starting:
            process.wait_ready(self.random.uniform(0, START_SECONDS))
            process.kill()
        else:
            address = process.wait_ready()
            seconds = self.random.uniform(0.05, LOAD_SECONDS)
            asyncio.run(load.run(process, address, seconds))
        self.promises = max(self.promises, len(self.promised))
        if (self.path / "data").exists():
            self.worker.run(lambda: self._require_whole(load))

    def _require_whole(self, load):
        with LevelStore(self.path / "data") as store:
            state = open_chain(store, lambda stored: stored or self.genesis).state
            kept = [
                transaction_id
                for transaction_id, told in self.promised.items()
                if is_kept(state, transaction_id, told)
            ]
            if load.is_reset_open and not kept:
                self.promised.clear()
            assert len(kept) == len(self.promised), "a receipt that was told is gone"
            self._replay(state)

    def _replay(self, state):
        """From genesis on; what an earlier round replayed is not replayed again."""
        replica = self.replica
        head = replica.state.head if replica else None
        if head is None or not is_in_chain(state.snapshot, head.height, head.hash()):
            self.replica = replica = Replica(self.genesis)
        replica.follow_all(state.snapshot)
        assert replica.state.head == state.head
        replica.require_same_content(state.snapshot)


def is_kept(state, transaction_id, told):
    found = find_transaction(state, transaction_id)
    return found is not None and told == convert.committed_to_proto(
        found, is_brief=True
    )


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


def kill_often(path, seed, rounds, worker):
    folder = Folder(path, seed, worker)
    for index in range(rounds):
        try:
            folder.round(is_while_starting=index % 5 == 3)
        except BaseException as error:
            error.add_note(f"round {index} of seed {seed}")
            raise
    assert folder.promises > 0
    return folder


def test_a_node_killed_at_random_moments_loses_nothing(tmp_path, worker):
    """The reopened state equals a replay from genesis, and nothing is half there."""
    folder = kill_often(tmp_path, SEED, ROUNDS, worker)
    with running(tmp_path, *folder.flags) as (process, address):

        async def ask():
            async with AsyncApi(address) as client:
                return (await client.mine(3)).height

        assert asyncio.run(ask()) >= folder.replica.state.head.height + 3
        assert process.stop() == 0


@pytest.mark.slow
def test_a_node_killed_sixty_times_loses_nothing(tmp_path, worker):
    """50 or more kills; the seed is new each time and is said when it fails."""
    kill_often(tmp_path, time.time_ns() % 1_000_000, ROUNDS_LONG, worker)
