"""Functions, lambdas and classes, and what decorates them."""

import ast

from pvm import language
from pvm.compiler.facts import is_generator
from pvm.compiler.lowering import dataclasses, decorators, enums
from pvm.compiler.policy.context import PolicyContext, Position
from pvm.compiler.policy.scopes import check_scopes, check_variables
from pvm.compiler.syntax.visitor import parameters

_COMPILERS_BASES = frozenset({"enum.Enum", "abc.ABC", decorators.ACTOR})
"""Bases that the compiler writes out or drops."""


def check_function_def(
    context: PolicyContext, node: ast.FunctionDef, position: Position
) -> None:
    """A function or a method."""
    context.functions += 1
    is_method = position.class_body
    is_special = node.name in language.DUNDER_METHODS or (
        position.class_kind == "dataclass" and node.name == dataclasses.POST_INIT
    )
    if is_method and not is_special and node.name.startswith("__"):
        reason = f"the interpreter would call {node.name} unseen"
        context.refuse(node, reason, "an ordinary method")
    elif not (is_method and is_special):
        context.check_identifier(node, node.name)
    for decorator in node.decorator_list:
        _check_decorator(context, decorator, position)
    if is_method:
        _check_descriptors(context, node)
    check_parameters(context, node.args, position)
    inner = Position(
        function=node,
        is_method=is_method and bool(node.args.args),
        is_generator=is_generator(context.facts, node),
        scopes=position.scopes + 1,
        functions=(*position.functions, node),
    )
    check_scopes(context, node, inner)
    check_variables(context, node, position)
    if inner.is_generator and is_method and node.name == "__init__":
        context.refuse(node, "__init__ is a generator")
    context.check_body(node.body, inner)


def _check_descriptors(context: PolicyContext, node: ast.FunctionDef) -> None:
    """What the interpreter calls without a frame of the actor's goes to a function.

    One object after another whose method is the next object would recur in C, and
    no call of that is counted.
    """
    decorated = [
        one
        for one in node.decorator_list
        if context.facts.meaning(one) != "abc.abstractmethod"
    ]
    native = [one for one in decorated if _is_native_decorator(one)]
    if len(native) > 1:
        reason = "property, staticmethod, classmethod and setter stand alone"
        context.refuse(native[1], reason, "one of them")
    elif decorated and node.name.startswith("__"):
        reason = f"the interpreter calls {node.name} itself, so none decorates it"
        context.refuse(decorated[0], reason, "an ordinary method, called by this one")


def _is_native_decorator(node: ast.expr) -> bool:
    match node:
        case ast.Name(id=name):
            return name in language.DECORATORS
        case ast.Attribute(attr="setter"):
            return True
        case _:
            return False


def _check_decorator(
    context: PolicyContext, node: ast.expr, position: Position
) -> None:
    match node:
        case ast.Name(id=name) if name in language.DECORATORS:
            if not position.class_body or not context.facts.is_universal(name):
                context.refuse(node, f"{name} decorates something else than a method")
        case ast.Attribute(value=ast.Name(), attr="setter") if position.class_body:
            context.check(node.value, position)
        case _ if decorators.decorator_name(node, context.facts) is not None:
            for argument in node.args if isinstance(node, ast.Call) else ():
                context.check(argument, position)
        case _ if context.facts.meaning(node) == "abc.abstractmethod":
            if not position.class_body:
                context.refuse(node, "abstractmethod is a decorator of methods only")
        case _:
            context.check(node, position)


def check_lambda(context: PolicyContext, node: ast.Lambda, position: Position) -> None:
    """A lambda: a function of its own, with an expression for a body."""
    context.functions += 1
    if position.class_body:
        context.refuse(node, "a lambda stands in a class body", "a method")
    check_parameters(context, node.args, position)
    check_variables(context, node, position)
    functions = (*position.functions, node)
    inner = Position(function=node, scopes=position.scopes + 1, functions=functions)
    check_scopes(context, node, inner)
    context.check(node.body, inner)


def check_parameters(
    context: PolicyContext, node: ast.arguments, position: Position
) -> None:
    """Names and defaults of parameters; annotations are dropped."""
    every = parameters(node)
    if len(every) > language.PARAMETERS_MAX:
        context.refuse(every[0], f"more than {language.PARAMETERS_MAX} parameters")
    for parameter in every:
        context.check_identifier(parameter, parameter.arg)
    for default in [*node.defaults, *node.kw_defaults]:
        if default is not None:
            context.check(default, position)


