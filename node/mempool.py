"""Pool: transactions that wait for a block (D5). Sans-IO.

Rules: what is admitted could be in a block one day: it is well-formed, of this chain,
not used, not too far ahead, and its sender can pay for it together with all that he
has waiting already. A refusal is typed, names the numbers, and leaves the pool as it
was. Nothing here is consensus: another pool would only give other blocks.

The order of the pool is by effective tip per cycle at the current basefee, then by
arrival, but per sender by nonce: the greatest of the senders' first transactions goes
next, then the greatest of what is first now. That order is the one of a block's
candidates, and its last one gives way when the pool is full.

The pool speaks of the state that its driver shows it. A driver that rewinds the chain
clears it.
"""

from bisect import insort
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from itertools import takewhile
from operator import itemgetter

from msgspec import Struct, field

from node.chain.accounts import load_account
from node.chain.errors import InvalidTransaction, TransactionFault
from node.chain.params import U128_MAX
from node.chain.transaction import Transaction
from node.chain.transition import BlockResult, State, head_globals, is_fee_at_rest
from node.chain.validation import max_cost, validate_admission
from node.primitives.types import Address, Hash32

__all__ = ["Evicted", "Pool", "PoolLimits"]

_MEBIBYTE = 1 << 20
_FOREMOST = (-U128_MAX - 1, 0)
"""A rank before that of any tip."""


class PoolLimits(Struct, frozen=True):
    """What bounds a pool."""

    transactions_max: int = 10_000
    """D5."""
    nonce_gap_max: int = 64
    """How far a nonce may be ahead of its account's (D5): bounds a sender's queue."""
    bytes_max: int = 256 * _MEBIBYTE
    """Of all bodies: 10,000 of the largest would take 12 GB."""


class Evicted(Struct, frozen=True):
    """A transaction that left the pool without a block, and why."""

    transaction: Transaction
    reason: InvalidTransaction


class _Prices(Struct, frozen=True):
    """The basefees of the next block, in base units a unit."""

    cycle: int
    cell: int


class _Entry(Struct, frozen=True):
    """A transaction in the pool."""

    transaction: Transaction
    arrival: int
    cost: int
    """What it may cost at most, with its amount, in base units."""

    def tip(self, basefee_cycle: int) -> int:
        """Effective tip per cycle (D7); negative while it must wait for the fees."""
        body = self.transaction.body
        if self.transaction.is_dev:
            return 0  # it has no fees (D41)
        return min(
            body.max_priority_fee_per_cycle, body.max_fee_per_cycle - basefee_cycle
        )

    def meets(self, prices: _Prices) -> bool:
        """Whether it could pay the basefees."""
        body = self.transaction.body
        return self.transaction.is_dev or (
            body.max_fee_per_cycle >= prices.cycle
            and body.max_fee_per_cell >= prices.cell
        )


class _Queue(Struct):
    """What waits of one sender: at most `nonce_gap_max` + 1."""

    next_nonce: int
    """Of the account in the state: a transaction with it is the queue's first."""
    entries: dict[int, _Entry] = field(default_factory=dict)
    nonces: list[int] = field(default_factory=list)
    """Of the entries, ascending."""
    cost: int = 0
    """Of all entries."""

    def put(self, entry: _Entry) -> None:
        nonce = entry.transaction.body.nonce
        assert nonce not in self.entries
        self.entries[nonce] = entry
        insort(self.nonces, nonce)
        self.cost += entry.cost

    def take(self, nonce: int) -> None:
        self.cost -= self.entries.pop(nonce).cost
        self.nonces.remove(nonce)

    def last(self) -> _Entry:
        return self.entries[self.nonces[-1]]

    def rank(self, basefee_cycle: int) -> tuple[int, int]:
        """(tip, -arrival) of the entry that goes latest: the least of all.

        An entry never goes before the ones ahead of it, and after the worst of them
        the better ones behind it follow at once: so the rank of a queue's last entry
        is the least rank in the queue.
        """
        return min((e.tip(basefee_cycle), -e.arrival) for e in self.entries.values())


