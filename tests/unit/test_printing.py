"""`print`, `pvm_host.log`, `breakpoint`: prices, what is kept and given back (D59)."""

import pytest

from pvm import CompileError, compile_actor, costs
from pvm.output import LINE_LENGTH_MAX, OUTPUT_LENGTH_MAX, OutputLog, Printed
from pvm.testing import World, call_once
from pvm.types import Address

ONE, OTHER = Address(b"\x01" * 20), Address(b"\x02" * 20)


def run(body, setup=""):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return call_once(f"{setup}\ndef run():\n    pass\n{lines}")


def cycles(body, setup=""):
    return run(body, setup).cycles_used - run("", setup).cycles_used


def kept(*parts):
    log = OutputLog()
    for part in parts:
        log.write(ONE, "", [part])
    return log.output()


def test_print_writes_the_str_of_its_values_by_our_own_walk():
    setup = "class P:\n    def __str__(self):\n        return 'p'"
    result = run(
        "print('a', 1, None, [1, 'x', b'y'], {1: (2,)}, P(), P, len, {3, 2})\n"
        "print()\nprint('a', 'b', sep='', end='!')\nprint(1, sep=None, end=None)",
        setup,
    )
    assert result.error == ""
    assert result.output.text == (
        "a 1 None [1, 'x', b'y'] {1: (2,)} p <class P> <function> {3, 2}\n\nab!1\n"
    )


def test_a_failure_keeps_what_was_printed():
    """D59: "It survives failures"."""
    result = run("print('before')\nraise ValueError('no')")
    assert (result.error, result.output.text) == ("ValueError: no", "before\n")


def test_a_read_only_execution_prints():
    """D59: "and in read-only executions"."""
    world = World()
    actor = world.add("def run():\n    print('seen')\n    pvm_host.log('info', 'too')")
    result = world.call(actor, "run", read_only=True)
    assert result.error == ""
    assert result.output.text == "seen\ntoo\n"


def test_a_log_has_its_level_and_a_print_none():
    output = run("print(1)\npvm_host.log('warning', 2, 'x')\nprint(3, end='')").output
    assert [(one.level, one.text) for one in output.printed] == [
        ("", "1\n"), ("warning", "2 x\n"), ("", "3"),
    ]  # fmt: skip


@pytest.mark.parametrize("level", ["''", "'fatal'", "5", "None", "b'info'"])
def test_an_unknown_level_is_refused_at_the_price_of_the_call(level):
    found = run(
        f"try:\n    pvm_host.log({level}, 1)\n"
        "except pvm_host.HostError as error:\n    print(error)"
    )
    assert found.output.text == (
        "InvalidInput: level must be one of debug, error, info, warning\n"
    )


def test_print_costs_100_and_str_of_each_value_and_a_cycle_a_character():
    """D59: "100 cycles, the price of `str` of each value, and 1 cycle a character"."""
    statement = costs.STATEMENT
    assert cycles("print()") == statement + 100 + 1
    assert cycles("print(5)") == statement + 100 + costs.CALL_OF_BUILTIN["str"] + 2
    one = cycles("y = str(x)", "x = [1] * 50") - 2 * statement
    text = len(str([1] * 50))
    assert cycles("print(x)", "x = [1] * 50") == statement + 100 + one + text + 1 + 1
    two = 2 * costs.CALL_OF_BUILTIN["str"] + len("ab, cd.")
    assert cycles("print('ab', 'cd', sep=', ', end='.')") == statement + 100 + two


def test_log_costs_what_print_does():
    printed = cycles("print('text', 7)")
    logged = cycles("pvm_host.log('info', 'text', 7)")
    attribute, call = costs.ATTRIBUTE, costs.CALL
    assert logged - call - attribute == printed - costs.CALL_OF_BUILTIN["print"] + 100


def test_a_printed_megabyte_is_cut_and_paid_in_full():
    """D59: cut "where they are kept, and paid in full"."""
    result = run("print('x' * 1000000)")
    assert result.cycles_used > 1_000_000
    assert result.output.text == "x" * LINE_LENGTH_MAX + "\n"
    assert result.output.cut == 1_000_000 - LINE_LENGTH_MAX


def test_printing_beyond_the_cycles_halts():
    result = call_once("def run():\n    print('x' * 5000)", cycles=6_000)
    assert result.error.startswith("OutOfCycles")
    assert result.output.text == ""


def test_breakpoint_costs_100_and_does_nothing():
    """D59: "costs 100 cycles, does nothing where no debugger watches, returns None"."""
    assert cycles("breakpoint()") == costs.STATEMENT + 100
    assert run("print(breakpoint())").output.text == "None\n"
    assert run("breakpoint(1)").error.startswith("TypeError")


@pytest.mark.parametrize("what", ["print", "breakpoint"])
def test_they_cost_as_values_what_they_cost_by_name(what):
    assert cycles("f()", f"f = {what}") == cycles(f"{what}()", f"f = {what}")


@pytest.mark.parametrize("given", ["sep=5", "end=b''", "sep=['a']"])
def test_what_stands_between_is_text(given):
    assert run(f"print(1, {given})").error == "TypeError: sep and end are str or None"


def test_a_line_is_cut_however_many_prints_write_it():
    output = kept(*["ab"] * 700, "\n", "next\n")
    assert output.text == "ab" * (LINE_LENGTH_MAX // 2) + "\nnext\n"
    assert output.cut == 1_400 - LINE_LENGTH_MAX


def test_a_line_is_cut_whoever_writes_nothing_in_it():
    """An actor that wrote nothing in between began the line of the other anew."""
    log = OutputLog()
    for _ in range(3):
        log.write(ONE, "", ["a" * 1_000])
        log.write(OTHER, "", [""])
    assert len(log.output().text) == LINE_LENGTH_MAX


def test_an_execution_keeps_so_many_characters_and_counts_the_rest():
    line = "x" * 63 + "\n"
    output = kept(*[line] * 1_500)
    assert len(output.text) == OUTPUT_LENGTH_MAX
    assert output.cut == 1_500 * 64 - OUTPUT_LENGTH_MAX
    whole = kept(line * 1_500)
    assert (whole.text, whole.cut) == (output.text, output.cut)


def test_many_empty_lines_take_no_longer_than_long_ones():
    output = kept("\n" * 200_000)
    assert output.text == "\n" * OUTPUT_LENGTH_MAX
    assert output.cut == 200_000 - OUTPUT_LENGTH_MAX


def test_what_actors_write_in_turn_stays_theirs():
    log = OutputLog()
    log.write(ONE, "", ["a", "\n"])
    log.write(ONE, "", ["b\n"])
    log.write(OTHER, "", ["c\n"])
    log.write(OTHER, "", [""])
    log.write(ONE, "", ["d\n"])
    assert log.output().printed == (
        Printed(ONE, "", "a\nb\n"), Printed(OTHER, "", "c\n"), Printed(ONE, "", "d\n"),
    )  # fmt: skip


def test_nothing_printed_is_no_output():
    assert not kept("")
    assert not run("print(end='')").output


def test_a_lone_surrogate_is_kept_as_its_escape():
    assert kept("a\ud800\n").text == "a\\ud800\n"


@pytest.mark.parametrize("name", ["print", "breakpoint"])
@pytest.mark.parametrize(
    "source", ["{} = 1", "def {}():\n    pass", "def f({}):\n    pass"]
)
def test_nobody_takes_their_names(name, source):
    """RestrictedPython reserves both: only reading them is admitted."""
    with pytest.raises(CompileError, match=f'"{name}" is a reserved name'):
        compile_actor(source.format(name).encode())
