"""What an actor sees: host-api.md §1 to §3 on the chain, D15, D16."""

import hashlib

import pytest

from node.primitives import codec
from node.primitives.crypto import keccak256, public_key_address, sign
from pvm import HostErrorCode

CBY = 10**9
THERE = b"\x77" * 20
ROOMY = {"cycles_limit": 3_000_000, "cells_limit": 500_000}


def run(chain, body, payload=b"", value=50 * CBY, **options):
    """Deploy `run(payload)` with this body and call it; the receipt."""
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    source = f"import pvm_host\n\ndef run(payload):\n{lines}\n"
    actor = chain.deploy(source, value=value)
    return actor.call("run", payload, **{**ROOMY, **options})


def value_of(chain, expression, payload=b""):
    return codec.decode(run(chain, f"return [{expression}]", payload).value)[0]


# --- §1: handlers --------------------------------------------------------------------


def call(chain, source, handler, payload=b"p", **options):
    actor = chain.deploy("import pvm_host\n" + source)
    return actor.call(handler, payload, **{**ROOMY, **options})


@pytest.mark.parametrize(
    ("source", "handler", "value"),
    [
        ("def h(payload):\n    return payload\n", "h", b"p"),
        ("def h():\n    return b'none'\n", "h", b"none"),
        (
            "def h(ctx, payload):\n    return ctx['handler'] + str(len(payload))\n",
            "h", b"h1",
        ),
        ("class Any:\n    def h(self, payload):\n        return payload\n", "h", b"p"),
        ("class Any:\n    def h(self):\n        return 'none'\n", "h", b"none"),
        (
            (
                "class Other:\n    def h(self):\n        return b'other'\n"
                "class Actor:\n    def h(self):\n        return b'actor'\n"
            ),
            "h", b"actor",
        ),
        (
            (
                "class Actor:\n    def h(self):\n        return b'method'\n"
                "def h():\n    return b'function'\n"
            ),
            "h", b"function",
        ),
        (
            (
                "class A:\n    def __init__(self):\n"
                "        self.seen = [self.address == pvm_host.self_address(),"
                " len(self.deployer), 'k' in self.storage]\n"
                "    def h(self):\n        return self.seen\n"
            ),
            "h", codec.encode([True, 20, False]),
        ),
    ],
)  # fmt: skip
def test_which_handlers_exist_and_how_they_are_called(chain, source, handler, value):
    """Public module functions, else methods; with the payload, without, with ctx."""
    assert call(chain, source, handler).value == value


@pytest.mark.parametrize(
    ("source", "handler"),
    [
        ("def _h():\n    pass\n", "_h"),
        ("def h():\n    pass\n", "g"),
        ("class A:\n    def _h(self):\n        pass\n", "_h"),
        ("class A:\n    def init(self):\n        pass\n", "init"),
        ("class A:\n    def deploy(self):\n        pass\n", "deploy"),
        ("x = 1\n", "x"),
        ("x = 1\n", ""),
    ],
)
def test_which_handlers_do_not(chain, source, handler):
    """Private names, and the constructor of a class after the deployment."""
    receipt = call(chain, source, handler, expect_failure=True)
    assert receipt.failure.kind == "HandlerNotFound"


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        ("None", b""),
        ("b'raw'", b"raw"),
        ("'é'", "é".encode()),
        ("7", codec.encode(7)),
        ("-2**70", codec.encode(-(2**70))),
        ("[True]", codec.encode([True])),
        ("[1, [2]]", codec.encode([1, [2]])),
        ("(1, b'2')", codec.encode([1, b"2"])),
        ("{'b': 1, 'a': None}", codec.encode({"a": None, "b": 1})),
        ("b'x' * 65_536", b"x" * 65_536),
    ],
)
def test_what_handlers_may_return(chain, returned, value):
    """None, bytes, and what canonical CBOR can hold; at most 64 KiB."""
    assert run(chain, f"return {returned}").value == value


