"""What an actor can hold, by value: a walk that starts where actors' values come from.

A name that a module defines may be read of any value (`names = 0` in a class admits
`x.names` for every `x`), so the language is as tight as the public names of every
object that an actor can hold. Values are walked, not types: every public name of a
value is read as compiled code reads it, every item of a container is a value as well.
Whatever is of no kind in `GIVEN` is a leak.

Each source of values finds what the others miss: `roots` starts from the builtins and
the members of the modules, `forms` runs a program for each form that gives a value,
`table` calls everything on every kind of value, and `corpus` looks at each expression
of all programs of the tests while they run.

What the walk does not see: what a value does when it is called with the right
arguments, defects of CPython, and forms that nobody wrote down.
"""

import ast
from contextlib import contextmanager
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from unittest import mock

import pvm
from pvm import Worker, language
from pvm.compiler import pipeline
from pvm.depth import LINKS
from pvm.driver import execution_pool, interpreter, library_loader
from pvm.errors import Halt
from pvm.meter import Meter
from pvm.runtime.classes import ORIGIN
from pvm.runtime.enums import Enum, EnumClass
from pvm.runtime.execution import ACTOR_MODULE, SealedModule, VmExecution
from pvm.runtime.helpers import HELPERS
from pvm.runtime.methods import lookup
from pvm.runtime.namespaces import enter
from pvm.testing import DictionaryHost, World
from tests.differential import vm_fingerprint

_FACT = "a value of the language: all its methods are priced ones"
_SHOWN = "slots of private names; its public names are those of docs/host-api.md"
_BOUND = "bound to an object of the line above: a bound method shows nothing of it"
_OWN = "made by the actor's own source"

GIVEN = {
    "builtins.NoneType": _FACT,
    "builtins.bool": _FACT,
    "builtins.bytes": _FACT,
    "builtins.dict": _FACT,
    "builtins.dict_items": _FACT,
    "builtins.dict_keys": _FACT,
    "builtins.dict_values": _FACT,
    "builtins.int": _FACT,
    "builtins.list": _FACT,
    "builtins.range": "its ints, start, stop and step, can be read; methods are priced",
    "builtins.str": _FACT,
    "builtins.tuple": _FACT,
    "pvm.runtime.ordered_set.FrozenOrderedSet": _FACT,
    "pvm.runtime.ordered_set.OrderedSet": _FACT,
    "an exception of CPython's": "what it shows are arguments, or None (exceptions.py)",
    "an iterator of CPython's": "no public name; `iter(x)`, of one list or text",
    "builtins.generator": "its public names are refused (NEVER_ATTRIBUTES, guarded)",
    "a function": _OWN,
    "a class": _OWN,
    "an Enum": _OWN + "; sealed",
    "a member of an Enum": _OWN + "; sealed, with name and value",
    "an object": _OWN,
    "an exception": _OWN,
    "a method": _OWN,
    "a class method": _OWN,
    "pvm.runtime.enums.MissingArgument": "of a dataclass's `__init__`; no name",
    "builtins.property": "of a class, by a decorator: its public names are refused",
    "builtin callable": "no attribute; looks at a type only",
    "builtin len": "no attribute; of an object of the actor's its `__len__`",
    "builtin ord": "no attribute; of one character",
    "a priced builtin": "bound to the execution, whose public names it does not show",
    "pvm.runtime.execution.PricedMethod": "slots of private names, callable",
    "pvm.runtime.initializers.Initializer": "slots of private names, callable",
    "pvm.runtime.execution.SealedModule": "the public names of a module, and no other",
    "pvm.runtime.freezing.SealedFunction": "of a library: nothing shows",
    "a class of a library": "sealed",
    "an object of a library": "of a class of a library, in the actor language",
    "an exception of a library": "likewise",
    "a method of a library": "likewise",
    "a class method of a library": "likewise",
    "a function that a library made": "afresh for each call, of `partial`, `cache`, …",
    "pvm.runtime.storage.StorageView": _SHOWN,
    "method of pvm.runtime.storage.StorageView": _BOUND,
    "pvm.modules.cowboy_sdk.Address": _SHOWN,
    "method of pvm.modules.cowboy_sdk.Address": _BOUND,
    "pvm.modules.cowboy_sdk._ActorRef": "any public name is a handler of an actor",
    "pvm.modules.cowboy_sdk._Method": "slots of private names, callable",
    "method of pvm.modules.cowboy_sdk._Functions": _SHOWN,
    "pvm.modules.hashlib.HashFunction": _SHOWN,
    "pvm.modules.hashlib.Hash": _SHOWN,
    "method of pvm.modules.hashlib.Hash": _BOUND,
    "method of pvm.modules.base64._Base64": _SHOWN,
    "method of pvm.modules.binascii._Binascii": _SHOWN,
    "method of pvm.modules.hmac._Hmac": _SHOWN,
    "method of pvm.modules.json._Json": _SHOWN,
    "method of pvm.modules.math._Math": _SHOWN,
    "method of pvm.modules.pvm_host._Binding": _SHOWN,
    "method of pvm.modules.struct._Struct": _SHOWN,
    "pvm.errors.HostError": "code, name and arguments: int, text, text",
    "pvm.errors.RevertError": "its arguments, which are texts",
    "pvm.errors.JSONDecodeError": "msg, doc and arguments, which are texts",
}
"""Every kind of value that actors are given, and why it may be."""

