"""Random worlds for the models of `timer_model`, and the comparison with the chain.

A world draws from `pick(n)`, 0 ≤ answer < n. After each block the order of asking and
of firing, limits and prices, what fires learn and find, who waits and for what, events,
records, balances, what was burned, the next fees, and the next height with work are
those of the model.
"""

from dataclasses import astuple
from dataclasses import replace as changed

from node.chain.block import ReceiptKind
from node.chain.globals import load_globals
from node.chain.transition import head_governed, work_height
from node.primitives import codec
from node.state import keys
from tests.differential.auction_model import AuctionModel
from tests.differential.bidding_model import BiddingModel
from tests.differential.fifo_model import FifoModel
from tests.differential.globalbox_model import GlobalboxModel, age_of
from tests.differential.timer_crowd import (
    ACTOR,
    BALANCES,
    BLOCK_CELLS,
    KEYS_MAX,
    LEAVING_MAX,
    SIGNERS,
    STARVED_MAX,
    TimerCrowd,
)
from tests.differential.timer_model import Fixed, Model, Use

NOT_TOLD = (
    "TimerScheduled",
    "TimerPriorityClampedAtSchedule",
    "TimerArgDeprecated",
    "timer_config.updated",
    "bidding_config.updated",
    "globalbox_config.updated",
    "weights.reset",
    "timer.cancelled_by_governance",
    "timer.extended_by_governance",
    "ActivationScheduled",
)
"""Events of transactions, which the tests of calls compare."""
MESSAGE = ReceiptKind.MAILBOX_MESSAGE
KINDS = FifoModel, AuctionModel, BiddingModel, GlobalboxModel
ALL = tuple(kind.name for kind in KINDS)


