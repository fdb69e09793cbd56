"""Verification: everything a folder holds, recomputed before it is served.

A start looks at the latest headers and a sample of the state; `--verify` looks at all
of it: both trees page by page against the records, the supply, what is derived from
timers and messages, every header, body and receipt, the decisions about timers that
are kept twice or have a receipt, and the way back. The first difference ends it with a
sentence that names the key or the block.

Rules: reads only; memory is bounded, whatever the size of the chain, but for counts
of messages that wait, of which there are few (D14), and of actors that fired of late.
"""

from collections import Counter
from collections.abc import Iterator
from struct import error as StructError  # noqa: N812 - a class, named like one

from msgspec import Struct

from node import history
from node.archive.globalbox_verification import verify_globalbox
from node.archive.made_totals import expected_groups, totals_at
from node.archive.opening import DamagedChain
from node.chain.accounts import decode_account
from node.chain.block import Header, Receipt, ReceiptKind, list_root
from node.chain.globals import load_globals, load_governed
from node.chain.mailbox import pending_messages
from node.chain.timers import due_index, fairness
from node.chain.timers.globalbox.fires import decode_fire
from node.chain.timers.rules import INDEXES
from node.chain.timers.timer import Decision, Timer, decode_timer
from node.chain.timers.trace import encode_trace
from node.chain.transition import State
from node.primitives.tree_pages import BrokenTree
from node.primitives.types import Address, Height
from node.state import keys
from node.state.commitment import compare
from node.state.retention import load_oldest
from node.state.store import StoreSnapshot
from node.state.undo import decode_record

__all__ = ["Verified", "verify"]


class Verified(Struct, frozen=True):
    """What was looked at, and found right."""

    blocks: int
    transactions: int
    accounts: int
    timers: int


def verify(state: State) -> Verified:
    """Recompute the chain that `state` is the head of; on the worker.

    Raises:
        DamagedChain: The first difference.
    """
    snapshot = state.snapshot
    try:
        root = compare(snapshot)
    except BrokenTree as error:
        raise DamagedChain(str(error)) from error
    if root != state.head.state_root:
        raise DamagedChain(
            f"the state is not the one of block {state.head.height}, the latest"
        )
    accounts = _verify_supply(snapshot)
    timers = _verify_timers(snapshot)
    _verify_messages(snapshot)
    verify_globalbox(snapshot)
    _verify_lane(state)
    blocks, transactions = _verify_history(snapshot, state.head)
    _verify_totals(snapshot, state.head)
    _verify_way_back(snapshot, state.head)
    return Verified(blocks, transactions, accounts, timers)


