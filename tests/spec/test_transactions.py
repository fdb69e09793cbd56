"""Transactions, accounts, addresses: D4, D5."""

import coincurve
import pytest
from msgspec.structs import replace

from node.chain.errors import InvalidBlock, InvalidTransaction, TransactionFault
from node.chain.params import (
    BasefeeConfig,
    BiddingConfig,
    GlobalboxConfig,
    TimerConfig,
)
from node.chain.transaction import (
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
    decode_transaction,
    impersonate,
    impersonated,
)
from node.chain.transition import apply_block, build_block
from node.chain.validation import validate_admission
from node.primitives import codec
from node.primitives.crypto import keccak256, sign
from node.testing import Devnet, TransactionRefused

THERE = b"\x77" * 20
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


@pytest.fixture
def chain():
    with Devnet() as chain:
        yield chain


def body_of(instruction=None, **fields):
    instruction = instruction or Transfer(THERE, 5)
    body = Body(100, 0, 10_000, 5_000, 2_000, 0, 2_000, 0, instruction)
    return replace(body, **fields)


def signed(body, account):
    data = body.encode()
    return data + sign(keccak256(data), account.private_key)


def faulted(raw):
    with pytest.raises(InvalidTransaction) as error:
        decode_transaction(raw)
    return error.value.fault


# --- D5: addresses, signatures, ids --------------------------------------------------


def test_an_address_is_of_the_uncompressed_key(chain):
    """Address = last 20 bytes of keccak256 of the uncompressed public key."""
    for account in chain.accounts:
        public = coincurve.PrivateKey(account.private_key).public_key
        point = public.format(compressed=False)[1:]
        assert len(point) == 64
        assert account.address == keccak256(point)[12:]


def test_a_transaction_is_its_body_and_a_signature_of_its_hash(chain):
    """`body + r‖s‖v`; over keccak256(body as transmitted); the sender is recovered."""
    body = body_of()
    raw = signed(body, chain.accounts[3])
    transaction = decode_transaction(raw)
    assert len(raw) == len(body.encode()) + 65
    assert transaction.body == body
    assert transaction.sender == chain.accounts[3].address
    assert transaction.raw == raw
    assert raw[-1] in (0, 1)


def test_the_id_covers_body_and_signature(chain):
    """Transaction id = keccak256(body ‖ signature)."""
    raw = signed(body_of(), chain.accounts[0])
    assert decode_transaction(raw).id == keccak256(raw)


def test_v_is_0_or_1_never_27(chain):
    raw = signed(body_of(), chain.accounts[0])
    for v in (2, 3, 27, 28, 255):
        assert faulted(raw[:-1] + bytes([v])) is TransactionFault.BAD_SIGNATURE


def test_a_high_s_is_refused(chain):
    """Low-s only: the other form of the same signature is none."""
    raw = signed(body_of(), chain.accounts[0])
    high = (ORDER - int.from_bytes(raw[-33:-1], "big")).to_bytes(32, "big")
    flipped = raw[:-33] + high + bytes([1 - raw[-1]])
    assert faulted(flipped) is TransactionFault.BAD_SIGNATURE


# --- D5: the body --------------------------------------------------------------------


def test_the_body_is_one_array_in_this_order():
    """The chain id, nonce, limits, four fees and `[number, fields…]`, in order."""
    body = Body(1, 2, 3, 4, 5, 6, 7, 8, Transfer(THERE, 9))
    assert codec.decode(body.encode()) == [1, 2, 3, 4, 5, 6, 7, 8, [1, THERE, 9]]


