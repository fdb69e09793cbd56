"""Cycles by line of an actor's source, for one execution of it.

The execution is the one that a chain makes, of a source compiled with a ledger. What
a block costs goes to its lines as the ledger says; all else (work that depends on
operands, host calls, library functions, called actors) to the line of the actor that
was running, which the interpreter's trace function tells. Both are differences of one
meter, so the lines add up to what the meter says, to the cycle.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType

from pvm.compiler import compile_actor
from pvm.host import Host
from pvm.interpreter import execute
from pvm.ledger import PAID, Block, Ledger
from pvm.machines import new
from pvm.meter import Meter
from pvm.types import Message, Outcome

NO_LINE = 0
"""What no line of the source costs: encoding what a handler returns, say."""


class Profile:
    """A source whose executions are counted by line."""

    __slots__ = ("_blocks", "_code")

    def __init__(self, source: bytes) -> None:
        """Compile.

        Raises:
            CompileError: as `compile_actor`.
        """
        ledger = Ledger()
        self._code = compile_actor(source, ledger)
        self._blocks = ledger.blocks

    def execute(
        self, message: Message, host: Host, meter: Meter
    ) -> tuple[Outcome, dict[int, int]]:
        """As `pvm.execute`; with it cycles by line, `NO_LINE` for the rest.

        The sum is `meter.cycles_used` as it grew, whatever the outcome.
        """
        vm = new()
        lines = _Lines(self._code.module, self._blocks, meter)
        vm.names[PAID] = lines.paid
        with lines.watched():
            outcome = execute(self._code, message, host, meter, vm)
        return outcome, lines.result()


class _Lines:
    """Gives what the meter counts to lines, while it counts."""

    __slots__ = ("_blocks", "_codes", "_counted", "_cycles", "_line", "_meter")

    def __init__(self, module: CodeType, blocks: list[Block], meter: Meter) -> None:
        self._blocks = blocks
        self._codes = frozenset(map(id, _codes(module)))
        self._meter = meter
        self._cycles: dict[int, int] = {}
        self._counted = meter.cycles_used
        self._line = NO_LINE

    def paid(self, number: int) -> None:
        """A block was paid: its price is not that of the line that runs."""
        block = self._blocks[number]
        for line, cycles in block.lines:
            self._cycles[line] = self._cycles.get(line, 0) + cycles
        self._counted += block.cycles

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Trace this thread, whatever else traced it before."""
        before = sys.gettrace()
        sys.settrace(self._entered)
        try:
            yield
        finally:
            sys.settrace(before)
            self._move(NO_LINE)

    def result(self) -> dict[int, int]:
        """Cycles by line, of lines that cost any, in order."""
        return {line: n for line, n in sorted(self._cycles.items()) if n}

    def _entered(
        self, frame: FrameType, _event: str, _argument: object
    ) -> "_Trace | None":
        if id(frame.f_code) not in self._codes:
            return None
        self._move(frame.f_lineno)
        return self._traced

    def _traced(
        self, frame: FrameType, event: str, _argument: object
    ) -> "_Trace | None":
        if event == "return":
            self._move(self._line_around(frame))
        else:
            self._move(frame.f_lineno)
        return self._traced

    def _line_around(self, frame: FrameType) -> int:
        """Where the actor goes on when `frame` is left."""
        outer = frame.f_back
        while outer is not None and id(outer.f_code) not in self._codes:
            outer = outer.f_back
        return NO_LINE if outer is None else outer.f_lineno

    def _move(self, line: int) -> None:
        """All that was counted until now belongs to the line that ran."""
        used = self._meter.cycles_used
        spent = self._cycles.get(self._line, 0) + used - self._counted
        self._cycles[self._line] = spent
        self._counted, self._line = used, line


_Trace = Callable[[FrameType, str, object], "_Trace | None"]


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of the functions in it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)