def _pairs(snapshot: StoreSnapshot, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    return snapshot.range(prefix, keys.prefix_stop(prefix))


def _require(snapshot: StoreSnapshot, key: bytes, value: bytes, what: str) -> None:
    if snapshot.get(key) != value:
        raise DamagedChain(f"the index under {key.hex()} is not that of {what}")


def _require_count(snapshot: StoreSnapshot, prefix: bytes, count: int, of: str) -> None:
    found = sum(1 for _ in _pairs(snapshot, prefix))
    if found != count:
        raise DamagedChain(
            f"the index {prefix.decode()} has {found} entries, and there are {count} "
            f"{of}"
        )


# --- state ---------------------------------------------------------------------------


def _verify_supply(snapshot: StoreSnapshot) -> int:
    """Minted = balances + burned + held (D10); how many accounts there are."""
    count = balances = 0
    for _, record in _pairs(snapshot, keys.account(Address(b""))):
        count += 1
        balances += decode_account(record).balance
    globals_ = load_globals(snapshot)
    held = sum(message.prepaid for message in pending_messages(snapshot))
    if globals_.minted != balances + globals_.burned + held:
        raise DamagedChain(
            f"{globals_.minted} base units were minted, and {balances} are in "
            f"accounts, {globals_.burned} burned, {held} held"
        )
    return count


def _live_timers(snapshot: StoreSnapshot) -> Iterator[tuple[Timer, bytes]]:
    """Each live timer with where it lies: its place, or the order of its fire."""
    for key, record in _pairs(snapshot, keys.TIMER_PREFIX):
        yield decode_timer(key, record), key[1:]
    for key, record in _pairs(snapshot, keys.FIRE_PREFIX):
        fire = decode_fire(key[1:], record)
        if not fire.is_of_watch:
            yield fire.height_timer(), key[1:]


def _verify_timers(snapshot: StoreSnapshot) -> int:
    """The indexes by id and by actor, and the counts; how many timers there are."""
    count = 0
    for timer, where in _live_timers(snapshot):
        count += 1
        what = f"timer {timer.timer_id.hex()}"
        place = keys.timer_place(timer.height, timer.sequence)
        by_actor = keys.timer_by_actor(timer.actor, place)
        _require(snapshot, keys.timer_by_id(timer.timer_id), where, what)
        _require(snapshot, by_actor, timer.timer_id, what)
    by_actor_prefix = keys.timer_by_actor(Address(b""))
    _require_count(snapshot, keys.timer_by_id(b""), count, "timers")
    _require_count(snapshot, by_actor_prefix, count, "timers")
    total = 0
    for key, value in _pairs(snapshot, keys.timer_count(Address(b""))):
        actor = Address(key[2:])
        own = by_actor_prefix + actor
        held = sum(1 for _ in _pairs(snapshot, own))
        _require(snapshot, key, keys.height8(held), f"actor {actor.hex()}")
        total += int.from_bytes(value, "big")
    if total != count:
        raise DamagedChain(f"actors count {total} timers, and there are {count}")
    return count


def _verify_messages(snapshot: StoreSnapshot) -> None:
    """Counts and sums of waiting messages (D14)."""
    counts: Counter[bytes] = Counter()
    for message in pending_messages(snapshot):
        counts.update(message.count_changes())
    nobody = Address(b"")
    prefixes = (
        keys.pending_pair(nobody, nobody),
        keys.pending_count(nobody),
        keys.waiting_by_payer(nobody),
        keys.WAITING_TOTAL,
    )
    for prefix in prefixes:
        for key, value in _pairs(snapshot, prefix):
            if counts.pop(key, 0) != int.from_bytes(value, "big"):
                raise DamagedChain(
                    f"the index under {key.hex()} is not that of the waiting messages"
                )
    if counts:
        raise DamagedChain(f"the index under {min(counts).hex()} is missing")


def _verify_lane(state: State) -> None:
    """The sums of fires (D32), and the orders in which due timers wait."""
    snapshot, height = state.snapshot, state.head.height
    sums = fairness.expected_sums(snapshot)
    for key, value in sums.items():
        _require(snapshot, key, value, "the fires of late")
    if len(fairness.found_sums(snapshot)) != len(sums):
        raise DamagedChain("there are more sums of fires than fires")
    rules = load_governed(snapshot, state.params).rules_at(height)
    left = due_index.found(snapshot)
    index = INDEXES.get(rules)
    if index is not None:
        for key, value in index.expected(snapshot, height):
            kept = snapshot.get(key)
            if kept is None or due_index.as_found(key, kept) != (key, value):
                raise DamagedChain(
                    f"the index under {key.hex()} is not that of a due timer"
                )
            next(left, None)
    if next(left, None) is not None:
        raise DamagedChain("more timers are said to wait than do")


# --- history -------------------------------------------------------------------------

_WITHOUT_CODE_VERSIONS = 1
"""Consensus number of release 0.1.0, which kept no history of actors' code."""


def _verify_history(snapshot: StoreSnapshot, head: Header) -> tuple[int, int]:
    """Links, roots and indexes of all blocks; how many, and of transactions."""
    blocks = transactions = decisions = ended = versions = 0
    has_versions = history.load_consensus(snapshot) > _WITHOUT_CODE_VERSIONS
    oldest = load_oldest(snapshot)
    first = oldest.contents
    parent: Header | None = None
    for header in history.headers_after(snapshot, -1):
        at = f"block {header.height}"
        if not _is_next(parent, header, oldest.header):
            raise DamagedChain(f"{at} does not follow from the one before it")
        _require(
            snapshot, keys.block_by_hash(header.hash()), keys.height8(header.height), at
        )
        is_first = header.height == oldest.header  # a state file ends with its header
        has_config = snapshot.get(keys.run_config(header.height)) is not None
        if header.span > 1 and not has_config and not is_first:
            raise DamagedChain(f"the run that ends at {at} has no fee configuration")
        if header.height >= first:
            found = _verify_content(snapshot, header, at)
            transactions += found[0]
            decisions += found[1]
            ended += found[2]
            versions += _verify_versions(snapshot, header, at) if has_versions else 0
        blocks += 1
        parent = header
    if parent != head:
        raise DamagedChain(f"block {head.height} is not the last one in the history")
    _require_count(snapshot, keys.block_by_hash(b""), blocks, "blocks")
    _require_count(snapshot, keys.ENDED_PREFIX, ended, "ended timers")
    location = keys.transaction_location(b"")
    _require_count(snapshot, location, transactions, "transactions")
    kept = sum(1 for height in history.decision_heights(snapshot) if height >= first)
    if kept != decisions:
        raise DamagedChain(
            f"timers' histories have {kept} decisions, and blocks made {decisions}"
        )
    found_versions = sum(h >= first for h in history.code_version_heights(snapshot))
    if has_versions and found_versions != versions:
        raise DamagedChain(
            f"actors got code {versions} times in blocks, the history says "
            f"{found_versions}"
        )
    return blocks, transactions


def _verify_versions(snapshot: StoreSnapshot, header: Header, at: str) -> int:
    """The code that actors got in a block, against its events; how often they did."""
    block = history.load_block(snapshot, header.height)
    assert block is not None, "its header was just read"
    results = history.load_results(snapshot, header.height)
    count = 0
    for index, one in enumerate(history.code_versions_in(block, *results)):
        place = keys.code_version(one.actor, header.height, index)
        _require(snapshot, place, one.code_hash, f"code that an actor got in {at}")
        count += 1
    return count


def _is_next(parent: Header | None, header: Header, oldest: Height) -> bool:
    if parent is None:
        return header.height == 0
    if parent.height == 0 and header.height == oldest:
        return True  # what lay between was never in this folder
    is_above = header.height - header.span == parent.height
    return is_above and header.parent_hash == parent.hash()


def _verify_content(
    snapshot: StoreSnapshot, header: Header, at: str
) -> tuple[int, int, int]:
    """One block's transactions, receipts and events against its header.

    How many transactions there are, decisions that timers' histories have, and timers
    that ended of which the places are kept.
    """
    block = history.load_block(snapshot, header.height)
    assert block is not None, "its header was just read"
    receipts, events = history.load_results(snapshot, header.height)
    roots = (
        list_root([transaction.raw for transaction in block.transactions]),
        list_root([receipt.encode() for receipt in receipts]),
        list_root([event.encode() for event in events]),
    )
    wanted = (header.transactions_root, header.receipts_root, header.events_root)
    for name, root, want in zip(
        ("transactions", "receipts", "events"), roots, wanted, strict=True
    ):
        if root != want:
            raise DamagedChain(f"the {name} of {at} are not those of its header")
    for index, transaction in enumerate(block.transactions):
        place = keys.height8(header.height) + index.to_bytes(4, "big")
        key = keys.transaction_location(transaction.id)
        _require(snapshot, key, place, f"transaction {transaction.id.hex()}")
    return len(block.transactions), *_verify_decisions(snapshot, header, receipts)


def _verify_decisions(
    snapshot: StoreSnapshot, header: Header, receipts: tuple[Receipt, ...]
) -> tuple[int, int]:
    """A block's decisions about timers against what else tells of them.

    How many are under their timers, too, and how many places of ended timers are kept.
    Each fire has its receipt, whose root the header has; put-offs alone are nowhere
    else.
    """
    at, data = f"block {header.height}", snapshot.get(keys.timer_trace(header.height))
    try:
        trace = history.load_trace(snapshot, header.height)
        encoded, entries = encode_trace(trace)
    except (ValueError, LookupError, TypeError, StructError) as error:
        raise DamagedChain(f"the decisions of {at} are malformed: {error}") from error
    if trace and encoded != data:
        raise DamagedChain(f"the decisions of {at} are malformed")
    fired = sorted(one.id for one in receipts if one.kind is ReceiptKind.FIRE)
    if fired != sorted(d.timer_id for d in trace if d.decision is Decision.FIRED):
        raise DamagedChain(f"the decisions of {at} are not those of its receipts")
    for index, decision, entry in entries:
        place = keys.timer_history(decision.timer_id, header.height, index)
        _require(snapshot, place, entry, f"a decision of {at}")
    ended = history.ended_timers(header.height, (d for _, d, _ in entries))
    for place, identity in ended.items():
        assert identity is not None, "they are all there to be kept"
        _require(snapshot, place, identity, f"a timer that ended in {at}")
    return len(entries), len(ended)


def _verify_totals(snapshot: StoreSnapshot, head: Header) -> None:
    """Totals of each block whose contents are kept, and of groups of heights."""
    first = max(0, load_oldest(snapshot).contents)
    for header in history.headers_after(snapshot, first - 1):
        what = f"block {header.height}: its totals"
        wanted = totals_at(snapshot, header).encode()
        _require(snapshot, keys.block_totals(0, header.height), wanted, what)
    groups = 0
    for key, wanted in expected_groups(snapshot, head.height):
        _require(snapshot, key, wanted, "the totals of a group of heights")
        groups += 1
    start, stop = keys.block_totals(1, 0), keys.prefix_stop(keys.BLOCK_TOTALS_PREFIX)
    found = sum(1 for _ in snapshot.range(start, stop))
    if found != groups:
        raise DamagedChain(
            f"there are totals of {found} groups of heights, and {groups} such groups"
        )


def _verify_way_back(snapshot: StoreSnapshot, head: Header) -> None:
    """Undo records lead from the head down, without a gap."""
    below: int | None = None
    for key, data in _pairs(snapshot, keys.undo(0)[: -keys.HEIGHT_BYTES]):
        height, previous = int.from_bytes(key[1:], "big"), decode_record(data).previous
        header = history.load_header(snapshot, Height(height))
        is_of_block = header is not None and previous == height - header.span
        if not is_of_block or below not in {None, previous}:
            raise DamagedChain(f"the undo record of block {height} leads elsewhere")
        below = height
    if below not in {None, head.height}:
        raise DamagedChain(f"block {head.height} has no undo record")
