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
        """Make a new chain.

        Args:
            genesis: the name of a preset (`devnet`, `mesa`), or a genesis.
            store: an empty store to keep the chain in; it is in memory if not given.
            strict: whether `advance` raises the failure of a fire by default.
            overrides: fields of the genesis that are replaced; nested ones are merged.

        Raises:
            InvalidGenesis: the genesis with these fields is invalid.
            InvalidArgument: no preset has this name.
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
        """End the chain's thread and release its store; a second call has no effect."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
            self._store.close()

    # --- going back ----------------------------------------------------------------

    def snapshot(self) -> ChainSnapshot:
        """The present state of the chain, to return to.

        Leaving it as a context manager returns. Returning restores height, clock, pool,
        timers, fees and results. Snapshots nest, and one can be returned to again.
        Taking one costs the same for every chain; returning costs what happened since.

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
        """Count cycles and cells by line of every execution in the blocks made inside.

        The profile can be printed or saved at any time. Execution is much slower
        inside. If profiles nest, each counts its own part.

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
        """Execute the blocks of a bundle on an empty chain, and return the new head.

        Each block must give what the bundle says.

        Raises:
            BundleRefused: the file is no complete bundle of this chain's genesis, or
                the chain is not empty: nothing happened. Or a block gave something
                else: the chain is at genesis.
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
        """Make the chain of a bundle, whatever its genesis, by executing it.

        Raises:
            BundleRefused: the file is no complete bundle, or a block gave something
                else.
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
