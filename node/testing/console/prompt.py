"""The prompt: lines in, values out, at a terminal or through a pipe.

At a terminal there are a history, which is kept in a file, and completion with the tab
key. From a pipe or a file nothing is printed but values, and the first statement that
fails ends it with exit code 1, as it would end a program.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from node.client._sync.actor import Chain
from node.client.exceptions import NodeError, NodeUnreachable
from node.testing.console.beginnings import CannotSave, beginning_of
from node.testing.console.completion import Completer, line_editing
from node.testing.console.display import displayed
from node.testing.console.failures import failure_text
from node.testing.console.saving import save
from node.testing.console.session import Session
from node.testing.console.statements import LineReader, is_command, statements_of
from node.testing.console.undo import CannotUndo
from node.testing.devnet import Devnet

__all__ = ["EXIT_FAILED", "EXIT_UNREACHABLE", "Prompt"]

EXIT_FAILED = 1
EXIT_UNREACHABLE = 3

_NEW, _WITHIN = ">>> ", "... "

_HELP = """\
chain            the chain: chain.deploy(Path("counter.py")), chain.advance(blocks=10)
accounts         its development accounts: accounts[0]
{labels:<16} what labels name: actors, and addresses that you called something
_                the last value
.undo            back to before the last statement that changed the chain
.save FILE       write the session as a test that passes: .save test_case.py
.help            this text
.exit            leave, as Ctrl-D does
The tab key completes names, handlers of actors among them."""


class Prompt:
    """A prompt on a chain; it does not close the chain."""

    def __init__(self, chain: Chain, lines: TextIO, out: TextIO, err: TextIO) -> None:
        self._chain = chain
        self._input, self._out, self._err = lines, out, err
        self._session = Session(chain)
        self._beginning = beginning_of(chain)
        self._is_terminal = lines.isatty() and out.isatty()
        self._written: set[Path] = set()
        """Files that may be written again, because this session wrote them."""
        self._exit_code: int | None = None
        """Set by what ends the prompt."""

    def run(self) -> int:
        """Read statements until there are no more; the exit code."""
        reader = LineReader(is_prompt=self._is_terminal)
        try:
            with self._lines() as read:
                while self._exit_code is None:
                    self._turn(reader, read)
        finally:
            self._session.close()
        return self._exit_code

    def _turn(self, reader: LineReader, read: Callable[[str], str]) -> None:
        """One line, and what it makes whole."""
        try:
            line = _line_of(read, _WITHIN if reader.is_within else _NEW)
            self._all(reader.end() if line is None else reader.push(line))
        except KeyboardInterrupt:
            reader.drop()
            if not self._is_terminal:
                raise
            self._complain("\ninterrupted")
        except SyntaxError as error:
            self._failed(failure_text(error, ""))
        else:
            if line is None and self._exit_code is None:
                self._end(0)

    def _all(self, wholes: list[str]) -> None:
        for whole in wholes:
            if self._exit_code is not None:
                return
            if is_command(whole):
                self._command(whole)
            else:
                self._execute(whole)

    def _execute(self, source: str) -> None:
        """Execute the statements of a text; a failure ends it."""
        for statement in statements_of(source):
            try:
                shown = displayed(self._session.execute(statement))
            except SystemExit as error:
                self._end(error.code)
                return
            except NodeUnreachable as error:
                self._failed(f"NodeUnreachable: {error}", EXIT_UNREACHABLE)
                return
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - whatever was typed
                self._tell_printed()
                self._failed(failure_text(error, self._session.source_name))
                return
            self._tell_printed()
            self._show(shown)

    def _tell_printed(self) -> None:
        """What actors printed meanwhile."""
        if isinstance(self._chain, Devnet) and not self._chain.is_closed:
            self._show(self._chain.take_output())

    # --- commands ------------------------------------------------------------------

    def _command(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        commands: dict[str, Callable[[str], None]] = {
            ".undo": self._undo,
            ".save": self._save,
            ".help": self._help,
            ".exit": lambda _: self._end(0),
        }
        command = commands.get(word)
        if command is None:
            known = ", ".join(commands)
            self._failed(f"{word} is no command: {known}")
            return
        command(rest.strip())

    def _undo(self, _rest: str) -> None:
        try:
            gone = self._session.undo()
        except (CannotUndo, NodeError, NodeUnreachable) as error:
            self._failed(f"nothing is undone: {error}")
            return
        for step in gone:
            self._show(f"undone: {step.statement.source}")
        self._show(f"the chain is at height {self._chain.height}")

    def _save(self, rest: str) -> None:
        path = Path(rest)
        try:
            self._require_writable(path)
            done = save(self._session, self._beginning, path)
        except (CannotSave, NodeError, NodeUnreachable) as error:
            self._failed(f"not saved: {error}")
        except OSError as error:
            self._failed(f"not saved: {error.filename or path}: {error.strerror}")
        else:
            self._written.add(path.resolve())
            self._show(f"{path}: {done}")

    def _require_writable(self, path: Path) -> None:
        if path.suffix != ".py" or "\0" in f"{path}":
            raise CannotSave("the name of a file is wanted: .save test_case.py")
        for file in (path, path.with_suffix(".bundle")):
            if file.exists() and path.resolve() not in self._written:
                raise CannotSave(f"{file} exists already; choose another name")

    def _help(self, _rest: str) -> None:
        labels = ", ".join(sorted(self._session.offered)) or "(labels)"
        self._show(_HELP.format(labels=labels))

    # --- reading and writing -------------------------------------------------------

    @contextmanager
    def _lines(self) -> Iterator[Callable[[str], str]]:
        """How a line is read; EOFError at the end."""
        if not self._is_terminal:
            yield self._read_line
            return
        self._show(f"{self._chain!r}; .help tells what there is, Ctrl-D leaves")
        with line_editing(Completer(self._session.names)):
            yield input

    def _read_line(self, _prompt: str) -> str:
        line = self._input.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")

    def _show(self, text: str) -> None:
        if text:
            self._out.write(f"{text}\n")
            self._out.flush()

    def _complain(self, text: str) -> None:
        self._err.write(f"{text}\n")
        self._err.flush()

    def _failed(self, text: str, code: int = EXIT_FAILED) -> None:
        """Say what was refused; whoever is not at a terminal has to begin again."""
        self._complain(text)
        if not self._is_terminal:
            self._end(code)

    def _end(self, code: object) -> None:
        """Leave with the code of `exit()`, which may be none, or a text."""
        if code is None or isinstance(code, int):
            self._exit_code = int(code or 0)
        else:
            self._complain(f"{code}")
            self._exit_code = EXIT_FAILED


def _line_of(read: Callable[[str], str], prompt: str) -> str | None:
    """The next line; None at the end."""
    try:
        return read(prompt)
    except EOFError:
        return None
