"""Each row of docs/compatibility.md's table "Different", tried: what happens here."""

import re
from pathlib import Path

import pytest

from pvm import cbor
from pvm.testing import DEPLOYER, SENDER, World

PAGE = (Path(__file__).parents[2] / "docs" / "compatibility.md").read_text()
HEAD = (
    "import pvm_host\nfrom cowboy_sdk import (actor, public, pure, deferred, runtime, "
    "call, send, Address, BlockHeight, CowboyModel, storage_guard)\n"
)


def run(source, handler="run", payload=b"", sender=SENDER, *, deploy=False):
    """What a handler returned, decoded where it is no text; or how it failed."""
    world = World()
    place = world.deploy if deploy else world.add
    result = world.run(world.message(place(HEAD + source), (handler,), payload, sender))
    return result.error or result.value


def value(source, **options):
    return cbor.decode(run(source, **options))


def a_class_without_decorators():
    plain = "class Actor:\n    def run(self):\n        return b'everybody'\n"
    assert run(plain) == b"everybody"
    ruled = f"@actor\n{plain}    @public\n    def other(self):\n        pass\n"
    assert run(ruled).startswith("HostError.PermissionDenied")


def deferred():
    body = "    def run(self):\n        pvm_host.emit_event('a', b'')\n"
    later = "    @deferred\n    def later(self):\n        pass\n"
    assert run(f"@actor\nclass Box:\n{body}") == b""
    message = (
        "        send(pvm_host.self_address(), 'later', None)\n        return b'x'\n"
    )
    sending = f"@actor\nclass Box:\n{body}{message}"
    assert run(sending) == b"x"
    assert run(sending + later).startswith("HostError.PurityViolation")


def pure():
    source = (
        "@actor\nclass Box:\n    @public\n    @pure\n    def run(self):\n"
        "        self.storage['k'] = 1\n"
    )
    assert run(source).startswith("ReadOnlyViolation")


def owner():
    assert run("def run():\n    return runtime.get_owner()\n", deploy=True) == DEPLOYER


def is_initialized():
    source = "def run():\n    return runtime.is_initialized()\n"
    assert value(source, deploy=True) is True


def init():
    body = "class Box:\n{}    def init(self):\n        return b'again'\n"
    assert run(body.format(""), "init").startswith("HandlerNotFound")
    public = "@actor\n" + body.format("    @public\n")
    assert run(public, "init") == b"again"
    assert run("def init():\n    return b'again'\n", "init") == b"again"


def reserved_keys():
    source = (
        "class Box:\n    def run(self):\n"
        "        self.storage['__OWNER__'] = 7\n"
        "        return self.storage['__OWNER__']\n"
        "    def forge(self):\n        pvm_host.set_state(b'__OWNER__', b'')\n"
    )
    assert value(source) == 7
    assert run(source, "forge").startswith("HostError.Forbidden")


def address():
    source = (
        "def run():\n    me = runtime.get_actor_address()\n"
        "    return [type(me) is bytes, Address.to_hex(me), {me: 1}[me]]\n"
    )
    is_bytes, text, kept = value(source)
    assert (is_bytes, kept) == (True, 1)
    assert re.fullmatch(r"(0x)?[0-9a-fA-F]{40}", text)


def block_height():
    source = "def run():\n    h = BlockHeight(5)\n    return [type(h) is int, str(h)]\n"
    assert value(source) == [True, "5"]


def an_answer():
    world = World()
    callee = world.add("def text():\n    return b'\\xff raw'\n")
    call = f"call({bytes(callee)!r}, 'text', None)"
    raw = f"runtime.call_actor({bytes(callee)!r}, 'text', b'')"
    caller = world.add(f"{HEAD}def cbor_only():\n    return {call}\n"
                       f"def run():\n    return {raw}\n")  # fmt: skip
    assert world.call(caller, "run").value == b"\xff raw"
    assert world.call(caller, "cbor_only").error


def cowboy_model():
    source = (
        "class Item(CowboyModel):\n    size: int\n"
        "def run():\n    Item('wide')\n    return b'made'\n"
        "def check():\n    Item('wide').validate()\n"
    )
    assert run(source) == b"made"
    assert run(source, "check") == "ValueError: size: int is wanted, not str"


