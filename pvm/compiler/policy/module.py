"""The language: which syntax is admitted, with a reason for each refusal.

Deny by default (sandbox-internals.md, rule 4): a node, name, attribute, builtin or
module that is not listed in `language` is refused here, before anything is rewritten.
The policy changes nothing in the tree and collects every refusal it finds. Which
function checks which kind of node is in the table below.
"""

import ast

from pvm import language
from pvm.compiler.facts import Facts
from pvm.compiler.policy import definitions, expressions, names, statements
from pvm.compiler.policy.context import Checks, PolicyContext, Position
from pvm.compiler.policy.decorators import check_decorators
from pvm.compiler.syntax.imports import Find
from pvm.compiler.syntax.visitor import Survey, survey, walk
from pvm.errors import CompileError, Refusal

_OWN_CHECKS: Checks = {
    ast.AnnAssign: statements.check_annotated,
    ast.Assign: statements.check_expression_or_assignment,
    ast.Attribute: names.check_attribute,
    ast.AugAssign: statements.check_augmented,
    ast.BinOp: expressions.check_binary,
    ast.Break: statements.check_jump,
    ast.Call: names.check_call,
    ast.ClassDef: definitions.check_class_def,
    ast.Compare: expressions.check_comparison,
    ast.Constant: expressions.check_constant,
    ast.Continue: statements.check_jump,
    ast.DictComp: expressions.check_comprehension_expression,
    ast.Expr: statements.check_expression_or_assignment,
    ast.For: statements.check_for,
    ast.FormattedValue: expressions.check_field_of_f_string,
    ast.FunctionDef: definitions.check_function_def,
    ast.GeneratorExp: expressions.check_comprehension_expression,
    ast.Global: statements.check_global,
    ast.Import: statements.check_import,
    ast.ImportFrom: statements.check_import,
    ast.Lambda: definitions.check_lambda,
    ast.List: expressions.check_display,
    ast.ListComp: expressions.check_comprehension_expression,
    ast.Name: names.check_name,
    ast.NamedExpr: expressions.check_walrus,
    ast.Nonlocal: statements.check_global,
    ast.Raise: statements.check_raise,
    ast.Return: statements.check_return,
    ast.Set: expressions.check_display,
    ast.SetComp: expressions.check_comprehension_expression,
    ast.Slice: expressions.check_slice,
    ast.Starred: expressions.check_starred,
    ast.Subscript: expressions.check_subscript,
    ast.Try: statements.check_try,
    ast.Tuple: expressions.check_display,
    ast.While: statements.check_while,
    ast.With: statements.check_with,
    ast.Yield: expressions.check_yield,
    ast.YieldFrom: expressions.check_yield,
    ast.comprehension: expressions.check_generator,
}

_CHECKS: Checks = {
    kind: _OWN_CHECKS.get(kind, PolicyContext.check_children) for kind in language.NODES
}
"""Kinds of the language without a check of their own are admitted with what is below;
a kind that is not of the language is in no table."""


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
    context = PolicyContext(facts, find, _CHECKS, tree)
    _check_future(context, tree)
    context.check_body(tree.body, Position())
    found = found or survey(tree)
    _check_annotations(context, found)
    for node, reason, instead in check_decorators(tree, facts, found):
        context.refuse(node, reason, instead)
    if context.functions > language.FUNCTIONS_MAX:
        context.refuse(tree.body[0], f"more than {language.FUNCTIONS_MAX} functions")
    if context.refusals:
        once: dict[tuple[int, int, str, str], Refusal] = {}
        for one in context.refusals:
            once.setdefault((one.line, one.column, one.reason, one.instead), one)
        ordered = sorted(once.values(), key=lambda one: (one.line, one.column))
        raise CompileError(tuple(ordered[: language.REFUSALS_MAX]))


def _check_annotations(context: PolicyContext, found: Survey) -> None:
    """They are dropped: what is in one must mean nothing to the rest of the source."""
    annotated = [
        *(node.annotation for node in found.of(ast.AnnAssign)),
        *(node.annotation for node in found.of(ast.arg) if node.annotation),
        *(node.returns for node in found.of(ast.FunctionDef) if node.returns),
    ]
    for node in annotated:
        if not language.ANNOTATION_NODES.issuperset(map(type, walk(node))):
            reason = "an annotation that could bind a name, or is more than a type"
            context.refuse(node, reason, "names, literals, subscripts")


def _check_future(context: PolicyContext, tree: ast.Module) -> None:
    """`from __future__` stands first, after the docstring."""
    is_first = True
    for index, node in enumerate(tree.body):
        is_docstring = index == 0 and isinstance(node, ast.Expr)
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            if not is_first:
                context.refuse(node, "an import of __future__ stands first", "nothing")
        elif not is_docstring:
            is_first = False
