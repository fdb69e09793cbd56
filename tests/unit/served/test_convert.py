"""What goes out as protobuf comes in as the same; what is no such thing is refused."""

import pytest
from msgspec.structs import replace

from node import query
from node.chain.block import Price, Receipt, ReceiptKind
from node.chain.params import (
    BasefeeConfig,
    BiddingConfig,
    GlobalboxConfig,
    TimerConfig,
)
from node.chain.timers.timer import Decision
from node.chain.transaction import (
    NUMBERS,
    Body,
    CancelTimer,
    DeployActor,
    ExecuteActor,
    ExtendTimer,
    Fund,
    ResetWeights,
    ScheduleActivation,
    SetBalance,
    SetCode,
    SetStorage,
    Transfer,
    UpdateBasefeeConfig,
    UpdateBiddingConfig,
    UpdateGlobalboxConfig,
    UpdateTimerConfig,
    UpgradeActor,
)
from node.client import Wallet
from node.rpc import convert, requests
from node.rpc.instructions import body_to_proto, instruction_to_proto
from node.rpc.requests import InvalidRequest
from node.rpc.v1 import queries_pb2, timers_pb2, types_pb2
from node.runtime.types import MiningMode
from pvm import Failure

A, B = b"\x0a" * 20, b"\x0b" * 20
U128_MAX = 2**128 - 1
INSTRUCTIONS = [
    Transfer(A, U128_MAX),
    DeployActor(b"\x05" * 32, b"code", b"payload", 5),
    ExecuteActor(A, "handler", b"payload", 0),
    CancelTimer(b"\x01" * 32),
    ExtendTimer(b"\x01" * 32, 2**64 - 1),
    UpdateTimerConfig(replace(TimerConfig(), max_ttl_blocks=7, fire_base_cycles=9)),
    UpdateBasefeeConfig(BasefeeConfig(1, 2, 3, 4, 5)),
    UpdateBiddingConfig(BiddingConfig(1, 2, 3, 4)),
    UpdateGlobalboxConfig(GlobalboxConfig()),
    ResetWeights(),
    UpdateGlobalboxConfig(GlobalboxConfig(w_age=7, max_bid_fp=2**100)),
    ScheduleActivation(9, "auction"),
    Fund(A, 1),
    SetBalance(B, 0),
    UpgradeActor(A, b"code", b"payload"),
    SetStorage(A, b"key", b"value"),
    SetStorage(A, b"key", b""),
    SetStorage(A, b"key", None),
    SetCode(A, b"code"),
]


def test_every_instruction_is_tried():
    assert {type(i) for i in INSTRUCTIONS} == set(NUMBERS)


@pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=lambda i: type(i).__name__)
def test_an_instruction_survives_the_way_out_and_in(instruction):
    message = instruction_to_proto(instruction)
    assert requests.instruction_from_proto(message, "instruction") == instruction
    number = types_pb2.Instruction.DESCRIPTOR.fields_by_name[
        message.WhichOneof("kind")
    ].number
    assert number == NUMBERS[type(instruction)]


def test_every_field_of_a_config_has_its_own_place():
    distinct = TimerConfig(1, 2, 3, 4, 5, 6, 7, 8, (9, 10, 11, 12), 13, 14, 15)
    shown = instruction_to_proto(UpdateTimerConfig(distinct))
    assert requests.instruction_from_proto(shown, "i") == UpdateTimerConfig(distinct)


