"""Source to code: one function of visible lines, each step pure.

sandbox-internals.md §2 describes the steps.
"""

import ast
import warnings
from types import CodeType

from msgspec import Struct
from msgspec.structs import replace

from pvm import language
from pvm.compiler.analysis.immutable_bodies import is_unchanging
from pvm.compiler.analysis.lost_writes import first_lost_write, hint
from pvm.compiler.block_costs import BlockCosts
from pvm.compiler.facts import Facts, gather
from pvm.compiler.gate import restrict
from pvm.compiler.instrument.module import instrument
from pvm.compiler.lowering.comprehensions import rename_variables
from pvm.compiler.lowering.decorators import Marks, write_out
from pvm.compiler.lowering.desugar import desugar
from pvm.compiler.parser import check_shape, check_written, decode, read, refuse
from pvm.compiler.policy.module import check_policy
from pvm.compiler.syntax.imports import Find, resolve
from pvm.compiler.syntax.unicode_identifiers import refuse_foreign
from pvm.errors import without_memory_errors
from pvm.language import CELLS, MODULE_FUNCTION
from pvm.node_charges import Charge, Nodes, free
from pvm.worker import shallow


class Compiled(Struct, frozen=True):
    """A module: what runs, and what is known of it."""

    code: CodeType
    """The module's body, a function of the three cells of a meter."""
    tree: ast.Module
    """As it passed the gate."""
    facts: Facts
    """Of that tree."""
    marks: Marks
    """What decorators say."""
    nodes: int
    """Of its syntax, and those written out: what making it ready takes follows them."""
    is_unchanging: bool
    """Whether nothing can change what its body makes (`immutable_bodies`)."""


@without_memory_errors
def compile_module(
    source: bytes,
    find: Find,
    file: str = language.ACTOR_FILE,
    block_costs: BlockCosts | None = None,
    charge: Charge = free,
) -> Compiled:
    """The steps from source to code, where a stack is shallow (`worker.shallow`).

    Args:
        source: of an actor, or of a module of the library.
        find: what each module that can be imported offers.
        file: the name by which failures are located.
        block_costs: where the prices of its blocks are written down, for tools.
        charge: takes the cycles of each step before it is made (D6).

    Raises:
        CompileError: it is not UTF-8, does not parse or is not in the language;
            carries every refusal of the first step that refuses, and of names.
        HostMemoryExhausted: this machine has no memory left; it is no refusal.
    """
    return shallow(lambda: _steps(source, find, file, block_costs, charge))


def _steps(
    source: bytes, find: Find, file: str, block_costs: BlockCosts | None, charge: Charge
) -> Compiled:
    text = decode(source)
    refuse_foreign(text, lambda admitted: _steps(admitted, find, file, None, charge))
    tree = resolve(read(text), find)
    found = check_shape(tree, source)
    nodes = Nodes(charge)
    nodes.pay(found.size)
    facts = gather(tree, find, found)
    check_policy(tree, facts, find, found)
    told = hint(first_lost_write(found))
    marks = replace(write_out(tree, facts, nodes), hint=told)
    found = desugar(tree, facts, nodes)
    check_written(tree, found)
    tree = restrict(tree, found)
    facts = gather(tree, find, found)
    is_fixed = is_unchanging(tree, facts, found)
    # What was bound stays bound: the policy has admitted names by that.
    facts = replace(facts, bound=facts.bound | rename_variables(found))
    is_library = file != language.ACTOR_FILE
    module = instrument(tree, facts, block_costs, is_library=is_library)
    code = _module_code(_compile(module, file))
    return Compiled(code, tree, facts, marks, nodes.count, is_fixed)


def _compile(tree: ast.Module, file: str) -> CodeType:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(tree, file, "exec", dont_inherit=True, optimize=0)
    except SyntaxError as error:
        line = max(1, error.lineno or 1)
        raise refuse("a statement stands where it may not", line=line) from None
    except (RecursionError, ValueError):
        raise refuse("the source does not compile") from None


def _module_code(code: CodeType) -> CodeType:
    """The function that `instrument` made of the module."""
    (outer,) = (part for part in code.co_consts if isinstance(part, CodeType))
    for part in outer.co_consts:
        if isinstance(part, CodeType) and part.co_name == MODULE_FUNCTION:
            assert part.co_freevars == CELLS
            return part
    raise AssertionError("the module has no body")
