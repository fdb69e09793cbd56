"""`json` for actors (sandbox.md §3, §4)."""

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pvm import costs
from pvm.errors import JSONDecodeError, OutOfCycles, OutOfMemory, TooDeepRecursion
from pvm.meter import Meter
from pvm.modules.json import make
from pvm.runtime.context import ModuleContext
from pvm.types import Limits


@pytest.fixture
def context(make_context):
    return make_context()


@pytest.fixture
def loads(context):
    return make(context)["loads"]


@pytest.fixture
def dumps(context):
    return make(context)["dumps"]


TEXTS = [
    "0",
    "-0",
    "-17",
    "18446744073709551616",
    '""',
    '"a\\"b\\\\"',
    '"\\u00e9\\ud83d\\ude00"',
    '"[[[[{{{{"',
    '"\\\\"',
    '["\\\\", "]"]',
    "true",
    "false",
    "null",
    "[]",
    "{}",
    " [1 , 2,\n\t3 ] ",
    "\r\n 7\t ",
    '{"a": {"b": [1, "x"]}, "a": 2}',
    '"é"',
]


@pytest.mark.parametrize("text", TEXTS)
def test_loads_agrees_with_the_standard_library(loads, text):
    assert loads(text) == json.loads(text)
    assert loads(text.encode()) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "[",
        "]",
        "[1,]",
        "{1: 2}",
        "{'a': 1}",
        '"a',
        '"\t"',
        "01",
        "+1",
        "nul",
        "1 2",
        "\ufeff1",
        "\u00a01",
        "1\v",
        "[1]\f",
        "1.5",
        "1.0",
        "1e5",
        "1E5",
        "-1e-5",
        "[1, 0.1]",
        "NaN",
        "Infinity",
        "-Infinity",
        "[NaN]",
    ],
)
def test_what_is_not_json_without_fractions_is_a_value_error(loads, text):
    with pytest.raises(ValueError, match=r"JSON|fractions") as error:
        loads(text)
    assert type(error.value) is JSONDecodeError
    assert error.value.doc == text
    assert error.value.msg == str(error.value)


def test_bytes_that_are_not_utf8_are_a_unicode_error(loads):
    with pytest.raises(UnicodeDecodeError):
        loads(b'"\xff"')


@pytest.mark.parametrize("text", [1, None, ["1"], True])
def test_loads_wants_text(loads, text):
    with pytest.raises(TypeError, match="a str is wanted"):
        loads(text)


@pytest.mark.parametrize("pair", ["[]", '{"k":}'])
def test_brackets_nest_at_most_64(loads, pair):
    begin, end = pair[:-1], pair[-1]
    loads(begin * 64 + "1" + end * 64)
    with pytest.raises(ValueError, match="64 deep"):
        loads(begin * 65 + "1" + end * 65)
    with pytest.raises(ValueError, match="64 deep"):
        loads(begin * 80_000)


def test_brackets_in_strings_do_not_nest(loads):
    assert loads('"' + "[" * 100 + '"') == "[" * 100
    tricky = '["\\"", "' + "[" * 100 + '"]'
    assert loads(tricky) == ['"', "[" * 100]


def test_brackets_hidden_behind_an_odd_quote_are_counted(loads):
    for start in ('["\\\\",', '["\\\\\\"",', '["",'):
        with pytest.raises(ValueError, match="64 deep"):
            loads(start + "[" * 70)


def test_side_by_side_brackets_do_not_nest(loads):
    assert loads("[" + ",".join(["[]"] * 100) + "]") == [[]] * 100


def test_integers_have_at_most_4096_bits(loads):
    biggest = 2**4096 - 1
    assert loads(str(biggest)) == biggest
    assert loads(str(-biggest)) == -biggest
    for number in (2**4096, 10**1_234):
        with pytest.raises(ValueError, match=r"4,096 bits|1,234 digits"):
            loads(f"[{number}]")
    with pytest.raises(ValueError, match="1,234 digits"):
        loads("1" * 400_000)


def test_digits_in_strings_are_no_integer(loads):
    assert loads('"' + "1" * 2_000 + '"') == "1" * 2_000


