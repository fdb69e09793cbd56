"""What is sent in the random worlds of `timer_world`: calls, answers, governance.

A crowd draws from `pick(n)`, 0 ≤ answer < n, and looks at the model, so that what it
sends is near what is allowed, and near what is not.
"""

from dataclasses import replace as changed

from msgspec.structs import replace

from node.chain.params import ChainParams
from node.chain.transaction import (
    CancelTimer,
    ExecuteActor,
    ExtendTimer,
    ResetWeights,
    ScheduleActivation,
    SetBalance,
    SetStorage,
    UpdateBiddingConfig,
    UpdateGlobalboxConfig,
    UpdateTimerConfig,
)
from node.chain.transition import head_governed
from node.primitives import codec
from tests.differential.timer_model import Numbers, keccak256, next_lane

ACTOR = """
import pvm_host

class Player:
    def do(self, payload):
        return [self._one(*entry) for entry in pvm_host.cbor_decode(payload)]

    def undo(self, payload):
        self.do(payload)
        raise ValueError("all of it is undone")

    def handle_timer(self, payload):
        return [pvm_host.context().get("timer"), self.do(payload)]

    def get_gas_bid(self, context):
        answer = self.storage["answer"]
        if answer == "loop":
            while True:
                pass
        if answer == "late":
            height = context["current_block_height"]
            late = height - context["trigger_block_height"]
            return [3 * context["basefee_cycle"], late]
        if answer == "rich":
            rich = context["owner_actor_balance"] % 7
            return [9 * context["basefee_cycle"], rich]
        if answer == "busy":
            return [9 * context["basefee_cell"], context["last_block_cycle_usage"] % 11]
        return answer

    def _one(self, name, *rest):
        try:
            if name in ("timer", "timer_ex", "timeout", "watch", "update"):
                return self._set(name, *rest)
            return self._act(name, *rest)
        except pvm_host.HostError as error:
            if name == "mail":
                raise ValueError("what is left of the budget decides") from error
            return error.name

    def _set(self, name, *rest):
        *where, data, options = rest
        now = pvm_host.block_height()
        if "expires_in" in options:
            options["expires_at"] = max(0, now + options.pop("expires_in"))
        if name == "timer":
            return pvm_host.schedule_timer(now + where[0], data, **options)
        if name == "timer_ex":
            return pvm_host.schedule_timer_ex(now + where[0], data, **options)
        if name == "timeout":
            return pvm_host.set_timeout(where[0], now + where[1], data, **options)
        if name == "watch":
            keys = [tuple(k) if isinstance(k, list) else k for k in where[1]]
            return pvm_host.set_state_watch(where[0], keys, data, **options)
        return pvm_host.update_timer(where[0], data, **options)

    def _act(self, name, *rest):
        if name == "burn":
            pvm_host.charge_gas(rest[0])
        elif name == "set":
            pvm_host.set_state(rest[0], rest[1])
        elif name == "drop":
            pvm_host.delete_state(rest[0])
        elif name == "toggle":
            last = pvm_host.get_state(rest[0]) or b"0"
            pvm_host.set_state(rest[0], b"1" if last == b"0" else b"0")
        elif name == "fill":
            big = bytes(rest[1])
            for number in range(rest[0]):
                pvm_host.set_state(bytes([number]), big)
        elif name == "pay":
            pvm_host.transfer(bytes([0x77] * 20), rest[0])
        elif name == "answer":
            self.storage["answer"] = rest[0]
        elif name == "call":
            return pvm_host.cbor_decode(pvm_host.call_actor(rest[0], "do", rest[1]))
        elif name == "attempt":
            try:
                pvm_host.call_actor(rest[0], "undo", rest[1])
            except pvm_host.RevertError:
                return "undone"
        elif name in ("send", "mail"):
            pvm_host.send_message(
                rest[0], "do", rest[1], cycles=rest[2], cells=rest[3]
            )
        elif name == "own":
            return sorted(pvm_host.list_timers())
        elif name == "get":
            found = pvm_host.get_timer(rest[0])
            return found and found["expires_at"]
        elif name == "cancel":
            pvm_host.cancel_timer(rest[0])
        elif name == "extend":
            pvm_host.extend_timer(rest[0], pvm_host.block_height() + rest[1])
"""

