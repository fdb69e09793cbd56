"""What transactions do and cost: D5's value and money, D6, D9."""

import pytest
from msgspec.structs import replace

from node.chain.transaction import (
    DeployActor,
    ExecuteActor,
    ScheduleActivation,
    Transfer,
    intrinsic_cost,
)
from node.primitives import codec
from node.primitives.crypto import keccak256
from node.testing import TransactionFailed
from pvm import compile_actor, costs

THERE = b"\x77" * 20

ACTOR = """
import pvm_host

class Actor:
    def balance_of_sender(self):
        return pvm_host.get_balance(pvm_host.get_sender())

    def value(self):
        pvm_host.emit_event("seen", b"x")
        self.storage["seen"] = 1
        own = pvm_host.get_balance(pvm_host.self_address())
        return [pvm_host.context()["value"], own]

    def fail(self):
        self.value()
        pvm_host.schedule_timer(pvm_host.block_height() + 5, b"")
        pvm_host.send_message(pvm_host.self_address(), "value", b"")
        raise ValueError("no")

    def nested(self):
        me = pvm_host.self_address()
        return pvm_host.cbor_decode(pvm_host.call_actor(me, "value", b""))[0]

    def send(self):
        pvm_host.send_message(pvm_host.self_address(), "note", b"")
        pvm_host.schedule_timer(pvm_host.block_height() + 1, b"", None, 50_000)

    def note(self):
        self.storage["message"] = pvm_host.context()["value"]

    def handle_timer(self):
        self.storage["fire"] = pvm_host.context()["value"]
"""


@pytest.fixture
def actor(chain):
    return chain.deploy(ACTOR, value=10 * 10**9)


# --- D5: value and the money in between ----------------------------------------------


def test_the_value_moves_before_the_handler_runs(actor):
    """`value` moves to the actor before the handler runs; `context()["value"]`."""
    before = actor.balance
    receipt = actor.call("value", value=7)
    assert codec.decode(receipt.value) == [7, before + 7]
    assert actor.balance == before + 7


def test_the_value_is_undone_with_the_handler(chain, actor):
    before, sender = actor.balance, chain.balance(chain.accounts[1])
    receipt = actor.call(
        "fail", value=7, sender=chain.accounts[1], expect_failure=True,
        cycles_limit=500_000, cells_limit=50_000,
    )  # fmt: skip
    assert actor.balance == before
    assert chain.balance(chain.accounts[1]) == sender - receipt.fee


def test_messages_calls_and_fires_carry_no_value(chain, actor):
    assert codec.decode(actor.call("nested", value=7).value) == 0
    actor.call("send", value=7, cycles_limit=500_000, cells_limit=50_000)
    chain.mine()
    assert actor.storage["message"] == 0
    assert actor.storage["fire"] == 0


def test_a_deployment_brings_its_value_to_the_constructor(chain):
    source = "import pvm_host\ndef deploy():\n    return pvm_host.context()['value']\n"
    deployed = chain.deploy(source, value=9)
    assert codec.decode(deployed.receipt.value) == 9
    assert deployed.balance == 9


def test_the_whole_limit_is_debited_before_execution(chain, actor):
    """`limit * (basefee + effective tip)` is debited; `get_balance` sees just that."""
    basefee_cycle, basefee_cell = (
        chain.last.header.basefee_cycle,
        chain.last.header.basefee_cell,
    )
    chain.mine()  # two more empty ones, so that both basefees differ
    sender = chain.accounts[1]
    before = chain.balance(sender)
    receipt = actor.call("balance_of_sender", sender=sender)
    price = receipt.price
    reserved = receipt.cycles_limit * price.cycle + receipt.cells_limit * price.cell
    assert codec.decode(receipt.value) == before - reserved
    used = receipt.cycles_used * price.cycle + receipt.cells_used * price.cell
    assert chain.balance(sender) == before - used
    assert (basefee_cycle, basefee_cell) != (price.cycle, price.cell)


def test_the_tip_is_credited_at_settlement(chain):
    """Tip = min(priority, max_fee - basefee) to the proposer, burned the basefee."""
    head = chain.head
    cycle, cell = head.basefee_cycle, head.basefee_cell
    before = chain.balance(chain.params.proposer)
    receipt = chain.execute(
        Transfer(THERE, 1),
        sender=chain.accounts[2],
        max_fee_per_cycle=cycle + 100,
        max_priority_fee_per_cycle=30,
        max_fee_per_cell=cell + 10,
        max_priority_fee_per_cell=30,
    )
    assert receipt.price.cycle_tip == 30
    assert receipt.price.cell_tip == 10
    tip = 30 * receipt.cycles_used + 10 * receipt.cells_used
    assert chain.balance(chain.params.proposer) == before + tip == before + receipt.tip


# --- D6: intrinsic cost and failure --------------------------------------------------


def test_a_transfer_costs_5000_cycles_and_500_cells_and_its_body(chain):
    """5,000 cycles + 500 cells + 1 cell per body byte."""
    receipt = chain.transfer(THERE, 5)
    (transaction,) = chain.last.block.transactions
    assert receipt.cycles_used == 5_000
    assert receipt.cells_used == 500 + len(transaction.body.encode())


def test_a_deployment_costs_more_by_the_byte(chain):
    """Deploy adds 50,000 cycles + 100 a code byte, 10,000 cells + 200 a code byte."""
    code = b"this is no actor" * 10
    receipt = chain.execute(
        DeployActor(bytes(32), code, b"", 0), expect_failure=True,
        cycles_limit=1_000_000, cells_limit=100_000,
    )  # fmt: skip
    (transaction,) = chain.last.block.transactions
    assert receipt.cycles_used == 5_000 + 50_000 + 100 * 160
    body_bytes = len(transaction.body.encode())
    assert receipt.cells_used == 500 + body_bytes + 10_000 + 200 * 160
    assert (receipt.cycles_used, receipt.cells_used) == intrinsic_cost(
        transaction.body, body_bytes
    )


