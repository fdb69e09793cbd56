"""`Actor` of `cowboy_sdk`: a base for editors, which changes nothing of an actor."""

import pytest

from pvm.driver.actors import compile_actor
from pvm.errors import CompileError
from pvm.testing import call_once

IMPORT = "from cowboy_sdk import Actor\n"


def compiled(source):
    return compile_actor(source.encode())


def refusals(source):
    with pytest.raises(CompileError) as error:
        compiled(source)
    return [(one.line, one.reason) for one in error.value.refusals]


def test_it_costs_a_message_nothing():
    """language.md: the import of `Actor` and the base are dropped."""
    body = ":\n    def run(self, payload):\n        return self.address"
    plain = call_once("\nclass Box" + body)
    derived = call_once(IMPORT + "class Box(Actor)" + body)
    assert derived.value == plain.value
    assert derived.cycles_used == plain.cycles_used
    assert derived.memory_used == plain.memory_used


@pytest.mark.parametrize(
    "line",
    [
        "from cowboy_sdk import Actor",
        "from cowboy_sdk import Actor as Base, public",
        "from pvm_sdk import Actor",
        "import cowboy_sdk",
    ],
)
def test_however_it_was_imported(line):
    base = {"import cowboy_sdk": "cowboy_sdk.Actor"}.get(line, "Actor")
    base = "Base" if "as Base" in line else base
    source = f'{line}\nclass Box({base}):\n    def run(self): return b"five"'
    assert call_once(source).value == b"five"


def test_other_names_of_the_import_stay():
    source = (
        "from cowboy_sdk import Actor, BlockHeight\n"
        "class Box(Actor):\n    def run(self): return str(BlockHeight(7))"
    )
    assert call_once(source).value == b"7"


def test_the_class_that_derives_from_it_is_the_actor_s():
    """host-api.md §1: among classes, some of which are none."""
    source = (
        IMPORT + "class Point:\n    pass\nclass Box(Actor):\n    def run(self): pass"
    )
    assert compiled(source).actor_class == "Box"


def test_of_those_that_derive_from_one_another_it_is_the_last():
    source = (
        IMPORT + "class Base(Actor):\n    def one(self): pass\n"
        "class Box(Base):\n    def two(self): pass"
    )
    code = compiled(source)
    assert code.actor_class == "Box"
    assert set(code.handlers) == {"one", "two"}


def test_a_mark_decides_before_it():
    source = (
        "from cowboy_sdk import Actor, actor\n"
        "class One(Actor):\n    pass\n@actor\nclass Two(Actor):\n    pass"
    )
    assert compiled(source).actor_class == "Two"


def test_it_marks_like_actor_so_that_rules_mean_something():
    """host-api.md §4: in a class with `@public` all else is the actor's own."""
    source = (
        "from cowboy_sdk import Actor, public\n"
        "class Box(Actor):\n"
        "    @public\n    def run(self): return 'one'\n"
        "    def other(self): return 'two'"
    )
    assert call_once(source).value == b"one"
    assert (
        call_once(source, "other").outcome.failure.kind == "HostError.PermissionDenied"
    )


def test_two_that_have_nothing_in_common_are_refused():
    source = IMPORT + "class One(Actor):\n    pass\nclass Two(Actor):\n    pass"
    assert refusals(source) == [(4, "a second class derives from Actor")]


@pytest.mark.parametrize(
    "line",
    [
        "x = Actor",
        "def f(x): return isinstance(x, Actor)",
        "def f(): return Actor()",
        "y = [Actor]",
    ],
)
def test_it_stands_as_a_base_class_only(line):
    assert refusals(IMPORT + line) == [(2, "Actor is a base class only")]


def test_an_annotation_may_name_it():
    source = (
        IMPORT + "class Box(Actor):\n    def run(self, payload: Actor): return payload"
    )
    assert call_once(source, payload=b"five").value == b"five"
