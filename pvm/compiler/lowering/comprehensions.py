"""Variables of comprehensions, under names that nothing else has.

From 3.12 on the interpreter makes a comprehension part of the function around it, and
mixes up variables of one name: with a global `x`, 3.12.1 raises `NameError` in
`[[x for _ in y] for y in [g() for g in [lambda: y for x in y]]]`, and 3.13 in lambdas
that use a variable of the function around (cases in `tests/actors/attacks.py`).
"""

import ast

from pvm import language
from pvm.compiler.facts import own_nodes
from pvm.compiler.syntax.visitor import Survey, children, parameters, walk
from pvm.errors import CompileError, Refusal

_Tags = dict[str, int]
"""Variables of the comprehensions around → how many of that name are around."""

_Comprehension = ast.ListComp | ast.DictComp


def rename_variables(found: Survey) -> frozenset[str]:
    """Rename them in a tree that passed the gate, where they stand.

    `x` becomes `hidden_1_x`, in a comprehension inside another of an `x` `hidden_2_x`:
    comprehensions beside one another share a name, so that few are made.

    Args:
        found: the nodes of the tree, outer ones first.

    Returns:
        the new names.

    Raises:
        CompileError: too many variables of comprehensions that are inside others with
            variables of the same names.
    """
    renamer = _Renamer()
    every: list[_Comprehension] = [*found.of(ast.ListComp), *found.of(ast.DictComp)]
    for node in every:
        if node not in renamer.seen:
            renamer.comprehension(node, {})
    return frozenset(renamer.names)


class _Renamer:
    """Walks expressions with what the variables around them are called."""

    def __init__(self) -> None:
        self.seen: set[ast.expr] = set()
        self.names: set[str] = set()
        self.inner = 0
        """Names of variables that hide another comprehension's."""

    def comprehension(self, node: _Comprehension, tags: _Tags) -> None:
        self.seen.add(node)
        first = node.generators[0].iter  # not in the scope of its variables
        self.rename(first, tags)
        inner = tags.copy()
        for generator in node.generators:
            for part in walk(generator.target):
                if isinstance(part, ast.Name):
                    inner[part.id] = tags.get(part.id, 0) + 1
                    self._note(part, inner[part.id])
        for child in children(node):
            if not isinstance(child, ast.comprehension):
                self.rename(child, inner)
                continue
            for part in children(child):
                if part is not first:
                    self.rename(part, inner)

    def rename(self, node: ast.AST, tags: _Tags) -> None:
        match node:
            case ast.Name(id=name):
                if name in tags:
                    node.id = _name(name, tags[name])
            case ast.ListComp() | ast.DictComp():
                self.comprehension(node, tags)
            case ast.Lambda():
                self._lambda(node, tags)
            case _:
                for child in children(node):
                    self.rename(child, tags)

    def _lambda(self, node: ast.Lambda, tags: _Tags) -> None:
        for default in filter(None, [*node.args.defaults, *node.args.kw_defaults]):
            self.rename(default, tags)
        own = {one.arg for one in parameters(node.args)}
        for part in own_nodes([ast.Expr(node.body)]):
            if isinstance(part, ast.NamedExpr):
                own.add(part.target.id)
        self.rename(node.body, {name: tags[name] for name in tags.keys() - own})

    def _note(self, node: ast.Name, tag: int) -> None:
        name = _name(node.id, tag)
        if tag > 1 and name not in self.names:
            self.inner += 1
            if self.inner > language.VARIABLES_MAX:
                reason = (
                    f"more than {language.VARIABLES_MAX} variables of comprehensions "
                    "inside others that have variables of the same names"
                )
                refusal = Refusal(node.lineno, node.col_offset, reason, "other names")
                raise CompileError((refusal,))
        self.names.add(name)


def _name(name: str, tag: int) -> str:
    return f"hidden_{tag}_{name}"
