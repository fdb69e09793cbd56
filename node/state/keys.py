"""Every key of the database on one page.

Four families, told apart by their first byte:

* committed: what the state root speaks of. State keys (`s…`) hang in the state tree
  under blake2b-256 of the key; timer records (`t…`) hang in the calendar tree under
  their own 16 bytes, queued fires (`q…`) in the Globalbox's under their 97; the
  globals (`g`) are hashed beside the trees (D38, D52).
* derived: pages of the trees (`m…`, `n…`, `o…`) and indexes (`i…`), rebuilt from the
  committed records by whoever doubts them.
* history: blocks, receipts and what happened to timers (`h…`); no root of the state
  speaks of them.
* the way back: how blocks are undone (`b…`), named snapshots (`y…`, what waited in
  their pools: `w…`) and a rewind that is not finished (`z`). It tells of the other
  families, never of itself.

All integers in keys are big-endian, so that byte order is numeric order.
"""

from pvm.types import Address

GLOBALS = b"g"
STATE_PREFIX = b"s"
TIMER_PREFIX = b"t"
TIMERS_STOP = b"u"
"""Above every timer."""
HEIGHT_LAST = 2**64 - 1
"""No key names a height above it."""
UNDO_PREFIX = b"b"
"""Below all others: an iterator of LevelDB walks over deleted keys to the next live
one, even past its end, so every look for due timers would meet all records dropped,
were they its neighbours."""
STATE_PAGE_PREFIX = b"m"
CALENDAR_PAGE_PREFIX = b"n"
GLOBALBOX_PAGE_PREFIX = b"o"
FIRE_PREFIX = b"q"
FIRE_ORDER_BYTES = 97
"""Of a queued fire's key: what D52 orders by."""

HEIGHT_BYTES = 8
SEQUENCE_BYTES = 8


def height8(height: int) -> bytes:
    """A height, sequence or count as eight bytes."""
    return height.to_bytes(8, "big")


# --- committed state -------------------------------------------------------------


def account(address: Address) -> bytes:
    """Balance, nonce, scheduling counter, code hash and deployer of an account."""
    return b"sa" + address


def code(code_hash: bytes) -> bytes:
    """Source of an actor, under keccak256 of it."""
    return b"sc" + code_hash


def storage(address: Address, key: bytes = b"") -> bytes:
    """One entry of an actor's own state; with no key, their common prefix."""
    return b"ss" + address + key


def engine_message(queued_at: int, index: int) -> bytes:
    """A pending engine-deferred message, in order of queueing (D14)."""
    return b"se" + height8(queued_at) + index.to_bytes(4, "big")


def mailbox_message(queued_at: int, index: int) -> bytes:
    """A pending mailbox-deferred message, in order of queueing (D14)."""
    return b"sm" + height8(queued_at) + index.to_bytes(4, "big")


TIMER_CONFIG = b"sgtimer_config"
BASEFEE_CONFIG = b"sgbasefee_config"
BIDDING_CONFIG = b"sgbidding_config"
WEIGHTS_RESET = b"sgweights_reset"
"""→ height8 of the last reset of the weights of `bidding` (D49)."""
GLOBALBOX_CONFIG = b"sgglobalbox_config"
GLOBALBOX_CLOCK = b"sgglobalbox_clock"
"""→ how old everybody in the Globalbox has become at a height: base, since (D52)."""
DELIVER_SEQUENCE = b"sgdeliver_seq"
"""→ height8 of the next fire's number under `globalbox`; absent at 0 (D54)."""
ACTIVATION_PREFIX = b"sv"
NOTED_PREFIX = b"sn"


def noted_hit(height: int, sequence: int) -> bytes:
    """A hit that waits to be enqueued: its height, and its watch's sequence (D51)."""
    return NOTED_PREFIX + height8(height) + height8(sequence)


def activation(height: int) -> bytes:
    """Name of the rules that a height activates (D1)."""
    return ACTIVATION_PREFIX + height8(height)


FAIRNESS_PREFIX = b"sf"


def fairness(height: int, actor: Address) -> bytes:
    """→ how many timers of an actor fired at a height under `auction` (D32)."""
    return FAIRNESS_PREFIX + height8(height) + actor


WEIGHT_PREFIX = b"sw"


