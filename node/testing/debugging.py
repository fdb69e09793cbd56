"""A chain whose actors run as the code of their authors' files, for debuggers.

Watched are blocks and reads, not what `Devnet` executes to estimate limits: a
breakpoint stops once a call. Which file a source is in is known from `deploy(Path(…))`;
of one that was given as a text, a file with the same bytes is looked for below the
current folder. A source that is in no file is shown by debuggers all the same.
"""

import linecache
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from node.chain.accounts import load_account, load_code
from node.chain.host import ActorHost
from node.chain.transaction import Transaction
from node.chain.transition import BlockResult, State, build_next
from node.client.source_files import sources_below
from node.primitives.crypto import keccak256
from pvm import ActorCode, Debugger, Host, Message, Meter, Outcome

__all__ = ["Debugging"]


class Debugging:
    """Executes a chain's messages under the names of files."""

    __slots__ = ("_debugger", "_files", "_found", "_others")

    def __init__(self, files: dict[bytes, str]) -> None:
        self._files = files
        """By code hash, as deployments learn them."""
        self._found: dict[bytes, str] | None = None
        self._others: dict[bytes, str] = {}
        """Names of sources that are in no file."""
        self._debugger = Debugger()

    def build_next(
        self, state: State, candidates: Iterable[Transaction], heights_max: int
    ) -> BlockResult:
        """As `transition.build_next`."""
        return build_next(self.watching(state), candidates, heights_max)

    def watching(self, state: State) -> State:
        """The state, from which a block is executed here."""
        return replace(state, caches=replace(state.caches, execute=self._execute))

    def _execute(
        self, code: ActorCode, message: Message, host: Host, meter: Meter
    ) -> Outcome:
        assert isinstance(host, ActorHost), "messages of a block have the chain's host"
        journal = host.execution.block.journal
        code_hash = load_account(journal, message.actor).code_hash
        file = self._files.get(code_hash) or self._others.get(code_hash)
        if file is None:
            file = self._file_of(code_hash, load_code(journal, code_hash))
        return self._debugger.execute(code, message, host, meter, file)

    def _file_of(self, code_hash: bytes, source: bytes) -> str:
        """The file of a source that is seen for the first time; failures name it."""
        if self._found is None:
            self._found = {
                keccak256(code): str(file) for file, code in sources_below(Path())
            }
        file = self._found.get(code_hash)
        if file is not None:
            self._files[code_hash] = file
            return file
        self._others[code_hash] = _without_a_file(code_hash, source)
        return self._others[code_hash]


def _without_a_file(code_hash: bytes, source: bytes) -> str:
    """A name under which Python's own `linecache` has the source."""
    name = f"<actor {code_hash[:4].hex()}>"
    lines = source.decode("utf-8", "replace").splitlines(keepends=True)
    linecache.cache[name] = len(source), None, lines, name
    return name
