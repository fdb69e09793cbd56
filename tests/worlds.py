"""Random worlds: accounts, actors that do as told, timers, messages, bad input.

A world draws from a function `pick(n)`, 0 ≤ answer < n, so that Hypothesis, or a
fixed sequence, decides what happens; all else is the chain's.
"""

from msgspec.structs import replace

from node import history
from node.archive.chain_store import ChainStore
from node.chain.accounts import decode_account, load_account
from node.chain.errors import InvalidTransaction
from node.chain.genesis import build_genesis, dev_account, parse_genesis
from node.chain.globals import load_globals
from node.chain.mailbox import pending_messages
from node.chain.params import BasefeeConfig, BiddingConfig, GlobalboxConfig
from node.chain.timers import calendar
from node.chain.transaction import (
    Body,
    CancelTimer,
    DeployActor,
    ExecuteActor,
    ExtendTimer,
    Fund,
    ResetWeights,
    ScheduleActivation,
    SetBalance,
    SetCode,
    SetStorage,
    Transfer,
    UpdateBasefeeConfig,
    UpdateBiddingConfig,
    UpdateGlobalboxConfig,
    UpdateTimerConfig,
    UpgradeActor,
    decode_transaction,
    impersonate,
)
from node.chain.transition import build_block, build_next, next_state, open_state
from node.primitives import codec
from node.primitives.crypto import (
    derive_actor_address,
    dev_private_key,
    keccak256,
    sign,
)
from node.state import keys
from node.state.commitment import TreeCaches

PUPPET = b"""
import pvm_host

class Puppet:
    def do(self, payload):
        done = []
        for command in pvm_host.cbor_decode(payload):
            try:
                done.append(self._do(command[0], command[1:]))
            except pvm_host.HostError as error:
                done.append(error.name)
            except pvm_host.RevertError:
                done.append("reverted")
        return done

    def handle_timer(self, payload):
        return self.do(payload)

    def _do(self, name, rest):
        if name == "set":
            self.storage[rest[0]] = rest[1]
        elif name == "drop":
            self.storage.pop(rest[0], None)
        elif name == "raw":
            pvm_host.set_state(rest[0], rest[1])
        elif name == "pay":
            pvm_host.transfer(rest[0], rest[1])
        elif name == "timer":
            return pvm_host.schedule_timer(
                pvm_host.block_height() + rest[0], rest[1], rest[2], rest[3],
                None if rest[4] is None else pvm_host.block_height() + rest[4],
            )
        elif name == "cancel":
            ids = pvm_host.list_timers()
            pvm_host.cancel_timer(ids[rest[0] % len(ids)] if ids else bytes(32))
        elif name == "extend":
            ids = pvm_host.list_timers()
            if ids:
                pvm_host.extend_timer(ids[0], pvm_host.block_height() + rest[0])
        elif name == "send":
            pvm_host.send_message(rest[0], "do", rest[1], rest[2], rest[3])
        elif name == "defer":
            pvm_host.create_deferred_tx("do", rest[0], rest[1], rest[2])
        elif name == "call":
            return pvm_host.call_actor(rest[0], "do", rest[1], rest[2])
        elif name == "event":
            pvm_host.emit_event("told", rest[0])
        elif name == "draw":
            return pvm_host.randomness(rest[0])
        elif name == "seen":
            return pvm_host.context()
        elif name == "fail":
            raise ValueError("told to")
        elif name == "revert":
            pvm_host.revert("told to")
        elif name == "burn":
            while True:
                pvm_host.charge_gas(1_000)
"""

GENESIS = {
    "name": "crowded",
    "accounts": {"count": 5, "balance": str(10**15)},
    "lane_user_cycles": 2_000_000,
    "lane_deferred_cycles": 40_000,
    "basefee_config": {"target_cycles": 400_000, "target_cells": 20_000},
    "timer_config": {
        "max_ttl_blocks": 9,
        "max_cycles_per_fire": 60_000,
        "max_cycles_per_fire_auction": 50_000,
        "lane_timer_cycles": 70_000,
        "max_timers_per_actor": 6,
        "max_due_examined": 4,
        "gc_cycles_per_block": 800,
        "max_cells_per_fire": 20_000,
    },
}
"""Everything is scarce, so that every gate is met."""

