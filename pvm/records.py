"""`@dataclass` written out: `__init__`, `__repr__`, `__eq__` and the order, in source.

A field is an annotated name of the class body, in order, after those of the base that
is a dataclass of the module. What the class defines itself stays. Fields are read by
`policy`, which refuses what is not listed here, and again by `desugar`.
"""

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from pvm.facts import Facts
from pvm.places import place

MISSING = "hidden_missing"
"""Stands for an argument that was not given."""

POST_INIT = "__post_init__"

MODELS = frozenset({"cowboy_sdk.CowboyModel", "cowboy_sdk.models.CowboyModel"})
"""Base classes of which a class is a dataclass with a few methods more."""

OPTIONS = frozenset({"init", "repr", "eq", "order"})
"""Of the decorator, each `True` or `False`."""

_FIELD_OPTIONS = frozenset({"init", "repr", "compare"})
_ORDER = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
_SAME = "self.hidden_dunder_class is other.hidden_dunder_class"


class Field(Struct, frozen=True):
    """One field of a dataclass."""

    name: str
    default: ast.expr | None = None
    """What `__init__` assigns without an argument; evaluated with the class."""
    factory: ast.expr | None = None
    """What is called instead."""
    init: bool = True
    repr: bool = True
    compare: bool = True
    kind: str = ""
    """The annotation where that is a name: what a model's schema says of it."""

    @property
    def is_optional(self) -> bool:
        """Whether `__init__` does without."""
        return self.default is not None or self.factory is not None


def decorator_of(facts: Facts, node: ast.ClassDef) -> ast.expr | None:
    """The `dataclass` among a class's decorators, called or not.

    Of a model of `cowboy_sdk`, which is one without a decorator, the base.
    """
    for one in node.decorator_list:
        name = one.func if isinstance(one, ast.Call) else one
        if facts.meaning(name) == "dataclasses.dataclass":
            return one
    return _model_base(facts, node)


def _model_base(facts: Facts, node: ast.ClassDef) -> ast.expr | None:
    """The base by which a class is a `CowboyModel`; bases stand before it."""
    for base in node.bases:
        if facts.meaning(base) in MODELS:
            return base
        parent = facts.classes.get(base.id) if isinstance(base, ast.Name) else None
        is_before = parent is not None and parent.lineno < node.lineno
        if parent is not None and is_before and _model_base(facts, parent):
            return base
    return None


def check_decorator(node: ast.expr) -> Iterator[str]:
    """Reasons to refuse the options of a `dataclass` decorator."""
    if not isinstance(node, ast.Call):
        return
    if node.args:
        yield "dataclass takes no arguments but options"
    for keyword in node.keywords:
        if keyword.arg not in OPTIONS:
            yield f"dataclass has no option {keyword.arg!r} here"
        elif not _is_literal_bool(keyword.value):
            yield f"the option {keyword.arg} of dataclass is not True or False"


def check_field(facts: Facts, node: ast.AnnAssign) -> Iterator[tuple[str, str]]:
    """Reasons to refuse a field, each with what to write instead."""
    value = node.value
    if isinstance(value, ast.List | ast.Dict | ast.Set):
        yield "a default that is changed would be everybody's", "default_factory"
    if not is_field_call(facts, value):
        return
    assert isinstance(value, ast.Call)
    if value.args:
        yield "field takes keyword arguments only", "field(default=…)"
    given = {keyword.arg: keyword.value for keyword in value.keywords}
    if {"default", "default_factory"} <= given.keys():
        yield "a field has a default and a default_factory", "one of them"
    for name, option in given.items():
        yield from _check_option(name, option)


def _check_option(name: str | None, option: ast.expr) -> Iterator[tuple[str, str]]:
    if name == "default_factory":
        if not isinstance(option, ast.Name | ast.Lambda):
            yield "a default_factory that is no name and no lambda", "a function"
    elif name in _FIELD_OPTIONS:
        if not _is_literal_bool(option):
            yield f"the option {name} of a field is not True or False", ""
    elif name != "default":
        yield f"field has no option {name!r} here", ""


