"""`runtime.library_loader`: modules in the actor language (sandbox-internals.md §2)."""

import pytest

from pvm import CompileError, cbor, compile_actor, costs
from pvm.driver import execution_pool, library_loader
from pvm.testing import World, call_once

LIBRARY = {
    "shelf": b"""
from shelf import tools
from pvm_host import charge_gas
import json

LIMIT = 3
_SECRET = 7

def burn(n):
    charge_gas(n)

def spin(n):
    for i in range(n):
        pass

def again(function, n):
    return function(n)

def secret():
    return _SECRET

class Box:
    colour = "red"
    def __init__(self, item, size=1):
        self.item = item
    def get_item(self):
        return self.item
    @staticmethod
    def kind():
        return "box"

class ShelfError(ValueError):
    pass

def fail():
    raise ShelfError("the shelf is full")
""",
    "shelf.tools": b"""
def double(n):
    return 2 * n
""",
    "leaky": b"SEEN = []",
}


@pytest.fixture(autouse=True)
def made_up(monkeypatch):
    """A library of our own, beside the real one."""
    real = library_loader._source
    library_loader.library.cache_clear()
    monkeypatch.setattr(library_loader, "_source", lambda n: LIBRARY.get(n) or real(n))
    yield
    library_loader.library.cache_clear()


def run(body, head="import shelf", **options):
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    source = f"{head}\ndef body():\n{lines}\ndef run():\n    return [body()]"
    return call_once(source, **options)


def value(body, head="import shelf"):
    result = run(body, head)
    assert not result.error, result.error
    return cbor.decode(result.value)[0]


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        ("import shelf", "return shelf.Box(4).get_item()", 4),
        ("import shelf as s", "return s.Box(4).item", 4),
        ("from shelf import Box as B", "return B(4).item", 4),
        ("from shelf import LIMIT, secret", "return LIMIT + secret()", 10),
        ("from shelf import tools", "return tools.double(4)", 8),
        ("from shelf import tools as t, LIMIT", "return t.double(LIMIT)", 6),
        ("import shelf.tools", "return shelf.tools.double(4)", 8),
        ("import shelf.tools as t", "return t.double(4)", 8),
        ("from shelf.tools import double", "return double(4)", 8),
        ("import shelf", "return shelf.Box.kind() + shelf.Box(1).kind()", "boxbox"),
        ("import shelf", "return shelf.Box.get_item(shelf.Box(3))", 3),
        ("import shelf", "return type(shelf.Box(1)).__name__", "Box"),
        ("import shelf", "return isinstance(shelf.Box(1), shelf.Box)", True),
    ],
)
def test_a_library_is_imported_in_every_form(head, body, expected):
    assert value(body, head) == expected


@pytest.mark.parametrize(
    "head",
    [
        "from shelf import json", "import shelf.json",
        "from shelf import _SECRET", "import shelf._tools", "import shelves",
        "from shelf import nothing", "import shelf.nothing", "import library",
    ],
)  # fmt: skip
def test_what_a_library_keeps_to_itself_is_refused(head):
    """No attribute that is a module of somebody else; underscores are private."""
    with pytest.raises(CompileError):
        compile_actor(head.encode())


def test_a_class_of_a_library_can_be_a_base_and_an_exception_be_caught():
    head = "import shelf\nfrom shelf import Box, ShelfError"
    head += "\nclass Big(Box):\n    def __init__(self):\n        self.item = 9"
    head += "\nclass Mine(ShelfError):\n    pass"
    assert value("return Big().get_item()", head) == 9
    for caught in ("ShelfError", "shelf.ShelfError", "ValueError", "(ShelfError,)"):
        body = f"try:\n    shelf.fail()\nexcept {caught} as e:\n    return str(e)"
        assert value(body, head) == "the shelf is full"
    body = "try:\n    raise Mine('x')\nexcept ShelfError as e:\n    return str(e)"
    assert value(body, head) == "x"


@pytest.mark.parametrize("base", ["shelf.LIMIT", "shelf.spin", "spin"])
def test_only_a_class_is_a_base(base):
    with pytest.raises(CompileError, match="a base class that is none"):
        compile_actor(f"import shelf\nclass A({base}):\n    pass".encode())


def test_an_import_costs_a_hundred_and_then_five_whatever_the_module_imports():
    """sandbox.md §4: `import` first / again."""
    one = run("pass", "x = 1").cycles_used
    first, again = costs.IMPORT_FIRST, costs.IMPORT_AGAIN
    assert run("pass", "x = 1\nimport shelf").cycles_used == one + first
    twice = "x = 1\nimport shelf\nimport shelf as s"
    assert run("pass", twice).cycles_used == one + first + again
    from_it = "x = 1\nfrom shelf import LIMIT, Box"
    assert run("pass", from_it).cycles_used == one + first + again
    # The library imports json itself: that is its own affair.
    with_json = "x = 1\nimport shelf\nimport json"
    assert run("pass", with_json).cycles_used == one + 2 * first


