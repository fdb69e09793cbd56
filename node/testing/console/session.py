"""Session: what was executed at a prompt, each statement with the way back.

Rules: a statement that changed the chain can be undone, and takes those after it along.
One that failed is part of the session only if it changed the chain: a test of the
session must change it, too. After Ctrl-C the chain is as before the statement.
"""

import ast
from importlib import import_module
from typing import cast

from msgspec import Struct

from node.client._sync.actor import Chain
from node.testing.console.display import Check, check_of
from node.testing.console.failures import remember_source
from node.testing.console.names import IMPORTED, OF_THE_CHAIN, labelled
from node.testing.console.statements import Statement
from node.testing.console.undo import CannotUndo, UndoHistory, UndoPoint

__all__ = ["Session", "SessionStep"]


class SessionStep(Struct, eq=False):
    """A statement that is part of the session."""

    statement: Statement
    names: dict[str, object]
    """Those that there were before it."""
    point: UndoPoint
    """Where the chain was before it."""
    has_value: bool = False
    check: Check | None = None
    """What can be asserted of its value."""
    raised: type[BaseException] | None = None
    """What it failed with, if it changed the chain all the same."""
    is_change: bool = False
    """Whether it changed the chain."""


class Session:
    """Executes statements on a chain, and knows the way back."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.steps: list[SessionStep] = []
        """All that happened and was not undone, in order."""
        self.names: dict[str, object] = {"__name__": "__console__", "chain": chain}
        """What a statement finds, and leaves."""
        self.offered: dict[str, str] = {}
        """Names that labels brought → expressions for what they are."""
        self._undo_history = UndoHistory(chain)
        self._count = 0
        for name, attribute in OF_THE_CHAIN.items():
            self.names[name] = getattr(chain, attribute)
        for name, module in IMPORTED.items():
            self.names[name] = getattr(import_module(module), name)
        self._offer()

    def close(self) -> None:
        """Let go of what was kept for undoing."""
        self._undo_history.close()

    @property
    def source_name(self) -> str:
        """What tracebacks call the statement that was executed last."""
        return f"<statement {self._count}>"

    def execute(self, statement: Statement) -> object:
        """Execute a statement, and return its value.

        Raises:
            BaseException: whatever the statement raises. After KeyboardInterrupt chain
                and names are as they were.
        """
        step = SessionStep(statement, dict(self.names), self._undo_history.here())
        try:
            value = self._evaluate(statement)
            step.has_value = statement.is_expression and value is not None
            step.check = check_of(value) if step.has_value else None
        except KeyboardInterrupt:
            self._return_to(step)
            raise
        except (SystemExit, GeneratorExit):
            raise
        except BaseException as error:
            step.raised = type(error)
            self._note(step)
            raise
        if step.has_value:
            self.names["_"] = value
        self._note(step)
        return value

    def undo(self) -> list[SessionStep]:
        """Return to before the last statement that changed the chain.

        Returns the statements that are gone: that one, and those after it.

        Raises:
            CannotUndo: none did, or the chain cannot return.
        """
        changes = [index for index, step in enumerate(self.steps) if step.is_change]
        if not changes:
            raise CannotUndo("no statement of this session changed the chain")
        gone = self.steps[changes[-1] :]
        self._return_to(gone[0])
        del self.steps[changes[-1] :]
        return gone

    def _return_to(self, step: SessionStep) -> None:
        """Let chain and names be as before a statement.

        Raises:
            CannotUndo: the chain cannot return; nothing was done.
        """
        if not self._undo_history.is_at(step.point):
            step.point.revert()
        self.names.clear()
        self.names.update(step.names)

    def _evaluate(self, statement: Statement) -> object:
        self._count += 1
        remember_source(self.source_name, statement.source)
        if statement.is_expression:
            value = cast("ast.Expr", statement.tree).value
            code = compile(ast.Expression(value), self.source_name, "eval")
            return cast("object", eval(code, self.names))  # noqa: S307 - a prompt
        module = ast.Module([statement.tree], [])
        exec(compile(module, self.source_name, "exec"), self.names)  # noqa: S102
        return None

    def _note(self, step: SessionStep) -> None:
        step.is_change = not self._undo_history.is_at(step.point)
        if step.raised is None or step.is_change:
            self.steps.append(step)
        self._offer()

    def _offer(self) -> None:
        """Let labels that are new be names, unless they are names of something else."""
        found = labelled(self.chain, lambda name: name not in self.names)
        for name, offered in found.items():
            self.names[name] = offered.value
            self.offered[name] = offered.expression
