"""The decorators of `cowboy_sdk`: facts of the source, no wrappers (host-api.md §4).

`policy.decorators` refuses them where they mean nothing; `write_out` removes them and
writes what they mean into the methods they stand on, in plain statements:

    @callable_by(OWNER)                 hidden_callers_reset = (OWNER,)
    def reset(self):                    def reset(self):
        self.storage["n"] = 0               hidden_state = hidden_enter("reset", 1, …)
                                            try:
                                                self.storage["n"] = 0
                                            finally:
                                                hidden_leave(hidden_state)

so a rule holds whichever way its method is reached, and a class without rules pays
nothing. Rules are of the actor's class and of the classes it derives from; a method
with an underscore has those that stand on it and no others.

A class that derives from `cowboy_sdk.Actor` is the actor's without a mark, if no class
has one; where several do, the one from which none of them derives.
"""

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from pvm import language
from pvm.compiler.facts import Facts, is_generator
from pvm.compiler.syntax.locations import place
from pvm.language import Rule
from pvm.node_charges import Nodes

SDK: Final = "cowboy_sdk"

ACTOR: Final = f"{SDK}.Actor"
"""A base that says to editors what an actor has, and to us which class is one."""

ENTER: Final = "hidden_enter"
LEAVE: Final = "hidden_leave"
_STATE = "hidden_state"
_CALLERS = "hidden_callers_"

ON_CLASS: Final = "actor"
ON_FUNCTION: Final = "bounded_loop"
ON_METHOD: Final = frozenset(
    {"callable_by", "deferred", "public", "pure", "reentrancy_guard"}
)
NAMES: Final = ON_METHOD | {ON_CLASS, ON_FUNCTION}
_RANGE = "BoundedRange"

_ADDRESS_BYTES = 20
_OF_RULE = 18  # nodes written for a method that has a rule


class Marks(Struct, frozen=True):
    """What the decorators say of a module."""

    actor_class: str | None
    """The class marked `@actor`, or that derives from `Actor`."""
    constructors: frozenset[str]
    """Of `deploy`, `init` and `upgrade`, those that messages may call: the public."""


def sdk_name(node: ast.expr, facts: Facts) -> str | None:
    """The decorator of `cowboy_sdk` that an expression names, if it names one."""
    match node:
        case ast.Name(id=local):
            module, name = facts.imports.get(local, ("", ""))
        case ast.Attribute(value=ast.Name(id=local), attr=name):
            module = facts.modules.get(local, "")
        case _:
            return None
    return name if module == SDK and name in NAMES | {_RANGE} else None


def is_compilers(module: str | None, name: str) -> bool:
    """Whether an import is of something that the compiler takes by its name.

    Args:
        module: where `name` is imported from; None, where `name` is the module.
        name: of what is imported.
    """
    if module is None:
        return name == SDK or name in language.COMPILER_MODULES
    if module == SDK and name in NAMES | {_RANGE}:
        return True
    return f"{module}.{name}" in language.COMPILER_PLACES


def decorator_name(node: ast.expr, facts: Facts) -> str | None:
    """The same for a decorator, which may be called."""
    found = sdk_name(node.func if isinstance(node, ast.Call) else node, facts)
    return found if found in NAMES else None


def actor_classes(tree: ast.Module, facts: Facts) -> list[ast.ClassDef]:
    """Classes that are marked or else derive from `Actor`, in source order."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    marked = [node for node in classes if is_marked(node, facts)]
    return marked or _most_derived(classes, facts)


def _most_derived(classes: list[ast.ClassDef], facts: Facts) -> list[ast.ClassDef]:
    """Those that derive from `Actor`, without those that are bases of others."""
    actors: dict[str, ast.ClassDef] = {}
    bases: set[str] = set()
    for node in classes:  # each stands below its bases
        names = {base.id for base in node.bases if isinstance(base, ast.Name)}
        is_direct = any(facts.meaning(base) == ACTOR for base in node.bases)
        if is_direct or not names.isdisjoint(actors):
            actors[node.name] = node
            bases |= names
    return [node for name, node in actors.items() if name not in bases]


def is_marked(node: ast.ClassDef, facts: Facts) -> bool:
    """Whether `@actor` stands on a class."""
    return any(decorator_name(one, facts) == ON_CLASS for one in node.decorator_list)


def family_of(tree: ast.Module, facts: Facts) -> list[ast.ClassDef]:
    """The marked class and the module's classes it derives from."""
    found: dict[str, ast.ClassDef] = {}
    stack = actor_classes(tree, facts)[:1]
    while stack:
        node = stack.pop()
        found[node.name] = node
        names = [base.id for base in node.bases if isinstance(base, ast.Name)]
        bases = [facts.classes[name] for name in names if name in facts.classes]
        stack += [base for base in bases if base.name not in found]
    return list(found.values())


