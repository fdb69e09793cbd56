"""Pool: what D5 says of admission, order, replacement, eviction and pruning."""

import pytest
from msgspec.structs import replace

from node.chain.accounts import Account
from node.chain.errors import InvalidTransaction, TransactionFault
from node.chain.genesis import build_genesis, dev_account, parse_genesis
from node.chain.params import ChainParams
from node.chain.transaction import (
    Body,
    Fund,
    Transaction,
    Transfer,
    decode_transaction,
    impersonate,
)
from node.chain.transition import State, build_block, next_state, open_state
from node.mempool import Pool, PoolLimits
from node.primitives.types import Address, Amount
from node.state import keys
from node.state.memory import MemoryStore
from node.state.store import WriteSet

BALANCE = 10**15
ALICE, BOB, CAROL = (dev_account(index) for index in range(3))


class Chain:
    """A chain in memory, and its state."""

    def __init__(self) -> None:
        genesis = parse_genesis({"accounts": {"count": 4, "balance": str(BALANCE)}})
        self.store = MemoryStore()
        result = build_genesis(genesis)
        self.store.commit(result.writes)
        self.state: State = open_state(
            genesis.params, result.header, self.store.snapshot()
        )

    def rich(self, address: Address) -> State:
        """The state once this one can pay for whatever he sends."""
        account = Account(balance=Amount(10**30)).encode()
        self.store.commit(WriteSet({keys.account(address): account}))
        self.state = open_state(
            self.state.params, self.state.head, self.store.snapshot()
        )
        return self.state

    def build(self, pool: Pool, *others: Transaction):
        """Make the next block from `others` and the pool, then prune the pool."""
        result = build_block(self.state, [*others, *pool.select(self.state)])
        self.store.commit(WriteSet(result.writes.changes))
        self.state = next_state(self.state, result, self.store.snapshot())
        return result, pool.prune(result)


@pytest.fixture
def chain() -> Chain:
    return Chain()


def transfer(  # noqa: PLR0913 - the fields of a body
    sender: Address = ALICE,
    nonce: int = 0,
    tip: int = 0,
    max_fee: int = 2_000,
    *,
    cycles: int = 10_000,
    amount: int = 1,
    cell_tip: int = 0,
    cell_fee: int = 2_000,
) -> Transaction:
    """A transfer, impersonated: the pool does not look at signatures."""
    body = Body(
        ChainParams().chain_id,
        nonce,
        cycles,
        1_000,
        Amount(max_fee),
        Amount(tip),
        Amount(cell_fee),
        Amount(cell_tip),
        Transfer(BOB, Amount(amount)),
    )
    return decode_transaction(impersonate(body.encode(), sender))


def fault_of(pool: Pool, state: State, transaction: Transaction) -> InvalidTransaction:
    """The refusal; the pool is unharmed by it."""
    before = list(pool.transactions()), pool.body_bytes, list(pool.select(state))
    with pytest.raises(InvalidTransaction) as refused:
        pool.admit(state, transaction)
    after = list(pool.transactions()), pool.body_bytes, list(pool.select(state))
    assert after == before
    return refused.value


def ids(transactions) -> list[bytes]:
    return [transaction.id for transaction in transactions]


# --- refusals: "Admission refuses with a typed reason and charges nothing" (D5) -------


def test_a_transaction_that_waits_already_is_known(chain: Chain) -> None:
    pool = Pool()
    pool.admit(chain.state, transfer())
    refused = fault_of(pool, chain.state, transfer())
    assert refused.fault is TransactionFault.ALREADY_KNOWN


def test_a_used_nonce_is_refused(chain: Chain) -> None:
    pool = Pool()
    pool.admit(chain.state, transfer())
    chain.build(pool)
    refused = fault_of(pool, chain.state, transfer(amount=2))
    assert refused.fault is TransactionFault.NONCE_USED
    assert refused.numbers == {"nonce": 0, "expected": 1}


def test_the_nonce_gap_is_at_most_64(chain: Chain) -> None:
    pool = Pool()
    pool.admit(chain.state, transfer(nonce=64))
    refused = fault_of(pool, chain.state, transfer(nonce=65))
    assert refused.fault is TransactionFault.NONCE_TOO_FAR
    assert refused.numbers["gap_max"] == 64