@pytest.mark.parametrize("returned", ["b'x' * 65_537", "{1}", "run", "[pvm_host]"])
def test_what_they_may_not_return(chain, returned):
    receipt = run(chain, f"return {returned}", expect_failure=True)
    assert receipt.failure.kind in ("ReturnValue", "CompileError")


def test_the_constructor_is_deploy_else_init(chain):
    """At deployment: `deploy`, else `init`, with the payload; both absent is fine."""
    both = "def init(p):\n    return b'i' + p\ndef deploy(p):\n    return b'd' + p\n"
    assert chain.deploy(both, payload=b"1").receipt.value == b"d1"
    init = "class A:\n    def init(self, p):\n        return b'i' + p\n"
    assert chain.deploy(init).receipt.value == b"i"
    assert chain.deploy("x = 1\n").receipt.value == b""


# --- §2: what is read ----------------------------------------------------------------


def test_height_time_addresses_and_balances(chain):
    actor = chain.deploy(
        "import pvm_host\ndef run(p):\n    return [pvm_host.block_height(),"
        " pvm_host.block_timestamp(), pvm_host.self_address(),"
        " pvm_host.get_balance(p), pvm_host.get_balance(pvm_host.self_address())]\n",
        value=9,
    )
    chain.fund(THERE, 77)
    told = codec.decode(actor.call("run", THERE).value)
    assert told == [chain.height, chain.timestamp_ms, actor.address, 77, 9]


def test_the_context_is_a_fresh_dict_each_time(chain):
    """The thirteen names of host-api.md §2; a fresh dict each time."""
    body = (
        "seen = pvm_host.context()\nseen['x'] = 1\nreturn [sorted(pvm_host.context())]"
    )
    names = codec.decode(run(chain, body).value)[0]
    assert names == sorted(
        [
            "block_height",
            "block_hash",
            "tx_hash",
            "sender",
            "origin",
            "value",
            "timestamp_ms",
            "actor_addr",
            "msg_id",
            "nonce",
            "chain_id",
            "handler",
            "timer",
        ]
    )


def test_hashes_and_signatures(chain):
    key = chain.accounts[0].private_key
    digest = keccak256(b"message")
    payload = digest + sign(digest, key) + public_key_address(key)
    body = """
hash, signature, signer = payload[:32], payload[32:97], payload[97:]
return [pvm_host.verify_secp256k1(hash, signature, signer),
        pvm_host.verify_secp256k1(hash, signature, bytes(20)),
        pvm_host.verify_secp256k1(bytes(32), signature, signer),
        pvm_host.verify_secp256k1(hash, bytes(65), signer),
        pvm_host.keccak256(b"abc"), pvm_host.sha256(b"abc")]
"""
    assert codec.decode(run(chain, body, payload).value) == [
        *(True, False, False, False),
        keccak256(b"abc"),
        hashlib.sha256(b"abc").digest(),
    ]


def test_cbor_is_canonical_and_strict(chain):
    expression = "pvm_host.cbor_encode({'b': [1, None], 'a': b'x'})"
    assert value_of(chain, expression) == codec.encode({"a": b"x", "b": [1, None]})
    receipt = run(
        chain, "return pvm_host.cbor_decode(payload)", b"\x18\x01", expect_failure=True
    )
    assert receipt.failure.kind == "HostError.InvalidInput"


def test_gas_is_charged_and_told(chain):
    body = """
before = pvm_host.gas_left()
pvm_host.charge_gas(5_000)
return before - pvm_host.gas_left()
"""
    assert 5_000 < codec.decode(run(chain, body).value) < 5_050


# --- §2: state -----------------------------------------------------------------------


