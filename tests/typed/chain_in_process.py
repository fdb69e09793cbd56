"""Of `Devnet`, of what its methods answer, and of the pytest plugin's helpers."""

from pathlib import Path
from typing import assert_type

from node.chain.block import Event, Header, Receipt
from node.chain.timers.timer import Timer
from node.client import Actor, Chain, DevAccount, SentReceipt
from node.testing import (
    BlockOpen,
    BundleRefused,
    ChainSnapshot,
    Devnet,
    DevnetClosed,
    FireFailed,
    InvalidArgument,
    NodeNotStarted,
    NodeProcess,
    Profile,
    ReadFailed,
    RunningNode,
    SnapshotGone,
    Supply,
    TransactionFailed,
    TransactionRefused,
    UnknownId,
    assert_event,
    assert_fires_at,
)

REFUSALS = (
    BlockOpen,
    BundleRefused,
    DevnetClosed,
    FireFailed,
    InvalidArgument,
    NodeNotStarted,
    ReadFailed,
    SnapshotGone,
    TransactionFailed,
    TransactionRefused,
    UnknownId,
)


def deployed(chain: Devnet, source: str) -> Actor:
    """Deploy, fund, call, and look at what came of it."""
    alice = chain.accounts[0]
    assert_type(alice, DevAccount)
    actor = chain.deploy(source, sender=alice, value="5 CBY", payload=b"", salt=None)
    assert_type(actor, Actor)
    receipt = actor.call("start", b"", sender=alice, expect_failure=False)
    assert_type(receipt, SentReceipt)
    assert_type(actor.address == chain.actor(actor).address, bool)
    assert actor.source
    assert actor.read("beats") == chain.read(actor, "beats", b"", alice)
    assert actor.storage == chain.storage(actor)
    assert actor.state
    assert actor.receipt is not None
    print(actor.file, deploy_file(chain).file)
    assert actor.balance == chain.balance(actor)
    return actor


def deploy_file(chain: Devnet) -> Actor:
    """Of a file, by names, and as an object with methods."""
    shop = chain.deploy(Path("shop.py"))
    chain.label(shop, "shop")
    assert_type(chain.labels[shop.address], str)
    bought = shop.buy({"count": 2}, sender=chain.accounts[1], value="1 CBY")
    assert_type(bought, SentReceipt)
    print(bought.result, shop.read.price("gold"), shop.buy, shop.read)
    with chain.block() as block:
        print(shop.buy(b"2"), block.receipts)
    return shop


def watched(chain: Devnet, actor: Actor) -> None:
    """Timers, in every way there is to look at them."""
    assert_type(chain.timers(actor=actor), list[Timer])
    for timer in actor.timers:
        assert_type(timer, Timer)
        assert_fires_at(chain, timer.timer_id, timer.height)
        print(chain.explain(timer.timer_id), chain.decisions(timer.timer_id))
        print(chain.standing(timer.timer_id), chain.timer(timer.timer_id))
    print(chain.quote(actor, fee_payer=None, blocks=3))
    print(chain.count_due(0, 9).buckets[0].pending, chain.lane_use(0, 9, 3).limits)
    print(chain.storage_history(actor, b"", changes=3).changes[0].after)
    event = assert_event(chain, "beat")
    assert_type(event, Event)
    assert_type(chain.events("beat"), list[Event])
    assert_type(chain.receipts(), list[Receipt])


def passed(chain: Devnet) -> None:
    """Time, and going back."""
    result = chain.mine(2)
    assert result == chain.last == chain.block() == chain.result_at(chain.height)
    print(chain.mine_until(chain.height + 1).header, chain.advance(next_timer=True))
    print(chain.queue(), chain.queue_place(bytes(32)), chain.watches())
    print(chain.balance(f"0x{'07' * 20}"), chain.explain(f"0x{'07' * 32}"))
    print(chain.explain_block(chain.height), chain.simulate(3), chain.take_output())
    print(chain.waiting)
    with chain.snapshot() as snapshot:
        assert_type(snapshot, ChainSnapshot)
        chain.advance(blocks=1_000)
    with chain.profile() as profile:
        assert_type(profile, Profile)
    print(chain.costs(), chain.costs(1, 9).stacks[0][0].stack)
    assert_type(chain.supply(), Supply)
    assert_type(chain.head, Header)
    print(
        chain.timestamp_ms,
        chain.params,
        list(chain.blocks()),
        chain.is_closed,
        chain.is_strict,
        chain.debug,
    )
    print(chain.require_open())


def paid(chain: Devnet, raw: bytes) -> None:
    """Transactions of every kind."""
    alice, bob = chain.accounts[:2]
    transfer = chain.transfer(bob, "5 CBY", sender=alice)
    assert_type(transfer, SentReceipt)
    chain.fund(bob, 5)
    chain.set_balance(bob, "1 CBY")
    chain.set_storage(bob, "n", 5)
    chain.set_code(bob, Path("new.py"))
    assert_type(chain.upgrade(bob, Path("new.py"), b"go"), SentReceipt)
    print(chain.code_versions(bob)[0].code_hash)
    rehearsal = chain.rehearse_upgrade(bob, Path("new.py"), over=range(1, 9), further=9)
    print(rehearsal.refused[0].name, rehearsal.first)
    instruction = chain.last.block.transactions[0].body.instruction
    chain.submit(instruction, sender=alice, cycles_limit=10_000, cells_limit=1_000)
    chain.execute(instruction, sender=alice, expect_failure=True)
    chain.submit_raw(raw)
    print(chain.account(bob), chain.nonce(bob), chain.storage_entry(bob, "key"))


def carried(chain: Devnet, folder: Path) -> None:
    """The chain in a file."""
    path = chain.export_bundle(folder / "chain.bundle")
    assert_type(path, Path)
    with Devnet.from_bundle(path) as again, Devnet() as other:
        assert_type(again, Devnet)
        assert again.height == other.import_bundle(path).height
    chain.close()


def any_chain(chain: Chain) -> int:
    """What a `Devnet` and a `Client` have in common serves functions of a test."""
    return chain.height


def beside(process: NodeProcess, running: RunningNode) -> None:
    """A node of its own, and one that is there already."""
    with process, process.client() as client:
        print(any_chain(client))
    with running.client() as client:
        print(any_chain(client))


with Devnet() as _chain:
    any_chain(_chain)