def test_a_sender_must_afford_all_his_queued_ones_together(chain: Chain) -> None:
    pool = Pool()
    each = 10_000 * 2_000 + 1_000 * 2_000
    pool.admit(chain.state, transfer(amount=BALANCE - 2 * each))
    refused = fault_of(pool, chain.state, transfer(nonce=1, amount=1))
    assert refused.fault is TransactionFault.INSUFFICIENT_BALANCE
    assert refused.numbers == {"required": BALANCE + 1, "available": BALANCE}
    # What it would replace does not count: only one of the two is ever paid.
    pool.admit(
        chain.state,
        transfer(
            amount=BALANCE - 2 * each, tip=1, max_fee=2_200, cell_tip=1, cell_fee=2_200
        ),
    )


def test_a_wrong_chain_is_refused(chain: Chain) -> None:
    transaction = transfer()
    foreign = replace(transaction, body=replace(transaction.body, chain_id=7))
    refused = fault_of(Pool(), chain.state, foreign)
    assert refused.fault is TransactionFault.WRONG_CHAIN


# --- replacement: "≥ 10 % and at least 1 more on both tips and both max fees" ---------

OLD = {"tip": 100, "max_fee": 2_000, "cell_tip": 0, "cell_fee": 2_005}
ENOUGH = {"tip": 110, "max_fee": 2_200, "cell_tip": 1, "cell_fee": 2_206}


def test_a_replacement_offers_a_tenth_more_of_everything(chain: Chain) -> None:
    pool = Pool()
    old, new = transfer(**OLD), transfer(**ENOUGH)
    pool.admit(chain.state, old)
    (dropped,) = pool.admit(chain.state, new)
    assert dropped.transaction == old
    assert dropped.reason.fault is TransactionFault.REPLACED
    assert ids(pool.select(chain.state)) == [new.id]
    assert len(pool) == 1


@pytest.mark.parametrize("field", ENOUGH)
def test_one_short_of_it_is_underpriced(chain: Chain, field: str) -> None:
    pool = Pool()
    pool.admit(chain.state, transfer(**OLD))
    offer = {**ENOUGH, field: ENOUGH[field] - 1}
    refused = fault_of(pool, chain.state, transfer(**offer))
    assert refused.fault is TransactionFault.REPLACEMENT_UNDERPRICED
    assert refused.numbers["offered"] == offer[field]
    assert refused.numbers["required"] == ENOUGH[field]


# --- order: "effective tip per cycle, then arrival, per sender by nonce" --------------


def test_higher_effective_tips_go_first_then_earlier_ones(chain: Chain) -> None:
    pool = Pool()
    # The basefee is 1,000: of a max fee of 1,010 no more than 10 are left as a tip.
    capped = transfer(ALICE, tip=500, max_fee=1_010)
    first, second = transfer(BOB, tip=20), transfer(CAROL, tip=20)
    for transaction in (capped, first, second):
        pool.admit(chain.state, transaction)
    assert ids(pool.select(chain.state)) == ids([first, second, capped])


def test_a_senders_transactions_keep_the_order_of_nonces(chain: Chain) -> None:
    pool = Pool()
    second, first = transfer(nonce=1, tip=900), transfer(nonce=0, tip=1)
    between = transfer(BOB, tip=5)
    for transaction in (second, first, between):
        pool.admit(chain.state, transaction)
    assert ids(pool.select(chain.state)) == ids([between, first, second])


def test_what_lacks_a_lower_nonce_waits(chain: Chain) -> None:
    pool = Pool()
    pool.admit(chain.state, transfer(nonce=1))
    assert list(pool.select(chain.state)) == []
    assert pool.select_one(chain.state) is None
    assert pool.count_gapped() == 1
    assert pool.next_nonce(chain.state, ALICE) == 0
    pool.admit(chain.state, transfer(nonce=0))
    assert [t.body.nonce for t in pool.select(chain.state)] == [0, 1]
    assert pool.count_gapped() == 0
    assert pool.next_nonce(chain.state, ALICE) == 2


@pytest.mark.parametrize("low", [{"max_fee": 999}, {"cell_fee": 999}])
def test_a_max_fee_below_the_basefee_waits_in_the_pool(
    chain: Chain, low: dict[str, int]
) -> None:
    pool = Pool()
    poor = transfer(**low)
    pool.admit(chain.state, poor)
    pool.admit(chain.state, transfer(nonce=1))
    assert list(pool.select(chain.state)) == []
    assert pool.select_one(chain.state) is None
    chain.build(pool)  # an empty block lowers the basefees by an eighth (D7)
    assert pool.select_one(chain.state) == poor
    assert [t.body.nonce for t in pool.select(chain.state)] == [0, 1]