DATACLASS = b"""from dataclasses import dataclass
@dataclass(order=True)
class A:
    x: int = 1
    y: int = 2
"""


def test_a_deployment_pays_for_each_node_that_is_written_out(chain):
    """Compiling charges "a price for each node of the syntax after lowering" (D6)."""
    used = []
    for salt in (bytes(32), b"\1" * 32):  # the second finds it compiled
        receipt = chain.execute(
            DeployActor(salt, DATACLASS, b"", 0),
            cycles_limit=1_000_000, cells_limit=100_000,
        )  # fmt: skip
        (transaction,) = chain.last.block.transactions
        cycles, _ = intrinsic_cost(transaction.body, len(transaction.body.encode()))
        used.append(receipt.cycles_used - cycles)
    nodes = compile_actor(DATACLASS).nodes
    assert nodes > 150
    assert used[0] == used[1]
    module_body = used[0] - costs.COMPILE_PER_NODE * nodes
    assert costs.CLASS < module_body < 2 * costs.CLASS


@pytest.mark.parametrize("is_compiled", [False, True])
def test_out_of_cycles_while_compiling_fails_the_deployment(chain, is_compiled):
    """D6: "out of cycles there fails the deployment as anywhere"."""
    if is_compiled:
        chain.deploy(DATACLASS.decode(), salt=b"\1" * 32)
    limit = 55_000 + 100 * len(DATACLASS) + 200 * 100
    receipt = chain.execute(
        DeployActor(bytes(32), DATACLASS, b"", 0), expect_failure=True,
        cycles_limit=limit, cells_limit=100_000,
    )  # fmt: skip
    assert receipt.failure.kind == "OutOfCycles"
    assert receipt.cycles_used == limit


def test_a_failed_transaction_leaves_only_nonce_charge_and_receipt(chain, actor):
    """It keeps nonce increment and charge and leaves no other trace but its receipt."""
    sender = chain.accounts[1]
    before, balance = chain.account(sender), actor.balance
    receipt = actor.call(
        "fail", sender=sender, expect_failure=True,
        cycles_limit=500_000, cells_limit=50_000,
    )  # fmt: skip
    assert receipt.failure.kind == "ValueError"
    assert chain.account(sender) == replace(
        before, nonce=before.nonce + 1, balance=before.balance - receipt.fee
    )
    assert receipt.cycles_held == receipt.cells_held == 0
    assert chain.last.receipts == (receipt,)
    assert chain.last.events == ()
    assert chain.last.trace == ()
    assert actor.storage == {}
    assert actor.timers == []
    assert actor.balance == balance
    assert chain.account(actor).scheduling_counter == 0
    assert chain.supply().held == 0


def test_a_failed_system_instruction_is_a_failed_transaction(chain):
    """A system instruction that fails is a failed transaction."""
    receipt = chain.execute(
        ScheduleActivation(0, "fifo"), expect_failure=True,
        cycles_limit=5_000, cells_limit=1_000,
    )  # fmt: skip
    assert receipt.failure.kind == "InvalidInput"
    assert receipt.cycles_used == 5_000
    assert chain.account(chain.accounts[0]).nonce == 1


def test_a_call_of_what_is_no_actor_fails_and_moves_nothing(chain):
    with pytest.raises(TransactionFailed) as error:
        chain.execute(ExecuteActor(THERE, "run", b"", 5))
    assert error.value.failure.kind == "NotFound"
    assert chain.balance(THERE) == 0


# --- D9: actor addresses -------------------------------------------------------------


def test_an_actor_address_derives_from_deployer_salt_and_code(chain):
    """keccak256(0xff ‖ deployer ‖ salt32 ‖ keccak256(code))[12:]."""
    salt, code = b"\x05" * 32, b"x = 1\n"
    deployed = chain.deploy(code, salt=salt, sender=chain.accounts[4])
    deployer = chain.accounts[4].address
    image = b"\xff" + deployer + salt + keccak256(code)
    assert deployed.address == keccak256(image)[12:]
    account = chain.account(deployed)
    assert account.deployer == deployer
    assert account.code_hash == keccak256(code)


def test_redeploying_the_same_is_refused(chain):
    """Redeploying the same is refused; another salt is another actor."""
    salt = bytes(32)
    first = chain.deploy("x = 1\n", salt=salt)
    with pytest.raises(TransactionFailed) as error:
        chain.deploy("x = 1\n", salt=salt)
    assert error.value.failure.kind == "AlreadyDeployed"
    assert chain.deploy("x = 1\n", salt=b"\1" * 32).address != first.address


def test_money_may_be_there_before_the_actor(chain):
    code, sender = b"x = 1\n", chain.accounts[0]
    image = b"\xff" + sender.address + bytes(32) + keccak256(code)
    chain.transfer(keccak256(image)[12:], 77)
    assert chain.deploy(code, salt=bytes(32), value=3).balance == 80


def test_what_is_sent_to_the_zero_address_stays_a_balance(chain):
    """Reserved: zero (burn; what is sent there stays a balance)."""
    burned = chain.supply().burned
    receipt = chain.transfer(bytes(20), 5)
    assert chain.balance(bytes(20)) == 5
    assert chain.supply().burned == burned + receipt.fee
