"""Names that native objects have (sandbox-internals.md §2, §3).

An actor's object is called as it is, a native one by the priced method.
"""

import pytest

from pvm import language
from pvm.runtime.classes import CLASS_OF
from pvm.runtime.execution import HEAP_TYPE
from pvm.runtime.methods.lookup import OWNERS, TABLES, TYPES, is_open
from pvm.testing import call_once

CLASS = """
class Own:
    def __init__(self):
        self.values = 3
        self.step = 4
    def update(self, x):
        return x
    def split(self, sep=0):
        return 7
own = Own()
"""


def used(source):
    result = call_once(source)
    assert not result.error, result.error
    return result


def name_of(kind):
    return kind.__name__


@pytest.mark.parametrize("kind", sorted(TYPES, key=name_of), ids=name_of)
def test_every_public_name_of_a_closed_type_is_known(kind):
    """Read without a helper, it would be the native method, unpaid."""
    if kind.__flags__ & HEAP_TYPE and kind not in TABLES:
        return
    public = {name for name in dir(kind) if not name.startswith("_")}
    guarded = public & language.GUARDED_ATTRIBUTES
    assert {name for name in guarded if kind not in OWNERS[name]} == set()


def test_the_compiler_knows_which_names_one_type_has():
    """It does not see the runtime: what it compares with follows from this table."""
    single = {name for name, owners in OWNERS.items() if len(owners) == 1}
    assert single == language.OWNED_BY_ONE_TYPE


def test_the_compiler_knows_what_exceptions_show():
    """What of them is read of a class would be CPython's descriptor."""
    exceptions = {
        name: class_
        for name, class_ in CLASS_OF.items()
        if issubclass(class_, BaseException)
    }
    assert {
        attribute: {name for name, own in exceptions.items() if hasattr(own, attribute)}
        for attribute in {one for class_ in exceptions.values() for one in dir(class_)}
        if not attribute.startswith("_") and attribute not in language.NEVER_ATTRIBUTES
    } == language.EXCEPTION_ATTRIBUTES


def test_no_owner_of_a_name_is_open():
    """For an open object `find` has nothing to call."""
    samples = ("", b"", 1, [], (), {}, range(1), {}.keys(), ValueError())
    assert not any(is_open(sample) for sample in samples)
    assert not any(
        kind.__flags__ & HEAP_TYPE and kind not in TABLES
        for owners in OWNERS.values()
        for kind in owners
    )


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("own.values", "3"),
        ("own.step", "4"),
        ("own.update(5)", "5"),
        ("own.split()", "7"),
        ("own.split(sep=1)", "7"),
        ("(own or 1).update(6)", "6"),
        ("[x.update(1) for x in [own]]", "[1]"),
        ("[x for x in [own.update(2)]]", "[2]"),
        ("[x for x in [(own or 1).update(2)]]", "[2]"),
        ("getattr(own, 'values')", "3"),
        ("'a-b'.split('-')", "['a', 'b']"),
        ("[x.split('-') for x in ['a-b']]", "[['a', 'b']]"),
        ("[x for x in ('a-b' + '').split('-')]", "['a', 'b']"),
        ("{'a': 1}.values()", "dict_values([1])"),
    ],
)
def test_the_object_decides(expression, value):
    result = used(f"{CLASS}def run():\n    return str({expression})\n")
    assert result.value.decode() == value


def test_a_native_method_is_paid_whatever_the_module_defines():
    text = "'a-' * 1000"
    source = (
        f"def run():\n    t = {text}\n    for i in range(2):\n        t.split('-')\n"
    )
    with_class = f"{CLASS}{source}"
    without = used(source).cycles_used
    only_class = used(f"{CLASS}def run():\n    pass\n").cycles_used
    empty = used("def run():\n    pass\n").cycles_used
    assert used(with_class).cycles_used - only_class == without - empty


@pytest.mark.parametrize("name", ["values", "split", "step", "update"])
@pytest.mark.parametrize("value", ["5", "None", "own", "run", "'a'.split"])
def test_a_name_that_an_object_lacks_is_an_attribute_error(name, value):
    source = f"""{CLASS}
class Other:
    pass
def run():
    x = {value}
    if x.__class__.__name__ == "Own":
        x = Other()
    return str(x.{name})
"""
    assert call_once(source).error.startswith("AttributeError")


@pytest.mark.parametrize("form", ["{}.values", "{}.x", "{}[0]", "{}.get(1)"])
def test_what_is_read_of_a_native_method_is_nothing(form):
    """As the subject of an attribute or item it is the native one, unpaid."""
    for subject in ("{}.values", "'a'.split", "own.update", "range(3).count"):
        source = f"""{CLASS}
class Other:
    x = 1
def run():
    return {form.format(subject)}
"""
        error = call_once(source).error
        assert error.startswith(("AttributeError", "TypeError")), (subject, error)


def test_the_ints_of_a_range_are_read_as_they_are():
    source = f"{CLASS}def run():\n    r = range(1, 9, 2)\n    return str(r.step + 1)\n"
    assert used(source).value == b"3"
    assert set(dir(range)) >= language.PLAIN_ATTRIBUTES
    others = [kind for kind in TYPES if kind is not range]
    assert not any(set(dir(kind)) & language.PLAIN_ATTRIBUTES for kind in others)


def test_subtracting_a_literal_is_adding_its_negative_only_where_none_can_tell():
    plain = "def run():\n    return str({} - 3)\n"
    assert used(plain.format("10")).value == b"7"
    assert used(plain.format("True")).value == b"-2"
    for unfit in ("{}.keys()", "{1}", "''", "[]", "None"):
        assert call_once(plain.format(unfit)).error.startswith("TypeError")
    source = """
class Left:
    def __sub__(self, other):
        return 100 + other
    def __add__(self, other):
        return "added"
def default(step=Left() - 1):
    return step
def run():
    return str([Left() - 3, default(), [x for x in [Left() - 5]][0]])
"""
    assert used(source).value == b"[103, 101, 105]"


def test_a_view_that_is_reduced_by_a_literal_is_not_hashed_unpaid():
    """CPython makes a set of the keys before it looks at the other side."""
    source = """
class Left:
    def __sub__(self, other):
        return 1
def run():
    d = dict.fromkeys(range(3000))
    try:
        d.keys() - 1
    except TypeError as e:
        return str(e)
"""
    assert b"combines with a set" in used(source).value
