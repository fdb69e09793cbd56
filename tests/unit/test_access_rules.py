"""Who may call what, and what a method may do (host-api.md §1, §4)."""

import pytest

from pvm.testing import DEPLOYER, SENDER, World

BOX = """
from cowboy_sdk import (OWNER, SELF, actor, callable_by, deferred, public, pure,
    reentrancy_guard, runtime, call, send)
from abc import abstractmethod
import pvm_host

def same(method):
    return lambda self: method(self)

@actor
class Box:
    def deploy(self, payload):
        self.storage["n"] = 1
        self.undecorated()

    @public
    def open(self):
        return self.undecorated()

    def undecorated(self):
        return b"inside"

    @callable_by(OWNER)
    def owners(self):
        return b"owner"

    @callable_by(SELF)
    def own(self):
        return b"self"

    @public
    def through_open(self):
        return self.owners()

    @public
    def to_itself(self):
        return runtime.call_actor(self.address, "own", b"")

    @public
    def to_itself_undecorated(self):
        return runtime.call_actor(self.address, "undecorated", b"")

    @public
    def failing(self):
        try:
            self.raising()
        except ValueError:
            pass
        return self.undecorated()

    def raising(self):
        raise ValueError

    @staticmethod
    def still():
        return b"inside"

    @classmethod
    def of_class(cls):
        return b"inside"

    @same
    def decorated(self):
        return b"inside"

    @abstractmethod
    def abstract(self):
        return b"inside"

    @property
    def shown(self):
        return b"inside"

    @public
    def through_decorated(self):
        self.still(), self.of_class(), self.abstract()
        return self.decorated()

def show(payload):
    return Box().shown

def wrapped(payload):
    return Box().owners()

def inner(payload):
    return Box().undecorated()

def after(payload):
    box = Box()
    box.open()
    return box.undecorated()
"""


@pytest.fixture
def world():
    return World()


@pytest.fixture
def box(world):
    return world.deploy(BOX)


DENIED = "HostError.PermissionDenied"


@pytest.mark.parametrize(
    ("handler", "stranger", "owner"),
    [
        ("open", b"inside", b"inside"),
        ("undecorated", DENIED, DENIED),
        ("owners", DENIED, b"owner"),
        ("own", DENIED, DENIED),
        ("through_open", DENIED, b"owner"),
        ("to_itself", b"self", b"self"),
        ("to_itself_undecorated", b"inside", b"inside"),
        ("failing", b"inside", b"inside"),
        ("wrapped", DENIED, b"owner"),
        ("inner", DENIED, DENIED),
        ("after", DENIED, DENIED),
        ("still", DENIED, DENIED),
        ("of_class", DENIED, DENIED),
        ("decorated", DENIED, DENIED),
        ("abstract", DENIED, DENIED),
        ("through_decorated", b"inside", b"inside"),
        ("show", b"inside", b"inside"),
    ],
)
def test_who_may_call_what(world, box, handler, stranger, owner):
    """A rule holds whichever way its method is reached.

    With `@public` or `@callable_by` in its class, a method without either can be
    called by the actor itself only (host-api.md §1).
    """
    for sender, expected in ((SENDER, stranger), (DEPLOYER, owner)):
        result = world.run(world.message(box, (handler,), b"", sender))
        failure = result.outcome.failure
        assert (failure.kind if failure else result.value) == expected


def test_the_actor_itself_may_call_everything_but_what_others_own(world, box):
    """Its timers and what it sends itself have its own address as sender."""
    for handler in ("undecorated", "own", "open"):
        assert world.run(world.message(box, (handler,), b"", box)).outcome.is_success
    assert world.run(world.message(box, ("owners",), b"", box)).error.startswith(DENIED)


def test_without_any_decorator_everybody_may_call_everything(world):
    """Old templates rely on it."""
    source = """
from cowboy_sdk import actor

@actor
class Box:
    def get(self):
        return b"yes"
"""
    assert world.call(world.add(source), "get").value == b"yes"


@pytest.mark.parametrize(("mark", "reached"), [("", False), ("@public", True)])
def test_a_constructor_can_be_called_later_if_it_is_public(world, mark, reached):
    """host-api.md §1: any other `init` or `deploy` is then refused as a handler."""
    source = f"""
from cowboy_sdk import actor, public

@actor
class Box:
    {mark}
    def init(self, payload):
        return b"made"

    @public
    def other(self):
        return b""
"""
    result = world.call(world.deploy(source), "init")
    assert (result.value == b"made") == reached
    assert ("HandlerNotFound" in result.error) != reached