class Pool:
    """Admits, orders and forgets transactions; one owner, no threads."""

    __slots__ = (
        "_arrivals",
        "_by_id",
        "_bytes",
        "_limits",
        "_queues",
        "_ranked_at",
        "_ranks",
    )

    def __init__(self, limits: PoolLimits | None = None) -> None:
        self._limits = limits or PoolLimits()
        self._by_id: dict[Hash32, _Entry] = {}  # in order of arrival
        self._queues: dict[Address, _Queue] = {}
        self._bytes = 0
        self._arrivals = 0
        # (tip, -arrival, sender) of every queue, with stale ones among them, at the
        # basefee in _ranked_at; made when the pool is full, kept until the next block
        self._ranks: list[tuple[int, int, Address]] = []
        self._ranked_at: int | None = None

    def __len__(self) -> int:
        """Transactions that wait."""
        return len(self._by_id)

    def __contains__(self, transaction_id: object) -> bool:
        """Whether the transaction with this id waits here."""
        return transaction_id in self._by_id

    @property
    def body_bytes(self) -> int:
        """Bytes of all transactions that wait."""
        return self._bytes

    def get(self, transaction_id: bytes) -> Transaction | None:
        """The waiting transaction with this id."""
        entry = self._by_id.get(Hash32(transaction_id))
        return entry.transaction if entry else None

    def transactions(self) -> Iterator[Transaction]:
        """All that wait, in order of arrival."""
        return (entry.transaction for entry in self._by_id.values())

    def heights_to_pass(self, state: State, wanted: int) -> int:
        """How many empty heights may pass at once: of 1 up to `wanted`.

        While fees still fall, a transaction that waits may become fit at the next one.
        """
        return wanted if not len(self) or is_fee_at_rest(state) else 1

    def count_gapped(self) -> int:
        """How many wait for a lower nonce of their sender."""
        return sum(
            len(queue.nonces) - sum(1 for _ in _consecutive(queue))
            for queue in self._queues.values()
            if queue.nonces[-1] - queue.next_nonce >= len(queue.nonces)  # has a gap
        )

    def next_nonce(self, state: State, sender: Address) -> int:
        """The first nonce of `sender` that is neither used nor waiting."""
        queue = self._queues.get(sender)
        if queue is None:
            return load_account(state.snapshot, sender).nonce
        nonce = queue.next_nonce
        while nonce in queue.entries:
            nonce += 1
        return nonce

    # --- in ------------------------------------------------------------------------

    def admit(self, state: State, transaction: Transaction) -> tuple[Evicted, ...]:
        """Take `transaction` in; what had to give way for it, if anything.

        Raises:
            InvalidTransaction: What validation refuses (D5), ALREADY_KNOWN,
                REPLACEMENT_UNDERPRICED, POOL_FULL. The pool is as before.
        """
        if transaction.id in self._by_id:
            raise InvalidTransaction(
                TransactionFault.ALREADY_KNOWN,
                "this transaction waits in the pool already: wait for its receipt",
                {"nonce": transaction.body.nonce},
            )
        queue = self._queues.get(transaction.sender)
        replaced = queue.entries.get(transaction.body.nonce) if queue else None
        validate_admission(
            state,
            transaction,
            queued_cost=(
                (queue.cost if queue else 0) - (replaced.cost if replaced else 0)
            ),
            nonce_gap_max=self._limits.nonce_gap_max,
        )
        if replaced:
            _require_better(replaced.transaction, transaction)
        self._require_room(transaction, replaced)
        return self._take_in(state, transaction, replaced)

    def _require_room(self, transaction: Transaction, replaced: _Entry | None) -> None:
        freed = len(replaced.transaction.raw) if replaced else 0
        count = self._bytes + len(transaction.raw) - freed
        if count > self._limits.bytes_max:
            raise InvalidTransaction(
                TransactionFault.POOL_FULL,
                f"the pool holds {self._bytes} bytes of transactions and no more fit: "
                "send it again after the next block",
                {"bytes": count, "bytes_max": self._limits.bytes_max},
            )

    def _take_in(
        self, state: State, transaction: Transaction, replaced: _Entry | None
    ) -> tuple[Evicted, ...]:
        if replaced:
            self._remove(replaced)
        entry = self._put(state, transaction)
        if replaced:
            return (Evicted(replaced.transaction, _replaced_by(transaction)),)
        if len(self._by_id) <= self._limits.transactions_max:
            return ()
        basefee = head_globals(state).basefee_cycle
        last = self._last(basefee)
        self._remove(last)
        reason = InvalidTransaction(
            TransactionFault.POOL_FULL,
            f"the pool is full with {self._limits.transactions_max} transactions that "
            "all go first: offer a higher tip, or wait",
            {
                "transactions_max": self._limits.transactions_max,
                "tip_per_cycle": last.tip(basefee),
                "tip_per_cycle_last": self._last(basefee).tip(basefee),
            },
        )
        if last is entry:
            raise reason
        return (Evicted(last.transaction, reason),)

    def _put(self, state: State, transaction: Transaction) -> _Entry:
        sender = transaction.sender
        queue = self._queues.get(sender)
        if queue is None:
            nonce = load_account(state.snapshot, sender).nonce
            queue = self._queues[sender] = _Queue(nonce)
        entry = _Entry(transaction, self._arrivals, max_cost(transaction))
        self._arrivals += 1
        queue.put(entry)
        self._by_id[transaction.id] = entry
        self._bytes += len(transaction.raw)
        self._note_rank(sender, queue)
        return entry

    # --- out -----------------------------------------------------------------------

    def select(
        self, state: State, *, first: Address | None = None
    ) -> tuple[Transaction, ...]:
        """Candidates for the next block, best first.

        Those of the sender `first`, if given, go before all others. What must wait,
        for a lower nonce or a lower basefee, is left out, and the sender's later ones
        with it.

        All others are candidates, at most as many as the pool holds: how much a
        transaction takes of a block is known once it has executed, so any that were
        left out for those before them might have fitted.
        """
        prices = _prices(state)
        ranked: list[tuple[tuple[int, int], Transaction]] = []
        for sender, queue in self._queues.items():
            # An entry goes no earlier than the worst of those ahead of it.
            worst = _FOREMOST
            for entry in _consecutive(queue):
                if not entry.meets(prices):
                    break
                if sender != first:
                    worst = max(worst, (-entry.tip(prices.cycle), entry.arrival))
                ranked.append((worst, entry.transaction))
        ranked.sort(key=itemgetter(0))
        return tuple(transaction for _, transaction in ranked)

    def select_one(self, state: State) -> Transaction | None:
        """The first in order of admission that a block may take now, if any."""
        if not self._by_id:
            return None
        prices = _prices(state)
        for entry in self._by_id.values():
            transaction = entry.transaction
            queue = self._queues[transaction.sender]
            if transaction.body.nonce == queue.next_nonce and entry.meets(prices):
                return transaction
        return None

    # --- after a block -------------------------------------------------------------

    def prune(self, result: BlockResult) -> tuple[Evicted, ...]:
        """Forget what a block took, and drop what it has made invalid.

        What the block refused but a later one may take stays.
        """
        dropped: list[Evicted] = []
        for transaction in result.block.transactions:
            self._advance(transaction, dropped)
        for transaction, reason in result.rejected:
            if not reason.may_wait:
                dropped += self.drop(transaction, reason)
        self._ranked_at = None  # basefees move with every block
        self._ranks.clear()
        return tuple(dropped)

    def _advance(self, committed: Transaction, dropped: list[Evicted]) -> None:
        queue = self._queues.get(committed.sender)
        if queue is None:
            return
        queue.next_nonce = committed.body.nonce + 1
        past = list(takewhile(lambda n: n < queue.next_nonce, queue.nonces))
        for entry in [queue.entries[nonce] for nonce in past]:
            self._remove(entry)
            if entry.transaction.id != committed.id:
                dropped.append(Evicted(entry.transaction, _used_by(committed)))

    def drop(
        self, transaction: Transaction, reason: InvalidTransaction
    ) -> tuple[Evicted, ...]:
        """Forget one transaction; nothing if it does not wait here."""
        entry = self._by_id.get(transaction.id)
        if entry is None:
            return ()
        self._remove(entry)
        return (Evicted(transaction, reason),)

    def clear(self) -> tuple[Transaction, ...]:
        """Forget all; what waited, in order of arrival."""
        transactions = tuple(self.transactions())
        self._by_id.clear()
        self._queues.clear()
        self._ranks.clear()
        self._ranked_at = None
        self._bytes = 0
        return transactions

    def _remove(self, entry: _Entry) -> None:
        transaction = entry.transaction
        del self._by_id[transaction.id]
        self._bytes -= len(transaction.raw)
        queue = self._queues[transaction.sender]
        queue.take(transaction.body.nonce)
        if queue.nonces:
            self._note_rank(transaction.sender, queue)
        else:
            del self._queues[transaction.sender]

    # --- who is last ---------------------------------------------------------------

    def _last(self, basefee_cycle: int) -> _Entry:
        """The entry that would go last of all; the pool is not empty."""
        if self._ranked_at != basefee_cycle or self._is_mostly_stale():
            self._ranked_at = basefee_cycle
            self._ranks = [
                (*queue.rank(basefee_cycle), sender)
                for sender, queue in self._queues.items()
            ]
            heapify(self._ranks)
        while True:
            *rank, sender = self._ranks[0]
            queue = self._queues.get(sender)
            if queue and queue.rank(basefee_cycle) == tuple(rank):
                return queue.last()
            heappop(self._ranks)

    def _is_mostly_stale(self) -> bool:
        return len(self._ranks) > 2 * self._limits.transactions_max

    def _note_rank(self, sender: Address, queue: _Queue) -> None:
        if self._ranked_at is not None:
            heappush(self._ranks, (*queue.rank(self._ranked_at), sender))