_SCALARS = frozenset({int, str, bytes, bool, type(None)})
_PRICED = frozenset(
    {*execution_pool.PRICED.values(), *execution_pool.AS_VALUES.values()}
)
_PREFIXES = ("_", "private_", "hidden_")
_CYCLES = 20_000
_DEPTH = 40


def kind_of(value):  # noqa: C901, PLR0911 - a line for each kind
    """What a value is, in the words of `GIVEN` where it is given away."""
    kind = type(value)
    if isinstance(value, type):
        return _kind_of_class(value)
    if kind is MethodType:
        return _kind_of_method(value)
    if kind is FunctionType:
        return _kind_of_function(value)
    if kind is BuiltinFunctionType:
        home = value.__self__
        if not isinstance(home, ModuleType):
            return f"native method {type(home).__qualname__}.{value.__name__}"
        name = value.__name__
        return f"builtin {name}" if home.__name__ == "builtins" else f"C {value!r}"
    if isinstance(value, Enum):
        return "a member of an Enum"
    if _module_of(kind) == ACTOR_MODULE:
        noun = "an exception" if isinstance(value, Exception) else "an object"
        return noun + _of_library(kind)
    if kind.__module__ == "builtins":
        if isinstance(value, Exception):
            return "an exception of CPython's"
        if kind.__qualname__.endswith("iterator"):
            return "an iterator of CPython's"
    return f"{kind.__module__}.{kind.__qualname__}"


def _module_of(class_):
    return type.__getattribute__(class_, "__module__")


def _of_library(class_):
    return (
        " of a library" if ORIGIN in type.__getattribute__(class_, "__dict__") else ""
    )


def _kind_of_class(value):
    if _module_of(value) != ACTOR_MODULE:
        return (
            f"class {_module_of(value)}.{type.__getattribute__(value, '__qualname__')}"
        )
    return "an Enum" if type(value) is EnumClass else "a class" + _of_library(value)


def _kind_of_method(value):
    subject, function = value.__self__, value.__func__
    owner = type(subject)
    if owner is VmExecution:
        name = f"{function.__module__}.{function.__qualname__}"
        return "a priced builtin" if function in _PRICED else f"helper {name}"
    if _module_of(owner).startswith("pvm") and not isinstance(subject, type):
        return f"method of {owner.__module__}.{owner.__qualname__}"
    if kind_of(function) not in {"a function", "a function of a library, unsealed"}:
        return f"method around {kind_of(function)}"
    noun = "a class method" if isinstance(subject, type) else "a method"
    is_library = function.__code__.co_filename != language.ACTOR_FILE
    return noun + (" of a library" if is_library else "")


