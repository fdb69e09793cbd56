"""What a source is, before anybody deploys it: handlers, imports, prices, room left.

For tools. Everything is static: what a block costs when it is entered, not how often
that happens, nor what work on operands and host calls add (sandbox.md §4).
"""

import ast

from msgspec import Struct

from pvm import costs, language
from pvm.actor_code import ActorCode
from pvm.compiler.block_costs import Block, BlockCosts
from pvm.compiler.facts import Facts, gather
from pvm.compiler.lowering.decorators import family_of, marks_of, methods_of
from pvm.compiler.parser import parse
from pvm.compiler.syntax.imports import resolve
from pvm.driver.actors import compile_actor
from pvm.driver.interpreter import is_reached_by_call
from pvm.driver.library_loader import find_module
from pvm.errors import CompileError
from pvm.tools.syntax_reasons import explained

EVERYBODY = "everybody"
ITSELF = "the actor itself"
DEPLOYMENT = "the deployment"
UPGRADE = "an upgrade"


class Handler(Struct, frozen=True):
    """A function or method that messages can call."""

    name: str
    """Name of the handler."""
    line: int
    """Line of its `def`, from 1."""
    who: str
    """Who may call it, in words."""
    rules: tuple[str, ...]
    """Decorators of `cowboy_sdk` that stand on it."""
    blocks: tuple[Block, ...]
    """In source order, with those of functions that stand in it; the first is paid by
    each call."""


class Room(Struct, frozen=True):
    """One limit of the language, and how much of it a source uses."""

    what: str
    """What is limited, in words."""
    used: int
    limit: int


class Report(Struct, frozen=True):
    """What an accepted source is."""

    actor_class: str | None
    """Name of the actor's class, or None."""
    handlers: tuple[Handler, ...]
    imports: tuple[str, ...]
    """Modules, by the names the language has for them."""
    body: tuple[Block, ...]
    """Of the module and its classes: paid by every message."""
    compiling: int
    """Cycles that a deployment pays for the nodes of the syntax (D6)."""
    room: tuple[Room, ...]
    """The limits of a source, with what is used of each."""
    hint: str
    """A probable mistake of the author, in words; may be empty."""


def report_on(source: bytes) -> Report:
    """Compile a source and report what it is.

    Raises:
        CompileError: the source is not in the language; carries what the first step
            that refuses has found. Of one that does not parse it says why, as this
            interpreter does.
    """
    block_costs = BlockCosts()
    try:
        code = compile_actor(source, block_costs)
    except CompileError as error:
        raise explained(error, source) from None
    tree = parse(source)
    room = (
        Room("bytes of source", len(source), language.SOURCE_BYTES_MAX),
        Room("nodes of syntax", _count(tree, ast.AST), language.NODES_MAX),
        Room("nodes, generated", code.nodes, language.NODES_MAX),
        Room("functions", _count(tree, ast.FunctionDef), language.FUNCTIONS_MAX),
    )
    resolve(tree, find_module)
    facts = gather(tree, find_module)
    functions = _functions(facts, tree, code)
    methods = {id(part) for one in family_of(tree, facts) for part in methods_of(one)}
    every = [mark for one in family_of(tree, facts) for mark in _marks(one, facts)]
    has_rules = "public" in every or "callable_by" in every
    handlers = tuple(
        Handler(
            name.rpartition(".")[2],
            node.lineno,
            _who(node, facts, code, has_rules=has_rules, is_method=id(node) in methods),
            tuple(marks_of(node, facts)),
            _blocks_of(block_costs, name),
        )
        for name, node in functions.items()
    )
    classes = {"", *(one.name for one in tree.body if isinstance(one, ast.ClassDef))}
    body = tuple(block for block in block_costs.blocks if block.function in classes)
    return Report(
        code.actor_class,
        handlers,
        _imports(tree),
        body,
        costs.COMPILE_PER_NODE * code.nodes,
        room,
        code.hint,
    )


def _count(tree: ast.Module, kind: type[ast.AST]) -> int:
    return sum(isinstance(node, kind) for node in ast.walk(tree))


def _functions(
    facts: Facts, tree: ast.Module, code: ActorCode
) -> dict[str, ast.FunctionDef]:
    """Handlers by qualified name: a function goes before a method (host-api.md §1)."""
    found: dict[str, ast.FunctionDef] = {}
    for name in code.handlers:
        body: list[ast.stmt] = tree.body
        place = ""
        if name not in code.functions:
            place, body = _home(facts, code.actor_class, name)
        for node in body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                found[f"{place}{name}"] = node
    return found


def _home(
    facts: Facts, actor_class: str | None, name: str
) -> tuple[str, list[ast.stmt]]:
    """The class that has a method: the actor's, or the first of its bases."""
    stack = [] if actor_class is None else [actor_class]
    while stack:
        here = facts.classes.get(stack.pop())
        if here is None:
            continue
        if any(method.name == name for method in methods_of(here)):
            return f"{here.name}.", here.body
        stack.extend(
            one.id for one in reversed(here.bases) if isinstance(one, ast.Name)
        )
    return "", []


def _marks(node: ast.ClassDef, facts: Facts) -> list[str]:
    return [mark for method in methods_of(node) for mark in marks_of(method, facts)]


def _who(
    node: ast.FunctionDef,
    facts: Facts,
    code: ActorCode,
    *,
    has_rules: bool,
    is_method: bool,
) -> str:
    marks = marks_of(node, facts)
    if not is_reached_by_call(code, node.name):
        return UPGRADE if node.name == "upgrade" else DEPLOYMENT
    if "callable_by" in marks:
        decorator = marks["callable_by"]
        listed = decorator.args if isinstance(decorator, ast.Call) else []
        return ", ".join(map(ast.unparse, listed))
    if "public" in marks or not (has_rules and is_method):
        return EVERYBODY
    return ITSELF


def _blocks_of(block_costs: BlockCosts, name: str) -> tuple[Block, ...]:
    return tuple(
        block
        for block in block_costs.blocks
        if block.function == name or block.function.startswith(f"{name}.")
    )


def _imports(tree: ast.Module) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names[node.module] = None
        elif isinstance(node, ast.Import):
            names.update(dict.fromkeys(alias.name for alias in node.names))
    return tuple(names)