def test_making_a_module_uses_nothing_of_the_execution_that_imports_it_first():
    source = "import shelf\ndef run(): pass"
    used = []
    for _ in range(2):
        execution_pool._IDLE.clear()
        used += [call_once(source), call_once(source)]
    assert len({(one.cycles_used, one.memory_used) for one in used}) == 1


def test_a_library_charges_the_meter_of_the_execution_that_calls_it():
    assert run("shelf.burn(5000)").cycles_used > 5_000
    result = run("try:\n    shelf.spin(10**9)\nfinally:\n    pass", cycles=50_000)
    assert result.outcome.failure.kind == "OutOfCycles"
    assert result.cycles_used == 50_000
    assert not run("shelf.spin(1)", cycles=50_000).error, "the next one has its own"


def test_recursion_through_a_library_counts_depth():
    head = "import shelf\ndef deep(n):\n    return shelf.again(deep, n + 1)"
    assert run("deep(0)", head).outcome.failure.kind == "TooDeepRecursion"


def test_a_failure_is_located_in_the_actor():
    failure = run("shelf.fail()").outcome.failure
    assert failure.kind == "shelf.ShelfError"
    assert failure.message == "the shelf is full"
    assert failure.line == 3


def test_a_nested_execution_has_its_own_meter_and_the_caller_goes_on():
    """D14: a callee has its own counters, its depth goes on, memory is shared."""
    world = World()
    callee = world.add(
        "from shelf import burn, spin\ndef quiet(p):\n    burn(3000)\n"
        "def loud(p):\n    spin(10**9)"
    )
    caller = world.add(
        "import pvm_host\nfrom shelf import again, spin\n"
        f"CALLEE = {bytes(callee)!r}\ndef call(name):\n"
        "    return pvm_host.call_actor(CALLEE, name, b'', 20_000)\n"
        "def run(p):\n    again(call, 'quiet')\n    spin(10)\n"
        "def fails(p):\n    try:\n        again(call, 'loud')\n"
        "    except Exception as e:\n        spin(10)\n        return str(e)\n"
        "def alone(p):\n    spin(10)\n"
    )
    result = world.call(caller, "run")
    assert not result.error
    assert 3_000 + costs.CALL_ACTOR < result.cycles_used < 5_000
    failed = world.call(caller, "fails")
    assert not failed.error
    assert failed.value.startswith(b"OutOfCycles")
    assert 20_000 < failed.cycles_used < 22_000
    assert world.call(caller, "alone").cycles_used < 500


@pytest.mark.parametrize(
    "target",
    [
        "shelf.spin.x", "spin.x", "shelf.tools.double.x", "shelf.Box.colour",
        "shelf.Box.get_item.x", "shelf.Box.kind.x", "shelf.Box(1).kind.x", "Box.new",
        "shelf.Box(1).get_item.x", "ShelfError.x", "getattr(shelf, 'LIMIT').x",
        "getattr(shelf, 'spin').x", "shelf.tools.x", "type(shelf.Box(1)).x",
        "getattr(shelf, 'tools').double", "Mine.colour",
    ],
)  # fmt: skip
@pytest.mark.parametrize("statement", ["{} = 1", "del {}"])
def test_nothing_of_a_library_can_be_changed(target, statement):
    """sandbox-internals.md §2, `_write_`: what executions share is immutable."""
    head = (
        "import shelf\nfrom shelf import spin, Box, ShelfError\n"
        "class Mine(Box):\n    x = double = new = colour = 1"
    )
    result = run(statement.format(target), head)
    assert result.error == "AttributeError", result
    assert value("return shelf.Box.colour") == "red"


def test_an_instance_is_its_makers_and_what_a_function_hides_stays_hidden():
    assert value("b = shelf.Box(1)\nb.item = 5\nreturn b.get_item()") == 5
    head = "import shelf\nclass A:\n    func = args = keywords = 1"
    for name in ("func", "args", "keywords"):
        result = run(f"return callable(shelf.spin.{name})", head)
        assert result.error == "AttributeError" or result.value == b"\x81\xf4"


def test_a_library_that_would_share_something_mutable_is_not_made():
    with pytest.raises(AssertionError, match="shares a list"):
        library_loader.module(execution_pool.new(), "leaky")


def test_names_that_are_no_modules():
    for name in ("", ".", "os", "..testing", "shelf.", "a b", "shelf/tools"):
        assert library_loader.find_module(name) is None
