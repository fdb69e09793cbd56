"""Replay: a sound folder is executed again to the same bytes; a difference is told."""

import json
import re

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from node import history
from node.archive.replay import Differs, Replay, begin_at_genesis, into
from node.chain.accounts import decode_account
from node.cli import main
from node.primitives import codec
from node.primitives.types import Height
from node.state import keys
from node.state.leveldb import LevelStore
from node.state.memory import MemoryStore
from node.state.store import WriteSet
from pvm import HostMemoryExhausted, Worker
from tests.worlds import KeptWorld, fixed_pick

BLOCKS = 25


@pytest.fixture(scope="module")
def world():
    """Blocks of every kind: transactions good and bad, fires, messages, runs."""
    with Worker() as worker:
        world = KeptWorld(MemoryStore(), fixed_pick(12), worker)
        world.run_empty(3)
        while len(world.blocks) < BLOCKS or not all(
            next(world.store.snapshot().range(family, family + b"\xff"), None)
            for family in (b"hl", b"ht", b"hq")
        ):
            world.step()
            world.run_empty(2)
            assert len(world.blocks) < 300
        yield world


def replayed(world, until=2**64, first_steps=3):
    store, snapshot = MemoryStore(), world.store.snapshot()

    def run():
        state = begin_at_genesis(snapshot, world.genesis, store)
        replay = Replay(snapshot, into(store), state, until)
        while replay.step(first_steps):
            pass
        replay.require_same_state()
        return replay

    return world.worker.run(run)


def difference(world, changes):
    """What is told of the world with changes, which are taken back."""
    snapshot = world.store.snapshot()
    before = {key: snapshot.get(key) for key in changes}
    world.store.commit(WriteSet(changes))
    try:
        with pytest.raises(Differs) as raised:
            replayed(world)
        return raised.value
    finally:
        world.store.commit(WriteSet(before))


def test_a_sound_chain_is_executed_to_the_same_bytes(world):
    done = replayed(world).done
    assert done.height == world.state.head.height
    assert done.headers == len(world.blocks)
    count = sum(len(block.transactions) for block in world.blocks)
    assert done.transactions == count
    assert done.receipts
    assert done.events


def test_it_stops_where_it_is_told(world):
    assert replayed(world, until=4).done.height <= 4
    assert replayed(world, until=0).done.headers == 0