def test_state_is_read_written_deleted_and_scanned(chain):
    body = """
for key in (b"b2", b"a", b"b1", b"b"):
    pvm_host.set_state(key, key + b"!")
pvm_host.delete_state(b"b1")
pvm_host.delete_state(b"absent")
return [pvm_host.get_state(b"a"), pvm_host.get_state(b"b1"),
        pvm_host.state_scan_prefix(b"b", 10), pvm_host.state_scan_prefix(b"", 2),
        pvm_host.state_scan_prefix(b"b", 0)]
"""
    assert codec.decode(run(chain, body).value) == [
        b"a!",
        None,
        [[b"b", b"b!"], [b"b2", b"b2!"]],
        [[b"a", b"a!"], [b"b", b"b!"]],
        [],
    ]


def test_every_actor_has_a_state_of_its_own(chain):
    source = (
        "import pvm_host\ndef put(p):\n    pvm_host.set_state(b'k', p)\n"
        "def all():\n    return pvm_host.state_scan_prefix(b'', 1_000)\n"
    )
    first, second = chain.deploy(source), chain.deploy(source)
    first.call("put", b"1")
    assert codec.decode(first.call("all").value) == [[b"k", b"1"]]
    assert codec.decode(second.call("all").value) == []


def test_a_transfer_moves_the_actors_money(chain):
    receipt = run(chain, "pvm_host.transfer(payload, 5)", THERE, value=9)
    assert chain.balance(THERE) == 5
    assert chain.balance(receipt.actor) == 4


# --- §2: refusals --------------------------------------------------------------------

REFUSED = [
    ("get_balance(bytes(19))", "InvalidInput"),
    ("get_balance('a' * 20)", "InvalidInput"),
    ("transfer(bytes(20), -1)", "InvalidInput"),
    ("transfer(bytes(20), True)", "InvalidInput"),
    ("transfer(bytes(20), 2**128)", "InvalidInput"),
    ("transfer(bytes(21), 1)", "InvalidInput"),
    ("transfer(bytes(20), 51 * 10**9)", "InsufficientBalance"),
    ("get_state('key')", "InvalidInput"),
    ("get_state(b'')", "InvalidInput"),
    ("get_state(bytes(257))", "InvalidInput"),
    ("get_state(None)", "InvalidInput"),
    ("set_state(b'', b'')", "InvalidInput"),
    ("set_state(bytes(257), b'')", "InvalidInput"),
    ("set_state(b'k', 'v')", "InvalidInput"),
    ("set_state(b'k', bytes(65_537))", "InvalidInput"),
    ("delete_state(5)", "InvalidInput"),
    ("state_scan_prefix(b'', 1_001)", "InvalidInput"),
    ("state_scan_prefix(b'', -1)", "InvalidInput"),
    ("state_scan_prefix(b'', True)", "InvalidInput"),
    ("state_scan_prefix('', 1)", "InvalidInput"),
    ("state_scan_prefix(bytes(257), 1)", "InvalidInput"),
    ("extend_timer(bytes(32), 2**40)", "TimerNotFound"),
    ("cancel_timer(bytes(32))", "TimerNotFound"),
    ("cancel_timer(5)", "InvalidInput"),
    ("cancel_timer(b'')", "InvalidInput"),
    ("get_timer('id')", "InvalidInput"),
    ("send_message(bytes(20), b'')", "NotFound"),
    ("send_message(bytes(19), b'')", "InvalidInput"),
    ("send_message(pvm_host.self_address(), 'run', 'text')", "InvalidInput"),
    ("send_message(pvm_host.self_address(), 5, b'')", "InvalidInput"),
    ("send_message(pvm_host.self_address(), '', b'')", "InvalidInput"),
    ("send_message(pvm_host.self_address(), 'h' * 257, b'')", "InvalidInput"),
    ("send_message(pvm_host.self_address(), 'run')", "InvalidInput"),
    ("create_deferred_tx('', b'')", "InvalidInput"),
    ("create_deferred_tx('run', None)", "InvalidInput"),
    ("create_deferred_tx('run', b'', cycles=999)", "InvalidInput"),
    ("call_actor(bytes(20), 'run', b'')", "NotFound"),
    ("call_actor(pvm_host.self_address(), 'no', b'')", "HandlerNotFound"),
    ("call_actor(pvm_host.self_address(), 'run', 5)", "InvalidInput"),
    ("call_actor(pvm_host.self_address(), 'run', b'', -1)", "InvalidInput"),
    ("upgrade_self('x = 1')", "InvalidInput"),
    ("upgrade_self(b'import os')", "InvalidInput"),
    ("emit_event(b't', b'')", "InvalidInput"),
    ("emit_event('t', 'd')", "InvalidInput"),
    ("randomness('d')", "InvalidInput"),
    ("keccak256('d')", "InvalidInput"),
    ("sha256(5)", "InvalidInput"),
    ("verify_secp256k1(bytes(31), bytes(65), bytes(20))", "InvalidInput"),
    ("verify_secp256k1(bytes(32), bytes(64), bytes(20))", "InvalidInput"),
    ("verify_secp256k1(bytes(32), bytes(65), bytes(21))", "InvalidInput"),
    ("cbor_decode('x')", "InvalidInput"),
    ("cbor_decode(b'')", "InvalidInput"),
    ("cbor_encode({1, 2})", "InvalidInput"),
    ("charge_gas(-1)", "InvalidInput"),
    ("charge_gas(True)", "InvalidInput"),
    ("revert(5)", "InvalidInput"),
]


