"""Functions, generators and classes: entry is paid, depth is counted.

A leaf counts no depth. A generator's function pays for the generator and returns it;
the generator counts on each resume, and while suspended leaves the depth as it was.
"""

import ast

from pvm import costs, leaves, syntax
from pvm.blocks import ENTRY_DEPTH
from pvm.facts import is_generator
from pvm.pricing import FREE, price
from pvm.protection import Protection
from pvm.syntax import assign, call, constant, load
from pvm.walking import survey
from pvm.writer import Scope


class Definitions(Protection):
    """Definitions, and the `yield` statement."""

    def _write_functiondef(self, node: ast.FunctionDef) -> list[ast.stmt]:
        return [self._write_function(node, FREE)]

    def _write_function(self, node: ast.FunctionDef, more: int) -> ast.FunctionDef:
        decorators = [self._decorator(decorator) for decorator in node.decorator_list]
        parameters = self.parameters(node.args)
        outer = self.scope, self.used, self.caught
        self.used, self.caught = set(), []
        if is_generator(self.facts, node):
            body = self._generator_body(node)
        else:
            body = self._body(node, more)
        self.scope, self.used, self.caught = outer
        return syntax.function(node.name, parameters, body, decorators)

    def _decorator(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Attribute) and node.attr == "setter":
            return node
        return self.rewrite_without_walrus(node)

    def _body(self, node: ast.FunctionDef, more: int) -> list[ast.stmt]:
        is_counted = not leaves.is_leaf(self.facts, node)
        subject = _first_parameter(node)
        self.scope = Scope(has_depth=is_counted, subject=subject)
        paid = self.pricing.block(node.body) + more + costs.FUNCTION_ENTRY
        if not is_counted:
            body = self.charge(paid, node.body) + self.statements(node.body)
            return self._declared(body)
        head = self.enter(paid, node.body)
        body = self.statements(node.body) or [ast.Pass()]
        restore = assign("_depth", load(ENTRY_DEPTH))
        return self._declared([*head, ast.Try(body, [], [], [restore])])

    def _generator_body(self, node: ast.FunctionDef) -> list[ast.stmt]:
        """Pay for the generator, then make it: `_generator(…)` has the body."""
        self.scope = Scope(has_depth=True)
        paid = self.pricing.block(node.body) + costs.RESUME
        head = self.enter(paid, node.body)
        body = self.statements(node.body)
        restore = ast.If(
            syntax.compare(load(ENTRY_DEPTH), ast.IsNot(), constant(None)),
            [assign("_depth", load(ENTRY_DEPTH))],
            [],
        )
        inner_body = self._declared([*head, ast.Try(body, [], [], [restore])])
        names = _parameter_names(node.args)
        inner = syntax.function("_generator", syntax.parameters(names), inner_body)
        self.used = set()
        cycles = costs.FUNCTION_ENTRY + costs.DEFINITION + costs.CALL
        made = call("_generator", *(load(name) for name in names))
        return self._declared(
            [
                *self.charge(price(cycles, costs.GENERATOR_BYTES)),
                inner,
                ast.Return(made),
            ]
        )

    def _declared(self, body: list[ast.stmt]) -> list[ast.stmt]:
        cells = sorted(self.used)
        return [ast.Nonlocal(cells), *body] if cells else body

    def _write_classdef(self, node: ast.ClassDef) -> list[ast.stmt]:
        pays = any(
            isinstance(part, ast.FunctionDef) and part.name == "__init__"
            for part in node.body
        )
        instance = _instance_bytes(node) if pays else 0
        before, self.scope.allows_walrus = self.scope.allows_walrus, False
        body: list[ast.stmt] = []
        for part in node.body:
            if isinstance(part, ast.FunctionDef):
                self.pricing.prepaid_subject = _first_parameter(part) if pays else None
                more = price(0, instance) if part.name == "__init__" else FREE
                with self.place(part):
                    written = self._write_function(part, more)
                body.append(ast.copy_location(written, part))
                self.pricing.prepaid_subject = None
            else:
                body += self.statement(part)
        self.scope.allows_walrus = before
        bases = [self.class_name(base) or self.rewrite(base) for base in node.bases]
        return [syntax.class_(node.name, bases, body or [ast.Pass()])]

    def _write_expr(self, node: ast.Expr) -> list[ast.stmt]:
        if isinstance(node.value, ast.Constant):
            return []
        if isinstance(node.value, ast.Yield):
            return self._yield(node.value)
        node.value = self.rewrite(node.value)
        return [node]

    def _yield(self, node: ast.Yield) -> list[ast.stmt]:
        """Leave the depth as it was found while suspended; pay on resuming."""
        value = constant(None) if node.value is None else self.rewrite(node.value)
        name = self.temporary()
        self.used.update(("_cycles", "_depth"))
        return [
            assign(name, value),
            assign("_depth", load(ENTRY_DEPTH)),
            assign(ENTRY_DEPTH, constant(None)),
            ast.Expr(ast.Yield(load(name))),
            *self.enter(costs.RESUME),
        ]


def _instance_bytes(node: ast.ClassDef) -> int:
    """What an instance takes, with every attribute that its class writes."""
    attributes = {
        part.attr
        for part in survey(node).of(ast.Attribute)
        if part.ctx.__class__ is ast.Store
    }
    return costs.INSTANCE_BYTES + costs.ATTRIBUTE_BYTES * len(attributes)


def _parameter_names(node: ast.arguments) -> list[str]:
    every = [*node.posonlyargs, *node.args, *node.kwonlyargs]
    every += [one for one in (node.vararg, node.kwarg) if one is not None]
    return [one.arg for one in every]


def _first_parameter(node: ast.FunctionDef) -> str | None:
    every = [*node.args.posonlyargs, *node.args.args]
    return every[0].arg if every else None