def test_a_deployment_without_salt_has_the_zero_one():
    message = types_pb2.Instruction(deploy_actor=types_pb2.DeployActor(code=b"x"))
    read = requests.instruction_from_proto(message, "i")
    assert read == DeployActor(bytes(32), b"x", b"", 0)


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (types_pb2.Instruction(), "i"),
        (types_pb2.Instruction(transfer=types_pb2.Transfer(to=b"1")), "i.transfer.to"),
        (
            types_pb2.Instruction(transfer=types_pb2.Transfer(to=A, amount="")),
            "i.transfer.amount",
        ),
        (
            types_pb2.Instruction(deploy_actor=types_pb2.DeployActor(salt=b"1")),
            "i.deploy_actor.salt",
        ),
        (
            types_pb2.Instruction(
                execute_actor=types_pb2.ExecuteActor(actor=A, handler="h" * 257)
            ),
            "i.execute_actor.handler",
        ),
        (types_pb2.Instruction(cancel_timer=types_pb2.CancelTimer()), "i.timer_id"),
    ],
)
def test_a_malformed_instruction_names_its_field(message, field):
    with pytest.raises(InvalidRequest) as error:
        requests.instruction_from_proto(message, "i")
    assert error.value.field == field


@pytest.mark.parametrize("text", ["0", "7", str(U128_MAX), "007"])
def test_amounts_are_decimal_strings(text):
    assert requests.parse_amount(text, "amount") == int(text)


@pytest.mark.parametrize(
    "text",
    ["", "-1", "+1", "1.5", "1e3", "0x1", "1_0", " 1", "٣", str(2**128), "9" * 99],
)
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(InvalidRequest, match="decimal string"):
        requests.parse_amount(text, "amount")


def test_ids_and_addresses_have_their_lengths():
    assert requests.parse_address(A, "a") == A
    assert requests.parse_hash(bytes(32), "h") == bytes(32)
    for read, data in (
        (requests.parse_address, bytes(21)),
        (requests.parse_hash, bytes(31)),
        (requests.parse_timer_id, b""),
        (requests.parse_timer_id, bytes(257)),
    ):
        with pytest.raises(InvalidRequest):
            read(data, "field")


def test_counts_have_a_default_and_a_maximum():
    assert requests.parse_count(0, "page_size", 20, 100) == 20
    assert requests.parse_count(100, "page_size", 20, 100) == 100
    with pytest.raises(InvalidRequest):
        requests.parse_count(101, "page_size", 20, 100)


@pytest.mark.parametrize("mode", list(MiningMode))
def test_mining_modes_survive_the_way_out_and_in(mode):
    shown = convert.mining_mode_to_proto(mode)
    assert requests.mining_mode_from_proto(shown, "mode") is mode
    with pytest.raises(InvalidRequest):
        requests.mining_mode_from_proto(queries_pb2.MINING_MODE_UNSPECIFIED, "mode")


def test_a_status_of_timers_is_an_exit_or_pending():
    read = requests.parse_end
    assert read(timers_pb2.TIMER_STATUS_UNSPECIFIED, "status") is None
    assert read(timers_pb2.TIMER_STATUS_PENDING, "status") is None
    assert read(timers_pb2.TIMER_STATUS_EXPIRED, "status") is Decision.EXPIRED
    with pytest.raises(InvalidRequest):
        read(99, "status")


def test_a_draft_says_what_it_states_and_what_it_leaves_open():
    message = types_pb2.Draft(
        sender=A, instruction=instruction_to_proto(Transfer(B, 1)), nonce=0
    )
    draft = requests.draft_from_proto(message)
    assert (draft.sender, draft.instruction) == (A, Transfer(B, 1))
    assert (draft.nonce, draft.cycles_limit, draft.cells_limit) == (0, None, None)
    assert (draft.max_fee_per_cycle, draft.max_priority_fee_per_cycle) == (None, 0)
    message.max_fee_per_cell = "x"
    with pytest.raises(InvalidRequest, match=r"draft\.max_fee_per_cell"):
        requests.draft_from_proto(message)


def test_a_body_shows_amounts_as_strings():
    body = Body(100, 1, 2, 3, U128_MAX, 5, 6, 7, Transfer(A, 8))
    shown = body_to_proto(body)
    assert (shown.nonce, shown.cycles_limit, shown.cells_limit) == (1, 2, 3)
    assert shown.max_fee_per_cycle == str(U128_MAX)
    assert shown.max_priority_fee_per_cycle == "5"
    assert (shown.max_fee_per_cell, shown.max_priority_fee_per_cell) == ("6", "7")