def _prices(state: State) -> _Prices:
    known = head_globals(state)
    return _Prices(known.basefee_cycle, known.basefee_cell)


def _consecutive(queue: _Queue) -> Iterator[_Entry]:
    """The queue's entries from the account's nonce up to the first gap."""
    nonce = queue.next_nonce
    while nonce in queue.entries:
        yield queue.entries[nonce]
        nonce += 1


def _fees(transaction: Transaction) -> Iterable[tuple[str, int]]:
    body = transaction.body
    return (
        ("max_fee_per_cycle", body.max_fee_per_cycle),
        ("max_priority_fee_per_cycle", body.max_priority_fee_per_cycle),
        ("max_fee_per_cell", body.max_fee_per_cell),
        ("max_priority_fee_per_cell", body.max_priority_fee_per_cell),
    )


def _require_better(old: Transaction, new: Transaction) -> None:
    """A replacement offers ≥ 10 % and at least 1 more, four times (D5)."""
    for (name, before), (_, offered) in zip(_fees(old), _fees(new), strict=True):
        required = before + max(1, -(-before // 10))  # a tenth, rounded up
        if offered < required:
            raise InvalidTransaction(
                TransactionFault.REPLACEMENT_UNDERPRICED,
                f"another transaction with nonce {old.body.nonce} waits; to replace it "
                f"offer {name} of at least {required}, not {offered}",
                {"field": name, "offered": offered, "required": required},
            )


def _replaced_by(transaction: Transaction) -> InvalidTransaction:
    return InvalidTransaction(
        TransactionFault.REPLACED,
        f"a better paying transaction with nonce {transaction.body.nonce} took its "
        "place",
        {"nonce": transaction.body.nonce, "by": transaction.id.hex()},
    )


def _used_by(transaction: Transaction) -> InvalidTransaction:
    nonce = transaction.body.nonce
    return InvalidTransaction(
        TransactionFault.NONCE_USED,
        f"another transaction of its sender with nonce {nonce} or above was committed",
        {"next_nonce": nonce + 1, "by": transaction.id.hex()},
    )
