"""The pool against the plainest pool there is, and against mutated valid bytes."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from node.chain.accounts import load_account
from node.chain.errors import InvalidTransaction
from node.chain.genesis import Genesis, build_genesis, dev_account, parse_genesis
from node.chain.globals import load_globals
from node.chain.transaction import (
    Body,
    Transaction,
    Transfer,
    decode_transaction,
    impersonate,
    signing_hash,
)
from node.chain.transition import State, build_block, next_state, open_state
from node.mempool import Pool, PoolLimits
from node.primitives.crypto import dev_private_key, sign
from node.primitives.types import Amount
from node.state.memory import MemoryStore

SENDERS = [dev_account(index) for index in range(3)]
ROOM = 5
GAP = 3
GENESIS = parse_genesis(
    {"accounts": {"count": 3, "balance": "100000000"}, "lane_user_cycles": 40_000}
)
RICH = parse_genesis(
    {"accounts": {"count": 3, "balance": str(10**20)}, "lane_user_cycles": 40_000}
)


def transaction_of(sender: int, nonce: int, tip: int, max_fee: int) -> Transaction:
    body = Body(
        100,
        nonce,
        10_000,
        600,
        Amount(max_fee),
        Amount(tip),
        Amount(max_fee),
        Amount(tip),
        Transfer(SENDERS[0], Amount(1)),
    )
    return decode_transaction(impersonate(body.encode(), SENDERS[sender]))


class World:
    """A chain in memory."""

    def __init__(self, genesis: Genesis = GENESIS) -> None:
        self.store = MemoryStore()
        result = build_genesis(genesis)
        self.store.commit(result.writes)
        self.state: State = open_state(
            genesis.params, result.header, self.store.snapshot()
        )

    def build(self, candidates):
        result = build_block(self.state, candidates)
        self.store.commit(result.writes)
        self.state = next_state(self.state, result, self.store.snapshot())
        return result


@dataclass(frozen=True)
class Waiting:
    """A transaction, and when it came."""

    transaction: Transaction
    arrival: int


class NaivePool:
    """A list; every question walks all of it. Refusals are by name."""

    def __init__(self) -> None:
        self.waiting: list[Waiting] = []
        self.nonces = dict.fromkeys(SENDERS, 0)
        self.arrivals = 0

    def admit(  # noqa: PLR0911 - one for each refusal
        self, transaction: Transaction, balance: int, basefee: int
    ) -> str:
        """The name of the refusal, or "" when it is in."""
        body, sender = transaction.body, transaction.sender
        twins = [
            w
            for w in self.waiting
            if (w.transaction.sender, w.transaction.body.nonce) == (sender, body.nonce)
        ]
        others = [
            w.transaction
            for w in self.waiting
            if w.transaction.sender == sender and w not in twins
        ]
        if any(w.transaction.id == transaction.id for w in self.waiting):
            return "ALREADY_KNOWN"
        if body.nonce < self.nonces[sender]:
            return "NONCE_USED"
        if body.nonce > self.nonces[sender] + GAP:
            return "NONCE_TOO_FAR"
        if sum(map(cost, [*others, transaction])) > balance:
            return "INSUFFICIENT_BALANCE"
        if twins and not is_better(twins[0].transaction.body, body):
            return "REPLACEMENT_UNDERPRICED"
        self.waiting = [w for w in self.waiting if w not in twins]
        self.waiting.append(Waiting(transaction, self.arrivals))
        self.arrivals += 1
        if len(self.waiting) > ROOM:
            last = self.order(basefee)[-1]
            self.waiting.remove(last)
            if last.transaction is transaction:
                return "POOL_FULL"
        return ""

    def order(self, basefee: int) -> list[Waiting]:
        """All, by effective tip, then arrival, per sender by nonce."""
        rest, ordered = list(self.waiting), []
        while rest:
            firsts = [
                min(
                    (w for w in rest if w.transaction.sender == sender),
                    key=lambda w: w.transaction.body.nonce,
                )
                for sender in {w.transaction.sender for w in rest}
            ]
            best = min(
                firsts, key=lambda w: (-tip_of(w.transaction, basefee), w.arrival)
            )
            ordered.append(best)
            rest.remove(best)
        return ordered

    def candidates(self, basefee: int) -> list[Transaction]:
        """Those of the order that need not wait for a nonce or a basefee."""
        nonces = dict(self.nonces)
        able = []
        for waiting in self.order(basefee):
            body, sender = waiting.transaction.body, waiting.transaction.sender
            if body.nonce == nonces[sender] and body.max_fee_per_cycle >= basefee:
                able.append(waiting.transaction)
                nonces[sender] += 1
        return able

    def remove(self, transactions) -> None:
        for transaction in transactions:
            self.nonces[transaction.sender] = transaction.body.nonce + 1
        self.waiting = [
            w
            for w in self.waiting
            if w.transaction.body.nonce >= self.nonces[w.transaction.sender]
        ]


def cost(transaction: Transaction) -> int:
    body = transaction.body
    return (
        body.cycles_limit * body.max_fee_per_cycle
        + body.cells_limit * body.max_fee_per_cell
        + transaction.amount
    )


def tip_of(transaction: Transaction, basefee: int) -> int:
    body = transaction.body
    return min(body.max_priority_fee_per_cycle, body.max_fee_per_cycle - basefee)


def is_better(old: Body, new: Body) -> bool:
    names = (
        "max_fee_per_cycle",
        "max_priority_fee_per_cycle",
        "max_fee_per_cell",
        "max_priority_fee_per_cell",
    )
    return all(
        getattr(new, n) * 10 >= getattr(old, n) * 11
        and getattr(new, n) > getattr(old, n)
        for n in names
    )


admissions = st.tuples(
    st.integers(0, 2),
    st.integers(0, 5),
    st.sampled_from([0, 1, 2, 10, 11, 12, 100, 110]),
    st.sampled_from([900, 1_000, 1_005, 1_100, 1_210, 3_000]),
)


@given(st.lists(st.one_of(admissions, st.just("block")), max_size=40))
def test_the_pool_does_what_the_plainest_pool_does(steps) -> None:
    """Refusals, order, replacement, eviction and pruning, all of D5."""
    world, naive = World(), NaivePool()
    pool = Pool(PoolLimits(transactions_max=ROOM, nonce_gap_max=GAP))
    for step in steps:
        basefee = basefee_of(world.state)
        if step == "block":
            result = world.build(pool.select(world.state))
            pool.prune(result)
            naive.remove(result.block.transactions)
        else:
            transaction = transaction_of(*step)
            balance = balance_of(world.state, transaction.sender)
            wanted = naive.admit(transaction, balance, basefee)
            assert admission(pool, world.state, transaction) == wanted
        kept = {w.transaction.id for w in naive.waiting}
        assert {t.id for t in pool.transactions()} == kept
        expected = naive.candidates(basefee_of(world.state))
        assert list(pool.select(world.state)) == expected
        assert pool.body_bytes == sum(len(w.transaction.raw) for w in naive.waiting)


CYCLES = [5_000, 10_000, 20_000, 35_000, 40_000]
CROWDS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(0, 9),
        st.sampled_from(CYCLES),
        st.sampled_from([600, 3_000_000, 7_000_000, 14_000_000]),
    ),
    max_size=60,
)


@given(CROWDS)
def test_none_that_is_left_out_keeps_out_one_that_would_fit(crowd) -> None:
    """D8: one enters if what was used + its limit ≤ lane, and so with the cells."""
    world, pool = World(RICH), Pool()
    nonces = dict.fromkeys(SENDERS, 0)
    for sender, tip, cycles, cells in crowd:
        address = SENDERS[sender]
        plain = transaction_of(sender, nonces[address], tip, 1_000).body
        body = replace(plain, cycles_limit=cycles, cells_limit=cells)
        if admission(pool, world.state, impersonated(body, address)) == "":
            nonces[address] += 1
    for _ in range(3):
        candidates = pool.select(world.state)
        result = world.build(candidates)
        assert list(result.block.transactions) == fitting(candidates)
        assert len(candidates) == len(result.block.transactions) + len(result.rejected)
        pool.prune(result)


def fitting(candidates) -> list[Transaction]:
    """The plainest block: each is asked in turn, and transfers use just what is due."""
    used_cycles = used_cells = 0
    taken, nonces = [], dict.fromkeys(SENDERS, None)
    for transaction in candidates:
        body, sender = transaction.body, transaction.sender
        is_next = nonces[sender] in (None, body.nonce)
        fits = (
            used_cycles + body.cycles_limit <= 40_000
            and used_cells + body.cells_limit <= 16_000_000 - 1_200_000
        )
        if is_next and fits:
            taken.append(transaction)
            used_cycles += 5_000
            used_cells += 500 + transaction.body_bytes
            nonces[sender] = body.nonce + 1
        elif is_next:
            nonces[sender] = -1  # none of his later ones is next
    return taken


def impersonated(body: Body, sender) -> Transaction:
    return decode_transaction(impersonate(body.encode(), sender))


def admission(pool: Pool, state: State, transaction: Transaction) -> str:
    try:
        pool.admit(state, transaction)
    except InvalidTransaction as refused:
        return refused.fault.value
    return ""


def basefee_of(state: State) -> int:
    return load_globals(state.snapshot).basefee_cycle


def balance_of(state: State, address) -> int:
    return load_account(state.snapshot, address).balance


# --- bad input ------------------------------------------------------------------------

SIGNED = []
for index in range(3):
    unsigned = replace(transaction_of(index, 0, 5, 2_000).body, nonce=index).encode()
    SIGNED.append(unsigned + sign(signing_hash(unsigned), dev_private_key(index)))

mutations = st.lists(
    st.tuples(st.sampled_from(["flip", "cut", "insert", "double"]), st.integers(0)),
    min_size=1,
    max_size=4,
)


def mutate(data: bytes, mutation: str, number: int) -> bytes:
    place = number % (len(data) + 1)
    match mutation:
        case "flip":
            changed = bytearray(data or b"\0")
            changed[place % len(changed)] ^= 1 << number % 8
            return bytes(changed)
        case "cut":
            return data[:place]
        case "insert":
            return data[:place] + bytes([number % 251]) + data[place:]
        case _:
            return data + data[place:]


@given(st.sampled_from(SIGNED), mutations)
def test_mutated_bytes_are_refused_or_are_a_transaction_of_somebody(
    raw: bytes, changes
) -> None:
    """Malformed, truncated, wrongly signed…: a typed refusal, the pool unharmed."""
    world, pool = World(), Pool()
    pool.admit(world.state, decode_transaction(SIGNED[0]))
    before = list(pool.transactions())
    for change in changes:
        raw = mutate(raw, *change)
    try:
        pool.admit(world.state, decode_transaction(raw))
    except InvalidTransaction:
        assert list(pool.transactions()) == before
    else:
        (*_, admitted) = pool.transactions()
        assert admitted.raw == raw
    world.build(pool.select(world.state))
