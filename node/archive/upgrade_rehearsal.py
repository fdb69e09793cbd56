"""Rehearsing an upgrade: the same blocks with an actor's old code and with the new.

The chain as it was is gone through once more. Where the rehearsal begins, a second
chain leaves it: its actor has the new code, whose `upgrade` runs ahead of the block
without a receipt or a fee, and the same transactions go into the same heights. What
comes of both is compared height by height, and at the end (`upgrade_differences`).

Rules: the chain itself is only read; both copies lie in memory. Nothing is looked for
beyond the last height: what is due later is seen only as a timer that waits.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct
from typing_extensions import override

from node.archive.bundle import Bundle, replay_of
from node.archive.replay import begin, into
from node.archive.upgrade_differences import (
    Difference,
    DifferenceName,
    Differences,
)
from node.chain.context import BlockContext
from node.chain.execution import upgrade_beforehand
from node.chain.genesis import Genesis, build_genesis
from node.chain.transaction import Transaction
from node.chain.transition import (
    BlockResult,
    Caches,
    State,
    build_block,
    build_next,
    next_state,
    open_state,
)
from node.history import code_versions
from node.primitives.types import Address
from node.query.explain.numbers import counted
from node.query.timers import all_waiting, is_handler_there
from node.state.memory import MemoryStore
from node.state.store import Store, StoreSnapshot

if TYPE_CHECKING:
    from node.chain.block import Header
    from pvm import Failure

__all__ = [
    "Rehearsal",
    "RehearsalRefused",
    "RehearsedUpgrade",
    "rehearse_bundle",
    "rehearse_results",
]

_STEP_HEADERS = 100


class RehearsalRefused(Exception):  # noqa: N818 - names what is refused
    """There is nothing to rehearse: no such actor, or no such heights."""


class RehearsedUpgrade(Struct, frozen=True):
    """What is rehearsed, and over which heights."""

    actor: Address
    code: bytes
    """The new source."""
    payload: bytes = b""
    """What the handler `upgrade` of the new code gets."""
    first: int | None = None
    """Height at which the new code is there first; by default the one after the block
    in which the actor got the code that it has."""
    last: int | None = None
    """The last height; by default the chain's."""
    further: int = 0
    """Heights that pass on both chains afterwards, without transactions."""
    costs_within: int = 0
    """Percent by which an execution may cost more or less without a difference."""


class Rehearsal(Struct, frozen=True):
    """What differs with the new code; prints as one line for each difference."""

    first: int
    last: int
    differences: tuple[Difference, ...]
    allowed: Collection[str] = ()
    """Names, or names with a subject (`events:beat`), that may differ; a `*` at the end
    stands for whatever follows."""

    @property
    def refused(self) -> tuple[Difference, ...]:
        """The differences that are not allowed."""
        return tuple(one for one in self.differences if not self._is_allowed(one))

    def _is_allowed(self, one: Difference) -> bool:
        label = f"{one.name}:{one.subject}"
        return any(
            allowed in (one.name, label)
            or (allowed.endswith("*") and label.startswith(allowed[:-1]))
            for allowed in self.allowed
        )

    @override
    def __str__(self) -> str:
        heights = f"heights {self.first:,} to {self.last:,}"
        if not self.differences:
            return f"{heights}: nothing differs"
        refused = self.refused
        lines = [
            f"  {one}{'' if one in refused else ' (allowed)'}"
            for one in self.differences
        ]
        return "\n".join([f"{heights}: {counted(len(lines), 'difference')}", *lines])


def rehearse_results(
    genesis: Genesis, results: Iterable[BlockResult], wanted: RehearsedUpgrade
) -> Rehearsal:
    """Rehearse on a chain whose every result is at hand, genesis' first.

    Raises:
        RehearsalRefused: there is no such actor, or there are no such heights.
        HostMemoryExhausted: this machine has no memory left.
    """
    known = tuple(results)
    first = wanted.first or _default_first(known, wanted.actor)
    run = _Run(genesis, known[-1].header.height, wanted, first)
    old = MemoryStore()
    keep = into(old)
    state = begin(genesis, old)
    for result in known[1:]:
        if result.header.height - result.header.span >= run.last:
            break
        snapshot = keep(state, result)
        run.take(result)
        state = next_state(state, result, snapshot)
    return run.finish(state, keep)


def _default_first(results: Iterable[BlockResult], actor: Address) -> int:
    every = chain.from_iterable(map(code_versions, results))
    heights = [one.height for one in every if one.actor == actor]
    if not heights:
        raise RehearsalRefused(f"no actor was deployed at 0x{actor.hex()}")
    return heights[-1] + 1


