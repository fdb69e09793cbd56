"""New code, the same actor: D58, sentence by sentence."""

import pytest
from msgspec.structs import replace

from node.chain import validation
from node.chain.accounts import load_code
from node.chain.block import ReceiptKind
from node.chain.errors import InvalidTransaction, TransactionFault
from node.chain.timers.rules import RULE_SETS
from node.chain.transaction import (
    Body,
    DeployActor,
    ExecuteActor,
    SetCode,
    SetStorage,
    Transfer,
    UpgradeActor,
    decode_transaction,
    intrinsic_cost,
)
from node.chain.transition import apply_block, build_block, open_state
from node.chain.validation import validate_admission
from node.primitives import codec
from node.primitives.crypto import keccak256, sign
from node.primitives.types import Amount
from node.state import keys
from node.testing import Devnet
from pvm import compile_actor, costs
from tests.spec.driven_actors import SCHEDULER
from tests.spec.globalbox_actors import GLOBALBOX, SETTER

THERE = b"\x77" * 20
UNDER_ALL_RULES = pytest.mark.parametrize("rules", sorted(RULE_SETS))

ONE = '''
import pvm_host
from cowboy_sdk import runtime

class Actor:
    """Counts, sets timers, and lets itself be upgraded."""

    def version(self):
        return 1

    def add(self):
        self.storage["count"] = self.storage.get("count", 0) + 1

    def wait(self, payload):
        height, data = pvm_host.cbor_decode(payload)
        agent = pvm_host.self_address()
        return pvm_host.schedule_timer(height, data, gas_limit=100_000, gba=agent)

    def get_gas_bid(self, context):
        fee = 10**6
        return {"max_fee_per_cycle": fee, "max_priority_fee_per_cycle": 1,
                "tip_per_cycle": 1}

    def handle_timer(self, payload):
        self.storage["fired_by"] = 1

    def swap(self, payload):
        pvm_host.upgrade_self(payload)
        return self.version()

    def swap_and_ask(self, payload):
        pvm_host.upgrade_self(payload)
        me = pvm_host.self_address()
        return pvm_host.call_actor(me, "version", b"")

    def swap_and_fail(self, payload):
        pvm_host.upgrade_self(payload)
        raise ValueError("after the upgrade")

    def swap_twice(self, payload):
        for code in pvm_host.cbor_decode(payload):
            pvm_host.upgrade_self(code)

    def try_swap(self, payload):
        try:
            pvm_host.upgrade_self(pvm_host.cbor_decode(payload))
        except pvm_host.HostError as error:
            return str(error)

    def have_it_swap(self, payload):
        target, handler, code = pvm_host.cbor_decode(payload)
        try:
            pvm_host.call_actor(target, handler, code, 2_000_000)
        except pvm_host.RevertError as error:
            return str(error)

    def have_it_swap_and_fail(self, payload):
        self.have_it_swap(payload)
        pvm_host.revert("the caller")

    def give(self, payload):
        runtime.transfer_ownership(payload)

    def renounce(self):
        runtime.renounce_ownership()

    def later(self, payload):
        pvm_host.create_deferred_tx("version", b"", cycles=20_000, cells=100)
'''

TWO = """
import pvm_host

class Actor:
    def version(self):
        return 2

    def handle_timer(self, payload):
        self.storage["fired_by"] = 2

    def upgrade(self, payload):
        self.storage["upgraded"] = [payload, pvm_host.get_sender()]
"""

OF_THE_OWNER = """
from cowboy_sdk import actor, callable_by, OWNER
@actor
class A:
    @callable_by(OWNER)
    def upgrade(self): pass
"""

BARE = "def other(): return 3\n"


@pytest.fixture
def one(chain):
    return chain.deploy(ONE, value="20 CBY")


def upgrade(actor, code=TWO, payload=b"", sender=None, **options):
    source = code.encode() if isinstance(code, str) else code
    instruction = UpgradeActor(actor.address, source, payload)
    return actor._chain.execute(instruction, sender=sender, **options)


