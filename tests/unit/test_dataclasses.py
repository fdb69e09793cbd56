"""`lowering.dataclasses`: `@dataclass` written out as CPython's."""

import pytest

from pvm import CompileError, cbor, compile_actor
from pvm.testing import call_once

POINT = """
from dataclasses import dataclass, field
import dataclasses
from typing import ClassVar, Optional
from abc import ABC, abstractmethod

def seven():
    return 7

@dataclass
class Point:
    x: int
    y: int = 2
    tags: list = field(default_factory=list)
    kind: ClassVar[str] = "point"
    _secret: int = field(default=5, repr=False, compare=False)
    hidden: int = field(init=False, default=3)
    made: int = field(init=False, default_factory=seven)

    def total(self) -> int:
        return self.x + self.y

@dataclasses.dataclass(order=True)
class Named(Point):
    name: Optional[str] = None

    def __post_init__(self):
        self.checked = True

@dataclass(eq=False, repr=False)
class Bare:
    x: int

@dataclass
class Own:
    x: int
    def __init__(self):
        self.x = 9
    def __repr__(self):
        return "own"

class Base(ABC):
    @abstractmethod
    def area(self):
        return 0

@dataclass
class Square(Base):
    side: int
    def area(self):
        return self.side * self.side

@dataclass
class Empty:
    pass
"""

EXPRESSIONS = [
    "repr(Point(1))",
    "repr(Point(1, 3, ['a']))",
    "repr(Point(x=1, y=4))",
    "Point(1) == Point(1)",
    "Point(1) == Point(2)",
    "Point(1) == Point(1, 2, [], 6)",
    "Point(1) == Named(1)",
    "Point(1) == 1",
    "Point(1) != Point(1)",
    "Point(1).total()",
    "Point.kind + str(Point.y) + str(Point(1).made)",
    "Point(1).tags + [Point(1).tags.append(1)] + Point(1).tags",
    "repr(Named(1, name='n'))",
    "repr(Named(1, 2, [], 5, 'm'))",
    "Named(1).checked",
    "Named(1, name='') < Named(2, name='')",
    "Named(2, name='a') >= Named(2, name='b')",
    "[p.x for p in sorted([Point(2), Point(1)], key=lambda p: p.x)]",
    "Bare(1) == Bare(1)",
    "Own().x",
    "repr(Own())",
    "Square(3).area()",
    "repr(Square(side=2))",
    "isinstance(Square(1), Base)",
    "repr(Empty())",
    "Empty() == Empty()",
    "hasattr(Point(1), 'hidden') and Point(1).hidden",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_dataclass_is_cpythons(expression):
    namespace = {}
    exec(POINT, namespace)
    result = call_once(f"{POINT}\ndef run():\n    return [{expression}]")
    assert not result.error, result.error
    assert cbor.decode(result.value) == [eval(expression, namespace)]


@pytest.mark.parametrize(
    "expression", ["Point()", "Point(1, 2, [], 4, 5, 6)", "Point(1) < Point(2)",
                   "Named(1) < Point(1)", "Empty(1)"],
)  # fmt: skip
def test_what_cpython_refuses_is_refused(expression):
    namespace = {}
    exec(POINT, namespace)
    with pytest.raises(TypeError):
        eval(expression, namespace)
    failure = call_once(f"{POINT}\ndef run():\n    {expression}").outcome.failure
    assert failure.kind == "TypeError"


def test_a_name_of_the_actor_does_not_disturb_what_is_written_out():
    head = "from dataclasses import dataclass, field\ndef type(x):\n    return 1\n"
    head += "TypeError = repr = 5\n"
    head += "@dataclass(order=True)\nclass A:\n    self_: int\n    other: int = 1\n"
    body = "def run():\n    return [A(1) == A(1), A(1) < A(2), f'{A(1)!r}']"
    result = call_once(head + body)
    assert cbor.decode(result.value) == [True, True, "A(self_=1, other=1)"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("@dataclass\nclass A:\n    x: list = []", "would be everybody's"),
        (
            "@dataclass\nclass A:\n    x: int = 1\n    y: int",
            "'y' has no default after",
        ),
        ("@dataclass(frozen=True)\nclass A:\n    x: int", "no option 'frozen'"),
        ("@dataclass(eq=x)\nclass A:\n    x: int", "eq of dataclass is not True or"),
        ("@dataclass(1)\nclass A:\n    x: int", "takes no arguments but options"),
        ("@dataclass\nclass A:\n    x: int = field(1)", "keyword arguments only"),
        ("@dataclass\nclass A:\n    x: int = field(default_factory=f())", "no lambda"),
        (
            "@dataclass\nclass A:\n    x: int = field(kw_only=True)",
            "no option 'kw_only'",
        ),
        ("@dataclass\nclass A:\n    x: int = field(repr=0)", "not True or False"),
        (
            "@dataclass\nclass A:\n    x: int = field(default=1, default_factory=list)",
            "a default and a default_factory",
        ),
        ("@dataclass\ndef f():\n    pass", "dataclass is a decorator of classes only"),
        ("x = field()", "field is the value of a field"),
        ("class A:\n    x: int = field()", "field is the value of a field"),
        (
            "class A:\n    def __post_init__(self):\n        pass",
            "__post_init__ unseen",
        ),
        ("@f\nclass A:\n    pass", "a decorator that is neither"),
        ("from dataclasses import asdict", "no 'asdict'; instead: a method"),
        ("@dataclass\nclass A:\n    x: int = 1.5", "floats"),
    ],
)
def test_what_a_dataclass_may_not_say(body, reason):
    source = f"from dataclasses import dataclass, field\n{body}"
    with pytest.raises(CompileError, match=reason):
        compile_actor(source.encode())


def test_abc_is_inert_and_stands_in_its_places_only():
    for body, reason in (
        ("x = ABC", "ABC is a base class only"),
        ("@abstractmethod\ndef f():\n    pass", "a decorator of methods only"),
        ("x = abstractmethod", "a decorator of methods only"),
    ):
        with pytest.raises(CompileError, match=reason):
            compile_actor(f"from abc import ABC, abstractmethod\n{body}".encode())


def test_dataclasses_that_derive_from_each_other_are_refused():
    """Bases stand before their subclasses: nothing looks for fields in a circle."""
    source = "from dataclasses import dataclass\n"
    for name, base in (("A", "B"), ("B", "A")):
        source += f"@dataclass\nclass {name}({base}):\n    x: int = 1\n"
    with pytest.raises(CompileError):
        compile_actor(source.encode())