@pytest.mark.parametrize("family", [b"hr", b"hd", b"hl", b"ht", b"hx", b"hq", b"hb"])
def test_whatever_is_altered_in_the_history_is_named(world, family):
    found = world.store.snapshot().range(family, family + b"\xff")
    pairs = [pair for pair in found if pair[0] != keys.header(0)]
    key, value = pairs[len(pairs) // 2]
    for altered in (value[:-1] + bytes([value[-1] ^ 1]), None):
        told = difference(world, {key: altered})
        assert re.search(r"block \d+", told.lines[0])


def test_a_record_that_nothing_led_to_is_named(world):
    empty = next(
        block.header.height
        for block in world.blocks
        if world.store.snapshot().get(keys.receipts(block.header.height)) is None
    )
    told = difference(world, {keys.receipts(empty): codec.encode([[], []])})
    assert told.height == empty
    assert told.lines[0].endswith(
        f"receipts and events of block {empty}: not what executing it gives"
    )


def test_an_altered_receipt_is_told_field_by_field(world):
    snapshot = world.store.snapshot()
    height = next(
        b.header.height
        for b in world.blocks[1:]
        if history.load_results(snapshot, b.header.height)[0]
    )
    results = codec.decode(snapshot.get(keys.receipts(height)))
    fields = codec.decode(results[0][0][0])
    fields[9] += 1  # cycles_used
    results[0][0][0] = codec.encode(fields)
    told = difference(world, {keys.receipts(height): codec.encode(results)})
    assert told.height == height
    used = fields[9]
    assert f"receipt 0: cycles_used is {used}, computed {used - 1}" in told.lines


def test_another_state_is_told_key_by_key(world):
    """The last block's root, and an account, are not what its transactions give."""
    snapshot, head = world.store.snapshot(), world.state.head
    key, record = next(snapshot.range(b"sa", b"sb"))
    account = decode_account(record)
    forged = replace(account, balance=account.balance + 7).encode()
    found = bytes(head.encode()).replace(head.state_root, bytes(32))
    told = difference(
        world, {key: bytes(forged), keys.header(head.height): bytes(found)}
    )
    assert told.height == head.height
    assert f"block {head.height}: state_root is " in told.lines[0]
    line = f"account 0x{key[2:].hex()}: balance is {account.balance + 7}, computed "
    assert line + str(account.balance) in told.lines


def test_records_of_the_head_are_compared_even_if_every_root_is_right(world):
    key, record = next(world.store.snapshot().range(b"sa", b"sb"))
    account = decode_account(record)
    richer = bytes(replace(account, balance=account.balance + 1).encode())
    told = difference(world, {key: richer, b"ss" + bytes(20) + b"x": b"y"})
    assert told.lines[0] == "the state is not that of the head"
    assert f"storage 0x78 of actor 0x{bytes(20).hex()}: 0x79, computed absent" in (
        told.lines
    )


def test_a_missing_block_is_told(world):
    top = world.blocks[-1].header.height
    told = difference(world, {keys.header(top): None, keys.HEAD: keys.height8(top)})
    assert told.lines == ("the blocks above are missing",)


def test_another_genesis_is_told(world):
    header = bytes(world.store.snapshot().get(keys.header(0)))
    genesis = history.load_header(world.store.snapshot(), Height(0))
    altered = header.replace(genesis.state_root, bytes(32))
    assert "state_root" in difference(world, {keys.header(0): altered}).lines[0]
    told = difference(world, {keys.header(0): None})
    assert told.lines == ("block 0 is missing",)


# --- the command ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory, world):
    """The same chain on disk."""
    path = tmp_path_factory.mktemp("replayed") / "data"
    content = dict(world.store.snapshot().range(b"", b"\xff"))
    content[keys.GENESIS] = world.genesis.encode()
    with LevelStore(path) as store:
        store.commit(WriteSet(content))
    return path


UNCONFINED = {"COWBOY_DEVNET_CONFINE": "off", "COWBOY_DEVNET_MEMORY_MAX": "off"}
"""The command runs in this process, which has more to do afterwards."""


def command(*words, code=0):
    done = CliRunner(env=UNCONFINED).invoke(main, ["replay", *map(str, words)])
    assert done.exit_code == code, done.output
    return done


def test_the_command_replays_a_folder(world, folder):
    found = json.loads(command("--data-dir", folder, "--json").stdout)
    assert found["height"] == world.state.head.height
    assert found["transactions_per_second"] > 0
    shown = command("--data-dir", folder, "--until", "3").stdout
    assert re.search(r"^height\s+\d+$", shown, re.MULTILINE)


def test_the_command_tells_a_difference_and_ends_with_1(folder):
    with LevelStore(folder) as store:
        key, value = next(store.snapshot().range(b"ht", b"hu"))
        store.commit(WriteSet({key: bytes(12)}))
    try:
        assert "place of transaction 0x" in command("--data-dir", folder, code=1).stderr
        told = json.loads(command("--data-dir", folder, "--json", code=1).stdout)
        assert told["differences"]
    finally:
        with LevelStore(folder) as store:
            store.commit(WriteSet({key: value}))


@pytest.mark.parametrize("error", [MemoryError(), HostMemoryExhausted()], ids=repr)
def test_the_command_without_memory_says_so_and_ends_with_2(folder, monkeypatch, error):
    """The chain is neither sound nor unsound: a larger limit tells."""

    def poor(*_arguments):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("node.chain.transition._known_of", poor)
        told = command("--data-dir", folder, code=2).stderr
    assert "no memory left to execute this chain: give it a larger --memory" in told
    assert command("--data-dir", folder).stdout


def test_the_command_refuses_what_it_cannot_open_with_2(tmp_path, folder):
    refused = command("--data-dir", tmp_path / "nowhere", code=2)
    assert "holds no chain" in refused.stderr
    assert not (tmp_path / "nowhere").exists()
    with LevelStore(folder) as store:
        locked = command("--data-dir", folder, code=2)
        assert "another node has" in locked.stderr
        store.commit(WriteSet({keys.UNFINISHED: keys.height8(3)}))
    assert "was being taken back" in command("--data-dir", folder, code=2).stderr
    with LevelStore(folder) as store:
        store.commit(WriteSet({keys.UNFINISHED: None}))
