"""The language: which syntax is admitted, with a reason for each refusal.

Deny by default (sandbox-internals.md, rule 4): a node, name, attribute, builtin or
module that is not listed in `language` is refused here, before anything is rewritten.
The policy changes nothing in the tree and collects every refusal it finds.
"""

import ast
from typing import cast

from msgspec.structs import replace

from pvm import language
from pvm.compiler.facts import Facts, copied_nodes, is_generator
from pvm.compiler.lowering import dataclasses, decorators, enums
from pvm.compiler.policy.context import Position
from pvm.compiler.policy.decorators import check_decorators
from pvm.compiler.policy.expressions import PolicyOfExpressions
from pvm.compiler.policy.values import (
    check_import,
)
from pvm.compiler.syntax.imports import Find
from pvm.compiler.syntax.visitor import Handled, Survey, children, handled, survey
from pvm.errors import CompileError

NESTED_BLOCKS_MAX = 16
"""Loops count 1, `try` 2, `with` 4: the compiler stops at 20 with ours added."""


def check_policy(
    tree: ast.Module, facts: Facts, find: Find, found: Survey | None = None
) -> None:
    """Raise `CompileError` with every refusal, in source order.

    Args:
        tree: what `imports.resolve` returned.
        facts: of that tree.
        find: what each module that can be imported offers.
        found: the nodes of the tree, if somebody has found them.
    """
    policy = _Policy(facts, find, _CHECKED)
    policy.check_future(tree)
    policy.check_body(tree.body, Position())
    for node, reason, instead in check_decorators(tree, facts, found or survey(tree)):
        policy.refuse(node, reason, instead)
    if policy.functions > language.FUNCTIONS_MAX:
        policy.refuse(tree.body[0], f"more than {language.FUNCTIONS_MAX} functions")
    if policy.refusals:
        once = dict.fromkeys(policy.refusals)
        ordered = sorted(once, key=lambda one: (one.line, one.column))
        raise CompileError(tuple(ordered[: language.REFUSALS_MAX]))