def refused(actor, **options):
    receipt = upgrade(actor, expect_failure=True, **options)
    return receipt.failure.kind


def hash_of(source):
    return keccak256(source.encode())


def code_hash(actor):
    return actor._chain.account(actor.address).code_hash


def load_code_or_none(chain, hash_):
    return chain.state.snapshot.get(keys.code(hash_))


def upgraded(chain):
    return [codec.decode(event.data) for event in chain.events("actor.upgraded")]


# --- who ----------------------------------------------------------------------


def test_an_owner_upgrades_with_instruction_43(chain, one):
    """`UpgradeActor` (43) `[actor, code, payload]`: the sender is the actor's owner."""
    receipt = upgrade(one, payload=b"go")
    (transaction,) = chain.last.block.transactions
    assert codec.decode(transaction.body.encode())[8] == [
        43, one.address, TWO.encode(), b"go",
    ]  # fmt: skip
    assert (receipt.actor, receipt.handler) == (one.address, "upgrade")
    assert codec.decode(one.read("version")) == 2
    assert load_code(chain.state.snapshot, code_hash(one)) == TWO.encode()


def test_the_owner_is_the_deployer_until_transferred(chain, one):
    """`__OWNER__` where the runtime has set it, after a transfer the new one."""
    deployer, bob = chain.accounts[0], chain.accounts[1]
    assert refused(one, sender=bob) == "Unauthorized"
    one.call("give", bob.address)
    upgrade(one, sender=bob)
    assert codec.decode(one.read("version")) == 2
    # The deployer of a devnet's first actor is a system deployer; this one is none.
    other = chain.deploy(ONE, sender=bob)
    other.call("give", chain.accounts[2].address, sender=bob)
    assert refused(other, sender=bob) == "Unauthorized"
    upgrade(other, sender=chain.accounts[2])
    assert deployer.address in chain.params.system_deployers


def test_after_a_renunciation_nobody_is_the_owner(chain):
    """After a renunciation nobody, not even who is called by 20 zero bytes."""
    bob = chain.accounts[1]
    actor = chain.deploy(ONE, sender=bob)
    actor.call("renounce", sender=bob)
    nobody = bytes(20)
    chain.fund(nobody, "100 CBY")
    for sender in (bob, nobody):
        assert refused(actor, sender=sender) == "Unauthorized"
    assert code_hash(actor) == hash_of(ONE)


def test_system_deployers_may_upgrade_any_actor(chain):
    """Or in `system_deployers` (CIP-5 §5.4)."""
    bob = chain.accounts[1]
    actor = chain.deploy(ONE, sender=bob)
    actor.call("renounce", sender=bob)
    upgrade(actor, sender=chain.accounts[0])
    assert codec.decode(actor.read("version")) == 2


def test_there_must_be_an_actor(chain):
    receipt = chain.execute(UpgradeActor(THERE, TWO.encode(), b""), expect_failure=True)
    assert receipt.failure.kind == "NotFound"
    assert receipt.actor == THERE


# --- what it costs ------------------------------------------------------------


def test_an_upgrade_costs_what_a_deployment_of_that_code_does(chain, one):
    """Costs what a deployment of that code does (D6)."""
    limits = {"cycles_limit": 2_000_000, "cells_limit": 2_000_000}
    upgraded_ = upgrade(one, BARE, **limits)
    upgrade_body = chain.last.block.transactions[0].body
    deployed = chain.execute(DeployActor(bytes(32), BARE.encode(), b"", 0), **limits)
    deploy_body = chain.last.block.transactions[0].body
    assert upgraded_.cycles_used == deployed.cycles_used
    cells = [
        receipt.cells_used - len(body.encode())
        for receipt, body in ((upgraded_, upgrade_body), (deployed, deploy_body))
    ]
    assert cells == [500 + 10_000 + 200 * len(BARE)] * 2
    cycles, _ = intrinsic_cost(upgrade_body, 0)
    assert cycles == 5_000 + 50_000 + 100 * len(BARE)


