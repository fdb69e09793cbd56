"""Of `Client`, `AsyncClient`, and the calls of the node's API beneath them."""

import asyncio
from pathlib import Path
from typing import assert_type

from node.chain.block import Receipt
from node.chain.transaction import (
    DeployActor,
    ExecuteActor,
    Fund,
    SetBalance,
    Transfer,
)
from node.client import (
    AccountProof,
    Actor,
    Api,
    AsyncActor,
    AsyncApi,
    AsyncChain,
    AsyncClient,
    AsyncSentReceipt,
    AsyncSnapshot,
    BadProof,
    BlockOpen,
    BundleRefused,
    Chain,
    ChainClosed,
    Changes,
    Client,
    DevAccount,
    DueProof,
    DueTimers,
    EventFilter,
    ExecutionTrace,
    FireFailed,
    HistoryStop,
    InvalidArgument,
    LaneUseRange,
    NodeError,
    NodeUnreachable,
    OutcomeUnknown,
    Profile,
    Proven,
    QueueProof,
    ReadFailed,
    ReceiptProof,
    SentReceipt,
    Snapshot,
    StorageHistory,
    StorageProof,
    TimerFilter,
    TimerProof,
    TimerQuery,
    TransactionDropped,
    TransactionFailed,
    TransactionProof,
    TransactionRefused,
    UnknownId,
    Wallet,
    build_body,
    check_proof,
    draft,
)
from node.rpc.v1 import queries_pb2

REFUSALS = (
    BadProof,
    BlockOpen,
    BundleRefused,
    ChainClosed,
    FireFailed,
    InvalidArgument,
    NodeError,
    NodeUnreachable,
    OutcomeUnknown,
    ReadFailed,
    TransactionDropped,
    TransactionFailed,
    TransactionRefused,
    UnknownId,
)


def any_chain(chain: Chain, snapshot: Snapshot) -> int:
    """What is written for both kinds of chain."""
    snapshot.revert()
    return chain.height


def named(client: Client, actor: Actor) -> None:
    """Names, handlers as methods, and several transactions in one block."""
    client.label(actor, "clock")
    with client.block() as block:
        print(client.transfer(actor, 5), block.header)
    print(client.labels, actor.start().result, actor.read.beats())


def looked_back(client: Client, actor: Actor) -> Actor:
    """Many heights in few numbers, and what was."""
    assert_type(client.count_due(0, 9, 3), DueTimers)
    assert_type(client.lane_use(buckets=3), LaneUseRange)
    past = client.storage_history(actor, "beats", to_height=9)
    assert_type(past, StorageHistory)
    print(past.changes[0].before, past.stop is HistoryStop.BOUND, past.next_height)
    return actor


def used(client: Client, source: str, folder: Path) -> None:
    """Every method of a client."""
    alice, bob = client.accounts[:2]
    assert_type(alice, DevAccount)
    actor = client.deploy(source, sender=alice, value="5 CBY")
    assert_type(actor, Actor)
    named(client, looked_back(client, actor))
    assert client.actor(actor.address).source == actor.source
    receipt = actor.call("start", sender=alice)
    assert_type(receipt, SentReceipt)
    transfer = Transfer(bob.address, 5)
    identity = client.submit(transfer, sender=alice)
    assert_type(client.wait_for(identity, timeout=5), Receipt)
    assert_type(client.execute(transfer, expect_failure=False), SentReceipt)
    print(client.transfer(bob, 5), client.fund(bob, 5), client.set_balance(bob, 5))
    assert_type(actor.upgrade(folder / "new.py", b"go"), SentReceipt)
    print(client.set_storage(actor, "n", 5), client.set_code(actor, source))
    print(client.code_versions(actor)[0].height, client.upgrade(bob, source))
    print(client.balance(bob), client.nonce(bob), client.block(), client.events("t"))
    print(client.mine(), client.advance(blocks=2), client.simulate(3))
    print(
        client.read(actor, "beats"),
        client.storage(actor),
        client.receipts(),
        client.storage_entry(actor, "key"),
        client.head,
        client.timestamp_ms,
        client.costs(1, 9, actor).actors[0].lines[3].cycles,
        client.costs().folded(),
    )
    print(client.queue(actor)[0].place.tip, client.watches(watched=actor)[0].status)
    for timer in client.timers(actor):
        print(client.queue_place(timer.timer_id), client.queue(), client.watches())
        print(client.timer(timer.timer_id), client.explain(timer.timer_id))
        print(client.standing(timer.timer_id), client.queue_place(timer.timer_id))
    assert_type(receipt.trace, ExecutionTrace)
    assert_type(receipt.changes, Changes)
    assert_type(client.trace(receipt.id, 3), ExecutionTrace)
    assert_type(client.changes(), Changes)
    print(client.trace_read(actor, "beats").call.steps, receipt.printed)
    print(client.quote(actor, blocks=3), client.explain_block(client.height))
    with client.snapshot() as snapshot:
        print(any_chain(client, snapshot))
    with client.profile() as profile:
        assert_type(profile, Profile)
    for block in client.stream_blocks():
        print(block.block.header.height)
    for event in client.stream_events(EventFilter(topics=("beat",))):
        print(event.cursor.block.height)
    for change in client.stream_timers(TimerFilter(actors=(actor.address,))):
        print(change.cursor.block.height)
    print(client.import_bundle(client.export_bundle(folder / "chain")))
    client.is_strict = True
    client.close()


