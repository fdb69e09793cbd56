"""Charges and guards: the tree as it runs (sandbox-internals.md §2).

Every block begins by paying for itself in full; a block that is entered after a halt
raises again at its head, because the counter stays below zero. The module becomes the
body of a function with three free variables, `_cycles`, `_depth` and `_memory`, which
the interpreter binds to the cells of a meter. Which function writes which kind of
statement or expression is in two tables below.
"""

import ast
from collections.abc import Iterable

from pvm.compiler.block_costs import BlockCosts
from pvm.compiler.facts import Facts
from pvm.compiler.instrument import (
    assignments,
    calls,
    comprehensions,
    definitions,
    expressions,
    operators,
    statements,
    try_with,
)
from pvm.compiler.instrument.blocks import ENTRY_DEPTH, charge
from pvm.compiler.instrument.context import (
    Expressions,
    InstrumentContext,
    Scope,
    Statements,
)
from pvm.compiler.syntax import tree as syntax
from pvm.compiler.syntax.visitor import children
from pvm.language import CELLS, MODULE_FUNCTION

_STATEMENTS: Statements = {
    ast.Assert: statements.write_assert,
    ast.Assign: assignments.write_assignment,
    ast.AugAssign: assignments.write_augmented_assignment,
    ast.Break: statements.write_as_it_is,
    ast.ClassDef: definitions.write_class_def,
    ast.Continue: statements.write_as_it_is,
    ast.Delete: assignments.write_delete,
    ast.Expr: statements.write_expression_statement,
    ast.For: statements.write_for,
    ast.FunctionDef: definitions.write_function_def,
    ast.Global: statements.write_global,
    ast.If: statements.write_if,
    ast.Import: statements.write_import,
    ast.ImportFrom: statements.write_import_from,
    ast.Nonlocal: statements.write_as_it_is,
    ast.Pass: statements.write_pass,
    ast.Raise: statements.write_raise,
    ast.Return: statements.write_return,
    ast.Try: try_with.write_try,
    ast.While: statements.write_while,
    ast.With: try_with.write_with,
}

_EXPRESSIONS: Expressions = {
    ast.Attribute: expressions.write_attribute,
    ast.BinOp: operators.write_binary,
    ast.BoolOp: operators.write_boolean,
    ast.Call: calls.write_call,
    ast.Compare: operators.write_comparison,
    ast.Constant: expressions.write_constant,
    ast.Dict: expressions.write_dict,
    ast.DictComp: comprehensions.write_dict_comprehension,
    ast.IfExp: operators.write_conditional,
    ast.JoinedStr: expressions.write_f_string,
    ast.Lambda: definitions.write_lambda,
    ast.List: expressions.write_sequence,
    ast.ListComp: comprehensions.write_list_comprehension,
    ast.Name: expressions.write_name,
    ast.NamedExpr: operators.write_walrus,
    ast.Subscript: expressions.write_subscript,
    ast.Tuple: expressions.write_sequence,
    ast.UnaryOp: operators.write_unary,
}
"""Kinds that are in neither table are written otherwise before (`desugar`)."""


def instrument(
    tree: ast.Module,
    facts: Facts,
    block_costs: BlockCosts | None = None,
    *,
    is_library: bool = False,
) -> ast.Module:
    """The instrumented module of a tree that passed the gate; `facts` are of it.

    With block costs its blocks are written down, and each says when it is paid. The
    functions of a library are called in the loops of other modules.
    """
    context = InstrumentContext(
        facts, _EXPRESSIONS, _STATEMENTS, block_costs, is_library=is_library
    )
    context.scope = Scope(is_module=True, is_hot=is_library, has_depth=True)
    names = module_names(tree.body)
    body = charge(context, context.pricing.block(tree.body), tree.body)
    body += context.write_statements(tree.body)
    here = context.here
    head: list[ast.stmt] = [here.put(ast.Nonlocal(list(CELLS)))]
    if names:
        head.append(here.put(ast.Global(names)))
    head.append(here.assign(ENTRY_DEPTH, here.load("_depth")))
    # Each cell is a free variable of the module, used there or not.
    head += [here.do(here.load(cell)) for cell in CELLS]
    module = syntax.function(MODULE_FUNCTION, here.parameters(), [*head, *body])
    cells = ast.Assign([here.store(cell) for cell in CELLS], here.constant(0))
    inner: list[ast.stmt] = [here.put(cells), here.put(module)]
    outer = syntax.function("_outer", here.parameters(), inner)
    return ast.Module([here.put(outer)], [])


def module_names(body: Iterable[ast.stmt]) -> list[str]:
    """Names that a module's own statements bind, in order, each once."""
    names: dict[str, None] = {}
    stack: list[ast.AST] = list(reversed(list(body)))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] = None
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names[node.id] = None
        elif isinstance(node, ast.ExceptHandler) and node.name is not None:
            names[node.name] = None
        elif isinstance(node, ast.alias):
            names[node.asname or node.name] = None
        below = children(node)
        if isinstance(node, ast.comprehension):
            below.remove(node.target)
        stack += reversed(below)
    return [name for name in names if not name.startswith("hidden_")]