def test_a_refused_upgrade_pays_for_its_code(one):
    """A failed transaction keeps its nonce increment and its charge (D6)."""
    bob = one._chain.accounts[1]
    receipt = upgrade(one, BARE, sender=bob, expect_failure=True)
    assert receipt.cycles_used == 55_000 + 100 * len(BARE)
    assert receipt.fee > 0
    assert one._chain.nonce(bob) == 1


def test_out_of_cycles_while_compiling_fails_the_upgrade(one):
    limit = 55_000 + 100 * len(TWO) + 200 * 20
    receipt = upgrade(one, cycles_limit=limit, cells_limit=200_000, expect_failure=True)
    assert (receipt.failure.kind, receipt.cycles_used) == ("OutOfCycles", limit)
    assert code_hash(one) == hash_of(ONE)


def test_upgrade_self_costs_the_code_part_of_a_deployment(chain, one):
    """A host call with the costs of D6's code part."""
    refused_ = one.call("try_swap", codec.encode(7))
    assert refused_.cycles_used > 5_000 + 50_000
    assert refused_.cells_used > 10_000
    used = []
    for source in (BARE, TWO):
        actor = chain.deploy(ONE)
        receipt = actor.call("swap", source.encode())
        (transaction,) = chain.last.block.transactions
        nodes = compile_actor(source.encode()).nodes
        used.append(
            (
                receipt.cycles_used
                - 100 * len(source)
                - costs.COMPILE_PER_NODE * nodes,
                receipt.cells_used - 200 * len(source) - len(transaction.body.encode()),
            )
        )
    assert used[0] == used[1]
    (cycles, cells), _ = used
    assert cells == 500 + 10_000 + 1  # what it returns is a byte
    assert 0 < cycles - 5_000 - 50_000 < 1_000  # what the handler itself takes


# --- upgrade_self -------------------------------------------------------------


def test_upgrade_self_is_the_actors_own_act(chain, one):
    """`pvm_host.upgrade_self(code)` is the actor's own act; by it no handler runs."""
    receipt = one.call("swap", TWO.encode(), sender=chain.accounts[5])
    assert codec.decode(receipt.value) == 1
    assert code_hash(one) == hash_of(TWO)
    assert "upgraded" not in one.storage


def test_everything_in_the_execution_runs_the_old_code(one):
    """It takes effect at the end: re-entrant calls included, all runs the old code."""
    receipt = one.call("swap_and_ask", TWO.encode())
    assert codec.decode(receipt.value) == 1
    assert codec.decode(one.read("version")) == 2


def test_the_last_call_wins(chain, one):
    third = "def version(): return 3\n"
    payload = codec.encode([TWO.encode(), BARE.encode(), third.encode()])
    one.call("swap_twice", payload, cycles_limit=2_000_000, cells_limit=500_000)
    assert code_hash(one) == hash_of(third)
    assert len(upgraded(chain)) == 1
    assert load_code_or_none(chain, hash_of(BARE)) is None


def test_an_execution_that_fails_upgrades_nothing(chain, one):
    one.call("swap_and_fail", TWO.encode(), expect_failure=True)
    assert code_hash(one) == hash_of(ONE)
    assert upgraded(chain) == []
    assert load_code_or_none(chain, hash_of(TWO)) is None


@pytest.mark.parametrize(
    ("handler", "its_handler", "is_swapped"),
    [
        ("have_it_swap", "swap", True),
        ("have_it_swap", "swap_and_fail", False),
        ("have_it_swap_and_fail", "swap", False),
    ],
)
def test_a_callee_upgrades_itself_as_far_as_it_stands(
    chain, one, handler, its_handler, is_swapped
):
    """Inside of a call that reverts, or of a caller that reverts, nothing stays."""
    other = chain.deploy(ONE)
    payload = codec.encode([other.address, its_handler, TWO.encode()])
    one.call(handler, payload, expect_failure=handler != "have_it_swap")
    assert (code_hash(other) == hash_of(TWO)) is is_swapped
    assert code_hash(one) == hash_of(ONE)
    assert len(upgraded(chain)) == is_swapped