def test_development_instructions_have_no_fee_to_wait_for(chain: Chain) -> None:
    """D41: 241 and 242 pay no fee; their limits and fees are 0."""
    pool = Pool()
    no = Amount(0)
    body = Body(100, 0, 0, 0, no, no, no, no, Fund(BOB, Amount(5)))
    fund = decode_transaction(impersonate(body.encode(), ALICE))
    pool.admit(chain.state, fund)
    assert pool.select_one(chain.state) == fund
    result, dropped = chain.build(pool)
    assert ids(result.block.transactions) == [fund.id]
    assert dropped == ()


def test_development_instructions_cost_nothing_in_the_pool(chain: Chain) -> None:
    """D41: their limits and fees "are 0 and not checked": stated ones cost nothing."""
    pool = Pool()
    much, poor = Amount(10**30), Address(b"\x77" * 20)
    body = Body(100, 0, 2**40, 2**40, much, much, much, much, Fund(BOB, Amount(5)))
    pool.admit(chain.state, decode_transaction(impersonate(body.encode(), poor)))
    pool.admit(chain.state, decode_transaction(impersonate(body.encode(), ALICE)))
    # … nor does one that waits take from what its sender can pay beside it
    each = 10_000 * 2_000 + 1_000 * 2_000
    pool.admit(chain.state, transfer(nonce=1, amount=BALANCE - each))
    result, dropped = chain.build(pool)
    assert (len(result.block.transactions), dropped) == (3, ())


def test_one_sender_can_be_put_first(chain: Chain) -> None:
    pool = Pool()
    modest, eager = transfer(ALICE), transfer(BOB, tip=900)
    pool.admit(chain.state, eager)
    pool.admit(chain.state, modest)
    assert ids(pool.select(chain.state, first=ALICE)) == ids([modest, eager])


def test_instant_mode_takes_the_first_in_order_of_admission(chain: Chain) -> None:
    pool = Pool()
    early, eager = transfer(ALICE), transfer(BOB, tip=900)
    pool.admit(chain.state, early)
    pool.admit(chain.state, eager)
    assert pool.select_one(chain.state) == early


def test_a_crowd_that_does_not_fit_keeps_nobody_out(chain: Chain) -> None:
    """D8: "one enters if cycles used by transactions so far + its limit ≤ lane".

    4,030 with the full limit, of which a block takes one that uses 5,000, came before
    one that fits: their intrinsic costs were counted though they were left out.
    """
    pool = Pool()
    lane = ChainParams().lane_user_cycles
    for number in range(62):
        for nonce in range(65):
            rich = Address(number.to_bytes(20, "big"))
            pool.admit(chain.rich(rich), transfer(rich, nonce, 5, cycles=lane))
    modest = transfer(CAROL, tip=1)
    pool.admit(chain.state, modest)
    assert len(pool) == 62 * 65 + 1
    for _ in range(3):  # … in each block anew
        result, _ = chain.build(pool)
        assert modest.id in ids(result.block.transactions)
        assert len(result.block.transactions) == 2
        modest = transfer(CAROL, nonce=modest.body.nonce + 1, tip=1)
        pool.admit(chain.state, modest)


def test_what_does_not_fit_is_refused_with_its_numbers(chain: Chain) -> None:
    """Of a crowd each is refused like the first; smaller ones behind it still go."""
    lane = ChainParams().lane_user_cycles
    small, fund = transfer(CAROL), transfer(BOB, cycles=lane - 4_999)
    crowd = [transfer(nonce=nonce, cycles=lane) for nonce in range(3)]
    result = build_block(chain.state, [*crowd, fund, small])
    assert ids(result.block.transactions) == ids([crowd[0], small])
    refusals = [reason for _, reason in result.rejected]
    assert [reason.fault for reason in refusals] == [TransactionFault.BLOCK_FULL] * 3
    assert all(reason.may_wait for reason in refusals)
    assert refusals[0].numbers == {"used": 5_000, "limit": lane}
    assert all(reason.__traceback__ is None for reason in refusals)


# --- a full pool: "refuses what would rank last", else evicts the last ----------------


def full(chain: Chain, *transactions: Transaction) -> Pool:
    pool = Pool(PoolLimits(transactions_max=len(transactions)))
    for transaction in transactions:
        assert pool.admit(chain.state, transaction) == ()
    return pool


