"""Where the decorators of `cowboy_sdk` may not stand, and what they may not say.

What would mean nothing is refused: an access rule that guards nothing is worse than
none. Any use of their names but as a decorator is refused by the policy of names.
"""

import ast
from collections.abc import Iterator, Mapping

from pvm.compiler.facts import Facts, is_generator
from pvm.compiler.lowering import decorators
from pvm.compiler.lowering.decorators import ON_CLASS, ON_FUNCTION, ON_METHOD
from pvm.compiler.syntax.visitor import Survey

Refused = Iterator[tuple[ast.AST, str, str]]
"""Where, why, what to write instead."""


def check_decorators(tree: ast.Module, facts: Facts, found: Survey) -> Refused:
    """Decorators of `cowboy_sdk` in a module, with what is wrong about them."""
    for second in decorators.actor_classes(tree, facts)[1:]:
        if decorators.is_marked(second, facts):
            yield second, "a second class is marked @actor", "one @actor class a module"
        else:
            yield second, "a second class derives from Actor", "@actor on one of them"
    methods = {
        id(method)
        for class_ in decorators.family_of(tree, facts)
        for method in decorators.methods_of(class_)
    }
    for class_ in found.of(ast.ClassDef):
        for decorator in class_.decorator_list:
            yield from _check_on_class(decorator, facts)
    for node in found.of(ast.FunctionDef):
        marks = decorators.marks_of(node, facts)
        for name, decorator in marks.items():
            is_method = id(node) in methods
            yield from _check_mark(name, decorator, is_method=is_method)
        yield from _check_together(node, facts, marks)


def _check_on_class(decorator: ast.expr, facts: Facts) -> Refused:
    name = decorators.decorator_name(decorator, facts)
    if name == ON_CLASS and isinstance(decorator, ast.Call):
        yield decorator, "actor takes no arguments", "@actor"
    elif name is not None and name != ON_CLASS:
        yield decorator, f"{name} stands on a class", "on its methods"


def _check_mark(name: str, decorator: ast.expr, *, is_method: bool) -> Refused:
    if name == ON_CLASS:
        yield decorator, "actor stands on a function", "on a class"
    elif name == ON_FUNCTION:
        if decorators.literal_bound(decorator) is None:
            reason = "bounded_loop takes max_iterations, a literal from 1"
            yield decorator, reason, "@bounded_loop(max_iterations=10)"
    elif not is_method:
        reason = f"{name} stands on something else than a method of the actor"
        yield decorator, reason, "@actor above the class"
    elif name == "callable_by":
        yield from _check_callers(decorator)
    elif isinstance(decorator, ast.Call):
        yield decorator, f"{name} takes no arguments", f"@{name}"


def _check_callers(node: ast.expr) -> Refused:
    if not isinstance(node, ast.Call) or not node.args:
        yield node, "callable_by names no caller", "@callable_by(OWNER)"
        return
    if node.keywords:
        yield node, "callable_by takes no keywords", "@callable_by(OWNER)"
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            yield argument, "a spread list of callers", "the callers one by one"
        elif (
            isinstance(argument, ast.Constant)
            and decorators.literal_address(argument.value) is None
        ):
            yield argument, "a caller is no address", "20 bytes, 0x…, OWNER or SELF"


def _check_together(
    node: ast.FunctionDef, facts: Facts, marks: Mapping[str, ast.expr]
) -> Refused:
    own = [one for one in marks if one in ON_METHOD]
    if not own:
        return
    if len(node.decorator_list) > len(marks):
        yield node, f"{own[0]} stands beside another decorator, or twice", ""
    if is_generator(facts, node):
        yield node, f"{own[0]} stands on a generator", "a method that returns a list"
    if node.name.startswith("__"):
        yield node, f"{own[0]} stands on {node.name}", "an ordinary method"
    for one, other in (("public", "callable_by"), ("pure", "deferred")):
        if one in marks and other in marks:
            yield node, f"{one} and {other} contradict each other", "one of them"
