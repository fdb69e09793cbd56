"""Names, attributes and calls: what may be read, and what may only be called."""

import ast
from collections.abc import Iterable

from pvm import language
from pvm.compiler.lowering import decorators
from pvm.compiler.policy.context import PolicyContext, Position
from pvm.compiler.policy.values import instead_of
from pvm.compiler.syntax.tree import is_super
from pvm.compiler.syntax.visitor import children

_MODULE_ERROR_REASON = (
    "an exception of a native module can only be caught or named in isinstance"
)


def check_name(context: PolicyContext, node: ast.Name, _position: Position) -> None:
    """A name; one that was admitted once is admitted wherever it stands."""
    if node.id in context.plain:
        return
    before = len(context.refusals)
    _check_new_name(context, node)
    if len(context.refusals) == before and node.id not in context.facts.imports:
        context.plain.add(node.id)


def _check_new_name(  # noqa: PLR0911 - a line for each kind of name
    context: PolicyContext, node: ast.Name
) -> None:
    """A name that was not admitted yet."""
    context.check_identifier(node, node.id)
    if _is_misplaced(context, node, node.id):
        return
    if not isinstance(node.ctx, ast.Load) or node.id in context.facts.bound:
        return
    if node.id in language.FUNCTIONS or node.id in language.EXCEPTIONS:
        return
    if node.id in context.facts.modules:
        return
    if node.id in language.DECORATORS:
        context.refuse(node, f"{node.id} is a decorator of methods only")
        return
    if node.id in language.SPECIAL_NAMES:
        context.refuse(node, f"{node.id} can only be called, with literal names")
        return
    unknown = f"the name {node.id!r} is not defined", ""
    if node.id in context.facts.inert:
        unknown = f"{node.id} is a name of annotations only", "nothing"
    reason, instead = language.REFUSED_NAMES.get(node.id, unknown)
    context.refuse(node, reason, instead)


def _is_misplaced(
    context: PolicyContext, node: ast.Name | ast.Attribute, name: str
) -> bool:
    """Whether an imported name stands where it may not; refuses it."""
    if isinstance(node, ast.Name) and name not in context.facts.imports:
        return False
    place = language.COMPILER_PLACES.get(context.facts.meaning(node))
    if decorators.decorator_name(node, context.facts) is not None:
        context.refuse(node, f"{name} only decorates", f"@{name}")
    elif context.is_module_error(node) and isinstance(node.ctx, ast.Load):
        context.refuse(node, _MODULE_ERROR_REASON)
    elif place is not None:
        context.refuse(node, f"{name} is {place}")
    else:
        return False
    return True


def check_attribute(
    context: PolicyContext, node: ast.Attribute, position: Position
) -> None:
    """An attribute of a value, of a module or of `super()`."""
    is_read = isinstance(node.ctx, ast.Load)
    if is_read and node.attr == "__name__" and is_class_of(context, node.value):
        for part in children(node.value):
            if not (isinstance(part, ast.Name) and part.id == "type"):
                context.check(part, position)
        return
    if is_super(node.value):
        if node.attr not in language.DUNDER_METHODS:
            _check_attribute_name(context, node)
        _check_super(context, node.value, position)
        return
    _check_attribute_name(context, node)
    context.check(node.value, position)


def _check_attribute_name(context: PolicyContext, node: ast.Attribute) -> None:
    name = node.attr
    module = _module_of(context, node.value)
    if module is None and name in context.plain_attributes:
        return
    if name.startswith("__"):
        instead = language.ABSENT_ATTRIBUTES.get(name, "")
        context.refuse(node, f"the attribute {name} is CPython's own business", instead)
    elif name in language.NEVER_ATTRIBUTES:
        context.refuse(node, f"the attribute {name} inspects the interpreter")
    elif name == "args" and not isinstance(node.ctx, ast.Load):
        context.refuse(node, "args is an exception's own", "another name")
    elif module is not None:
        _check_export(context, node, module)
    elif (
        name not in context.attributes
        and not is_super(node.value)
        and not (context.has_references and isinstance(node.ctx, ast.Load))
    ):
        instead = language.ABSENT_ATTRIBUTES.get(name, "")
        reason = f"no class of this module and no builtin has {name!r}"
        context.refuse(node, reason, instead)
    else:
        context.check_identifier(node, name)
        if name in context.admitted and name in context.attributes and name != "args":
            context.plain_attributes.add(name)


