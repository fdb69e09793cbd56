"""What the models of all rule sets share: timers, accounts, storage, fees, heights.

It shares no code with the chain and knows no virtual machine: what an execution used,
and whether it succeeded, it is told (`Use`); which executions there are, in which order
and at which price, what they find when they act on timers, who waits and why, who
leaves, what everybody has afterwards, and when something is to be done next, it says
itself. It looks at every timer and every height, since it need not be fast.

A rule set is a `RulesModel`; `fifo_model`, `auction_model`, `bidding_model` and
`globalbox_model` have one each.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field

from Crypto.Hash import keccak

PPM = 1_000_000
ASKED_CYCLES = 50_000
U128 = 2**128


@dataclass
class Numbers:
    """What governance decides, and what is fixed for these worlds."""

    lane: int = 240_000
    cap: int = 120_000
    cap_auction: int = 80_000
    cells_max: int = 1_200_000
    fire_base: int = 1_000
    window: int = 3
    examined_max: int = 6
    agents_lane: int = 70_000
    ttl: int = 25
    timers_max: int = 1_024
    lambda_permille: int = 200
    weight_min: int = 250_000
    weight_max: int = 2_000_000
    starvation_floor: int = 1_500_000
    fires_max: int = 128
    fires_per_target: int = 8
    timers_per_target: int = 4_096
    w_age: int = 2**96
    w_bid: int = 1
    gas_min: int = 1_000
    bid_min: int = 0
    bid_max: int = U128 - 1
    keys_of_watch_max: int = 16
    hits_max: int = 1_000
    payload_max: int = 1_048_576


@dataclass
class Fixed:
    """What a genesis fixes."""

    addresses: dict[str, bytes]
    """Of actors and of accounts, by name."""
    deployers: dict[str, str]
    """Of actors; who is not here is no actor."""
    targets: tuple[int, int] = (120_000, 20_000)
    basefee_min: int = 1
    is_fair: bool = True
    block_cells: int = 16_000_000
    keys_max: int = 20_000
    leaving_max: int = 1_000
    """Fires that leave the Globalbox in a block under other rules (D55)."""
    starved_max: int = 1_000
    """Actors whose waiting counts in the first block of an epoch (D48)."""
    epoch_length: int = 3_600


@dataclass
class Timer:
    """A live timer, as it was accepted."""

    id: bytes
    owner: str
    target: str
    payer: str
    due: int
    """Where it stands in the calendar; of a watch, where it is collected (D51)."""
    sequence: int
    scheduled_at: int
    expires_at: int
    limit: int | None
    """None: defaulted."""
    does: list
    """What its fire does."""
    fee: int | None = None
    priority: int | None = None
    agent: str | None = None
    bid_fp: int = 0
    bucket: int = 0
    watched: tuple[tuple[bytes, bytes], ...] = ()
    """Addresses and prefixes; empty for a timer of a height."""
    is_noted: bool = False
    """Found over the cap of `auction` (D36)."""
    last_bid: tuple[int, int] | None = None
    poor: tuple[int, int] | None = None
    """The epoch and the sum in which its payer was found poor (D45)."""
    fire_seq: int = 0

    @property
    def is_watch(self) -> bool:
        return bool(self.watched)


@dataclass
class Use:
    """What one execution used."""

    cycles: int
    cells: int
    is_success: bool


@dataclass
class Fire:
    """What is told of a fire, and what its actions came to, if it succeeded."""

    timer_id: bytes
    target: str
    sender: str
    payer: str
    limit: int
    price: tuple[int, int, int, int]
    """For a cycle burned and tipped, for a cell, for a cycle of the lane."""
    results: list | None
    trigger: dict | None = None
    """What the fire learns of itself under `globalbox` (D54)."""


@dataclass
class Message:
    """What waits for the next block's mailbox part (D14)."""

    target: str
    does: list
    payer: str
    cycles: int
    cells: int
    price: tuple[int, int, int, int]
    """As a fire's; locked at sending."""


