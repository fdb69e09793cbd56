"""What a place in the timer lane of past blocks would have cost, under `auction`.

Told from what was recorded when the fires were decided (D17): a timer with a limit
finds room in a block until the first fire after which the limit fits no more, so to
have a turn there it has to come before that fire. Nobody before it would have been
affected, so that is what would have happened.
"""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from node.chain.block import Header
from node.chain.fees import idle_lane_basefee
from node.chain.timers.gba import fill_bid
from node.chain.timers.timer import Decision, TimerDecision
from node.chain.transition import State
from node.history import load_entries, load_header_over
from node.primitives.types import Amount, Height
from node.state.retention import load_oldest

PAST_BLOCKS_DEFAULT = 10
PAST_BLOCKS_MAX = 100
"""Of the last ones; put-offs in them are passed over."""


class PastBlock(Struct, frozen=True):
    """A height under `auction`, and its fires in the order of their turns."""

    height: Height
    basefee_lane: Amount
    fires: tuple[TimerDecision, ...]


class PastPlace(Struct, frozen=True):
    """What a turn in a past block would have cost a cycle."""

    height: Height
    basefee_lane: Amount
    priority: Amount
    """The least that would have done; 0 where there was room."""
    fires: int
    cycles_used: int
    is_won: bool
    """Whether the offer would have won it."""

    @property
    def max_fee(self) -> Amount:
        """The least maximum fee a cycle that leaves such a priority."""
        return Amount(self.basefee_lane + self.priority)


class Offered(Struct, frozen=True):
    """A timer that might have been there: its limit, its weight, what it states."""

    cycles_limit: int
    weight_ppm: int
    max_fee: Amount | None
    max_priority: Amount | None
    p50: Amount
    """What stands for a priority that is not stated."""


def past_blocks(
    heights: Iterable[int],
    header_over: Callable[[int], Header | None],
    trace_at: Callable[[Height], Iterable[TimerDecision]],
) -> Iterator[PastBlock]:
    """Heights under `auction`, as far as they follow one another without a gap."""
    for height in heights:
        header = header_over(height)
        if header is None or not header.basefee_lane:
            return
        passed = height - (header.height - header.span + 1)
        trace = trace_at(header.height) if header.span == 1 else ()
        fires = tuple(one for one in trace if one.decision is Decision.FIRED)
        basefee = idle_lane_basefee(header.basefee_lane, passed)
        yield PastBlock(Height(height), Amount(basefee), fires)


def kept_blocks(state: State, count: int) -> Iterator[PastBlock]:
    """The last blocks under `auction` as far as the history keeps them."""
    snapshot, head = state.snapshot, state.head.height
    first = max(head - count + 1, load_oldest(snapshot).contents, 1)
    return past_blocks(
        range(head, first - 1, -1),
        lambda height: load_header_over(snapshot, height),
        lambda height: load_entries(snapshot, height),
    )


def past_place(block: PastBlock, offered: Offered) -> PastPlace:
    """What a turn would have cost, and whether the offer would have won it."""
    priority = 0
    used = 0
    for fire in block.fires:
        numbers = fire.numbers
        used = numbers["reserved"] + numbers["cycles_used"]
        if not priority and used + offered.cycles_limit > numbers["lane"]:
            priority = numbers["effective_priority"] // offered.weight_ppm + 1
    bid = fill_bid(
        offered.max_fee, offered.max_priority, block.basefee_lane, offered.p50
    )
    return PastPlace(
        block.height,
        block.basefee_lane,
        Amount(priority),
        len(block.fires),
        used,
        bid.max_fee >= block.basefee_lane
        and bid.priority(block.basefee_lane) >= priority,
    )
