"""`pvm.driver.interpreter`: handlers, instances, outcomes (host-api.md §1)."""

import gc

import pytest

from pvm import Address, Entry, Message, Meter, Outcome, cbor, compile_actor, execute
from pvm.errors import OutOfCells, OutOfCycles, OutOfMemory, ReadOnlyViolation
from pvm.testing import DEPLOYER, ENVIRONMENT, SENDER, DictionaryHost, World, call_once

ACTOR = Address(b"\xaa" * 20)


def outcome(source, *handlers, entry=Entry.CALL, payload=b"", meter=None):
    code = compile_actor(source.encode())
    world = World()
    world.codes[ACTOR] = code
    message = Message(
        ENVIRONMENT, entry, ACTOR, DEPLOYER, SENDER, handlers or ("run",), payload
    )
    meter = meter or Meter(1_000_000, 100_000)
    return execute(code, message, DictionaryHost(world, message, meter), meter)


@pytest.mark.parametrize(
    ("signature", "returned"),
    [
        ("", "None"),
        ("payload", "payload"),
        ("payload=b'default'", "payload"),
        ("payload, extra=1", "payload"),
        ("*everything", "everything[0]"),
        ("payload, *, named=1", "payload"),
    ],
)
def test_a_handler_gets_the_payload_if_it_takes_a_positional_parameter(
    signature, returned
):
    source = f"def run({signature}):\n    return {returned}"
    wanted = b"" if returned == "None" else b"abc"
    assert outcome(source, payload=b"abc").value == wanted
    method = f"class A:\n    def run(self{', ' + signature if signature else ''}):\n"
    assert (
        outcome(method + f"        return {returned}", payload=b"abc").value == wanted
    )


def test_a_handler_with_two_parameters_gets_context_and_payload():
    source = (
        "def run(ctx, payload):\n    return [ctx['sender'], ctx['handler'], payload]"
    )
    assert cbor.decode(outcome(source, payload=b"p").value) == [SENDER, "run", b"p"]


def test_a_function_of_the_module_goes_before_a_method():
    source = "class A:\n    def run(self):\n        return 1\ndef run():\n    return 2"
    assert outcome(source).value == b"\x02"


def test_the_first_handler_that_is_defined_is_called():
    source = "def second():\n    return 2\ndef third():\n    return 3"
    assert outcome(source, "first", "second", "third").value == b"\x02"


@pytest.mark.parametrize(
    ("source", "handler"),
    [
        ("def run(): pass", "other"),
        ("def _run(): pass", "_run"),
        ("def _run(): pass", "private_run"),
        ("run = 5", "run"),
        ("from json import loads", "loads"),
        ("class Tool:\n    pass", "Tool"),
        ("class A:\n    x = 1", "x"),
        ("class A:\n    def init(self): pass", "init"),
        ("class A:\n    def deploy(self): pass", "deploy"),
        ("class A:\n    def __init__(self): pass", "__init__"),
        ("class A:\n    def f(self): pass\nclass B:\n    pass", "f"),
        ("def outer():\n    def inner(): pass", "inner"),
    ],
)
def test_what_is_no_handler_is_not_found(source, handler):
    result = outcome(source, handler)
    assert result.failure.kind == "HandlerNotFound"
    assert result.failure.handler == handler


def test_init_of_the_module_can_be_called_later():
    assert outcome("def init():\n    return 5", "init").value == b"\x05"


def test_a_deployment_calls_deploy_or_init_or_nothing():
    """Absent is fine; the module's body runs in any case."""
    both = ("deploy", "init")
    method = "class A:\n    def init(self, payload):\n        return payload"
    assert outcome(method, *both, entry=Entry.DEPLOYMENT, payload=b"x").value == b"x"
    assert outcome("x = 1", *both, entry=Entry.DEPLOYMENT) == Outcome(b"", None)
    broken = outcome("x = [][0]", *both, entry=Entry.DEPLOYMENT)
    assert broken.failure.kind == "IndexError"
    assert broken.failure.line == 1


def test_an_instance_has_its_state_before_init_runs():
    source = """
class A:
    def __init__(self):
        self.seen = [self.address, self.deployer, self.storage.get("k", 7)]

    def run(self):
        self.storage["k"] = 8
        return self.seen
"""
    world = World()
    actor = world.add(source)
    assert cbor.decode(world.call(actor, "run").value) == [actor, DEPLOYER, 7]
    assert cbor.decode(world.call(actor, "run").value) == [actor, DEPLOYER, 8]


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        ("None", b""),
        ("b'x'", b"x"),
        ("'h\u00e9'", "h\u00e9".encode()),
        ("5", b"\x05"),
        ("[1, {'a': True}]", cbor.encode([1, {"a": True}])),
    ],
)
def test_what_a_handler_returns_is_bytes(returned, value):
    result = call_once(f"def run():\n    return {returned}")
    assert result.value == value
    assert result.cells_used == len(value)


@pytest.mark.parametrize(
    "returned", ["b'x' * 65537", "run", "{1}", "[b'x' * 40000] * 2", "iter([])"]
)
def test_what_cannot_be_returned_is_a_failure(returned):
    result = call_once(f"def run():\n    return {returned}")
    assert result.outcome.failure.kind == "ReturnValue"
    assert result.value == b""


