"""`GetProof`: what a node proves, and that nothing else passes for it (D24, D38)."""

import asyncio
from types import SimpleNamespace

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from node import query
from node.chain.accounts import decode_account
from node.chain.params import U64_MAX
from node.chain.timers.calendar import stop_after
from node.chain.transaction import DeployActor, ExecuteActor
from node.cli import proofs
from node.client import (
    AccountProof,
    AsyncApi,
    BadProof,
    DueProof,
    NodeError,
    ReceiptProof,
    StorageProof,
    TimerProof,
    TransactionProof,
    Wallet,
    check_proof,
)
from node.primitives import codec
from node.primitives.crypto import blake2b256
from node.primitives.merkle import ProofTooLarge, Tree
from node.primitives.proof import verify
from node.query.proofs import PROOF_BYTES_MAX
from node.rpc import convert, requests
from node.rpc.v1 import queries_pb2 as pb
from node.rpc.v1 import queries_pb2_grpc
from node.state import keys
from node.state.commitment import CALENDAR, open_tree

ALICE = Wallet.dev(0)
ABSENT = b"\x99" * 20
MANY = b"""
import pvm_host

def start(payload):
    first, count, size = pvm_host.cbor_decode(payload)
    ids = []
    for number in range(count):
        height = pvm_host.block_height() + first + number
        ids.append(pvm_host.schedule_timer(height, b"x" * size, None, 2000))
    return ids

def say(payload):
    pvm_host.set_state(b"said", payload)
"""


def ask(chain, subject):
    """What a node would answer at the head."""
    return convert.proof_to_proto(
        requests.proof_from_proto(subject.request())(chain.state)
    )


def prove(chain, subject, block_hash=None):
    return check_proof(subject, ask(chain, subject), block_hash)


@pytest.fixture
def world(chain):
    """An actor with forty timers and an entry, and a few blocks."""
    chain.actor = chain.deploy(MANY)
    payload = codec.encode([5, 40, 4])
    chain.ids = chain.call(chain.actor, "start", payload).receipts[0].scheduled
    chain.call(chain.actor, "say", b"hi")
    chain.run(2)  # up to the height before the first
    return chain


def subjects_of(world):
    said = world.results[-2].block.transactions[0].id
    return [
        AccountProof(world.actor),
        AccountProof(ABSENT),
        StorageProof(world.actor, b"said"),
        StorageProof(world.actor, "never"),
        TimerProof(world.ids[7]),
        DueProof(0, world.state.head.height),
        DueProof(world.state.head.height + 3, world.state.head.height + 5),
        ReceiptProof(2, 0),
        ReceiptProof(2, 1),
        TransactionProof(said),
    ]


def test_what_is_there_is_proven_with_its_record(world):
    head = world.state.head
    proven = prove(world, AccountProof(world.actor), head.hash())
    assert decode_account(proven.record) == query.account(world.state, world.actor)
    assert (proven.header, proven.block_hash) == (head, head.hash())
    assert prove(world, StorageProof(world.actor, b"said")).record == b"hi"
    live = query.timer(world.state, world.ids[0]).timer
    proven = prove(world, TimerProof(world.ids[0]))
    assert proven.places == ((live.height, live.sequence),)
    assert proven.record == live.encode()


def test_a_name_is_a_key_of_self_storage(chain, source):
    actor = chain.deploy(source)
    chain.call(actor, "count")
    assert codec.decode(prove(chain, StorageProof(actor, "count")).record) == 7


def test_what_is_not_there_is_proven_to_be_absent(world):
    assert prove(world, AccountProof(ABSENT)).record is None
    assert prove(world, StorageProof(world.actor, b"else")).record is None
    assert prove(world, StorageProof(ABSENT, "name")).record is None
    assert prove(world, ReceiptProof(1, 99)).record is None
    assert prove(world, ReceiptProof(1, U64_MAX)).record is None


def test_nothing_is_due_between_two_heights(world):
    """D24: "nothing is due between A and B" is provable near and far."""
    head = world.state.head.height
    first = query.timer(world.state, world.ids[0]).timer.height
    assert prove(world, DueProof(0, first - 1)).records == ()
    assert prove(world, DueProof(first + 40)).records == ()
    assert prove(world, DueProof(2**63, U64_MAX)).records == ()
    assert prove(world, DueProof(U64_MAX)).places == ()
    assert first > head
    found = prove(world, DueProof(first + 1, first + 3)).places
    assert found == tuple((first + 1 + n, 1 + n) for n in range(3))
    assert len(prove(world, DueProof(0)).records) == 40