def weight(actor: Address) -> bytes:
    """→ an actor's weight under `bidding`, and its fires in one epoch (D48)."""
    return WEIGHT_PREFIX + actor


EPOCHS_WITH_FIRES = b"sgbidding_epochs"
"""→ everybody's fires under `bidding` in the last two epochs that had any (D48)."""


# --- the calendar ----------------------------------------------------------------


def timer_place(height: int, sequence: int) -> bytes:
    """Due height and sequence: one timer's alone, in the order of D22."""
    return height8(height) + height8(sequence)


def timer(height: int, sequence: int) -> bytes:
    """A live timer's record, in the order in which timers are due (D22, D24)."""
    return TIMER_PREFIX + timer_place(height, sequence)


def timer_height(key: bytes) -> int:
    """The due height in a timer's key."""
    return int.from_bytes(key[1 : 1 + HEIGHT_BYTES], "big")


# --- the Globalbox ---------------------------------------------------------------


def fire(order: bytes) -> bytes:
    """A queued fire, in the order in which fires are materialized (D52)."""
    return FIRE_PREFIX + order


# --- derived indexes -------------------------------------------------------------

TREE_ROOTS = b"ir"
"""→ root of the state tree ‖ root of the calendar tree, and ‖ that of the Globalbox
unless it is empty; absent while all are."""


def timer_by_id(timer_id: bytes) -> bytes:
    """→ `timer_place` of a live timer, or the order of the fire that holds it (D52)."""
    return b"ii" + timer_id


def timer_by_actor(actor: Address, place: bytes = b"") -> bytes:
    """→ timer id; with no place, what an actor's have in common, in due order."""
    return b"ia" + actor + place


def timer_count(actor: Address) -> bytes:
    """→ count of an actor's live timers (CIP-5 §4.2's secondary index)."""
    return b"ic" + actor


def guest_count(target: Address) -> bytes:
    """→ count of live timers on a target that other actors own (D56)."""
    return b"ie" + target


def watch_wait(timer_id: bytes) -> bytes:
    """→ where a watch waits that is not idle (D51).

    The order of its queued fire, or height and sequence of its noted hit.
    """
    return b"ix" + timer_id


def watch_lengths(address: Address, length: int | None = None) -> bytes:
    """→ how many keys of idle watches on an address have a prefix of a length."""
    return b"il" + address + (b"" if length is None else length.to_bytes(2, "big"))


IDLE_WATCHES_PREFIX = b"ik"
WATCH_PREFIXES_PREFIX = b"ij"


def idle_watches(address: Address, prefix: bytes, sequence: int | None = None) -> bytes:
    """→ height8 of an idle watch's place in the calendar, by what it watches (D51)."""
    start = IDLE_WATCHES_PREFIX + address + len(prefix).to_bytes(2, "big") + prefix
    return start if sequence is None else start + height8(sequence)


def watch_prefix(address: Address, prefix: bytes) -> bytes:
    """→ a sequence below which no idle watch watches this ‖ how many do; 8 bytes each.

    Both belong to one prefix of one actor's keys.
    """
    return WATCH_PREFIXES_PREFIX + address + len(prefix).to_bytes(2, "big") + prefix


NOTED_FLOOR = b"iv"
"""→ height8 below which no hit is noted; absent while none is (D51)."""
TARGET_HEADS_PREFIX = b"io"


def target_head(order: bytes) -> bytes:
    """The first queued fire of each target, in the order of all (D53)."""
    return TARGET_HEADS_PREFIX + order


def target_queue(target: Address) -> bytes:
    """→ order of a target's first queued fire ‖ height8 of how many it has."""
    return b"iy" + target


def fire_by_target(target: Address, order: bytes = b"") -> bytes:
    """A target's queued fires, in their order (D53)."""
    return b"iz" + target + order


def waiting_by_payer(payer: Address) -> bytes:
    """→ cycles of the budgets that wait on a payer's account (D14)."""
    return b"ip" + payer


WAITING_TOTAL = b"it"
"""→ cycles of all waiting budgets (D14)."""


def pending_pair(target: Address, sender: Address) -> bytes:
    """→ count of pending messages from a sender to a target (D14: at most 64)."""
    return b"iq" + target + sender


def pending_count(target: Address) -> bytes:
    """→ count of pending messages to a target, both kinds (D14: at most 1,000)."""
    return b"im" + target