def _module_of(context: PolicyContext, node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return context.facts.modules.get(node.id)
    return None


def _check_export(context: PolicyContext, node: ast.Attribute, module: str) -> None:
    is_read = isinstance(node.ctx, ast.Load)
    if is_read and (module, node.attr) in context.plain_exports:
        return
    if not is_read:
        context.refuse(node, f"the module {module} cannot be changed")
    elif node.attr not in context.names_of(module).exports:
        reason = f"the module {module} has no {node.attr!r}"
        context.refuse(node, reason, instead_of(module, node.attr))
    elif not _is_misplaced(context, node, node.attr):
        context.plain_exports.add((module, node.attr))


def _check_super(context: PolicyContext, node: ast.expr, position: Position) -> None:
    is_method = position.is_method and not position.in_comprehension
    if isinstance(node, ast.Call) and (node.args or node.keywords):
        context.refuse(node, "super takes no arguments", "super().method()")
    elif not is_method or position.is_generator:
        context.refuse(node, "super() stands outside of a method", "Base.method(self)")
    elif not context.facts.is_universal("super"):
        context.refuse(node, "super is rebound in this module", "another name")


def check_call(context: PolicyContext, node: ast.Call, position: Position) -> None:
    """A call: some names may only be called, and with literals."""
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg.startswith("_"):
            context.refuse(keyword, "a keyword argument starts with an underscore")
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name and name not in context.facts.bound:
        if name in {"getattr", "hasattr"}:
            _check_getattr(context, node, name)
            _check_passed(context, node, position)
            return
        if name in {"isinstance", "issubclass"}:
            _check_isinstance(context, node, name, position)
            return
        if name == "type" and (len(node.args) != 1 or node.keywords):
            context.refuse(node, "type takes one argument", "a class statement")
    context.check(node.func, position)
    _check_passed(context, node, position)


def _check_isinstance(
    context: PolicyContext, node: ast.Call, name: str, position: Position
) -> None:
    if len(node.args) != 2 or node.keywords:  # noqa: PLR2004 - as Python's
        context.refuse(node, f"{name} takes a value and a class")
        return
    context.check(node.args[0], position)
    check_class_name(context, node.args[1], position)


def _check_getattr(context: PolicyContext, node: ast.Call, name: str) -> None:
    wanted = {"getattr": (2, 3), "hasattr": (2,)}[name]
    is_spread = any(isinstance(one, ast.Starred) for one in node.args)
    if len(node.args) not in wanted or node.keywords or is_spread:
        context.refuse(node, f"{name} takes an object and a literal name")
        return
    match node.args[1]:
        case ast.Constant(value=str(attribute)):
            pass
        case _:
            context.refuse(node, f"the name {name} looks up is not a literal", "a dict")
            return
    if attribute in language.NEVER_ATTRIBUTES or attribute.startswith("__"):
        context.refuse(node, f"the attribute {attribute} inspects the interpreter")
    elif not attribute.isidentifier():
        context.refuse(node, f"{attribute!r} is no attribute name")
    else:
        context.check_identifier(node, attribute)


def _check_passed(context: PolicyContext, node: ast.Call, position: Position) -> None:
    check_items(context, node.args, position)
    for keyword in node.keywords:
        context.check(keyword.value, position)


def check_items(
    context: PolicyContext, items: Iterable[ast.expr], position: Position
) -> None:
    """Items of a display or a target, or arguments: each may be spread."""
    for item in items:
        context.check(item.value if isinstance(item, ast.Starred) else item, position)


def check_class_name(
    context: PolicyContext, node: ast.expr, position: Position
) -> bool:
    """Accept a name that stands for a class here; else check it as a value."""
    if isinstance(node, ast.Tuple):
        for element in node.elts:
            check_class_name(context, element, position)
        return True
    if context.is_module_error(node):
        return True
    if isinstance(node, ast.Name) and node.id not in context.facts.bound:
        known = language.EXCEPTIONS | language.CLASSES | language.CLASSES_NEVER
        if node.id in known:
            return True
    context.check(node, position)
    return False


def is_class_of(context: PolicyContext, node: ast.expr) -> bool:
    """`type(x)` or `x.__class__`."""
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[_], keywords=[]):
            return context.facts.is_universal("type")
        case ast.Attribute(attr="__class__"):
            return True
        case _:
            return False
