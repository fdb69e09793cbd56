"""The chain under `auction` and a literal model of D28 to D36, in random worlds.

They share no code: see `auction_model`. After each block the order of asking and of
firing, limits and prices, who waits and for what, events, records, balances, what was
burned, the next fees and the next height with work are the same.
"""

from dataclasses import replace as changed

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from node.chain.block import ReceiptKind
from node.chain.globals import load_globals
from node.chain.timers import lane
from node.chain.transaction import ExecuteActor, UpdateTimerConfig
from node.chain.transition import head_governed, work_height
from node.primitives import codec
from node.testing import Devnet
from tests.differential.auction_model import Model, Rules, Use, next_lane

ACTOR = """
import pvm_host

class Player:
    def plan(self, payload):
        return [self._one(*entry) for entry in pvm_host.cbor_decode(payload)]

    def _one(self, height, data, options):
        try:
            return pvm_host.schedule_timer(height, data, **options)
        except pvm_host.HostError as error:
            return error.name

    def answer(self, payload):
        self.storage["answer"] = pvm_host.cbor_decode(payload)

    def get_gas_bid(self, context):
        answer = self.storage["answer"]
        if answer == "loop":
            while True:
                pass
        return answer

    def handle_timer(self, payload):
        kind, *rest = pvm_host.cbor_decode(payload)
        if kind == "burn":
            pvm_host.charge_gas(rest[0])
        elif kind == "keys":
            for number in range(rest[0]):
                pvm_host.set_state(bytes([number]), b"")
        elif kind == "cells":
            big = b"x" * 50_000
            for number in range(rest[0]):
                pvm_host.set_state(bytes([number]), big)
        elif kind == "pay":
            pvm_host.transfer(bytes([0x77] * 20), rest[0])
        elif kind == "cancel":
            pvm_host.cancel_timer(rest[0])
        elif kind == "extend":
            pvm_host.extend_timer(rest[0], rest[1])
"""