RECENT_PREFIX = b"iu"
HISTOGRAM_PREFIX = b"ih"
RECENT_ACTORS = b"ig"
"""→ how many actors fired within the fairness window."""


def recent_fires(actor: Address) -> bytes:
    """→ how often an actor fired within the fairness window; absent when never."""
    return RECENT_PREFIX + actor


def actors_with(fires: int) -> bytes:
    """→ how many actors fired so often within the window; ascending by `fires`."""
    return HISTOGRAM_PREFIX + height8(fires)


DUE_PREFIX = b"iw"
"""Timers that were due already when the latest block was made, under `auction`, in the
orders in which they are looked for: the families are named in `timers.due_index`."""


# --- history ---------------------------------------------------------------------

HEAD = b"hHEAD"
"""→ height8 of the latest block; GENESIS → the genesis document of the folder."""
GENESIS = b"hgenesis"

CONSENSUS = b"hconsensus"
"""→ consensus number, four bytes, under which the folder's blocks were executed."""

OLDEST = b"holdest"
"""→ height8 of the oldest header beside genesis' ‖ height8 of the oldest block whose
contents are kept; absent while everything is."""


def header(height: int) -> bytes:
    """→ encoded header of the block at a height."""
    return b"hh" + height8(height)


def run_config(height: int) -> bytes:
    """→ fee configuration in force in the run of empty blocks that ends at a height.

    From it the basefees of the heights inside the run are computed.
    """
    return b"hq" + height8(height)


def body(height: int) -> bytes:
    """→ encoded transactions of a block; absent when it has none."""
    return b"hb" + height8(height)


def receipts(height: int) -> bytes:
    """→ encoded receipts and events of a block; absent when it has none."""
    return b"hr" + height8(height)


def block_by_hash(block_hash: bytes) -> bytes:
    """→ height8."""
    return b"hx" + block_hash


def transaction_location(transaction_id: bytes) -> bytes:
    """→ height8 ‖ index4 of a committed transaction."""
    return b"ht" + transaction_id


BLOCK_TOTALS_PREFIX = b"hs"


def block_totals(level: int, height: int) -> bytes:
    """→ totals of the header at a height, which is level 0, or of a group of heights.

    A group is named by its first height, and has four of the level below it.
    """
    return BLOCK_TOTALS_PREFIX + bytes([level]) + height8(height)


def timer_history(timer_id: bytes, height: int = 0, index: int = 0) -> bytes:
    """→ one decision about a timer; ranges tell its life in order."""
    return b"hl" + timer_id + height8(height) + index.to_bytes(4, "big")


def timer_trace(height: int) -> bytes:
    """→ every decision about timers in a block, in order."""
    return b"hd" + height8(height)


ENDED_PREFIX = b"hp"


def ended_timer(height: int, sequence: int) -> bytes:
    """→ id, actor and payer of a timer that was due there and ended later than it was.

    Put-offs are told by these places alone; those that live are in the calendar. Of one
    that moved into the Globalbox the height8 at which it did follows: it may come back.
    """
    return ENDED_PREFIX + timer_place(height, sequence)


def code_version(actor: Address, height: int = 0, index: int = 0) -> bytes:
    """→ hash of the code that an actor got there, as the index-th change of a block.

    Ranges tell all that it had, in order.
    """
    return b"hv" + actor + height8(height) + index.to_bytes(4, "big")


# --- the way back ----------------------------------------------------------------


def undo(height: int) -> bytes:
    """→ what takes back the block at a height; absent when it is kept no more."""
    return UNDO_PREFIX + height8(height)


def named_snapshot(name: str = "") -> bytes:
    """→ a named snapshot; with no name, their common prefix."""
    return b"y" + name.encode()


def snapshot_pool(name: str) -> bytes:
    """→ the transactions that waited when a snapshot was taken; absent if none did."""
    return b"w" + name.encode()


UNFINISHED = b"z"
"""→ a rewind or reset that takes several batches; absent when none is in hand."""


# --- ranges ----------------------------------------------------------------------


def prefix_stop(prefix: bytes) -> bytes:
    """The least key above every key that begins with `prefix`."""
    trimmed = prefix.rstrip(b"\xff")
    assert trimmed, "a prefix of 0xff bytes has no end"
    return trimmed[:-1] + bytes([trimmed[-1] + 1])
