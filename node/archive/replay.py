"""Replay: the blocks of a folder or a bundle, executed again and compared with it.

From genesis, or from the state of a snapshot file, each block is applied with its
signatures recovered anew, by the same `apply_block` that decides whether a block is
valid; then all that is remembered of it, header, receipts, events, failures and
decisions about timers, must be what executing it gives, byte for byte. The first
difference ends it, explained as closely as what is kept allows.

Rules: what is replayed is only read. Where results go, the caller says. Work is done
in steps, so that whoever drives it can show progress, and stop.
"""

# ruff: noqa: N818 - what is found is no error of the program

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from node import history
from node.archive.state_diff import (
    differing_headers,
    differing_items,
    differing_states,
    name_key,
)
from node.chain.block import Block, Header
from node.chain.errors import InvalidBlock, InvalidTransaction
from node.chain.genesis import Genesis, build_genesis
from node.chain.transaction import Transaction, decode_transaction
from node.chain.transition import (
    BlockResult,
    Caches,
    State,
    apply_block,
    build_block,
    build_run,
    next_state,
    open_state,
)
from node.primitives import codec
from node.primitives.types import Height
from node.state import keys
from node.state.commitment import TreeCaches
from node.state.historical_state import ChangedSnapshot, past_snapshot
from node.state.retention import load_oldest
from node.state.store import Store, StoreSnapshot

__all__ = [
    "BLOCK_RECORDS",
    "Differs",
    "NotReplayable",
    "Replay",
    "Replayed",
    "begin",
    "begin_at_genesis",
    "into",
    "require_replayable",
    "require_same_beginning",
]

PAST_BYTES_MAX = 256 << 20
"""Of undo records that are read to show the state at a difference."""

_UNREADABLE = (codec.MalformedCbor, TypeError, ValueError)
"""What decoding bytes ends with that this program did not write."""

_OPTIONAL = (keys.body, keys.receipts, keys.run_config, keys.timer_trace)
"""What a block adds to the history only if there is something to tell."""


BLOCK_RECORDS = (keys.header, keys.body, keys.receipts, keys.timer_trace)
"""All that is remembered of a block; everything else is found through indexes, which
follow from these."""


