"""Every call of the rules `globalbox` with every wrong type (D16, D50).

As tests/spec/test_host_inputs.py tries the calls of all rules.
"""

import pytest

from node.primitives import codec
from node.testing import Devnet
from pvm import costs
from pvm.testing import call_once
from tests.spec.globalbox_actors import GLOBALBOX
from tests.spec.test_host_inputs import (
    ADDRESS,
    ADDRESS_WANTED,
    BYTES,
    HEAD,
    MAYBE,
    NUMBER,
)

OPTIONS = [
    ("payload", "b''", BYTES),
    ("gas_limit", "None", MAYBE),
    ("bid_fp", "None", (*MAYBE, *NUMBER)),
    ("client_nonce", "None", (*MAYBE, *BYTES)),
    ("expires_at", "None", (*MAYBE, *NUMBER)),
]
CALLS = {
    "set_timeout": (
        costs.SCHEDULE_TIMER,
        [("target", ADDRESS, ADDRESS_WANTED), ("due_height", "99", ()), *OPTIONS],
    ),
    "set_state_watch": (
        costs.SCHEDULE_TIMER,
        [("target", ADDRESS, ADDRESS_WANTED), ("watch_keys", "[b'k']", ()), *OPTIONS],
    ),
    "update_timer": (
        costs.UPDATE_TIMER,
        [
            ("timer_id", "pvm_host.list_timers()[0]", BYTES),
            ("payload", "None", (*MAYBE, *BYTES)),
            ("gas_limit", "None", MAYBE),
            ("bid_fp", "None", (*MAYBE, *NUMBER)),
        ],
    ),
}
CASES = [
    (name, index)
    for name, (_, arguments) in CALLS.items()
    for index in range(len(arguments))
]


def source():
    """One handler for each argument of each call, which tries every wrong value."""
    parts = [HEAD, "def arm():\n    pvm_host.schedule_timer(999, b'')\n"]
    for name, index in CASES:
        arguments = [good for _, good, _ in CALLS[name][1]]
        arguments[index] = "value"
        call = f"attempt(pvm_host.{name}, {', '.join(arguments)})"
        body = f"[{call} for value in wrong({CALLS[name][1][index][2]!r})]"
        known = "attempt(pvm_host.charge_gas, None)"
        parts.append(f"def {name}_{index}():\n    return [{known}, {body}]\n")
    return "\n".join(parts)


@pytest.fixture(scope="module")
def deployed():
    with Devnet(**GLOBALBOX) as chain:
        actor = chain.deploy(source(), value="20 CBY")
        actor.call("arm")
        chain.mine_until(10)  # so that the wrong number 5 is no height to come
        yield chain, actor


@pytest.fixture
def actor(deployed):
    """The actor, at the same height for each test, whichever ran before."""
    chain, actor = deployed
    with chain.snapshot():
        yield actor


@pytest.mark.parametrize(("name", "index"), CASES)
def test_a_wrong_type_is_refused_charged_and_without_effect(actor, name, index):
    base, arguments = CALLS[name]
    before = actor.timers
    receipt = actor.call(f"{name}_{index}", cycles_limit=3_000_000, cells_limit=400_000)
    (_, _, known), refusals = codec.decode(receipt.value)
    spread = len(arguments) - 1  # what passing on more arguments costs
    assert refusals
    for refusal in refusals:
        assert refusal is not None, "it was accepted"
        code, text, charged = refusal
        assert code == 1
        assert text.startswith(f"InvalidInput: {arguments[index][0]}")
        assert charged - known == base - costs.READ_CONTEXT + spread
    assert receipt.scheduled == ()
    assert actor.timers == before


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_wrong_number_of_arguments_is_a_type_error(name):
    """It is the language's: nothing of the call was charged."""
    failure = call_once(
        f"def run():\n    pvm_host.{name}({'1, ' * 12})"
    ).outcome.failure
    assert failure.kind == "TypeError"
