"""Nanoseconds that a cycle costs, for every row of the price table.

Each program of `benches.operands` runs in a block of a real chain until its cycles
are used up; neither signature nor commit is in the time.
"""

import gc
import time
from collections.abc import Iterator, Mapping

from benches import operands, operands_methods, operands_modules
from node.chain.accounts import Account, save_account
from node.chain.block import Price, ReceiptKind
from node.chain.context import ExecutionScope
from node.chain.messages import Call, process_message
from node.chain.transition import begin_block
from node.primitives.types import ZERO_HASH, Address, Amount
from node.state import keys
from node.testing import Devnet
from pvm import Meter, Outcome, costs, keccak256
from pvm.language import EXCEPTIONS, MODULE_ERRORS
from pvm.modules import EXPORTS
from pvm.runtime.builtins import NATIVE, PRICED
from pvm.runtime.methods.lookup import CLASS_METHODS, TABLES

ADDRESS = Address(b"\x0a" * 20)
CYCLES = 60_000
"""Of one run; long enough for the fresh namespace not to count."""
MEMORY = 2**29
_LONGER = {"list_timers": 20}
"""Rows whose programs begin with what costs as much as a usual run."""
_WHOLE = 10_000_000
"""Cycles for bodies that end by themselves."""
_QUESTIONS = "ENUM_QUESTION"
_UNROLLED = 8
_ROUNDS = 5

_PRELUDE = """
{imports}
def f():
    return 1
def f2(a):
    return a
def g(a, b, c):
    return a
def h(*args, **named):
    return 1
def gen():
    yield 1
def gen2():
    for i in range(9):
        yield i
def wide({parameters}):
    pass
def deep(n):
    if n:
        deep(n - 1)
    else:
        raise ValueError("deep")
def name_later():
    global later
    later = 1
class O:
    c = 1
    def __init__(self):
        self.x = 1
        self.values = 2
    def __len__(self):
        return 1
    def __call__(self):
        return 1
    def __bool__(self):
        return True
    def __enter__(self):
        return 1
    def __exit__(self, a, b, c):
        return False
    @property
    def p(self):
        return 1
    @staticmethod
    def s():
        return 1
    @classmethod
    def k(cls):
        return 1
    def m(self):
        return 1
class P(O):
    def m(self):
        return super().m()
class Actor:
    def callee(self):
        return b""
    def run(self):
{setup}
        while True:
{body}
"""


def source(program: str) -> str:
    """An actor that runs the statement of a program for ever."""
    separator = "\n" if "\n" in program else "| "
    setup, _, statement = program.partition(separator)
    names = {name: f"import {name}" for name in (*EXPORTS, "collections", "cowboy_sdk")}
    names["runtime"] = "import cowboy_sdk.runtime as runtime"
    imports = [line for name, line in names.items() if f"{name}." in program]
    return _PRELUDE.format(
        imports="\n".join(imports),
        parameters=", ".join(f"parameter{n}" for n in range(64)),
        setup=f"        {setup.strip() or 'pass'}",
        body="\n".join(" " * 12 + line for line in statement.split("\n") * _UNROLLED),
    )


def wanted() -> frozenset[str]:
    """Every row there is, from the tables of the code."""
    constants = {
        name
        for name, value in vars(costs).items()
        if name.isupper() and isinstance(value, int | dict) and "BYTES" not in name
    }
    methods = {
        f"{kind.__name__}.{name}"
        for kind, table in TABLES.items()
        for name in table
        if kind.__name__ not in {"bool", "FrozenOrderedSet"}
    }
    methods |= {f"{kind.__name__}.{name}" for kind, name in CLASS_METHODS}
    errors = EXCEPTIONS.union(*MODULE_ERRORS.values())
    functions = {
        name if module == "pvm_host" else f"{module}.{name}"
        for module, names in EXPORTS.items()
        for name in names - errors
    }
    builtins = PRICED.keys() | NATIVE.keys()
    builtins -= errors | {"__build_class__"}
    return frozenset(constants | methods | functions | builtins)


def tried() -> Mapping[str, tuple[str, ...]]:
    """The programs of every row."""
    return {
        **operands.SYNTAX,
        **operands.WORK,
        **operands.BUILTINS,
        **operands_methods.METHODS,
        **operands_methods.MODULES,
        **operands_methods.SDK,
        **operands_methods.HOST,
    }


def covered() -> frozenset[str]:
    """Rows that are tried, by a program of their own or of another."""
    bodies = operands_modules.BODIES
    others = {*operands.NOT_TIMED, *operands.TRIED_WITH, _QUESTIONS}
    return frozenset({*tried(), *bodies, *others})


def measure(cycles: int = CYCLES, rounds: int = _ROUNDS) -> dict[str, dict[str, float]]:
    """Row → program → least nanoseconds a cycle."""
    with Devnet() as chain:
        return {
            row: {
                program: chain._on_worker(  # noqa: SLF001 - the node's own thread
                    lambda row=row, written=written: _least(
                        chain, written, _cycles(row, cycles), rounds
                    )
                )
                for program, written in programs.items()
            }
            for row, programs in sources().items()
        }


def sources() -> Mapping[str, Mapping[str, str]]:
    """Row → program → its source."""
    found = {
        row: {program: source(program) for program in programs}
        for row, programs in tried().items()
    }
    asked = {
        one: operands_modules.with_enum(source(one))
        for one in operands_modules.QUESTIONS
    }
    return {**found, _QUESTIONS: asked, **operands_modules.BODIES}


def _cycles(row: str, usual: int) -> int:
    if row in operands_modules.BODIES:
        return _WHOLE
    return usual * _LONGER.get(row, 1)


def _least(chain: Devnet, written: str, cycles: int, rounds: int) -> float:
    source = written.encode()
    return min(_run(chain, source, cycles) for _ in range(rounds + 1))


def _run(chain: Devnet, written: bytes, cycles: int) -> float:
    block = begin_block(chain.state)
    digest = keccak256(written)
    block.journal.put(keys.code(digest), written)
    account = Account(Amount(10**30), code_hash=digest, deployer=bytes(20))
    save_account(block.journal, ADDRESS, account)
    block.code_cache.get(digest, written)
    nothing = Amount(0)
    execution = ExecutionScope(
        block=block,
        kind=ReceiptKind.TRANSACTION,
        origin=ZERO_HASH,
        payer=ADDRESS,
        price=Price(nothing, nothing, nothing, nothing),
        signer=ADDRESS,
    )
    meter = Meter(cycles, 10**9)
    meter.memory.cell_contents = MEMORY
    call = Call(ADDRESS, ADDRESS, ("run",), b"")
    is_collecting = gc.isenabled()
    gc.disable()
    began = time.thread_time_ns()
    outcome = process_message(execution, call, meter)
    spent = time.thread_time_ns() - began
    if is_collecting:
        gc.enable()
    if cycles != _WHOLE:
        _require_used_up(written, outcome)
    else:
        assert outcome.is_success, outcome.failure
    return spent / meter.cycles_used


def _require_used_up(written: bytes, outcome: Outcome) -> None:
    """A program that ended for another reason measured something else."""
    failure = outcome.failure
    assert failure is not None
    expected = {"OutOfCycles", "Reverted", "OutOfWrites"}
    assert failure.kind in expected, f"{failure}\n{written.decode()}"


def worst(found: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[float, str, str]]:
    """(ns a cycle, row, program), each row's dearest, dearest row first."""
    rows = [
        max((spent, row, program) for program, spent in programs.items())
        for row, programs in found.items()
        if programs
    ]
    yield from sorted(rows, reverse=True)