def test_a_receipt_is_proven_under_the_root_of_its_block(world):
    result = world.results[2]
    proven = prove(world, ReceiptProof(2, 0), result.block.header.hash())
    assert proven.record == result.receipts[0].encode()
    run = prove(world, ReceiptProof(world.state.head.height - 1, 0))
    assert (run.record, run.block_hash) == (None, world.state.head.hash())
    called = result.block.transactions[0]
    assert prove(world, TransactionProof(called.id)).record == proven.record


def test_a_receipt_shown_is_the_one_committed_to(world):
    for result in world.results:
        height = result.block.header.height
        for receipt in result.receipts:
            shown = convert.receipt_to_proto(receipt, height)
            assert proofs.receipt_record(shown) == receipt.encode()


# --- nothing else passes --------------------------------------------------------------


def flips(answer):
    """The answer with each single bit of it flipped, one after another."""
    names = ("header", "globals_hash", "state_tree_root", "calendar_root", "proof")
    places = [(answer, name) for name in names]
    places += [(record, name) for record in answer.records for name in ("key", "value")]
    for message, name in places:
        whole = getattr(message, name)
        for flipped in flipped_bits(whole):
            setattr(message, name, flipped)
            yield answer
        setattr(message, name, whole)


def flipped_bits(data):
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)


@pytest.mark.parametrize("which", [0, 4, 5, 9])
def test_every_flipped_bit_is_refused(world, which):
    subject = subjects_of(world)[which]
    answer = ask(world, subject)
    block_hash = blake2b256(answer.header)
    check_proof(subject, answer, block_hash)
    for other in flips(answer):
        with pytest.raises(BadProof):
            check_proof(subject, other, block_hash)


def test_a_proof_of_another_block_is_refused(world):
    subject = AccountProof(world.actor)
    old = ask(world, subject)
    world.call(world.actor, "say", b"other")
    with pytest.raises(BadProof, match="another block"):
        check_proof(subject, old, world.state.head.hash())
    grafted = ask(world, subject)
    grafted.proof = old.proof
    with pytest.raises(BadProof, match="another root"):
        check_proof(subject, grafted)
    grafted = ask(world, subject)
    grafted.state_tree_root = old.state_tree_root
    grafted.proof = old.proof
    with pytest.raises(BadProof, match="state root"):
        check_proof(subject, grafted)


def test_no_answer_passes_for_another_subjects(world):
    subjects = subjects_of(world)
    answers = [ask(world, subject) for subject in subjects]
    for at, subject in enumerate(subjects):
        for other, answer in enumerate(answers):
            # Both say that nothing is there, in one and the same bucket.
            is_same = not answer.records and answer == answers[at]
            if other != at and not is_same:
                passed = None
                try:
                    passed = check_proof(subject, answer)
                except BadProof:
                    continue
                expected = check_proof(subject, answers[at])
                assert passed.records == expected.records


def test_records_left_out_or_added_are_refused(world):
    subject = DueProof(0)
    answer = ask(world, subject)
    del answer.records[3]
    with pytest.raises(BadProof, match="not those"):
        check_proof(subject, answer)
    subject = AccountProof(ABSENT)
    answer = ask(world, subject)
    answer.records.add(key=blake2b256(keys.account(ABSENT)), value=b"rich")
    with pytest.raises(BadProof, match="not those"):
        check_proof(subject, answer)


@pytest.mark.parametrize(
    "header",
    [
        *(b"", b"\xff", codec.encode(None), codec.encode([]), codec.encode([0] * 13)),
        codec.encode([0] * 14),
        codec.encode([*([0] * 11), bytes(32), bytes(32), bytes(31)]),
        codec.encode([True, *([0] * 10), bytes(32), bytes(32), bytes(32)]),
    ],
)
def test_a_malformed_header_is_refused(world, header):
    answer = ask(world, AccountProof(ABSENT))
    answer.header = header
    with pytest.raises(BadProof, match="header is malformed"):
        check_proof(AccountProof(ABSENT), answer)