@pytest.mark.parametrize(("expression", "name"), REFUSED)
def test_a_bad_argument_raises_a_host_error_that_can_be_caught(chain, expression, name):
    """`HostError` with `.code` and `.name`, catchable, charged, without effect."""
    body = f"""
before = pvm_host.gas_left()
try:
    pvm_host.{expression}
except pvm_host.HostError as error:
    return [error.code, error.name, isinstance(error, RuntimeError),
            before - pvm_host.gas_left() > 0, str(error)[:len(error.name)]]
"""
    receipt = run(chain, body)
    assert codec.decode(receipt.value) == [HostErrorCode[name], name, True, True, name]
    assert chain.last.events == ()
    assert chain.supply().held == 0


def test_the_codes_are_those_of_the_table():
    names = [
        "InvalidInput",
        "NotFound",
        "Forbidden",
        "Unauthorized",
        "TimerNotFound",
        "TimerLimit",
        "TimerRejectedBelowBasefee",
        "TimerArgDeprecated",
        "InsufficientBalance",
        "MailboxFull",
        "DeferredLaneFull",
        "HandlerNotFound",
        "TooDeep",
        "PermissionDenied",
        "PurityViolation",
        "Reentrancy",
        "StorageError",
        "GbaRequired",
    ]
    table = {**dict(enumerate(names, 1)), 19: "UnsupportedTimerType"}
    assert {code.value: code.name for code in HostErrorCode} == table


def test_the_message_names_argument_and_what_came(chain):
    """The message names the argument, what came and what is wanted."""
    receipt = run(chain, "pvm_host.set_state('k', b'')", expect_failure=True)
    assert receipt.failure.kind == "HostError.InvalidInput"
    assert receipt.failure.message == (
        "key: 1 to 256 bytes are wanted, not str of length 1"
    )
    assert receipt.failure.line == 4


def test_every_host_function_is_there_without_an_import(chain):
    """Importable, and also there without an import (CIP-5's appendix uses it so)."""
    actor = chain.deploy("def run():\n    return pvm_host.block_height()\n")
    assert codec.decode(actor.call("run").value) == chain.height