def _kind_of_function(value):
    if value.__globals__.get("__name__") != ACTOR_MODULE:
        return f"function {value.__module__}.{value.__qualname__}"
    if value.__code__.co_filename == language.ACTOR_FILE:
        return "a function"
    is_fresh = "<locals>" in value.__qualname__
    return (
        "a function that a library made"
        if is_fresh
        else "a function of a library, unsealed"
    )


def public_names(value):
    """What of a value an actor can name, if its source defines the name somewhere."""
    if isinstance(value, SealedModule):
        found = {*vars(value)}
    else:
        found = {*dir(type(value)), *(() if type(value) is super else dir(value))}
    return sorted(
        name
        for name in found
        if not name.startswith(_PREFIXES) and name not in language.NEVER_ATTRIBUTES
    )


class Walk:
    """Kinds of values that were met, each with the path to the first."""

    def __init__(self):
        self.kinds = {}
        self.leaks = {}
        self.found = {}
        """A value of each kind, of classes and modules every one, and its path."""
        self.is_busy = False

    def see(self, vm, value, path):
        """Walk a value that an actor holds."""
        if type(value) in _SCALARS or self.is_busy:
            return
        self.is_busy = True
        counters = [cell.cell_contents for cell in vm.cells]
        halted = vm.meter.halted
        try:
            self._walk(vm, value, path, 0)
        finally:
            self.is_busy = False
            vm.meter.halted = halted
            for cell, counter in zip(vm.cells, counters, strict=True):
                cell.cell_contents = counter

    def _walk(self, vm, value, path, depth):
        kind = kind_of(value)
        if kind not in GIVEN:
            self.leaks.setdefault(kind, path)
            return
        key = _key_of(value, kind)
        is_new = key not in self.found
        if is_new:
            self.kinds.setdefault(kind, path)
            self.found[key] = value, path
        if depth > len(_PATH):
            return
        if is_new:
            for name, read in _read(vm, value):
                self._walk(vm, read, f"{path}.{name}", depth + 1)
        for item in _items(value):
            if type(item) not in _SCALARS:
                self._walk(vm, item, f"{path}[…]", depth + 1)


_PATH = range(6)
"""No longer path is walked; every kind on one begins paths of its own."""


def _key_of(value, kind):
    if isinstance(value, type):
        return value
    if kind in {"an object", "an exception", "a member of an Enum"} or isinstance(
        value, SealedModule
    ):
        return type(value), id(value) if isinstance(value, SealedModule) else 0
    return kind, value.__name__ if isinstance(value, FunctionType) else ""


def _items(value):
    if type(value) in {list, tuple}:
        return value[:20]
    if type(value) is dict:
        return [part for pair in [*value.items()][:50] for part in pair]
    return ()


def _read(vm, value):
    """Each public name of a value, and what an actor reads by it.

    The properties of actors' classes are left out: what they say is looked at where
    they say it.
    """
    for name in public_names(value):
        if isinstance(getattr(type(value), name, None), property) and (
            _module_of(type(value)) == ACTOR_MODULE
        ):
            continue
        refill(vm)
        try:
            read = lookup.get_attribute(vm, value, name)
        except (Exception, Halt):  # noqa: BLE001 - there is none for actors
            continue
        yield name, read


def refill(vm):
    """Have an execution go on, whatever was paid."""
    vm.cycles.cell_contents = _CYCLES
    vm.memory.cell_contents = 1 << 20
    vm.depth.cell_contents = LINKS[_DEPTH]
    meter = vm.meter
    meter.halted = None
    meter.cells_left = meter.cells_limit
    meter.read_only = meter.is_quiet = False