@pytest.mark.parametrize("value", [b"", b"\xff", codec.encode(5), codec.encode([])])
@pytest.mark.parametrize("subject", [TimerProof(b"x"), TransactionProof(bytes(32))])
def test_a_record_that_is_none_is_refused(world, subject, value):
    answer = ask(world, AccountProof(ABSENT))
    with pytest.raises(BadProof, match="one record"):
        check_proof(subject, answer)
    answer.records.add(key=bytes(16), value=value)
    with pytest.raises(BadProof):
        check_proof(subject, answer)


@given(st.binary(max_size=200), st.binary(max_size=40), st.integers(0, 3))
def test_whatever_a_node_answers_nothing_but_a_refusal_is_raised(proof, part, which):
    answer = pb.GetProofResponse(proof=proof, globals_hash=part, header=proof)
    answer.records.add(key=part, value=proof)
    subject = [AccountProof(ABSENT), DueProof(1), TimerProof(b"x"), ReceiptProof(1, 1)]
    with pytest.raises(BadProof):
        check_proof(subject[which], answer)


# --- bounds ---------------------------------------------------------------------------


def test_a_range_with_too_many_timers_is_refused_after_reading_a_few(chain):
    actor = chain.deploy(MANY)
    for _ in range(6):
        chain.call(actor, "start", codec.encode([100, 60, 0]))
    with pytest.raises(ProofTooLarge) as error:
        prove(chain, DueProof(0))
    assert error.value.bytes_max == PROOF_BYTES_MAX
    loaded = []
    snapshot = chain.state.snapshot

    def load(path):
        loaded.append(path)
        return snapshot.get(CALENDAR.page_prefix + path.encode())

    tree = Tree(load, CALENDAR.key_bytes)
    start, stop = keys.timer(0, 0)[1:], stop_after(2**62)[1:]
    with pytest.raises(ProofTooLarge):
        tree.prove(start, stop, 500)
    # D24's tree is walked as far as the bytes go, whatever lies in the range.
    assert len(loaded) < 12
    whole = tree.prove(start, stop)
    assert (
        len(verify(open_tree(snapshot, CALENDAR).root(), whole, start, stop, 16)) > 300
    )