class TimerWorld(TimerCrowd):
    """A chain, and the model that is told what was sent and what executions used."""

    def __init__(self, chain, pick, rules, numbers):
        self.chain, self.pick, self.rules = chain, pick, rules
        self.is_busy = pick(2)
        self.sent = []
        signers = {
            name: chain.accounts[number].address
            for number, name in enumerate(SIGNERS, 1)
        }
        self.actors = {
            name: chain.deploy(
                ACTOR,
                salt=bytes([number]) * 32,
                value=balance,
                sender=chain.accounts[5 if name == "e" else 0],
            )
            for number, (name, balance) in enumerate(BALANCES.items())
        }
        self.addresses = {n: a.address for n, a in self.actors.items()} | signers
        params = chain.params
        fixed = Fixed(
            addresses=self.addresses,
            deployers={name: "s5" if name == "e" else "s0" for name in BALANCES},
            basefee_min=params.basefee_config.min_basefee,
            is_fair=params.auction_tie_break.value == "fair",
            block_cells=BLOCK_CELLS,
            keys_max=KEYS_MAX,
            starved_max=STARVED_MAX,
            leaving_max=LEAVING_MAX,
            epoch_length=params.calendar.epoch_length,
        )
        self.model = Model(
            fixed,
            numbers,
            {n: chain.balance(a) for n, a in self.addresses.items()},
            {kind.name: kind for kind in KINDS},
        )
        self.model.activations |= dict(head_governed(chain.state).activations)
        globals_ = load_globals(chain.state.snapshot)
        self.model.height = chain.height
        self.model.basefee_cycle = globals_.basefee_cycle
        self.model.basefee_cell = globals_.basefee_cell
        self.model.last_cycles = globals_.last_cycles_used
        self.model.burned = self._burned()
        self.model.proposer = chain.balance(params.proposer)

    # --- blocks ----------------------------------------------------------------------

    def play(self, *transactions):
        """A block of what is given, as (actor, actions)."""
        for name, does in transactions:
            self._do("s1", name, does)
        return self._mine(1)

    def step(self):
        """A block of random transactions, or a few empty heights."""
        kind = self.pick(10)
        if not self.model.answers:
            self._answer_all()
        if kind < 6:
            for signer in SIGNERS[: 1 + self.pick(3)]:
                self._act(signer)
        if kind in (5, 6):
            self._answer()
        if kind in (4, 7):
            self._govern()
        if kind == 8:
            self._fund()
        idle = 1 + self.pick(6) if self.pick(12) else 150
        self._mine(1 if self.sent else idle)

    def change(self, which, values):
        """A block in which governance changes numbers of a config."""
        self._change(which, values)
        self._mine(1)

    def activate(self, rules, ahead):
        """A block in which governance chooses the rules of a later one."""
        self._activate(rules, self.chain.height + 1 + ahead)
        self._mine(1)

    # --- what came of it ------------------------------------------------------------

    def _mine(self, heights):
        """What was sent goes into a block; without it, time passes."""
        before = len(self.chain.results)
        self.chain.mine(heights)
        for result in self.chain.results[before:]:
            self._follow(result)
        self._compare()
        return self.model.told

    def _follow(self, result):
        model = self.model
        for _ in range(result.header.span - 1):
            model.begin(b"")
            told = model.run(None, None)
            assert told == type(told)(), "a run passes heights without work only"
        model.begin(self._root_before(result))
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
        messages = iter([use for (kind, _), use in uses.items() if kind is MESSAGE])
        told = model.run(
            lambda timer_id: uses[ReceiptKind.AGENT, timer_id],
            lambda timer_id: uses[ReceiptKind.FIRE, timer_id],
            lambda: next(messages),
        )
        self._compare_order(result, receipts[count:], told)

    def _root_before(self, result):
        """The parent's state root, which no run and no single block differs in."""
        before = result.header.height - result.header.span
        return self.chain.block(before).header.state_root

    def _transacted(self, receipt, signer, kind, name, note):
        model = self.model
        use = Use(receipt.cycles_used, receipt.cells_used, receipt.is_success)
        if signer:
            model.balances[signer] -= receipt.fee
        model.burned["cycle"] += receipt.burned_cycle
        model.burned["cell"] += receipt.burned_cell
        if kind == "do":
            expected = model.transact(name, note, use, signer)
            got = codec.decode(receipt.value) if receipt.is_success else None
            assert got == expected, note
            return
        model.count(use)
        if kind == "judge":
            self._judged(receipt, name, note)
            return
        assert receipt.is_success, receipt
        if kind == "fund":
            model.balances[name] = note
        elif kind == "store":
            key, value = note
            model.keys += 1
            model.storage.pop((self.addresses[name], key), None)
            if value is not None:
                model.storage[self.addresses[name], key] = value
        else:
            self._governed(kind, name, note)

    def _governed(self, kind, name, note):
        model = self.model
        if kind == "activate":
            model.activations[note] = name
        elif kind == "reset":
            model.reset_height = model.height
        else:
            model.next_numbers = changed(model.next_numbers or model.numbers, **note)
            if name == "globalbox":
                model.clock = age_of(model), model.height

    def _judged(self, receipt, timer_id, height):
        """A cancel that finds nothing succeeds, an extension does not (D25)."""
        model, timer = self.model, self.model.find(timer_id)
        is_possible = timer is not None and (height is None or height > model.height)
        assert receipt.is_success == (is_possible or height is None)
        if not is_possible:
            return  # and no key of governance counts for D43
        if height is None:
            model.drop(timer)
        else:
            model.prolong(timer, height)

    def _compare_order(self, result, receipts, told):
        asked = [r for r in receipts if r.kind is ReceiptKind.AGENT]
        fires = [r for r in receipts if r.kind is ReceiptKind.FIRE]
        messages = [r for r in receipts if r.kind is MESSAGE]
        assert receipts == asked + fires + messages
        assert told.messages == [
            (
                next(name for name, a in self.addresses.items() if a == r.actor),
                codec.decode(r.value) if r.is_success else None,
            )
            for r in messages
        ]
        assert told.asked == [(r.id, r.cycles_used, r.price.cycle) for r in asked]
        assert [
            (
                fire.timer_id,
                self.addresses[fire.target],
                self.addresses[fire.sender],
                self.addresses[fire.payer],
                fire.limit,
                fire.price,
            )
            for fire in told.fires
        ] == [
            (r.id, r.actor, r.sender, r.payer, r.cycles_limit, _parts(r)) for r in fires
        ]
        for fire, receipt in zip(told.fires, fires, strict=True):
            if receipt.is_success:
                trigger, results = codec.decode(receipt.value)
                assert results == fire.results
                assert trigger == _as_read(fire.trigger)
        assert told.put_off == [
            (one.timer_id, one.reason)
            for one in result.trace
            if one.decision in ("put_off", "put_back")
        ]
        assert told.events == [
            (event.topic, _subject(codec.decode(event.data)))
            for event in result.events
            if event.emitter is None and event.topic not in NOT_TOLD
        ]
        self._compare_globalbox(result, told)

    def _compare_globalbox(self, result, told):
        """What Deliver and Materialize did (D52, D53), and what they left."""
        found = {one: [] for one in ("enqueued", "materialized")}
        for one in result.trace:
            found.get(one.decision, []).append(one)
        assert sorted(told.enqueued) == sorted(
            (one.timer_id, one.numbers["score"], one.order) for one in found["enqueued"]
        )
        assert told.materialized == [one.timer_id for one in found["materialized"]]

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
        assert model.balances == {
            name: chain.balance(address) for name, address in self.addresses.items()
        }
        assert model.burned == self._burned()
        assert model.proposer == chain.balance(chain.params.proposer)
        self._compare_records()
        self._compare_weights()
        self._compare_queue()
        self._compare_storage()
        assert model.work_height() == work_height(chain.state)

    def _compare_records(self):
        assert sorted(
            [
                t.sequence, t.id, t.due, t.expires_at, t.is_noted, t.last_bid,
                t.fee, t.priority, t.poor, t.bid_fp, t.bucket, t.fire_seq,
            ]
            for t in self.model.timers
        ) == sorted(
            [
                t.sequence, t.timer_id, t.height, t.expires_at, t.is_over_cap_noted,
                t.last_bid, t.max_fee_per_cycle, t.max_priority_fee_per_cycle,
                t.poor_note, t.bid_fp, t.bucket, t.fire_seq,
            ]
            for t in self.chain.timers()
        )  # fmt: skip

    def _compare_storage(self):
        """What fires wrote, and no more; an agent's answer is compared by its bids."""
        start = keys.storage(b"")
        kept = {
            (key[len(start) :][:20], key[len(start) + 20 :]): value
            for key, value in self.chain.state.snapshot.range(
                start, keys.prefix_stop(start)
            )
        }
        told = dict(self.model.storage)
        for one in (kept, told):
            for address in self.addresses.values():
                one.pop((address, b"storage:answer"), None)
        assert kept == told

    def _compare_queue(self):
        """D51, D52: places in the Globalbox, and hits that wait."""
        snapshot, model = self.chain.state.snapshot, self.model
        assert sorted(place.key for place in model.queue.values()) == [
            key[1:] for key, _ in snapshot.range(b"q", b"r")
        ]
        assert sorted(
            keys.noted_hit(hit.height, model.find(timer_id).sequence)
            for timer_id, hit in model.noted.items()
        ) == [key for key, _ in snapshot.range(b"sn", b"so")]

    def _compare_weights(self):
        """D48: the records themselves."""
        snapshot, model = self.chain.state.snapshot, self.model
        kept = {
            name: codec.decode(record)
            for name, address in self.addresses.items()
            if (record := snapshot.get(keys.weight(address))) is not None
        }
        assert kept == {name: list(astuple(one)) for name, one in model.records.items()}
        epochs = snapshot.get(keys.EPOCHS_WITH_FIRES)
        assert codec.decode(epochs or b"\x80") == [
            list(astuple(one)) for one in reversed(model.everybody)
        ]


def _subject(data):
    """What an event is about: a timer, or a key that was not matched to its end."""
    if "timer_id" in data:
        return data["timer_id"]
    return data["address"], data["key"]


def _as_read(trigger):
    """Tuples come as lists."""
    if trigger is None or trigger["matched_keys"] is None:
        return trigger
    return trigger | {"matched_keys": [list(key) for key in trigger["matched_keys"]]}


def _parts(receipt):
    price = receipt.price
    assert price.cell_tip == 0
    return price.cycle_burn, price.cycle_tip, price.cell_burn, price.lane_burn
