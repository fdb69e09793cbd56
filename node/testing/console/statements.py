"""Statements: what is typed, cut into the pieces that are executed one after another.

At a prompt a block ends with an empty line, as Python's own has it. In a file or a pipe
it ends where the next statement begins, as in any program. A line that begins with a
dot and a letter, where a statement could begin, is a command of the console.
"""

import ast
import codeop
import re
import warnings

from msgspec import Struct

__all__ = ["LineReader", "Statement", "indented", "is_command", "statements_of"]

_COMMAND = re.compile(r"\.[a-z]")
_CONTINUES = re.compile(r"(?:else|elif|except|finally)\b|[\s#]|$")
"""How a line begins, without an indentation, that goes on with the block before it."""

_COMPOUND = (
    ast.If,
    ast.For,
    ast.While,
    ast.With,
    ast.Try,
    ast.TryStar,
    ast.Match,
    ast.FunctionDef,
    ast.ClassDef,
    ast.AsyncFunctionDef,
    ast.AsyncFor,
    ast.AsyncWith,
)


class Statement(Struct, frozen=True):
    """One statement, as it was typed."""

    source: str
    tree: ast.stmt
    """Its lines are numbered from 1."""

    @property
    def is_expression(self) -> bool:
        """Whether it has a value, which is shown."""
        return isinstance(self.tree, ast.Expr)

    @property
    def is_import(self) -> bool:
        """Whether it imports, and nothing else."""
        return isinstance(self.tree, ast.Import | ast.ImportFrom)

    def reads(self) -> set[str]:
        """The names that it reads anywhere within."""
        return self._names(ast.Load)

    def removes(self) -> set[str]:
        """The names that it lets go of."""
        return self._names(ast.Del)

    def _names(self, context: type[ast.expr_context]) -> set[str]:
        return {
            node.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, context)
        }

    def binds(self) -> set[str]:
        """The names that it gives a meaning, as far as that can be seen."""
        found = self._names(ast.Store)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.alias):
                found.add(node.asname or node.name.partition(".")[0])
        return found


def is_command(line: str) -> bool:
    """Whether a line is for the console itself."""
    return _COMMAND.match(line) is not None


def statements_of(source: str) -> list[Statement]:
    """The statements of a text; those that a semicolon separates are several.

    Raises:
        SyntaxError: it is no Python.
    """
    try:
        body = ast.parse(source).body
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(f"{error}" or "it is nested too deeply") from None
    if len(body) == 1:
        return [Statement(source.strip("\n"), body[0])]
    parts = (ast.get_source_segment(source, node) or "" for node in body)
    return [Statement(part, ast.parse(part).body[0]) for part in parts]


class LineReader:
    """Collects lines until they are whole statements."""

    __slots__ = ("_is_prompt", "_lines")

    def __init__(self, *, is_prompt: bool) -> None:
        self._is_prompt = is_prompt
        self._lines: list[str] = []

    @property
    def is_within(self) -> bool:
        """Whether a statement has begun and is not whole."""
        return bool(self._lines)

    def push(self, line: str) -> list[str]:
        """Take a line; what is whole now: texts of statements, and commands.

        Raises:
            SyntaxError: what was collected can become no statement; it is dropped.
        """
        found = []
        if self._lines and self._is_over_before(line):
            found += self.end()
        if not self._lines and (is_command(line) or not line.strip()):
            return [*found, line.strip()] if line.strip() else found
        self._lines.append(line)
        if self._is_whole():
            found += self.end()
        return found

    def end(self) -> list[str]:
        """Whatever was collected, whole or not."""
        lines, self._lines = self._lines, []
        return ["\n".join(lines)] if lines else []

    def drop(self) -> None:
        """Forget what was collected."""
        self._lines = []

    def _is_over_before(self, line: str) -> bool:
        if self._is_prompt or _CONTINUES.match(line):
            return False
        return self._is_complete()

    def _is_whole(self) -> bool:
        if not self._is_complete():
            return False
        if self._is_prompt:
            return True
        body = ast.parse("\n".join(self._lines)).body
        return not (body and isinstance(body[-1], _COMPOUND))

    def _is_complete(self) -> bool:
        symbol = "single" if self._is_prompt else "exec"
        source = "\n".join(self._lines)
        try:
            with warnings.catch_warnings(action="ignore"):
                return codeop.compile_command(source, symbol=symbol) is not None
        except (ValueError, OverflowError, RecursionError, MemoryError) as error:
            self.drop()
            raise SyntaxError(f"{error}" or "it is nested too deeply") from None
        except SyntaxError:
            self.drop()
            raise


def indented(source: str, prefix: str) -> str:
    """A source with a prefix before its lines, but for those that a text goes on in."""
    inside: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr | ast.Constant):
            inside.update(range(node.lineno + 1, (node.end_lineno or 0) + 1))
    return "\n".join(
        line if number in inside or not line else f"{prefix}{line}"
        for number, line in enumerate(source.split("\n"), 1)
    )