@dataclass
class Told:
    """What a block's timers came to, in order."""

    asked: list = field(default_factory=list)
    """(timer, cycles of the answer, price a cycle)."""
    fires: list[Fire] = field(default_factory=list)
    put_off: list = field(default_factory=list)
    """(timer, reason)."""
    events: list = field(default_factory=list)
    """(topic, timer)."""
    enqueued: list = field(default_factory=list)
    """(timer, score, key) under `globalbox`."""
    materialized: list = field(default_factory=list)
    """Timers, under `globalbox`."""
    messages: list = field(default_factory=list)
    """(target, results of its actions)."""


class RulesModel:
    """What one rule set decides; the methods here are those of rules that do not."""

    name: str

    def __init__(self, model: "Model") -> None:
        self.model = model

    def enter(self) -> None:
        """Begin the first block under these rules."""

    def leave(self) -> None:
        """Begin the first block under other rules."""

    def begin(self) -> None:
        """Begin a block, whatever rules are in force."""

    def before_timers(self) -> None:
        """After the transactions of a block, whatever rules are in force."""

    def refuses(self, terms: dict) -> str:
        """Name of the refusal of what a timer states, or nothing."""
        del terms
        return ""

    def refuses_agent(self, terms: dict, actor: str) -> str:
        """D34, under most rules: the actor or one of the same deployer, alone."""
        agent, deployers = terms.get("agent"), self.model.fixed.deployers
        if agent is None:
            return ""
        if any(name in terms for name in ("max_fee", "max_priority", "hint")):
            return "InvalidInput"
        if agent not in deployers or deployers[agent] != deployers[actor]:
            return "InvalidInput"
        return ""

    def fees(self, terms: dict) -> dict:
        """Fields of a record that come from what was stated."""
        return {"fee": terms.get("max_fee"), "priority": terms.get("max_priority")}

    def limits(self) -> tuple[int, int]:
        """The least and the highest limit that may be stated."""
        return self.model.numbers.fire_base, self.model.numbers.cap

    def is_dormant(self, timer: Timer, height: int, basefee: int) -> bool:
        """D36: due, yet not examined; `basefee` is the one that timers decline by."""
        del timer, height, basefee
        return False

    def run(self) -> None:
        """Decide about all due timers."""

    def finish(self) -> None:
        """After all executions of a block."""

    def has_work(self) -> bool:
        """Whether the next height has work that is in no timer's height."""
        return False

    def next_prices(self) -> tuple[int, int]:
        """The lane's basefee and the median priority of the next block."""
        return 0, 0