MODES = """
from cowboy_sdk import actor, deferred, pure, public, reentrancy_guard, runtime, send
import pvm_host

@actor
class Box:
    @deferred
    def fire(self):
        self._do()
        return b"sent"

    @deferred
    def nested(self):
        self.quiet()

    def quiet(self):
        self._do()

    def caught(self):
        try:
            self._do()
        except pvm_host.HostError as error:
            self.storage["kept"] = error.code
        return self.storage["kept"]

    def _do(self):
        runtime.schedule_timer(99, b"")

    def sends(self): runtime.send_message(self.address, b"")
    def defers(self): runtime.create_deferred_tx("fire", b"")
    def schedules(self): runtime.schedule_timer_ex(99, b"")
    def extends(self): runtime.extend_timer(bytes(32), 9)
    def cancels(self): runtime.cancel_timer(bytes(32))
    def emits(self): runtime.emit_event("e", b"")

    @pure
    def reads(self):
        return self.storage.get("n", 5)

    @pure
    def writes(self):
        self.storage["n"] = 1

    def after_reading(self):
        self.reads()
        self.storage["n"] = 6
        return self.reads()

    @pure
    def calls_writer(self):
        runtime.call_actor(self.address, "emits", b"")
"""


@pytest.mark.parametrize(
    "handler", ["quiet", "nested", "sends", "defers", "schedules", "extends", "cancels"]
)
def test_a_class_that_uses_deferred_is_quiet_elsewhere(world, handler):
    """host-api.md §4: side effects in methods without it are refused."""
    result = world.call(world.add(MODES), handler)
    assert result.error.startswith("HostError.PurityViolation")
    assert "@deferred" in result.outcome.failure.hint
    assert result.effects == ()


def test_a_deferred_method_sends_and_so_do_its_helpers(world):
    result = world.call(world.add(MODES), "fire")
    assert result.value == b"sent"
    assert [name for name, *_ in result.effects] == ["schedule_timer"]


def test_events_and_state_are_no_side_effects(world):
    assert world.call(world.add(MODES), "emits").outcome.is_success


def test_a_purity_violation_can_be_caught(world):
    assert world.call(world.add(MODES), "caught").value == b"\x0f"


def test_pure_is_read_only_until_it_is_left(world):
    """D15: every mutating host call halts, in what it calls as well."""
    box = world.add(MODES)
    assert world.call(box, "reads").value == b"\x05"
    assert world.call(box, "writes").error.startswith("ReadOnlyViolation")
    assert "ReadOnlyViolation" in world.call(box, "calls_writer").error
    assert world.call(box, "after_reading").value == b"\x06"


GUARDED = """
from cowboy_sdk import actor, reentrancy_guard, runtime
import pvm_host

@actor
class Box:
    @reentrancy_guard
    def enter(self, payload):
        if payload == b"self":
            return self.enter(b"")
        if payload == b"chain":
            return runtime.call_actor(self.address, "between", b"", 50_000)
        if payload == b"fails":
            raise ValueError("fails")
        if payload == b"halts":
            runtime.charge_gas(10**9)
        return b"entered"

    def between(self, payload):
        return runtime.call_actor(self.address, "enter", b"", 20_000)

    @reentrancy_guard
    def other(self, payload):
        return self.enter(payload)

    def twice(self, payload):
        try:
            self.enter(b"fails")
        except ValueError:
            pass
        try:
            runtime.call_actor(self.address, "enter", b"halts", 20_000)
        except pvm_host.RevertError:
            pass
        return self.enter(b"")
"""


@pytest.mark.parametrize(
    ("handler", "payload", "expected"),
    [
        ("enter", b"", b"entered"),
        ("enter", b"self", "HostError.Reentrancy"),
        ("enter", b"chain", "RevertError"),
        ("other", b"", b"entered"),
        ("twice", b"", b"entered"),
    ],
)
def test_a_second_entry_in_one_chain_of_calls_fails(world, handler, payload, expected):
    """Whatever way the first was left by, it is over then."""
    result = world.call(world.add(GUARDED), handler, payload)
    failure = result.outcome.failure
    assert (failure.kind if failure else result.value) == expected
    if payload == b"chain":
        assert "HostError.Reentrancy" in failure.message


def test_the_guard_of_one_actor_is_not_that_of_another(world):
    first, second = world.add(GUARDED), world.add(GUARDED + "\n")
    source = GUARDED.replace(
        'return runtime.call_actor(self.address, "between", b"", 50_000)',
        f'return runtime.call_actor({second!r}, "enter", b"", 50_000)',
    )
    assert world.call(world.add(source), "enter", b"chain").value == b"entered"
    assert first != second