def test_keys_have_at_most_1024_characters(loads):
    key = "k" * 1_024
    assert loads(json.dumps({key: 1})) == {key: 1}
    with pytest.raises(ValueError, match="key"):
        loads(json.dumps([{key + "k": 1}]))


def test_price_of_loads(context, loads):
    text = '{"a": [1, 2], "b": "[,]"}'
    loads(text)
    containers, marks = 2, 2 + 2  # commas, colons
    walk = 16 * containers + 8 * (containers + marks)
    assert context.meter.cycles_used == 100 + len(text) + walk
    assert context.meter.memory.cell_contents == 10 * 2**20 - 20 * len(text)


def test_loads_is_paid_before_it_is_parsed(make_context, make_meter):
    text = "[" + "[]," * 1_000 + "[]]"
    context = make_context(make_meter(cycles=100 + len(text) + 16 * 1_000))
    with pytest.raises(OutOfCycles):
        make(context)["loads"](text)
    context = make_context(make_meter(memory=20 * len(text) - 1))
    with pytest.raises(OutOfMemory):
        make(context)["loads"](text)


@pytest.mark.parametrize(
    "text",
    [
        '"' * 500_000,
        '\\"' * 250_000,
        "\\" * 500_000,
        '["' + '\\"' * 240_000 + '"]',
        "1" * 1_234 + " " + "1" * 1_234,
        ("1" * 1_234 + ",") * 400,
        "]" * 500_000,
        '{"a":' * 90_000,
    ],
    ids=range(8),
)
def test_hostile_text_is_read_in_linear_time(make_context, text):
    before = time.process_time()
    with contextlib.suppress(ValueError):
        make(make_context())["loads"](text)
    assert time.process_time() - before < 2  # quadratic would be minutes


# --- dumps ------------------------------------------------------------------------

VALUES = [
    0,
    -1,
    2**64 - 1,
    2**64,
    -(2**4096) + 1,
    "",
    'a"b\\c/',
    "\x00\x1f\x7f",
    "é\U0001f600\ud800",
    True,
    False,
    None,
    [],
    (),
    {},
    [[], {}, ()],
    [1, [2, {"a": (3, 4)}]],
    {"b": 1, "a": {1: 2, -5: None}},
    {"é": "\n"},
]


@pytest.mark.parametrize("sort_keys", [False, True])
@pytest.mark.parametrize("indent", [None, 0, 1, 8, "", "\t", " - "])
@pytest.mark.parametrize("separators", [None, (",", ":"), [" , ", " = "]])
@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_dumps_agrees_with_the_standard_library(
    dumps, sort_keys, indent, separators, ensure_ascii
):
    for value in VALUES:
        if sort_keys and value == {"b": 1, "a": {1: 2, -5: None}}:
            value = {"b": 1, "a": {"1": 2, "-5": None}}  # noqa: PLW2901
        options = {
            "sort_keys": sort_keys, "indent": indent, "separators": separators,
            "ensure_ascii": ensure_ascii,
        }  # fmt: skip
        assert dumps(value, **options) == json.dumps(value, **options)


@pytest.mark.parametrize(
    "value",
    [1.5, b"x", {1}, object(), len, [object()], {"a": b""}, {b"k": 1}, {1.5: 1}],
)
def test_what_has_no_form_is_a_type_error(dumps, value):
    with pytest.raises(TypeError):
        dumps(value)


@pytest.mark.parametrize("key", [None, True, (1,), 2**60])
def test_keys_are_str_or_int(dumps, key):
    with pytest.raises(TypeError, match="key"):
        dumps({key: 1})


def test_integers_beyond_4096_bits_are_refused(dumps):
    with pytest.raises(ValueError, match="4,096"):
        dumps([2**4096])


