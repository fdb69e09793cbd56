"""Cycles and cells by line of an actor's source, for the executions that a chain makes.

The execution is the one that a chain makes, of a source compiled with block costs. What
a block costs goes to its lines when they are reached. What was paid for lines that an
exception, a `return` or a `continue` left out stays with the line that opened their
block, since a block is paid whole on entry. All else (work that depends on operands,
library functions) goes to the line of the actor that was running, which the
interpreter's trace function tells, and what a host call costs to that call, made by
that line. All are differences of one meter, so they add up to what the meter says, to
the unit. What an actor costs that is called is its own, below the call.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dis import opmap
from inspect import CO_GENERATOR
from types import CodeType, FrameType
from typing import NamedTuple, cast

from pvm.compiler.block_costs import PAID, BlockCosts
from pvm.driver.actors import compile_actor
from pvm.driver.execution_pool import new
from pvm.driver.interpreter import execute
from pvm.hashing import keccak256
from pvm.host import Host
from pvm.language import public_name
from pvm.meter import Meter
from pvm.types import Message, Outcome

__all__ = [
    "NO_COST",
    "NO_LINE",
    "Cost",
    "Place",
    "ProfiledCode",
    "Recorder",
    "Stack",
    "by_line",
    "running_line",
]

_YIELD = opmap["YIELD_VALUE"]
_INSTRUCTION_BYTES = 2

NO_LINE = 0
"""What no line of the source costs: encoding what a handler returns, say."""


class Place(NamedTuple):
    """One level of a call stack."""

    actor: bytes
    """Address of the actor whose source it is; b"" of a host call."""
    name: str
    """Name of the function; "" for the module's body; for a host call its name."""
    line: int
    """Line of the source from 1; `NO_LINE` for a host call and for what belongs to no
    line."""
    code_hash: bytes = b""
    """Of the actor's source, which an upgrade changes; b"" of a host call."""


Stack = tuple[Place, ...]
"""What was running, outermost first."""


class Cost(NamedTuple):
    """Cycles and cells that something used."""

    cycles: int
    cells: int

    def plus(self, cycles: int, cells: int) -> "Cost":
        """The sum with more cycles and cells."""
        return Cost(self.cycles + cycles, self.cells + cells)


NO_COST = Cost(0, 0)


class ProfiledCode:
    """An actor compiled so that its executions can be counted by line."""

    __slots__ = ("blocks", "code", "code_hash", "codes", "seen", "source")

    def __init__(self, source: bytes) -> None:
        """Compile a source.

        Raises:
            CompileError: the source is not in the language.
        """
        self.source = source
        block_costs = BlockCosts()
        self.code = compile_actor(source, block_costs)
        self.code_hash = keccak256(source)
        self.blocks = block_costs.blocks
        named = dict(_codes(self.code.module))
        self.codes = {id(code): name for code, name in named.items()}
        """Name of each function by the identity of its code."""
        self.seen = frozenset(
            line for code in named for _, _, line in code.co_lines() if line
        )
        """Lines that execution can be seen to reach; a docstring is none."""


class Recorder:
    """Counts what executions cost by call stack, with all actors that they call."""

    __slots__ = ("_lines", "costs")

    def __init__(self) -> None:
        self.costs: dict[Stack, Cost] = {}
        """Of what ran until now; each cycle and cell once."""
        self._lines: _Lines | None = None

    def execute(
        self, profile: ProfiledCode, message: Message, host: Host, meter: Meter
    ) -> Outcome:
        """As `pvm.execute`. What it costs is how far the meter's counts grow.

        An execution inside of another stands below the host call that made it, whose
        meter counts it afterwards.
        """
        outer, vm = self._lines, new()
        base = () if outer is None else outer.stack
        root = Place(message.actor, "", NO_LINE, profile.code_hash)
        lines = _Lines(self.costs, profile, root, base)
        lines.watch(meter, sys._getframe())  # noqa: SLF001 - as inspect.currentframe
        vm.names[PAID] = lines.paid
        self._lines = lines
        watched = cast("Host", _WatchedHost(host, lines))
        try:
            with lines.traced():
                outcome = execute(profile.code, message, watched, meter, vm)
        finally:
            self._lines = outer
        if outer is not None:
            outer.leave_out(lines.total)
        return outcome


def running_line(stack: Stack) -> Place | None:
    """The actor's line that a cost belongs to: also what that line has the host do."""
    return next((place for place in reversed(stack) if place.actor), None)


def by_line(costs: Mapping[Stack, Cost], actor: bytes) -> dict[int, Cost]:
    """Cycles and cells of each line of an actor, with the host calls that it made."""
    found: dict[int, Cost] = {}
    for stack, cost in costs.items():
        place = running_line(stack)
        if place is not None and place.actor == actor:
            found[place.line] = found.get(place.line, NO_COST).plus(*cost)
    return dict(sorted(found.items()))


