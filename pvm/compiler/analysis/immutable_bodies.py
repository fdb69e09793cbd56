"""Whether what a module's body makes can change once it has run.

A source of imports, functions, classes and immutable values that never sets an
attribute and never says `global` cannot change what its body made: one message after
another can use the same (`runtime.namespaces`).
"""

import ast
from collections.abc import Iterable

from pvm import language
from pvm.compiler.facts import Facts
from pvm.compiler.syntax.visitor import Survey, walk

_VALUES = (ast.Constant, ast.Name, ast.Tuple, ast.UnaryOp, ast.BinOp)
"""Of constants and names of what a module holds, these make nothing mutable."""


def is_unchanging(tree: ast.Module, facts: Facts, found: Survey) -> bool:
    """Whether nothing can change what the body of a module makes, once it has run.

    `tree` passed the gate; facts and nodes are of it. The body makes functions, classes
    of functions and immutable values: attributes are the only way into those. Imports
    stand in the body alone, so that none of a function costs less after it.
    """
    has_class = any(isinstance(part, ast.ClassDef) for part in tree.body)
    # Functions alone are made as fast as they are found.
    return has_class and not _changes(found) and _is_fixed(tree.body, facts)


def _is_fixed(body: Iterable[ast.stmt], facts: Facts) -> bool:
    return all(_is_fixed_statement(part, facts) for part in body)


def _is_fixed_statement(node: ast.stmt, facts: Facts) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Expr(ast.Constant()):
            return True
        case ast.Assign(targets=[ast.Name()], value=value):
            return _is_value(value)
        case ast.FunctionDef(args=parameters, decorator_list=decorators):
            defaults = filter(None, (*parameters.defaults, *parameters.kw_defaults))
            return all(map(_is_value, defaults)) and all(
                isinstance(one, ast.Name) and one.id in language.DECORATORS
                for one in decorators
            )
        case ast.ClassDef(bases=bases, body=body, decorator_list=[], keywords=[]):
            return _is_fixed(body, facts) and all(
                isinstance(base, ast.Name)
                and (
                    base.id in facts.classes
                    or base.id in facts.exceptions
                    or base.id in language.EXCEPTIONS
                )
                for base in bases
            )
        case _:
            return False


def _is_value(node: ast.expr) -> bool:
    """Whether an expression, whatever it says, makes nothing that could be changed."""
    return all(isinstance(part, _VALUES) for part in walk(node))


def _changes(found: Survey) -> bool:
    """Whether an attribute is set or deleted anywhere, or a name of the module."""
    return bool(found.of(ast.Global)) or any(
        not isinstance(node.ctx, ast.Load) for node in found.of(ast.Attribute)
    )
