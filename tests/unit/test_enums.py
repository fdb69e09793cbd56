"""`runtime.enums`, `lowering.enums`: `Enum` as actors write it (sandbox.md §3)."""

import pytest

from pvm import CompileError, cbor, compile_actor, costs
from pvm.testing import call_once

COLOR = """
from enum import Enum, auto
import enum
class Color(Enum):
    '''Of paint.'''
    RED = 1
    GREEN = 2
    CRIMSON = 1
    BLUE = auto()
    PAIR = (1, 'x')
    def low(self):
        return self.name.lower()
    @property
    def double(self):
        return 2 * self.value
    @staticmethod
    def first():
        return Color.RED
class Size(enum.Enum):
    S = 's'
"""


def evaluate(expression, head=COLOR):
    result = call_once(f"{head}\ndef run():\n    return [{expression}]")
    assert not result.error, result.error
    return cbor.decode(result.value)[0]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("Color.RED.name + str(Color.RED.value)", "RED1"),
        ("[m.name for m in Color]", ["RED", "GREEN", "BLUE", "PAIR"]),
        ("[m.value for m in list(Color)][2]", 3),
        ("len(Color)", 4),
        ("Color(2).name", "GREEN"),
        ("Color((1, 'x')).name", "PAIR"),
        ("Color['BLUE'].value", 3),
        ("Color['CRIMSON'].name", "RED"),
        ("Color.CRIMSON is Color.RED", True),
        ("Color.RED is not Color.BLUE", True),
        ("Color.RED == Color.RED", True),
        ("Color.RED == 1", False),
        ("Color.RED != Color.GREEN", True),
        ("Color.RED in Color", True),
        ("Size.S in Color", False),
        ("str(Color.RED)", "Color.RED"),
        ("repr(Color.PAIR)", "<Color.PAIR: (1, 'x')>"),
        ("repr([Size.S])", "[<Size.S: 's'>]"),
        ("f'{Color.RED} {Size.S!r}'", "Color.RED <Size.S: 's'>"),
        ("Color.RED.low() + Color.first().low()", "redred"),
        ("Color.GREEN.double", 4),
        ("isinstance(Color.RED, Color)", True),
        ("isinstance(Size.S, Color)", False),
        ("type(Color.RED).__name__", "Color"),
        ("type(Color.RED) is Color", True),
        ("{Color.RED: 1, Color.BLUE: 2}[Color.CRIMSON]", 1),
        ("bool(Color) and bool(Color.RED)", True),
        ("getattr(Color, 'RED').value", 1),
    ],
)
def test_members(expression, expected):
    assert evaluate(expression) == expected


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("Color(99)", "ValueError: no member has this value"),
        ("Color([1])", "ValueError: no member has this value"),
        ("Color((1, (2, 3)))", "ValueError: no member has this value"),
        ("Color['PINK']", "KeyError: 'PINK'"),
        ("Color[1]", 'KeyError: "a member\'s name is a str"'),
        ("Color()", "TypeError"),
        ("Color.RED < Color.BLUE", "TypeError"),
    ],
)
def test_what_is_no_member(expression, error):
    result = call_once(f"{COLOR}\ndef run():\n    return {expression}")
    # Of a call that CPython refuses the text is one for all.
    assert result.error == error or error == "TypeError" in result.error


@pytest.mark.parametrize(
    "statement",
    [
        "Color.RED.value = 2", "Color.RED.more = 2", "Color.PINK = 2", "del Color.RED",
        "del Color.RED.name", "Color.RED = 3", "Color.RED.low.x = 1",
    ],
)  # fmt: skip
def test_members_and_their_class_cannot_be_changed(statement):
    head = COLOR + "class Other:\n    more = PINK = x = 1\n    def set(self):\n"
    head += "        self.value = self.name = self.RED = 1\n"
    result = call_once(f"{head}\ndef run():\n    {statement}")
    assert result.error.startswith("AttributeError")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("class A(str, Enum):\n    X = 1", "an Enum has other bases"),
        ("class A(Enum):\n    def __init__(self):\n        pass", "has an __init__"),
        ("class A(Enum):\n    name = 1", "a member is called name"),
        ("class A(Enum):\n    X = 'a'\n    Y = auto()", "no literal int"),
        ("class A(Enum):\n    X = 1\nclass B(A):\n    pass", "that is an Enum"),
        ("x = Enum", "Enum is the one base of an Enum only"),
        ("x = enum.Enum", "Enum is the one base of an Enum only"),
        ("x = auto()", "auto is the value of a member of an Enum only"),
        ("x = 1\ndef f():\n    return x is y.RED\ny = x", "`is` compares"),
        ("import enum as e\nx = e.IntEnum", "the module enum has no 'IntEnum'"),
        ("from enum import IntEnum", "no 'IntEnum'; instead: Enum, and .value"),
        ("@f\nclass A(Enum):\n    X = 1", "an Enum has decorators"),
    ],
)
def test_what_an_enum_may_not_say(body, reason):
    source = f"from enum import Enum, auto\nimport enum\n{body}"
    with pytest.raises(CompileError, match=reason):
        compile_actor(source.encode())


def test_a_value_that_could_be_changed_or_is_deep_is_refused_when_it_is_made():
    for value in ("[1]", "((1, 2), 3)"):
        source = f"from enum import Enum\nclass A(Enum):\n    X = {value}\n"
        result = call_once(source + "def run():\n    pass")
        assert result.error.startswith("TypeError: a member's value is")


def test_a_member_has_a_price():
    head = "from enum import Enum\nclass A(Enum):\n"
    used = [
        call_once(f"{head}{body}def run():\n    pass").cycles_used
        for body in ("    X = 1\n", "    X = 1\n    Y = 2\n")
    ]
    assert used[1] - used[0] == costs.STATEMENT + costs.ENUM_MEMBER


def test_an_enum_is_not_the_actor():
    """host-api.md §1: the only class of the module."""
    source = f"{COLOR}\nclass Shop:\n    def open(self):\n        pass"
    assert compile_actor(source.encode()).actor_class == "Shop"


@pytest.mark.parametrize(
    ("question", "items"),
    [
        ("Color(1)", 0), ("Color['RED']", 0), ("len(Color)", 0), ("not Color", 0),
        ("Color.RED in Color", 0), ("[m for m in Color]", 3 * 4),
        ("Color((1, 'x'))", 2 + 2 * 4), ("Color(1180591620717411303424)", 2 * 4),
    ],
)  # fmt: skip
def test_what_an_enum_is_asked_is_paid(question, items):
    """Tuples and long ints pay for every member: their values may collide."""

    def cycles(line):
        return call_once(f"{COLOR}\ndef run():\n    {line}").cycles_used

    assert cycles(question) - cycles("pass") >= costs.ENUM_QUESTION + items