ACTORS = 3
NOBODY = b"\x77" * 20


class Crowd:
    """Accounts and actors, and what they send; the driver shows it the state."""

    source = PUPPET
    document = GENESIS

    def __init__(self, genesis, pick):
        self.genesis = genesis
        self.pick = pick
        self.state = None
        self.accounts = [dev_account(i) for i in range(5)]
        code_hash = keccak256(self.source)
        self.actors = [
            derive_actor_address(self.accounts[0], bytes([i]) * 32, code_hash)
            for i in range(ACTORS)
        ]
        self._nonces = {}

    def choose(self, items):
        return items[self.pick(len(items))]

    def next_nonce(self, address):
        """Of what the crowd sends next, unless it sent more for this block."""
        return load_account(self.state.snapshot, address).nonce

    def deployments(self):
        """Three puppets, with a balance each."""
        self._nonces = {}
        raws = []
        for i, actor in enumerate(self.actors):
            instruction = DeployActor(bytes([i]) * 32, self.source, b"", 0)
            raws.append(self._raw(0, instruction, cycles=600_000, cells=1_000_000))
            raws.append(self._raw(0, Fund(actor, (i + 1) * 10**9)))
        return raws

    def transactions(self, count):
        """What a random crowd sends for one block."""
        self._nonces = {}
        return [self._transaction() for _ in range(count)]

    # --- transactions ---------------------------------------------------------------

    def _raw(self, account, instruction, cycles=400_000, cells=60_000, **fields):
        address = self.accounts[account]
        if address not in self._nonces:
            self._nonces[address] = self.next_nonce(address)
        nonce = self._nonces[address]
        self._nonces[address] = nonce + 1
        numbers = {
            "chain_id": 100,
            "nonce": nonce,
            "cycles_limit": cycles,
            "cells_limit": cells,
            "max_fee_per_cycle": 10**7,
            "max_priority_fee_per_cycle": self.pick(3),
            "max_fee_per_cell": 10**7,
            "max_priority_fee_per_cell": self.pick(2),
        }
        body = Body(**{**numbers, **fields}, instruction=instruction).encode()
        if self.pick(3) == 0:
            return impersonate(body, address)
        return body + sign(keccak256(body), dev_private_key(account))

    def _transaction(self):
        kind = self.pick(16)
        account = self.pick(len(self.accounts))
        if kind < 9:
            return self._raw(
                account, self._call(), self.choose([60_000, 200_000, 400_000])
            )
        if kind == 9:
            to = self.choose([*self.accounts, *self.actors, NOBODY, bytes(20)])
            return self._raw(account, Transfer(to, self.pick(10**12)))
        if kind == 10:
            return self._raw(0, self._governance())
        if kind in (11, 12):
            to = self.choose([*self.actors, *self.actors, *self.accounts])
            make = self.choose([Fund, SetBalance])
            amount = self.choose([0, 10**7, 7 * 10**7, 10**9, 10**15])
            return self._raw(account, make(to, amount))
        return self._bad(account)

    def _call(self):
        payload = codec.encode(self._commands(2))
        value = self.choose([0, 0, 5, 10**10])
        return ExecuteActor(self.choose(self.actors), "do", payload, value)

    def _governance(self):
        config = self.genesis.params.timer_config
        timers = list(calendar.timers_between(self.state.snapshot, 0, 2**64 - 1))
        timer_id = self.choose(timers).timer_id if timers else bytes(32)
        height = self.state.head.height
        return self.choose(
            [
                CancelTimer(timer_id),
                ExtendTimer(timer_id, height + 1 + self.pick(20)),
                UpdateTimerConfig(config),
                UpdateBasefeeConfig(
                    BasefeeConfig(200_000, 10_000, 2 + self.pick(8), 8, 1)
                ),
                ScheduleActivation(height + self.pick(5), "fifo"),
            ]
        )

    def _bad(self, account):
        """What is refused, or included and fails."""
        instruction, fields = self.choose(
            [
                (Transfer(NOBODY, 10**16), {}),
                (Transfer(NOBODY, 1), {"nonce": self.pick(100)}),
                (Transfer(NOBODY, 1), {"chain_id": 99}),
                (Transfer(NOBODY, 1), {"max_fee_per_cycle": 1}),
                (Transfer(NOBODY, 1), {"cycles": 4_999}),
                (DeployActor(bytes(32), b"no actor(", b"", 0), {}),
            ]
        )
        return self._raw(account, instruction, **fields)

    # --- what actors are told --------------------------------------------------------

    def _commands(self, depth):
        return [self._command(depth) for _ in range(1 + self.pick(3))]

    def _command(self, depth):
        kind = self.pick(17 if depth else 8)
        told = codec.encode(self._commands(depth - 1)) if kind >= 8 else b""
        target = self.choose(self.actors)
        budget = self.choose([None, 1_000, 3_000, 5_000])
        return [
            ["set", self.choose("abc"), self.pick(9)],
            ["drop", self.choose("abc")],
            ["raw", bytes([self.pick(4)]), bytes(self.choose([0, 9, 3_000]))],
            ["pay", self.choose([*self.accounts, NOBODY, target]), self.pick(10**9)],
            ["event", bytes(self.pick(40))],
            ["cancel", self.pick(4)],
            self.choose([["fail"], ["revert"], ["burn"], ["seen"]]),
            ["draw", b"d"],
            *[self._timer(told) for _ in range(4)],
            ["extend", self.pick(20)],
            ["send", target, told, budget, self.choose([None, 0, 2_000])],
            ["send", target, told, budget, self.choose([None, 0, 2_000])],
            ["defer", told, budget, self.choose([None, 0, 2_000])],
            ["call", target, told, self.choose([5_000, 40_000, 2**40])],
        ][kind]

    def _timer(self, told):
        return [
            "timer",
            1 + self.pick(3),
            told,
            self.choose([None, None, self.choose(self.accounts)]),
            self.choose([None, 20_000, 40_000]),
            self.choose([None, None, self.pick(9)]),
        ]


