"""DevnetKeeper: a chain in this process as a whole.

How it is begun and closed, gone back to an earlier block, profiled, and filled out of a
file. Its blocks are made in `devnet`.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from types import TracebackType
from typing import Self

from typing_extensions import override

from node.chain.block import Header
from node.chain.genesis import Genesis, build_genesis
from node.chain.transaction import Transaction
from node.chain.transition import BlockResult, State, build_next, open_state
from node.client.inputs import check_path, dev_account
from node.client.profiles import Profile
from node.query.profiling import profile_next
from node.state.memory import MemoryStore
from node.state.store import Store, StoreSnapshot
from node.testing.presets import preset
from node.testing.reading import DevnetReader
from node.testing.snapshots import ChainSnapshot, ResultsMark, undo_since

__all__ = ["DevnetKeeper"]


class DevnetKeeper(DevnetReader):
    """A whole chain in this process; a context manager."""

    def __init__(
        self,
        genesis: str | Genesis = "devnet",
        *,
        store: Store | None = None,
        strict: bool = False,
        **overrides: object,
    ) -> None:
        """A fresh chain.

        Args:
            genesis: a preset's name, or a genesis.
            store: where to keep it; empty. In memory if not given.
            strict: whether `advance` raises the failure of a fire, unless told.
            overrides: fields of the genesis document, nested ones merged.

        Raises:
            InvalidGenesis: an override that cannot be.
            InvalidArgument: no preset has that name.
        """
        chosen = preset(genesis, overrides)
        self.accounts = tuple(map(dev_account, range(chosen.dev_account_count)))
        self.is_strict = strict
        self._store = store or MemoryStore()
        self._queue: list[Transaction] = []
        self._profiles: list[Profile] = []
        self._build = build_next
        first = build_genesis(chosen)
        self._store.commit(first.writes, sync=False)
        state = open_state(chosen.params, first.header, self._store.snapshot())
        super().__init__(chosen, first, state)

    @override
    def __repr__(self) -> str:
        return f"<devnet {self.genesis.name!r} at height {self.state.head.height}>"

    def __enter__(self) -> Self:
        """The chain itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the chain."""
        self.close()

    def close(self) -> None:
        """End the thread and release the store; calling it again is fine."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
            self._store.close()

    # --- going back ----------------------------------------------------------------

    def snapshot(self) -> ChainSnapshot:
        """The present, to return to; leaving it as a context manager returns.

        It nests and serves again: height, clock, pool, timers, fees and results come
        back. Taking it costs nothing that grows with the chain, returning costs what
        happened since.

        Raises:
            DevnetClosed: the chain was closed.
        """
        self.require_open()
        queue, sources = tuple(self._queue), len(self._sources)
        mark = ResultsMark(self.last, len(self.results), self.state.caches.known)

        def go_back() -> None:
            self.require_open()
            self._return_to(mark, sources)
            self._queue = list(queue)

        return ChainSnapshot(mark.last.header, go_back)

    @contextmanager
    def profile(self) -> Iterator[Profile]:
        """Count cycles and cells by line of every execution in blocks made inside.

        What is printed or saved of the profile tells all until then. Slower than
        without by far; without, nothing is counted. A profile inside of another takes
        its part of both.

        Raises:
            DevnetClosed: the chain was closed.
        """
        self.require_open()
        profile = Profile()
        self._profiles.append(profile)
        self._build = self._build_profiled
        try:
            yield profile
        finally:
            self._profiles = [each for each in self._profiles if each is not profile]
            if not self._profiles:
                self._build = build_next

    def _build_profiled(
        self, state: State, candidates: Iterable[Transaction], heights_max: int
    ) -> BlockResult:
        result, found = profile_next(state, candidates, heights_max)
        for profile in self._profiles:
            profile.add(found)
        return result

    def _return_to(self, mark: ResultsMark, sources: int = 0) -> None:
        undo = undo_since(self.results, mark)
        if undo.changes:
            self._store.commit(undo, sync=False)
        self.state = mark.state(self.state, self._store.snapshot())
        while len(self._sources) > sources:
            self._sources.popitem()

    # --- the whole chain in a file ---------------------------------------------------

    def import_bundle(self, file: str | PathLike[str]) -> Header:
        """Execute a bundle's blocks, each of which must be what it says; the head.

        Raises:
            BundleRefused: the file is no whole bundle of this genesis, or more than
                time passed on this chain: nothing happened. Or executing it gives
                something else: the chain stands at genesis.
        """
        from node.testing import bundles  # noqa: PLC0415

        path = check_path("file", file)
        self.require_open()
        waiting = len(self._queue)
        with bundles.opened(path, self.genesis, self.results, waiting) as bundle:
            genesis = ResultsMark(self.results[0], 1, self.results[0].known)
            self._return_to(genesis)
            try:
                self.state = self._on_worker(
                    lambda: bundles.execute(bundle, self._keep, self.state)
                )
            except BaseException:
                self._return_to(genesis)
                raise
        for result in self.results:
            self._sources.update(bundles.sources_of(result))
        return self.head

    @classmethod
    def from_bundle(cls, file: str | PathLike[str]) -> Self:
        """The chain of a bundle, whatever its genesis, executed again here.

        Raises:
            BundleRefused: as `import_bundle`.
        """
        from node.testing import bundles  # noqa: PLC0415

        with bundles.open_bundle(check_path("file", file)) as bundle:
            chain = cls(bundle.genesis)
        try:
            chain.import_bundle(file)
        except BaseException:
            chain.close()
            raise
        return chain

    def _keep(self, _parent: State, result: BlockResult) -> StoreSnapshot:
        self._store.commit(result.writes, sync=False)
        self.results.append(result)
        return self._store.snapshot()