def test_the_callee_may_call_back_and_have_its_caller_upgraded(chain, one):
    """Of the caller by the callee: the caller goes on in its old code."""
    other = chain.deploy(ONE)
    inner = codec.encode([one.address, "swap", TWO.encode()])
    payload = codec.encode([other.address, "have_it_swap", inner])
    one.call("have_it_swap", payload)
    assert (code_hash(one), code_hash(other)) == (hash_of(TWO), hash_of(ONE))


@pytest.mark.parametrize(
    "code", [ONE.encode(), b"import os", b"\xff", bytes(65_537), "text", None, 7]
)
def test_what_upgrade_self_refuses_can_be_caught(chain, one, code):
    """Refusals `InvalidInput` (catchable, D16): refused code, too large, the same."""
    receipt = one.call("try_swap", codec.encode(code), cells_limit=14_000_000)
    assert receipt.value.startswith(b"InvalidInput: code: ")
    assert code_hash(one) == hash_of(ONE)
    assert upgraded(chain) == []


def test_a_read_only_execution_cannot_upgrade(one):
    """D15: every mutating host call halts with `ReadOnlyViolation`."""
    with pytest.raises(Exception, match="ReadOnlyViolation"):
        one.read("swap", TWO.encode())


def test_upgrade_self_counts_two_keys(chain, one):
    """D43: an execution's changed keys: the account, and the code."""
    one.call("swap", TWO.encode())
    assert chain.last.use.writes == 2


# --- what stays and what changes ----------------------------------------------


def test_all_but_the_code_stays(chain, one):
    """All else stays; the code hash changes; event `actor.upgraded`, both hashes."""
    one.call("add")
    one.call("wait", codec.encode([chain.height + 50, b"later"]))
    before, timers = chain.account(one.address), one.timers
    storage = dict(one.storage)
    upgrade(one, BARE)
    assert chain.account(one.address) == replace(before, code_hash=hash_of(BARE))
    assert one.timers == timers
    assert one.storage == storage
    (event,) = chain.last.events
    assert (event.emitter, event.topic, event.receipt_index) == (
        None, "actor.upgraded", 0,
    )  # fmt: skip
    assert codec.decode(event.data) == {
        "actor": one.address,
        "old_code_hash": hash_of(ONE),
        "code_hash": hash_of(BARE),
    }


def test_the_event_of_upgrade_self_belongs_to_its_execution(chain, one):
    one.call("swap", TWO.encode())
    (event,) = chain.last.events
    assert event.receipt_index == 0
    assert codec.decode(event.data)["code_hash"] == hash_of(TWO)


@UNDER_ALL_RULES
def test_a_fire_of_this_block_runs_the_new_code(devnet, rules):
    """A queued fire of the old code, under all rules."""
    chain = devnet(activations=[{"height": 0, "rules": rules}])
    actor = chain.deploy(ONE, value="20 CBY")
    actor.call("wait", codec.encode([chain.height + 2, b""]))
    upgrade(actor)
    (fire,) = [r for r in chain.last.receipts if r.kind is ReceiptKind.FIRE]
    assert fire.is_success
    assert actor.storage["fired_by"] == 2


def test_a_waiting_message_meets_the_new_code(chain, one):
    one.call("later")
    upgrade(one)
    (message,) = [
        r for r in chain.last.receipts if r.kind is ReceiptKind.ENGINE_MESSAGE
    ]
    assert codec.decode(message.value) == 2


# --- the handler --------------------------------------------------------------