def check_class_def(
    context: PolicyContext, node: ast.ClassDef, position: Position
) -> None:
    """A class of the module: an ordinary one, a dataclass, an Enum, an exception."""
    context.check_identifier(node, node.name)
    if position != Position():
        context.refuse(node, "a class inside something", "a class of the module")
    elif node.name not in context.facts.classes:
        context.refuse(node, f"the class name {node.name!r} is bound twice")
    if node.keywords:
        context.refuse(node, "a class has keywords or a metaclass")
    for decorator in node.decorator_list:
        _check_class_decorator(context, node, decorator)
    if len(node.bases) > language.BASES_MAX:
        context.refuse(node, f"more than {language.BASES_MAX} bases")
    for base in node.bases:
        _check_base(context, base)
    kind = _class_kind(context, node)
    record = _record(context, node)
    if record is not None:
        _check_fields(context, node, record)
    context.check_body(node.body, Position(class_body=True, class_kind=kind))
    context.classes_seen.add(node.name)


def _check_fields(
    context: PolicyContext, node: ast.ClassDef, record: dataclasses.Record
) -> None:
    """The fields of a dataclass or a model, of which an `__init__` is written."""
    if record.is_too_long:
        reason = f"more than {language.FIELDS_MAX} fields, inherited ones included"
        context.refuse(node, reason, "an attribute that holds some of them")
    if record.is_split:
        reason = "a dataclass has the fields of several bases"
        context.refuse(node, reason, "one base that has fields")
    misplaced = dataclasses.first_misplaced(record.every)
    if misplaced is not None:
        reason = f"the field {misplaced.name!r} has no default after one that has"
        context.refuse(node, reason, "the fields without a default first")
    for part, reason, instead in dataclasses.check_factories(
        context.facts, node, record
    ):
        context.refuse(part, reason, instead)


def _class_kind(context: PolicyContext, node: ast.ClassDef) -> str:
    """Whether it is an Enum or a dataclass; an Enum is checked as a whole."""
    if any(context.facts.meaning(base) == "enum.Enum" for base in node.bases):
        for part, reason, instead in enums.check(context.facts, node):
            context.refuse(part, reason, instead)
        return "enum"
    return "dataclass" if _record(context, node) is not None else ""


def _record(context: PolicyContext, node: ast.ClassDef) -> dataclasses.Record | None:
    """What is known of a class that is a dataclass."""
    return context.records.get(node.name)


def _check_class_decorator(
    context: PolicyContext, node: ast.ClassDef, decorator: ast.expr
) -> None:
    if decorators.decorator_name(decorator, context.facts) is not None:
        return
    if node.name not in context.facts.classes:
        return  # it is refused
    record = _record(context, node)
    if record is None or decorator is not record.decorator:
        reason = "a class has a decorator that is neither dataclass nor cowboy_sdk's"
        context.refuse(node, reason, "a class with __init__")
        return
    for reason in dataclasses.check_decorator(decorator):
        context.refuse(decorator, reason, "an __init__ of the class")


def _check_base(context: PolicyContext, node: ast.expr) -> None:
    match node:
        case _ if context.facts.meaning(node) in _COMPILERS_BASES:
            pass
        case ast.Name(id=name) if context.facts.is_enum(name):
            context.refuse(node, "a base class that is an Enum", "an Enum of its own")
        case ast.Name(id=name) if name in context.classes_seen:
            pass
        case ast.Name(id=name) if name in language.EXCEPTIONS and (
            context.facts.is_universal(name)
        ):
            pass
        case ast.Name(id=name) if context.is_library_class(name):
            pass
        case ast.Attribute(value=ast.Name(id=local), attr=name) if (
            name in context.names_of(context.facts.modules.get(local)).classes
        ):
            pass
        case ast.Name(id="object") if context.facts.is_universal("object"):
            context.refuse(node, "object as a base class", "no base class")
        case _:
            context.refuse(
                node,
                "a base class that is none of this module's, no exception and "
                "of no library",
                "hold it in an attribute",
            )