def test_a_full_pool_refuses_what_would_rank_last(chain: Chain) -> None:
    pool = full(chain, transfer(ALICE, tip=5), transfer(BOB, tip=7))
    refused = fault_of(pool, chain.state, transfer(CAROL, tip=5))
    assert refused.fault is TransactionFault.POOL_FULL
    assert refused.numbers["tip_per_cycle"] == 5


def test_a_full_pool_drops_the_last_for_a_better_one(chain: Chain) -> None:
    last = transfer(ALICE, tip=5)
    pool = full(chain, last, transfer(BOB, tip=7))
    (dropped,) = pool.admit(chain.state, transfer(CAROL, tip=6))
    assert dropped.transaction == last
    assert dropped.reason.fault is TransactionFault.POOL_FULL
    assert last.id not in pool


def test_eviction_takes_the_end_of_a_queue_never_its_middle(chain: Chain) -> None:
    tail = transfer(ALICE, nonce=1, tip=900)  # goes right after its poor predecessor
    pool = full(chain, transfer(ALICE, tip=1), tail, transfer(BOB, tip=7))
    (dropped,) = pool.admit(chain.state, transfer(CAROL, tip=6))
    assert dropped.transaction == tail


def test_the_pool_is_bounded_in_bytes(chain: Chain) -> None:
    one = transfer()
    pool = Pool(PoolLimits(bytes_max=len(one.raw) + 10))
    pool.admit(chain.state, one)
    refused = fault_of(pool, chain.state, transfer(nonce=1))
    assert refused.fault is TransactionFault.POOL_FULL


# --- after a block --------------------------------------------------------------------


def test_a_block_takes_its_transactions_out(chain: Chain) -> None:
    pool = Pool()
    for nonce in range(3):
        pool.admit(chain.state, transfer(nonce=nonce))
    result, dropped = chain.build(pool)
    assert (len(result.block.transactions), len(pool), dropped) == (3, 0, ())
    assert pool.body_bytes == 0
    assert pool.next_nonce(chain.state, ALICE) == 3


def test_another_transaction_with_its_nonce_makes_it_invalid(chain: Chain) -> None:
    pool = Pool()
    loser, follower = transfer(), transfer(nonce=1)
    pool.admit(chain.state, loser)
    pool.admit(chain.state, follower)
    winner = transfer(amount=77)
    result, dropped = chain.build(pool, winner)
    assert ids(result.block.transactions) == ids([winner, follower])
    # Chosen and refused in the block, or passed over: the reason is the same.
    assert [(d.transaction.id, d.reason.fault) for d in dropped] == [
        (loser.id, TransactionFault.NONCE_USED)
    ]
    assert len(pool) == 0


def test_what_can_no_longer_be_paid_is_dropped_with_its_reason(chain: Chain) -> None:
    """D5: "no longer affordable = dropped with its reason"."""
    pool = Pool()
    rich = transfer(nonce=1, amount=BALANCE // 2)
    pool.admit(chain.state, rich)
    spend = transfer(nonce=0, amount=BALANCE - BALANCE // 4)
    result, dropped = chain.build(pool, spend)
    assert ids(result.block.transactions) == [spend.id]
    _, dropped = chain.build(pool)
    assert [(d.transaction.id, d.reason.fault) for d in dropped] == [
        (rich.id, TransactionFault.INSUFFICIENT_BALANCE)
    ]


def test_what_did_not_fit_stays(chain: Chain) -> None:
    pool = Pool()
    for nonce in range(3):
        pool.admit(chain.state, transfer(nonce=nonce, cycles=12_000_000))
    result, dropped = chain.build(pool)
    # 5,000 + 12,000,000 fit the lane of 20,000,000 again: use counts, not limits (D8).
    assert (len(result.block.transactions), dropped) == (3, ())


def test_clear_forgets_everything(chain: Chain) -> None:
    pool = Pool()
    waiting = [transfer(nonce=0), transfer(nonce=1), transfer(BOB)]
    for transaction in waiting:
        pool.admit(chain.state, transaction)
    assert pool.clear() == tuple(waiting)
    assert (len(pool), pool.body_bytes, list(pool.select(chain.state))) == (0, 0, [])


def test_the_limits_are_those_of_the_protocol() -> None:
    """D5: "Pool: 10,000"."""
    assert PoolLimits().transactions_max == 10_000
    assert PoolLimits().nonce_gap_max == 64
