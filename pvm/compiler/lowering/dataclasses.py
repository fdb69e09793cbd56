"""`@dataclass` written out: `__init__`, `__repr__`, `__eq__` and the order, in source.

A field is an annotated name of the class body, in order, after those of the base that
is a dataclass of the module. What the class defines itself stays. Fields are read by
`policy`, which refuses what is not listed here, and again by `desugar`.
"""

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from typing_extensions import override

from pvm import language
from pvm.compiler.facts import Facts
from pvm.compiler.syntax.locations import place
from pvm.compiler.syntax.visitor import bound_in_class, parameters, survey
from pvm.node_charges import Nodes

MISSING = "hidden_missing"
"""Stands for an argument that was not given."""

POST_INIT = "__post_init__"

MODELS = frozenset({"cowboy_sdk.CowboyModel", "cowboy_sdk.models.CowboyModel"})
"""Base classes of which a class is a dataclass with a few methods more."""

OPTIONS = frozenset({"init", "repr", "eq", "order"})
"""Of the decorator, each `True` or `False`."""

_OF_METHOD = 10
"""Nodes that a written method counts more: parsing it has a beginning, too."""

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
    factory_nodes: int = 0
    """Of its syntax."""
    factory_names: frozenset[str] = frozenset()
    """What stands in it."""
    init: bool = True
    repr: bool = True
    compare: bool = True
    kind: str = ""
    """The annotation where that is a name: what a model's schema says of it."""
    owner: str = ""
    """The class whose body has the field, and its default as an attribute."""

    @property
    def is_optional(self) -> bool:
        """Whether `__init__` does without."""
        return self.default is not None or self.factory is not None


class Record(Struct, frozen=True):
    """A class that is a dataclass, or a model of `cowboy_sdk`, which is one, too."""

    decorator: ast.expr
    """The `dataclass` among its decorators, called or not; of a model the base."""
    is_model: bool
    fields: Mapping[str, Field]
    """Inherited ones first; of too many, one more than there may be."""
    has_post_init: bool
    """It or a class that it derives from has a `__post_init__`."""
    is_split: bool
    """It derives from several classes that have fields: their order is Python's."""

    @property
    def every(self) -> Sequence[Field]:
        """The fields in order."""
        return [*self.fields.values()]

    @property
    def is_too_long(self) -> bool:
        """Whether it has more fields than an `__init__` can take."""
        return len(self.fields) > language.FIELDS_MAX


def records_of(facts: Facts) -> dict[str, Record]:
    """The dataclasses of a module by name, each looked at once.

    A base counts if it stands before: nothing looks for fields in a circle.
    """
    found: dict[str, Record] = {}
    fields_of: dict[str, Mapping[str, Field]] = {}
    models: set[str] = set()
    initialized: set[str] = set()
    split: set[str] = set()
    for name, node in facts.classes.items():
        parents = [base.id for base in node.bases if isinstance(base, ast.Name)]
        is_model = any(
            facts.meaning(base) in MODELS
            or (isinstance(base, ast.Name) and base.id in models)
            for base in node.bases
        )
        if is_model:
            models.add(name)
        bases = [one for one in parents if one in fields_of]
        if len(bases) > 1 or not split.isdisjoint(bases):
            split.add(name)
        if _has_post_init(node) or not initialized.isdisjoint(parents):
            initialized.add(name)
        decorator = _decorator(facts, node) or (node.bases[0] if is_model else None)
        if decorator is not None:
            fields_of[name] = _fields(facts, node, [fields_of[one] for one in bases])
            has_post_init, is_split = name in initialized, name in split
            found[name] = Record(
                decorator, is_model, fields_of[name], has_post_init, is_split
            )
        elif bases:
            fields_of[name] = fields_of[bases[0]]
    return found


def _has_post_init(node: ast.ClassDef) -> bool:
    return any(POST_INIT in bound_in_class(statement) for statement in node.body)


def _decorator(facts: Facts, node: ast.ClassDef) -> ast.expr | None:
    for one in node.decorator_list:
        name = one.func if isinstance(one, ast.Call) else one
        if facts.meaning(name) == "dataclasses.dataclass":
            return one
    return None


def _fields(
    facts: Facts, node: ast.ClassDef, inherited: Sequence[Mapping[str, Field]]
) -> Mapping[str, Field]:
    """The fields of a dataclass, inherited ones first, at most one too many."""
    found: dict[str, Field] = {}
    for fields in inherited:
        found.update(fields)
    for statement in node.body:
        if is_field(statement):
            assert isinstance(statement, ast.AnnAssign)
            one = _field(facts, statement, node.name)
            found[one.name] = one
    kept = [*found.items()][: language.FIELDS_MAX + 1]
    return dict(kept)


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
    if any("ClassVar" in text for text in _quoted(node.annotation)):
        yield "a quoted ClassVar", "ClassVar without quotes"
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


