"""The synchronous client is the twin of the asynchronous one, and light to import."""

import asyncio
import inspect
import subprocess
import sys

import pytest

import node.client
from node.chain.transaction import DeployActor, ExecuteActor, Transfer
from node.client import (
    Api,
    AsyncApi,
    NodeError,
    NodeUnreachable,
    StorageProof,
    Wallet,
    draft,
)
from node.client.channels import Endpoint
from node.client.exceptions import TransactionDropped
from node.client.messages import committed_of, sign_prepared
from node.primitives.crypto import keccak256
from node.rpc.v1 import queries_pb2, streams_pb2, transactions_pb2, types_pb2

ALICE, BOB = Wallet.dev(0), Wallet.dev(1)
TO_BOB = Transfer(BOB.address, 5)


def test_both_clients_have_the_same_methods():
    def methods(cls):
        return {
            name: list(inspect.signature(method).parameters)
            for name, method in vars(cls).items()
            if callable(method) and not name.startswith("_")
        }

    assert methods(Api) == methods(AsyncApi)


def name_and_return(client):
    named = client.create_snapshot("base")
    assert client.snapshots() == [named]
    client.mine()
    assert client.revert_to_snapshot("base").height == named.block.height
    client.delete_snapshot("base")
    assert client.snapshots() == []


def change_accounts(client, actor):
    client.set_balance(BOB.address, 9)
    assert client.account(BOB.address).balance == "9"
    assert client.set_storage(actor, b"said", b"ho").receipt.fee == "0"
    assert client.set_code(actor, b"x = 1").receipt.actor == actor
    old, new = client.actor(actor).versions
    assert old.height < new.height
    assert new.code_hash == keccak256(b"x = 1")


def use_every_method(url, source):
    with Api(url) as client:
        assert client.status().chain_id == client.params().chain_id == 100
        deployed = client.execute(ALICE, DeployActor(bytes(32), source, b"", 10**12))
        actor = deployed.receipt.actor
        committed = client.execute(ALICE, ExecuteActor(actor, "start", b"\x05", 0))
        (timer_id,) = committed.receipt.scheduled_timer_ids
        assert client.timer(timer_id).timer.id == timer_id
        assert [timer.id for timer in client.timers()] == [timer_id]
        client.execute(ALICE, ExecuteActor(actor, "say", b"hi", 0))
        assert client.prove(StorageProof(actor, b"said")).record == b"hi"
        assert client.storage(actor, b"said").value == b"hi"
        assert [entry.key for entry in client.list_storage(actor)] == [b"said"]
        assert client.read(actor, "said").value == b"hi"
        assert client.actor(actor).live_timers == 1
        assert client.simulate(draft(ALICE.address, TO_BOB)).receipt.cycles_used
        assert client.estimate_limits(draft(ALICE.address, TO_BOB)).cycles_limit
        prepared = client.prepare(draft(ALICE.address, TO_BOB))
        submitted = client.submit(ALICE.sign_encoded(prepared.body))
        raw_id = client.transaction(submitted.id)
        assert raw_id.WhichOneof("outcome") in {"pending", "committed"}
        assert client.mine().height >= 4
        assert [b.header.height for b in client.blocks()][:2] == [0, 1]
        genesis = client.block(0).header
        place = types_pb2.BlockRef(height=0, hash=genesis.hash)
        stream = client.stream_blocks(place)
        assert next(stream).block.header.height == 1
        stream.close()
        assert client.fund(BOB.address, 1).receipt.fee == "0"
        change_accounts(client, actor)
        events = client.stream_events(resume_after=None)
        events.close()
        stream = client.stream_timers(resume_after=streams_pb2.TimerCursor(block=place))
        assert next(stream).change.timer_id == timer_id
        stream.close()
        client.set_mining(queries_pb2.MINING_MODE_MANUAL)
        name_and_return(client)
        assert client.reset() == genesis
        with pytest.raises(NodeError):
            client.submit_and_wait(b"")


def test_the_synchronous_client_serves_without_an_event_loop(run_node, source):
    async def scenario():
        async with run_node() as served:
            await asyncio.to_thread(use_every_method, served.url, source)

    asyncio.run(scenario())


def test_a_node_that_is_not_there_is_unreachable():
    with Api("127.0.0.1:1", timeout=2) as client, pytest.raises(NodeUnreachable):
        client.status()


@pytest.mark.parametrize(
    ("url", "is_tls"),
    [
        ("h:1", False),
        ("http://h:1", False),
        ("grpc://h:1/", False),
        ("https://h:1", True),
        ("grpcs://h:1/", True),
    ],
)
def test_an_address_may_look_like_a_url(url, is_tls):
    endpoint = Endpoint(url)
    assert endpoint.target == "h:1"
    assert (endpoint.credentials is not None) is is_tls


def test_a_body_that_asks_something_else_is_not_signed():
    other = ALICE.sign(
        node.client.build_body(
            TO_BOB, chain_id=1, nonce=0, limits=(1, 1), max_fees=(1, 1)
        )
    )[:-65]
    for body in (other, b"nonsense"):
        prepared = transactions_pb2.PrepareResponse(body=body)
        with pytest.raises(NodeError, match="another transaction"):
            sign_prepared(prepared, ALICE, Transfer(BOB.address, 6))


def test_a_dropped_transaction_raises_with_its_reason():
    dropped = types_pb2.DroppedTransaction(
        id=b"1", reason="REPLACED", message="m", metadata={"nonce": "3"}
    )
    response = transactions_pb2.SubmitAndWaitResponse(dropped=dropped)
    with pytest.raises(TransactionDropped) as error:
        committed_of(response)
    assert (error.value.reason, error.value.metadata) == ("REPLACED", {"nonce": "3"})


def imported_by(statement):
    script = f"{statement}\nimport sys\nprint(*sorted(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


def test_a_client_loads_neither_leveldb_nor_the_engine():
    loaded = imported_by("from node.client import Client, AsyncClient, BadProof")
    assert not loaded & {"plyvel", "structlog", "rich", "click", "uvloop"}
    engine = ("node.runtime", "node.archive", "node.query.", "node.mempool")
    values = {
        "node.state.keys",
        "node.query.forecasts",
        "node.query.forecasts.lane_position",
        "node.query.height_ranges",
        "node.query.queue_place",
        "node.query.trace",
        "node.query.trace.records",
    }
    found = {name for name in loaded if name.startswith((*engine, "node.state."))}
    assert found <= values


def test_a_wallet_does_not_load_grpc():
    loaded = imported_by("from node.client import Wallet")
    assert not loaded & {"grpc", "google.protobuf"}


def test_names_are_imported_when_they_are_used():
    loaded = imported_by("import node.client")
    assert "node.client.wallet" not in loaded
    assert sorted(dir(node.client)) == sorted(node.client.__all__)
    with pytest.raises(AttributeError):
        node.client.Nothing  # noqa: B018
