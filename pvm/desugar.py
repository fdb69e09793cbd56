"""Our changes of meaning, and what RestrictedPython would refuse, in plain statements.

Before → after (sandbox.md §2); temporaries and helpers have the prefix `hidden_`,
which no actor may use:

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
* `@dataclass` classes → with their methods written out (`records`)
* `class E(Enum)` → `class E(hidden_enum)`, `hidden_members(E)`
* `ABC` as a base and `@abstractmethod` are dropped
* a class that would take its `__init__` from C gets an empty one, which carries the
  price of an instance
"""

import ast
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

from typing_extensions import override

from pvm import enum_bodies, language, records
from pvm.facts import ENUM, Facts
from pvm.walking import FIELDS

_Node = TypeVar("_Node", bound=ast.AST)

SET = "hidden_set"
ITERATOR = "hidden_iterator"
CLASS_NAME = "hidden_name"
DUNDER_PREFIX = "hidden_dunder_"
MEMBERS = "hidden_members"

_DROPPED = language.INERT_MODULES | language.COMPILER_MODULES.keys()


_CALLED = frozenset({"getattr", "hasattr", "next"})
"""Functions whose arguments are rewritten."""


def desugar(tree: ast.Module, facts: Facts) -> ast.Module:
    """Rewrite a tree that the policy accepted; statements have places then."""
    _Desugarer(facts).visit(tree)
    return tree


def public_name(name: str) -> str:
    """What the actor wrote for a name that was rewritten."""
    return name.removeprefix("private") if name.startswith("private_") else name


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


_Visit = Callable[..., object]  # type: ignore[explicit-any] # by kind of node


