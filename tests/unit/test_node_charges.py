"""`pvm.node_charges`: compiling pays for each node before it is made (D6)."""

import ast

import pytest

from pvm import CompileError, Meter, OutOfCycles, cbor, compile_actor, costs, language
from pvm.codecache import CodeCache
from pvm.compiler.facts import gather
from pvm.compiler.lowering.dataclasses import (
    Field,
    Record,
    _methods,
    _model_fields,
    records_of,
)
from pvm.compiler.lowering.decorators import write_out
from pvm.compiler.lowering.desugar import desugar
from pvm.compiler.parser import check_shape, read
from pvm.compiler.syntax.imports import resolve
from pvm.compiler.syntax.visitor import survey
from pvm.driver.library_loader import find_module
from pvm.node_charges import Nodes
from pvm.testing import call_once

HEAD = "from dataclasses import dataclass, field\nfrom cowboy_sdk import CowboyModel\n"

SOURCES = {
    "augmented": "def f(a):\n" + "    a[a] += 1\n    a.x += 1\n" * 3 + "    a.x = 1\n",
    "sets": "def f(a):\n    return {a}, {b for b in a}, (b for b in a)\n",
    "yield from": "def f(a):\n    yield from a\n",
    "classes": "class A:\n    pass\nclass E(Exception):\n    pass\n",
    "an Enum": "from enum import Enum\nclass A(Enum):\n    X = 1\n",
    "rules": (
        "from cowboy_sdk import actor, callable_by, public\n@actor\nclass A:\n"
        "    @callable_by('0x" + "11" * 20 + "')\n    def f(self):\n        pass\n"
        "    @public\n    def g(self):\n        pass\n"
    ),
    "a dataclass": (
        HEAD + "@dataclass(order=True)\nclass A:\n    x: int\n    y: int = 1\n"
        "    z: list = field(default_factory=lambda: [1, 2])\n"
        "@dataclass\nclass B(A):\n    y: int = 2\n    w: int = 3\n"
        "    def __post_init__(self):\n        pass\n"
    ),
    "a model": HEAD + "class A(CowboyModel):\n    x: int\n    y: int = 1\n",
}


def lowered(source):
    """Nodes that there are then, and nodes that were paid."""
    tree = read(source)
    resolve(tree, find_module)
    nodes = Nodes()
    nodes.pay(check_shape(tree, source.encode()).size)
    facts = gather(tree, find_module)
    write_out(tree, facts, nodes)
    return desugar(tree, facts, nodes).size, nodes.count


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_written_was_paid(name):
    """D6: "a price for each node of the syntax after lowering"."""
    there, paid = lowered(SOURCES[name])
    assert there <= paid
    assert compile_actor(SOURCES[name].encode()).nodes == paid


def test_the_methods_of_a_dataclass_have_the_nodes_that_were_counted():
    factory = ast.parse("lambda: [1]", mode="eval").body
    size = survey(factory).size
    fields = {
        one.name: one
        for one in (
            Field("a", owner="A"),
            Field("b", ast.Constant(1), owner="A", compare=False),
            Field("c", None, factory, size, owner="A"),
            Field("d", None, factory, size, init=False, owner="A"),
            Field("e", ast.Constant(1), init=False, repr=False, owner="A"),
        )
    }
    flags = {"is_model": True, "has_post_init": True, "is_split": False}
    record = Record(ast.Name("dataclass"), fields=fields, **flags)
    options = dict.fromkeys(("init", "repr", "eq", "order"), True)
    methods = list(_methods(record, "A", options))
    assert len(methods) == 8
    for method in methods:
        (written,) = ast.parse(method.source).body
        filled = 2 * (size - 1) if method.name == "__init__" else 0
        assert survey(written).size + filled == method.nodes, method.name
    node = ast.parse("class A: pass").body[0]
    assert survey(_model_fields(record.every, node)).size == 3 + 4 * len(fields)


def test_a_field_that_is_inherited_has_two_nodes_as_its_default():
    source = (
        HEAD + "@dataclass\nclass A:\n    x: int = 1\n@dataclass\nclass B(A): pass\n"
    )
    one, two = (
        compile_actor(text.encode()).nodes
        for text in (source, source.replace("= 1", ""))
    )
    of_source, of_owner, of_child = 1, 1, 2
    assert one - two == of_source + of_owner + of_child


def charged(cache, source, cycles=10**9):
    meter = Meter(cycles, 0)
    cache.get(b"code", source, meter.charge_cycles)
    return meter.cycles_used


def test_a_warm_cache_charges_what_a_cold_one_does():
    source = SOURCES["a dataclass"].encode()
    cache = CodeCache(live_bytes_max=1)
    cold = charged(cache, source)
    assert cold == costs.COMPILE_PER_NODE * compile_actor(source).nodes
    assert charged(cache, source) == cold
    cache.get(b"other", b"def f(): pass")  # so that the first one is packed
    assert charged(cache, source) == cold
    assert cache.compilations == 2