class World(Crowd):
    """A chain over a store, and a crowd that acts on it."""

    def __init__(self, store, pick, worker):
        super().__init__(parse_genesis(self.document), pick)
        self.store = store
        self.worker = worker
        self.blocks = []
        first = worker.run(lambda: build_genesis(self.genesis))
        store.commit(first.writes, sync=False)
        self.state = open_state(self.genesis.params, first.header, store.snapshot())
        self.mine(self.deployments())

    def mine(self, raws):
        """Build, commit, go on; the candidates are raw."""
        candidates = [decode_transaction(raw) for raw in raws]
        parent = self.state
        result = self.worker.run(lambda: build_block(parent, candidates))
        self.store.commit(result.writes, sync=False)
        self.state = next_state(parent, result, self.store.snapshot())
        self.blocks.append(result.block)
        return result

    def reopen(self):
        """Forget all that is not in the store, as a restart does."""
        self.state = open_state(
            self.genesis.params, self.state.head, self.store.snapshot()
        )

    def step(self):
        """One block of a random crowd."""
        return self.mine(self.transactions(self.pick(5)))


class KeptWorld(World):
    """A world whose blocks are committed as the node commits them."""

    def __init__(self, store, pick, worker):
        self.chain = None
        super().__init__(store, pick, worker)

    def mine(self, raws):
        if self.chain is None:
            self._begin()
        candidates = [decode_transaction(raw) for raw in raws]
        return self._commit(lambda parent: build_block(parent, candidates))

    def run_empty(self, heights_max):
        """A run of empty heights under one header, or one block if there is work."""
        return self._commit(lambda parent: build_next(parent, (), heights_max))

    def _commit(self, build):
        parent = self.state
        result = self.worker.run(lambda: build(parent))
        snapshot = self.chain.commit(parent.snapshot, parent.head, result)
        self.state = next_state(parent, result, snapshot)
        self.blocks.append(result.block)
        return result

    def _begin(self):
        first = self.worker.run(lambda: build_genesis(self.genesis))
        self.store.commit(history.record(first))
        self.reopen()
        self.caches = self.state.caches
        self.caches.trees = TreeCaches()
        self.chain = ChainStore(self.store)

    def rewind(self, header):
        """Caches stay as they are: they must know by themselves what is void."""
        snapshot, self.undone = self.chain.rewind(self.state.head.height, header.height)
        self.state = open_state(self.genesis.params, header, snapshot, self.caches)