@pytest.mark.parametrize(
    "options",
    [
        {"indent": 9},
        {"indent": -1},
        {"indent": " " * 9},
        {"indent": "é"},
        {"separators": (",",)},
        {"separators": (",", ":", ";")},
        {"separators": ("x" * 17, ":")},
        {"separators": ("é", ":")},
    ],
    ids=repr,
)
def test_layouts_out_of_range_are_a_value_error(dumps, options):
    with pytest.raises(ValueError, match=r"wanted|separator|indent"):
        dumps([1], **options)


@pytest.mark.parametrize(
    "options",
    [
        {"indent": b" "},
        {"indent": True},
        {"sort_keys": 1},
        {"separators": ",:"},
        {"separators": (1, 2)},
        {"default": "str"},
        {"cls": str},
        {"ensure_ascii": 1},
        {"skipkeys": None},
        {"check_circular": 0},
    ],
    ids=repr,
)
def test_layouts_of_other_types_are_a_type_error(dumps, options):
    with pytest.raises(TypeError):
        dumps([1], **options)


def test_values_nest_at_most_64(dumps):
    value = 1
    for _ in range(64):
        value = [value]
    dumps(value)
    with pytest.raises(ValueError, match="64 deep"):
        dumps([value])
    circle = {}
    circle["a"] = circle
    with pytest.raises(ValueError, match="64 deep"):
        dumps(circle)


def test_shared_structure_is_stopped_by_the_charge(make_context, make_meter):
    value = 1
    for _ in range(40):
        value = [value, value]
    with pytest.raises(OutOfCycles):
        make(make_context(make_meter(cycles=1_000_000)))["dumps"](value)


def test_memory_is_paid_before_the_text_is_made(make_context, make_meter):
    context = make_context(make_meter(memory=1_000_000))
    with pytest.raises(OutOfMemory):
        make(context)["dumps"](["\x01" * 10_000] * 20)


def test_price_of_dumps(context, dumps):
    text = dumps([1, {"a": "b"}])
    assert context.meter.cycles_used == 100 + 2 * 16 + 8 * (2 + 2) + len(text)
    assert costs.JSON == 100


def context_of(cycles, depth=8):
    limits = Limits(memory_bytes=10**9, depth=depth)
    context = ModuleContext()
    context.begin(Meter(cycles, 0, limits=limits), None, None, "main")
    return context


values = st.recursive(
    st.one_of(st.integers(-(2**70), 2**70), st.text(), st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner),
        st.dictionaries(
            st.one_of(st.text(), st.integers(-(2**60) + 1, 2**60 - 1)), inner
        ),
    ),
)


@given(
    values,
    st.none() | st.integers(0, 8),
    st.none() | st.tuples(st.sampled_from([",", ", "]), st.sampled_from([":", " : "])),
    st.booleans(),
)
def test_dumps_foresees_the_size_and_loads_reads_it_back(
    value, indent, separators, ensure_ascii
):
    module = make(context_of(10**8))
    options = {
        "indent": indent, "separators": separators, "ensure_ascii": ensure_ascii
    }  # fmt: skip
    text = module["dumps"](value, **options)
    assert text == json.dumps(value, **options)
    assert module["loads"](text) == json.loads(text)


@given(
    st.dictionaries(
        st.text(max_size=70),
        st.one_of(
            st.text(max_size=70),
            st.text(st.characters(codec="ascii"), max_size=70),
            st.integers(-(2**66), 2**66),
            st.none(),
        ),
        max_size=18,
    ),
    st.integers(0, 3_000),
)
def test_what_is_written_at_once_costs_what_it_costs_in_steps(value, cycles):
    at_once, in_steps = context_of(cycles), context_of(cycles)
    texts = []
    for context, named in ((at_once, {}), (in_steps, {"separators": (", ", ": ")})):
        with contextlib.suppress(OutOfCycles):
            texts.append(make(context)["dumps"](value, **named))
    assert texts in ([], [json.dumps(value)] * 2)
    used = [
        (one.meter.cycles_used, one.meter.memory.cell_contents)
        for one in (at_once, in_steps)
    ]
    assert used[0] == used[1]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c", "d:", "e,", "{", "[", "é", '"', "\\"]),
            st.one_of(
                st.integers(),
                st.text('ab:,{}["]\\', max_size=4),
                st.sampled_from([[], {}, [1, 2], {"f": 3}, None, True, 0.5]),
            ),
        ),
        max_size=4,
    ),
    st.sampled_from(["", "x", ",", "}", " "]),
)
def test_what_is_read_at_once_costs_what_it_costs_in_steps(pairs, rest):
    shown = ", ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in pairs)
    text = "{" + shown + "}" + rest
    read = []
    for start in ("", " "):  # the second is not looked at in short
        context = context_of(10**6)
        try:
            found = make(context)["loads"](start + text)
        except ValueError as error:
            found = str(error)
        paid = 20 * len(start), len(start)
        meter = context.meter
        read.append(
            (
                found,
                meter.cycles_used - paid[1],
                meter.memory.cell_contents + paid[0],
            )
        )
    assert read[0] == read[1]