def test_upgrade_runs_as_the_owner(chain, one):
    """`upgrade(payload)` of the new code, if there is one, the owner as sender."""
    bob, system = chain.accounts[1], chain.accounts[0]
    one.call("give", bob.address)
    upgrade(one, payload=b"from", sender=system)
    assert one.storage["upgraded"] == [b"from", bob.address]
    (receipt,) = chain.last.receipts
    assert receipt.sender == system.address == receipt.payer


def test_its_failure_undoes_all(chain, one):
    """And its failure undoes all."""
    failing = TWO + '        pvm_host.emit_event("gone", b"")\n        return 1 // 0\n'
    receipt = upgrade(one, failing, expect_failure=True)
    assert receipt.failure.kind == "ZeroDivisionError"
    assert code_hash(one) == hash_of(ONE)
    assert "upgraded" not in one.storage
    assert chain.last.events == ()
    assert load_code_or_none(chain, hash_of(failing)) is None


def test_one_that_loops_pays_its_limit(one):
    looping = "def upgrade():\n    while True:\n        pass\n"
    receipt = upgrade(
        one, looping, cycles_limit=300_000, cells_limit=100_000, expect_failure=True
    )
    assert (receipt.failure.kind, receipt.cycles_used) == ("OutOfCycles", 300_000)
    assert code_hash(one) == hash_of(ONE)


def test_one_may_upgrade_again(chain, one):
    """An `upgrade` that upgrades: what it installed runs it, and is replaced by it."""
    again = (
        "import pvm_host\ndef upgrade(payload):\n    pvm_host.upgrade_self(payload)\n"
    )
    upgrade(one, again, payload=BARE.encode())
    assert code_hash(one) == hash_of(BARE)
    assert [
        (found["old_code_hash"], found["code_hash"]) for found in upgraded(chain)
    ] == [(hash_of(ONE), hash_of(again)), (hash_of(again), hash_of(BARE))]


def test_code_whose_body_fails_is_no_actors(one):
    receipt = upgrade(one, "x = [][0]\n", expect_failure=True)
    assert receipt.failure.kind == "IndexError"
    assert code_hash(one) == hash_of(ONE)


@pytest.mark.parametrize(
    "source",
    [
        TWO,
        "def upgrade(payload): pass\n",
        OF_THE_OWNER,
    ],
    ids=["method", "function", "of the owner"],
)
def test_upgrade_is_no_handler_for_anybody_else(chain, one, source):
    """Like `deploy`, `upgrade` is no handler for anybody else."""
    upgrade(one, source)
    receipt = one.call("upgrade", expect_failure=True)
    assert receipt.failure.kind == "HandlerNotFound"
    caller = chain.deploy(ONE)
    payload = codec.encode([one.address, "upgrade", b""])
    receipt = caller.call("have_it_swap", payload, expect_failure=True)
    assert receipt.failure.kind == "HostError.HandlerNotFound"


def test_a_public_upgrade_is_everybodys(chain, one):
    """As of `deploy`: who says `@public` means it."""
    source = (
        "from cowboy_sdk import actor, public\n"
        "@actor\nclass A:\n    @public\n    def upgrade(self): return 5\n"
    )
    upgrade(one, source)
    receipt = one.call("upgrade", sender=chain.accounts[4])
    assert codec.decode(receipt.value) == 5


# --- what is refused ----------------------------------------------------------


def test_refused_code_is_a_failed_transaction_with_its_lines(one):
    """Code that the policy refuses is a failed transaction with its lines."""
    receipt = upgrade(one, "x = 1\nimport os\ny = 0.5\n", expect_failure=True)
    assert (receipt.failure.kind, receipt.failure.line) == ("CompileError", 2)
    assert "line 2" in receipt.failure.message
    assert code_hash(one) == hash_of(ONE)


def test_code_that_is_too_large_is_refused(one):
    large = b"x = 1\n" * 10_923  # 65,538 bytes
    receipt = upgrade(one, large, expect_failure=True)
    assert receipt.failure.kind == "CompileError"
    assert "65536 bytes" in receipt.failure.message


