"""RecentStates: the states after recent blocks, and those that a named snapshot holds.

A state is a snapshot of the store and a header, so the latest ones are simply kept:
a snapshot of LevelDB takes no memory, one in memory what was replaced since. After a
start they are read through the undo records, as are heights of named snapshots: the
last few are remembered, each of bounded size. A height inside a run answers as if its
block stood there (D36): it is the run's beginning with so many empty heights passed.

Rules: `note` belongs to the loop's thread, `at` to the worker's. What is remembered of
a height is used only while the chain has the same block there, so a rewind makes
nothing wrong.
"""

from collections.abc import Callable
from itertools import islice

from node.chain.block import Header
from node.chain.transition import Caches, State, build_run, open_state
from node.history import load_header, load_header_over
from node.primitives.types import Height
from node.query import HeightNotReached, HistoryNotKept
from node.state import snapshots, undo
from node.state.historical_state import ChangedSnapshot, past_snapshot
from node.state.store import StoreSnapshot

__all__ = ["HEIGHTS_KEPT", "UNWOUND_BYTES_MAX", "RecentStates"]

HEIGHTS_KEPT = undo.BLOCKS_KEPT
"""Heights below the head whose state is answered."""

UNWOUND_BYTES_MAX = 32 << 20
"""Of undo records through which one past state is read."""

UNWOUND_MAX = 2
"""Past states that are remembered as undo records tell them."""


class RecentStates:
    """What the engine remembers of states before the present one."""

    __slots__ = ("_now", "_recent", "_unwound")

    def __init__(self, now: Callable[[], StoreSnapshot], state: State) -> None:
        self._now = now
        """The store as it is."""
        self._recent: dict[int, State] = {}
        self._unwound: dict[int, State] = {}
        self.note(state)

    def note(self, state: State) -> None:
        """Remember a state that became visible."""
        head, recent = state.head.height, self._recent
        if recent and next(reversed(recent)) >= head:  # the chain was rewound
            below = {height: one for height, one in recent.items() if height < head}
            # Replaced, not emptied: the worker may be reading it.
            self._recent = recent = below
        recent[head] = state
        # The last one at or below the first height that is answered begins its run.
        while len(heights := list(islice(recent, 2))) > 1 and (
            heights[1] <= head - HEIGHTS_KEPT
        ):
            del recent[heights[0]]

    def at(self, state: State, height: int | None) -> State:
        """The state after the block at a height; None is the present one.

        Raises:
            HeightNotReached: It is above the head.
            HistoryNotKept: It is not kept.
        """
        head = state.head.height
        if height is None or height == head:
            return state
        if height > head:
            raise HeightNotReached(height, state.head.height)
        oldest = self.oldest(state)
        if height < oldest and not self._is_named(height):
            raise HistoryNotKept(height, oldest)
        over = load_header_over(state.snapshot, height)
        assert over is not None, "every height up to the head has a header"
        place = height if over.height == height else over.height - over.span
        header = load_header(state.snapshot, Height(place))
        if header is None:  # below what the folder was made of
            raise HistoryNotKept(height, oldest)
        try:
            base = self._ending_at(state, header)
        except LookupError as error:
            raise HistoryNotKept(height, oldest) from error
        return base if place == height else _within_run(base, height - place)

    def oldest(self, state: State) -> Height:
        """The height from which on all are kept."""
        head = state.head.height
        first = min(self._recent)
        if first > head - HEIGHTS_KEPT:  # the node was started since
            trail = undo.load_trail(state.snapshot, head, None)
            first = min(first, undo.lowest_reachable(state.snapshot, trail, head))
        return Height(max(first, head - HEIGHTS_KEPT))

    def _is_named(self, height: int) -> bool:
        # Of the store as it is: named snapshots are put between blocks.
        named = snapshots.list_all(self._now())
        return any(one.height == height for one in named)

    def _ending_at(self, state: State, header: Header) -> State:
        """The state after a block of the chain."""
        recent = self._recent.get(header.height)
        if recent is not None and recent.head == header:
            # Its own caches: what the driver of the chain knows is of the head alone.
            caches = Caches(code=state.caches.code)
            return open_state(recent.params, header, recent.snapshot, caches)
        found = self._unwound.get(header.height)
        if found is not None and found.head == header:
            return found
        snapshot = past_snapshot(
            state.snapshot, state.head.height, header.height, UNWOUND_BYTES_MAX
        )
        caches = Caches(code=state.caches.code)
        found = open_state(state.params, header, snapshot, caches)
        self._unwound.pop(header.height, None)
        self._unwound[header.height] = found
        while len(self._unwound) > UNWOUND_MAX:
            del self._unwound[next(iter(self._unwound))]
        return found


def _within_run(base: State, passed: int) -> State:
    result = build_run(base, passed)
    snapshot = ChangedSnapshot(base.snapshot, result.writes.changes)
    return open_state(base.params, result.header, snapshot, base.caches)