def is_field(node: ast.stmt) -> bool:
    """Whether a statement of a dataclass's body is a field."""
    return (
        isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and not any(
            getattr(part, "id", getattr(part, "attr", "")) == "ClassVar"
            for part in ast.walk(node.annotation)
        )
    )


def fields_of(facts: Facts, node: ast.ClassDef) -> list[Field]:
    """The fields of a dataclass, inherited ones first."""
    found: dict[str, Field] = {}
    for base in node.bases:
        parent = facts.classes.get(base.id) if isinstance(base, ast.Name) else None
        is_before = parent is not None and parent.lineno < node.lineno
        if parent is not None and is_before and decorator_of(facts, parent) is not None:
            for one in fields_of(facts, parent):
                inherited = ast.Attribute(
                    ast.Name(parent.name, ast.Load()), one.name, ast.Load()
                )
                has_default = one.default is not None
                found[one.name] = replace(
                    one, default=inherited if has_default else None
                )
    for statement in node.body:
        if is_field(statement):
            assert isinstance(statement, ast.AnnAssign)
            one = _field(facts, statement)
            found[one.name] = one
    return list(found.values())


def first_misplaced(fields: Sequence[Field]) -> Field | None:
    """A field that must be given, after one that need not."""
    optional = False
    for one in fields:
        if one.init and optional and not one.is_optional:
            return one
        optional = optional or (one.init and one.is_optional)
    return None


def all_fields(facts: Facts) -> dict[str, list[Field]]:
    """The fields of each dataclass of a module, by its name."""
    return {
        name: fields_of(facts, node)
        for name, node in facts.classes.items()
        if decorator_of(facts, node) is not None
    }


def written_out(
    facts: Facts, node: ast.ClassDef, fields: Sequence[Field]
) -> ast.ClassDef:
    """The class with its methods, without the decorator."""
    decorator = decorator_of(facts, node)
    assert decorator is not None
    options = {"init": True, "repr": True, "eq": True, "order": False}
    options |= _options(decorator)
    body = [_plain(facts, statement) for statement in node.body]
    own = {one.name for one in body if isinstance(one, ast.FunctionDef)}
    written = [*_methods(fields, options, has_post_init=POST_INIT in own)]
    if _model_base(facts, node) is not None:
        written.append(_to_dict(fields))
        body.append(_model_fields(fields, node))
    source = "\n".join(written)
    methods = _parsed(source, _defaults(fields), node)
    body += [method for method in methods if method.name not in own]
    for statement in body:
        if isinstance(statement, ast.FunctionDef) and statement.name == POST_INIT:
            statement.name = "hidden_post_init"
    node.decorator_list = [one for one in node.decorator_list if one is not decorator]
    node.body = body
    return node


def _methods(
    fields: Sequence[Field], options: Mapping[str, bool], *, has_post_init: bool
) -> Iterator[str]:
    """The source of the methods; `hidden_default_x` is where a default goes."""
    if options["init"]:
        yield from _init(fields, has_post_init=has_post_init)
    if options["repr"]:
        shown = (f"{one.name}={{self.{one.name}!r}}" for one in fields if one.repr)
        text = f"{{hidden_name(self)}}({', '.join(shown)})"
        yield f"def __repr__(self):\n    return f'{text}'"
    mine, theirs = (
        "".join(f"{side}.{one.name}, " for one in fields if one.compare)
        for side in ("self", "other")
    )
    if options["eq"]:
        yield f"def __eq__(self, other):\n    return {_SAME} and ({mine}) == ({theirs})"
    for name, sign in _ORDER.items() if options["order"] else ():
        # Of two classes, the classes are compared: a TypeError.
        yield (
            f"def {name}(self, other):\n    if {_SAME}:\n"
            f"        return ({mine}) {sign} ({theirs})\n"
            "    return self.hidden_dunder_class < other.hidden_dunder_class"
        )


def _to_dict(fields: Sequence[Field]) -> str:
    pairs = ", ".join(f"{one.name!r}: self.{one.name}" for one in fields)
    return f"def to_dict(self):\n    return {{{pairs}}}"


