"""Which functions need no depth counter (sandbox-internals.md §2).

A leaf calls only names of the universe and priced methods, without `key=`, in a module
where operators and attributes run nothing of the actor's. Whatever it starts comes back
without entering an actor's function, or through a generator, which counts by itself; so
it cannot take part in a recursion.
"""

import ast
from typing import cast

from pvm import language
from pvm.compiler.facts import Facts, FunctionNode, own_nodes
from pvm.compiler.lowering import desugar

_CALLING_BACK = frozenset({"map", "filter"})
_SAFE_NAMES = (
    (language.FUNCTIONS - _CALLING_BACK)
    | language.EXCEPTIONS
    | {"getattr", "hasattr", desugar.SET, desugar.ITERATOR, desugar.CLASS_NAME}
)


def is_leaf(facts: Facts, node: FunctionNode) -> bool:
    """Whether nothing in the function can enter an actor's function again."""
    if not facts.is_simple:
        return False
    body: list[ast.stmt] = (
        node.body if isinstance(node, ast.FunctionDef) else [ast.Expr(node.body)]
    )
    for part in own_nodes(body):
        kind = part.__class__
        if kind is ast.Call:
            if not _is_safe_call(facts, cast("ast.Call", part)):
                return False
        elif kind in _JUDGED and not _is_safe(facts, part):
            return False
    return True


_JUDGED = frozenset({ast.With, ast.Yield, ast.YieldFrom, ast.Raise})


def _is_safe(facts: Facts, node: ast.AST) -> bool:
    match node:
        case ast.With() | ast.Yield() | ast.YieldFrom():
            return False
        case ast.Raise(exc=None):
            return True
        case ast.Raise(exc=ast.Name(id=name)):
            return name in language.EXCEPTIONS and facts.is_universal(name)
        case ast.Raise(exc=exception):
            return isinstance(exception, ast.Call)
        case _:
            return True


def _is_safe_call(facts: Facts, node: ast.Call) -> bool:
    if node.keywords:
        return False
    match node.func:
        case ast.Name(id=name):
            return name in _SAFE_NAMES and facts.is_universal(name)
        case ast.Attribute(attr=name):
            return name in language.METHOD_NAMES and name not in facts.attributes
        case _:
            return False
