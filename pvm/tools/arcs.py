"""Which lines of an actor's source ran, and one after which: for coverage.

What executes is the source compiled with probes; outcome and costs are those of the
chain's own code. An arc is two lines that ran one after the other, as coverage.py
records them: of a function that begins at line 7, `(-7, 8)` enters it and `(8, -7)`
leaves it, by whichever way.

Rule: the body of a module that nothing can change runs once and serves many messages,
so its arcs are told apart from those of functions.
"""

from collections.abc import Callable
from itertools import islice, pairwise
from typing import Final

from msgspec import Struct, field

from pvm.compiler.probes import BEGIN, MODULE, SourceProbes
from pvm.driver.actors import compile_actor
from pvm.driver.execution_pool import new
from pvm.driver.interpreter import execute
from pvm.host import Host
from pvm.meter import Meter
from pvm.types import Message, Outcome

__all__ = ["Arc", "Arcs", "ProbedCode", "ProbedExecutor"]

Arc = tuple[int, int]
"""Two lines, from 1; the negative line of a function stands for what is outside."""


_SHORT: Final = 64
"""Lines of a call that is likely to be like many others: one of them is looked at."""


class Arcs(Struct):
    """What of one source ran."""

    body: set[Arc] = field(default_factory=set)
    """Of the module's body, with its classes."""
    functions: set[Arc] = field(default_factory=set)

    def add(self, other: "Arcs") -> None:
        """Have what another has, too."""
        self.body |= other.body
        self.functions |= other.functions


class ProbedCode:
    """An actor compiled so that its executions tell which lines they run."""

    __slots__ = ("code", "starts")

    def __init__(self, source: bytes) -> None:
        """Compile a source.

        Raises:
            CompileError: the source is not in the language.
        """
        probes = SourceProbes()
        self.code = compile_actor(source, probes=probes)
        self.starts = tuple(probes.starts)
        """Line in which each function begins, by its number."""


class ProbedExecutor:
    """Executes probed actors, also inside of one another."""

    __slots__ = ("_idle",)

    def __init__(self) -> None:
        self._idle: list[_Lines] = []

    def execute(
        self, probed: ProbedCode, message: Message, host: Host, meter: Meter
    ) -> tuple[Outcome, Arcs]:
        """As `pvm.execute`; with it what ran of this actor, not of those it called."""
        try:
            lines = self._idle.pop()
        except IndexError:  # all others are busy, maybe on another thread
            lines = _Lines()
        outcome = execute(probed.code, message, host, meter, lines.vm)
        arcs = lines.take(probed.starts)
        self._idle.append(lines)
        return outcome, arcs


class _Lines:
    """An execution of a tool's own, and the lines that each call in it ran."""

    __slots__ = ("_calls", "vm")

    def __init__(self) -> None:
        calls: list[list[int]] = []

        def begin(number: int) -> Callable[[int], None]:
            lines = [number]
            calls.append(lines)
            return lines.append

        self._calls = calls
        """Of each call the number of its function, then its lines."""
        self.vm = new()
        self.vm.names[BEGIN] = begin

    def take(self, starts: tuple[int, ...]) -> Arcs:
        """The arcs since this was asked last."""
        arcs, calls = Arcs(), self._calls
        short = {tuple(lines) for lines in calls if len(lines) <= _SHORT}
        for lines in (*short, *(lines for lines in calls if len(lines) > _SHORT)):
            number = lines[0]
            found = arcs.body if number == MODULE else arcs.functions
            found.update(pairwise(islice(lines, 1, None)))
            if len(lines) > 1:  # it came to its first line
                found.update(
                    ((-starts[number], lines[1]), (lines[-1], -starts[number]))
                )
        calls.clear()
        return arcs