@contextmanager
def execution(source):
    """An execution of an actor that has begun, and its namespace."""
    world = World()
    actor = world.add(source)
    message = world.message(actor, ("run",), b"")
    meter = Meter(1 << 28, 1 << 20)
    vm = execution_pool.new()
    vm.begin(meter, DictionaryHost(world, message, meter), message, "run")
    space = enter(vm, world.codes[actor])
    for class_ in ("Own",):
        if class_ in space.names:
            interpreter._give_state(vm, space, space.names[class_])
    try:
        yield vm, space.names
    finally:
        refill(vm)
        vm.end()


# ---- roots


def roots():
    """The builtins by their names, every member of every module."""
    walk = Walk()
    Worker().run(lambda: _walk_roots(walk))
    return walk


def _walk_roots(walk):
    with execution("def run():\n    pass\n") as (vm, _):
        for name, value in list(vm.names.items()):
            if not name.startswith("_"):
                walk.see(vm, value, name)
        for name in module_names():
            walk.see(vm, library_loader.module(vm, name), name)


def module_names():
    """Every module that an actor can import."""
    folder = Path(pvm.__file__).parent / "library"
    files = [path.relative_to(folder) for path in folder.rglob("*.py")]
    found = {".".join(path.with_suffix("").parts) for path in files}
    found = {name.removesuffix(".__init__") for name in found}
    return sorted(found | library_loader.NATIVE.keys())


# ---- every expression of a program that runs