def test_the_code_that_it_has_is_refused(one):
    assert refused(one, code=ONE) == "SameCode"


def test_an_upgrade_back_to_old_code_is_one_like_any(chain, one):
    upgrade(one, BARE)
    upgrade(one, ONE)
    assert [found["code_hash"] for found in upgraded(chain)] == [
        hash_of(BARE), hash_of(ONE),
    ]  # fmt: skip


@UNDER_ALL_RULES
def test_a_fire_whose_handler_is_gone_fails_when_its_turn_comes(devnet, rules):
    """A timer whose handler is gone ends as `HandlerNotFound` when its turn comes."""
    chain = devnet(activations=[{"height": 0, "rules": rules}])
    actor = chain.deploy(ONE, value="20 CBY")
    actor.call("wait", codec.encode([chain.height + 4, b""]))
    upgrade(actor, BARE)
    assert len(actor.timers) == 1
    chain.advance(blocks=4)
    (fire,) = chain.receipts(ReceiptKind.FIRE)
    assert fire.failure.kind == "HandlerNotFound"
    assert actor.timers == []


def test_a_message_whose_handler_is_gone_fails(chain, one):
    one.call("later")
    upgrade(one, BARE)
    (message,) = chain.receipts(ReceiptKind.ENGINE_MESSAGE)
    assert message.failure.kind == "HandlerNotFound"


# --- development --------------------------------------------------------------


def test_set_storage_writes_a_raw_state_key(chain, one):
    """243 SetStorage `[actor, key, value or null]` (a raw state key), free."""
    receipt = chain.execute(SetStorage(one.address, b"raw", b"value"))
    assert chain.storage_entry(one, b"raw") == b"value"
    assert (receipt.fee, receipt.cycles_used, receipt.actor) == (0, 0, one.address)
    chain.execute(SetStorage(one.address, b"raw", None))
    assert chain.storage_entry(one, b"raw") is None
    chain.execute(SetStorage(one.address, b"storage:count", codec.encode(41)))
    one.call("add")
    assert one.storage["count"] == 42


@pytest.mark.parametrize("key", [b"__OWNER__", b"__INITIALIZED__"])
def test_set_storage_refuses_the_runtimes_own_keys(chain, one, key):
    """The runtime's own are refused."""
    sender = chain.nonce(chain.accounts[0])
    receipt = chain.execute(SetStorage(one.address, key, b"x"), expect_failure=True)
    assert receipt.failure.kind == "Forbidden"
    assert (receipt.fee, chain.storage_entry(one, key)) == (0, None)
    assert chain.nonce(chain.accounts[0]) == sender + 1


@pytest.mark.parametrize(
    "instruction", [SetStorage(THERE, b"k", b"v"), SetCode(THERE, b"x = 1\n")]
)
def test_development_wants_an_actor(chain, instruction):
    receipt = chain.execute(instruction, expect_failure=True)
    assert (receipt.failure.kind, receipt.actor) == ("NotFound", THERE)
    assert (receipt.fee, chain.last.use.writes) == (0, 0)


def test_set_code_runs_no_handler(chain, one):
    """244 SetCode `[actor, code]` (runs no handler), free, anybody's to send."""
    receipt = chain.execute(SetCode(one.address, TWO.encode()), sender=THERE)
    assert (receipt.fee, receipt.cycles_used) == (0, 0)
    assert "upgraded" not in one.storage
    assert codec.decode(one.read("version")) == 2
    (found,) = upgraded(chain)
    assert found["code_hash"] == hash_of(TWO)


@pytest.mark.parametrize(
    ("code", "kind"), [(ONE.encode(), "SameCode"), (b"import os", "CompileError")]
)
def test_set_code_refuses_what_an_upgrade_refuses(chain, one, code, kind):
    receipt = chain.execute(SetCode(one.address, code), expect_failure=True)
    assert receipt.failure.kind == kind
    assert (receipt.fee, code_hash(one)) == (0, hash_of(ONE))


