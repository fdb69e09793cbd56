"""What does not grow with the number of timers: proofs, snapshots, going back."""

import random
import statistics
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from benches.report import Row, median
from node import query
from node.chain.transaction import Fund, Transaction, decode_transaction
from node.client import Wallet, build_body
from node.primitives.crypto import blake2b256
from node.primitives.merkle import BUCKET_LEAVES_MAX, Change, Tree
from node.primitives.proof import verify
from node.primitives.types import Address, Amount
from node.runtime.rewinding import revert
from node.state import keys
from node.state.commitment import CALENDAR, root_parts

if TYPE_CHECKING:
    from benches.atscale import Chain

PROOFS = 300
HEIGHTS = (300, 20_000_000)
"""Where most of the timers are due."""
SNAPSHOTS = 20
CHANGED_KEYS = 100

PROOF_BYTES_MAX = 4_096
CHOSEN_PROOF_BYTES_MAX = 8_192
VERIFY_MS_MAX = 1
TAKE_MS_MAX = 0.5
REVERT_MS_MAX = 2

_KEY_BYTES = 16
_HEIGHT_BITS = 64
_MILLI = 1_000


def proof_rows(chain: "Chain", count: int) -> Iterator[Row]:
    """Of what is due at some heights, in this world and in the worst one."""
    source = random.Random(8)  # noqa: S311 - a bench
    sizes, makes, checks = [], [], []
    for number in range(PROOFS):
        first = source.randrange(*HEIGHTS)
        last = first + (number % 2)  # nothing, or little, is due there
        began = time.perf_counter()
        proof = query.prove_due(chain.state, first, last)
        makes.append((time.perf_counter() - began) * _MILLI)
        assert proof.parts is not None
        low, high = keys.height8(first), keys.height8(last + 1)
        checks.append(_verify_ms(proof.parts[2], proof.proof, low, high))
        sizes.append(len(proof.proof))
    slowest = statistics.quantiles(checks, n=100)[-1]
    yield Row(
        f"proof of what is due at a height, of {count:,}",
        f"{median(sizes):,.0f} bytes, at most {max(sizes):,}; verified in "
        f"{median(checks):.2f} ms, 99 of 100 within {slowest:.2f}",
        f"made in {median(makes):.2f} ms",
        f"< {PROOF_BYTES_MAX:,} bytes, < {VERIFY_MS_MAX} ms",
        max(sizes) < PROOF_BYTES_MAX and slowest < VERIFY_MS_MAX,
    )
    yield _chosen_row(chain)


def _chosen_row(chain: "Chain") -> Row:
    """Timers that somebody placed so that each bit of a height forks."""
    snapshot = chain.state.snapshot
    height = sum(HEIGHTS) // 2
    chosen = {(height, number) for number in range(BUCKET_LEAVES_MAX)}
    for bit in range(_HEIGHT_BITS):
        neighbours = range(BUCKET_LEAVES_MAX + 1)
        chosen |= {(height ^ 1 << bit, number) for number in neighbours}
    names = sorted(keys.height8(at) + keys.height8(number) for at, number in chosen)
    changes: list[Change] = [(name, blake2b256(name)) for name in names]

    def load(path: str) -> bytes | None:
        return snapshot.get(CALENDAR.page_prefix + path.encode())

    update = Tree(load, _KEY_BYTES, root_parts(snapshot)[2]).apply(changes)
    overlay = update.pages
    tree = Tree(
        lambda path: overlay[path] if path in overlay else load(path),
        _KEY_BYTES,
        update.root,
    )
    sizes, checks = [], []
    for first, last in ((height, height), (height + 1, height + 1), (height, 2**63)):
        low, high = keys.height8(first), keys.height8(last + 1)
        if last > first:
            low, high = low + keys.height8(1), low + keys.height8(1) + b"\0"
        proof = tree.prove(low, high)
        checks.append(_verify_ms(update.root, proof, low, high))
        sizes.append(len(proof))
    return Row(
        f"the same with {len(changes):,} timers placed so that each bit forks",
        f"at most {max(sizes):,} bytes, verified within {max(checks):.2f} ms",
        "the server refuses to make larger ones",
        f"< {CHOSEN_PROOF_BYTES_MAX:,} bytes, < {VERIFY_MS_MAX} ms",
        max(sizes) < CHOSEN_PROOF_BYTES_MAX and max(checks) < VERIFY_MS_MAX,
    )


def _verify_ms(root: bytes, proof: bytes, low: bytes, high: bytes) -> float:
    began = time.perf_counter()
    verify(root, proof, low, high, _KEY_BYTES)
    return (time.perf_counter() - began) * _MILLI


def snapshot_rows(chain: "Chain", count: int) -> Iterator[Row]:
    """Named snapshots, and going back to one; each with the disk's sync."""
    takes, reverts, syncs = [], [], []
    blocks = chain.blocks
    for _ in range(SNAPSHOTS):
        began = time.perf_counter()
        blocks.create_snapshot("taken", chain.state.head, ())
        takes.append((time.perf_counter() - began) * _MILLI)
        chain.step(*_fundings(chain))
        before = chain.state
        began = time.perf_counter()
        rewound = chain.worker.run(lambda state=before: revert(blocks, state, "taken"))
        reverts.append((time.perf_counter() - began) * _MILLI)
        chain.state = rewound.state
        blocks.delete_snapshot("taken")
        began = time.perf_counter()
        blocks.sync()
        syncs.append((time.perf_counter() - began) * _MILLI)
    synced = f"of it the disk's sync: {median(syncs):.2f} ms"
    for what, spent, limit in (
        ("named snapshot", takes, TAKE_MS_MAX),
        (f"revert after {CHANGED_KEYS} changed keys", reverts, REVERT_MS_MAX),
    ):
        own = max(0.0, median(spent) - median(syncs))
        yield Row(
            f"{what}, with {count:,} pending",
            f"{median(spent):.2f} ms, {own:.2f} but for the disk",
            synced,
            f"< {limit} ms but for the disk",
            own < limit,
        )


def _fundings(chain: "Chain") -> list[Transaction]:
    """Transactions that change so many keys, two of them of the sender."""
    wallet, first = Wallet.dev(1), query.account(chain.state, Wallet.dev(1).address)
    transactions = []
    for number in range(CHANGED_KEYS - 2):
        to = Address(b"\x77" * 12 + keys.height8(number))
        body = build_body(
            Fund(to, Amount(1)),
            chain_id=chain.state.params.chain_id,
            nonce=first.nonce + number,
            limits=(0, 0),
            max_fees=(0, 0),
        )
        transactions.append(decode_transaction(wallet.sign(body)))
    return transactions