class _Lines:
    """Gives what a meter counts to stacks, while it counts."""

    __slots__ = (
        "_base", "_bottom", "_costs", "_counted", "_meter", "_paid", "_profile",
        "_root", "stack", "total",
    )  # fmt: skip

    def __init__(
        self, costs: dict[Stack, Cost], profile: ProfiledCode, root: Place, base: Stack
    ) -> None:
        self._costs = costs
        self._profile = profile
        self._root = root
        self._base = base
        self._bottom: FrameType | None = None
        self._paid: dict[int, dict[int, _Paid]] = {}
        """By frame and by number of the block, what waits for its line."""
        self.stack: Stack = (*base, root)
        """What is running."""
        self.total = NO_COST
        """Of all that was given away."""

    def watch(self, meter: Meter, bottom: FrameType) -> None:
        """Count what `meter` counts from here on, above a frame of ours."""
        self._bottom = bottom
        self._meter = meter
        self._counted = Cost(meter.cycles_used, meter.cells_used)

    def paid(self, number: int) -> None:
        """A block was paid: its price is not that of the line that runs."""
        block, top = self._profile.blocks[number], self.stack[-1]
        blocks = self._paid.setdefault(id(sys._getframe(1)), {})  # noqa: SLF001
        self._leave(blocks.pop(number, None))
        paid = _Paid(block.opening, (*self.stack[:-1], top), {})
        for line, cycles in block.lines:
            if line != block.opening and line in self._profile.seen:
                paid.waiting[line] = cycles
            else:
                self._give(paid.at(line), cycles, 0)
        blocks[number] = paid
        self._counted = self._counted.plus(block.cycles, 0)

    def _reach(self, frame: FrameType) -> None:
        """What was paid for the line that a frame begins is that line's."""
        line = frame.f_lineno
        for paid in self._paid.get(id(frame), {}).values():
            self._give(paid.at(line), paid.waiting.pop(line, 0), 0)

    def _leave(self, *blocks: "_Paid | None") -> None:
        """What no line was reached for is of the line that opened the block."""
        for paid in blocks:
            if paid is not None:
                self._give(paid.at(paid.opening), sum(paid.waiting.values()), 0)

    def leave_out(self, cost: Cost) -> None:
        """An execution inside of this one was counted; the meter will count it, too."""
        self._counted = self._counted.plus(*cost)
        self.total = self.total.plus(*cost)

    @contextmanager
    def traced(self) -> Iterator[None]:
        """Trace this thread, whatever else traced it before."""
        before = sys.gettrace()
        sys.settrace(self._entered)
        try:
            yield
        finally:
            sys.settrace(before)
            for blocks in self._paid.values():
                self._leave(*blocks.values())
            self.move((*self._base, self._root))
            self._bottom = None

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """A host call, made by what is running."""
        outer = self.stack
        self.move((*outer, Place(b"", name, NO_LINE)))
        try:
            yield
        finally:
            self.move(outer)

    def move(self, stack: Stack) -> None:
        """All that was counted until now belongs to the stack that ran."""
        meter, counted = self._meter, self._counted
        now = Cost(meter.cycles_used, meter.cells_used)
        self._give(self.stack, now.cycles - counted.cycles, now.cells - counted.cells)
        self._counted, self.stack = now, stack

    def _give(self, stack: Stack, cycles: int, cells: int) -> None:
        if cycles or cells:
            self._costs[stack] = self._costs.get(stack, NO_COST).plus(cycles, cells)
            self.total = self.total.plus(cycles, cells)

    def _entered(
        self, frame: FrameType, _event: str, _argument: object
    ) -> "_Trace | None":
        if id(frame.f_code) not in self._profile.codes:
            return None
        self.move(self._stack_of(frame))
        return self._traced

    def _traced(
        self, frame: FrameType, event: str, _argument: object
    ) -> "_Trace | None":
        self.move(self._stack_of(frame.f_back if event == "return" else frame))
        if event == "line":
            self._reach(frame)
        elif event == "return" and not _is_suspended(frame):
            self._leave(*self._paid.pop(id(frame), {}).values())
        return self._traced

    def _stack_of(self, frame: FrameType | None) -> Stack:
        """The actor's functions that are running, with their lines."""
        codes, frames, root = self._profile.codes, [], self._root
        while frame is not None and frame is not self._bottom:
            name = codes.get(id(frame.f_code))
            if name is not None:
                place = Place(root.actor, name, frame.f_lineno, root.code_hash)
                frames.append(place)
            frame = frame.f_back
        return (*self._base, *reversed(frames or [root]))


class _WatchedHost:
    """A host whose calls are told apart from the lines that make them."""

    __slots__ = ("_host", "_lines")

    def __init__(self, host: Host, lines: _Lines) -> None:
        self._host = host
        self._lines = lines

    def __getattr__(self, name: str) -> object:
        method = getattr(self._host, name)

        def call(*arguments: object, **named: object) -> object:
            with self._lines.within(name):
                answer: object = method(*arguments, **named)
                return answer

        return call


class _Paid(NamedTuple):
    """A block that was paid, some of whose lines may not have been reached yet."""

    opening: int
    stack: Stack
    waiting: dict[int, int]
    """Cycles of each line that was not."""

    def at(self, line: int) -> Stack:
        """Where a line of it is counted."""
        return (*self.stack[:-1], self.stack[-1]._replace(line=line))


_Trace = Callable[[FrameType, str, object], "_Trace | None"]


def _is_suspended(frame: FrameType) -> bool:
    """Whether a generator only yields, and may go on.

    From 3.13 on it stands at the instruction behind the one that yields.
    """
    code, last = frame.f_code, frame.f_lasti
    at = (code.co_code[last], code.co_code[max(0, last - _INSTRUCTION_BYTES)])
    return bool(code.co_flags & CO_GENERATOR) and _YIELD in at


def _codes(code: CodeType, name: str = "") -> Iterator[tuple[CodeType, str]]:
    """A code object and those of the functions in it, with what the actor calls them.

    The module's body has no name; a method is named with its class.
    """
    yield code, name
    for part in code.co_consts:
        if isinstance(part, CodeType):
            own = public_name(part.co_name)
            yield from _codes(part, f"{name}.{own}" if name else own)
