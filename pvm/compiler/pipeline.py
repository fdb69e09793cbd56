"""Source to code: fourteen steps in four phases, numbered in `_steps`.

Parsing gives a tree, checking tells what it is, lowering rewrites it in place until the
gate admits it, and instrumenting makes of it the tree that pays for itself, and code.
A step that changes the tree in place says so there; every other one only reads it.
"""

import ast
import warnings
from types import CodeType

from msgspec import Struct
from msgspec.structs import replace

from pvm import language
from pvm.compiler.analysis.handlers import Handlers, find_handlers
from pvm.compiler.analysis.immutable_bodies import is_unchanging
from pvm.compiler.analysis.lost_writes import first_lost_write, hint
from pvm.compiler.block_costs import BlockCosts
from pvm.compiler.facts import Facts, gather
from pvm.compiler.gate import restrict
from pvm.compiler.instrument.module import instrument, module_names
from pvm.compiler.lowering.comprehensions import rename_variables
from pvm.compiler.lowering.decorators import write_out
from pvm.compiler.lowering.desugar import desugar
from pvm.compiler.parser import check_shape, decode, read, refuse
from pvm.compiler.policy.module import check_policy
from pvm.compiler.probes import SourceProbes, insert
from pvm.compiler.syntax.imports import Find, resolve
from pvm.errors import without_memory_errors
from pvm.language import CELLS, MODULE_FUNCTION
from pvm.node_charges import Charge, Nodes, free
from pvm.worker import shallow


class Compiled(Struct, frozen=True):
    """A module: what runs, and what is known of it."""

    code: CodeType
    """The module's body, a function of the three cells of a meter."""
    names: tuple[str, ...]
    """What its own statements bind."""
    facts: Facts
    """Of the tree that passed the gate; its nodes have been used up since."""
    handlers: Handlers
    constructors: frozenset[str]
    """Of `deploy` and `init`, those that a later message may call: they are public."""
    hint: str
    """What the source does that its author will not have meant, or nothing."""
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
    probes: SourceProbes | None = None,
) -> Compiled:
    """The steps from source to code, where a stack is shallow (`worker.shallow`).

    Args:
        source: of an actor, or of a module of the library.
        find: what each module that can be imported offers.
        file: the name by which failures are located.
        block_costs: where the prices of its blocks are written down, for tools.
        charge: takes the cycles of each step before it is made (D6).
        probes: where functions are written down that say which lines they run, for
            tools.

    Raises:
        CompileError: it is not UTF-8, does not parse or is not in the language;
            carries every refusal of the first step that refuses.
        HostMemoryExhausted: this machine has no memory left; it is no refusal.
    """
    tools = block_costs, probes
    return shallow(lambda: _steps(source, find, file, tools, Nodes(charge)))


def _steps(
    source: bytes,
    find: Find,
    file: str,
    tools: tuple[BlockCosts | None, SourceProbes | None],
    nodes: Nodes,
) -> Compiled:
    block_costs, probes = tools
    is_library = file != language.ACTOR_FILE
    # Parse.
    text = decode(source)  # 1
    tree = read(text)  # 2
    resolve(tree, find)  # 3: imports, in place
    found = check_shape(tree, source)  # 4: limits; f-strings placed, in place
    nodes.pay(found.size)
    # Check.
    facts = gather(tree, find, found)  # 5
    check_policy(tree, facts, find, found)  # 6
    told = hint(first_lost_write(found))  # 7
    if probes is not None:
        insert(tree, probes)
    # Lower.
    marks = write_out(tree, facts, nodes)  # 8: decorators, in place
    found = desugar(tree, facts, nodes)  # 9: in place
    restrict(tree, found)  # 10
    # 11: anew, for lowering binds and reads names.
    facts = gather(tree, find, found, facts)
    names = tuple(module_names(tree.body))
    handlers = find_handlers(tree, facts, marks.actor_class)
    is_fixed = is_unchanging(tree, facts, found)
    # Instrument.
    renamed = rename_variables(found)  # 12: in place, in comprehensions
    facts = replace(facts, bindings={**dict.fromkeys(renamed, 1), **facts.bindings})
    tree = instrument(tree, facts, block_costs, is_library=is_library)  # 13: uses it up
    code = _module_code(_compile(tree, file))  # 14
    return Compiled(
        code, names, facts, handlers, marks.constructors, told, nodes.count, is_fixed
    )


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
