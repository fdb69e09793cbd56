"""Charges and guards: the tree as it runs (sandbox.md §2).

Every block begins by paying for itself in full; a block that is entered after a halt
raises again at its head, because the counter stays below zero. The module becomes the
body of a function with three free variables, `_cycles`, `_depth` and `_memory`, which
the interpreter binds to the cells of a meter.
"""

import ast
from collections.abc import Iterable, Mapping
from typing import cast

from pvm import costs, syntax
from pvm.blocks import ENTRY_DEPTH
from pvm.definitions import Definitions
from pvm.facts import Facts
from pvm.ledger import Ledger
from pvm.parser import flatten_positions
from pvm.pricing import FREE, price
from pvm.syntax import assign, call, constant, load, store
from pvm.walking import children, handled
from pvm.writer import Scope

CELLS = ("_cycles", "_depth", "_memory")
"""Free variables of the module's function, in the order of their names."""

MODULE_FUNCTION = "_module"

_IN_PLACE: Mapping[type[ast.operator], str] = {
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.BitAnd: "and",
    ast.Sub: "sub",
}


def instrument(
    tree: ast.Module, facts: Facts, ledger: Ledger | None = None
) -> ast.Module:
    """The instrumented module of a tree that passed the gate; `facts` are of it.

    With a ledger its blocks are written down, and each says when it is paid.
    """
    writer = _Statements(facts, _WRITTEN)
    writer.ledger = ledger
    module = writer.module(tree)
    flatten_positions(module)
    return module


def module_names(body: Iterable[ast.stmt]) -> list[str]:
    """Names that a module's own statements bind, in order, each once."""
    names: dict[str, None] = {}
    stack: list[ast.AST] = list(reversed(list(body)))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] = None
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names[node.id] = None
        elif isinstance(node, ast.ExceptHandler) and node.name is not None:
            names[node.name] = None
        elif isinstance(node, ast.alias):
            names[node.asname or node.name] = None
        below = children(node)
        if isinstance(node, ast.comprehension):
            below.remove(node.target)
        stack += reversed(below)
    return [name for name in names if not name.startswith("hidden_")]


