"""Vectors of the rules `globalbox`: ids, orders, the clock, records, root and proofs.

As all vectors they hold no price of the actor language: nothing is executed.
"""

from itertools import product

from chain_vectors import Json

from node.chain.globals import GlobalboxClock
from node.chain.timers.globalbox.fires import RANK_ORIGIN, GlobalFire, order_of
from node.chain.timers.timer import Timer, derive_client_id, watch_height
from node.primitives.crypto import blake2b256
from node.primitives.merkle import EMPTY_ROOT, Tree
from node.primitives.proof import combine_state_root
from node.primitives.types import Address, Height, TimerId
from node.state import keys

OWNER = Address(b"\x11" * 20)
TARGET = Address(b"\x22" * 20)
W_AGE = 2**96


def globalbox_vectors() -> Json:
    """One list a rule; scores and ranks are decimal strings, bytes are hexadecimal."""
    return {
        "client_id": _client_ids(),
        "clock": _clocks(),
        "order": _orders(),
        "watch_height": [
            {"expires_at": last, "registered": at, "height": watch_height(last, at)}
            for last, at in ((0, 7), (7, 7), (8, 7), (2**64 - 1, 7))
        ],
        "record": _records(),
        "root": _root(),
    }


def _client_ids() -> Json:
    return [
        {
            "owner": owner.hex(),
            "target": target.hex(),
            "nonce": nonce.hex(),
            "timer_id": derive_client_id(owner, target, nonce).hex(),
        }
        for owner, target, nonce in product(
            (OWNER, TARGET), (OWNER, TARGET), (b"\x00", b"n" * 32)
        )
    ]


def _clocks() -> Json:
    return [
        {
            "base": str(clock.base),
            "since": clock.since,
            "w_age": str(w_age),
            "height": height,
            "age": str(clock.at(height, w_age)),
        }
        for clock, w_age, height in product(
            (GlobalboxClock(), GlobalboxClock(5 * W_AGE, Height(5))),
            (1, W_AGE),
            (5, 6, 1_000),
        )
    ]


def _orders() -> Json:
    """What is compared, and the key: ascending keys are the order of the queue."""
    rows = list[Json]()
    for score, bucket, cursor, origin in product(
        (0, 1, W_AGE, 2**192), (0, 4), (0, 9_999), (1, 2**40)
    ):
        age = 3 * W_AGE
        rank = RANK_ORIGIN - (score - age)
        order = order_of(rank, bucket, cursor, origin, TARGET, b"\x33" * 32)
        rows.append(
            {
                "score": str(score),
                "age": str(age),
                "bucket": bucket,
                "cursor": cursor,
                "origin": origin,
                "order": order.hex(),
            }
        )
    return rows


def _timer(**terms: object) -> Timer:
    return Timer(
        Height(9),
        3,
        TimerId(b"\x33" * 32),
        OWNER,
        b"payload",
        "",
        OWNER,
        2_000,
        is_gas_limit_defaulted=False,
        expires_at=Height(99),
        scheduled_at=Height(2),
        **terms,  # type: ignore[arg-type]
    )


def _records() -> Json:
    """Timers with and without what D50 adds, and queued fires."""
    plain = _timer()
    aimed = _timer(other_target=TARGET, bid_fp=2**96, bucket=4)
    watch = _timer(watch_keys=((TARGET, b"k"), (OWNER, b"")), fire_seq=2)
    order = order_of(RANK_ORIGIN, 0, 0, 9, TARGET, b"\x33" * 32)
    due = GlobalFire(order, 2**96, 3, record=aimed.encode())
    hit = GlobalFire(order, 0, 3, ((TARGET, b"k1"),))
    named = {"plain": plain, "aimed": aimed, "watch": watch, "due": due, "hit": hit}
    return {name: one.encode().hex() for name, one in named.items()}


def _root() -> Json:
    """A tree of keys that part behind bit 255, what is proven of it, the state root."""
    orders = [
        order_of(RANK_ORIGIN, 0, cursor, 9, TARGET, bytes([cursor]) * 32)
        for cursor in range(40)
    ]
    leaves = [(order, blake2b256(order)) for order in orders]
    width = keys.FIRE_ORDER_BYTES
    update = Tree(lambda _path: None, width, EMPTY_ROOT).apply(leaves)
    tree = Tree(update.pages.get, width, update.root)
    first, last = bytes(width), b"\xff" * width
    behind = orders[7][:-1] + b"\xff"
    ranges = (
        (first, last),
        (first, orders[3]),
        (orders[30], orders[30]),
        (behind, behind),
    )
    return {
        "orders": [order.hex() for order in orders],
        "root": update.root.hex(),
        "proofs": [
            {
                "first_order": low.hex(),
                "last_order": high.hex(),
                "proof": tree.prove(low, high + b"\0").hex(),
                "orders": [one.hex() for one in orders if low <= one <= high],
            }
            for low, high in ranges
        ],
        "state_roots": [_state_root(root) for root in (EMPTY_ROOT, update.root)],
    }


def _state_root(globalbox: bytes) -> Json:
    """Of the roots of three trees; that of an empty Globalbox is left out."""
    globals_hash, state, calendar = b"\x01" * 32, b"\x02" * 32, b"\x03" * 32
    return {
        "globals_hash": globals_hash.hex(),
        "state_tree_root": state.hex(),
        "calendar_root": calendar.hex(),
        "globalbox_root": globalbox.hex(),
        "state_root": combine_state_root(
            globals_hash, state, calendar, globalbox
        ).hex(),
    }