def test_keywords_that_change_nothing_are_taken(loads, dumps):
    """As every public actor writes them: `json.dumps(x, ensure_ascii=True)`."""
    options = {
        "skipkeys": False, "ensure_ascii": True, "check_circular": False,
        "allow_nan": False, "cls": None, "default": None, "sort_keys": True,
    }  # fmt: skip
    assert dumps({"b": "é", "a": 1}, **options) == json.dumps(
        {"b": "é", "a": 1}, **options
    )
    hooks = ("cls", "object_hook", "parse_float", "parse_int", "parse_constant")
    assert loads("[1]", **dict.fromkeys([*hooks, "object_pairs_hook"])) == [1]


def test_what_has_no_form_here_is_refused_by_name(loads, dumps):
    with pytest.raises(TypeError, match="no cls"):
        loads("{}", cls=json.JSONDecoder)
    with pytest.raises(TypeError, match="no cls"):
        dumps([1], cls=json.JSONEncoder)
    with pytest.raises(TypeError, match="object_hook is a function or None, not int"):
        loads("{}", object_hook=1)
    with pytest.raises(TypeError, match="default is a function or None, not str"):
        dumps([1], default="str")


def test_text_that_is_not_ascii_pays_its_memory(make_context, make_meter):
    """Four bytes a character, as of every other text (sandbox.md §4)."""
    text = "é" * 1_000
    contexts = [make_context(make_meter()) for _ in range(2)]
    left = []
    for context, is_ascii in zip(contexts, [True, False], strict=True):
        made = make(context)["dumps"](text, ensure_ascii=is_ascii)
        assert made == json.dumps(text, ensure_ascii=is_ascii)
        left.append(10 * 2**20 - context.meter.memory.cell_contents)
    assert left == [costs.TEXT_BYTES + 6_002, costs.TEXT_BYTES + 4 * 1_002]


HOOKED = [
    "1",
    "[]",
    "{}",
    '{"a": 1, "a": 2, "b": [{"c": -3}, {}, [4]]}',
    '[1, 2.5, {"x": 1e3, "y": NaN}, -Infinity, "1", null]',
]


def pairs_of(pairs):
    return [type(pairs), [type(pair) for pair in pairs], pairs]


@pytest.mark.parametrize("text", HOOKED)
@pytest.mark.parametrize("names", [
    ["object_hook"], ["object_pairs_hook"], ["parse_int"],
    ["object_hook", "object_pairs_hook", "parse_int"],
])  # fmt: skip
def test_hooks_are_called_as_those_of_the_standard_library(loads, text, names):
    """With the same values, in the same order; a fraction goes to `parse_float`."""
    seen = []
    for read in (loads, json.loads):
        calls = []

        def called(name, value, calls=calls):
            calls.append((name, repr(value)))
            return (name, value)

        hooks = {
            name: lambda value, name=name, called=called: called(name, value)
            for name in [*names, "parse_float", "parse_constant"]
        }
        seen.append((read(text, **hooks), calls))
    assert seen[0] == seen[1]


def test_no_hook_is_called_of_a_text_that_is_refused(loads):
    for text in ("[{}, 1.5]", "[{}", '[{}, {"' + "k" * 1_025 + '": 1}]'):
        calls = []
        with pytest.raises(JSONDecodeError):
            loads(text, object_hook=calls.append)
        assert calls == []