def _model_fields(fields: Sequence[Field], node: ast.ClassDef) -> ast.stmt:
    """`model_fields`: name, kind and whether it must be given, of each field."""
    rows = tuple((one.name, one.kind, not one.is_optional) for one in fields)
    statement = ast.parse(f"model_fields = {rows!r}").body[0]
    place(statement, node)
    return statement


def _init(fields: Sequence[Field], *, has_post_init: bool) -> Iterator[str]:
    parameters = [
        f"{one.name}=hidden_default_{one.name}" if one.is_optional else one.name
        for one in fields
        if one.init
    ]
    yield f"def __init__({', '.join(['self', *parameters])}):\n    pass"
    for one in fields:
        if one.factory is not None:
            made = f"hidden_factory_{one.name}()"
            if one.init:
                made = f"{made} if {one.name} is {MISSING} else {one.name}"
            yield f"    self.{one.name} = {made}"
        elif one.init:
            yield f"    self.{one.name} = {one.name}"
    if has_post_init:
        yield "    self.hidden_post_init()"


def _defaults(fields: Sequence[Field]) -> dict[str, ast.expr]:
    """What stands for each hidden name of the written methods."""
    found: dict[str, ast.expr] = {}
    for one in fields:
        if one.factory is not None:
            found[f"hidden_factory_{one.name}"] = one.factory
            found[f"hidden_default_{one.name}"] = ast.Name(MISSING, ast.Load())
        elif isinstance(one.default, ast.Attribute):
            found[f"hidden_default_{one.name}"] = one.default
        elif one.default is not None:
            # The class body has assigned it: it is evaluated once.
            found[f"hidden_default_{one.name}"] = ast.Name(one.name, ast.Load())
    return found


class _Filler(ast.NodeTransformer):
    """Puts expressions where their hidden names stand."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    @override
    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Name) and node.id in self.values:
            return copy.deepcopy(self.values[node.id])
        return self.generic_visit(node)


def _parsed(
    source: str, values: Mapping[str, ast.expr], node: ast.ClassDef
) -> Iterator[ast.FunctionDef]:
    for method in ast.parse(source).body:
        filled = _Filler(values).visit(method)
        assert isinstance(filled, ast.FunctionDef)
        place(filled, node)
        # RestrictedPython tells methods from functions by the column.
        filled.col_offset = node.col_offset + 4
        yield filled


def _plain(facts: Facts, statement: ast.stmt) -> ast.stmt:
    """A field as what is left of it in the class body: its default, or nothing."""
    if not is_field(statement):
        return statement
    assert isinstance(statement, ast.AnnAssign)
    default = _field(facts, statement).default
    if default is None:
        return ast.copy_location(ast.Pass(), statement)
    return ast.copy_location(ast.Assign([statement.target], default), statement)


def _field(facts: Facts, node: ast.AnnAssign) -> Field:
    assert isinstance(node.target, ast.Name)
    if not is_field_call(facts, node.value):
        return Field(node.target.id, node.value, kind=_kind(node.annotation))
    assert isinstance(node.value, ast.Call)
    given = {keyword.arg: keyword.value for keyword in node.value.keywords}
    flags = _options(node.value)
    return Field(
        node.target.id,
        given.get("default"),
        given.get("default_factory"),
        flags.get("init", True),
        flags.get("repr", True),
        flags.get("compare", True),
        _kind(node.annotation),
    )


def _kind(annotation: ast.expr) -> str:
    """The name that an annotation is, or that it quotes."""
    match annotation:
        case ast.Name(id=name) | ast.Constant(value=str(name)):
            return name
        case ast.Subscript(value=ast.Name(id=name)):
            return name
        case _:
            return ""


def is_field_call(facts: Facts, node: ast.expr | None) -> bool:
    """Whether a field's value is `field(…)`."""
    return (
        isinstance(node, ast.Call) and facts.meaning(node.func) == "dataclasses.field"
    )


def _options(node: ast.expr) -> dict[str, bool]:
    keywords = node.keywords if isinstance(node, ast.Call) else []
    return {
        one.arg: one.value.value is True
        for one in keywords
        if one.arg is not None and isinstance(one.value, ast.Constant)
    }


def _is_literal_bool(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is bool