def _quoted(annotation: ast.expr) -> Iterator[str]:
    for part in ast.walk(annotation):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def _check_option(name: str | None, option: ast.expr) -> Iterator[tuple[str, str]]:
    if name == "default_factory":
        if not isinstance(option, ast.Name | ast.Lambda):
            yield "a default_factory that is no name and no lambda", "a function"
        elif isinstance(option, ast.Lambda) and parameters(option.args):
            yield "a default_factory takes parameters", "a lambda without any"
    elif name in _FIELD_OPTIONS:
        if not _is_literal_bool(option):
            yield f"the option {name} of a field is not True or False", ""
    elif name != "default":
        yield f"field has no option {name!r} here", ""


def check_factories(
    facts: Facts, node: ast.ClassDef, record: Record
) -> Iterator[tuple[ast.AST, str, str]]:
    """Places where a `default_factory` would mean something else than in Python.

    It is called in the `__init__` that is written, and looked up there: each time,
    among the parameters first, and not in the body of the class.
    """
    taken = {"self", *(one.name for one in record.every if one.init)}
    for one in record.every:
        name = min(one.factory_names & taken, default=None)
        if one.factory is not None and name is not None:
            reason = f"a default_factory names {name!r}, a parameter of the __init__"
            where = one.factory if one.owner == node.name else node
            yield where, reason, "a function of another name"
            if where is node:
                break  # the others would be told at the same place
    above: set[str] = set()
    for statement in node.body:
        factory = _factory_of(facts, statement)
        if isinstance(factory, ast.Name) and factory.id not in taken:
            name = factory.id
            if facts.bindings.get(name, 0) > 1:
                reason = f"a default_factory names {name!r}, which is bound twice"
                yield factory, reason, f"lambda: {name}()"
            elif name in above:
                reason = f"a default_factory names {name!r} of the class"
                yield factory, reason, "a function of the module"
        above.update(bound_in_class(statement))


def _factory_of(facts: Facts, statement: ast.stmt) -> ast.expr | None:
    value = statement.value if isinstance(statement, ast.AnnAssign) else None
    if not isinstance(value, ast.Call) or not is_field_call(facts, value):
        return None
    given = {keyword.arg: keyword.value for keyword in value.keywords}
    return given.get("default_factory")


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


def first_misplaced(fields: Sequence[Field]) -> Field | None:
    """A field that must be given, after one that need not."""
    optional = False
    for one in fields:
        if one.init and optional and not one.is_optional:
            return one
        optional = optional or (one.init and one.is_optional)
    return None


def written_out(
    facts: Facts, node: ast.ClassDef, record: Record, nodes: Nodes
) -> ast.ClassDef:
    """The class with its methods, without the decorator; each is paid, then made."""
    decorator = record.decorator
    options = {"init": True, "repr": True, "eq": True, "order": False}
    options |= _options(decorator)
    body = [_plain(facts, statement) for statement in node.body]
    own = {one.name for one in body if isinstance(one, ast.FunctionDef)}
    fields = record.every
    if record.is_model:
        nodes.pay(2 + 4 * len(fields), node)
        body.append(_model_fields(fields, node))
    values = _defaults(fields, node)
    for method in _methods(record, node.name, options):
        if method.name not in own:
            nodes.pay(method.nodes + _OF_METHOD, node)
            body.append(_parsed(method.source, values, node))
    for statement in body:
        if isinstance(statement, ast.FunctionDef) and statement.name == POST_INIT:
            statement.name = "hidden_post_init"
    node.decorator_list = [one for one in node.decorator_list if one is not decorator]
    node.body = body
    return node


class _Method(Struct, frozen=True):
    """A method to write; `hidden_default_x` is where a default goes."""

    name: str
    source: str
    nodes: int
    """Of its syntax, with what goes there."""


