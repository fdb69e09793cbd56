"""ImportProgress: a bundle's blocks become those of an empty chain.

The chain is empty if nothing but time passed in it. Every block is executed and must
be what the bundle says. It is whole or it was not: before the first block the store
says that it is being cleared, and that word goes with the last one. So a crash, a stop
or a difference on the way leaves a chain that the next start, or the engine at once,
takes back to genesis.

Rules: what can be refused without executing anything is refused before anything is
written. On the worker, a few blocks at a time, so that reads come between; nobody sees
the chain before it is whole.
"""

from collections.abc import Callable

from msgspec import Struct

from node import history
from node.archive.bundle import (
    Bundle,
    chain_not_empty,
    first_difference,
    replay_of,
    require_executable,
    require_same_genesis,
)
from node.archive.chain_store import ChainStore
from node.archive.opening import begin_unfinished, reset_chain
from node.archive.replay import Differs, Replay
from node.chain.bundle_errors import BundleRefused
from node.chain.genesis import Genesis
from node.chain.transition import BlockResult, State
from node.primitives.types import Height
from node.runtime.memory_exhaustion import NoMemory, for_a_read
from node.runtime.reads import on_worker
from node.runtime.rewinding import Rewound
from node.runtime.types import NodeStopping
from node.state import keys, snapshots
from node.state.retention import load_oldest
from node.state.store import Store, StoreSnapshot, WriteSet
from pvm.worker import Worker

__all__ = ["ImportProgress", "Imported"]

_STEP_HEADERS = 10
"""Between two reads: some milliseconds when they are small."""

_CONTENT = (keys.body, keys.receipts, keys.timer_trace)


class Imported(Struct, frozen=True):
    """What became of it: the chain from genesis on, and why it is no more than that."""

    rewound: Rewound
    refusal: BundleRefused | NoMemory | None = None


class ImportProgress:
    """A bundle on its way into a chain."""

    __slots__ = ("_bundle", "_chain", "_genesis", "_keep_blocks", "_replay", "_store")

    def __init__(
        self, store: Store, genesis: Genesis, bundle: Bundle, keep_blocks: int | None
    ) -> None:
        self._store = store
        self._genesis = genesis
        self._bundle = bundle
        self._keep_blocks = keep_blocks
        self._chain = ChainStore(store, keep_blocks)
        self._replay: Replay | None = None

    async def run(
        self, worker: Worker, waiting: int, has_to_stop: Callable[[], bool]
    ) -> Imported:
        """All of it; `waiting` transactions are in the pool.

        Raises:
            BundleRefused: It is of another genesis, or the chain is not empty: nothing
                happened.
            NodeStopping: The node stops; its next start takes back what was begun.
        """
        await on_worker(worker, lambda: self._require_fit(waiting))
        while not has_to_stop():
            filled = await on_worker(worker, self._step)
            if filled is not None:
                return filled
        raise NodeStopping("the node is stopping")

    def _require_fit(self, waiting: int) -> None:
        require_same_genesis(self._bundle, self._genesis)
        require_executable(self._bundle)
        _require_empty(self._store.snapshot(), waiting)

    def _step(self) -> Imported | None:
        """The next few blocks; what became of it after the last one."""
        try:
            state = for_a_read(self._execute)
        except Differs as difference:
            return self._give_up(first_difference(self._bundle, difference))
        except (BundleRefused, NoMemory) as refusal:  # the file was altered meanwhile
            return self._give_up(refusal)
        if state is None:
            return None
        self._store.commit(WriteSet({keys.UNFINISHED: None}), sync=True)
        return Imported(self._rewound(state))

    def _execute(self) -> State | None:
        """The next few blocks; the state after the last one."""
        if self._replay is None:
            state = begin_unfinished(self._store, self._genesis)
            self._replay = replay_of(self._bundle, self._keep, state)
        more = self._replay.step(_STEP_HEADERS)
        return None if more else self._replay.state

    def _keep(self, parent: State, result: BlockResult) -> StoreSnapshot:
        return self._chain.commit(parent.snapshot, parent.head, result, sync=False)

    def _give_up(self, refusal: BundleRefused | NoMemory) -> Imported:
        self._replay = None
        self._chain = ChainStore(self._store, self._keep_blocks)
        return Imported(self._rewound(reset_chain(self._store, self._genesis)), refusal)

    def _rewound(self, state: State) -> Rewound:
        genesis = history.load_header(state.snapshot, Height(0))
        return Rewound(state, self._chain, (), place=genesis)


def _require_empty(snapshot: StoreSnapshot, waiting: int) -> None:
    height = int.from_bytes(snapshot.get(keys.HEAD) or b"", "big")
    named = len(snapshots.list_all(snapshot))
    is_whole = load_oldest(snapshot).contents <= 1
    families = (key_of(0)[: -keys.HEIGHT_BYTES] for key_of in _CONTENT)
    has_content = any(
        next(iter(snapshot.range(family, keys.prefix_stop(family))), None)
        for family in families
    )
    if named or waiting or has_content or not is_whole:
        raise chain_not_empty(height, waiting, named)