CBY = 10**9
BALANCES = {"a": 90 * CBY, "b": 2 * CBY, "c": 9 * CBY, "d": 30_000_000, "e": 30 * CBY}
"""The last but one can pay for no answer of an agent, and for no fire."""
SIGNERS = "s1", "s2", "s3", "s4"
KEYS_MAX = 14
STARVED_MAX = 2
LEAVING_MAX = 2
BLOCK_CELLS = 1_200_000 + 780_000
NUMBERS = Numbers()
FIELDS = {
    "lane": "lane_timer_cycles",
    "cap": "max_cycles_per_fire",
    "cap_auction": "max_cycles_per_fire_auction",
    "cells_max": "max_cells_per_fire",
    "fire_base": "fire_base_cycles",
    "window": "fairness_window_blocks",
    "examined_max": "max_due_examined",
    "agents_lane": "lane_gba_cycles",
    "ttl": "max_ttl_blocks",
    "timers_max": "max_timers_per_actor",
    "lambda_permille": "lambda_permille",
    "weight_min": "weight_min",
    "weight_max": "weight_max",
    "starvation_floor": "starvation_floor",
    "fires_max": "max_fires_per_block",
    "fires_per_target": "max_fires_per_target",
    "timers_per_target": "max_timers_per_target",
    "w_age": "w_age",
    "w_bid": "w_bid",
    "gas_min": "min_gas_limit",
    "bid_min": "min_bid_fp",
    "bid_max": "max_bid_fp",
    "keys_of_watch_max": "max_watch_keys",
    "hits_max": "max_hits_per_block",
    "payload_max": "max_payload",
}
"""Names of the model's numbers in the chain's configs."""
CONFIGS = {
    "timer": (UpdateTimerConfig, "timer_config"),
    "bidding": (UpdateBiddingConfig, "bidding_config"),
    "globalbox": (UpdateGlobalboxConfig, "globalbox_config"),
}
CHANGES = {
    "timer": {
        "lane": [120_000, 160_000, 240_000],
        "cap": [40_000, 80_000, 120_000],
        "cap_auction": [30_000, 60_000, 80_000],
        "window": [1, 3, 6],
        "examined_max": [2, 6, 50],
        "timers_max": [4, 9, 1_024],
        "agents_lane": [50_000, 70_000, 200_000],
    },
    "bidding": {
        "lambda_permille": [0, 200, 500, 1_000],
        "weight_min": [1, 250_000, 1_000_000],
        "weight_max": [1_500_000, 2_000_000, 2**63],
        "starvation_floor": [1_000_000, 1_500_000],
    },
    "globalbox": {
        "fires_max": [1, 2, 128],
        "fires_per_target": [1, 2, 8],
        "timers_per_target": [1, 3, 4_096],
        "w_age": [2**96, 2**96, 2**90, 1],
        "w_bid": [1, 7, 2**64 - 1],
        "gas_min": [0, 1_000, 40_000],
        "bid_min": [0, 0, 1, 2**96],
        "bid_max": [2**128 - 1, 2**100],
        "keys_of_watch_max": [1, 16],
        "hits_max": [1, 1, 2, 1_000],
        "payload_max": [30, 1_048_576, 1_048_576, 1_048_576],
    },
}
"""What governance makes of them."""
OPTIONS = {
    "max_fee": "max_fee_per_cycle",
    "max_priority": "max_priority_fee_per_cycle",
    "limit": "gas_limit",
    "hint": "priority_tier_hint",
    "expires": "expires_in",
    "client_nonce": "client_nonce",
}


def genesis(pick, rules):
    """Numbers of a world in which all is scarce, and arguments of its `Devnet`."""
    numbers = NUMBERS
    if pick(2):
        for which in ("bidding", "globalbox"):
            choices = CHANGES[which].items()
            numbers = changed(
                numbers, **{k: some[pick(len(some))] for k, some in choices}
            )
    least = (2, 900, 900)[pick(3)]
    return numbers, {
        **{field: _config(numbers, field) for _, field in CONFIGS.values()},
        "auction_tie_break": ("fair", "fair", "cip")[pick(3)],
        "basefee_cycle": least + 100,
        "block_cells": BLOCK_CELLS,
        "basefee_config": {
            "target_cycles": 120_000,
            "target_cells": 20_000,
            "min_basefee": least,
        },
        "activations": [{"height": 6 + pick(4), "rules": rules[pick(len(rules))]}],
        "calendar": {"epoch_length": (3, 5, 7, 3_600)[pick(4)]},
    }


def _config(numbers, name):
    fields = getattr(ChainParams(), name).__struct_fields__
    return {f: getattr(numbers, key) for key, f in FIELDS.items() if f in fields}