def test_a_range_with_too_large_records_is_refused(chain):
    actor = chain.deploy(MANY, value=10**14)
    for _ in range(3):
        chain.call(actor, "start", codec.encode([100, 1, 60_000]))
    assert len(prove(chain, DueProof(0)).records) == 3
    limit = query.proofs.PAGE_BYTES_MAX
    records = ((b"%d" % number, bytes(limit // 2)) for number in range(3))
    with pytest.raises(ProofTooLarge):
        list(query.proofs._bounded(records))
    alone = [(b"", bytes(2 * limit))]
    assert list(query.proofs._bounded(alone)) == alone


def test_keys_that_strangers_choose_do_not_make_the_state_tree_deep():
    """D38: state keys are hashed, "so that nobody chooses the tree's depth"."""
    wide = [b"k" * 250 + bytes([n]) for n in range(200)]
    leaves = sorted((blake2b256(keys.storage(ABSENT, key)), bytes(32)) for key in wide)
    tree = Tree(Tree(lambda _path: None, 32).apply(leaves).pages.get, 32)
    sizes = [len(tree.prove(key, key + b"\0")) for key, _ in leaves]
    assert max(sizes) < 2_600


@pytest.mark.parametrize(("key_bytes", "nibbles"), [(32, 16), (16, 16)])
def test_a_path_of_ground_prefixes_stays_under_the_bound(key_bytes, nibbles):
    """Keys at H xor 2^k, for each of the first bits: 2^64 hashes of work (D38)."""
    target, bits = 0x1234567890ABCDEF << (8 * key_bytes - 64), 8 * key_bytes
    chosen = {
        (target ^ (1 << (bits - 1 - bit)) ^ low).to_bytes(key_bytes, "big")
        for bit in range(4 * nibbles)
        for low in range(25)
    }
    leaves = [(key, blake2b256(key)) for key in sorted(chosen)]
    tree = Tree(Tree(lambda _path: None, key_bytes).apply(leaves).pages.get, key_bytes)
    wanted = target.to_bytes(key_bytes, "big")
    proof = tree.prove(wanted, wanted + b"\0", PROOF_BYTES_MAX)
    assert verify(tree.root(), proof, wanted, wanted + b"\0", key_bytes) == []


# --- over the wire --------------------------------------------------------------------


REFUSED = [
    ({}, "INVALID_ARGUMENT", "field", "subject"),
    ({"account": b"short"}, "INVALID_ARGUMENT", "field", "account"),
    ({"storage": pb.StorageKey(actor=ABSENT)}, "INVALID_ARGUMENT", "field", "key"),
    ({"storage": pb.StorageKey(raw=b"k")}, "INVALID_ARGUMENT", "field", "actor"),
    (
        {"storage": pb.StorageKey(actor=ABSENT, raw=bytes(257))},
        *("INVALID_ARGUMENT", "field", "key"),
    ),
    ({"timer_id": b""}, "INVALID_ARGUMENT", "field", "timer_id"),
    ({"timer_id": bytes(32)}, "TIMER_NOT_FOUND", "sought", "00" * 32),
    (
        {"due": pb.DueRange(first_height=9, last_height=8)},
        *("INVALID_ARGUMENT", "field", "due"),
    ),
    ({"account": ABSENT, "at_height": 2**63}, "HEIGHT_NOT_REACHED", "head_height", "2"),
    (
        {"receipt": pb.ReceiptPlace(height=U64_MAX)},
        *("HEIGHT_NOT_REACHED", "height", str(U64_MAX)),
    ),
    ({"transaction_id": b"x"}, "INVALID_ARGUMENT", "field", "transaction_id"),
    ({"transaction_id": bytes(32)}, "TRANSACTION_NOT_FOUND", None, None),
]


def test_a_node_proves_and_refuses(run_node):
    async def scenario():
        async with run_node() as served, AsyncApi(served.url) as client:
            deployment = DeployActor(bytes(32), MANY, b"", 10**14)
            actor = (await client.execute(ALICE, deployment)).receipt.actor
            payload = codec.encode([900, 200, 1])
            await client.execute(ALICE, ExecuteActor(actor, "start", payload, 0))
            head = (await client.block()).header
            proven = await client.prove(AccountProof(actor), block_hash=head.hash)
            assert (proven.header.height, proven.block_hash) == (2, head.hash)
            with pytest.raises(BadProof, match="another block"):
                await client.prove(AccountProof(actor), block_hash=bytes(32))
            assert len((await client.prove(DueProof(900, 950))).records) == 49
            with pytest.raises(NodeError) as error:
                await client.prove(DueProof(0))
            assert error.value.reason == "PROOF_TOO_LARGE"
            assert error.value.metadata == {"bytes_max": str(PROOF_BYTES_MAX)}
            stub = queries_pb2_grpc.QueryServiceStub(client._channel)
            first = (await client.block(1)).header
            request = pb.GetProofRequest(account=actor, at_height=1)
            answer = await client._call(stub.GetProof, request)
            earlier = check_proof(AccountProof(actor), answer, first.hash)
            assert earlier.header.height == 1, "recent heights have proofs of their own"
            assert earlier.record != proven.record
            for fields, reason, name, value in REFUSED:
                request = pb.GetProofRequest(**fields)
                with pytest.raises(NodeError) as error:
                    await client._call(stub.GetProof, request)
                assert error.value.reason == reason, fields
                if name:
                    assert error.value.metadata[name] == value, fields

    asyncio.run(scenario())


def test_a_command_ends_when_the_node_proves_something_else(world, monkeypatch):
    told = []
    output = SimpleNamespace(is_json=False, line=told.append, error=told.append)

    def refuse(message):
        told.append(message)
        raise click.exceptions.Exit(1)

    connection = SimpleNamespace(channel=None, timeout=1, output=output, refuse=refuse)
    answer = ask(world, AccountProof(ABSENT))
    service = SimpleNamespace(GetProof=lambda _request, timeout: answer)  # noqa: ARG005
    monkeypatch.setattr(proofs, "QueryServiceStub", lambda _channel: service)
    prover = proofs.Prover(connection)
    prover.prove(AccountProof(ABSENT))
    prover.tell("it")
    name = world.state.head.hash().hex()
    assert told == [f"proven by block {world.state.head.height} with hash 0x{name}: it"]
    answer.proof = answer.proof[:-1]
    with pytest.raises(click.exceptions.Exit):
        prover.prove(AccountProof(ABSENT))
    assert told[-1].startswith("what the node answers is not proven")
