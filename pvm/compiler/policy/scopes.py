"""How deep functions are inside one another, and how many variables they have."""

import ast

from pvm import language
from pvm.compiler.facts import FunctionNode, variables
from pvm.compiler.policy.context import PolicyContext, Position
from pvm.compiler.syntax.visitor import walk


def check_scopes(context: PolicyContext, node: ast.AST, position: Position) -> None:
    """Functions and comprehensions inside one another."""
    if position.scopes > language.SCOPES_NESTED_MAX:
        context.refuse(
            node,
            "functions and comprehensions are nested more than "
            f"{language.SCOPES_NESTED_MAX} deep",
            "a function of the module",
        )


def check_variables(
    context: PolicyContext, node: FunctionNode, position: Position
) -> None:
    """How many variables a function has, and of those around it uses.

    A module that binds no more names in all need not be looked at.
    """
    names = len(context.facts.bound)
    is_many = names > language.VARIABLES_MAX
    if is_many and len(_variables(context, node)) > language.VARIABLES_MAX:
        context.refuse(node, f"more than {language.VARIABLES_MAX} variables", "a dict")
    if names <= language.ENCLOSING_MAX or not position.functions:
        return
    used = {part.id for part in walk(node) if isinstance(part, ast.Name)}
    around = frozenset[str]().union(
        *(_variables(context, function) for function in position.functions)
    )
    if len((used & around) - _variables(context, node)) > language.ENCLOSING_MAX:
        context.refuse(
            node,
            f"more than {language.ENCLOSING_MAX} variables of the functions around",
            "a parameter that holds them",
        )


def _variables(context: PolicyContext, node: FunctionNode) -> frozenset[str]:
    found = context.variables.get(node)
    if found is None:
        found = context.variables[node] = variables(node)
    return found