@pytest.mark.parametrize("is_warm", [False, True])
def test_out_of_cycles_whatever_the_cache_holds(is_warm):
    source = SOURCES["a dataclass"].encode()
    cache = CodeCache()
    if is_warm:
        cache.get(b"code", source)
    enough = costs.COMPILE_PER_NODE * compile_actor(source).nodes
    for cycles in (0, 1_000, enough - 1):
        meter = Meter(cycles, 0)
        with pytest.raises(OutOfCycles):
            cache.get(b"code", source, meter.charge_cycles)
        assert meter.cycles_used == cycles
    assert charged(cache, source, enough) == enough


def test_what_is_written_is_paid_before_it_is_made(monkeypatch):
    """31 children of 60 fields: nothing is parsed after the meter has said no."""
    source = dataclasses(60, 31)
    compile_actor(HEAD.encode())  # the library compiles once
    parsed = []
    real = ast.parse
    monkeypatch.setattr(ast, "parse", lambda *a, **k: parsed.append(a) or real(*a, **k))
    with pytest.raises(OutOfCycles):
        compile_actor(source, charge=Meter(200_000, 0).charge_cycles)
    assert len(parsed) < 5


def dataclasses(fields, children, value="int = 0", options="", base=""):
    source = f"{HEAD}@dataclass{options}\nclass A{base}:\n"
    source += "".join(f"    a{number}: {value}\n" for number in range(fields))
    for number in range(children):
        source += f"@dataclass{options}\nclass B{number}(A):\n    pass\n"
    return source.encode()


MANY = "int = field(default_factory=lambda: [" + "1, " * 1_500 + "])"
PAST_THE_LIMITS = {
    "order": (dataclasses(60, 31, options="(order=True)"), "50000 nodes", 135),
    "factories": (dataclasses(1, 31, MANY), "50000 nodes", None),
    "functions": (
        dataclasses(1, 31, options="(order=True)") + b"def f(): pass\n" * 33,
        "256 functions",
        None,
    ),
    "lambdas": (
        dataclasses(60, 4, "int = field(default_factory=lambda: 1)"),
        "256 functions",
        None,
    ),
    "fields": (dataclasses(64, 0), "63 fields", 4),
    "inherited fields": (
        dataclasses(63, 1) + b"@dataclass\nclass C(B0):\n    more: int = 0\n",
        "63 fields",
        None,
    ),
    "depth": (b"def f(a):\n    " + b"{" * 60 + b"a" + b"}" * 60, "100 deep", 2),
    "scopes": (
        dataclasses(1, 0, f"int = field(default_factory={'lambda: ' * 16}1)"),
        "nested more than 16 deep",
        5,
    ),
}


@pytest.mark.parametrize("name", PAST_THE_LIMITS)
def test_what_is_written_out_keeps_the_limits_of_what_is_read(name):
    """At the author's line."""
    source, reason, line = PAST_THE_LIMITS[name]
    with pytest.raises(CompileError, match=reason) as caught:
        compile_actor(source)
    assert line is None or caught.value.line == line
    assert 1 < caught.value.line <= source.count(b"\n") + 1


def test_as_many_fields_as_an_init_takes():
    assert compile_actor(dataclasses(language.FIELDS_MAX, 1)).nodes > 0


def ladder(count, decorator="", field=""):
    """Classes that derive from each of eight before: 2 ** 15 ways to the first."""
    source = HEAD
    for number in range(count):
        bases = ", ".join(
            f"C{each}" for each in range(number - 1, max(-1, number - 9), -1)
        )
        head = f"class C{number}({bases}):" if bases else f"class C{number}:"
        source += f"{decorator}{head}\n    {field.format(number) or 'pass'}\n"
    return source.encode()


def test_each_class_is_looked_at_once(monkeypatch):
    """17 classes were walked along 32,000 ways, for each question again."""
    asked = []
    real = type(gather(ast.parse(""))).meaning
    tree = ast.parse(ladder(17, "@dataclass\n", "a{}: int = 1"))
    facts = gather(tree)
    monkeypatch.setattr(
        type(facts),
        "meaning",
        lambda self, node: asked.append(node) or real(self, node),
    )
    assert len(records_of(facts)) == 17
    assert len(asked) < 400


def test_a_default_is_that_of_the_class_which_declares_it():
    """As in CPython: what a class between them assigns to the name is no default."""
    source = (
        HEAD + "@dataclass\nclass A:\n    x: int = 1\n"
        "@dataclass\nclass B(A):\n    x = 5\n    y: int = 2\n"
        "@dataclass\nclass C(B):\n    y: int = 3\n"
        "def run():\n    return [B().x, B().y, C().x, C().y]\n"
    )
    plain = {"CowboyModel": None}
    exec(source.replace("from cowboy_sdk import CowboyModel", ""), plain)
    assert cbor.decode(call_once(source).outcome.value) == plain["run"]()