# --- costs ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "cycles", "cells"),
    [
        ("get_state(b'absent')", 100, 0),
        ("get_state(b'there')", 100, 5),
        ("set_state(b'key', b'value')", 200, 8),
        ("delete_state(b'key')", 200, 3),
        ("transfer(bytes(20), 1)", 1_000, 0),
        ("send_message(pvm_host.self_address(), 'run', b'12345', 9_000, 0)", 9_082, 5),
        ("emit_event('topic', b'12345')", 525, 3),
        ("state_scan_prefix(b'there', 5)", 200, 10),
        ("verify_secp256k1(bytes(32), bytes(65), bytes(20))", 10_000, 0),
        ("keccak256(b'12345')", 66, 0),
        ("sha256(b'12345')", 508, 0),
        ("get_balance(bytes(20))", 2, 0),
        ("schedule_timer(10**6, b'12345')", 200, 5),
        ("list_timers()", 100, 0),
    ],
)
def test_host_calls_charge_base_and_size(chain, expression, cycles, cells):
    """sandbox.md §4: the base, then by the byte; measured around the call."""
    frame = """
pvm_host.set_state(b"there", b"value")
before = pvm_host.gas_left()
{}
return before - pvm_host.gas_left()
"""
    with_call = run(chain, frame.format(f"pvm_host.{expression}"))
    without = run(chain, frame.format("pass"))
    spent = codec.decode(with_call.value) - codec.decode(without.value)
    assert cycles <= spent <= cycles + 100  # the syntax of the call and its arguments
    answers = len(with_call.value) - len(without.value)
    assert with_call.cells_used - without.cells_used - answers == cells


# --- §3: self.storage ----------------------------------------------------------------

STORE = """
class Store:
    def fill(self):
        s = self.storage
        s["int"], s["text"], s["bytes"], s["none"] = 7, "t", b"b", None
        s["list"] = [1, [2]]
        s["dict"] = {"k": 1, 2: "v"}
        s["flag"] = True
        s["int"] += 1
        return [s["int"], s.get("absent"), s.get("absent", 5), "int" in s,
                s.pop("text"), s.pop("absent", 6), s.setdefault("new", 9), s.keys(),
                s.keys("n")]

    def lost(self):
        self.storage["d"] = {}
        self.storage["d"]["k"] = 1
        return self.storage["d"]

    def missing(self):
        return self.storage["absent"]

    def remove(self):
        self.storage["x"] = 1
        del self.storage["x"]
        return "x" in self.storage

    def long_key(self, payload):
        self.storage["k" * int(payload)] = 1

    def unencodable(self):
        self.storage["k"] = {1}
"""


def test_the_storage_view_over_the_chain(chain):
    """`[]`, `[]=`, `in`, `.get`, `.pop`, `.setdefault`, `.keys`, item `op=`."""
    actor = chain.deploy(STORE)
    told = codec.decode(actor.call("fill", **ROOMY).value)
    keys = ["bytes", "dict", "flag", "int", "list", "new", "none"]
    assert told == [8, None, 5, True, "t", 6, 9, keys, ["new", "none"]]
    assert dict(actor.storage) == {
        "int": 8,
        "bytes": b"b",
        "none": None,
        "list": [1, [2]],
        "dict": {"k": 1, 2: "v"},
        "flag": True,
        "new": 9,
    }


def test_a_read_gives_a_copy(chain):
    """A read gives a copy: changing it persists nothing."""
    actor = chain.deploy(STORE)
    assert codec.decode(actor.call("lost", **ROOMY).value) == {}
    assert codec.decode(actor.call("remove", **ROOMY).value) is False


@pytest.mark.parametrize(
    ("handler", "payload", "text"),
    [
        ("missing", b"", "KeyError"),
        ("long_key", b"201", "HostError.StorageError"),
        ("unencodable", b"", "HostError.StorageError"),
    ],
)
def test_what_the_view_refuses(chain, handler, payload, text):
    """A missing key raises `KeyError`; keys ≤ 200 bytes; `StorageError` 17."""
    actor = chain.deploy(STORE)
    actor.call("long_key", b"200", **ROOMY)
    receipt = actor.call(handler, payload, expect_failure=True, **ROOMY)
    assert receipt.failure.kind == text
