"""BlockContext and ExecutionScope: what a block gathers while it is made.

A `BlockContext` lives for one block: the journal, what is in force, what was used,
what was burned. An `ExecutionScope` is one transaction, fire or message with all the
calls it makes: they share its origin, payer, price, events, effects and counts. Both
are plain working memory of the core; what leaves a block is a frozen `BlockResult`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field

import pvm
from node.chain.block import Event, Price, Receipt, ReceiptKind
from node.chain.effects import EventEmitted, ExecutionSideEffects
from node.chain.globals import BlockPrices, Globals, Governed
from node.chain.params import (
    BasefeeConfig,
    BiddingConfig,
    ChainParams,
    GlobalboxConfig,
    TimerConfig,
)
from node.chain.timers.due_book import DueBook
from node.chain.timers.ruleset import RuleSet
from node.chain.timers.tiers import TieredCalendar
from node.chain.timers.timer import Timer, TimerDecision
from node.primitives import codec
from node.primitives.crypto import keccak256
from node.primitives.types import ZERO_HASH, Address, Amount, Hash32
from node.state.journal import Checkpoint, Journal
from node.state.keys import height8
from pvm import CodeCache, Environment, FireContext, Host, Message, Meter, Outcome
from pvm.output import OutputLog, Printout

if TYPE_CHECKING:
    from pvm import ActorCode

Execute = Callable[["ActorCode", Message, Host, Meter], Outcome]
"""How a message is executed: `pvm.execute`, or what does the same and watches."""


def execute(code: "ActorCode", message: Message, host: Host, meter: Meter) -> Outcome:
    """`pvm.execute`, imported by the first message."""
    return pvm.execute(code, message, host, meter)


class QueuedFire(Struct):
    """A classified and pre-charged timer that waits for its turn (D21, D26)."""

    timer: Timer
    cycles_limit: int
    price: Price
    max_cost: Amount
    """What is debited for it (CIP-5 §6.3 step 2)."""
    available: Amount
    """What its payer had when it was judged."""
    reserved: int
    """Cycles of the lane that others had reserved then."""
    is_cancelled: bool = False


class LaneUse(Struct, frozen=True, gc=False):
    """What a block used of its budgets (D8, D43)."""

    user_cycles: int
    timer_cycles: int
    deferred_cycles: int
    gc_cycles: int
    cycles: int
    cells: int
    writes: int
    agent_cycles: int = 0


class BlockContext(Struct):
    """Working memory of one block."""

    params: ChainParams
    journal: Journal
    environment: Environment
    before: Globals
    """As the parent left them."""
    prices: BlockPrices
    """In force in this block."""
    rule_set: RuleSet
    known_rules: frozenset[str]
    """Names that an activation may give (D1)."""
    governed: Governed
    code_cache: CodeCache
    calendar: TieredCalendar
    """Of the parent: what is due is read from its buckets (D24)."""
    due_book: DueBook
    timer_sequence: int
    parent_state_root: Hash32 = ZERO_HASH
    """What names of fires are made of under `globalbox` (D54)."""
    before_timers: dict[bytes, bytes | None] = field(default_factory=dict)
    """Under `globalbox`, what transactions left in storage: net changes of timers and
    messages are against it (D51)."""
    materialized: dict[bytes, Timer] = field(default_factory=dict)
    """Under `globalbox`, HEIGHT timers that are still to run, by id (D53)."""
    returned: list[bytes] = field(default_factory=list)
    """Keys in the calendar of those that this block took out of the Globalbox (D55)."""
    oldest_message: int = 0
    """A height below which no waiting message was queued: where looking begins."""
    oldest_left: int = 0
    """The same for the next block, once this one has delivered."""
    messages_queued: int = 0
    """In this block; the index of the next one (keys.engine_message)."""
    user_cycles: int = 0
    timer_cycles: int = 0
    deferred_cycles: int = 0
    gc_cycles: int = 0
    agent_cycles: int = 0
    """Of Gas Bidding Agents (D34)."""
    cells: int = 0
    writes: int = 0
    """Distinct keys changed, summed over executions (D43)."""
    burned_cycle: int = 0
    burned_cell: int = 0
    burned_lane: int = 0
    minted: int = 0
    """By development instructions; negative when they took more."""
    receipts: list[Receipt] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    trace: list[TimerDecision] = field(default_factory=list)
    queue: dict[bytes, QueuedFire] = field(default_factory=dict)
    """Timers of this block that are still to run, by id."""
    defect: Exception | None = None
    """What a host call raised that is no refusal: the block cannot be made."""
    execute: Execute = execute
    """Of every message."""
    outputs: dict[int, Printout] = field(default_factory=dict)
    """By index of the receipt, what executions printed (D59)."""

    @property
    def height(self) -> int:
        """Height of the block being made."""
        return self.environment.height

    @property
    def span(self) -> int:
        """Heights it stands for: more than 1 for a run of empty blocks (D36)."""
        return self.environment.height - self.before.height

    @property
    def timer_config(self) -> TimerConfig:
        """In force in this block (D3)."""
        return self.governed.timer_config

    @property
    def basefee_config(self) -> BasefeeConfig:
        """In force in this block (D3)."""
        return self.governed.basefee_config

    @property
    def bidding_config(self) -> BiddingConfig:
        """In force in this block (D3)."""
        return self.governed.bidding_config

    @property
    def globalbox_config(self) -> GlobalboxConfig:
        """In force in this block (D3)."""
        return self.governed.globalbox_config

    @property
    def cycles(self) -> int:
        """Used by all that executes: what basefees look at (D8)."""
        return (
            self.user_cycles
            + self.timer_cycles
            + self.agent_cycles
            + self.deferred_cycles
        )

    def use(self) -> LaneUse:
        """What was used so far."""
        return LaneUse(
            user_cycles=self.user_cycles,
            timer_cycles=self.timer_cycles,
            deferred_cycles=self.deferred_cycles,
            gc_cycles=self.gc_cycles,
            cycles=self.cycles,
            cells=self.cells,
            writes=self.writes,
            agent_cycles=self.agent_cycles,
        )

    def emit(self, topic: str, **numbers: codec.Value) -> None:
        """Record a system event outside of any execution (D17)."""
        self.events.append(system_event(topic, numbers, None))


def system_event(
    topic: str, numbers: dict[str, codec.Value], receipt_index: int | None
) -> Event:
    """An event of the system: its data are named numbers in canonical CBOR."""
    return Event(None, topic, codec.encode(dict(numbers)), receipt_index)


class Mark(Struct):
    """Where an execution stood, to go back to (frozen it would cost twice as much)."""

    journal: Checkpoint
    effects: int
    """How many side effects were noted."""


class ExecutionScope(Struct):
    """One transaction, fire or message with all the calls it makes."""

    block: BlockContext
    kind: ReceiptKind
    origin: Hash32
    """Id of the causing transaction; zeros for fires and what they send (D13)."""
    payer: Address
    price: Price
    signer: Address | None
    """The transaction's; None in fires and messages: consent is per signature."""
    nonce: int = 0
    timer_id: bytes = b""
    """Of a fire, and of an agent's answer."""
    delivery: FireContext | None = None
    """Of a fire under `globalbox` (D54)."""
    handler: str = ""
    """The one that runs, of those it may call; "" while none was found."""
    effects: ExecutionSideEffects = field(default_factory=ExecutionSideEffects)
    handlers_named: dict[bytes, str] = field(default_factory=dict)
    """By payloads of timers: found out once, whatever comes of the timer."""
    output: OutputLog | None = None
    """What was printed, if anything was; it is not undone with the rest (D59)."""

    @property
    def receipt_index(self) -> int:
        """Index that this execution's receipt will have in its block."""
        return len(self.block.receipts)

    def msg_id(self) -> Hash32:
        """The execution's name: its kind, height and index in the block (D13)."""
        place = height8(self.block.height) + height8(self.receipt_index)
        return Hash32(keccak256(bytes([self.kind]) + place))

    def id(self) -> bytes:
        """What its receipt is found by: of the transaction or timer, else msg_id."""
        if self.kind is ReceiptKind.TRANSACTION:
            return self.origin
        return self.timer_id or self.msg_id()

    def emit_system(self, topic: str, **numbers: codec.Value) -> None:
        """Record a system event of this execution; undone with it (D17)."""
        event = system_event(topic, numbers, self.receipt_index)
        self.effects.note(EventEmitted(event))

    def mark(self) -> Mark:
        """Open a checkpoint: all that follows can be undone."""
        return Mark(self.block.journal.checkpoint(), len(self.effects.log))

    def commit(self, mark: Mark) -> None:
        """Keep what was done since the mark."""
        self.block.journal.commit(mark.journal)

    def revert(self, mark: Mark) -> None:
        """Undo everything since the mark, every counter included (D16)."""
        self.block.journal.revert(mark.journal)
        self.effects.undo(mark.effects)