class _Policy(PolicyOfExpressions):
    """Statements, functions and classes."""

    def __init__(self, facts: Facts, find: Find, own: Handled) -> None:
        super().__init__(facts, find, own)
        self.records = dataclasses.records_of(facts)

    def check_future(self, tree: ast.Module) -> None:
        """`from __future__` stands first, after the docstring."""
        is_first = True
        for index, node in enumerate(tree.body):
            is_docstring = index == 0 and isinstance(node, ast.Expr)
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                if not is_first:
                    self.refuse(node, "an import of __future__ stands first", "nothing")
            elif not is_docstring:
                is_first = False

    def _check_expr(self, node: ast.Expr | ast.Assign, position: Position) -> None:
        """An expression statement or assignment: the two places of a `yield`."""
        value = node.value
        if isinstance(node, ast.Assign):
            self._check_targets(node.targets, position)
        if position.class_kind == "enum" and enums.is_auto(self.facts, value):
            return
        is_yield = isinstance(value, ast.Yield) or (
            isinstance(value, ast.YieldFrom) and isinstance(node, ast.Expr)
        )
        if not is_yield:
            self.check(value, position)
            return
        if position.in_protected:
            self.refuse(node, "yield stands inside try or with", "collect, then yield")
        if not isinstance(position.function, ast.FunctionDef):
            self.refuse(node, "yield stands outside of a function")
        for child in children(value):
            self.check(child, position)

    _check_assign = _check_expr

    def _check_targets(self, targets: list[ast.expr], position: Position) -> None:
        """A star may stand at the top of an unpacking target, a slice alone."""
        for target in targets:
            if isinstance(target, ast.Tuple | ast.List):
                for element in target.elts:
                    if not isinstance(element, ast.Starred):
                        self.check_no_star(element)
            if len(targets) == 1 and isinstance(target, ast.Subscript):
                self.check_children(target, position)
            else:
                self.check(target, position)

    def _check_annassign(self, node: ast.AnnAssign, position: Position) -> None:
        if position.class_kind == "dataclass" and dataclasses.is_field(node):
            self._check_field(node, position)
            return
        if node.value is None and position.function is not None:
            self.refuse(node, "an annotation without a value", "a value")
        if (position.function, getattr(node.target, "id", None)) in self.declared:
            self.refuse(node, "an annotated name is global", "no annotation")
        self.check(node.target, position)
        if node.value is not None:
            self.check(node.value, position)

    def _check_field(self, node: ast.AnnAssign, position: Position) -> None:
        """A field of a dataclass; its `field(…)` holds expressions of the class."""
        self.check(node.target, position)
        for reason, instead in dataclasses.check_field(self.facts, node):
            self.refuse(node, reason, instead)
        value = node.value
        if dataclasses.is_field_call(self.facts, value):
            for keyword in cast("ast.Call", value).keywords:
                # A factory is called in the `__init__` that is written.
                self.check(keyword.value, replace(position, class_body=False, scopes=1))
        elif value is not None:
            self.check(value, position)

    def _check_augassign(self, node: ast.AugAssign, position: Position) -> None:
        if isinstance(node.target, ast.Subscript) and isinstance(
            node.target.slice, ast.Slice
        ):
            self.refuse(node, "augmented assignment to a slice", "x[a:b] = …")
            return
        if isinstance(node.target, ast.Name):
            load = ast.Name(node.target.id, ast.Load())
            ast.copy_location(load, node.target)
            self.check(load, position)
        self.check(node.target, position)
        self.check_operator(node, node.op)
        self.check(node.value, position)

    def _check_for(self, node: ast.For, position: Position) -> None:
        self.check_no_star(node.target)
        self._check_block(
            node, replace(position, blocks=position.blocks + 1, in_loop=True)
        )

    def _check_while(self, node: ast.While, position: Position) -> None:
        self._check_block(
            node, replace(position, blocks=position.blocks + 1, in_loop=True)
        )

    def _check_return(self, node: ast.Return, position: Position) -> None:
        if position.function is None:
            self.refuse(node, "return outside of a function")
        self.check_children(node, position)

    def _check_break(self, node: ast.Break | ast.Continue, position: Position) -> None:
        if not position.in_loop:
            self.refuse(node, f"{type(node).__name__.lower()} outside of a loop")

    _check_continue = _check_break

    def _check_with(self, node: ast.With, position: Position) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self.check_no_star(item.optional_vars)
        before, self.managers = self.managers, self.managers + len(node.items)
        if before <= language.MANAGERS_MAX < self.managers:
            reason = f"more than {language.MANAGERS_MAX} managers of `with`"
            self.refuse(node, reason, "a function that has the `with`")
        blocks = position.blocks + 4 * len(node.items)
        self._check_block(node, replace(position, blocks=blocks, in_protected=True))

    def _check_block(self, node: ast.stmt, position: Position) -> None:
        if position.blocks > NESTED_BLOCKS_MAX:
            self.refuse(node, "loops, try and with are nested too deep", "a function")
            return
        self.check_children(node, position)

    def _check_try(self, node: ast.Try, position: Position) -> None:
        inner = replace(position, blocks=position.blocks + 2, in_protected=True)
        if inner.blocks > NESTED_BLOCKS_MAX:
            self.refuse(node, "loops, try and with are nested too deep", "a function")
            return
        if len(node.handlers) > language.HANDLERS_MAX:
            self.refuse(node, f"more than {language.HANDLERS_MAX} handlers")
        self.check_body([*node.body, *node.orelse], inner)
        for handler in node.handlers:
            self._check_handler(handler, replace(inner, in_handler=True))
        self.check_body(node.finalbody, replace(inner, in_handler=False))
        for statement in node.finalbody:
            self._check_leaves_finally(statement, in_loop=False)
        if node.finalbody and not self.copies_over:
            self._count_copies(node)

    def _count_copies(self, node: ast.Try) -> None:
        """The compiler writes a `finally` out again at each way that leaves it."""
        self.copied += copied_nodes(node)
        if self.copied > language.COPIED_NODES_MAX:
            self.copies_over = True
            reason = "a finally that is left in too many ways, or too long"
            self.refuse(node, reason, "a function that the finally calls")

    def _check_handler(self, node: ast.ExceptHandler, position: Position) -> None:
        if node.name is not None:
            self.check_identifier(node, node.name)
        names = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        if len(names) > language.HANDLERS_MAX:
            self.refuse(node, f"more than {language.HANDLERS_MAX} exception classes")
        for name in names:
            self._check_caught(node, name)
        self.check_body(node.body, position)

    def _check_caught(self, handler: ast.ExceptHandler, node: ast.expr | None) -> None:
        match node:
            case None:
                self.refuse(handler, "a bare except", "except Exception:")
            case ast.Name(id=name) if name in self.facts.exceptions or (
                name in language.EXCEPTIONS and self.facts.is_universal(name)
            ):
                pass
            case _ if self.is_module_error(node):
                pass
            case ast.Attribute(value=ast.Name(id=local), attr=name) if (
                name in self.names_of(self.facts.modules.get(local)).exceptions
            ):
                pass
            case ast.Name(id=name) if name in language.REFUSED_NAMES:
                self.refuse(handler, *language.REFUSED_NAMES[name])
            case _:
                self.refuse(
                    handler,
                    "except names something that is no exception class",
                    "an exception class of the universe or of this module",
                )

    def _check_leaves_finally(self, node: ast.stmt, *, in_loop: bool) -> None:
        leaves = isinstance(node, ast.Return) or (
            isinstance(node, ast.Break | ast.Continue) and not in_loop
        )
        if leaves:
            name = type(node).__name__.lower()
            self.refuse(node, f"{name} leaves a finally", f"{name} after the try")
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            return
        in_loop = in_loop or isinstance(node, ast.For | ast.While)
        for child in children(node):
            if isinstance(child, ast.stmt):
                self._check_leaves_finally(child, in_loop=in_loop)
            elif isinstance(child, ast.ExceptHandler):
                for statement in child.body:
                    self._check_leaves_finally(statement, in_loop=in_loop)

    def _check_raise(self, node: ast.Raise, position: Position) -> None:
        if node.exc is None:
            if not position.in_handler:
                self.refuse(node, "raise without an exception outside of a handler")
            return
        self.check(node.exc, position)
        if node.cause is not None:
            self.check_class_name(node.cause, position)

    def _check_import(
        self, node: ast.Import | ast.ImportFrom, position: Position
    ) -> None:
        if position.function is not None or position.class_body or position.blocks:
            self.refuse(node, "an import stands inside a function", "at the top")
        for reason, instead in check_import(node, self.find):
            self.refuse(node, reason, instead)
        for alias in node.names:
            self.check_identifier(node, alias.asname or alias.name)

    _check_importfrom = _check_import

    def _check_global(
        self, node: ast.Global | ast.Nonlocal, position: Position
    ) -> None:
        for name in node.names:
            self.check_identifier(node, name)
            self.declared.add((position.function, name))
        if position.function is None:
            self.refuse(node, "global or nonlocal outside of a function")

    _check_nonlocal = _check_global

    def _check_functiondef(self, node: ast.FunctionDef, position: Position) -> None:
        self.functions += 1
        is_method = position.class_body
        is_special = node.name in language.DUNDER_METHODS or (
            position.class_kind == "dataclass" and node.name == dataclasses.POST_INIT
        )
        if is_method and not is_special and node.name.startswith("__"):
            reason = f"the interpreter would call {node.name} unseen"
            self.refuse(node, reason, "an ordinary method")
        elif not (is_method and is_special):
            self.check_identifier(node, node.name)
        for decorator in node.decorator_list:
            self._check_decorator(decorator, position)
        if is_method:
            self._check_descriptors(node)
        self.check_parameters(node.args, position)
        inner = Position(
            function=node,
            is_method=is_method and bool(node.args.args),
            is_generator=is_generator(self.facts, node),
            scopes=position.scopes + 1,
            functions=(*position.functions, node),
        )
        self.check_scopes(node, inner)
        self.check_variables(node, position)
        if inner.is_generator and is_method and node.name == "__init__":
            self.refuse(node, "__init__ is a generator")
        self.check_body(node.body, inner)

    def _check_descriptors(self, node: ast.FunctionDef) -> None:
        """What the interpreter calls without a frame of the actor's goes to a function.

        One object after another whose method is the next object would recur in C, and
        no call of that is counted.
        """
        decorated = [
            one
            for one in node.decorator_list
            if self.facts.meaning(one) != "abc.abstractmethod"
        ]
        native = [one for one in decorated if _is_native_decorator(one)]
        if len(native) > 1:
            reason = "property, staticmethod, classmethod and setter stand alone"
            self.refuse(native[1], reason, "one of them")
        elif decorated and node.name.startswith("__"):
            reason = f"the interpreter calls {node.name} itself, so none decorates it"
            self.refuse(decorated[0], reason, "an ordinary method, called by this one")

    def _check_decorator(self, node: ast.expr, position: Position) -> None:
        match node:
            case ast.Name(id=name) if name in language.DECORATORS:
                if not position.class_body or not self.facts.is_universal(name):
                    self.refuse(node, f"{name} decorates something else than a method")
            case ast.Attribute(value=ast.Name(), attr="setter") if position.class_body:
                pass
            case _ if decorators.decorator_name(node, self.facts) is not None:
                for argument in node.args if isinstance(node, ast.Call) else ():
                    self.check(argument, position)
            case _ if self.facts.meaning(node) == "abc.abstractmethod":
                if not position.class_body:
                    self.refuse(node, "abstractmethod is a decorator of methods only")
            case _:
                self.check(node, position)

    def _check_classdef(self, node: ast.ClassDef, position: Position) -> None:
        self.check_identifier(node, node.name)
        if position != Position():
            self.refuse(node, "a class inside something", "a class of the module")
        elif node.name not in self.facts.classes:
            self.refuse(node, f"the class name {node.name!r} is bound twice")
        if node.keywords:
            self.refuse(node, "a class has keywords or a metaclass")
        for decorator in node.decorator_list:
            self._check_class_decorator(node, decorator)
        if len(node.bases) > language.BASES_MAX:
            self.refuse(node, f"more than {language.BASES_MAX} bases")
        for base in node.bases:
            self._check_base(base)
        kind = self._class_kind(node)
        record = self._record(node)
        if record is not None and record.is_too_long:
            reason = f"more than {language.FIELDS_MAX} fields, inherited ones included"
            self.refuse(node, reason, "an attribute that holds some of them")
        self.check_body(node.body, Position(class_body=True, class_kind=kind))
        self.classes_seen.add(node.name)

    def _class_kind(self, node: ast.ClassDef) -> str:
        """Whether it is an Enum or a dataclass; an Enum is checked as a whole."""
        if any(self.facts.meaning(base) == "enum.Enum" for base in node.bases):
            for part, reason, instead in enums.check(self.facts, node):
                self.refuse(part, reason, instead)
            return "enum"
        return "dataclass" if self._record(node) is not None else ""

    def _record(self, node: ast.ClassDef) -> dataclasses.Record | None:
        """What is known of a class that is a dataclass."""
        return self.records.get(node.name)

    def _check_class_decorator(self, node: ast.ClassDef, decorator: ast.expr) -> None:
        if decorators.decorator_name(decorator, self.facts) is not None:
            return
        if node.name not in self.facts.classes:
            return  # it is refused
        record = self._record(node)
        if record is None or decorator is not record.decorator:
            reason = (
                "a class has a decorator that is neither dataclass nor cowboy_sdk's"
            )
            self.refuse(node, reason, "a class with __init__")
            return
        for reason in dataclasses.check_decorator(decorator):
            self.refuse(decorator, reason, "an __init__ of the class")
        misplaced = dataclasses.first_misplaced(record.every)
        if misplaced is not None:
            reason = f"the field {misplaced.name!r} has no default after one that has"
            self.refuse(node, reason, "the fields without a default first")

    def _check_base(self, node: ast.expr) -> None:
        match node:
            case _ if self.facts.meaning(node) in {"enum.Enum", "abc.ABC"}:
                pass
            case ast.Name(id=name) if self.facts.is_enum(name):
                self.refuse(node, "a base class that is an Enum", "an Enum of its own")
            case ast.Name(id=name) if name in self.classes_seen:
                pass
            case ast.Name(id=name) if name in language.EXCEPTIONS and (
                self.facts.is_universal(name)
            ):
                pass
            case ast.Name(id=name) if self.is_library_class(name):
                pass
            case ast.Attribute(value=ast.Name(id=local), attr=name) if (
                name in self.names_of(self.facts.modules.get(local)).classes
            ):
                pass
            case ast.Name(id="object") if self.facts.is_universal("object"):
                self.refuse(node, "object as a base class", "no base class")
            case _:
                self.refuse(
                    node,
                    "a base class that is none of this module's, no exception and "
                    "of no library",
                    "hold it in an attribute",
                )


_CHECKED = handled(_Policy, "_check_", "check_children")


def _is_native_decorator(node: ast.expr) -> bool:
    match node:
        case ast.Name(id=name):
            return name in language.DECORATORS
        case ast.Attribute(attr="setter"):
            return True
        case _:
            return False