class _Statements(Definitions):
    """Rewrites the statements of one module."""

    def module(self, tree: ast.Module) -> ast.Module:
        self.scope = Scope(is_module=True, has_depth=True)
        body = self.charge(self.pricing.block(tree.body), tree.body)
        body += self.statements(tree.body)
        names = module_names(tree.body)
        head: list[ast.stmt] = [ast.Nonlocal(list(CELLS))]
        if names:
            head.append(ast.Global(names))
        head += [assign(ENTRY_DEPTH, load("_depth")), *_touch_cells()]
        module = syntax.function(MODULE_FUNCTION, syntax.parameters(), [*head, *body])
        cells = ast.Assign([store(cell) for cell in CELLS], constant(0))
        outer = syntax.function("_outer", syntax.parameters(), [cells, module])
        return ast.Module([outer], [])

    def _write_pass(self, _node: ast.stmt) -> list[ast.stmt]:
        return []

    def _write_break(self, node: ast.stmt) -> list[ast.stmt]:
        return [node]

    _write_continue = _write_break

    _write_nonlocal = _write_break

    def _write_global(self, node: ast.Global) -> list[ast.stmt]:
        return [] if self.scope.is_module else [node]

    def _write_return(self, node: ast.Return) -> list[ast.stmt]:
        node.value = self.rewrite_optional(node.value)
        return [node]

    def _write_assign(self, node: ast.Assign) -> list[ast.stmt]:
        if isinstance(node.value, ast.Yield):
            nothing = ast.Assign(list(map(self.target, node.targets)), constant(None))
            return [*self._yield(node.value), nothing]
        first = node.targets[0]
        if (
            len(node.targets) == 1
            and isinstance(first, ast.Subscript)
            and isinstance(first.slice, ast.Slice)
        ):
            return [ast.Expr(self._set_slice(first, node.value))]
        value = self.rewrite(node.value)
        if any(_has_star(target) for target in node.targets):
            value = call("_star", value)
        node.targets, node.value = list(map(self.target, node.targets)), value
        return [node]

    def _set_slice(self, target: ast.Subscript, value: ast.expr) -> ast.expr:
        bounds = self.bounds(cast("ast.Slice", target.slice))
        written = self.rewrite(value)
        return call("_set_slice", written, self.rewrite(target.value), *bounds)

    def _write_augassign(self, node: ast.AugAssign) -> list[ast.stmt]:
        """`x += v` on a name; a list is changed in place."""
        target = cast("ast.Name", node.target)
        name = target.id
        value = self.rewrite(node.value)
        before: list[ast.stmt] = []
        left: ast.expr = load(name)
        if not syntax.is_atom(value):
            held, result = self.temporary(), self.temporary()
            before = [assign(held, left), assign(result, value)]
            left, value = load(held), load(result)
        if isinstance(node.op, ast.BitOr | ast.BitXor | ast.BitAnd | ast.Sub):
            return [*before, assign(name, _in_place(left, node.op, value))]
        if not isinstance(node.op, ast.Add | ast.Mult):
            number = node.value if isinstance(node.value, ast.Constant) else value
            operation = ast.BinOp(left, node.op, number)
            return [*before, assign(name, self.rewrite(operation))]
        helper = "_iadd" if isinstance(node.op, ast.Add) else "_imul"
        in_place: ast.expr = call(helper, syntax.again(left), syntax.again(value))
        if isinstance(node.op, ast.Add) and self.inlines():
            total = syntax.bind(
                self.temporary(),
                ast.BinOp(syntax.again(left), ast.Add(), syntax.again(value)),
            )
            test = syntax.conjunction(
                syntax.has_class(left, "_int"), syntax.is_short_int(total)
            )
            in_place = syntax.either(test, syntax.again(total.target), in_place)
        return [*before, assign(name, in_place)]

    def _write_delete(self, node: ast.Delete) -> list[ast.stmt]:
        return [
            statement for one in node.targets for statement in self._delete_one(one)
        ]

    def _delete_one(self, node: ast.expr) -> list[ast.stmt]:
        match node:
            case ast.Name():
                return [ast.Delete([node])]
            case ast.Attribute(value=value, attr=name):
                target = ast.Attribute(self.rewrite(value), name, ast.Del())
                return [ast.Delete([target])]
            case ast.Subscript(value=value, slice=ast.Slice() as bounds):
                parts = [self.rewrite(value), *self.bounds(bounds)]
                return [ast.Expr(call("_delete_slice", *parts))]
            case ast.Subscript(value=value, slice=key):
                pair = self.rewrite(value), self.rewrite(key)
                return [ast.Expr(call("_delete", *pair))]
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return [one for part in elements for one in self._delete_one(part)]
            case _:
                raise AssertionError(f"{type(node).__name__} cannot be deleted")

    def _write_raise(self, node: ast.Raise) -> list[ast.stmt]:
        if node.exc is None:
            return [ast.Raise(call("_again", load(self.caught[-1])))]
        exception = self.class_name(node.exc) or self.rewrite(node.exc)
        arguments = [exception]
        if node.cause is not None:
            arguments.append(self.rewrite(node.cause))
        helper = "_made" if self.pricing.makes_exception(node) else "_said"
        return [ast.Raise(call(helper, *arguments))]

    def _write_assert(self, node: ast.Assert) -> list[ast.stmt]:
        message = [] if node.msg is None else [self.rewrite(node.msg)]
        test = ast.UnaryOp(ast.Not(), self.rewrite(node.test))
        failed = ast.Raise(call("_failed", *message))
        return [ast.If(test, [failed], [])]

    def _write_import(self, node: ast.Import) -> list[ast.stmt]:
        return [
            assign(alias.asname or alias.name, call("_import", constant(alias.name)))
            for alias in node.names
        ]

    def _write_importfrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        return [
            assign(
                alias.asname or alias.name,
                call("_import_from", constant(node.module), constant(alias.name)),
            )
            for alias in node.names
        ]

    def _write_if(self, node: ast.If) -> list[ast.stmt]:
        node.test = self.rewrite(node.test)
        if self.pricing.is_lumped(node):
            body = self.statements(node.body) or [ast.Pass()]
            orelse = self.statements(node.orelse)
        else:
            body = self.block(node.body)
            orelse = self.block(node.orelse) if node.orelse else []
        node.body, node.orelse = body, orelse
        return [node]

    def _write_while(self, node: ast.While) -> list[ast.stmt]:
        paid = costs.WHILE_ROUND + self.pricing.expression(node.test)
        test = self.rewrite(node.test)
        body = self.block(node.body, paid)
        orelse = self.block(node.orelse) if node.orelse else []
        return [ast.While(test, body, orelse)]

    def _write_for(self, node: ast.For) -> list[ast.stmt]:
        source, paid = self._source(node)
        target = self.target(node.target)
        paid += costs.FOR_ROUND + self.pricing.expression(node.target)
        body = self.block(node.body, paid)
        orelse = self.block(node.orelse) if node.orelse else []
        return [ast.For(target, source, body, orelse)]

    def _source(self, node: ast.For) -> tuple[ast.expr, int]:
        """What a loop runs over; `enumerate`, `zip` and `reversed` stay lazy."""
        match node.iter:
            case ast.Call(
                func=ast.Name(id=("enumerate" | "zip" | "reversed") as name),
                args=arguments,
                keywords=[],
            ) if self.facts.is_universal(name) and not (
                any(isinstance(argument, ast.Starred) for argument in arguments)
                or (name == "enumerate" and len(arguments) > 1)
            ):
                size = len(arguments)
                is_unpacked = isinstance(node.target, ast.Tuple | ast.List)
                held = 0 if is_unpacked or name == "reversed" else 8 * (size + 1)
                bytes_ = held and held + costs.SEQUENCE_BYTES
                source = ast.Call(load(f"_{name}"), self.rewrite_all(arguments), [])
                return source, price(size, bytes_)
            case source:
                return self.rewrite(source), FREE


_WRITTEN = handled(_Statements, "_write_")


def _touch_cells() -> list[ast.stmt]:
    """Make each cell a free variable of the module, used there or not."""
    return [ast.Expr(load(cell)) for cell in CELLS]


def _in_place(left: ast.expr, operator: ast.operator, right: ast.expr) -> ast.expr:
    """An operation between atoms that changes a set where it is."""
    name = constant(_IN_PLACE[type(operator)])
    helper = call("_in_place", name, syntax.again(left), syntax.again(right))
    if not isinstance(operator, ast.Sub):
        return helper
    result = syntax.TEMPORARY + "0"
    plain = ast.BinOp(syntax.again(left), operator, syntax.again(right))
    test = syntax.conjunction(
        syntax.has_class(left, "_int"),
        syntax.is_short_int(syntax.bind(result, plain)),
    )
    return syntax.either(test, load(result), helper)


def _has_star(target: ast.expr) -> bool:
    return isinstance(target, ast.Tuple | ast.List) and any(
        isinstance(element, ast.Starred) for element in target.elts
    )