def test_they_are_only_valid_on_development_chains():
    """As D41's: only with `dev`."""
    with Devnet(dev=False) as chain:
        account = chain.accounts[0]
        for instruction in (SetStorage(THERE, b"k", None), SetCode(THERE, b"")):
            data = Body(100, 0, 0, 0, 0, 0, 0, 0, instruction).encode()
            raw = data + sign(keccak256(data), account.private_key)
            with pytest.raises(InvalidTransaction) as error:
                validate_admission(chain.state, decode_transaction(raw))
            assert error.value.fault is TransactionFault.NOT_DEV


def test_they_stand_behind_the_gate_of_writes(chain, one, monkeypatch):
    """Behind D43's gate: once so many keys are changed no further one starts."""
    monkeypatch.setattr(validation, "WRITES_BEFORE_TRANSACTIONS_STOP", 3)
    chain.submit(SetCode(one.address, BARE.encode()))  # governance's are not counted
    for i in range(3):
        chain.submit(SetStorage(one.address, bytes([i]), b""))
    last = chain.submit(SetCode(one.address, TWO.encode()))
    result = chain.mine()
    assert result.use.writes == 3
    ((transaction, error),) = result.rejected
    assert (transaction.id, error.fault) == (last, TransactionFault.BLOCK_FULL)


@pytest.mark.parametrize(
    "instruction",
    [
        SetStorage(THERE, b"", b"v"),
        SetStorage(THERE, b"k" * 257, None),
        SetStorage(THERE, b"k", bytes(65_537)),
    ],
)
def test_a_key_or_value_out_of_bounds_is_malformed(instruction):
    data = Body(100, 0, 0, 0, 0, 0, 0, 0, instruction).encode()
    with pytest.raises(InvalidTransaction) as error:
        decode_transaction(data + bytes(45) + THERE)
    assert error.value.fault is TransactionFault.MALFORMED


# --- blocks -------------------------------------------------------------------


def test_upgrades_are_ordinary_content_of_blocks(chain, one):
    """So that replay and bundles hold: a block gives the same to whoever applies it."""
    parent = chain.state
    chain.submit(UpgradeActor(one.address, TWO.encode(), b""))
    chain.submit(SetCode(one.address, BARE.encode()), sender=THERE)
    chain.submit(SetStorage(one.address, b"k", b"v"), sender=THERE)
    result = chain.mine()
    assert [receipt.is_success for receipt in result.receipts] == [True] * 3
    parent.caches.known = None
    assert apply_block(parent, result.block).header == result.header


def test_a_block_may_call_the_old_code_and_the_new(chain, one):
    """The code cache and kept namespaces are right across an upgrade in one block."""
    bob = chain.accounts[1]
    for sender in (chain.accounts[0], bob):
        one.call("version", sender=sender)  # kept
    call = chain.last.block.transactions[0].body.instruction
    limits = {"cycles_limit": 900_000, "cells_limit": 900_000}
    chain.submit(call, sender=bob, **limits)
    chain.submit(UpgradeActor(one.address, TWO.encode(), b""), **limits)
    chain.submit(call, sender=bob, **limits)
    chain.submit(UpgradeActor(one.address, ONE.encode(), b""), **limits)
    chain.submit(call, sender=bob, **limits)
    result = chain.mine()
    values = [r.value for r in result.receipts if r.handler == "version"]
    assert [codec.decode(value) for value in values] == [1, 2, 1]


def test_a_revert_gives_the_old_code_back(chain, one):
    with chain.snapshot():
        upgrade(one)
        assert codec.decode(one.read("version")) == 2
    assert codec.decode(one.read("version")) == 1
    assert code_hash(one) == hash_of(ONE)
    one.call("swap", TWO.encode())
    assert codec.decode(one.read("version")) == 2