def test_a_receipt_shows_every_part_of_its_price():
    price = Price(3, 5, 7, 11, 13)
    failure = Failure("ValueError", "no", "main", 4, "try")
    receipt = Receipt(
        ReceiptKind.FIRE, 2, b"\x01" * 32, bytes(32), A, B, "main", A, 1_000, 500,
        100, 50, price, 10, 5, b"value", failure, (b"\x02" * 32,),
    )  # fmt: skip
    shown = convert.receipt_to_proto(receipt, 9, (query.Warnings.EXPIRES_BEFORE_DUE,))
    assert (shown.kind, shown.height, shown.index) == (
        types_pb2.RECEIPT_KIND_FIRE,
        9,
        2,
    )
    assert shown.fee == str(100 * (3 + 5 + 13) + 50 * (7 + 11))
    assert (shown.burned_cycle, shown.burned_cell) == ("300", "350")
    assert (shown.burned_lane, shown.tip) == ("1300", str(500 + 550))
    assert shown.refund == str(890 * 21 + 445 * 18)
    assert shown.status == types_pb2.EXECUTION_STATUS_FAILED
    assert (shown.error.kind, shown.error.line) == ("ValueError", 4)
    assert list(shown.scheduled_timer_ids) == [b"\x02" * 32]
    assert list(shown.warnings) == [types_pb2.WARNING_EXPIRES_BEFORE_DUE]
    without = convert.receipt_to_proto(replace(receipt, failure=None), 9)
    assert not without.HasField("error")
    assert without.status == types_pb2.EXECUTION_STATUS_SUCCEEDED
    no_line = convert.failure_to_proto(replace(failure, line=None))
    assert not no_line.HasField("line")


# --- blocks ------------------------------------------------------------------------


def test_a_view_shows_as_much_of_a_block_as_it_says(chain, source):
    actor = chain.deploy(source)
    chain.call(actor, "start", b"\x01")
    chain.call(actor, "say", b"hi")
    view = query.block_at(chain.state, 3)
    header = convert.block_to_proto(view, types_pb2.BLOCK_VIEW_HEADER)
    assert header.header.hash == view.block_hash
    assert (header.receipt_count, len(header.transaction_ids)) == (0, 0)
    summary = convert.block_to_proto(view)
    assert list(summary.transaction_ids) == [view.block.transactions[0].id]
    assert (summary.receipt_count, summary.fire_count) == (2, 1)
    assert (summary.event_count, len(summary.events)) == (3, 0)
    full = convert.block_to_proto(view, types_pb2.BLOCK_VIEW_FULL)
    assert [e.topic for e in full.events] == ["said", "again", "fired"]
    assert [e.index for e in full.events] == [0, 1, 2]
    assert [e.receipt_index for e in full.events] == [0, 0, 1]
    assert full.transactions[0].raw == view.block.transactions[0].raw
    assert full.transactions[0].sender == Wallet.dev(0).address
    assert len(full.receipts) == 2
    assert full.header.height == 3


def test_a_live_and_an_ended_timer_look_different(chain, source):
    actor = chain.deploy(source)
    result = chain.call(actor, "start", b"\x01")
    timer_id = result.receipts[0].scheduled[0]
    live = convert.timer_to_proto(query.timer(chain.state, timer_id))
    assert live.status == timers_pb2.TIMER_STATUS_PENDING
    assert (live.height, live.record.gas_limit) == (3, 100_000)
    assert (live.record.payload, live.record.tier) == (
        b"tick",
        timers_pb2.TIMER_TIER_RING,
    )
    assert live.record.max_fee_per_cycle == ""
    assert not live.HasField("end")
    chain.block()
    ended = convert.timer_to_proto(query.timer(chain.state, timer_id))
    assert ended.status == timers_pb2.TIMER_STATUS_FIRED
    assert (ended.id, ended.actor, ended.fee_payer) == (timer_id, actor, actor)
    assert (ended.end.height, ended.end.decision) == (3, "fired")
    assert not ended.HasField("record")