class TimerCrowd:
    """Who uses and who governs a chain; `TimerWorld` has the chain and the model."""

    def choose(self, items):
        return items[self.pick(len(items))]

    @property
    def in_force(self):
        """Rules of the next height."""
        return self.model.rules_at(self.chain.height + 1)

    def _answer_all(self):
        """The agents' first answers."""
        basefee = 4 * self.model.basefee_cycle
        for tip, name in enumerate("abce"):
            self._do("s4", name, [["answer", [basefee, tip]]])

    def _send(self, signer, instruction, note):
        index = SIGNERS.index(signer) + 1 if signer else 0
        is_dev = isinstance(instruction, SetBalance | SetStorage)
        limits = (0, 0) if is_dev else (400_000, 60_000) if signer else (20_000, 2_000)
        self.chain.submit(
            instruction,
            sender=self.chain.accounts[index],
            cycles_limit=limits[0],
            cells_limit=limits[1],
        )
        self.sent.append((signer, *note))

    def _do(self, signer, name, does):
        payload = codec.encode(self._pack(does))
        actor = self.actors[name].address
        self._send(signer, ExecuteActor(actor, "do", payload, 0), ("do", name, does))

    def _act(self, signer):
        name = self.choose("aaabbbcccde")
        does = [self._entry(name, signer) for _ in range(1 + self.pick(6))]
        if self.in_force == "globalbox" and self.pick(4) == 0:
            does += self._again(name)
        self._do(signer, name, does)

    def _entry(self, name, signer):
        """One action of a transaction: mostly, a timer is set."""
        kind = self.pick(12)
        if kind == 0:
            return self._small(name)
        if kind == 11 and self.pick(2):
            other = self.choose("abce")
            does = [self._small(other) for _ in range(1 + self.pick(2))]
            budget = self.choose([(20_000, 2_000), (60_000, 9_000)])
            calls = [["call", other, does], ["send", other, does, *budget]]
            return self.choose([*calls, self._undone(name)])
        if kind < (10 if self.in_force == "globalbox" else 2):
            return self._boxed(name)
        terms = self._terms(name, signer)
        if self.pick(8) == 0:
            few = {k: terms[k] for k in ("limit", "expires", "payer") if k in terms}
            return self.packed("timer_ex", 1 + self.pick(2), self._told(name), few)
        return self.packed("timer", 1 + self.pick(2), self._told(name), terms)

    def _boxed(self, name):
        """The calls of `globalbox`, which are refused under all other rules (D50)."""
        kind = self.pick(8)
        target = self.choose([*"abce" * 3, *[name] * 9, "s1"])
        bids = [None, None, 0, 1, 2**96, 3 * 2**96, 5 * 2**96 + 1, 900 * 2**96]
        bids = [*bids * 3, 2**128 - 1, 2**128]
        terms = {"bid": self.choose(bids), "limit": self._limit()}
        if self.pick(4) == 0:
            terms["expires"] = self.pick(9) - 1
        if self.pick(2):
            nonces = [b"1", b"22", b"1", b"22", bytes(32), b"", bytes(33)]
            terms["client_nonce"] = self.choose(nonces)
        if kind < 4:
            does = self._told(name)
            return self.packed("timeout", target, 1 + self.pick(3), does, terms)
        if kind < 7:
            count = self.choose([1, 1, 1, 2, 2, 3, 3, 17])
            keys = [self._watch_key() for _ in range(count)]
            return self.packed("watch", target, keys, self._told(name), terms)
        return self._update(name)

    def _update(self, name):
        terms = {"bid": self.choose([None, 0, 7 * 2**96]), "limit": self._limit()}
        does = self.choose([None, [["toggle", b"k"]], [["toggle", b"k2"]]])
        return self.packed("update", self.choose(self._ids(name)), does, terms)

    def _watch_key(self):
        prefix = self.choose([b"", b"k", b"k1", bytes([1]), "", "answer", "other"])
        if self.pick(3) == 0:
            return prefix
        addresses = [self.addresses[name] for name in "aabce"]
        return [self.choose([*addresses, bytes(20)]), prefix]

    def _limit(self):
        limits = [None, None, 30_000, 30_000, 60_000, 80_000]
        return self.choose([*limits * 3, 80_001, 120_001, 999])

    def packed(self, *entry):
        """The payload's bytes are told to the model, which makes ids of them."""
        *head, does, terms = entry
        packed = b"" if does is None else codec.encode(self._pack(does))
        return [*head, does, terms | {"packed": packed}]

    def _ids(self, name):
        """Of a few own timers, somebody's, and nobody's."""
        timers = self.model.timers
        own = [t.id for t in timers if t.owner == name][-4:]
        return [*own, *own, *[t.id for t in timers][-1:], bytes(32)]

    def _small(self, name):
        """What an execution does beside setting timers."""
        ids = self._ids(name)
        if self.in_force == "globalbox" and self.pick(4) == 0:
            return self._update(name)
        return self.choose(
            [
                ["set", self._key(), bytes([self.pick(3)])],
                ["set", self._key(), bytes([self.pick(3)])],
                ["drop", self._key()],
                ["toggle", self._key()],
                ["toggle", self._key()],
                ["fill", 1 + self.pick(6), 0],
                ["pay", self.choose([1, CBY // 2, CBY])],
                ["cancel", self.choose(ids)],
                ["extend", self.choose(ids), self.pick(40) - 1],
                ["get", self.choose(ids)],
                ["own"],
            ]
        )

    def _key(self):
        return self.choose([b"k", b"k1", b"k2", b"other", bytes([1])])

    def _told(self, name):
        """What a fire does: something small, something heavy, or what must fail."""
        if self.is_busy and self.pick(2):
            cycles = self.choose([15_000, 40_000, 2**29])
            return [["burn", cycles], self._small(name)]
        small = [self._small(name) for _ in range(1 + self.pick(2))]
        return self.choose(
            [
                [["burn", 2**29]],
                [["burn", 2**29]],
                [["burn", self.choose([0, 25_000, 50_000])]],
                [["burn", 25_000], *small],
                [["fill", self.choose([3, 12]), 62_500]],
                [self._nested(name)],
                [self._undone(name), self._small(name)],
                [["mail", self.choose("abce"), [self._small(name)], 20_000, 2_000]],
                [["toggle", b"k"], ["toggle", b"k2"], ["toggle", self._key()]],
                small,
                small,
                small,
            ]
        )

    def _nested(self, name):
        """A timer that a fire sets."""
        terms = {"limit": self.choose([None, 30_000, 60_000])}
        does = [["toggle", self._key()]]
        if self.pick(2):
            return self.packed("timer", self.pick(3), does, terms)
        terms["client_nonce"] = b"1"
        return self.packed("timeout", name, self.pick(3), does, terms)

    def _undone(self, name):
        """A call that fails, often of oneself, after it acted on timers."""
        other = self.choose([name, name, name, *"abce"])
        choices = [self._nested(other), ["cancel", self.choose(self._ids(other))]]
        does = [self.choose(choices) for _ in range(1 + self.pick(2))]
        return ["attempt", other, does]

    def _again(self, name):
        """One nonce, set and cancelled by turns, for good or in calls that fail."""
        nonce, address = b"again", self.addresses[name]
        terms = {"client_nonce": nonce}
        once = self.packed("timeout", name, 1 + self.pick(3), [["own"]], terms)
        cancel = ["cancel", keccak256(b"client", address, address, nonce)]
        both = [once, cancel], [cancel, once]
        choices = [once, once, cancel, cancel, ["own"]]
        choices += [["attempt", name, does] for does in ([once], [cancel], *both)]
        return [self.choose(choices) for _ in range(3 + self.pick(3))]

    def _terms(self, name, signer):
        basefee = self.model.basefee_lane or self.model.basefee_cycle
        terms = self.choose(
            [
                {},
                {"agent": self.choose("abcde")},
                {"agent": self.choose("abcde")},
                {"agent": name},
                {"agent": self.choose(["s1", name, "a", "b"])},
                {"agent": name} | ({} if self.pick(4) else {"max_fee": basefee}),
                {"max_fee": basefee + self.pick(basefee)},
                {"max_fee": basefee, "max_priority": 3},
                {"max_fee": 3 * basefee, "max_priority": self.pick(9)},
                {"max_fee": basefee // 2 + self.pick(basefee)},
                {"max_fee": self._declined(basefee)},
                {"max_priority": self.pick(5)},
                {"max_priority": basefee + self.pick(5)},
                {"hint": self.choose(["economy", "standard", "fast", "urgent"])},
                {"bid": self.choose([0, 1, 2**96, 5 * 2**96, 2**128 - 1])},
                {"agent": name, "bid": 1},
            ]
        )
        if self.in_force == "bidding" and self.pick(3):
            terms = {"agent": self.choose("aabbccde")}
        terms = terms | {"limit": self._limit()}
        if self.pick(4) == 0:
            terms["expires"] = self.pick(9) - 1
        if self.pick(4) == 0:
            terms["payer"] = self.choose([signer, name, "s4"])
        return terms

    def _declined(self, basefee):
        """What a basefee falls to in a few idle blocks."""
        for _ in range(self.pick(5)):
            basefee = next_lane(basefee, 0, 1)
        return basefee

    def _pack(self, does):
        """Actions as the actor reads them."""
        return [self._pack_one(*action) for action in does]

    def _pack_one(self, name, *rest):
        if name in ("call", "send", "mail", "attempt"):
            target, does, *budget = rest
            packed = codec.encode(self._pack(does))
            return [name, self.addresses[target], packed, *budget]
        if name not in ("timer", "timer_ex", "timeout", "watch", "update"):
            return [name, *rest]
        *where, does, terms = rest
        options = {OPTIONS[k]: v for k, v in terms.items() if k in OPTIONS}
        if "bid" in terms:
            options["bid" if name == "timer" else "bid_fp"] = terms["bid"]
        if name in ("timeout", "watch"):
            where[0] = self.addresses[where[0]]
        for key, option in (("agent", "gba"), ("payer", "fee_payer")):
            if key in terms:
                options[option] = self.addresses[terms[key]]
        packed = None if does is None else terms["packed"]
        return [name, *where, packed, options]

    def _answer(self):
        basefee = max(1, self.model.basefee_lane, self.model.basefee_cycle)
        answer = self.choose(
            [
                [3 * basefee, self.pick(9)],
                [basefee, 4],
                [basefee - 1, 0],
                {"max_fee_per_cycle": 2 * basefee, "max_priority_fee_per_cycle": 5},
                {"max_fee_per_cycle": 2 * basefee, "tip_per_cycle": 6},
                {
                    "max_fee_per_cycle": 2 * basefee,
                    "tip_per_cycle": self.pick(9),
                    "max_priority_fee_per_cycle": self.pick(9),
                },
                {"max_fee_per_cycle": 2 * basefee},
                [2**128 - 1, 2**128 - 1],
                [2**128 - 1, self.pick(3)],
                [2**128, 1],
                [-1, 2],
                [True, 1],
                [1, 2, 3],
                None,
                "loop",
                "late",
                "rich",
                "busy",
            ]
        )
        self._do("s4", self.choose("abce"), [["answer", answer]])

    def _fund(self):
        """D41, D58: rich or poor, or of another storage, from one block to the next."""
        if self.pick(3) == 0:
            name, key = self.choose("abce"), self._key()
            value = self.choose([None, b"0", b"1"])
            instruction = SetStorage(self.addresses[name], key, value)
            self._send("", instruction, ("store", name, (key, value)))
            return
        name = self.choose("abcd")
        cells = NUMBERS.cells_max * self.model.basefee_cell
        amount = self.choose([0, cells, cells + 10**8, 2 * cells, 4 * CBY, 60 * CBY])
        instruction = SetBalance(self.addresses[name], amount)
        self._send("", instruction, ("fund", name, amount))

    def _govern(self):
        """D3: seen from the next block on; also lower than what waits."""
        kind = self.pick(10)
        if kind > 7:
            self._judge(kind == 8)
        elif kind < 4:
            height = self.chain.height + 2 + self.pick(4)
            self._activate(self.choose(self.rules), height)
        elif kind < 7:
            which = ("timer", "bidding", "globalbox")[kind - 4]
            choices = CHANGES[which]
            self._change(
                which, {key: self.choose(some) for key, some in choices.items()}
            )
        else:
            self._send("", ResetWeights(), ("reset", "", None))

    def _judge(self, is_cancelled):
        """D25: governance reaches every timer, wherever it waits."""
        timer_id = self.choose([one.id for one in self.model.timers] + [bytes(32)])
        height = self.chain.height + 1 + self.pick(40)
        sent = CancelTimer(timer_id) if is_cancelled else ExtendTimer(timer_id, height)
        self._send("", sent, ("judge", timer_id, None if is_cancelled else height))

    def _activate(self, rules, height):
        self._send("", ScheduleActivation(height, rules), ("activate", rules, height))

    def _change(self, which, values):
        instruction, field = CONFIGS[which]
        config = getattr(head_governed(self.chain.state), field)
        named = {FIELDS[key]: value for key, value in values.items()}
        sent = instruction(replace(config, **named))
        self._send("", sent, ("numbers", which, values))
