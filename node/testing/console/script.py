"""The text of a test that a session becomes, and of the trial that it passes before.

Both have the same statements in the body of a function. Imports stand above it, and
names that labels offered are given where they are first read.
"""

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import cast

from msgspec import Struct

from node import testing
from node.testing.console.beginnings import Beginning
from node.testing.console.display import Check
from node.testing.console.names import IMPORTED, OF_THE_CHAIN
from node.testing.console.session import SessionStep
from node.testing.console.statements import Statement, indented

__all__ = ["Part", "Script"]

_HEAD = '"""What was done at the prompt of a Cowboy devnet."""'
_TAB = "    "
_PRIMARY = (ast.Call, ast.Attribute, ast.Subscript, ast.Name, ast.Constant)
"""Expressions behind which something may be compared without parentheses."""

_BUNDLE = 'Path(__file__).with_suffix(".bundle")'


class Part(Struct, frozen=True, eq=False):
    """A statement of the test."""

    step: SessionStep
    check: Check | None
    """What is asserted of its value."""


class Script:
    """Writes a session as the body of a function."""

    def __init__(
        self, beginning: Beginning, offered: Mapping[str, str], path: Path
    ) -> None:
        self._beginning = beginning
        self._offered = offered
        words = "".join(one if f"_{one}".isidentifier() else "_" for one in path.stem)
        self._name = words if words.startswith("test_") else f"test_{words}"

    def trial(self, parts: Sequence[Part]) -> str:
        """The function `trial(chain, __witness__)`, which a failure does not end."""
        body = [*self._begin(parts), *self._body(parts, _trial_of)]
        lines = [*_imports_of(parts), "def trial(chain, __witness__):"]
        return "\n".join([*lines, *(indented(part, _TAB) for part in body), ""])

    def test(self, parts: Sequence[Part]) -> str:
        """The whole file."""
        body = [*self._begin(parts), *self._body(parts, _test_of)]
        if self._beginning.is_fixture:
            head = ["@pytest.mark.devnet", f"def {self._name}(devnet):"]
            body = ["chain = devnet", *body]
        else:
            inside = [indented(part, _TAB) for part in body]
            head = [f"def {self._name}():"]
            body = [
                "\n".join([f"with Devnet.from_bundle({_BUNDLE}) as chain:", *inside])
            ]
        lines = [_HEAD, "", *self._imports(parts), "", "", *head]
        return "\n".join([*lines, *(indented(part, _TAB) for part in body), ""])

    def _imports(self, parts: Sequence[Part]) -> list[str]:
        """The imports of the file, those of Python and of others first."""
        ours = {_home_of(part.step.raised) for part in parts} - {""}
        if not self._beginning.is_fixture:
            ours |= {"from node.testing import Devnet", "from pathlib import Path"}
        if self._beginning.is_fixture or any(part.step.raised for part in parts):
            ours.add("import pytest")
        lines = sorted(dict.fromkeys([*_imports_of(parts), *ours]), key=_import_order)
        groups = groupby(lines, key=lambda line: _import_order(line)[0])
        return [line for _, group in groups for line in ("", *group)][1:]

    def _begin(self, parts: Sequence[Part]) -> list[str]:
        """What a bundle does not have, and names that are always offered."""
        beginning, lines = self._beginning, []
        if beginning.is_strict != beginning.is_fixture:  # which is strict
            lines.append(f"chain.is_strict = {beginning.is_strict}")
        for address, name in beginning.names.items():
            lines.append(f'chain.label("0x{address.hex()}", {name!r})')
        sent = (f'bytes.fromhex("{raw.hex()}")' for raw in beginning.waiting)
        lines.extend(f"chain.submit_raw({raw})" for raw in sent)
        read = _read_by(parts)
        return lines + [
            f"{name} = chain.{attribute}"
            for name, attribute in OF_THE_CHAIN.items()
            if name in read
        ]

    def _body(
        self, parts: Sequence[Part], form: Callable[[int, Part, str], str]
    ) -> list[str]:
        """The statements but for imports; names before the first that reads one."""
        last = "_" if "_" in _read_by(parts) else ""
        known: set[str] = set()
        lines = []
        for index, part in enumerate(parts):
            statement = part.step.statement
            for name in sorted(statement.reads() & self._offered.keys() - known):
                lines.append(f"{name} = {self._offered[name]}")
                known.add(name)
            known = (known | statement.binds()) - statement.removes()
            if not statement.is_import:
                lines.append(form(index, part, last))
        return lines


def _trial_of(index: int, part: Part, last: str) -> str:
    """A statement whose value or failure the witness is told."""
    statement, step = part.step.statement, part.step
    source = statement.source
    if step.has_value:
        lines = [f"{last or '__value__'} = ({_expression(statement)}\n)"]
        lines.append(f"__witness__.value({index}, {last or '__value__'})")
        source = "\n".join(lines)
    return "\n".join(
        [
            "try:",
            indented(source, _TAB),
            "except BaseException as __error__:",
            f"{_TAB}__witness__.error({index}, __error__)",
        ]
    )


def _test_of(_index: int, part: Part, last: str) -> str:
    """A statement with what is asserted of it."""
    statement, step = part.step.statement, part.step
    if step.raised is not None:
        raised = f"with pytest.raises({step.raised.__name__}):"
        return f"{raised}\n{indented(statement.source, _TAB)}"
    if step.has_value and last:
        line = f"{last} = {_in_parentheses(statement)}"
        return line if part.check is None else f"{line}\nassert {part.check.of(last)}"
    if part.check is None:
        return statement.source
    return f"assert {part.check.of(_in_parentheses(statement))}"


def _expression(statement: Statement) -> str:
    value = cast("ast.Expr", statement.tree).value
    return ast.get_source_segment(statement.source, value) or statement.source


def _in_parentheses(statement: Statement) -> str:
    """An expression, in parentheses unless it is a call or the like in one line."""
    value, text = cast("ast.Expr", statement.tree).value, _expression(statement)
    is_plain = isinstance(value, _PRIMARY) and "\n" not in text
    return text if is_plain else f"({text})"


def _read_by(parts: Sequence[Part]) -> set[str]:
    return {name for part in parts for name in part.step.statement.reads()}


def _imports_of(parts: Sequence[Part]) -> list[str]:
    """Imports that were typed, and of names that are offered without one."""
    typed = [part.step.statement for part in parts if part.step.statement.is_import]
    bound = {name for statement in typed for name in statement.binds()}
    found = [
        f"from {module} import {name}"
        for name, module in IMPORTED.items()
        if name in _read_by(parts) - bound
    ]
    return list(dict.fromkeys([*found, *(statement.source for statement in typed)]))


def _home_of(kind: type[BaseException] | None) -> str:
    """The line that imports an exception; none for Python's own and the session's."""
    if kind is None or kind.__module__ in {"builtins", "__console__"}:
        return ""
    if kind.__name__ in testing.__all__:
        return f"from node.testing import {kind.__name__}"
    found: object = getattr(import_module(kind.__module__), kind.__name__, None)
    return f"from {kind.__module__} import {kind.__name__}" if found is kind else ""


def _import_order(line: str) -> tuple[int, bool, str]:
    """Python's own before others'; what looks ahead before everything."""
    module = line.split()[1].partition(".")[0]
    if module == "__future__":
        return 0, True, line
    group = 1 if module in sys.stdlib_module_names else 2
    return group, line.startswith("from"), line