class Odd:
    """Without a form in JSON."""

    def __hash__(self):  # noqa: D105 - of the language
        raise AssertionError("nobody asks for it")


@pytest.mark.parametrize(
    ("value", "default"),
    [
        (Odd(), lambda _: "odd"),
        ([Odd(), {"a": Odd()}, (1, Odd())], lambda _: {"odd": [1]}),
        ([{1}, {2}], sorted),
        ({"b": b"x", "a": [b"y"]}, lambda one: one.decode()),
        ([], lambda _: None),
        ([Odd()], lambda one: (b"x", 1) if isinstance(one, Odd) else "bytes"),
    ],
)
def test_default_gives_what_has_no_form_one(dumps, value, default):
    for options in ({}, {"indent": 1}, {"sort_keys": True, "ensure_ascii": False}):
        wanted = json.dumps(value, default=default, **options)
        assert dumps(value, default=default, **options) == wanted


def test_keys_without_a_form_are_left_out(dumps):
    value = {"a": {(1, 2): 3, b"x": 4, "b": 5}, Plain(): 6, 7: [{(): 8}]}
    assert dumps(value, skipkeys=True) == json.dumps(value, skipkeys=True)
    for key in (None, True):  # CPython writes them
        with pytest.raises(TypeError, match="a key must be str or int"):
            dumps({key: 1}, skipkeys=True)


class Plain:
    """With the hash that CPython gives."""


def test_default_is_not_asked_for_ever(dumps):
    """CPython would say that a reference is circular, or give up on its stack."""
    with pytest.raises(ValueError, match="64 deep"):
        dumps(Plain(), default=lambda one: one)
    with pytest.raises(ValueError, match="64 deep"):
        dumps(Plain(), default=lambda one: [one])
    circle = []
    circle.append(circle)
    with pytest.raises(ValueError, match="64 deep"):
        dumps(circle, default=str)
    deepest = 1
    for _ in range(64):
        deepest = [deepest]
    assert dumps(deepest, default=str) == json.dumps(deepest)


def test_what_default_changes_meanwhile_is_not_written(dumps):
    """A copy is written: what a function holds may become anything."""
    items = {"a": Plain(), "b": 1, "c": 2}

    def default(_):
        items.clear()
        items["later"] = Plain()
        return 0

    assert dumps(items, default=default) == '{"a": 0, "b": 1, "c": 2}'


def test_natives_that_call_one_another_are_counted():
    module = make(context_of(10**8))

    def again(one):
        return module["dumps"](one, default=again)

    assert module["dumps"](Plain(), default=lambda _: 1) == "1"
    assert module["loads"]("{}", object_hook=len) == 0
    assert module["dumps"]([Plain()] * 20, default=lambda _: 1)
    with pytest.raises(TooDeepRecursion):
        module["dumps"](Plain(), default=again)

    def once_more(_):
        return module["loads"]("{}", object_hook=once_more)

    module = make(context_of(10**8))
    with pytest.raises(TooDeepRecursion):
        module["loads"]("{}", object_hook=once_more)


def test_a_copy_is_paid_before_it_is_made(make_context, make_meter):
    value = [[0] * 1_000] * 50
    context = make_context(make_meter(cycles=100 + 2 * 16))
    with pytest.raises(OutOfCycles):
        make(context)["dumps"](value, default=str)
    context = make_context(make_meter(memory=8 * 1_000 * 50))
    with pytest.raises(OutOfMemory):
        make(context)["dumps"](value, default=str)


def test_price_of_hooks(context, loads):
    text = '{"a": [1, 2], "b": "[,]"}'
    loads(text, parse_int=int)
    containers, marks = 2, 2 + 2
    walk = 16 * containers + 8 * (containers + marks)
    calls = 2 * (costs.CALL + 1)
    assert context.meter.cycles_used == 200 + len(text) + 2 * walk + calls
    assert context.meter.memory.cell_contents == 10 * 2**20 - 40 * len(text)
