"""Assignments, loops, exceptions, imports and what else is one statement."""

import ast
from typing import cast

from msgspec.structs import replace

from pvm import language
from pvm.compiler.facts import copied_nodes
from pvm.compiler.lowering import dataclasses, decorators, enums
from pvm.compiler.policy import values
from pvm.compiler.policy.context import PolicyContext, Position
from pvm.compiler.policy.expressions import check_no_star, check_subscript_parts
from pvm.compiler.policy.names import check_class_name
from pvm.compiler.syntax.visitor import children

NESTED_BLOCKS_MAX = 16
"""Loops count 1, `try` 2, `with` 4: the compiler stops at 20 with ours added."""


def check_expression_or_assignment(
    context: PolicyContext, node: ast.Expr | ast.Assign, position: Position
) -> None:
    """An expression statement or assignment: the two places of a `yield`."""
    value = node.value
    if isinstance(node, ast.Assign):
        _check_targets(context, node.targets, position)
    if position.class_kind == "enum" and enums.is_auto(context.facts, value):
        return
    is_yield = isinstance(value, ast.Yield) or (
        isinstance(value, ast.YieldFrom) and isinstance(node, ast.Expr)
    )
    if not is_yield:
        context.check(value, position)
        return
    if position.in_protected:
        context.refuse(node, "yield stands inside try or with", "collect, then yield")
    if not isinstance(position.function, ast.FunctionDef):
        context.refuse(node, "yield stands outside of a function")
    for child in children(value):
        context.check(child, position)


def _check_targets(
    context: PolicyContext, targets: list[ast.expr], position: Position
) -> None:
    """A star may stand at the top of an unpacking target, a slice alone."""
    for target in targets:
        if isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                if not isinstance(element, ast.Starred):
                    check_no_star(context, element)
        if len(targets) == 1 and isinstance(target, ast.Subscript):
            check_subscript_parts(context, target, position)
        else:
            context.check(target, position)


def check_annotated(
    context: PolicyContext, node: ast.AnnAssign, position: Position
) -> None:
    """An assignment with an annotation; in a dataclass, a field."""
    if position.class_kind == "dataclass" and dataclasses.is_field(node):
        _check_field(context, node, position)
        return
    if node.value is None and position.function is not None:
        context.refuse(node, "an annotation without a value", "a value")
    if (position.function, getattr(node.target, "id", None)) in context.declared:
        context.refuse(node, "an annotated name is global", "no annotation")
    context.check(node.target, position)
    if node.value is not None:
        context.check(node.value, position)


def _check_field(
    context: PolicyContext, node: ast.AnnAssign, position: Position
) -> None:
    """A field of a dataclass; its `field(…)` holds expressions of the class."""
    context.check(node.target, position)
    for reason, instead in dataclasses.check_field(context.facts, node):
        context.refuse(node, reason, instead)
    value = node.value
    if dataclasses.is_field_call(context.facts, value):
        for keyword in cast("ast.Call", value).keywords:
            # A factory is called in the `__init__` that is written.
            context.check(keyword.value, replace(position, class_body=False, scopes=1))
    elif value is not None:
        context.check(value, position)


def check_augmented(
    context: PolicyContext, node: ast.AugAssign, position: Position
) -> None:
    """`x += v`: the name is read and written."""
    if isinstance(node.target, ast.Subscript) and isinstance(
        node.target.slice, ast.Slice
    ):
        context.refuse(node, "augmented assignment to a slice", "x[a:b] = …")
        return
    if isinstance(node.target, ast.Name):
        load = ast.Name(node.target.id, ast.Load())
        ast.copy_location(load, node.target)
        context.check(load, position)
    context.check(node.target, position)
    context.check_operator(node, node.op)
    context.check(node.value, position)


def check_for(context: PolicyContext, node: ast.For, position: Position) -> None:
    """A loop over values: its target has no star."""
    check_no_star(context, node.target)
    check_while(context, node, position)


def check_while(
    context: PolicyContext, node: ast.For | ast.While, position: Position
) -> None:
    """A loop: `break` and `continue` may stand in it."""
    inner = replace(position, blocks=position.blocks + 1, in_loop=True)
    _check_block(context, node, inner)


def check_with(context: PolicyContext, node: ast.With, position: Position) -> None:
    """`with`; each manager is blocks inside of blocks when it is compiled."""
    for item in node.items:
        if item.optional_vars is not None:
            check_no_star(context, item.optional_vars)
    before, context.managers = context.managers, context.managers + len(node.items)
    if before <= language.MANAGERS_MAX < context.managers:
        reason = f"more than {language.MANAGERS_MAX} managers of `with`"
        context.refuse(node, reason, "a function that has the `with`")
    blocks = position.blocks + 4 * len(node.items)
    _check_block(context, node, replace(position, blocks=blocks, in_protected=True))


def _check_block(context: PolicyContext, node: ast.stmt, position: Position) -> None:
    if position.blocks > NESTED_BLOCKS_MAX:
        context.refuse(node, "loops, try and with are nested too deep", "a function")
        return
    context.check_children(node, position)