@pytest.mark.parametrize(
    ("instruction", "fields"),
    [
        (Transfer(THERE, 9), [1, THERE, 9]),
        (DeployActor(bytes(32), b"c", b"p", 3), [51, bytes(32), b"c", b"p", 3]),
        (ExecuteActor(THERE, "h", b"p", 3), [230, THERE, "h", b"p", 3]),
        (CancelTimer(b"i"), [48, b"i"]),
        (ExtendTimer(b"i", 7), [50, b"i", 7]),
        (ScheduleActivation(9, "fifo"), [240, 9, "fifo"]),
        (
            UpdateTimerConfig(TimerConfig()),
            [
                49,
                [
                    *(2_592_000, 550_000, 550_000, 1_024, 5_000_000, 2_000_000),
                    *(250_000, 1_000, [800, 1_000, 1_500, 2_500], 10_000),
                    *(1_000_000, 1_000),
                ],
            ],
        ),
        (
            UpdateBasefeeConfig(BasefeeConfig()),
            [44, [10_000_000, 500_000, 8, 8, 1]],
        ),
        (
            UpdateBiddingConfig(BiddingConfig()),
            [238, [200, 250_000, 2_000_000, 1_500_000]],
        ),
        (ResetWeights(), [239]),
        (
            UpdateGlobalboxConfig(GlobalboxConfig()),
            [
                237,
                [128, 8, 4_096, 2**96, 1, 1_000, 0, 2**128 - 1, 16, 1_000, 1_048_576],
            ],
        ),
        (Fund(THERE, 9), [241, THERE, 9]),
        (SetBalance(THERE, 9), [242, THERE, 9]),
        (UpgradeActor(THERE, b"c", b"p"), [43, THERE, b"c", b"p"]),
        (SetStorage(THERE, b"k", b"v"), [243, THERE, b"k", b"v"]),
        (SetStorage(THERE, b"k", None), [243, THERE, b"k", None]),
        (SetCode(THERE, b"c"), [244, THERE, b"c"]),
    ],
)
def test_every_instruction_has_its_number_and_fields(chain, instruction, fields):
    """D5's list, 238, 239 and D41's 241, 242; D58's 43, 243, 244."""
    body = body_of(instruction)
    assert codec.decode(body.encode())[8] == fields
    assert decode_transaction(signed(body, chain.accounts[0])).body == body


U64, U128 = 2**64 - 1, 2**128 - 1


def test_amounts_and_prices_are_u128_the_rest_u64(chain):
    """Amounts and prices u128, the rest u64; one more is malformed."""
    maxima = [U64, U64, U64, U64, U128, U128, U128, U128]
    fits = codec.encode([*maxima, [1, THERE, U128]])
    assert decode_transaction(fits + signed(body_of(), chain.accounts[0])[-65:])
    for place, maximum in enumerate(maxima):
        for wrong in (maximum + 1, -1, True, b"", "1", None):
            items = [*maxima, [1, THERE, 0]]
            items[place] = wrong
            assert faulted(codec.encode(items) + bytes(65)) is (
                TransactionFault.MALFORMED
            )


@pytest.mark.parametrize(
    "instruction",
    [
        [],
        [2, THERE, 1],
        [True, THERE, 1],
        [1, THERE],
        [1, THERE, 1, 1],
        [1, THERE[1:], 1],
        [1, "t" * 20, 1],
        [1, THERE, U128 + 1],
        [51, bytes(31), b"", b"", 0],
        [51, bytes(32), "code", b"", 0],
        [230, THERE, b"handler", b"", 0],
        [230, THERE, "h" * 257, b"", 0],
        [48, b""],
        [48, bytes(257)],
        [50, b"i", U64 + 1],
        [44, [1, 2, 3, 4]],
        [44, 1, 2, 3, 4, 5],
        [49, [1] * 12],
        [240, 1, 2],
        {},
        7,
    ],
)
def test_what_has_another_form_is_malformed(instruction):
    data = codec.encode([100, 0, 0, 0, 0, 0, 0, 0, instruction])
    assert faulted(data + bytes(65)) is TransactionFault.MALFORMED


def test_what_does_not_re_encode_to_itself_is_malformed(chain):
    """Deterministic CBOR (RFC 8949 §4.2.1)."""
    data = codec.encode([100, 0, 0, 0, 0, 0, 0, 0, [1, THERE, 5]])
    assert data[:3] == bytes([0x89, 0x18, 100])
    longer = [
        b"\x89\x19\x00\x64" + data[3:],  # 100 in three bytes
        b"\x98\x09" + data[1:],  # the array's head in two
        b"\x9f" + data[1:] + b"\xff",  # an indefinite array
        data + b"\x00",
        data[:-1],
        b"",
    ]
    for body in longer:
        key = chain.accounts[0].private_key
        raw = body + sign(keccak256(body), key)
        assert faulted(raw) is TransactionFault.MALFORMED