class _Desugarer(ast.NodeTransformer):
    """Visits bottom up; a statement may become several."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.fields = records.all_fields(facts)
        self.temporaries = 0

    @override
    def visit(self, node: ast.AST) -> object:
        """What stands in the place of a node: a node, several statements or None."""
        return _VISITS[node.__class__](self, node)

    @override
    def generic_visit(self, node: ast.AST) -> ast.AST:
        """As the base class does it, without asking each field what it holds."""
        for field in FIELDS[node.__class__]:
            value = getattr(node, field)
            kind = value.__class__
            if kind is list:
                if value:
                    self._visit_all(value)
            elif value is not None and kind is not ast.Constant:
                found = _VISITS[kind](self, value)
                if found is not value:
                    setattr(node, field, found)
        return node

    def _visit_all(self, nodes: list[ast.AST | None]) -> None:
        after: list[object] = []
        is_same = True
        for node in nodes:
            found = node if node is None else _VISITS[node.__class__](self, node)
            if found is node:
                after.append(found)
                continue
            is_same = False
            if found.__class__ is list:
                after += cast("list[ast.stmt]", found)
            elif found is not None:
                after.append(found)
        if not is_same:
            nodes[:] = cast("list[ast.AST | None]", after)

    def temporary(self) -> str:
        self.temporaries += 1
        return f"hidden_{self.temporaries}"

    def inside(self, node: _Node) -> _Node:
        self.generic_visit(node)
        return node

    # ---- names

    @override
    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id[0] == "_":
            node.id = _private(node.id)
        return node

    @override
    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = _private(node.arg)
        node.annotation = None
        return node

    @override
    def visit_alias(self, node: ast.alias) -> ast.alias:
        if node.asname is not None:
            node.asname = _private(node.asname)
        return node

    @override
    def visit_Global(self, node: ast.Global) -> ast.Global:
        node.names = [_private(name) for name in node.names]
        return node

    @override
    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.Nonlocal:
        node.names = [_private(name) for name in node.names]
        return node

    @override
    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        if node.name is not None:
            node.name = _private(node.name)
        return self.inside(node)

    @override
    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr == "__name__":
            subject = node.value
            inner = (
                subject.args[0]
                if isinstance(subject, ast.Call)
                else cast("ast.Attribute", subject).value
            )
            return _call(CLASS_NAME, node, cast("ast.expr", self.visit(inner)))
        if node.attr.startswith("__"):
            node.attr = DUNDER_PREFIX + node.attr.strip("_")
        elif node.attr[0] == "_":
            node.attr = _private(node.attr)
        node.value = cast("ast.expr", self.visit(node.value))
        return node

    # ---- expressions

    @override
    def visit_Set(self, node: ast.Set) -> ast.expr:
        self.generic_visit(node)
        return _call(SET, node, _put(ast.List(node.elts, ast.Load()), node))

    @override
    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        self.generic_visit(node)
        return _call(SET, node, _put(ast.ListComp(node.elt, node.generators), node))

    @override
    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        self.generic_visit(node)
        return _put(ast.ListComp(node.elt, node.generators), node)

    @override
    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        is_iterated = bool(node.args) and isinstance(node.args[0], ast.GeneratorExp)
        self.generic_visit(node)
        if name not in _CALLED:
            return node
        if name == "next" and is_iterated:
            node.args[0] = _call(ITERATOR, node, node.args[0])
        match node:
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr"),
                args=[_, ast.Constant(value=str(name)) as literal, *_],
            ):
                literal.value = _private(name)
            case _:
                pass
        return node

    # ---- statements

    @override
    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        target = cast("ast.expr", self.visit(node.target))
        if node.value is None:
            return _put(ast.Pass(), node)
        value = cast("ast.expr", self.visit(node.value))
        return _put(ast.Assign([target], value), node)

    @override
    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt | list[ast.stmt]:
        self.temporaries = 0
        self.generic_visit(node)
        target = node.target
        if isinstance(target, ast.Name):
            return node
        subject, result = self.temporary(), self.temporary()
        statements: list[ast.stmt] = [ast.Assign([_store(subject, node)], target.value)]
        load: ast.expr
        store: ast.expr
        if isinstance(target, ast.Attribute):
            load = ast.Attribute(_load(subject, node), target.attr, ast.Load())
            store = ast.Attribute(_load(subject, node), target.attr, ast.Store())
        else:
            key = target.slice
            if not isinstance(key, ast.Constant):
                key = _load(self.temporary(), node)
                statements.append(ast.Assign([_store(key.id, node)], target.slice))
            load = ast.Subscript(_load(subject, node), key, ast.Load())
            store = ast.Subscript(_load(subject, node), key, ast.Store())
        statements += [
            ast.Assign([_store(result, node)], _put(load, node)),
            ast.AugAssign(_store(result, node), node.op, node.value),
            ast.Assign([_put(store, node)], _load(result, node)),
        ]
        return [_put(statement, node) for statement in statements]

    @override
    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        self.generic_visit(node)
        if not isinstance(node.value, ast.YieldFrom):
            return node
        item = "hidden_yielded"
        value = _put(ast.Yield(_load(item, node)), node)
        body = _put(ast.Expr(value), node)
        return _put(ast.For(_store(item, node), node.value.value, [body], []), node)

    @override
    def visit_Import(self, node: ast.Import) -> ast.stmt | None:
        self.generic_visit(node)
        node.names = [alias for alias in node.names if alias.name not in _DROPPED]
        return node if node.names else None

    @override
    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt | None:
        self.generic_visit(node)
        return None if node.module in _DROPPED else node

    # ---- functions and classes

    @override
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.name = _private(node.name)
        node.returns = None
        node.decorator_list = [
            one
            for one in node.decorator_list
            if self.facts.meaning(one) != "abc.abstractmethod"
        ]
        return self.inside(node)

    @override
    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef | list[ast.stmt]:
        if self.facts.is_enum(node.name):
            return self._enum(node)
        if node.name in self.fields:
            node = records.written_out(self.facts, node, self.fields[node.name])
        node.bases = [
            base for base in node.bases if self.facts.meaning(base) != "abc.ABC"
        ]
        node.name = _private(node.name)
        self.generic_visit(node)
        has_own = any(
            isinstance(statement, ast.FunctionDef) and statement.name == "__init__"
            for statement in node.body
        )
        first = node.bases[0] if node.bases else None
        is_native = first is None or (
            isinstance(first, ast.Name)
            and first.id in language.EXCEPTIONS
            and self.facts.is_universal(first.id)
        )
        if not has_own and is_native:
            node.body.append(_empty_init(node, takes_arguments=first is not None))
        return node

    def _enum(self, node: ast.ClassDef) -> list[ast.stmt]:
        """An Enum, and the call that makes its members."""
        enum_bodies.number(self.facts, node)
        node.bases = [_load(ENUM, node)]
        node.name = _private(node.name)
        self.generic_visit(node)
        made = ast.Expr(_call(MEMBERS, node, _load(node.name, node)))
        return [node, _put(made, node)]


_VISITS: Mapping[type[ast.AST], _Visit] = {
    kind: getattr(_Desugarer, f"visit_{kind.__name__}", _Desugarer.generic_visit)
    for kind in language.NODES
}


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
