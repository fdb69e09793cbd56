"""`pvm.runtime.freezing`: library objects that all executions share."""

import functools

import pytest

from pvm import cbor, costs
from pvm.runtime.freezing import SealedClass, SealedFunction, build_class, seal
from pvm.testing import World


def sample(one, two=2, *, three=3):
    return one, two, three


def test_a_sealed_function_is_called_as_it_is_and_shows_nothing():
    sealed = SealedFunction(sample)
    assert sealed(1, three=4) == (1, 2, 4)
    assert (sealed.func, sealed.args, sealed.keywords) == (None, (), None)
    with pytest.raises(AttributeError):
        sealed.note = 1
    with pytest.raises(AttributeError):
        del sealed.func


class Payer:
    """What a class asks of the execution that made it."""

    paid = 0

    def charge(self, cycles):
        self.paid += cycles


def test_a_class_gives_its_functions_sealed_and_what_it_gives_is_paid():
    payer = Payer()

    def body():
        pass

    Box = build_class(payer, body, "Box")  # noqa: N806 - a class
    for name, value in {"size": 1, "method": sample}.items():
        type.__setattr__(Box, name, value)
    assert type(Box.method) is SealedFunction
    assert Box.size == 1
    assert Box().method()[1:] == (2, 3)
    assert payer.paid == 2 * costs.CLASS_ATTRIBUTE, "of an object it is not"
    with pytest.raises(AttributeError):
        Box.size = 2


@pytest.mark.parametrize("value", [[], {}, object(), (1, [2]), iter(())])
def test_what_could_be_changed_is_a_bug(value):
    def body():
        pass

    with pytest.raises(AssertionError, match="a library shares a"):
        seal({"value": value})
    body.__defaults__ = (value,)
    with pytest.raises(AssertionError):
        seal({"f": body})
    body.__defaults__, body.__kwdefaults__ = None, {"a": value}
    with pytest.raises(AssertionError):
        seal({"f": body})


def test_names_of_the_interpreter_are_left_alone():
    namespace = {"__builtins__": {}, "x": (1, "a", None)}
    seal(namespace)
    assert namespace == {"__builtins__": {}, "x": (1, "a", None)}


def test_every_kind_of_method_of_a_library_class_is_sealed():
    namespace = {}
    exec(
        "def body():\n    pass\nclass Plain:\n    @staticmethod\n    def still():\n"
        "        return 1\n    @classmethod\n    def made(cls):\n        return cls()\n"
        "    @property\n    def size(self):\n        return 2\n",
        {"__builtins__": {
            "__build_class__": functools.partial(build_class, Payer()),
            "staticmethod": staticmethod,
            "classmethod": classmethod, "property": property,
        }, "__name__": "actor"},
        namespace,
    )  # fmt: skip
    made = namespace["Plain"]
    assert type(made) is SealedClass
    assert type(made.still) is type(made().still) is SealedFunction
    assert made.made().size == 2


def test_what_super_finds_in_a_library_class_keeps_nothing_for_the_next_message():
    """A class method got the library's own function, on which attributes stayed."""
    world = World()
    actor = world.add("""
from cowboy_sdk import CowboyError, CowboyModel

class Record(CowboyModel):
    number: int

    @classmethod
    def above(cls):
        return super().to_cbor

class Failure(CowboyError):
    @classmethod
    def above(cls):
        return super().__init__

def is_marked(function):
    try:
        function.mark = 1
    except AttributeError:
        return False
    return True

def run():
    return [is_marked(Record.above()), is_marked(Failure.above())]
""")
    assert cbor.decode(world.call(actor, "run").value) == [False, False]
