"""Charges and guards: the tree as it runs (sandbox-internals.md §2).

Every block begins by paying for itself in full; a block that is entered after a halt
raises again at its head, because the counter stays below zero. The module becomes the
body of a function with three free variables, `_cycles`, `_depth` and `_memory`, which
the interpreter binds to the cells of a meter.
"""

import ast
from collections.abc import Iterable, Mapping
from typing import cast

from pvm import costs
from pvm.compiler.block_costs import BlockCosts
from pvm.compiler.facts import Facts, is_step
from pvm.compiler.instrument.blocks import ENTRY_DEPTH
from pvm.compiler.instrument.context import Scope
from pvm.compiler.instrument.definitions import Definitions
from pvm.compiler.pricing import FREE, price
from pvm.compiler.syntax import tree as syntax
from pvm.compiler.syntax.visitor import children, handled
from pvm.language import CELLS, MODULE_FUNCTION

_IN_PLACE: Mapping[type[ast.operator], str] = {
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.BitAnd: "and",
    ast.Sub: "sub",
}


def instrument(
    tree: ast.Module,
    facts: Facts,
    block_costs: BlockCosts | None = None,
    *,
    is_library: bool = False,
) -> ast.Module:
    """The instrumented module of a tree that passed the gate; `facts` are of it.

    With block costs its blocks are written down, and each says when it is paid. The
    functions of a library are called in the loops of other modules.
    """
    writer = _Statements(facts, _WRITTEN)
    writer.block_costs = block_costs
    writer.is_library = is_library
    return writer.module(tree)


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
        self.scope = Scope(is_module=True, is_hot=self.is_library, has_depth=True)
        names = module_names(tree.body)
        body = self.charge(self.pricing.block(tree.body), tree.body)
        body += self.statements(tree.body)
        here = self.here
        head: list[ast.stmt] = [here.put(ast.Nonlocal(list(CELLS)))]
        if names:
            head.append(here.put(ast.Global(names)))
        head.append(here.assign(ENTRY_DEPTH, here.load("_depth")))
        # Each cell is a free variable of the module, used there or not.
        head += [here.do(here.load(cell)) for cell in CELLS]
        module = syntax.function(MODULE_FUNCTION, here.parameters(), [*head, *body])
        cells = ast.Assign([here.store(cell) for cell in CELLS], here.constant(0))
        inner: list[ast.stmt] = [here.put(cells), here.put(module)]
        outer = syntax.function("_outer", here.parameters(), inner)
        return ast.Module([here.put(outer)], [])

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
            resumed = self._yield(node.value)
            node.targets = list(map(self.target, node.targets))
            node.value = self.here.constant(None)
            return [*resumed, node]
        first = node.targets[0]
        if len(node.targets) == 1 and isinstance(first, ast.Name):
            node.value = self.rewrite(node.value)
            return [node]
        if (
            len(node.targets) == 1
            and isinstance(first, ast.Subscript)
            and isinstance(first.slice, ast.Slice)
        ):
            return [self.here.do(self._set_slice(first, node.value))]
        value = self.rewrite(node.value)
        if any(_has_star(target) for target in node.targets):
            value = self.here.call("_star", value)
        node.targets, node.value = list(map(self.target, node.targets)), value
        return [node]

    def _set_slice(self, target: ast.Subscript, value: ast.expr) -> ast.expr:
        bounds = self.bounds(cast("ast.Slice", target.slice))
        written = self.rewrite(value)
        return self.here.call(
            "_set_slice", written, self.rewrite(target.value), *bounds
        )

    def _write_augassign(self, node: ast.AugAssign) -> list[ast.stmt]:
        """`x += v` on a name; a list is changed in place."""
        target = cast("ast.Name", node.target)
        name = target.id
        step = self.here.binary(self.here.load(name), node.op, node.value)
        if is_step(step, self.scope.counters):
            return [self.here.assign(name, step)]
        value = self.rewrite(node.value)
        before: list[ast.stmt] = []
        left: ast.expr = self.here.load(name)
        if not syntax.is_atom(value):
            held, result = self.temporary(), self.temporary()
            before = [self.here.assign(held, left), self.here.assign(result, value)]
            left, value = self.here.load(held), self.here.load(result)
        if isinstance(node.op, ast.BitOr | ast.BitXor | ast.BitAnd | ast.Sub):
            return [
                *before,
                self.here.assign(name, self._in_place(left, node.op, value)),
            ]
        if not isinstance(node.op, ast.Add | ast.Mult):
            number = node.value if isinstance(node.value, ast.Constant) else value
            operation = self.here.binary(left, node.op, number)
            return [*before, self.here.assign(name, self.rewrite(operation))]
        helper = "_iadd" if isinstance(node.op, ast.Add) else "_imul"
        in_place: ast.expr = self.here.call(helper, left, value)
        if isinstance(node.op, ast.Add) and self.inlines():
            total = self.here.bind(
                self.temporary(),
                self.here.binary(left, node.op, value),
            )
            test = self.here.conjunction(
                self.here.has_class(left, "_int"), self.here.is_short_int(total)
            )
            in_place = self.here.either(test, self.here.load(total.target.id), in_place)
        return [*before, self.here.assign(name, in_place)]

    def _in_place(
        self, left: ast.expr, operator: ast.operator, right: ast.expr
    ) -> ast.expr:
        """An operation between atoms that changes a set where it is."""
        name = self.here.constant(_IN_PLACE[type(operator)])
        helper = self.here.call("_in_place", name, left, right)
        if not isinstance(operator, ast.Sub):
            return helper
        result = syntax.TEMPORARY + "0"
        plain = self.here.binary(left, operator, right)
        test = self.here.conjunction(
            self.here.has_class(left, "_int"),
            self.here.is_short_int(self.here.bind(result, plain)),
        )
        return self.here.either(test, self.here.load(result), helper)

    def _write_delete(self, node: ast.Delete) -> list[ast.stmt]:
        return [
            statement for one in node.targets for statement in self._delete_one(one)
        ]

    def _delete_one(self, node: ast.expr) -> list[ast.stmt]:
        match node:
            case ast.Name():
                return [self._delete_target(node)]
            case ast.Attribute(value=value):
                node.value = self.rewrite(value)
                return [self._delete_target(node)]
            case ast.Subscript(value=value, slice=ast.Slice() as bounds):
                parts = [self.rewrite(value), *self.bounds(bounds)]
                return [self.here.do(self.here.call("_delete_slice", *parts))]
            case ast.Subscript(value=value, slice=key):
                pair = self.rewrite(value), self.rewrite(key)
                return [self.here.do(self.here.call("_delete", *pair))]
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return [one for part in elements for one in self._delete_one(part)]
            case _:
                raise AssertionError(f"{type(node).__name__} cannot be deleted")

    def _delete_target(self, node: ast.expr) -> ast.stmt:
        return self.here.put(ast.Delete([node]))

    def _write_raise(self, node: ast.Raise) -> list[ast.stmt]:
        if node.exc is None:
            caught = self.here.load(self.caught[-1])
            node.exc = self.here.call("_again", caught)
            return [node]
        exception = self.class_name(node.exc) or self.rewrite(node.exc)
        arguments = [exception]
        if node.cause is not None:
            arguments.append(self.rewrite(node.cause))
        helper = "_made" if self.pricing.makes_exception(node) else "_said"
        node.exc, node.cause = self.here.call(helper, *arguments), None
        return [node]

    def _write_assert(self, node: ast.Assert) -> list[ast.stmt]:
        message = [] if node.msg is None else [self.rewrite(node.msg)]
        test = self.here.negation(self.rewrite(node.test))
        failed = ast.Raise(self.here.call("_failed", *message))
        return [self.here.when(test, self.here.put(failed))]

    def _write_import(self, node: ast.Import) -> list[ast.stmt]:
        return [
            self.here.assign(
                alias.asname or alias.name,
                self.here.call("_import", self.here.constant(alias.name)),
            )
            for alias in node.names
        ]

    def _write_importfrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        return [
            self.here.assign(
                alias.asname or alias.name,
                self.here.call(
                    "_import_from",
                    self.here.constant(node.module),
                    self.here.constant(alias.name),
                ),
            )
            for alias in node.names
        ]

    def _write_if(self, node: ast.If) -> list[ast.stmt]:
        node.test = self.rewrite(node.test)
        if self.pricing.is_lumped(node):
            body = self.statements(node.body) or [self.nothing()]
            orelse = self.statements(node.orelse)
        else:
            body = self.block(node.body)
            orelse = self.block(node.orelse) if node.orelse else []
        node.body, node.orelse = body, orelse
        return [node]

    def _write_while(self, node: ast.While) -> list[ast.stmt]:
        paid = costs.WHILE_ROUND + self.pricing.test(node.test)
        before = self.scope.enter_loop()
        node.test = self.rewrite(node.test)
        self.scope.is_hot, self.scope.in_loop = before
        node.body = self.round(node.body, paid)
        node.orelse = self.block(node.orelse) if node.orelse else []
        return [node]

    def _write_for(self, node: ast.For) -> list[ast.stmt]:
        round_ = costs.FOR_ROUND + self.pricing.expression(node.target)
        node.iter, more = self._source(node)
        node.target = self.target(node.target)
        node.body = self.round(node.body, round_ + more)
        node.orelse = self.block(node.orelse) if node.orelse else []
        return [node]

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
                source = self.here.call(f"_{name}", *self.rewrite_all(arguments))
                return source, price(size, bytes_)
            case source:
                return self.rewrite(source), FREE


_WRITTEN = handled(_Statements, "_write_")


def _has_star(target: ast.expr) -> bool:
    return isinstance(target, ast.Tuple | ast.List) and any(
        isinstance(element, ast.Starred) for element in target.elts
    )
