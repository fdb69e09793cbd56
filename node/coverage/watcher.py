"""Executing what a chain executes, with the lines of wanted sources written down.

It changes nothing: outcomes, costs and roots are the same. What is not wanted runs as
ever, and is remembered by its name alone.
"""

from collections.abc import Callable, Container, Iterable

from msgspec.structs import replace

from node.chain.accounts import load_account, load_code
from node.chain.host import ActorHost
from node.chain.transaction import Transaction
from node.chain.transition import (
    BlockResult,
    Caches,
    State,
    apply_block,
    build_next,
)
from node.coverage.executed import Executed, UnmatchedActor
from pvm import (
    ActorCode,
    Host,
    Message,
    Meter,
    Outcome,
    ProbedCode,
    ProbedExecutor,
    execute,
)

__all__ = ["CoverageWatcher"]

BuildNext = Callable[[State, Iterable[Transaction], int], BlockResult]
"""`transition.build_next`, or what is to be had in its place."""


class CoverageWatcher:
    """Executes messages, and gathers what of which source ran."""

    __slots__ = ("_executor", "_probed", "_wanted", "context", "executed")

    def __init__(self, wanted: Container[bytes]) -> None:
        """Gather what ran of sources with these code hashes."""
        self.executed = Executed()
        self.context = ""
        """In which whatever executes now is counted."""
        self._wanted = wanted
        self._probed: dict[bytes, ProbedCode] = {}
        self._executor = ProbedExecutor()

    def watching(self, state: State) -> State:
        """The state, from which a block or a read is executed here."""
        return replace(state, caches=replace(state.caches, execute=self.execute))

    def build_next(
        self, state: State, candidates: Iterable[Transaction], heights_max: int
    ) -> BlockResult:
        """As `transition.build_next`."""
        return build_next(self.watching(state), candidates, heights_max)

    def after(self, build: BuildNext) -> BuildNext:
        """The same, for a block that somebody else watches: it is executed again."""

        def build_and_execute_again(
            state: State, candidates: Iterable[Transaction], heights_max: int
        ) -> BlockResult:
            result = build(state, candidates, heights_max)
            caches = Caches(code=state.caches.code, execute=self.execute)
            apply_block(replace(state, caches=caches), result.block)
            return result

        return build_and_execute_again

    def execute(
        self, code: ActorCode, message: Message, host: Host, meter: Meter
    ) -> Outcome:
        """As `pvm.execute`."""
        assert isinstance(host, ActorHost), "messages of a block have the chain's host"
        journal = host.execution.block.journal
        account = load_account(journal, message.actor)
        code_hash = account.code_hash
        if code_hash not in self._wanted:
            name = code_hash.hex()
            if name not in self.executed.unmatched:
                addresses = message.actor, account.deployer
                told = UnmatchedActor(*(f"0x{one.hex()}" for one in addresses))
                self.executed.unmatched[name] = told
            return execute(code, message, host, meter)
        if code_hash not in self._probed:
            self._probed[code_hash] = ProbedCode(load_code(journal, code_hash))
        outcome, arcs = self._executor.execute(
            self._probed[code_hash], message, host, meter
        )
        self.executed.note(code_hash, self.context, arcs)
        return outcome