class _Wrapped(ast.NodeTransformer):
    """Each expression of the actor's goes through `_see`, as it is instrumented."""

    # What gives the compiler's values, or sources of loops, which no actor holds.
    unseen = frozenset(
        [
            "_bind",
            "_enter",
            "_enter_method",
            "_enumerate",
            "_getter",
            "_import",
            "_leave",
            "_leave_method",
            "_native",
            "_pay",
            "_receiver",
            "_reversed",
            "_zip",
        ]
    )

    def _seen(self, node):
        where = ast.Constant(ast.unparse(node)[:60])
        call = ast.Call(ast.Name("_see", ast.Load()), [node, where], [])
        return ast.copy_location(call, node)

    def visit_Call(self, node):
        function = node.func
        name = function.id if isinstance(function, ast.Name) else ""
        if name == "_super":
            return node
        if isinstance(function, ast.Attribute):
            function.value = self.visit(function.value)
        elif not name.startswith("_"):
            node.func = self.visit(function)
        node.args = [self.visit(one) for one in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        is_inner = name in self.unseen - {"_bind"}
        return node if is_inner else self._seen(node)

    def visit_Attribute(self, node):
        self.generic_visit(node)
        is_read = isinstance(node.ctx, ast.Load) and not node.attr.startswith("_")
        return self._seen(node) if is_read else node

    def visit_Name(self, node):
        is_own = not node.id.startswith(_PREFIXES)
        is_read = isinstance(node.ctx, ast.Load) and is_own
        return self._seen(node) if is_read else node

    def visit_Subscript(self, node):
        self.generic_visit(node)
        return self._seen(node) if isinstance(node.ctx, ast.Load) else node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        return self._seen(node)

    visit_ListComp = visit_Lambda = visit_JoinedStr = visit_BinOp  # noqa: N815

    def visit_FormattedValue(self, node):
        node.value = self.visit(node.value)
        return node

    def visit_ClassDef(self, node):
        node.body = [self.visit(one) for one in node.body]
        return node

    def visit_FunctionDef(self, node):
        node.body = [self.visit(one) for one in node.body]
        node.args = self.visit(node.args)
        return node

    def visit_ExceptHandler(self, node):
        node.body = [self.visit(one) for one in node.body]
        return node


@contextmanager
def watched(walk):
    """Have every expression of actors' code that is compiled here walk its value."""
    plain, take = pipeline.instrument, interpreter.take

    def instrument(tree, facts, ledger, *, is_library):
        module = plain(tree, facts, ledger, is_library=is_library)
        if is_library:
            return module
        module = ast.fix_missing_locations(_Wrapped().visit(module))
        for node in ast.walk(module):
            if "lineno" in node._attributes:  # whatever was put in where
                node.lineno = node.end_lineno = 1
                node.col_offset = node.end_col_offset = 0
        return module

    def see(vm, value, where):
        walk.see(vm, value, where)
        return value

    def taken():
        vm = take()
        vm.names["_see"] = MethodType(see, vm)
        return vm

    def given_back(vm):
        del vm.names["_see"]
        vm.namespaces.clear()
        execution_pool.give_back(vm)

    with (
        mock.patch.object(pipeline, "instrument", instrument),
        mock.patch.object(interpreter, "take", taken),
        mock.patch.object(interpreter, "give_back", given_back),
    ):
        yield


def corpus():
    """All programs of the tests."""
    walk = Walk()
    with watched(walk), mock.patch.object(vm_fingerprint, "CYCLES", 3 * _CYCLES):
        for _ in vm_fingerprint.lines():
            pass
    return walk


# ---- forms

_NAMES = sorted(
    (
        language.METHOD_NAMES
        | language.GUARDED_ATTRIBUTES
        | language.EXCEPTION_ATTRIBUTES.keys()
    )
    | language.UNIVERSAL_ATTRIBUTES
    | language.words(
        "func keywords names vm meter host context charge memory cycles cells depth "
        "fields run x"
    )
)
"""What is read of everything: public names of CPython's, and of the machine's."""

_ABOVE = sorted(
    language.DUNDER_METHODS
    | {"address", "args", "code", "deployer", "name", "obj", "storage", "value", "x"}
)
"""What is read of `super()`."""

_BASES = {
    "Base": "x = 1",
    "ValueError": "x = 1",
    "KeyError": "x = 1",
    "StopIteration": "x = 1",
    "ImportError": "x = 1",
    "PermissionError": "x = 1",
    "UnicodeDecodeError": "x = 1",
    "CowboyError": "x = 1",
    "Enum": "A = 1",
}

_VALUES = """
1 | True | None | "a" | b"a" | [1, "a"] | (1, 2) | {"a": 1} | {1, 2} | frozenset([1])
range(3) | {1: 2}.keys() | {1: 2}.values() | {1: 2}.items() | iter([1]) | iter("a")
Own | Own() | Own().method | Own.method | Own.made | Own.still | Own.shown | Own().shown
Own().storage | Own().storage.get | Own().storage.keys | Own().address
Failure | Failure("a") | Coded | ValueError | ValueError("a") | KeyError("a")
StopIteration(1) | AttributeError("a") | ImportError("a", name="b", path="c")
Colour | Colour.RED | Colour.RED.name | list(Colour) | Colour["RED"] | Colour(1)
plain | plain() | (lambda: 1) | stepping | stepping() | iter(stepping()) | caught()
refused() | reverted() | unread() | int | str | len | chr | isinstance | sorted
type(1) | type(Own()) | type(type) | Tagged() | Tagged.tags
[].append | "a".split | bytes.fromhex | dict.fromkeys | (1).to_bytes
json | math | pvm_host | hashlib | functools | collections | cowboy_sdk
json.dumps | math.gcd | pvm_host.get_state | hashlib.sha256 | hashlib.sha256(b"")
hashlib.sha256(b"").update | hmac.new(b"", b"", "sha256") | functools.reduce
functools.partial(plain) | functools.cache(plain) | functools.cmp_to_key(plain)
functools.cmp_to_key(plain)(1) | collections.deque([1]) | collections.deque.append
collections.deque([1]).append | collections.Counter("a") | collections.OrderedDict()
collections.defaultdict(list) | operator.itemgetter(1) | itertools.count() | Record(1)
Record | ActorRef(bytes(20)) | ActorRef(bytes(20)).names | Address | Address.ZERO
Address.from_hex | CowboyError | CowboyError("a") | Lost("a") | Lost | Lost("a").above()
"""

FIXTURE = f"""
import collections
import cowboy_sdk
import functools
import hashlib
import hmac
import itertools
import json
import math
import operator
from cowboy_sdk import ActorRef, Address, CowboyError
from dataclasses import dataclass, field
from enum import Enum

class Names:
    {"; ".join(f"{name} = 0" for name in _NAMES if name != "args")}

class Colour(Enum):
    RED = 1

class Failure(ValueError):
    pass

class Coded(UnicodeDecodeError):
    pass

class Named(NameError):
    pass

class Lost(CowboyError):
    @classmethod
    def above(cls):
        return super().args

@dataclass
class Record:
    number: int = 1

@dataclass
class Tagged:
    tags: list = field(default_factory=list)

class Own:
    def method(self, other=0):
        return other
    def stored(self):
        return self.storage
    @property
    def shown(self):
        return self
    @shown.setter
    def shown(self, value):
        pass
    @classmethod
    def made(cls):
        return cls
    @staticmethod
    def still(other=0):
        return other
    def __enter__(self):
        return self
    def __exit__(self, kind, error, trace):
        return True

def plain(*others, **named):
    return others or named or None

def stepping():
    yield 1

def caught():
    try:
        [][1]
    except IndexError as error:
        return error

def refused():
    try:
        pvm_host.get_state(1)
    except pvm_host.HostError as error:
        return error

def unread():
    try:
        json.loads("x")
    except json.JSONDecodeError as error:
        return error

def reverted():
    try:
        pvm_host.call_actor(pvm_host.self_address(), "nothing", b"")
    except pvm_host.RevertError as error:
        return error
"""
"""One of each kind that a source can make."""


def forms():
    """A program for each form that gives a value."""
    walk = Walk()
    for source in form_sources():
        _run(walk, source)
    return walk


def expressions_of(source):
    """One program, each expression of which walks its value."""
    walk = Walk()
    _run(walk, source)
    return walk


def _run(walk, source):
    with watched(walk):
        world = World()
        result = world.call(world.add(source), "run", cycles=20_000_000)
    assert not result.error, result.error


def form_sources(*bases):
    """Programs: names above, names of every value, statements that bind.

    With `bases` only the names above, of these.
    """
    for base in bases or _BASES:
        yield _above(base, _BASES[base])
    if bases:
        return
    values = [one.strip() for one in _VALUES.replace("\n", "|").split("|")]
    values = [one for one in values if one]
    half = len(values) // 2  # a source has at most 256 functions
    yield _reading(values[:half])
    yield _reading(values[half:])
    yield FIXTURE + _BINDING


def _above(base, body):
    """Every name of `super()` in a method and in a class method of a class."""
    first = "class Base:\n    x = 1\n" if base == "Base" else ""
    lines = [
        "from enum import Enum\nfrom cowboy_sdk import CowboyError",
        "class Names:\n    obj = value = x = path = 0",
        "class Named(NameError):\n    pass",
        f"{first}class Own({base}):\n    {body}",
    ]
    calls = []
    for number, name in enumerate(_ABOVE):
        for how, head in (
            ("m", "def {}(self)"),
            ("c", "@classmethod\n    def {}(self)"),
        ):
            method = f"{how}{number}"
            lines.append(f"    {head.format(method)}:\n        return super().{name}")
            calls.append(f"lambda o: o.{method}()")
    made = {"Enum": "Own.A", "UnicodeDecodeError": 'Own("utf-8", b"", 0, 1, "")'}
    lines.append(f"def run():\n    own = {made.get(base, 'Own()')}")
    lines.append(f"    for call in [{', '.join(calls)}]:{_TRIED}call(own)")
    return "\n".join([*lines, _REST])


_TRIED = "\n        try:\n            "
_REST = "        except Exception:\n            pass\n"


def _reading(values):
    """Every name of every value."""
    reads = (
        "".join(f"    for own in [{value}]:{_TRIED}own\n{_REST}" for value in values)
        .replace("for own in [", "for own in made(lambda: [")
        .replace(f"]:{_TRIED}", f"]):{_TRIED}")
    )
    names = ", ".join(f"lambda o: o.{name}" for name in _NAMES)
    return (
        f"{FIXTURE}def made(make):\n    try:\n        return make()\n"
        f"    except Exception:\n        return []\nREADS = [{names}]\n"
        f"def run():\n{reads.replace('own' + chr(10) + _REST, _EACH)}"
    )


_EACH = (
    "for read in READS:\n                try:\n                    read(own)\n"
    "                except Exception:\n                    pass\n" + _REST
)

_BINDING = """
def run():
    first, *rest = [Own(), 1, 2]
    with Own() as entered:
        entered.stored()
    for index, value in enumerate([Own.made, plain]):
        held = value
    named = [(found := own) for own in [Own()]]
    [plain(*rest, **{"key": found}), plain(key=held), {**{"a": 1}}, [*rest], rest[:1]]
    {key: value for key, value in {"a": entered}.items()}
    steps = (step for step in stepping())
    [next(stepping()), sorted(rest, key=plain), map(plain, rest), zip(rest, rest)]
    text = f"{first} {named!r} {steps}"
    return text
"""


# ---- table

_INSERTED = frozenset(
    [
        "_above",
        "_bind",
        "_enter",
        "_enter_method",
        "_fatal",
        "_getattr",
        "_getter",
        "_halt",
        "_hasattr",
        "_import",
        "_import_from",
        "_inherited",
        "_initializer",
        "_leave",
        "_leave_method",
        "_make_error",
        "_members",
        "_native",
        "_pay",
        "_receiver",
    ]
)
"""Helpers whose arguments are the compiler's, or that give what no actor holds."""

_WORDS = ("b", "name", "json")


def table(rounds=2):
    """Every helper and every callable, on every kind of value, and on what it gives."""
    walk = Walk()
    Worker().run(lambda: _walk_table(walk, rounds))
    return walk


def _walk_table(walk, rounds):
    values = [one.strip() for one in _VALUES.replace("\n", "|").split("|")]
    made = "\n".join(
        f"def make{number}():\n    return {value}"
        for number, value in enumerate(filter(None, values))
    )
    with execution(f"{FIXTURE}{made}\n{_PROXIES}def run():\n    pass\n") as (vm, names):
        _walk_roots_of(walk, vm, names)
        helpers = {
            name: MethodType(helper, vm)
            for name, helper in sorted(HELPERS.items())
            if name not in _INSERTED
        }
        done = set()
        others = (1, "a", b"a", [1], {"a": 1}, names["Own"](), names["plain"])
        for _ in range(rounds):
            pool = {key: one for key, one in walk.found.items() if key not in done}
            done.update(pool)
            for value, path in pool.values():
                _try_all(walk, vm, value, path, helpers, others)


_PROXIES = """
class Under(Own):
    def proxy(self):
        return super().method
"""


def _walk_roots_of(walk, vm, names):
    for name, value in list(names.items()):
        if name.startswith("make"):
            _attempt(walk, vm, value, (), f"{name}")
        elif not name.startswith(_PREFIXES):
            walk.see(vm, value, name)
    for value in (1, True, None, "a", b"a"):
        walk.found[type(value)] = value, repr(value)
        walk.kinds.setdefault(kind_of(value), repr(value))
    for name, value in list(vm.names.items()):
        if not name.startswith("_"):
            walk.see(vm, value, name)


def _try_all(walk, vm, value, path, helpers, others):
    for name, helper in helpers.items():
        _attempt(walk, vm, helper, (value,), f"{name}({path})")
        for other in (*_WORDS, *others):
            where = f"{name}({path}, {type(other).__name__})"
            _attempt(walk, vm, helper, (value, other), where)
            _attempt(walk, vm, helper, (other, value), where)
    if callable(value):
        _attempt(walk, vm, value, (), f"{path}()")
        for other in others:
            _attempt(walk, vm, value, (other,), f"{path}({type(other).__name__})")


def _attempt(walk, vm, function, arguments, path):
    refill(vm)
    try:
        result = function(*arguments)
    except Exception as error:  # noqa: BLE001 - an actor can catch it
        result = error
    except Halt:
        return
    if type(result) not in _SCALARS:
        walk.see(vm, result, path)