def test_a_body_has_at_most_1_200_000_bytes(chain):
    """Body at most 1,200,000 bytes."""
    frame = len(body_of(ExecuteActor(THERE, "h", b"", 0)).encode())
    payload = bytes(1_200_000 - frame - 4)  # a long payload's head has 5 bytes
    body = body_of(ExecuteActor(THERE, "h", payload, 0))
    assert len(body.encode()) == 1_200_000
    assert decode_transaction(signed(body, chain.accounts[0])).body == body
    longer = body_of(ExecuteActor(THERE, "h", payload + b"\0", 0))
    assert faulted(signed(longer, chain.accounts[0])) is TransactionFault.TOO_LARGE


# --- D5: admission and inclusion -----------------------------------------------------


def admit(chain, body, sender=0, **options):
    transaction = decode_transaction(signed(body, chain.accounts[sender]))
    validate_admission(chain.state, transaction, **options)


def refused(chain, body, **options):
    with pytest.raises(InvalidTransaction) as error:
        admit(chain, body, **options)
    return error.value


def test_admission_refuses_with_a_typed_reason(chain):
    """Wrong chain, used or too far nonce, limits below intrinsic or above the block."""
    chain.transfer(THERE, 1)
    admit(chain, body_of(nonce=1))
    admit(chain, body_of(nonce=65))
    lane = chain.params.lane_user_cycles
    cells = chain.params.block_cells - 1_200_000
    admit(chain, body_of(nonce=1, cycles_limit=lane, cells_limit=cells))
    intrinsic = 500 + len(body_of(nonce=1, cells_limit=600).encode())
    admit(chain, body_of(nonce=1, cycles_limit=5_000, cells_limit=intrinsic))
    for fields, fault in [
        ({"chain_id": 101}, TransactionFault.WRONG_CHAIN),
        ({"nonce": 0}, TransactionFault.NONCE_USED),
        ({"nonce": 66}, TransactionFault.NONCE_TOO_FAR),
        ({"cycles_limit": 4_999}, TransactionFault.LIMIT_BELOW_INTRINSIC),
        ({"cells_limit": intrinsic - 1}, TransactionFault.LIMIT_BELOW_INTRINSIC),
        ({"cycles_limit": lane + 1}, TransactionFault.LIMIT_ABOVE_BLOCK),
        ({"cells_limit": cells + 1}, TransactionFault.LIMIT_ABOVE_BLOCK),
    ]:
        assert refused(chain, body_of(**{"nonce": 1, **fields})).fault is fault


def test_what_no_block_can_take_is_not_told_to_raise_its_limits(chain):
    """D6: 100 cycles and 200 cells a byte of code, and a block has 20,000,000."""
    code = DeployActor(bytes(32), bytes(100_000), b"", 0)
    error = refused(chain, body_of(code, cells_limit=1))
    assert error.fault is TransactionFault.TOO_LARGE
    assert error.numbers["cells_required"] > chain.params.transaction_cells_max
    smaller = DeployActor(bytes(32), bytes(65_536), b"", 0)
    fault = refused(chain, body_of(smaller, cells_limit=1)).fault
    assert fault is TransactionFault.LIMIT_BELOW_INTRINSIC


@pytest.mark.parametrize(
    "instruction",
    [
        Transfer(THERE, 700),
        DeployActor(bytes(32), b"", b"", 700),
        ExecuteActor(THERE, "h", b"", 700),
    ],
)
def test_affordable_means_limits_at_maximum_fees_and_the_amount(chain, instruction):
    """`cycles_limit * max_fee_cycle + cells_limit * max_fee_cell + amount or value`."""
    body = body_of(
        instruction,
        cycles_limit=60_000,
        cells_limit=20_000,
        max_fee_per_cycle=3_000,
        max_fee_per_cell=1_700,
    )
    price = 60_000 * 3_000 + 20_000 * 1_700 + 700
    chain.execute(SetBalance(chain.accounts[1].address, price))
    admit(chain, body, sender=1)
    # … together with the sender's queued ones
    error = refused(chain, body, sender=1, queued_cost=1)
    assert error.fault is TransactionFault.INSUFFICIENT_BALANCE
    assert error.numbers == {"required": price + 1, "available": price}
    chain.execute(SetBalance(chain.accounts[1].address, price - 1))
    error = refused(chain, body, sender=1)
    assert error.fault is TransactionFault.INSUFFICIENT_BALANCE