def test_a_transfer_beside_an_upgrade_keeps_the_supply(chain, one):
    chain.execute(Transfer(one.address, 5))
    upgrade(one)
    assert chain.supply().is_balanced
    assert build_block(chain.state, []).rejected == ()


def test_code_that_is_there_already_is_no_change_of_a_block(devnet):
    """D40: what a block writes does not depend on whose code is compiled already."""
    chain = devnet()
    chain.deploy(SCHEDULER, value="5 CBY")
    parent = chain.state
    again = DeployActor(b"2" * 32, SCHEDULER.encode(), b"", Amount(0))
    chain.submit(again, cycles_limit=2_000_000, cells_limit=2_000_000)
    built = chain.mine()
    assert built.receipts[0].is_success
    fresh = open_state(parent.params, parent.head, parent.snapshot)
    assert apply_block(fresh, built.block).writes == built.writes
    assert keys.code(keccak256(SCHEDULER.encode())) not in built.writes.changes


@pytest.mark.parametrize("way", ["SetStorage", "upgrade"])
def test_watches_see_what_upgrades_write(devnet, way):
    """D51: ModifiedKeySet has what D58 writes."""
    chain = devnet(**GLOBALBOX)
    watcher = chain.deploy(SETTER, value="20 CBY")
    watched = chain.deploy(ONE)
    keys_ = [[watched.address, b"storage:upgraded"]]
    watch = [watcher.address, keys_, b"seen", {"gas_limit": 100_000}]
    watcher.call("watch", codec.encode(watch))
    if way == "upgrade":
        upgrade(watched)
    else:
        value = codec.encode(1)
        chain.execute(SetStorage(watched.address, b"storage:upgraded", value))
    assert [fire[1:] for fire in watcher.storage["fires"]] == [
        ["handle_timer", b"seen"]
    ]


def test_a_bundle_and_its_replay_hold_upgrades(chain, one, tmp_path):
    """Executed again from the file, the chain is the same to the byte."""
    one.call("wait", codec.encode([chain.height + 9, b""]))
    upgrade(one)
    one.call("swap", ONE.encode(), expect_failure=True)  # TWO has no such handler
    chain.execute(SetCode(one.address, ONE.encode()))
    one.call("swap", BARE.encode())
    chain.execute(SetStorage(one.address, b"k", b"v"))
    chain.advance(blocks=12)
    file = chain.export_bundle(tmp_path / "chain")
    with Devnet.from_bundle(file) as again:
        assert again.head == chain.head
        assert again.code_versions(one.address) == chain.code_versions(one.address)
        assert len(again.code_versions(one.address)) == 4


def test_single_blocks_and_a_run_agree_about_upgrades(devnet):
    """D36: state after a run of N = after N empty blocks, whatever code there is."""
    heads = []
    for step in (1, 30):
        chain = devnet()
        actor = chain.deploy(ONE, value="20 CBY")
        actor.call("wait", codec.encode([chain.height + 20, b""]))
        upgrade(actor)
        for _ in range(30 // step):
            chain.advance(blocks=step)
        heads.append((chain.height, chain.head.state_root, actor.storage["fired_by"]))
    assert heads[0] == heads[1]
    assert heads[0][2] == 2


def test_what_is_written_does_not_depend_on_what_a_cache_spared(chain, one):
    """D40: code that is there already is written by nobody, read before or not."""
    two = chain.deploy(ONE)
    upgrade(one, BARE)
    parent = chain.state
    limits = {"cycles_limit": 900_000, "cells_limit": 900_000}
    chain.submit(ExecuteActor(two.address, "version", b"", 0), **limits)
    chain.submit(UpgradeActor(one.address, ONE.encode(), b""), **limits)
    warm = chain.mine()
    cold = open_state(parent.params, parent.head, parent.snapshot)
    assert apply_block(cold, warm.block).writes == warm.writes
    assert keys.code(hash_of(ONE)) not in warm.writes.changes
