"""`try` and `with`: halts pass, depth is restored, exceptions are made readable."""

import ast
from collections.abc import Sequence
from typing import cast

from pvm import costs
from pvm.compiler.instrument.blocks import Blocks
from pvm.compiler.syntax import tree
from pvm.compiler.syntax.visitor import walk

_FATAL = ("_RecursionError", "_MemoryError", "_HostMemoryExhausted")


class Protection(Blocks):
    """Statements that handle exceptions."""

    def _write_try(self, node: ast.Try) -> list[ast.stmt]:
        body = self.statements(node.body) or [self.nothing()]
        handlers = [self._handler(handler) for handler in node.handlers]
        orelse = self.block(node.orelse) if node.orelse else []
        if handlers:
            handlers.insert(0, self._fatal_handler())
            body = [self.here.put(ast.Try(body, handlers, orelse, []))]
        if not node.finalbody:
            return body
        final = self.restored(self.block(node.finalbody, costs.FINALLY))
        return [self._finally(body, final)]

    def _handler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        assert node.type is not None, "the policy refuses a bare except"
        is_again = any(
            isinstance(part, ast.Raise) and part.exc is None
            for part in walk(*node.body)
        )
        name = node.name
        if name is None and (is_again or self.facts.is_wide):
            name = self.fresh("_x")
        price = self.pricing.block(node.body) + costs.HANDLER
        head = self.restored(self.charge(price, node.body))
        held = ""
        if name is not None:
            head.append(
                self.here.assign(name, self.here.call("_caught", self.here.load(name)))
            )
        if is_again:
            held = self.fresh("_h")
            head.append(self.here.assign(held, self.here.load(cast("str", name))))
        self.caught.append(held)
        body = self.statements(node.body)
        self.caught.pop()
        node.type, node.name = self._caught_classes(node.type), name
        node.body = head + body
        return self.here.put(node)

    def _caught_classes(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Tuple):
            names = [self._caught_classes(element) for element in node.elts]
            return self.here.put(ast.Tuple(names, tree.LOAD))
        return self.class_name(node) or self.rewrite(node)

    def _write_with(self, node: ast.With) -> list[ast.stmt]:
        return self._with_items(node.items, node.body)

    def _with_items(
        self, items: Sequence[ast.withitem], body: Sequence[ast.stmt]
    ) -> list[ast.stmt]:
        """`__exit__` sees our values: no traceback, and is called once."""
        if not items:
            return self.statements(body)
        here, item = self.here, items[0]
        manager, entered = self.fresh("_w"), self.fresh("_w")
        pending, error = self.fresh("_w"), self.fresh("_x")
        head = [
            here.assign(manager, self.rewrite(item.context_expr)),
            here.assign(entered, here.call("_enter_context", here.load(manager))),
            here.assign(pending, here.constant(True)),  # noqa: FBT003 - of the tree
        ]
        inner: list[ast.stmt] = []
        if item.optional_vars is not None:
            target = self.target(item.optional_vars)
            inner.append(here.put(ast.Assign([target], here.load(entered))))
        inner += self._with_items(items[1:], body)
        left = here.call("_exit_context", here.load(manager), here.load(error))
        again = ast.Raise(here.call("_again", here.load(error)))
        handled = [
            *self.restored(self.charge(costs.HANDLER)),
            here.assign(pending, here.constant(False)),  # noqa: FBT003 - of the tree
            here.assign(error, here.call("_caught", here.load(error))),
            here.when(here.negation(left), here.put(again)),
        ]
        handler = ast.ExceptHandler(here.load("_Exception"), error, handled)
        handlers = [self._fatal_handler(), here.put(handler)]
        protected = ast.Try(inner or [self.nothing()], handlers, [], [])
        ended = here.call("_exit_context", here.load(manager), here.constant(None))
        final = [
            *self.restored(self.charge(costs.FINALLY)),
            here.when(here.load(pending), here.do(ended)),
        ]
        return [*head, self._finally([here.put(protected)], final)]

    def _finally(self, body: list[ast.stmt], final: list[ast.stmt]) -> ast.stmt:
        """What runs in any case runs halted after the interpreter's own limits."""
        return self.here.put(ast.Try(body, [self._fatal_handler()], [], final))

    def _fatal_handler(self) -> ast.ExceptHandler:
        """The interpreter's own limits must never decide (sandbox-internals.md §5)."""
        names: list[ast.expr] = [self.here.load(name) for name in _FATAL]
        classes = self.here.put(ast.Tuple(names, tree.LOAD))
        fatal = self.here.do(self.here.call("_fatal"))
        return self.here.put(ast.ExceptHandler(classes, None, [fatal]))
