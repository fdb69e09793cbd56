"""What each test's executions cost, by handler and by statement.

Counted is what is in blocks, as receipts say; executions in which no actor ran, such as
transfers, cost what the protocol says and are left out. Codes are known by their hashes
here: which files they are in is looked for once, by whoever writes or compares.
"""

from collections.abc import Iterable

from msgspec import Struct, field

from node.query.costs.profiles import ExecutionProfile, Profiled
from node.testing.costs.statements import SourceStatement, statements
from pvm import NO_LINE, Cost, Place, Stack, running_line

__all__ = [
    "Recorded",
    "RecordedCode",
    "RecordedHandler",
    "RecordedStatement",
    "RecordedTest",
    "record",
]


class RecordedStatement(Struct):
    """What a statement cost in a test."""

    line: int
    text: str
    cycles: int = 0
    cells: int = 0


class RecordedHandler(Struct):
    """What the executions of a handler cost in a test."""

    code: str
    """Hash of the code that has it, in hexadecimal."""
    handler: str
    executions: int = 0
    cycles: int = 0
    cells: int = 0
    statements: dict[str, dict[int, RecordedStatement]] = field(default_factory=dict)
    """By code and by first line, of all actors that ran; what is left of the cycles and
    cells was paid before an actor ran."""


class RecordedTest(Struct):
    """A test, and what was executed for it."""

    name: str
    codes: list[str]
    """Hashes in the order in which they ran first."""
    handlers: list[RecordedHandler]


class RecordedCode(Struct):
    """What is known of a code: a name, and the file that it was deployed from."""

    name: str
    file: str = ""


class Recorded(Struct):
    """What a process of a run recorded; it crosses from a worker of xdist as JSON."""

    tests: dict[str, RecordedTest] = field(default_factory=dict)
    """By the id that reports have."""
    codes: dict[str, RecordedCode] = field(default_factory=dict)
    known: list[str] = field(default_factory=list)
    """Names of all tests that were collected."""
    left_out: list[str] = field(default_factory=list)
    """Names of those that were, and were not chosen."""
    twins: list[str] = field(default_factory=list)
    """Names that several tests have."""

    def add(self, other: "Recorded") -> None:
        """Have what another process has, too."""
        self.tests |= other.tests
        for code_hash, code in other.codes.items():
            if not self.codes.get(code_hash, RecordedCode("")).file:
                self.codes[code_hash] = code
        self.known += other.known
        self.left_out += other.left_out
        self.twins += other.twins


_Table = dict[int, SourceStatement]


def record(
    name: str, profile: ExecutionProfile, tables: dict[bytes, _Table]
) -> RecordedTest:
    """What a test's profile says; `tables` are known of sources seen before."""
    for code_hash, source in profile.codes.items():
        if code_hash not in tables:
            tables[code_hash] = statements(source)
    handlers: dict[tuple[str, str], RecordedHandler] = {}
    codes: dict[str, None] = {}
    for each in profile.executions:
        code = _entered(each.costs)
        if code is None:
            continue
        codes |= dict.fromkeys(_codes(each))
        key = code, each.receipt.handler
        handler = handlers.setdefault(key, RecordedHandler(*key))
        handler.executions += 1
        handler.cycles += each.receipt.cycles_used
        handler.cells += each.receipt.cells_used
        for stack, cost in each.costs.items():
            place = running_line(stack)
            if place is not None:
                _add(handler, place, tables[place.code_hash], cost)
    return RecordedTest(name, list(codes), list(handlers.values()))


def _entered(stacks: Iterable[Stack]) -> str | None:
    """The code that an execution began with; None if no actor ran."""
    return next((stack[0].code_hash.hex() for stack in stacks if stack), None)


def _codes(each: Profiled) -> Iterable[str]:
    return (
        place.code_hash.hex() for stack in each.costs for place in stack if place.actor
    )


def _add(handler: RecordedHandler, place: Place, table: _Table, cost: Cost) -> None:
    statement = table.get(place.line, table[NO_LINE])
    of_code = handler.statements.setdefault(place.code_hash.hex(), {})
    known = of_code.get(statement.line)
    if known is None:
        known = RecordedStatement(statement.line, statement.text)
        of_code[statement.line] = known
    known.cycles += cost.cycles
    known.cells += cost.cells