def test_a_failure_names_the_line_the_handler_and_the_text():
    source = (
        "def helper(x):\n    y = 1\n    raise ValueError('bad ' + str(x))\n\n\n"
        "def run():\n    return helper(5)\n"
    )
    failure = outcome(source).failure
    assert (failure.kind, failure.message) == ("ValueError", "bad 5")
    assert (failure.line, failure.handler) == (3, "run")


def test_a_bare_raise_keeps_the_line_of_the_failure():
    source = """
def run():
    try:
        x = [][1]
    except IndexError:
        x = 2
        raise
"""
    assert outcome(source).failure.line == 4


@pytest.mark.parametrize(
    ("statement", "kind", "message"),
    [
        ("[][0]", "IndexError", ""),
        ("{}['k']", "KeyError", "'k'"),
        ("1 // 0", "ZeroDivisionError", ""),
        ("int('x')", "ValueError", ""),
        ("later", "NameError", ""),
        ("[later for i in [1]]", "NameError", ""),
        ("raise_it()", "actor.Mine", "text"),
        ("pvm_host.revert('reason')", "Reverted", "reason"),
        (
            "pvm_host.get_state(5)",
            "HostError.InvalidInput",
            "key must be bytes, not int",
        ),
    ],
)
def test_texts_of_the_interpreter_are_not_repeated(statement, kind, message):
    """An error reads as its class, but for what the actor or we said."""
    source = f"""
class Mine(ValueError):
    pass

def raise_it():
    raise Mine("text")

def run():
    {statement}
    later = 1
"""
    failure = call_once(source).outcome.failure
    assert (failure.kind, failure.message) == (kind, message)


def test_an_error_whose_text_fails_still_has_its_kind():
    source = """
class Mine(ValueError):
    def __str__(self):
        raise KeyError("no")

def run():
    raise Mine
"""
    failure = call_once(source).outcome.failure
    assert (failure.kind, failure.message) == ("actor.Mine", "")


def test_a_text_that_never_ends_is_the_halt_it_causes():
    source = """
class Mine(ValueError):
    def __str__(self):
        while True:
            pass

def run():
    raise Mine
"""
    assert call_once(source).outcome.failure.kind == "OutOfCycles"


def test_a_long_text_is_cut():
    failure = call_once("def run():\n    raise ValueError('x' * 5000)").outcome.failure
    assert failure.message == "x" * 1_000


def test_the_meter_decides_not_what_was_returned():
    """sandbox-internals.md §7: an execution that halted and returned is halted."""
    meter = Meter(1_000, 10)
    source = "def run():\n    return b'x' * 11"
    result = outcome(source, meter=meter)
    assert result.failure.kind == "OutOfCells"
    assert meter.cells_used == 10


def test_modules_are_sealed_and_imported_once():
    source = """
import json
import json as again
from json import loads

def run():
    return [json is None, loads("[1]"), again.dumps([2])]
"""
    assert cbor.decode(call_once(source).value) == [False, [1], "[2]"]


def test_nested_executions_do_not_share_globals():
    world = World()
    callee = world.add("n = [1]\ndef run(payload):\n    n.append(2)\n    return len(n)")
    caller = world.add(f"""
n = [5, 6, 7]

def run():
    a = pvm_host.call_actor({bytes(callee)!r}, "run", b"")
    b = pvm_host.call_actor({bytes(callee)!r}, "run", b"")
    return [a, b, len(n)]
""")
    assert cbor.decode(world.call(caller, "run").value) == [b"\x02", b"\x02", 3]


def test_what_an_execution_reached_is_let_go_without_a_collection():
    """A class refers to itself and stays a while; the host and its chain do not."""
    world = World()
    place = world.add(
        "class Actor:\n    def run(self):\n        self.storage['k'] = 1\n"
    )
    message = world.message(place, ("run",), b"")

    def hosts():
        return sum(type(each) is DictionaryHost for each in gc.get_objects())

    def run():
        before = hosts()
        meter = Meter(100_000, 1_000)
        host = DictionaryHost(world, message, meter)
        assert execute(world.codes[place], message, host, meter).is_success
        del host
        return hosts() - before

    assert world.worker.run(run) == 0  # collection is paused there


@pytest.mark.parametrize("halt", [OutOfCells(), OutOfMemory(), ReadOnlyViolation()])
def test_out_of_cycles_goes_before_another_halt(halt):
    """D16: "Out of cycles: the whole cycle limit", whatever else is used up."""
    meter = Meter(1_000, 10)
    meter.cycles.cell_contents = -1  # as inserted charges leave it
    with pytest.raises(OutOfCycles):
        meter.halt(halt)
    assert (meter.cycles_used, meter.cells_used) == (1_000, 0)
    both = Meter(1_000, 10)
    both.cycles.cell_contents = both.memory.cell_contents = -1
    with pytest.raises(OutOfCycles):
        both.halt_by_counters()
    other = Meter(1_000, 10)
    other.charge_cycles(400)
    with pytest.raises(type(halt)):
        other.halt(halt)
    assert other.cycles_used == 400