def _methods(
    record: Record, owner: str, options: Mapping[str, bool]
) -> Iterator[_Method]:
    fields = record.every
    if options["init"]:
        yield _init(fields, owner, has_post_init=record.has_post_init)
    if options["repr"]:
        yield _repr([one.name for one in fields if one.repr])
    compared = [one.name for one in fields if one.compare]
    mine, theirs = (
        "".join(f"{side}.{name}, " for name in compared) for side in ("self", "other")
    )
    size = 4 * len(compared)
    if options["eq"]:
        source = (
            f"def __eq__(self, other):\n    return {_SAME} and ({mine}) == ({theirs})"
        )
        yield _Method("__eq__", source, size + 14)
    for name, sign in _ORDER.items() if options["order"] else ():
        # Of two classes, the classes are compared: a TypeError.
        source = (
            f"def {name}(self, other):\n    if {_SAME}:\n"
            f"        return ({mine}) {sign} ({theirs})\n"
            "    return self.hidden_dunder_class < other.hidden_dunder_class"
        )
        yield _Method(name, source, size + 20)
    if record.is_model:
        pairs = ", ".join(f"{one.name!r}: self.{one.name}" for one in fields)
        source = f"def to_dict(self):\n    return {{{pairs}}}"
        yield _Method("to_dict", source, 3 * len(fields) + 5)


def _repr(names: Sequence[str]) -> _Method:
    shown = ", ".join(f"{name}={{self.{name}!r}}" for name in names)
    source = f"def __repr__(self):\n    return f'{{hidden_name(self)}}({shown})'"
    return _Method("__repr__", source, 10 + 4 * len(names))


def _model_fields(fields: Sequence[Field], node: ast.ClassDef) -> ast.stmt:
    """`model_fields`: name, kind and whether it must be given, of each field."""
    rows = tuple((one.name, one.kind, not one.is_optional) for one in fields)
    statement = ast.parse(f"model_fields = {rows!r}").body[0]
    place(statement, node)
    return statement


def _init(fields: Sequence[Field], owner: str, *, has_post_init: bool) -> _Method:
    parameters = ["self"]
    lines = ["    pass"]
    nodes = 4
    for one in fields:
        if one.init:
            nodes += 1
            default = ""
            if one.is_optional:
                nodes += 1 if one.factory is not None or one.owner == owner else 2
                default = f"=hidden_default_{one.name}"
            parameters.append(f"{one.name}{default}")
        if one.factory is not None:
            nodes += 4 + one.factory_nodes
            made = f"hidden_factory_{one.name}()"
            if one.init:
                nodes += 5
                made = f"{made} if {one.name} is {MISSING} else {one.name}"
            lines.append(f"    self.{one.name} = {made}")
        elif one.init:
            nodes += 4
            lines.append(f"    self.{one.name} = {one.name}")
    if has_post_init:
        nodes += 4
        lines.append("    self.hidden_post_init()")
    head = f"def __init__({', '.join(parameters)}):"
    return _Method("__init__", "\n".join([head, *lines]), nodes)


def _defaults(fields: Sequence[Field], node: ast.ClassDef) -> dict[str, ast.expr]:
    """What stands for each hidden name of the written methods."""
    found: dict[str, ast.expr] = {}
    for one in fields:
        if one.factory is not None:
            found[f"hidden_factory_{one.name}"] = one.factory
            found[f"hidden_default_{one.name}"] = ast.Name(MISSING, ast.Load())
        elif one.default is not None and one.owner != node.name:
            owner = ast.Name(one.owner, ast.Load())
            inherited = ast.Attribute(owner, one.name, ast.Load())
            found[f"hidden_default_{one.name}"] = inherited
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
) -> ast.FunctionDef:
    (method,) = ast.parse(source).body
    assert isinstance(method, ast.FunctionDef)
    filled = _Filler(values).visit(method) if method.name == "__init__" else method
    assert isinstance(filled, ast.FunctionDef)
    place(filled, node)
    # RestrictedPython tells methods from functions by the column.
    filled.col_offset = node.col_offset + 4
    return filled


def _plain(facts: Facts, statement: ast.stmt) -> ast.stmt:
    """A field as what is left of it in the class body: its default, or nothing."""
    if not is_field(statement):
        return statement
    assert isinstance(statement, ast.AnnAssign)
    default = _field(facts, statement, "").default
    if default is None:
        return ast.copy_location(ast.Pass(), statement)
    return ast.copy_location(ast.Assign([statement.target], default), statement)


def _field(facts: Facts, node: ast.AnnAssign, owner: str) -> Field:
    assert isinstance(node.target, ast.Name)
    if not is_field_call(facts, node.value):
        kind = _kind(node.annotation)
        return Field(node.target.id, node.value, kind=kind, owner=owner)
    assert isinstance(node.value, ast.Call)
    given = {keyword.arg: keyword.value for keyword in node.value.keywords}
    flags = _options(node.value)
    factory = given.get("default_factory")
    found = None if factory is None else survey(factory)
    return Field(
        node.target.id,
        given.get("default"),
        factory,
        0 if found is None else found.size,
        frozenset(() if found is None else (one.id for one in found.of(ast.Name))),
        flags.get("init", True),
        flags.get("repr", True),
        flags.get("compare", True),
        _kind(node.annotation),
        owner,
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