def asked_of_instructions(client: Client, actor: Actor) -> None:
    """Amounts of instructions are plain ints of base units."""
    for instruction in (
        Transfer(actor.address, 5),
        DeployActor(bytes(32), b"", b"", 5),
        ExecuteActor(actor.address, "start", b"", value=5),
        Fund(actor.address, 10**9),
        SetBalance(actor.address, 0),
    ):
        client.execute(instruction)


def called(api: Api, wallet: Wallet, actor: bytes, timer: bytes) -> None:
    """Every call of the API that acts."""
    transfer = Transfer(wallet.address, 1)
    wanted = draft(wallet.address, transfer)
    print(api.prepare(wanted), api.estimate_limits(wanted), api.simulate(wanted))
    print(api.simulate_blocks(3), api.execute(wallet, transfer))
    body = build_body(transfer, chain_id=100, nonce=0, limits=(9, 9), max_fees=(9, 9))
    raw = wallet.sign(body)
    print(api.submit(raw), api.submit_and_wait(raw), api.fund(actor, 5))
    print(api.set_storage(actor, b"k", None), api.set_code(actor, b"x = 1"))
    print(api.set_balance(actor, 5), api.mine(), list(api.advance(blocks=1)))
    print(
        api.set_mining(queries_pb2.MINING_MODE_MANUAL),
        api.create_snapshot("a"),
        api.snapshots(),
    )
    print(api.revert_to_snapshot("a"), api.import_bundle(api.export_bundle()))
    api.delete_snapshot("a")
    with api.hold_time() as head:
        print(head.height, api.reset().height)
    asked(api, wallet.address, actor, timer)
    api.close()


def asked(api: Api, address: bytes, actor: bytes, timer: bytes) -> None:
    """Every call of the API that only asks."""
    api.ready(5)
    print(api.status(include_supply=True), api.params(), api.account(address))
    print(api.actor(actor), api.storage(actor, "key"), list(api.list_storage(actor)))
    print(api.read(actor, "beats"), api.block(1), api.block_profile(1))
    print(api.trace_transaction(bytes(32)), api.trace_timer(bytes(32), 5))
    print(api.trace_block(1), next(api.stream_output([actor])), list(api.queue()))
    print(next(api.stream_costs(1, 9, actor=actor)).summary.last_height)
    print(list(api.blocks(0)), api.transaction(timer), api.timer(timer))
    print(list(api.timers(TimerQuery(actor=actor))), api.explain_timer(timer))
    print(list(api.explain_block(1)), list(api.explain_block_pages(1)))
    print(api.stream_blocks(), api.stream_events(), api.stream_timers())
    for subject in (
        AccountProof(address),
        StorageProof(actor, "key"),
        TimerProof(timer),
        DueProof(1, 9),
        QueueProof(),
        ReceiptProof(3, 0),
        TransactionProof(timer),
    ):
        assert_type(api.prove(subject), Proven)
    print(check_proof, api.quote_timer, api.count_due_timers(0, 9).buckets[0].pending)
    print(api.lane_use(buckets=9).limits, next(api.stream_storage_history(actor)).end)


async def awaited(client: AsyncClient, source: str) -> None:
    """The same with an event loop: what differs is only who waits."""
    actor = await client.deploy(source, sender=client.accounts[0])
    assert_type(actor, AsyncActor)
    assert_type(await actor.call("start"), AsyncSentReceipt)
    assert_type(await actor.start(b""), AsyncSentReceipt)
    print(await actor.read.beats(), await actor.read("beats"))
    async with await client.block() as block:
        print(await actor.start(), block.receipts)
    assert_type(await client.height, int)
    assert_type(client.api, AsyncApi)
    async with await client.snapshot() as snapshot:
        print(await any_chain_awaited(client, snapshot))
    async with client.profile() as profile:
        assert_type(profile, Profile)
    async for block in client.stream_blocks():
        print(block.block.header.height)
    await client.close()


async def any_chain_awaited(chain: AsyncChain, snapshot: AsyncSnapshot) -> int:
    """What is written for any chain with an event loop."""
    await snapshot.revert()
    return await chain.height


async def main() -> None:
    """Connections close themselves."""
    async with AsyncClient("127.0.0.1:50051") as client:
        await awaited(client, "")


with Client("127.0.0.1:50051", timeout=5, token=None) as _client:
    used(_client, "", Path())
asyncio.run(main())