# --- under the rules `auction` --------------------------------------------------------

_EXPIRY = b"None if rest[4] is None else pvm_host.block_height() + rest[4],"
_TERMS = b'**({"gba": self.address} if rest[5] == "gba" else rest[5]),'

BIDDER = (
    PUPPET.replace(_EXPIRY, _EXPIRY + b"\n" + 16 * b" " + _TERMS)
    + b"""
    def get_gas_bid(self, context):
        basefee = context["basefee_lane_timer"]
        mood = self.storage.get("a", 0)
        if mood == 1:
            return {"max_fee_per_cycle": basefee, "max_priority_fee_per_cycle": 2}
        if mood == 2:
            return [basefee // 2, 1]
        if mood == 3:
            self.storage["a"] = 0
        if mood == 4:
            return [-1, True]
        if mood == 5:
            while True:
                pass
        return [3 * basefee, context["current_block_height"] % 9]
"""
)
"""A puppet that states fees, and is an agent of many moods."""
assert BIDDER.count(b"rest[5]") == 2

AUCTION = GENESIS | {
    "auction_tie_break": "fair",
    "timer_config": GENESIS["timer_config"]
    | {"fairness_window_blocks": 3, "lane_gba_cycles": 70_000, "max_ttl_blocks": 12},
    "activations": [{"height": 1, "rules": "auction"}],
}


class Bidders(Crowd):
    """A crowd that states fees, names agents, and changes rules and caps."""

    source = BIDDER
    document = AUCTION

    def _transaction(self):
        kind = self.pick(12)
        if kind < 8:
            return self._raw(self.pick(len(self.accounts)), self._call(), 400_000)
        if kind == 8:
            return self._raw(0, self._governance())
        return super()._transaction()

    def _call(self):
        told = [self._timer(self._told()) for _ in range(1 + self.pick(5))]
        mood = ["set", "a", self.pick(7)]
        return ExecuteActor(
            self.choose(self.actors), "do", codec.encode([mood, *told]), 10**8
        )

    def _told(self):
        """What a fire does: something small, or heavy."""
        return codec.encode(
            self.choose(
                [
                    [],
                    [["set", "b", self.pick(9)]],
                    [["cancel", self.pick(4)]],
                    [["extend", self.pick(20)]],
                    [["draw", b"d"]] * 12,
                    [["burn"]],
                ]
            )
        )

    def _timer(self, told):
        lane = max(1, load_globals(self.state.snapshot).basefee_lane)
        terms = self.choose(
            [
                {},
                {},
                "gba",
                {"max_fee_per_cycle": lane + self.pick(lane)},
                {"max_fee_per_cycle": lane, "max_priority_fee_per_cycle": 3},
                {"max_fee_per_cycle": 2 * lane, "max_priority_fee_per_cycle": lane},
                {"max_priority_fee_per_cycle": self.pick(9)},
                {"priority_tier_hint": self.choose(["urgent", "economy", "none"])},
                {"max_fee_per_cycle": self.pick(4), "bid": self.choose([None, 1])},
            ]
        )
        return [*super()._timer(told), terms]

    def _governance(self):
        kind = self.pick(8)
        height = self.state.head.height
        if kind < 3:
            rules = self.choose(["fifo", "auction", "auction"])
            return ScheduleActivation(height + self.pick(6), rules)
        if kind < 6:
            config = self.genesis.params.timer_config
            return UpdateTimerConfig(
                replace(
                    config,
                    max_cycles_per_fire_auction=self.choose([30_000, 50_000]),
                    fairness_window_blocks=self.choose([1, 3, 5]),
                )
            )
        return super()._governance()