CBY = 10**9
BALANCES = {"a": 60 * CBY, "b": 2 * CBY, "c": 4 * CBY, "d": 30_000_000}
"""The last one can pay for no answer of an agent, and for no fire."""
NAMES = list(BALANCES)
KEYS_MAX = 14
BLOCKS = 16
AGAIN = 12
CONFIG = {
    "max_ttl_blocks": 25,
    "max_cycles_per_fire": 120_000,
    "max_cycles_per_fire_auction": 80_000,
    "max_cells_per_fire": 1_200_000,
    "lane_timer_cycles": 240_000,
    "fairness_window_blocks": 3,
    "max_due_examined": 6,
    "lane_gba_cycles": 70_000,
}
TARGETS = {"target_cycles": 120_000, "target_cells": 20_000}
WORLDS = settings(
    max_examples=2 * settings.default.max_examples,
    suppress_health_check=list(HealthCheck),
    # A world of 16 blocks does not shrink in minutes, nor to anything simpler.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)


class World:
    """A chain, and the model that is told what was sent and what executions used."""

    def __init__(self, chain, pick, activation, fees):
        self.chain, self.pick = chain, pick
        self.actors = {
            name: chain.deploy(ACTOR, salt=bytes([number]) * 32, value=balance)
            for number, (name, balance) in enumerate(BALANCES.items())
        }
        rules = Rules(
            activation=activation,
            again=activation + AGAIN,
            is_fair=fees["is_fair"],
            lane=CONFIG["lane_timer_cycles"],
            cap=CONFIG["max_cycles_per_fire_auction"],
            cap_before=CONFIG["max_cycles_per_fire"],
            cells_max=CONFIG["max_cells_per_fire"],
            block_cells=chain.params.block_cells,
            keys_max=KEYS_MAX,
            window=CONFIG["fairness_window_blocks"],
            examined_max=CONFIG["max_due_examined"],
            agents_lane=CONFIG["lane_gba_cycles"],
            ttl=CONFIG["max_ttl_blocks"],
            targets=(TARGETS["target_cycles"], TARGETS["target_cells"]),
            basefee_min=fees["min_basefee"],
        )
        self.model = Model(rules, {n: a.balance for n, a in self.actors.items()})
        globals_ = load_globals(chain.state.snapshot)
        self.model.height = chain.height
        self.model.basefee_cycle = globals_.basefee_cycle
        self.model.basefee_cell = globals_.basefee_cell
        self.model.burned = self._burned()
        self.model.proposer = chain.balance(chain.params.proposer)

    def choose(self, items):
        return items[self.pick(len(items))]

    # --- what is sent ---------------------------------------------------------------

    def step(self):
        """A block of random transactions, or a few empty heights."""
        self.sent = []
        kind = self.pick(8)
        if kind < 5:
            for sender in range(1, 2 + self.pick(3)):
                self._plan(sender)
        if kind in (4, 5):
            self._answer()
        if kind == 6:
            self._govern()
        before = len(self.chain.results)
        self.chain.mine(1 if self.sent else 1 + self.pick(6))
        for result in self.chain.results[before:]:
            self._follow(result)
        self._compare()

    def _send(self, sender, name, handler, payload, note):
        self.chain.submit(
            ExecuteActor(self.actors[name].address, handler, payload, 0),
            sender=self.chain.accounts[sender],
            cycles_limit=400_000,
            cells_limit=60_000,
        )
        self.sent.append((handler, name, note))

    def _plan(self, sender):
        name = self.choose("aaabbbcccd")
        entries = [self._entry(name) for _ in range(1 + self.pick(7))]
        payload = codec.encode(
            [
                [height, codec.encode(does), self._options(terms)]
                for height, does, terms in entries
            ]
        )
        self._send(sender, name, "plan", payload, entries)

    def _entry(self, name):
        height = self.chain.height + 1
        due = max(height + 1 + self.pick(2), self.model.rules.activation)
        own = [t.id for t in self.model.timers if t.actor == name] or [bytes(32)]
        own = own[-4:]
        does = self.choose(
            [
                ["burn", self.choose([0, 30_000, 2**29])],
                ["burn", 2**29],
                ["keys", 1 + self.pick(6)],
                ["cells", 2 + self.pick(2)],
                ["cells", 3],
                ["pay", self.choose([1, CBY // 2, CBY])],
                ["cancel", self.choose(own)],
                ["extend", self.choose(own), height + self.pick(40)],
            ]
        )
        basefee = self.model.basefee_lane or self.model.basefee_cycle
        terms = self.choose(
            [
                {},
                {"agent": self.choose(NAMES)},
                {"agent": name},
                {"max_fee": basefee + self.pick(basefee)},
                {"max_fee": basefee, "max_priority": 3},
                {"max_fee": 3 * basefee, "max_priority": self.pick(9)},
                {"max_fee": basefee // 2 + self.pick(basefee)},
                {"max_fee": self._declined(basefee)},
                {"max_priority": self.pick(5)},
                {"max_priority": basefee + self.pick(5)},
                {"hint": self.choose(["economy", "standard", "fast", "urgent"])},
                {"max_fee": 3 * basefee, "bid": 1},
            ]
        )
        limits = [None, None, None, 30_000, 60_000, 80_000, 80_001]
        terms = terms | {"limit": self.choose(limits)}
        if self.pick(4) == 0:
            terms["expires"] = due + self.pick(6)
        return due, does, terms

    def _declined(self, basefee):
        """What the lane's basefee falls to in a few idle blocks."""
        for _ in range(self.pick(5)):
            basefee = next_lane(basefee, 0, 1)
        return basefee

    def _options(self, terms):
        names = {
            "max_fee": "max_fee_per_cycle",
            "max_priority": "max_priority_fee_per_cycle",
            "limit": "gas_limit",
            "hint": "priority_tier_hint",
            "expires": "expires_at",
            "bid": "bid",
        }
        options = {names[key]: v for key, v in terms.items() if key in names}
        if "agent" in terms:
            options["gba"] = self.actors[terms["agent"]].address
        return options

    def _answer(self):
        basefee = max(1, self.model.basefee_lane)
        answer = self.choose(
            [
                [3 * basefee, self.pick(9)],
                [basefee, 4],
                [basefee - 1, 0],
                {"max_fee_per_cycle": 2 * basefee, "max_priority_fee_per_cycle": 5},
                {"max_fee_per_cycle": 2 * basefee},
                [-1, 2],
                [True, 1],
                [1, 2, 3],
                None,
                "loop",
            ]
        )
        name = self.choose(NAMES)
        self._send(4, name, "answer", codec.encode(answer), answer)

    def _govern(self):
        """D3: seen from the next block on."""
        config = head_governed(self.chain.state).timer_config
        cap = self.choose([30_000, 60_000, 80_000, 80_001, 100_000])
        window, examined = self.choose([1, 3, 6]), self.choose([2, 6, 50])
        self.chain.submit(
            UpdateTimerConfig(
                replace(
                    config,
                    max_cycles_per_fire_auction=cap,
                    fairness_window_blocks=window,
                    max_due_examined=examined,
                )
            ),
            cycles_limit=20_000,
            cells_limit=2_000,
        )
        self.sent.append(("govern", "", (cap, window, examined)))

    # --- what came of it ------------------------------------------------------------

    def _follow(self, result):
        model = self.model
        for _ in range(result.header.span - 1):
            model.begin()
            told = model.run(None, None)
            assert told == type(told)(), "a run passes heights without work only"
        model.begin()
        receipts = list(result.receipts)
        count = sum(r.kind is ReceiptKind.TRANSACTION for r in receipts)
        assert count == len(self.sent)
        for receipt, sent in zip(receipts, self.sent, strict=False):
            self._transacted(receipt, *sent)
        self.sent = []
        uses = {
            (r.kind, r.id): Use(r.cycles_used, r.cells_used, r.is_success)
            for r in receipts
        }
        told = model.run(
            lambda timer_id: uses[ReceiptKind.AGENT, timer_id],
            lambda timer_id: uses[ReceiptKind.FIRE, timer_id],
        )
        self._compare_order(result, receipts[count:], told)

    def _transacted(self, receipt, kind, name, note):
        model = self.model
        assert receipt.is_success, receipt
        keys = 0
        if kind == "answer":
            model.answers[name] = note
            keys = 1
        elif kind == "govern":
            cap, window, examined = note
            model.next_rules = changed(
                model.rules, cap=cap, window=window, examined_max=examined
            )
        else:
            got = codec.decode(receipt.value)
            for (due, does, terms), one in zip(note, got, strict=True):
                expected = model.schedule(name, due, does, terms, one)
                assert one == expected if expected else isinstance(one, bytes)
                keys += not expected
        model.transact(receipt.cycles_used, receipt.cells_used, keys)
        model.burned["cycle"] += receipt.burned_cycle
        model.burned["cell"] += receipt.burned_cell

    def _compare_order(self, result, receipts, told):
        asked = [r for r in receipts if r.kind is ReceiptKind.AGENT]
        fires = [r for r in receipts if r.kind is ReceiptKind.FIRE]
        assert receipts == asked + fires
        assert told.asked == [(r.id, r.cycles_used, r.price.cycle) for r in asked]
        assert told.fires == [
            (
                r.id,
                r.cycles_limit,
                (
                    r.price.cycle_burn,
                    r.price.cycle_tip,
                    r.price.cell_burn,
                    r.price.lane_burn,
                ),
            )
            for r in fires
        ]
        assert all(r.price.cell_tip == 0 for r in fires)
        events = [
            (e.topic, codec.decode(e.data)["timer_id"])
            for e in result.events
            if e.emitter is None
            and e.topic not in ("TimerScheduled", "TimerPriorityClampedAtSchedule")
            and e.topic not in ("TimerArgDeprecated", "timer_config.updated")
        ]
        assert told.events == events
        for one in result.trace:
            if one.decision == "put_off":
                assert told.put_off[one.timer_id] == one.reason

    def _burned(self):
        globals_ = load_globals(self.chain.state.snapshot)
        return {
            "cycle": globals_.burned_cycle,
            "cell": globals_.burned_cell,
            "lane": globals_.burned_lane,
        }

    def _compare(self):
        chain, model = self.chain, self.model
        globals_ = load_globals(chain.state.snapshot)
        assert (
            model.height, model.basefee_cycle, model.basefee_cell,
            model.basefee_lane, model.p50,
        ) == (
            chain.height, globals_.basefee_cycle, globals_.basefee_cell,
            globals_.basefee_lane, globals_.p50_priority,
        )  # fmt: skip
        assert model.balances == {n: a.balance for n, a in self.actors.items()}
        assert model.burned == self._burned()
        assert model.proposer == chain.balance(chain.params.proposer)
        live = sorted(model.timers, key=lambda t: (t.due, t.sequence))
        assert [
            (t.id, t.expires_at, t.is_noted, t.last_bid, t.fee, t.priority)
            for t in live
        ] == [
            (
                t.timer_id, t.expires_at, t.is_over_cap_noted, t.last_bid,
                t.max_fee_per_cycle, t.max_priority_fee_per_cycle,
            )
            for t in chain.timers()
        ]  # fmt: skip
        assert model.work_height() == work_height(chain.state)


@pytest.fixture(autouse=True)
def _near_bound(monkeypatch):
    """D43's 20,000 keys of a block, made near."""
    assert lane.WRITES_BEFORE_DEFERRED_STOP == 20_000
    monkeypatch.setattr(lane, "WRITES_BEFORE_DEFERRED_STOP", KEYS_MAX)


@WORLDS
@given(crowd=st.randoms(use_true_random=False))
def test_the_chain_does_what_the_model_says(crowd):
    """D28 to D36, D8 and D43 at the level of blocks."""
    pick = crowd.randrange
    fees = {"is_fair": bool(pick(3)), "min_basefee": (2, 900, 900)[pick(3)]}
    activation = 5 + pick(4)
    with Devnet(
        auction_tie_break="fair" if fees["is_fair"] else "cip",
        basefee_cycle=fees["min_basefee"] + 100,
        block_cells=1_200_000 + 285_000,
        timer_config=CONFIG,
        basefee_config=TARGETS | {"min_basefee": fees["min_basefee"]},
        activations=[
            {"height": height, "rules": "auction"}
            for height in (activation, activation + AGAIN)
        ],
    ) as chain:
        world = World(chain, pick, activation, fees)
        for _ in range(BLOCKS):
            world.step()
