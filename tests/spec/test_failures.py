"""Failure and charge: D16."""

import pytest

from node.chain.block import ReceiptKind
from node.chain.transaction import SetBalance
from node.primitives import codec
from pvm import costs

CBY = 10**9
THERE = b"\x77" * 20
LIMITS = {"cycles_limit": 400_000, "cells_limit": 60_000}

FAILING = """
import pvm_host

class Failing:
    def touch(self):
        self.storage["touched"] = 1
        pvm_host.emit_event("touched", b"12345")
        pvm_host.schedule_timer(pvm_host.block_height() + 9, b"")
        pvm_host.send_message(pvm_host.self_address(), "good", b"", 20_000, 99)
        pvm_host.transfer(bytes([0x77] * 20), 5)

    def good(self):
        self.touch()

    def reverts(self):
        self.touch()
        pvm_host.revert("enough")

    def raises(self):
        self.touch()
        raise ValueError("no")

    def out_of_cycles(self):
        self.touch()
        while True:
            pass

    def out_of_cells(self):
        self.touch()
        for i in range(100):
            pvm_host.set_state(bytes([i]), bytes(6_000))

    def out_of_memory(self):
        self.touch()
        kept = [b"x"]
        while True:
            kept = kept + kept

    def too_deep(self):
        self.touch()
        self.deeper()

    def deeper(self):
        self.deeper()

    def bad_answer(self):
        self.touch()
        return {1}

    def refused(self):
        self.touch()
        pvm_host.set_state(b"", b"")

    def swallows(self):
        self.touch()
        try:
            pvm_host.revert("enough")
        except BaseException:
            pass
        return 1

    def catches_refusal(self):
        before = pvm_host.gas_left()
        try:
            pvm_host.set_state(b"", b"value")
        except pvm_host.HostError as error:
            return [error.code, error.name, before - pvm_host.gas_left()]

    def timer(self, payload):
        pvm_host.schedule_timer(pvm_host.block_height() + 1, payload, None, 300_000)

    def handle_timer(self, payload):
        if payload == b"reverts":
            self.reverts()
        if payload == b"out_of_cycles":
            self.out_of_cycles()
        if payload == b"out_of_cells":
            value = bytes(60_000)
            for i in range(100):
                pvm_host.set_state(bytes([i]), value)
"""


@pytest.fixture
def failing(chain):
    source = FAILING.replace("except BaseException", "except Exception")
    return chain.deploy(source, value=50 * CBY)


@pytest.mark.parametrize(
    ("handler", "kind", "all_of"),
    [
        ("reverts", "Reverted", ""),
        ("raises", "ValueError", ""),
        ("refused", "HostError.InvalidInput", ""),
        ("swallows", "Reverted", ""),
        ("too_deep", "TooDeepRecursion", ""),
        ("bad_answer", "ReturnValue", ""),
        ("absent", "HandlerNotFound", ""),
        ("out_of_memory", "OutOfMemory", ""),
        ("out_of_cycles", "OutOfCycles", "cycles"),
        ("out_of_cells", "OutOfCells", "cells"),
    ],
)
def test_what_a_failure_pays(chain, failing, handler, kind, all_of):
    """What the meter counted; all cycles when out of cycles, all cells likewise."""
    limits = LIMITS
    if handler == "out_of_memory":
        limits = {"cycles_limit": 15_000_000, "cells_limit": 60_000}
    balance = chain.balance(chain.accounts[1])
    receipt = failing.call(
        handler, sender=chain.accounts[1], expect_failure=True, **limits
    )
    assert receipt.failure.kind == kind
    assert (receipt.cycles_used == receipt.cycles_limit) == (all_of == "cycles")
    assert (receipt.cells_used == receipt.cells_limit) == (all_of == "cells")
    assert chain.balance(chain.accounts[1]) == balance - receipt.fee
    # Effects, events, timers, messages and every counter are undone.
    assert failing.storage == {}
    assert failing.timers == []
    assert chain.account(failing).scheduling_counter == 0
    assert chain.last.events == ()
    assert chain.last.trace == ()
    assert chain.balance(THERE) == 0
    assert chain.supply().held == 0
    assert chain.supply().is_balanced


def test_equal_work_costs_the_same_whether_it_fails_or_not(failing):
    """The meter counts; the failure itself adds nothing but the raise."""
    good = failing.call("good", **LIMITS)
    bad = failing.call("reverts", expect_failure=True, **LIMITS)
    assert 0 < bad.cycles_used - good.cycles_used < 50
    assert bad.cells_used - good.cells_used == len("reverts") - len("good")


@pytest.mark.parametrize("handler", ["reverts", "out_of_cycles", "out_of_cells"])
def test_a_fire_that_fails_pays_likewise(chain, failing, handler):
    chain.execute(SetBalance(failing.address, 50 * CBY))
    failing.call("timer", handler.encode(), **LIMITS)
    chain.mine()
    (receipt,) = chain.last.receipts
    assert receipt.kind is ReceiptKind.FIRE
    assert not receipt.is_success
    assert (receipt.cycles_used == 300_000) == (handler == "out_of_cycles")
    assert (receipt.cells_used == 550_000) == (handler == "out_of_cells")
    assert failing.balance == 50 * CBY - receipt.fee
    assert chain.last.events == ()


def test_a_refused_host_call_is_charged_and_catchable(failing):
    """Base first, then validate: a refused call pays its base and nothing more."""
    code, name, cost = codec.decode(failing.call("catches_refusal", **LIMITS).value)
    assert (code, name) == (1, "InvalidInput")
    handled = costs.HANDLER + costs.CAUGHT
    assert costs.SET_STATE < cost - handled < costs.SET_STATE + 100


def test_protocol_events_about_the_execution_stay(chain, failing):
    """A fire that fails was a fire all the same: its decision stays in the trace."""
    failing.call("timer", b"reverts", **LIMITS)
    timer_id = failing.timers[0].timer_id
    chain.mine()
    assert [d.decision for _, d in chain.decisions(timer_id)] == ["scheduled", "fired"]