def rehearse_bundle(
    bundle: Bundle,
    wanted: RehearsedUpgrade,
    show: Callable[[int], None] = lambda _height: None,
) -> Rehearsal:
    """Rehearse on the chain of a bundle, whose blocks are executed and checked.

    Args:
        bundle: the chain.
        wanted: what is rehearsed. Without a first height the bundle is executed twice.
        show: gets the height that was reached.

    Raises:
        RehearsalRefused: there is no such actor, or there are no such heights.
        Differs: a block is not what executing it gives.
        HostMemoryExhausted: this machine has no memory left.
    """
    first = wanted.first
    if first is None:
        seen: list[int] = []

        def look(result: BlockResult) -> None:
            versions = code_versions(result)
            seen.extend(v.height for v in versions if v.actor == wanted.actor)

        _execute(bundle, look, lambda _height: None)
        if not seen:
            raise RehearsalRefused(f"no actor was deployed at 0x{wanted.actor.hex()}")
        first = seen[-1] + 1
    run = _Run(bundle.genesis, bundle.head.height, wanted, first)
    state, store = _execute(bundle, run.take, show, run.last)
    return run.finish(state, into(store))


def _execute(
    bundle: Bundle,
    take: Callable[[BlockResult], None],
    show: Callable[[int], None],
    last: int | None = None,
) -> tuple[State, Store]:
    """Execute a bundle's blocks up to the one that reaches a height."""
    store = MemoryStore()
    keep = into(store)

    def keep_and_take(parent: State, result: BlockResult) -> StoreSnapshot:
        snapshot = keep(parent, result)
        take(result)
        return snapshot

    replay = replay_of(bundle, keep_and_take, begin(bundle.genesis, store))
    step = _STEP_HEADERS if last is None else 1
    while replay.step(step):
        height = replay.state.head.height
        show(height)
        if last is not None and height >= last:
            break
    return replay.state, store


class _Run:
    """A rehearsal in progress: takes the chain's results in order."""

    def __init__(
        self, genesis: Genesis, head: int, wanted: RehearsedUpgrade, first: int
    ) -> None:
        self.last = head if wanted.last is None else min(wanted.last, head)
        if not 1 <= first <= self.last:
            raise RehearsalRefused(
                f"heights {first:,} to {self.last:,} are wanted, and the chain has 1 "
                f"to {head:,}: let some blocks be made, or name earlier ones"
            )
        self._wanted = wanted
        self._first = first
        self._store = MemoryStore()
        self._params = genesis.params
        result = build_genesis(genesis)
        self._store.commit(result.writes, sync=False)
        self._head: Header = result.header
        self._state: State | None = None
        self._failure: Failure | None = None
        self._differences = Differences(wanted.actor, wanted.costs_within)

    def take(self, old: BlockResult) -> None:
        """Follow the chain to a header of its own, on the way without or with code."""
        if self._failure is not None:
            return
        if old.header.height < self._first:
            self._store.commit(old.writes, sync=False)
            self._head = old.header
            return
        if self._state is None:
            snapshot = self._store.snapshot()
            self._state = open_state(self._params, self._head, snapshot, Caches())
        new = list(self._follow(old))
        self._differences.compare_blocks([old], new)

    def _follow(self, old: BlockResult) -> Iterator[BlockResult]:
        """The same heights with the new code, and the same transactions."""
        stop = old.header.height
        transactions = old.block.transactions
        while (head := self._at.head.height) < stop and self._failure is None:
            if head + 1 < self._first:
                result = build_next(self._at, (), self._first - 1 - head)
            elif head + 1 == self._first:
                result = self._build_upgraded(transactions)
            else:
                result = build_next(self._at, transactions, stop - head)
            self._store.commit(result.writes, sync=False)
            self._state = next_state(self._at, result, self._store.snapshot())
            yield result

    @property
    def _at(self) -> State:
        assert self._state is not None, "it has left the chain"
        return self._state

    def _build_upgraded(self, transactions: tuple[Transaction, ...]) -> BlockResult:
        wanted = self._wanted

        def prepare(block: BlockContext) -> None:
            outcome = upgrade_beforehand(
                block, wanted.actor, wanted.code, wanted.payload
            )
            self._failure = outcome.failure

        return build_block(self._at, transactions, prepare)

    def finish(
        self, old: State, keep: Callable[[State, BlockResult], StoreSnapshot]
    ) -> Rehearsal:
        """Let further heights pass on both, and compare what is left."""
        differences, last = self._differences, old.head.height
        stop = last + self._wanted.further
        while old.head.height < stop and self._failure is None:
            result = build_next(old, (), stop - old.head.height)
            snapshot = keep(old, result)
            self.take(result)
            old = next_state(old, result, snapshot)
        if self._failure is not None:
            failure = self._failure
            text = f"it fails with {failure.kind}: {failure.message}"
            name = DifferenceName.UPGRADE
            alone = Difference(name, "", 1, self._first, text)
            return Rehearsal(self._first, self._first, (alone,))
        height = old.head.height
        differences.compare_ends(height, old.snapshot, self._at.snapshot)
        for timer in all_waiting(self._at.snapshot):
            if timer.target != self._wanted.actor:
                continue
            if not is_handler_there(self._at, timer) and is_handler_there(old, timer):
                text = f"a timer due at height {timer.height:,} will find no handler"
                subject = timer.handler or "handle_timer"
                differences.add(DifferenceName.HANDLERS, subject, height, text)
        return Rehearsal(self._first, height, differences.sorted())