class AuctionWorld(Bidders, World):
    """A world whose timers compete."""


# --- under the rules `bidding` --------------------------------------------------------

_LANE = b'context["basefee_lane_timer"]'
_ANY = b'context.get("basefee_lane_timer", context["basefee_cycle"])'
_TIP = b'"max_priority_fee_per_cycle": 2}'

AGENTS = BIDDER.replace(_LANE, _ANY).replace(_TIP, b'"tip_per_cycle": 2, ' + _TIP[0:])
"""The same for all rules: what it offers has the names of both that ask (D57)."""
assert AGENTS != BIDDER.replace(_LANE, _ANY) != BIDDER

BIDDING = AUCTION | {
    "calendar": {"ring_size": 4, "epoch_length": 6, "epochs": 2},
    "activations": [{"height": 1, "rules": "bidding"}],
}


class WeighedBidders(Bidders):
    """A crowd that names agents, is often poor, and changes rules and weights."""

    source = AGENTS
    document = BIDDING

    def _timer(self, told):
        timer = super()._timer(told)
        is_bidding = self.pick(5) > 0
        return [*timer[:3], None, *timer[4:6], "gba"] if is_bidding else timer

    def _transaction(self):
        if self.pick(6) == 0:
            amount = self.choose([0, 10**6, 6 * 10**7, 10**9, 10**12])
            return self._raw(1, SetBalance(self.choose(self.actors), amount))
        return super()._transaction()

    def _governance(self):
        kind = self.pick(8)
        height = self.state.head.height
        if kind < 3:
            rules = self.choose(["fifo", "auction", "bidding", "bidding", "bidding"])
            return ScheduleActivation(height + self.pick(6), rules)
        if kind == 3:
            return ResetWeights()
        if kind == 4:
            floor = self.choose([1_000_000, 1_500_000, 2_000_001])
            rate = self.choose([0, 200, 1_000])
            return UpdateBiddingConfig(BiddingConfig(rate, 1, 2_000_000, floor))
        return super()._governance()


class BiddingWorld(WeighedBidders, World):
    """A world whose timers bid, and whose actors are weighed."""


# --- under all rules, one after the other ---------------------------------------------

_BOXED = b"""\
        elif name == "timeout":
            return pvm_host.set_timeout(
                rest[0], pvm_host.block_height() + rest[1], rest[2], **rest[3]
            )
        elif name == "watch":
            keys = [tuple(k) if isinstance(k, list) else k for k in rest[1]]
            return pvm_host.set_state_watch(rest[0], keys, rest[2], **rest[3])
        elif name == "update":
            for timer_id in pvm_host.list_timers()[: rest[0]]:
                pvm_host.update_timer(timer_id, rest[1], **rest[2])
"""
_CANCEL = b'        elif name == "cancel":\n'

MIXER = AGENTS.replace(_CANCEL, _BOXED + _CANCEL)
"""An agent, and an owner of watches."""
assert MIXER != AGENTS

MIXED = AUCTION | {
    "calendar": {"ring_size": 4, "epoch_length": 5, "epochs": 2},
    "activations": [
        {"height": 2, "rules": "globalbox"},
        {"height": 5, "rules": "bidding"},
        {"height": 8, "rules": "auction"},
        {"height": 11, "rules": "globalbox"},
    ],
}
RULES = "fifo", "auction", "bidding", "globalbox"