class Model:
    """A chain of which only the timers, their payers, storage and fees are known."""

    def __init__(
        self, fixed: Fixed, numbers: Numbers, balances: dict[str, int], rules: dict
    ) -> None:
        self.fixed, self.numbers = fixed, numbers
        self.balances = dict(balances)
        self.rules = {name: kind(self) for name, kind in rules.items()}
        self.activations = {0: "fifo"}
        self.timers: list[Timer] = []
        self.storage: dict[tuple[bytes, bytes], object] = {}
        self.counters = dict.fromkeys(fixed.addresses, 0)
        self.sequence = 0
        self.height = 0
        self.basefee_cycle = self.basefee_cell = 1_000
        self.basefee_lane = self.p50 = 0
        self.burned = {"cycle": 0, "cell": 0, "lane": 0}
        self.proposer = 0
        self.last_cycles = 0
        self.answers: dict[str, object] = {}
        """Of agents, by actor: what they would answer."""
        self.next_numbers: Numbers | None = None
        self.parent_root = b""
        self.pending: list[Message] = []
        self.arriving: list[Message] = []
        # Of globalbox; they outlive its rules (D55).
        self.queue: dict[bytes, object] = {}
        self.noted: dict[bytes, object] = {}
        self.materialized: list[Timer] = []
        self.clock = 0, 0
        self.deliver_seq = 0
        # Of bidding.
        self.records: dict[str, object] = {}
        self.everybody: list = []
        self.reset_height = -1
        # Of a block.
        self.queued_fires: dict[bytes, tuple[Timer, int]] = {}
        self.use_of_agent = self.use_of_fire = self.use_of_message = None
        self.told = Told()
        self.cycles = self.cells = self.keys = 0
        self.lane_used = self.agents_used = 0

    # --- heights ------------------------------------------------------------------

    def rules_at(self, height: int) -> str:
        """D1: the last activation at or below it."""
        return self.activations[max(h for h in self.activations if h <= height)]

    @property
    def in_force(self) -> RulesModel:
        return self.rules[self.rules_at(self.height)]

    def begin(self, parent_root: bytes) -> None:
        """D2, D3, D29: a height begins, with what is in force there."""
        self.height += 1
        self.parent_root = parent_root
        if self.next_numbers is not None:
            self.numbers, self.next_numbers = self.next_numbers, None
        before, now = self.rules_at(self.height - 1), self.rules_at(self.height)
        if before != now:
            self.rules[before].leave()
            self.rules[now].enter()
        for rules in self.rules.values():
            rules.begin()
        self.cycles = self.cells = self.keys = 0
        self.lane_used = self.agents_used = 0
        self.storage_before = dict(self.storage)
        self.arriving, self.pending = self.pending, []
        self.told = Told()

    def run(
        self,
        use_of_agent: Callable,
        use_of_fire: Callable,
        use_of_message: Callable | None = None,
    ) -> Told:
        """The timers of a block, after its transactions, and the block's end."""
        self.use_of_agent, self.use_of_fire = use_of_agent, use_of_fire
        self.use_of_message = use_of_message
        self.storage_between = dict(self.storage)
        for rules in self.rules.values():
            rules.before_timers()
        self.in_force.run()
        self._deliver_messages()
        self.in_force.finish()
        self.basefee_lane, self.p50 = self.in_force.next_prices()
        self.basefee_cycle = self.next_basefee(self.basefee_cycle, self.cycles, 0)
        self.basefee_cell = self.next_basefee(self.basefee_cell, self.cells, 1)
        self.last_cycles = self.cycles
        return self.told

    def _deliver_messages(self) -> None:
        """D14: in order, as far as the block has cells; the rest is carried over."""
        while self.arriving:
            message = self.arriving[0]
            if self.cells + message.cells > self.fixed.block_cells:
                break
            del self.arriving[0]
            use = self.use_of_message()
            paying = message.payer, message.price
            results = self.act(message.target, message.does, use, paying=paying)
            self.told.messages.append((message.target, results))
            self.count(use)
            left = message.cycles - use.cycles, message.cells - use.cells
            self.balances[message.payer] += price_of(*left, message.price)
            self.burn(use, message.price)
        self.pending = self.arriving + self.pending

    def next_basefee(self, basefee: int, used: int, which: int) -> int:
        """D7, with alpha and denom 8."""
        target = self.fixed.targets[which]
        delta = min(basefee * abs(used - target) // target // 8, basefee // 8)
        if used > target:
            return basefee + max(delta, 1)
        return max(self.fixed.basefee_min, basefee - delta)

    def work_height(self) -> int | None:
        """D36: the first height, one after the other, at which a block has work."""
        if self.activations.keys() & {self.height + 1}:
            return self.height + 1
        if self.queue or self.pending or self.in_force.has_work():
            return self.height + 1
        live = [timer for timer in self.timers if self.is_in_calendar(timer)]
        last = max(
            [self.height, *self.activations]
            + [max(timer.due, timer.expires_at) for timer in live]
        )
        before, lane, cycle = self.numbers, self.basefee_lane, self.basefee_cycle
        self.numbers = self.next_numbers or before
        try:
            for height in range(self.height + 1, last + 2):
                if height in self.activations or any(
                    max(timer.due, self.height + 1) <= height
                    and not self.in_force.is_dormant(timer, height, fee)
                    for fee in [lane if self.in_force.name == "auction" else cycle]
                    for timer in live
                ):
                    return height
                lane = next_lane(lane, 0, self.numbers.lane)
                cycle = self.next_basefee(cycle, 0, 0)
            return None
        finally:
            self.numbers = before

    # --- what executions do -------------------------------------------------------

    def transact(self, actor: str, does: list, use: Use, signer: str) -> list | None:
        """A transaction to an actor: the results of its actions, None if it failed."""
        self.count(use)
        price = self.basefee_cycle, 0, self.basefee_cell, 0
        return self.act(actor, does, use, signer, (signer, price))

    def count(self, use: Use) -> None:
        """An execution used so much of the block."""
        self.cycles += use.cycles
        self.cells += use.cells

    def burn(self, use: Use, price: tuple[int, int, int, int]) -> None:
        """D7, D29: where what an execution used goes; its payer has paid before."""
        cycle, tip, cell, lane = price
        self.burned["cycle"] += use.cycles * cycle
        self.burned["lane"] += use.cycles * lane
        self.burned["cell"] += use.cells * cell
        self.proposer += use.cycles * tip

    def act(self, actor, does, use, signer=None, paying=None) -> list | None:
        """D16: the effects of all actions if it succeeded, else none.

        `paying` is who pays for messages that it sends, and at which price.
        """
        if not use.is_success:
            return None
        acting = _Acting(self, actor, signer, paying)
        results = [acting.one(*action) for action in does]
        self.keys += len(acting.keys)
        return results

    # --- timers -------------------------------------------------------------------

    def find(self, timer_id: bytes) -> Timer | None:
        return next((t for t in self.timers if t.id == timer_id), None)

    def is_in_calendar(self, timer: Timer) -> bool:
        """D52: a queued timer of a height is not; a watch is in both."""
        return timer.is_watch or timer.id not in self.queue

    def due(self) -> list[Timer]:
        """D22: who is due, in order of (height, sequence)."""
        live = [
            timer
            for timer in self.timers
            if timer.due <= self.height and self.is_in_calendar(timer)
        ]
        return sorted(live, key=lambda t: (t.due, t.sequence))

    def limit_of(self, timer: Timer, cap: int) -> int:
        """D23."""
        return cap if timer.limit is None else min(timer.limit, cap)

    def drop(self, timer: Timer) -> None:
        """A timer leaves, and what is queued or noted of it (D51)."""
        self.timers.remove(timer)
        self.queue.pop(timer.id, None)
        self.noted.pop(timer.id, None)

    def prolong(self, timer: Timer, expires_at: int) -> None:
        """D20; a watch's place moves with it (D51)."""
        timer.expires_at = min(expires_at, self.height + self.numbers.ttl)
        if timer.is_watch:
            timer.due = max(timer.expires_at, timer.scheduled_at) + 1

    def leave(self, timer: Timer, topic: str) -> None:
        self.drop(timer)
        self.told.events.append((topic, timer.id))

    def put_off(self, timer: Timer, reason: str) -> None:
        self.told.put_off.append((timer.id, reason))

    # --- fires --------------------------------------------------------------------

    def has_cells(self) -> bool:
        """D8's last gate."""
        return self.cells + self.numbers.cells_max <= self.fixed.block_cells

    def has_keys(self) -> bool:
        """D43's gate."""
        return self.keys < self.fixed.keys_max

    def cost(self, limit: int, tip: int) -> int:
        """The most that a fire can cost: what is set aside before it."""
        cycle = self.basefee_cycle + self.basefee_lane + tip
        return limit * cycle + self.numbers.cells_max * self.basefee_cell

    def fire(self, timer: Timer, limit: int, tip: int, cost: int) -> int:
        """Run what was pre-charged, and settle: the cycles it used."""
        price = self.basefee_cycle, tip, self.basefee_cell, self.basefee_lane
        told = Fire(
            timer.id, timer.target, timer.owner, timer.payer, limit, price, None
        )
        self.told.fires.append(told)
        use = self.use_of_fire(timer.id)
        assert use.cycles <= limit
        paying = timer.payer, price
        told.results = self.act(timer.target, timer.does, use, paying=paying)
        self.count(use)
        self.lane_used += use.cycles
        self.balances[timer.payer] += cost - price_of(use.cycles, use.cells, price)
        self.burn(use, price)
        return use.cycles

    # --- agents -------------------------------------------------------------------

    def ask(self, timer: Timer, fee_names: tuple[str, str]) -> tuple | None:
        """D34: the agent's answer, paid by the timer's payer and burned."""
        if self.agents_used + ASKED_CYCLES > self.numbers.agents_lane:
            return None
        price = self.basefee_cycle
        if self.balances[timer.payer] < ASKED_CYCLES * price:
            self.told.events.append(("GbaFailed", timer.id))
            return None
        answer = self._answer(timer)
        use = self.use_of_agent(timer.id)
        self.told.asked.append((timer.id, use.cycles, price))
        self.balances[timer.payer] -= use.cycles * price
        self.burned["cycle"] += use.cycles * price
        self.agents_used += use.cycles
        self.cycles += use.cycles
        if isinstance(answer, dict):
            answer = [answer.get(name) for name in fee_names]
        if (
            use.is_success
            and isinstance(answer, list)
            and len(answer) == 2
            and all(type(one) is int and 0 <= one < U128 for one in answer)
        ):
            return tuple(answer)
        self.told.events.append(("GbaFailed", timer.id))
        return None

    def _answer(self, timer: Timer) -> object:
        """What the agent was told to answer; some answer by what they are shown."""
        answer = self.answers.get(timer.agent)
        if answer == "late":
            return [3 * self.basefee_cycle, self.height - timer.due]
        if answer == "rich":
            return [9 * self.basefee_cycle, self.balances[timer.owner] % 7]
        if answer == "busy":
            return [9 * self.basefee_cell, self.last_cycles % 11]
        return answer


class _Acting:
    """One successful execution of an actor: its actions one after the other."""

    def __init__(self, model, actor, signer, paying) -> None:
        self.model, self.actor, self.signer = model, actor, signer
        self.paying = paying
        self.keys: set = set()
        self.address = model.fixed.addresses[actor]

    def one(self, name: str, *rest) -> object:
        return getattr(self, name)(*rest)

    def burn(self, _cycles) -> None:
        pass

    def set(self, key: bytes, value: bytes) -> None:
        self.model.storage[self.address, key] = value
        self.keys.add((self.address, key))

    def drop(self, key: bytes) -> None:
        self.model.storage.pop((self.address, key), None)
        self.keys.add((self.address, key))

    def toggle(self, key: bytes) -> None:
        """What changes with every fire."""
        last = self.model.storage.get((self.address, key)) or b"0"
        self.set(key, b"1" if last == b"0" else b"0")

    def fill(self, count: int, size: int) -> None:
        for number in range(count):
            self.set(bytes([number]), bytes(size))

    def pay(self, amount: int) -> str | None:
        if self.model.balances[self.actor] < amount:
            return "InsufficientBalance"
        self.model.balances[self.actor] -= amount
        self.keys |= {self.address, "receiver"}
        return None

    def answer(self, answer) -> None:
        """Of an agent, from its storage."""
        self.model.answers[self.actor] = answer
        self.set(b"storage:answer", repr(answer))

    def call(self, target: str, does: list) -> list:
        """D13: what the callee does, it does itself, for the same signer."""
        callee = _Acting(self.model, target, self.signer, self.paying)
        callee.keys = self.keys
        return [callee.one(*action) for action in does]

    def attempt(self, target: str, does: list) -> str:
        """D13: a callee fails in the end, and nothing of what it did is left."""
        model, keys = self.model, set(self.keys)
        kept = {name: copy(getattr(model, name)) for name in _UNDONE}
        records = [(timer, dict(vars(timer))) for timer in model.timers]
        self.call(target, does)
        self.keys.clear()
        self.keys |= keys
        for name, value in kept.items():
            setattr(model, name, value)
        for timer, fields in records:
            vars(timer).update(fields)
        return "undone"

    def send(self, target: str, does: list, cycles: int, cells: int) -> None:
        """D14: whoever pays for the execution pays in advance, at its price."""
        model, (payer, price) = self.model, self.paying
        message = Message(target, does, payer, cycles, cells, price)
        model.balances[payer] -= price_of(cycles, cells, price)
        self.keys.add(("message", len(model.pending)))
        model.pending.append(message)

    mail = send

    # --- timers -------------------------------------------------------------------

    def own(self) -> list[bytes]:
        """Ids of the own live timers, in order of their bytes."""
        own = (one.id for one in self.model.timers if one.owner == self.actor)
        return sorted(own)

    def get(self, timer_id: bytes) -> int | None:
        """When an own live timer expires."""
        timer = self.model.find(timer_id)
        is_own = timer is not None and timer.owner == self.actor
        return timer.expires_at if is_own else None

    def timer(self, ahead: int, does: list, terms: dict) -> object:
        """`schedule_timer`; under `globalbox` a timeout of oneself (D50)."""
        model, rules = self.model, self.model.in_force
        height = model.height
        due, payer = height + ahead, self._payer(terms)
        refused = rules.refuses(terms)
        if not refused and (ahead <= 0 or payer is None):
            refused = "InvalidInput"
        refused = refused or self._refuses(terms)
        refused = refused or rules.refuses_agent(terms, self.actor)
        if refused:
            return refused
        if self._count() >= model.numbers.timers_max:
            return "TimerLimit"
        packed = terms["packed"]
        timer_id = self._next_id(due, packed)
        fields = {"payer": payer, "agent": terms.get("agent"), **rules.fees(terms)}
        return self._accept(timer_id, self.actor, due, does, terms, **fields)

    timer_ex = timer

    def timeout(self, target: str, ahead: int, does: list, terms: dict) -> object:
        return self._set(target, self.model.height + ahead, (), does, terms)

    def watch(self, target: str, keys: list, does: list, terms: dict) -> object:
        """Of a key that is a prefix alone, the owner's state is meant (D51)."""
        watched = tuple(self._watched(key) for key in keys)
        return self._set(target, None, watched, does, terms)

    def _watched(self, key) -> tuple[bytes, bytes]:
        address, prefix = key if isinstance(key, list) else (self.address, key)
        if isinstance(prefix, str):
            prefix = b"storage:" + prefix.encode()
        return address, prefix

    def _set(self, target, due, watched, does, terms) -> object:
        """D50: `set_timeout` and `set_state_watch`."""
        model = self.model
        refused = self._refuses_to_set(target, due, terms)
        if not refused and len(watched) > model.numbers.keys_of_watch_max:
            return "InvalidInput"
        if refused:
            return refused
        timer_id, nonce = None, terms.get("client_nonce")
        if nonce is not None:
            target_address = model.fixed.addresses[target]
            timer_id = keccak256(b"client", self.address, target_address, nonce)
            if any(one.id == timer_id for one in model.timers + model.materialized):
                return timer_id
        if self._count() >= model.numbers.timers_max or self._is_full(target):
            return "TimerLimit"
        if timer_id is None:
            timer_id = self._next_id(due or 0, terms["packed"])
        bid = model.numbers.bid_min if terms.get("bid") is None else terms["bid"]
        fields = {"payer": self.actor, "bid_fp": bid, "watched": watched}
        return self._accept(timer_id, target, due, does, terms, **fields)

    def _refuses_to_set(self, target, due, terms) -> str:
        model = self.model
        if model.in_force.name != "globalbox":
            return "UnsupportedTimerType"
        if target not in model.fixed.deployers:
            return "NotFound"
        if due is not None and due <= model.height:
            return "InvalidInput"
        if not 1 <= len(terms.get("client_nonce", b"1")) <= 32:
            return "InvalidInput"
        return model.in_force.refuses(terms) or self._refuses(terms)

    def _is_full(self, target: str) -> bool:
        """D56: of a target, only timers of other owners count, and only for them."""
        strangers = [
            timer
            for timer in self.model.timers
            if timer.target == target and timer.owner != target
        ]
        full = len(strangers) >= self.model.numbers.timers_per_target
        return target != self.actor and full

    def _refuses(self, terms: dict) -> str:
        """Limit and expiry, and whether an agent may be one (D20, D23, D34)."""
        model, limit = self.model, terms.get("limit")
        least, most = model.in_force.limits()
        if limit is not None and not least <= limit <= most:
            return "InvalidInput"
        expires = terms.get("expires")
        if expires is not None and expires > model.numbers.ttl:
            return "InvalidInput"
        return ""

    def _payer(self, terms: dict) -> str | None:
        """D13: the actor, or who signed the transaction; D44: the actor."""
        payer = terms.get("payer")
        if payer is None or payer == self.actor:
            return self.actor
        is_bidding = self.model.in_force.name == "bidding"
        return payer if payer == self.signer and not is_bidding else None

    def _count(self) -> int:
        return sum(timer.owner == self.actor for timer in self.model.timers)

    def _next_id(self, due: int, payload: bytes) -> bytes:
        """D19."""
        counter = self.model.counters[self.actor]
        self.model.counters[self.actor] += 1
        height, nonce = due.to_bytes(8, "big"), counter.to_bytes(8, "big")
        return keccak256(self.address, height, payload, nonce)

    def _accept(self, timer_id, target, due, does, terms, **fields) -> bytes:
        """A record under the next sequence (D22)."""
        model, height = self.model, self.model.height
        expires = height + model.numbers.ttl
        if terms.get("expires") is not None:
            expires = max(0, height + terms["expires"])
        if due is None:
            due = max(expires, height) + 1
        limit, payer = terms.get("limit"), fields.pop("payer")
        timer = Timer(
            id=timer_id,
            owner=self.actor,
            target=target,
            payer=payer,
            due=due,
            sequence=model.sequence,
            scheduled_at=height,
            expires_at=expires,
            limit=limit,
            does=does,
            **fields,
        )
        model.timers.append(timer)
        model.sequence += 1
        self.keys.add(timer_id)
        return timer_id

    def update(self, timer_id: bytes, does: list | None, terms: dict) -> str | None:
        """D50, D53: later fires, and an enqueued one but for its place and bid."""
        model = self.model
        if model.in_force.name != "globalbox":
            return "UnsupportedTimerType"
        timer = model.find(timer_id)
        if timer is None:
            return "TimerNotFound"
        if timer.owner != self.actor:
            return "Unauthorized"
        refused = model.in_force.refuses(terms) or self._refuses(terms)
        if refused:
            return refused
        if does is not None:
            timer.does = does
        if terms.get("limit") is not None:
            timer.limit = terms["limit"]
        if terms.get("bid") is not None:
            timer.bid_fp = terms["bid"]
        self.keys.add(timer_id)
        return None

    def cancel(self, timer_id: bytes) -> str | None:
        """D21: also one that waits in this block's queue of `fifo`."""
        model = self.model
        queued = model.queued_fires.get(timer_id)
        if queued is not None:
            timer, cost = queued
            if timer.owner != self.actor:
                return "Unauthorized"
            model.balances[timer.payer] += cost
            del model.queued_fires[timer_id]
            self.keys.add(timer_id)
            return None
        timer = model.find(timer_id)
        if timer is None:
            return "TimerNotFound"
        if timer.owner != self.actor:
            return "Unauthorized"
        model.drop(timer)
        self.keys.add(timer_id)
        return None

    def extend(self, timer_id: bytes, ahead: int) -> str | None:
        """D20, D51."""
        model = self.model
        timer = model.find(timer_id)
        if timer is None:
            return "TimerNotFound"
        if timer.owner != self.actor:
            return "Unauthorized"
        if ahead <= 0:
            return "InvalidInput"
        model.prolong(timer, model.height + ahead)
        self.keys.add(timer_id)
        return None


_UNDONE = (
    "balances",
    "storage",
    "answers",
    "counters",
    "sequence",
    "timers",
    "queue",
    "noted",
    "queued_fires",
    "pending",
)
"""What an execution changes of a model, beside the records of timers."""


def price_of(cycles: int, cells: int, price: tuple[int, int, int, int]) -> int:
    """Base units for so much, all parts of a price together."""
    cycle, tip, cell, lane = price
    return cycles * (cycle + tip + lane) + cells * cell


def next_lane(basefee: int, used: int, lane: int) -> int:
    """D30: rounded toward zero, at least 1 unless half, at most an eighth; floor 1."""
    distance = 2 * used - lane
    step = basefee * abs(distance) // lane
    if distance:
        step = max(1, step)
    step = min(step, max(1, basefee // 8))
    return max(1, basefee + step if distance > 0 else basefee - step)


def keccak256(*parts: bytes) -> bytes:
    """keccak256 as Ethereum has it."""
    return keccak.new(digest_bits=256, data=b"".join(parts)).digest()
