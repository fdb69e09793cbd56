"""Functions, generators and classes: entry is paid, depth is counted.

A leaf counts no depth. A generator's function pays for the generator and returns it;
the generator counts on each resume, and while suspended leaves the depth as it was.
"""

import ast

from pvm import costs, language
from pvm.compiler.analysis import leaf_functions
from pvm.compiler.facts import counters, is_generator
from pvm.compiler.instrument.blocks import ENTRY_DEPTH
from pvm.compiler.instrument.context import Scope
from pvm.compiler.instrument.try_with import Protection
from pvm.compiler.pricing import FREE, price
from pvm.compiler.syntax import tree
from pvm.compiler.syntax.locations import flatten
from pvm.compiler.syntax.tree import Here
from pvm.compiler.syntax.visitor import blocks_of, parameters


class Definitions(Protection):
    """Definitions, and the `yield` statement."""

    def _write_functiondef(self, node: ast.FunctionDef) -> list[ast.stmt]:
        return [self._write_function(node, FREE)]

    def _write_function(self, node: ast.FunctionDef, more: int) -> ast.FunctionDef:
        decorators = [self._decorator(decorator) for decorator in node.decorator_list]
        self.defaults(node.args)
        outer = self.scope, self.used, self.caught
        self.used, self.caught = set(), []
        if is_generator(self.facts, node):
            body = self._generator_body(node)
        else:
            body = self._body(node, more)
        self.scope, self.used, self.caught = outer
        node.body, node.decorator_list = body, decorators
        node.end_lineno, node.end_col_offset = node.lineno, node.col_offset
        return node

    def _decorator(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Attribute) and node.attr == "setter":
            return node
        name = node.id if isinstance(node, ast.Name) else ""
        if name in language.DECORATORS and self.facts.is_universal(name):
            return self.here.load(f"_{name}")  # no actor can say that
        return self.rewrite_without_walrus(node)

    def _body(self, node: ast.FunctionDef, more: int) -> list[ast.stmt]:
        is_counted = not leaf_functions.is_leaf(self.facts, node)
        subject = _first_parameter(node)
        is_hot = self.is_called(node.name)
        self.scope = Scope(
            is_hot=is_hot,
            has_depth=is_counted,
            subject=subject,
            counters=counters(self.facts, node),
        )
        paid = self.pricing.block(node.body) + more + self.pricing.entry(node)
        if not is_counted:
            body = self.charge(paid, node.body) + self.statements(node.body)
            return self._declared(body)
        head = self.enter(paid, node.body)
        body = self.statements(node.body) or [self.nothing()]
        restore = self.here.assign("_depth", self.here.load(ENTRY_DEPTH))
        return self._declared([*head, self._restoring(body, restore)])

    def _restoring(self, body: list[ast.stmt], restore: ast.stmt) -> ast.Try:
        return self.here.put(ast.Try(body, [], [], [restore]))

    def _generator_body(self, node: ast.FunctionDef) -> list[ast.stmt]:
        """Pay for the generator, then make it: `_generator(…)` has the body."""
        self.scope = Scope(
            is_hot=self.is_called(node.name),
            has_depth=True,
            counters=counters(self.facts, node),
        )
        paid = self.pricing.block(node.body) + costs.RESUME
        making = self.pricing.generator(node)  # before its names are more
        head = self.enter(paid, node.body)
        body = self.statements(node.body)
        here = self.here
        depth = here.load(ENTRY_DEPTH)
        restore = here.when(
            here.compare(depth, tree.IS_NOT, here.constant(None)),
            here.assign("_depth", depth),
        )
        inner_body = self._declared([*head, self._restoring(body, restore)])
        names = [one.arg for one in parameters(node.args)]
        inner = here.put(
            tree.function("_generator", here.parameters(names), inner_body)
        )
        self.used = set()
        made = here.call("_generator", *map(here.load, names))
        return self._declared(
            [
                *self.charge(making),
                inner,
                here.put(ast.Return(made)),
            ]
        )

    def _declared(self, body: list[ast.stmt]) -> list[ast.stmt]:
        cells = sorted(self.used)
        return [self.here.put(ast.Nonlocal(cells)), *body] if cells else body

    def _write_classdef(self, node: ast.ClassDef) -> list[ast.stmt]:
        pays = any(
            isinstance(part, ast.FunctionDef) and part.name == "__init__"
            for part in node.body
        )
        instance = _instance_bytes(node) if pays else 0
        allowed, self.scope.allows_walrus = self.scope.allows_walrus, False
        body: list[ast.stmt] = []
        for part in node.body:
            if isinstance(part, ast.FunctionDef):
                self.pricing.prepaid_subject = _first_parameter(part) if pays else None
                more = price(0, instance) if part.name == "__init__" else FREE
                flatten(part)
                before, self.here = self.here, Here(part.lineno, part.col_offset)
                with self.place(part):
                    body.append(self._write_function(part, more))
                self.here = before
                self.pricing.prepaid_subject = None
            else:
                body += self.statement(part)
        self.scope.allows_walrus = allowed
        bases = [self.class_name(base) or self.rewrite(base) for base in node.bases]
        class_ = tree.class_(node.name, bases, body or [self.nothing()])
        return [self.here.put(class_)]

    def _write_expr(self, node: ast.Expr) -> list[ast.stmt]:
        if isinstance(node.value, ast.Constant):
            return []
        if isinstance(node.value, ast.Yield):
            return self._yield(node.value)
        node.value = self.rewrite(node.value)
        return [node]

    def _yield(self, node: ast.Yield) -> list[ast.stmt]:
        """Leave the depth as it was found while suspended; pay on resuming."""
        value = (
            self.here.constant(None) if node.value is None else self.rewrite(node.value)
        )
        name = self.temporary()
        self.used.update(("_cycles", "_depth"))
        return [
            self.here.assign(name, value),
            self.here.assign("_depth", self.here.load(ENTRY_DEPTH)),
            self.here.assign(ENTRY_DEPTH, self.here.constant(None)),
            self.here.do(self.here.put(ast.Yield(self.here.load(name)))),
            *self.enter(costs.RESUME),
        ]


def _instance_bytes(node: ast.ClassDef) -> int:
    """What an instance takes, with every attribute that its class writes."""
    attributes: set[str] = set()
    targets = _targets(node)
    for target in targets:  # which grows
        match target:
            case ast.Attribute(attr=name):
                attributes.add(name)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                targets += elements
            case ast.Starred(value=value):
                targets.append(value)
            case _:
                pass
    return costs.INSTANCE_BYTES + costs.ATTRIBUTE_BYTES * len(attributes)


def _targets(node: ast.ClassDef) -> list[ast.expr]:
    """What statements in a class assign to, at any depth: expressions bind names."""
    found: list[ast.expr] = []
    statements = list(node.body)
    for statement in statements:  # which grows
        match statement:
            case ast.Assign(targets=targets):
                found += targets
            case ast.For(target=target):
                found.append(target)
            case ast.With(items=items):
                found += [one.optional_vars for one in items if one.optional_vars]
            case _:
                pass
        for block in blocks_of(statement):
            statements += block
    return found


def _first_parameter(node: ast.FunctionDef) -> str | None:
    every = node.args.posonlyargs or node.args.args
    return every[0].arg if every else None
