"""`pvm.compiler.policy`: deny by default (sandbox-internals.md, rule 4).

By example: test_language.py.
"""

import ast

import pytest

from pvm import CompileError, language
from pvm.compiler.facts import gather
from pvm.compiler.parser import parse
from pvm.compiler.policy import module
from pvm.compiler.policy.module import check_policy
from pvm.compiler.syntax.imports import ModuleNames

MODULES = {
    "box": ModuleNames(frozenset({"open", "close"})),
    "pvm_host": ModuleNames(frozenset({"HostError"})),
}


def refusals(source):
    try:
        tree = parse(source.encode())
        check_policy(tree, gather(tree, MODULES.get), MODULES.get)
    except CompileError as error:
        return [refusal.reason for refusal in error.refusals]
    return []


def test_every_kind_of_node_that_is_not_listed_is_refused():
    """A node of a newer grammar is refused until somebody admits it."""
    for name in (one for one in dir(ast) if not one.startswith("_")):
        kind = getattr(ast, name)
        if isinstance(kind, type) and issubclass(kind, ast.stmt | ast.expr):
            assert (kind in language.NODES) == (name not in NOT_ADMITTED), name


def test_only_kinds_of_the_language_are_checked():
    """A check of a kind that is not listed would say that it is admitted."""
    assert set(module._CHECKS) == language.NODES
    assert set(module._OWN_CHECKS) <= language.NODES


NOT_ADMITTED = {
    "stmt", "expr", "AsyncFunctionDef", "AsyncFor", "AsyncWith", "Await", "Match",
    "TryStar", "TypeAlias", "Num", "Str", "Bytes", "NameConstant", "Ellipsis",
}  # fmt: skip


def test_a_module_attribute_must_be_exported():
    assert refusals("import box\nx = box.open()") == []
    assert refusals("import box\nx = box.lid") == ["the module box has no 'lid'"]
    assert refusals("import box as b\nx = b.lid") == ["the module box has no 'lid'"]
    assert refusals("from box import lid") == ["the module box has no 'lid'"]


def test_a_name_that_is_rebound_is_no_module_any_more():
    assert refusals("import box\nbox = 1\nx = box.close") != []
    assert refusals("import box\nbox = 1\nx = box.open") != []


def test_attributes_of_the_module_itself_are_known():
    source = "class A:\n    b: int\n    def m(self):\n        self.c = 1\n"
    assert refusals(source + "def f(x):\n    return [x.b, x.m, x.c]") == []
    assert len(refusals(source + "def f(x):\n    return x.d")) == 1


def test_guarded_and_never_names_do_not_overlap():
    assert not language.GUARDED_ATTRIBUTES & language.NEVER_ATTRIBUTES
    assert language.METHOD_NAMES <= language.GUARDED_ATTRIBUTES
    assert language.NATIVE_CALLS <= language.METHOD_NAMES


REACHABLE = [
    1, "", b"", [], (), {}, True, None, range(1), {}.keys(), {}.values(), {}.items(),
    iter([]), iter(()), iter({}), iter(""), iter(b""), iter(range(1)), iter({}.items()),
    iter({}.values()), enumerate([]), zip(), reversed([]), len, int, type, lambda: 1,
    [].append, property(), staticmethod(len), classmethod(len), (i for i in []),
    ValueError(), KeyError(), NameError(), AttributeError(), ImportError(),
    StopIteration(), UnicodeDecodeError("utf-8", b"", 0, 1, ""), PermissionError(),
    (lambda: 1).__code__, super(int, 1), slice(1),
]  # fmt: skip


@pytest.mark.parametrize("value", REACHABLE, ids=lambda value: type(value).__name__)
def test_every_public_attribute_of_a_reachable_object_has_a_verdict(value):
    """Guarded, never, or read as it is: a new one of CPython's fails here."""
    known = (
        language.GUARDED_ATTRIBUTES
        | language.PLAIN_ATTRIBUTES
        | language.NEVER_ATTRIBUTES
        | {"args", "name", "value", "gi_yieldfrom"}
    )
    assert {name for name in dir(value) if not name.startswith("_")} <= known


def test_facts_are_gathered_from_every_binding_form():
    source = """
import box as a
from box import open as b
def c(d, *e, f=1, **g): pass
class h(ValueError): i = 1
for j in []: pass
with c as k: pass
try: pass
except ValueError as l: pass
[m := 1]
n = [o for o in []]
p: int = 1
q += 1
del r
lambda s: 1
"""
    facts = gather(ast.parse(source))
    assert facts.bound == set("abcdefghijklmnopqrs")
    assert facts.exceptions == {"h"}
    assert facts.modules == {"a": "box", "pvm_host": "pvm_host"}
    assert facts.is_simple
    assert not gather(ast.parse("class A:\n    def __eq__(self, o): pass")).is_simple
