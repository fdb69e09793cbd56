"""A session as a pytest file that passes when it is run.

Before anything is written the session is executed once more, as the body of the test
that it becomes, on a chain of its own. What a statement printed is asserted if it comes
out the same there. What fails there and changed nothing is left out; what fails there
and changed the chain is a reason not to save.
"""

import io
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from msgspec import Struct
from typing_extensions import override

from node.query.explain.numbers import counted
from node.testing.console.beginnings import Beginning, CannotSave
from node.testing.console.display import Check, check_of
from node.testing.console.script import Part, Script
from node.testing.console.session import Session, SessionStep
from node.testing.devnet import Devnet

__all__ = ["Saved", "save"]


class Saved(Struct, frozen=True):
    """What became of a session."""

    statements: int
    asserted: int
    """Values that the test asserts."""
    not_asserted: int
    """Values that differ each time, or are too long."""
    left_out: int
    """Statements that changed nothing and cannot be repeated."""
    bundle: Path | None
    """The chain on which the test begins, if the fixture does not have it."""

    @override
    def __str__(self) -> str:
        """A sentence."""
        done = counted(self.statements, "statement")
        parts = [f"{done}, {counted(self.asserted, 'assert')}"]
        if self.not_asserted:
            values = counted(self.not_asserted, "value")
            parts.append(f"not asserted: {values} too long, or another one each time")
        if self.left_out:
            failing = counted(self.left_out, "statement")
            parts.append(f"left out: {failing} that cannot be repeated")
        if self.bundle is not None:
            parts.append(f"it begins with the chain in {self.bundle}")
        return "; ".join(parts)


class _Repeated(Struct):
    """What came of a statement the second time."""

    check: Check | None = None
    error: BaseException | None = None


class _Witness:
    """Takes down what comes of each statement when it is repeated."""

    def __init__(self, count: int) -> None:
        self.seen = [_Repeated() for _ in range(count)]

    def value(self, index: int, value: object) -> None:
        """A statement gave a value."""
        self.seen[index].check = check_of(value)

    def error(self, index: int, error: BaseException) -> None:
        """A statement failed."""
        if isinstance(error, KeyboardInterrupt):
            raise error
        self.seen[index].error = error


def save(session: Session, beginning: Beginning, path: Path) -> Saved:
    """Write a session into a file, and its chain beside it where that is needed.

    Raises:
        CannotSave: it is empty, or cannot be repeated; nothing was written.
        OSError: a file cannot be written.
    """
    _require_something(session.steps)
    script = Script(beginning, session.offered, path)
    with tempfile.TemporaryDirectory(prefix="cowboy-console-") as folder:
        chain: bytes | None = None
        bundle = Path(folder) / "begin.bundle"
        if not beginning.is_fixture:
            beginning.export(bundle)
            chain = bundle.read_bytes()
        seen = _repeated(script, session.steps, None if chain is None else bundle)
    parts = _kept(session.steps, seen)
    _require_something([part.step for part in parts])
    beside = None if chain is None else path.with_suffix(".bundle")
    if chain is not None and beside is not None:
        beside.write_bytes(chain)
    path.write_text(script.test(parts), encoding="utf-8")
    values = sum(part.step.has_value for part in parts)
    asserted = sum(part.check is not None for part in parts)
    left_out = len(session.steps) - len(parts)
    return Saved(len(parts), asserted, values - asserted, left_out, beside)


def _require_something(steps: Sequence[SessionStep]) -> None:
    if all(step.statement.is_import for step in steps):
        raise CannotSave("nothing was done yet that a test could repeat")


def _repeated(
    script: Script, steps: Sequence[SessionStep], bundle: Path | None
) -> list[_Repeated]:
    """Execute a session once more, from its beginning, on a chain of its own.

    Raises:
        CannotSave: it is nothing that the body of a function can be.
    """
    witness = _Witness(len(steps))
    names: dict[str, object] = {"__name__": "__console__"}
    text = script.trial([Part(step, step.check) for step in steps])
    chain = Devnet(strict=True) if bundle is None else Devnet.from_bundle(bundle)
    with chain, redirect_stdout(io.StringIO()):
        try:
            exec(compile(text, "<test>", "exec"), names)  # noqa: S102
            trial = names["trial"]
            assert callable(trial), "the text defines it"
            trial(chain, witness)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise CannotSave(f"as a test it fails with {reason}") from error
    return witness.seen


def _kept(steps: Sequence[SessionStep], seen: Sequence[_Repeated]) -> list[Part]:
    """The statements of a test, each with what it asserts.

    Raises:
        CannotSave: one that changed the chain came out otherwise.
    """
    parts = []
    for step, repeated in zip(steps, seen, strict=True):
        if _name(repeated.error) == _name(step.raised):
            is_same = repeated.check == step.check
            parts.append(Part(step, step.check if is_same else None))
        elif step.is_change:
            came = "succeeds" if repeated.error is None else _sentence(repeated.error)
            line = step.statement.source.partition("\n")[0]
            raise CannotSave(f"`{line}` cannot be repeated: the second time it {came}")
    return parts


def _name(error: BaseException | type[BaseException] | None) -> str:
    if error is None:
        return ""
    return (error if isinstance(error, type) else type(error)).__name__


def _sentence(error: BaseException) -> str:
    first = f"{error}".partition("\n")[0]
    return f"fails with {type(error).__name__}: {first}"