def check_try(context: PolicyContext, node: ast.Try, position: Position) -> None:
    """`try`: handlers of known classes, a `finally` that nothing leaves."""
    inner = replace(position, blocks=position.blocks + 2, in_protected=True)
    if inner.blocks > NESTED_BLOCKS_MAX:
        context.refuse(node, "loops, try and with are nested too deep", "a function")
        return
    if len(node.handlers) > language.HANDLERS_MAX:
        context.refuse(node, f"more than {language.HANDLERS_MAX} handlers")
    context.check_body([*node.body, *node.orelse], inner)
    for handler in node.handlers:
        _check_handler(context, handler, replace(inner, in_handler=True))
    context.check_body(node.finalbody, replace(inner, in_handler=False))
    for statement in node.finalbody:
        _check_leaves_finally(context, statement, in_loop=False)
    if node.finalbody and not context.copies_over:
        _count_copies(context, node)


def _count_copies(context: PolicyContext, node: ast.Try) -> None:
    """The compiler writes a `finally` out again at each way that leaves it."""
    context.copied += copied_nodes(node)
    if context.copied > language.COPIED_NODES_MAX:
        context.copies_over = True
        reason = "a finally that is left in too many ways, or too long"
        context.refuse(node, reason, "a function that the finally calls")


def _check_handler(
    context: PolicyContext, node: ast.ExceptHandler, position: Position
) -> None:
    if node.name is not None:
        context.check_identifier(node, node.name)
    names = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    if len(names) > language.HANDLERS_MAX:
        context.refuse(node, f"more than {language.HANDLERS_MAX} exception classes")
    for name in names:
        _check_caught(context, node, name)
    context.check_body(node.body, position)


def _check_caught(
    context: PolicyContext, handler: ast.ExceptHandler, node: ast.expr | None
) -> None:
    match node:
        case None:
            context.refuse(handler, "a bare except", "except Exception:")
        case ast.Name(id=name) if name in context.facts.exceptions or (
            name in language.EXCEPTIONS and context.facts.is_universal(name)
        ):
            pass
        case _ if context.is_module_error(node):
            pass
        case ast.Attribute(value=ast.Name(id=local), attr=name) if (
            name in context.names_of(context.facts.modules.get(local)).exceptions
        ):
            pass
        case ast.Name(id=name) if name in language.REFUSED_NAMES:
            context.refuse(handler, *language.REFUSED_NAMES[name])
        case _:
            context.refuse(
                handler,
                "except names something that is no exception class",
                "an exception class of the universe or of this module",
            )


def _check_leaves_finally(
    context: PolicyContext, node: ast.stmt, *, in_loop: bool
) -> None:
    leaves = isinstance(node, ast.Return) or (
        isinstance(node, ast.Break | ast.Continue) and not in_loop
    )
    if leaves:
        name = type(node).__name__.lower()
        context.refuse(node, f"{name} leaves a finally", f"{name} after the try")
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return
    in_loop = in_loop or isinstance(node, ast.For | ast.While)
    for child in children(node):
        if isinstance(child, ast.stmt):
            _check_leaves_finally(context, child, in_loop=in_loop)
        elif isinstance(child, ast.ExceptHandler):
            for statement in child.body:
                _check_leaves_finally(context, statement, in_loop=in_loop)


def check_raise(context: PolicyContext, node: ast.Raise, position: Position) -> None:
    """`raise`, of an exception or again of the one that is handled."""
    if node.exc is None:
        if not position.in_handler:
            context.refuse(node, "raise without an exception outside of a handler")
        return
    context.check(node.exc, position)
    if node.cause is not None:
        check_class_name(context, node.cause, position)


def check_return(context: PolicyContext, node: ast.Return, position: Position) -> None:
    """A `return`, in a function only."""
    if position.function is None:
        context.refuse(node, "return outside of a function")
    context.check_children(node, position)


def check_jump(
    context: PolicyContext, node: ast.Break | ast.Continue, position: Position
) -> None:
    """`break` or `continue`, in a loop only."""
    if not position.in_loop:
        context.refuse(node, f"{type(node).__name__.lower()} outside of a loop")


def check_import(
    context: PolicyContext, node: ast.Import | ast.ImportFrom, _position: Position
) -> None:
    """An import at the top level, where it is resolved; what is ours is bound once.

    A second binding would take such a name its meaning: a decorator that says who may
    call a method would say nothing.
    """
    if id(node) not in context.top_level:
        reason = "an import stands inside another statement"
        context.refuse(node, reason, "an import at the top level")
        return
    for reason, instead in values.check_import(node, context.find):
        context.refuse(node, reason, instead)
    module = node.module if isinstance(node, ast.ImportFrom) else None
    for alias in node.names:
        local = alias.asname or alias.name
        context.check_identifier(node, local)
        is_ours = decorators.is_compilers(module, alias.name)
        if is_ours and context.facts.bindings.get(local, 0) > 1:
            reason = f"{local} is bound twice, and means something to the compiler"
            context.refuse(node, reason, "another name for one of them")


def check_global(
    context: PolicyContext, node: ast.Global | ast.Nonlocal, position: Position
) -> None:
    """`global` or `nonlocal`, in a function."""
    for name in node.names:
        context.check_identifier(node, name)
        context.declared.add((position.function, name))
    if position.function is None:
        context.refuse(node, "global or nonlocal outside of a function")