def test_a_refused_transaction_is_charged_nothing(chain):
    before = chain.account(chain.accounts[1])
    with pytest.raises(TransactionRefused):
        chain.execute(
            Transfer(THERE, 10**19), sender=chain.accounts[1],
            cycles_limit=5_000, cells_limit=1_000,
        )  # fmt: skip
    assert chain.account(chain.accounts[1]) == before
    assert chain.last.is_empty


def test_no_longer_affordable_at_inclusion_is_dropped_with_its_reason(chain):
    """Checked again at inclusion; invalid in a received block."""
    rich, poor = chain.accounts[:2]
    everything = chain.balance(poor)
    first = body_of(Transfer(THERE, everything // 2))
    second = body_of(Transfer(THERE, everything * 3 // 5), nonce=1)
    chain.submit_raw(signed(first, poor))
    chain.submit_raw(signed(second, poor))
    result = chain.mine()
    assert [t.body for t in result.block.transactions] == [first]
    ((dropped, error),) = result.rejected
    assert dropped.body == second
    assert error.fault is TransactionFault.INSUFFICIENT_BALANCE
    assert not error.may_wait
    assert chain.account(rich).nonce == 0

    parent = chain.state
    good = build_block(parent, [decode_transaction(signed(body_of(nonce=1), poor))])
    bad = replace(good.block, transactions=(dropped,))
    with pytest.raises(InvalidBlock, match="base units"):
        apply_block(parent, bad)


def test_a_maximum_fee_below_the_basefee_waits(chain):
    """Max fee below the basefee: waits in the pool."""
    for price in ("max_fee_per_cycle", "max_fee_per_cell"):
        transaction = decode_transaction(
            signed(body_of(**{price: 999}), chain.accounts[0])
        )
        validate_admission(chain.state, transaction)
        ((_, error),) = build_block(chain.state, [transaction]).rejected
        assert error.fault is TransactionFault.MAX_FEE_BELOW_BASEFEE
        assert error.may_wait


def test_nonces_are_taken_in_order(chain):
    ahead = decode_transaction(signed(body_of(nonce=1), chain.accounts[0]))
    ((_, error),) = build_block(chain.state, [ahead]).rejected
    assert error.fault is TransactionFault.NONCE_GAP
    assert error.may_wait


def test_impersonated_bytes_name_their_sender():
    """D41: 45 zero bytes ‖ sender20 in place of a signature."""
    raw = impersonate(body_of().encode(), THERE)
    assert raw[-65:] == bytes(45) + THERE
    assert decode_transaction(raw).sender == THERE


@pytest.mark.parametrize(
    "instruction",
    [
        Transfer(THERE, 9),
        DeployActor(bytes(32), b"c", b"p", 3),
        ExecuteActor(THERE, "h", b"p", 3),
        CancelTimer(b"i"),
        ExtendTimer(b"i", 7),
        ScheduleActivation(9, "fifo"),
        UpdateTimerConfig(TimerConfig()),
        UpdateBasefeeConfig(BasefeeConfig()),
        UpdateBiddingConfig(BiddingConfig()),
        UpdateBiddingConfig(BiddingConfig(weight_max=2**64)),
        ResetWeights(),
        UpdateGlobalboxConfig(GlobalboxConfig()),
        UpdateGlobalboxConfig(GlobalboxConfig(max_bid_fp=2**128)),
        Fund(THERE, 9),
        SetBalance(THERE, 9),
        UpgradeActor(THERE, b"c", b"p"),
        SetStorage(THERE, b"k", None),
        SetStorage(THERE, b"", None),
        SetCode(THERE, b"c"),
        Transfer(THERE[1:], 9),
        Transfer(THERE, -1),
        ExecuteActor(THERE, b"h", b"p", 3),
        ExecuteActor(THERE, "h", bytes(1_200_000), 3),
    ],
)
def test_what_is_impersonated_without_bytes_is_what_the_bytes_say(instruction):
    """One meaning: `impersonated` leaves nothing out that reading would refuse."""

    def read(make):
        try:
            return make()
        except InvalidTransaction as error:
            return error.fault, str(error), error.numbers

    for fields in ({}, {"nonce": 2**64}, {"max_fee_per_cell": True}):
        body = body_of(instruction, **fields)
        of_bytes = read(lambda: decode_transaction(impersonate(body.encode(), THERE)))  # noqa: B023 - called at once
        assert read(lambda: impersonated(body, THERE)) == of_bytes  # noqa: B023
