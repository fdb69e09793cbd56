"""`try` and `with`: halts pass, depth is restored, exceptions are made readable."""

import ast
from collections.abc import Sequence
from typing import cast

from pvm import costs
from pvm.blocks import Blocks
from pvm.syntax import assign, call, constant, load
from pvm.walking import walk

_FATAL = ("_RecursionError", "_MemoryError")


class Protection(Blocks):
    """Statements that handle exceptions."""

    def _write_try(self, node: ast.Try) -> list[ast.stmt]:
        body = self.statements(node.body) or [ast.Pass()]
        handlers = [self._handler(handler) for handler in node.handlers]
        if handlers:
            handlers.insert(0, _fatal_handler())
        orelse = self.block(node.orelse) if node.orelse else []
        final: list[ast.stmt] = []
        if node.finalbody:
            final = self.restored(self.block(node.finalbody, costs.FINALLY))
        return [ast.Try(body, handlers, orelse, final)]

    def _handler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        assert node.type is not None, "the policy refuses a bare except"
        is_again = any(
            isinstance(part, ast.Raise) and part.exc is None
            for part in walk(*node.body)
        )
        name = node.name
        if name is None and is_again:
            name = self.fresh("_x")
        price = self.pricing.block(node.body) + costs.HANDLER
        head = self.restored(self.charge(price, node.body))
        held = ""
        if name is not None:
            head.append(assign(name, call("_caught", load(name))))
        if is_again:
            held = self.fresh("_h")
            head.append(assign(held, load(cast("str", name))))
        self.caught.append(held)
        body = self.statements(node.body)
        self.caught.pop()
        return ast.ExceptHandler(self._caught_classes(node.type), name, head + body)

    def _caught_classes(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Tuple):
            names = [self._caught_classes(element) for element in node.elts]
            return ast.Tuple(names, ast.Load())
        return self.class_name(node) or self.rewrite(node)

    def _write_with(self, node: ast.With) -> list[ast.stmt]:
        return self._with_items(node.items, node.body)

    def _with_items(
        self, items: Sequence[ast.withitem], body: Sequence[ast.stmt]
    ) -> list[ast.stmt]:
        """`__exit__` sees our values: no traceback, and is called once."""
        if not items:
            return self.statements(body)
        item = items[0]
        manager, entered = self.fresh("_w"), self.fresh("_w")
        pending, error = self.fresh("_w"), self.fresh("_x")
        head = [
            assign(manager, self.rewrite(item.context_expr)),
            assign(entered, call("_enter_context", load(manager))),
            assign(pending, constant(True)),  # noqa: FBT003 - a literal of the tree
        ]
        inner: list[ast.stmt] = []
        if item.optional_vars is not None:
            target = self.target(item.optional_vars)
            inner.append(ast.Assign([target], load(entered)))
        inner += self._with_items(items[1:], body)
        left = call("_exit_context", load(manager), load(error))
        handler = ast.ExceptHandler(
            load("_Exception"),
            error,
            [
                *self.restored(self.charge(costs.HANDLER)),
                assign(pending, constant(False)),  # noqa: FBT003
                assign(error, call("_caught", load(error))),
                ast.If(
                    ast.UnaryOp(ast.Not(), left),
                    [ast.Raise(call("_again", load(error)))],
                    [],
                ),
            ],
        )
        protected = ast.Try(inner or [ast.Pass()], [_fatal_handler(), handler], [], [])
        final = [
            *self.restored(self.charge(costs.FINALLY)),
            ast.If(
                load(pending),
                [ast.Expr(call("_exit_context", load(manager), constant(None)))],
                [],
            ),
        ]
        return [*head, ast.Try([protected], [], [], final)]


def _fatal_handler() -> ast.ExceptHandler:
    """The interpreter's own limits must never decide (sandbox.md §5)."""
    classes = ast.Tuple([load(name) for name in _FATAL], ast.Load())
    return ast.ExceptHandler(classes, None, [ast.Expr(call("_fatal"))])