class Differs(Exception):
    """A block is not what executing it gives; one sentence a line."""

    def __init__(self, height: int, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.height = height
        self.lines = tuple(lines)


class NotReplayable(Exception):
    """The folder does not hold the blocks that would have to be executed."""


class Replayed(Struct, frozen=True):
    """What was executed again so far, and found right."""

    height: int
    headers: int = 0
    transactions: int = 0
    receipts: int = 0
    events: int = 0


def require_replayable(snapshot: StoreSnapshot, height: int) -> None:
    """Refuse to begin below what a folder holds.

    Raises:
        NotReplayable: Blocks right above `height` are not kept.
    """
    oldest = load_oldest(snapshot).contents
    if height + 1 < oldest:
        raise NotReplayable(
            f"blocks are kept from height {oldest} on: begin with a state file of "
            f"height {oldest - 1} or above (--from-snapshot)"
        )


def begin_at_genesis(snapshot: StoreSnapshot, genesis: Genesis, store: Store) -> State:
    """The genesis' own state, committed to an empty store.

    Raises:
        Differs: The folder's block 0 is another one.
    """
    held = history.load_header(snapshot, Height(0))
    if held is None:
        raise Differs(0, ["block 0 is missing"])
    state = begin(genesis, store)
    require_same_beginning(held, state.head)
    return state


def begin(genesis: Genesis, store: Store) -> State:
    """The genesis' own state, committed to an empty store."""
    result = build_genesis(genesis)
    store.commit(result.writes, sync=False)
    caches = Caches(trees=TreeCaches())
    return open_state(genesis.params, result.header, store.snapshot(), caches)


def require_same_beginning(held: Header, computed: Header) -> None:
    """Refuse what begins with another block 0 than its genesis gives here.

    Raises:
        Differs: With the fields.
    """
    if held != computed:
        raise Differs(0, differing_headers(held, computed))


def into(store: Store) -> Callable[[State, BlockResult], StoreSnapshot]:
    """Keep states in a store, and nothing of how they came about."""

    def keep(_parent: State, result: BlockResult) -> StoreSnapshot:
        store.commit(result.writes, sync=False)
        return store.snapshot()

    return keep


class Replay:
    """A replay in progress; what it holds is bounded by one block."""

    def __init__(
        self,
        snapshot: StoreSnapshot,
        keep: Callable[[State, BlockResult], StoreSnapshot],
        state: State,
        until: int,
        *,
        is_folder: bool = True,
    ) -> None:
        """Go on from `state` to height `until` at the most.

        Args:
            snapshot: what is replayed.
            keep: puts a block's result into the store in which `state` lies, and gives
                its new snapshot.
            state: after the block before the first one.
            until: the last height at the most.
            is_folder: whether states and indexes lie beside the blocks, or nothing.
        """
        self._snapshot = snapshot
        self._keep = keep
        self.state = state
        """After the last block that was found right."""
        self._until = until
        self._is_folder = is_folder
        self._headers = history.headers_after(snapshot, state.head.height)
        self.done = Replayed(state.head.height)

    def step(self, headers_max: int) -> bool:
        """Execute the next blocks; whether any are left.

        Raises:
            Differs: With the first difference.
        """
        count = 0
        for header in self._next_headers(headers_max):
            if header.height > self._until:
                return False
            self._take(header)
            count += 1
        if count < headers_max and self.done.height < self._reach():
            raise Differs(self.done.height + 1, ["the blocks above are missing"])
        return count == headers_max

    def _next_headers(self, headers_max: int) -> Iterator[Header]:
        try:
            yield from islice(self._headers, headers_max)
        except _UNREADABLE as error:
            height = self.done.height + 1
            raise Differs(height, [f"a header above cannot be read: {error}"]) from None

    def _reach(self) -> int:
        """The height that is reached when every header is there."""
        head = int.from_bytes(self._snapshot.get(keys.HEAD) or b"", "big")
        return head if head <= self._until else 0

    def require_same_state(self) -> None:
        """The folder's records are those of the head, if the replay ends there.

        Raises:
            Differs: With the first differences.
        """
        head = history.load_head(self._snapshot)
        if head != self.state.head:
            return
        lines = differing_states(self._snapshot, self.state.snapshot)
        if lines:
            raise Differs(head.height, ["the state is not that of the head", *lines])

    def _take(self, header: Header) -> None:
        parent = self.state
        block = Block(header, self._transactions(header))
        try:
            result = apply_block(parent, block)
        except InvalidBlock as error:
            raise Differs(header.height, self._explain(block, error)) from error
        self._require_same_history(header, result)
        self.state = next_state(parent, result, self._keep(parent, result))
        done = self.done
        self.done = Replayed(
            header.height,
            done.headers + 1,
            done.transactions + len(block.transactions),
            done.receipts + len(result.receipts),
            done.events + len(result.events),
        )

    def _transactions(self, header: Header) -> tuple[Transaction, ...]:
        """A block's transactions, their senders recovered from the signatures."""
        try:
            raws = history.load_raw_transactions(self._snapshot, header.height)
        except _UNREADABLE as error:
            line = f"the transactions of block {header.height} cannot be read: {error}"
            raise Differs(header.height, [line]) from None
        transactions = []
        for index, (sender, raw) in enumerate(raws):
            name = f"block {header.height}: transaction {index}"
            try:
                transaction = decode_transaction(raw)
            except InvalidTransaction as error:
                raise Differs(header.height, [f"{name}: {error}"]) from error
            if transaction.sender != sender:
                line = f"{name}: the sender is {sender.hex()}, its signature says "
                raise Differs(header.height, [line + transaction.sender.hex()])
            transactions.append(transaction)
        return tuple(transactions)

    def _require_same_history(self, header: Header, result: BlockResult) -> None:
        """What the folder tells of a block is what executing it gives."""
        recorded = history.record(result).changes
        wanted = {key_of(header.height): None for key_of in _OPTIONAL} | dict(recorded)
        del wanted[keys.HEAD]
        totals = keys.block_totals(0, header.height)
        if self._snapshot.get(totals) is None:  # an earlier version's folder
            del wanted[totals]
        if not self._is_folder:
            alone = [key_of(header.height) for key_of in BLOCK_RECORDS]
            wanted = {key: wanted[key] for key in alone}
        for key, value in wanted.items():
            if self._snapshot.get(key) != value:
                line = f"{name_key(key)}: not what executing it gives"
                lines = [f"block {header.height}: {line}"]
                raise Differs(header.height, lines + self._explain_results(result))

    # --- the first difference --------------------------------------------------------

    def _explain(self, block: Block, error: InvalidBlock) -> list[str]:
        """As closely as what is kept allows."""
        parent, header = self.state, block.header
        lines = [f"block {header.height}: {error}"]
        if header.parent_hash != parent.head.hash():
            return lines
        if header.span > 1:
            result = build_run(parent, header.span)
        else:
            result = build_block(parent, block.transactions)
        for transaction, reason in result.rejected:
            lines.append(f"transaction {transaction.id.hex()} is refused: {reason}")
        lines += differing_headers(header, result.header)
        lines += self._explain_results(result)
        if self._is_folder and header.state_root != result.header.state_root:
            lines += self._explain_state(header, result)
        return lines

    def _explain_results(self, result: BlockResult) -> list[str]:
        height = result.header.height
        try:
            receipts, events = history.load_results(self._snapshot, height)
        except _UNREADABLE as error:
            return [f"receipts and events of block {height} cannot be read: {error}"]
        return [
            *differing_items("receipt", receipts, result.receipts),
            *differing_items("event", events, result.events),
        ]

    def _explain_state(self, header: Header, result: BlockResult) -> list[str]:
        head = history.load_head(self._snapshot)
        assert head is not None, "it has the header in question"
        try:
            held = past_snapshot(
                self._snapshot, head.height, header.height, PAST_BYTES_MAX
            )
        except LookupError:
            written = sorted(key for key in result.writes.changes if key[:1] in b"gst")
            names = ", ".join(name_key(key) for key in written[:10])
            line = "the state after this block is not kept any more; executing it "
            return [f"{line}changes {len(written)} records: {names}"]
        computed = ChangedSnapshot(self.state.snapshot, result.writes.changes)
        lines = differing_states(held, computed)
        if not lines:
            lines = ["the folder's records are those computed: the header is altered"]
        return lines
