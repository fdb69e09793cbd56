"""Another chain that believes nothing: it applies the same blocks, and compares.

What a node shows, or left on its disk, is checked against a replay from genesis in a
store of its own, and after each block against what must hold of any chain.
"""

from node import history
from node.chain.errors import InvalidBlock
from node.chain.genesis import build_genesis
from node.chain.params import WRITES_PER_EXECUTION_MAX
from node.chain.timers import calendar
from node.chain.timers.timer import Decision
from node.chain.transition import Caches, apply_block, next_state, open_state
from node.state import keys
from node.state.commitment import recompute, state_root_of_pages
from node.state.memory import MemoryStore
from node.state.store import WriteSet
from node.totals import RunningTotals, totals_of
from tests.worlds import recount

WAYS_BACK = (keys.UNDO_PREFIX, keys.named_snapshot(), keys.snapshot_pool(""))


class Replica:
    """A chain replayed from genesis, with its history and the lives of its timers."""

    def __init__(self, genesis, code=None):
        self.genesis = genesis
        self.store = MemoryStore()
        self.live = {}
        """Timer id → (due height, height at which it was scheduled)."""
        first = build_genesis(genesis)
        document = WriteSet({keys.GENESIS: genesis.encode()})
        document |= history.consensus_record()
        self.store.commit(first.writes | history.record(first) | document)
        caches = Caches() if code is None else Caches(code)
        self.state = open_state(
            genesis.params, first.header, self.store.snapshot(), caches
        )

    def follow(self, block):
        """Apply the next block, and check what must hold after any."""
        result = self._apply(block)
        require_budgets(self.genesis.params, result)
        self.require_sound()
        return result

    def require_sound(self):
        """Supply, root, calendar as one sorted list; who is not in it is queued."""
        require_sound_state(self.state)
        snapshot = self.state.snapshot
        held = list(calendar.timers_between(snapshot, 0, 2**64 - 1))
        order = [(timer.height, timer.sequence) for timer in held]
        assert order == sorted(order)
        queued = self.live.keys() - {timer.timer_id for timer in held}
        held += [calendar.load_timer(snapshot, timer_id) for timer_id in queued]
        assert len(queued) <= sum(
            1 for _ in snapshot.range(keys.fire(b""), keys.prefix_stop(keys.fire(b"")))
        )
        assert {timer.timer_id: timer.height for timer in held} == {
            timer_id: due for timer_id, (due, _) in self.live.items()
        }

    def _apply(self, block):
        result = apply_block(self.state, block)
        head = self.state.head.height
        left = RunningTotals.load(self.state.snapshot, head)
        groups = left.add(result.header.height, totals_of(result))
        self.store.commit(result.writes | history.record(result) | WriteSet(groups))
        self.state = next_state(self.state, result, self.store.snapshot())
        self._require_lives(result)
        return result

    def follow_all(self, snapshot):
        """Apply every block above the own head that a store holds."""
        for header in history.headers_after(snapshot, self.state.head.height):
            block = history.load_block(snapshot, header.height)
            try:
                self._apply(block)
            except InvalidBlock as error:
                raise AssertionError(f"block {header.height}: {error}") from error
        self.require_sound()

    def require_same_content(self, snapshot):
        """Records, trees, indexes, history: not one pair more or less."""
        mine = content(self.state.snapshot)
        theirs = content(snapshot)
        different = [
            key.hex()
            for key in sorted(mine.keys() | theirs.keys())
            if mine.get(key) != theirs.get(key)
        ]
        assert different == []

    def _require_lives(self, result):
        """CIP-5 §5.4: scheduled once, ended once; none fires where it was scheduled."""
        height = result.header.height
        for decision in result.trace:
            timer_id = decision.timer_id
            if decision.decision is Decision.SCHEDULED:
                assert timer_id not in self.live
                self.live[timer_id] = (decision.due_height, height)
                continue
            due, since = self.live[timer_id]
            if decision.decision is Decision.EXTENDED:  # moves a watch (D51)
                due = decision.due_height
                self.live[timer_id] = (due, since)
            assert decision.due_height == due
            if decision.decision is Decision.FIRED:
                assert since < height
                assert due <= height or "hit_height" in decision.numbers
            if decision.is_final:
                del self.live[timer_id]


def content(snapshot):
    """All pairs that any node at this head holds; how it goes back is its own."""
    pairs = dict(snapshot.range(b"", b"\xff"))
    return {key: pairs[key] for key in pairs if not key.startswith(WAYS_BACK)}


def require_sound_state(state):
    """D10: the supply is all there; D38: the root speaks of just these records."""
    minted, counted = recount(state.snapshot)
    assert minted == counted
    assert recompute(state.snapshot) == state.head.state_root
    assert state_root_of_pages(state.snapshot) == state.head.state_root


def require_budgets(params, result):
    """D8, D14, D43: no lane is exceeded; what was paid is what the receipts say."""
    use = result.use
    assert use.user_cycles <= params.lane_user_cycles
    assert use.timer_cycles <= params.timer_config.lane_timer_cycles
    assert use.deferred_cycles <= params.lane_deferred_cycles
    assert use.gc_cycles <= params.timer_config.gc_cycles_per_block
    assert use.cells <= params.block_cells
    assert use.cycles == sum(r.cycles_used for r in result.receipts)
    assert use.cells == sum(r.cells_used for r in result.receipts)
    assert use.writes <= WRITES_PER_EXECUTION_MAX * len(result.receipts)
    for receipt in result.receipts:
        assert 0 <= receipt.cycles_used + receipt.cycles_held <= receipt.cycles_limit
        assert 0 <= receipt.cells_used + receipt.cells_held <= receipt.cells_limit
        assert receipt.is_success or receipt.cycles_held == receipt.cells_held == 0
        paid = receipt.burned_cycle + receipt.burned_lane + receipt.burned_cell
        assert receipt.fee == paid + receipt.tip
    assert [r.index for r in result.receipts] == list(range(len(result.receipts)))
    failed = {r.index for r in result.receipts if not r.is_success}
    assert all(event.receipt_index not in failed for event in result.events)