def events_of_dicts():
    world = World()
    source = "def run():\n    runtime.emit_event('t', {'b': 1, 'a': [1, 2]})\n"
    result = world.call(world.add(HEAD + source), "run")
    assert result.effects == (("emit_event", "t", b'{"a":[1,2],"b":1}'),)


def errors():
    source = (
        "def run():\n    try:\n        pvm_host.transfer(b'', 1)\n"
        "    except pvm_host.HostError as error:\n"
        "        return [error.name, type(error.code) is int]\n"
    )
    assert value(source) == ["InvalidInput", True]


def schedule_timer():
    world = World()
    source = "def run():\n    runtime.schedule_timer(50, b'x', gas_limit=9)\n"
    (made,) = world.call(world.add(HEAD + source), "run").effects
    assert len(made) == 1 + 10


def a_storage_guard():
    source = (
        "class Box:\n    def run(self):\n        self.storage['k'] = 1\n"
        "        guard = storage_guard('k')\n        before = guard.fingerprint\n"
        "        guard.verify(before)\n        self.storage['k'] = 2\n"
        "        guard.verify(before)\n"
    )
    assert run(source).startswith("cowboy_sdk.StateConflictError")


def upgrade_self():
    from node.testing import Devnet  # noqa: PLC0415 - only here

    new = b"def version(): return 2\ndef upgrade(): return 1 // 0\n"
    old = (
        "from cowboy_sdk import runtime\n"
        "def swap(payload):\n    runtime.upgrade_self(payload)\n    return version()\n"
        "def version(): return 1\n"
    )
    with Devnet() as chain:
        actor = chain.deploy(old)
        assert actor.call("swap", new).value == b"\x01"
        assert actor.read("version") == b"\x02"


def timers_handlers():
    from node.testing import Devnet  # noqa: PLC0415 - only here

    arm = (
        "import pvm_host\nclass Box:\n    def deploy(self):\n"
        "        due = pvm_host.block_height() + 2\n"
        "        pvm_host.schedule_timer(due, b'', gas_limit=50_000)\n"
    )
    handlers = [
        f"    def {name}(self, payload):\n        self.storage['by'] = {name!r}\n"
        for name in ("on_timer", "handle_timer")
    ]
    with Devnet() as chain:
        old = chain.deploy(arm + handlers[0], value="5 CBY")
        both = chain.deploy(arm + "".join(handlers), value="5 CBY")
        chain.advance(until_idle=9)
        assert (old.storage["by"], both.storage["by"]) == ("on_timer", "handle_timer")


def numbers():
    assert run("def run():\n    return 2 ** 4096\n").startswith("OverflowError")
    assert value("def run():\n    return list({3, 1, 2})\n") == [3, 1, 2]
    assert "CompileError" in refusal("def run():\n    return 0.5\n")


def refusal(source):
    try:
        return run(source)
    except Exception as error:  # noqa: BLE001 - its name is looked at
        return type(error).__name__


ROWS = {
    "a class with no permission decorator at all": a_class_without_decorators,
    "`@deferred`": deferred,
    "`@pure`": pure,
    "owner": owner,
    "`runtime.is_initialized()`": is_initialized,
    "`init`": init,
    "reserved keys": reserved_keys,
    "`Address`": address,
    "`BlockHeight`": block_height,
    "`call`": an_answer,
    "`CowboyModel`": cowboy_model,
    "events of dicts": events_of_dicts,
    "errors": errors,
    "`schedule_timer`": schedule_timer,
    "`storage_guard`": a_storage_guard,
    "`runtime.upgrade_self(code)`": upgrade_self,
    "handler of a timer": timers_handlers,
    "integers, sets, floats": numbers,
}


def test_every_row_is_tried():
    section = PAGE.split("## Different\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \|", section, re.MULTILINE)[2:]
    assert rows == [*ROWS]


@pytest.mark.parametrize("row", ROWS)
def test_what_the_row_says_happens_here(row):
    ROWS[row]()
