"""Our changes of meaning, and what RestrictedPython would refuse, in plain statements.

Before → after (sandbox-internals.md §2); temporaries and helpers have the prefix
`hidden_`, which no actor may use:

* `self._x` → `self.private_x`; `_` alone stays free
* `self.d[k()] += v` → `hidden_1 = self.d; hidden_2 = k(); hidden_3 = …; hidden_3 += v;
  hidden_1[hidden_2] = hidden_3`
* `{a, b}`, `{f(x) for x in y}` → `hidden_set([…])`, insertion-ordered
* `(f(x) for x in y)` → `[f(x) for x in y]`, as the first argument of `next` an
  iterator of it
* `x: int = 1` → `x = 1`; annotations are dropped, never evaluated
* `yield from x` → `for hidden_1 in x: yield hidden_1`
* `type(x).__name__`, `x.__class__.__name__` → `hidden_name(x)`
* `super().__init__()` → `super().hidden_dunder_init()`
* imports of inert modules are dropped
* `@dataclass` classes → with their methods written out (`dataclasses`)
* `class E(Enum)` → `class E(hidden_enum)`, `hidden_members(E)`
* `ABC` and `cowboy_sdk.Actor` as a base and `@abstractmethod` are dropped, and so is
  the import of such an `Actor` by name
* a class that would take its `__init__` from C gets an empty one, which carries the
  price of an instance
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar, cast

from pvm import language
from pvm.compiler.facts import ENUM, Facts
from pvm.compiler.lowering import dataclasses, enums
from pvm.compiler.lowering.decorators import ACTOR
from pvm.compiler.syntax.visitor import Survey, blocks_of, parameters, survey
from pvm.node_charges import Nodes

SET = "hidden_set"
ITERATOR = "hidden_iterator"
CLASS_NAME = "hidden_name"
DUNDER_PREFIX = "hidden_dunder_"
MEMBERS = "hidden_members"

_OF_AUGMENTED = 14  # nodes written for `x[k] += v` or `x.a += v`, more
_OF_YIELD = 4  # a generator compiles as a function inside a function
_OF_YIELD_FROM = 4
_OF_ENUM = 4
_OF_EMPTY_INIT = 5
_OF_WITH = 10  # `try` and helpers of each manager

_DROPPED = language.INERT_MODULES | language.COMPILER_MODULES.keys()
_DROPPED_BASES = frozenset({"abc.ABC", ACTOR})


def desugar(tree: ast.Module, facts: Facts, nodes: Nodes | None = None) -> Survey:
    """Rewrite a tree that the policy accepted; statements have places then.

    Statements first, which may become several; then expressions, each where it stands.

    Args:
        tree: what is rewritten in place.
        facts: of that tree.
        nodes: what pays for what is written out.

    Returns:
        the nodes of the tree as it is then.
    """
    nodes = nodes or Nodes()
    _write_block(_DesugarContext(facts, nodes), tree.body)
    found = survey(tree)
    nodes.pay(2 * sum(len(found.of(kind)) for kind in (ast.Set, ast.SetComp)))
    nodes.pay(_OF_YIELD * len(found.of(ast.Yield)))
    if _rewrite_expressions(facts, found):
        found = survey(tree)
    _rename(found)
    return found


def _private(name: str) -> str:
    is_private = name.startswith("_") and name != "_" and not name.startswith("__")
    return "private" + name if is_private else name


_Placed = TypeVar("_Placed", bound=ast.expr | ast.stmt | ast.arg)


def _put(new: _Placed, node: ast.expr | ast.stmt) -> _Placed:
    """A new node, put where `node` stands."""
    new.lineno, new.end_lineno = node.lineno, node.end_lineno
    new.col_offset, new.end_col_offset = node.col_offset, node.end_col_offset
    return new


def _load(name: str, node: ast.expr | ast.stmt) -> ast.Name:
    return _put(ast.Name(name, ast.Load()), node)


def _store(name: str, node: ast.expr | ast.stmt) -> ast.Name:
    return _put(ast.Name(name, ast.Store()), node)


def _call(name: str, node: ast.expr | ast.stmt, *arguments: ast.expr) -> ast.Call:
    return _put(ast.Call(_load(name, node), list(arguments), []), node)


class _DesugarContext:
    """What the functions share that rewrite the statements of a module."""

    def __init__(self, facts: Facts, nodes: Nodes) -> None:
        self.facts = facts
        self.nodes = nodes
        self.records = dataclasses.records_of(facts)
        self.temporaries = 0

    def temporary(self) -> str:
        self.temporaries += 1
        return f"hidden_{self.temporaries}"


def _write_block(context: _DesugarContext, statements: list[ast.stmt]) -> None:
    """Rewrite the statements of a block, in place."""
    after: list[ast.stmt] = []
    for node in statements:
        write = _STATEMENTS.get(node.__class__)
        after += (node,) if write is None else write(context, node)
    statements[:] = after
    for node in after:
        for block in blocks_of(node):
            _write_block(context, block)


def _write_annotated(
    _context: _DesugarContext, node: ast.AnnAssign
) -> Iterable[ast.stmt]:
    if node.value is None:
        return (_put(ast.Pass(), node),)
    return (_put(ast.Assign([node.target], node.value), node),)


def _write_augmented(
    context: _DesugarContext, node: ast.AugAssign
) -> Iterable[ast.stmt]:
    context.temporaries = 0
    target = node.target
    if isinstance(target, ast.Name):
        return (node,)
    context.nodes.pay(_OF_AUGMENTED, node)
    subject, result = context.temporary(), context.temporary()
    statements: list[ast.stmt] = [ast.Assign([_store(subject, node)], target.value)]
    load: ast.expr
    store: ast.expr
    if isinstance(target, ast.Attribute):
        load = ast.Attribute(_load(subject, node), target.attr, ast.Load())
        store = ast.Attribute(_load(subject, node), target.attr, ast.Store())
    else:
        key = target.slice
        if not isinstance(key, ast.Constant):
            key = _load(context.temporary(), node)
            statements.append(ast.Assign([_store(key.id, node)], target.slice))
        load = ast.Subscript(_load(subject, node), key, ast.Load())
        store = ast.Subscript(_load(subject, node), key, ast.Store())
    statements += [
        ast.Assign([_store(result, node)], _put(load, node)),
        ast.AugAssign(_store(result, node), node.op, node.value),
        ast.Assign([_put(store, node)], _load(result, node)),
    ]
    return [_put(statement, node) for statement in statements]


def _write_expression_statement(
    context: _DesugarContext, node: ast.Expr
) -> Iterable[ast.stmt]:
    if not isinstance(node.value, ast.YieldFrom):
        return (node,)
    context.nodes.pay(_OF_YIELD_FROM, node)
    item = "hidden_yielded"
    value = _put(ast.Yield(_load(item, node)), node)
    body = _put(ast.Expr(value), node)
    return (_put(ast.For(_store(item, node), node.value.value, [body], []), node),)


def _write_with(context: _DesugarContext, node: ast.With) -> Iterable[ast.stmt]:
    context.nodes.pay(_OF_WITH * len(node.items), node)
    return (node,)


def _write_import(_context: _DesugarContext, node: ast.Import) -> Iterable[ast.stmt]:
    node.names = [alias for alias in node.names if alias.name not in _DROPPED]
    return (node,) if node.names else ()


def _write_import_from(
    _context: _DesugarContext, node: ast.ImportFrom
) -> Iterable[ast.stmt]:
    if node.module in _DROPPED:
        return ()
    node.names = [
        alias for alias in node.names if f"{node.module}.{alias.name}" != ACTOR
    ]
    return (node,) if node.names else ()


def _write_function_def(
    context: _DesugarContext, node: ast.FunctionDef
) -> Iterable[ast.stmt]:
    node.returns = None
    for parameter in parameters(node.args):
        parameter.annotation = None
    node.decorator_list = [
        one
        for one in node.decorator_list
        if context.facts.meaning(one) != "abc.abstractmethod"
    ]
    return (node,)


def _write_class_def(
    context: _DesugarContext, node: ast.ClassDef
) -> Iterable[ast.stmt]:
    if context.facts.is_enum(node.name):
        return _write_enum(context, node)
    record = context.records.get(node.name)
    if record is not None:
        node = dataclasses.written_out(context.facts, node, record, context.nodes)
    node.bases = [
        base for base in node.bases if context.facts.meaning(base) not in _DROPPED_BASES
    ]
    has_own = any(
        isinstance(statement, ast.FunctionDef) and statement.name == "__init__"
        for statement in node.body
    )
    first = node.bases[0] if node.bases else None
    is_native = first is None or (
        isinstance(first, ast.Name)
        and first.id in language.EXCEPTIONS
        and context.facts.is_universal(first.id)
    )
    if not has_own and is_native:
        context.nodes.pay(_OF_EMPTY_INIT, node)
        node.body.append(_empty_init(node, takes_arguments=first is not None))
    return (node,)


def _write_enum(context: _DesugarContext, node: ast.ClassDef) -> Iterable[ast.stmt]:
    """An Enum, and the call that makes its members."""
    context.nodes.pay(_OF_ENUM, node)
    enums.number(context.facts, node)
    node.bases = [_load(ENUM, node)]
    made = ast.Expr(_call(MEMBERS, node, _load(node.name, node)))
    return (node, _put(made, node))


_Write = Callable[..., Iterable[ast.stmt]]  # type: ignore[explicit-any] # by kind

_STATEMENTS: Mapping[type[ast.AST], _Write] = {
    ast.AnnAssign: _write_annotated,
    ast.AugAssign: _write_augmented,
    ast.ClassDef: _write_class_def,
    ast.Expr: _write_expression_statement,
    ast.FunctionDef: _write_function_def,
    ast.Import: _write_import,
    ast.ImportFrom: _write_import_from,
    ast.With: _write_with,
}
"""Statements around others come first; kinds that are not here stay as they are."""


# ---- expressions


def _rewrite_expressions(facts: Facts, found: Survey) -> bool:
    """Rewrite each expression where it stands; says if there was one to rewrite."""
    for call in found.of(ast.Call):
        if isinstance(call.func, ast.Name) and facts.is_universal(call.func.id):
            _rewrite_call(call.func.id, call)
    named = [node for node in found.of(ast.Attribute) if node.attr == "__name__"]
    for node in named:
        _become(node, _call(CLASS_NAME, node, _subject_of(node.value)))
    for display in found.of(ast.Set):
        items = _put(ast.List(display.elts, ast.Load()), display)
        _become(display, _call(SET, display, items))
    for comprehension in found.of(ast.SetComp):
        elt, generators = comprehension.elt, comprehension.generators
        listed = _put(ast.ListComp(elt, generators), comprehension)
        _become(comprehension, _call(SET, comprehension, listed))
    for generator in found.of(ast.GeneratorExp):
        _become(generator, ast.ListComp(generator.elt, generator.generators))
    return bool(named) or any(map(found.of, (ast.Set, ast.SetComp, ast.GeneratorExp)))


def _rewrite_call(name: str, node: ast.Call) -> None:
    if name == "next" and node.args and isinstance(node.args[0], ast.GeneratorExp):
        node.args[0] = _call(ITERATOR, node, node.args[0])
    elif name in {"getattr", "hasattr"}:
        match node.args:
            case [_, ast.Constant(value=str(attribute)) as literal, *_]:
                literal.value = _private(attribute)
            case _:
                pass


def _subject_of(node: ast.expr) -> ast.expr:
    """`x` of `type(x)` and of `x.__class__`."""
    if isinstance(node, ast.Call):
        return node.args[0]
    return cast("ast.Attribute", node).value


def _become(node: ast.expr, new: ast.expr) -> None:
    """Make a node what another is, at its own place."""
    _put(new, node)
    fields = vars(node)
    fields.clear()
    fields.update(vars(new))
    node.__class__ = new.__class__


# ---- names


_NAMING: Mapping[type[ast.AST], str] = {
    ast.Name: "id",
    ast.arg: "arg",
    ast.alias: "asname",
    ast.FunctionDef: "name",
    ast.ClassDef: "name",
    ast.ExceptHandler: "name",
}
"""Kind → the field that holds a name, or None."""

_DECLARING: tuple[type[ast.Global] | type[ast.Nonlocal], ...] = (
    ast.Global, ast.Nonlocal,
)  # fmt: skip


def _rename(found: Survey) -> None:
    """Give what begins with an underscore a name that RestrictedPython admits."""
    for kind, field in _NAMING.items():
        for node in found.of(kind):
            name = getattr(node, field)
            if name is not None and name[0] == "_":
                setattr(node, field, _private(name))
    for attribute in found.of(ast.Attribute):
        name = attribute.attr
        if name.startswith("__"):
            attribute.attr = DUNDER_PREFIX + name.strip("_")
        elif name[0] == "_":
            attribute.attr = _private(name)
    for names in (node.names for kind in _DECLARING for node in found.of(kind)):
        names[:] = [_private(name) for name in names]


def _empty_init(node: ast.ClassDef, *, takes_arguments: bool) -> ast.stmt:
    """An `__init__` that only pays; exceptions keep their arguments by `__new__`."""
    parameters = ast.arguments(
        posonlyargs=[],
        args=[_put(ast.arg("self"), node)],
        vararg=(_put(ast.arg("hidden_arguments"), node) if takes_arguments else None),
        kwonlyargs=[],
        kw_defaults=[],
        kwarg=None,
        defaults=[],
    )
    nothing = _put(ast.Pass(), node)
    function = ast.FunctionDef("__init__", parameters, [nothing], [])
    if "type_params" in ast.FunctionDef._fields:
        vars(function)["type_params"] = []  # 3.12
    function = _put(function, node)
    # RestrictedPython tells methods from functions by the column.
    function.col_offset = node.col_offset + 4
    return function
