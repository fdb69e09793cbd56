"""An upgrade as clients of a node see it: streams, proofs, the past (D58)."""

import asyncio

from node.chain.accounts import decode_account
from node.chain.transaction import DeployActor, ExecuteActor, UpgradeActor
from node.client import AccountProof, Api, EventFilter, Wallet
from node.primitives import codec
from node.primitives.crypto import keccak256
from node.rpc.v1 import queries_pb2, streams_pb2, types_pb2

ALICE = Wallet.dev(0)
ONE = b"def version(): return 1\n"
TWO = b"""import pvm_host
def version(): return 2
def upgrade(payload): pvm_host.set_state(payload, payload)
"""


def version_at(client, actor, height=None):
    request = queries_pb2.CallReadOnlyRequest(
        actor=actor, handler="version", at_height=height
    )
    return client._queries.CallReadOnly(request, timeout=9).value


def upgraded_events(client, count):
    genesis = types_pb2.BlockRef(height=0, hash=client.block(0).header.hash)
    stream = client.stream_events(
        EventFilter(topics=("actor.upgraded",)), streams_pb2.EventCursor(block=genesis)
    )
    try:
        return [codec.decode(next(stream).event.data) for _ in range(count)]
    finally:
        stream.close()


def live_through_an_upgrade(url):
    with Api(url) as client:
        deploy = DeployActor(bytes(32), ONE, b"", 0)
        actor = client.execute(ALICE, deploy).receipt.actor
        assert version_at(client, actor) == b"\x01"
        client.create_snapshot("before")
        answer = client.execute(ALICE, UpgradeActor(actor, TWO, b"key"))
        height = answer.receipt.height
        assert answer.receipt.handler == "upgrade"
        assert [event.topic for event in answer.events] == ["actor.upgraded"]
        hashes = keccak256(ONE), keccak256(TWO)
        assert upgraded_events(client, 1) == [
            {"actor": actor, "old_code_hash": hashes[0], "code_hash": hashes[1]}
        ]
        proven = decode_account(client.prove(AccountProof(actor)).record)
        assert proven.code_hash == hashes[1]
        assert client.storage(actor, b"key").value == b"key"
        assert version_at(client, actor) == b"\x02"
        assert version_at(client, actor, height - 1) == b"\x01"
        assert [one.code_hash for one in client.actor(actor).versions] == [*hashes]
        client.revert_to_snapshot("before")
        assert version_at(client, actor) == b"\x01"
        assert [one.code_hash for one in client.actor(actor).versions] == [hashes[0]]
        call = ExecuteActor(actor, "version", b"", 0)
        assert client.execute(ALICE, call).receipt.value == b"\x01"
        client.execute(ALICE, UpgradeActor(actor, TWO, b"key"))
        assert version_at(client, actor) == b"\x02"


def test_an_upgrade_is_seen_by_streams_proofs_and_queries_of_the_past(run_node):
    async def scenario():
        async with run_node() as served:
            await asyncio.to_thread(live_through_an_upgrade, served.url)

    asyncio.run(scenario())