def methods_of(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """Functions that stand directly in a class."""
    return [part for part in node.body if isinstance(part, ast.FunctionDef)]


def marks_of(node: ast.FunctionDef, facts: Facts) -> dict[str, ast.expr]:
    """The decorators of a method, by name."""
    named = ((decorator_name(one, facts), one) for one in node.decorator_list)
    return {name: one for name, one in named if name is not None}


def is_property(node: ast.expr) -> bool:
    """Whether a decorator makes an attribute of a method, which no message calls."""
    return (isinstance(node, ast.Name) and node.id == "property") or (
        isinstance(node, ast.Attribute) and node.attr == "setter"
    )


def literal_address(value: object) -> bytes | None:
    """20 bytes, or their hexadecimal form."""
    if isinstance(value, str):
        digits = value.removeprefix("0x")
        if len(digits) != 2 * _ADDRESS_BYTES or not digits.isalnum():
            return None
        try:
            value = bytes.fromhex(digits)
        except ValueError:
            return None
    is_address = isinstance(value, bytes) and len(value) == _ADDRESS_BYTES
    return value if is_address else None  # type: ignore[return-value] # bytes, then


def literal_bound(decorator: ast.expr) -> int | None:
    """`max_iterations` of a `bounded_loop`."""
    match decorator:
        case (
            ast.Call(args=[ast.Constant(value=int(bound))], keywords=[])
            | ast.Call(
                args=[],
                keywords=[
                    ast.keyword(
                        arg="max_iterations", value=ast.Constant(value=int(bound))
                    )
                ],
            )
        ) if bound > 0 and not isinstance(bound, bool):
            return bound
        case _:
            return None


def write_out(tree: ast.Module, facts: Facts, nodes: Nodes | None = None) -> Marks:
    """Remove the decorators and write their meaning into a tree that may have them.

    What is written is paid by `nodes`.
    """
    nodes = nodes or Nodes()
    if not any(module == SDK for module, _ in facts.imports.values()) and (
        SDK not in facts.modules.values()
    ):
        return Marks(None, frozenset())
    marked = actor_classes(tree, facts)
    family = family_of(tree, facts)
    every = [mark for one in family for mark in _class_marks(one, facts)]
    has_access = "public" in every or "callable_by" in every
    constructors = frozenset(
        method.name
        for node in family
        for method in methods_of(node)
        if method.name in ("deploy", "init", "upgrade")
        and "public" in marks_of(method, facts)
    )
    shared = _Shared(facts, nodes, has_access, "deferred" in every)
    for node in family:
        _write_class(node, shared)
    for part in ast.walk(tree):
        if isinstance(part, ast.FunctionDef):
            _write_loop(part, facts, nodes)
        if isinstance(part, ast.ClassDef | ast.FunctionDef):
            part.decorator_list = [
                one for one in part.decorator_list if decorator_name(one, facts) is None
            ]
    return Marks(marked[0].name if marked else None, constructors)


def _class_marks(node: ast.ClassDef, facts: Facts) -> Iterator[str]:
    for method in methods_of(node):
        yield from marks_of(method, facts)


class _Shared(Struct, frozen=True):
    """What the methods of all classes of a family have in common."""

    facts: Facts
    nodes: Nodes
    has_access: bool
    """Some method says who may call it."""
    is_quiet: bool
    """Some method may send, so the others may not."""


def _write_class(node: ast.ClassDef, shared: _Shared) -> None:
    body: list[ast.stmt] = []
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            marks = marks_of(part, shared.facts)
            rule = _rule(part, shared, marks)
            shared.nodes.pay(_OF_RULE if rule else 0, part)
            callers: ast.expr = ast.Constant(None)
            if rule & Rule.LISTED:
                name = f"{_CALLERS}{part.name}"
                callers_of = _callers(name, marks["callable_by"])
                place(callers_of, part)
                body.append(callers_of)
                callers = ast.Attribute(_load(node.name), name, ast.Load())
            if rule:
                _guard(part, rule, callers)
        body.append(part)
    node.body = body


def _rule(
    node: ast.FunctionDef, shared: _Shared, marks: Mapping[str, ast.expr]
) -> Rule:
    rule = Rule(0)
    is_handler = not node.name.startswith("_") and not is_generator(shared.facts, node)
    # Whatever else decorates it, messages reach it.
    is_handler = is_handler and not any(map(is_property, node.decorator_list))
    if "public" in marks:
        rule |= Rule.PUBLIC
    elif "callable_by" in marks:
        rule |= Rule.LISTED
    elif shared.has_access and is_handler:
        rule |= Rule.ITSELF
    if "pure" in marks:
        rule |= Rule.PURE
    if "deferred" in marks:
        rule |= Rule.DEFERRED
    elif shared.is_quiet and is_handler:
        rule |= Rule.QUIET
    if "reentrancy_guard" in marks:
        rule |= Rule.GUARDED
    return rule


def _callers(name: str, decorator: ast.expr) -> ast.stmt:
    assert isinstance(decorator, ast.Call), "the policy refuses it bare"
    every: list[ast.expr] = []
    for argument in decorator.args:
        if isinstance(argument, ast.Constant):
            every.append(ast.Constant(literal_address(argument.value)))
        else:
            every.append(argument)
    return ast.Assign([ast.Name(name, ast.Store())], ast.Tuple(every, ast.Load()))


def _guard(node: ast.FunctionDef, rule: Rule, callers: ast.expr) -> None:
    entered = ast.Call(
        _load(ENTER), [ast.Constant(node.name), ast.Constant(int(rule)), callers], []
    )
    enter = ast.Assign([ast.Name(_STATE, ast.Store())], entered)
    leave = ast.Expr(ast.Call(_load(LEAVE), [_load(_STATE)], []))
    first = node.body[0]
    node.body = [
        _located(enter, first),
        _located(ast.Try(node.body, [], [], [_located(leave, first)]), first),
    ]


def _write_loop(node: ast.FunctionDef, facts: Facts, nodes: Nodes) -> None:
    """Give each `BoundedRange(x)` of the function its bound."""
    decorator = marks_of(node, facts).get(ON_FUNCTION)
    if decorator is None:
        return
    bound = literal_bound(decorator)
    for part in ast.walk(node):
        match part:
            case ast.Call(args=[_], keywords=[]) if (
                sdk_name(part.func, facts) == _RANGE
            ):
                nodes.pay(1, part)
                part.args.append(ast.copy_location(ast.Constant(bound), part))
            case _:
                pass


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _located(statement: ast.stmt, node: ast.stmt) -> ast.stmt:
    ast.copy_location(statement, node)
    return ast.fix_missing_locations(statement)