class Mixed(WeighedBidders):
    """A crowd under rules that change, with timers of them all."""

    source = MIXER
    document = MIXED

    def _timer(self, told):
        kind = self.pick(5)
        terms = {
            "bid_fp": self.choose([None, 0, 1, 3 * 2**96, 2**128 - 1]),
            "gas_limit": self.choose([None, 20_000, 40_000]),
            "client_nonce": self.choose([None, None, b"1", b"2"]),
        }
        target = self.choose(self.actors)
        if kind == 0:
            return ["timeout", target, 1 + self.pick(3), told, terms]
        if kind == 1:
            keys = [self.choose([b"", "a", "b", b"\x01", [target, "a"], [target, ""]])]
            return ["watch", target, keys, told, terms]
        if kind == 2:
            del terms["client_nonce"]
            return ["update", self.pick(4), self.choose([None, told]), terms]
        return super()._timer(told)

    def _told(self):
        """Also what changes with every fire, and wakes a watch."""
        if self.pick(3) == 0:
            return codec.encode([["set", self.choose("ab"), self.pick(9)]])
        return super()._told()

    def _governance(self):
        kind = self.pick(8)
        if kind < 3:
            height = self.state.head.height + 1 + self.pick(6)
            return ScheduleActivation(height, self.choose(RULES))
        if kind == 3:
            return ResetWeights()
        if kind == 4:
            bounds = self.choose([(1, 10**9), (250_000, 2_000_000)])
            return UpdateBiddingConfig(
                BiddingConfig(self.choose([0, 200, 1_000]), *bounds, 1_500_000)
            )
        if kind == 5:
            return UpdateGlobalboxConfig(
                GlobalboxConfig(
                    max_fires_per_block=self.choose([1, 3, 128]),
                    max_fires_per_target=self.choose([1, 8]),
                    w_age=self.choose([1, 2**96]),
                    max_hits_per_block=self.choose([1, 1_000]),
                )
            )
        return super()._governance()


class MixedWorld(Mixed, World):
    """A world whose rules change."""


# --- upgrades under all rules ---------------------------------------------------------

_BURN = b'        elif name == "burn":'
_SWAP = b'        elif name == "swap":\n            pvm_host.upgrade_self(rest[0])\n'

SMALL = b"""import pvm_host
def do(payload):
    return [len(payload)]
def upgrade(payload):
    pvm_host.set_state(b"small", payload)
"""
"""What an actor can afford to become by itself: its timers find no handler then."""


class Upgraders(Mixed):
    """A crowd that gives actors other code and other state (D58)."""

    source = Mixed.source.replace(_BURN, _SWAP + _BURN)

    def codes(self):
        """What actors may become, and what is refused."""
        after = b"\n    def upgrade(self, payload):\n        return self.do(payload)\n"
        return [self.source, self.source + after, SMALL, SMALL, b"import os"]

    def _transaction(self):
        if self.pick(4):
            return super()._transaction()
        owner = self.choose([0, 0, self.pick(len(self.accounts))])
        return self._raw(owner, self._upgrade(), 900_000, 1_000_000)

    def _upgrade(self):
        actor = self.choose([*self.actors, *self.actors, *self.actors, NOBODY])
        code, told = self.choose(self.codes()), codec.encode([self._swap()])
        key = self.choose([b"storage:a", b"raw", b"__OWNER__"])
        call = ExecuteActor(actor, "do", codec.encode([self._swap()]), 0)
        return self.choose(
            [
                UpgradeActor(actor, code, told),
                UpgradeActor(actor, code, told),
                SetCode(actor, code),
                SetStorage(actor, key, self.choose([None, codec.encode(self.pick(9))])),
                call,
            ]
        )

    def _swap(self):
        return self.choose([["swap", SMALL], ["set", "a", self.pick(9)], ["fail"]])


class UpgradingWorld(Upgraders, World):
    """A world whose actors get other code."""


def fixed_pick(seed):
    """A sequence of numbers that is the same everywhere."""
    state = [b"%d" % seed]

    def pick(n):
        state[0] = keccak256(state[0])
        return int.from_bytes(state[0][:8], "big") % n

    return pick


def recount(snapshot):
    """(minted, balances + burned + held), every account and message counted."""
    start = keys.account(b"")
    balances = sum(
        decode_account(record).balance
        for _, record in snapshot.range(start, keys.prefix_stop(start))
    )
    globals_ = load_globals(snapshot)
    held = sum(message.prepaid for message in pending_messages(snapshot))
    return globals_.minted, balances + globals_.burned + held


def decodes(raw):
    """The transaction, or why not."""
    try:
        return decode_transaction(raw)
    except InvalidTransaction as error:
        return error
