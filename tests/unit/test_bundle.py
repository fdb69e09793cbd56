"""Bundles: equal chains give equal bytes; what executing one does not give is told."""

import io
import json

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from node import history
from node.archive.bundle import (
    KIND,
    check_bundle,
    first_difference,
    new_bundle,
    open_bundle,
    pack_chain,
    replay_of,
)
from node.archive.record_file import FileFault, Packing
from node.archive.replay import Differs, begin, into
from node.chain.bundle_errors import ADVICE, BundleFault
from node.chain.consensus import CONSENSUS_NUMBER
from node.chain.transaction import Transfer
from node.cli import main
from node.config import genesis_folder
from node.primitives import codec
from node.query import HistoryNotKept
from node.state import keys
from node.state.memory import MemoryStore
from node.state.retention import Oldest
from node.state.store import WriteSet
from node.testing import BundleRefused, Devnet, SnapshotGone, TransactionFailed
from pvm import HostMemoryExhausted, Worker
from tests.worlds import KeptWorld, fixed_pick

HEARTBEAT = (genesis_folder() / "actors" / "heartbeat.py").read_text()
BLOCKS = 20


@pytest.fixture(scope="module")
def world():
    """Blocks of every kind: transactions good and bad, fires, messages, runs."""
    with Worker() as worker:
        world = KeptWorld(MemoryStore(), fixed_pick(12), worker)
        world.store.commit(WriteSet({keys.GENESIS: world.genesis.encode()}))
        world.run_empty(3)
        while len(world.blocks) < BLOCKS or not all(
            next(world.store.snapshot().range(family, family + b"\xff"), None)
            for family in (b"hd", b"hr", b"hq")
        ):
            world.step()
            world.run_empty(2)
            assert len(world.blocks) < 300
        yield world


def packed(world):
    return b"".join(pack_chain(world.store.snapshot(), world.state.head).parts())


@pytest.fixture(scope="module")
def data(world):
    return packed(world)


def checked(data):
    return check_bundle(io.BytesIO(data), "it")


def replayed(world, data):
    """The replay of a bundle, with a state of its own."""
    bundle, store = checked(data), MemoryStore()

    def run():
        replay = replay_of(bundle, into(store), begin(bundle.genesis, store))
        while replay.step(3):
            pass
        return replay

    return world.worker.run(run)


def refused(data):
    with pytest.raises(BundleRefused) as error:
        checked(data)
    assert str(error.value).endswith(ADVICE[error.value.fault])
    return error.value.fault


def forged(world, change):
    """A bundle that is whole by its digest, with other records."""
    packing = pack_chain(world.store.snapshot(), world.state.head)
    records = dict(packing._records)
    change(records)
    head = (world.genesis.encode(), world.state.head, CONSENSUS_NUMBER)
    return b"".join(Packing(KIND, head, records.items()).parts())


# --- bytes ---------------------------------------------------------------------------


def test_equal_chains_give_equal_bytes(world, data):
    assert packed(world) == data
    bundle = checked(data)
    assert (bundle.genesis, bundle.head) == (world.genesis, world.state.head)
    assert bundle.blocks == 1 + len(world.blocks)


def test_executing_it_gives_the_same_roots_receipts_and_fires(world, data):
    replay = replayed(world, data)
    assert replay.state.head == world.state.head
    assert replay.done.headers == len(world.blocks)
    assert replay.done.receipts
    assert replay.done.transactions == sum(len(b.transactions) for b in world.blocks)


@pytest.mark.parametrize("share", [0, 1, 3, 10, 40, 70, 99])
def test_one_that_is_cut_or_altered_is_refused(data, share):
    at = len(data) * share // 100
    for broken in (data[:at], data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]):
        wanted = BundleFault.NO_BUNDLE if at < len(KIND.magic) else BundleFault.DAMAGED
        assert refused(broken) is wanted
    assert refused(data + b"\0") is BundleFault.DAMAGED


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", BundleFault.NO_BUNDLE),
        (b"\x7fELF", BundleFault.NO_BUNDLE),
        (b"cowboy-devnet-state 1\n", BundleFault.NO_BUNDLE),
        (KIND.magic, BundleFault.DAMAGED),
        (KIND.magic + b"\xff\xff\xff\xff", BundleFault.DAMAGED),
        (KIND.magic.replace(b"3", b"4") + bytes(99), BundleFault.NEWER),
        (KIND.magic.replace(b"3", b"2") + bytes(99), BundleFault.OLDER),
    ],
)
def test_what_is_none_or_of_a_newer_version_is_refused(data, fault):
    assert refused(data) is fault


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\xff",
        codec.encode(7),
        codec.encode([b"", b"", b""]),
        codec.encode([b"", b"", b"", ""]),
        codec.encode([b"\x80", b"", b"", b""]),
    ],
)
def test_records_that_are_no_blocks_are_refused(world, value):
    key = keys.height8(world.blocks[2].header.height)
    assert refused(forged(world, lambda r: r.update({key: value}))) is (
        BundleFault.DAMAGED
    )


def test_blocks_in_other_places_are_refused(world):
    first, second, *_, last = (keys.height8(b.header.height) for b in world.blocks)

    def swap(records):
        records[first], records[second] = records[second], records[first]

    for change in (swap, lambda r: r.pop(last), lambda r: r.pop(keys.height8(0))):
        assert refused(forged(world, change)) is BundleFault.DAMAGED


# --- differences ---------------------------------------------------------------------


def with_part(world, index, change):
    """A bundle in which one part of the last block that has it is another."""
    key_of = (keys.header, keys.body, keys.receipts, keys.timer_trace)[index]
    snapshot = world.store.snapshot()
    heights = [b.header.height for b in world.blocks]
    height = next(h for h in reversed(heights) if snapshot.get(key_of(h)))

    def alter(records):
        parts = codec.decode(records[keys.height8(height)])
        parts[index] = change(parts[index])
        records[keys.height8(height)] = codec.encode(parts)

    return height, forged(world, alter)


@pytest.mark.parametrize("index", [1, 2, 3])
def test_the_first_difference_is_told(world, index):
    height, data = with_part(world, index, lambda _: b"")
    with pytest.raises(Differs) as told:
        replayed(world, data)
    assert told.value.height == height
    assert told.value.lines[0].startswith(f"block {height}: ")
    refusal = first_difference(checked(data), told.value)
    assert (refusal.fault, refusal.numbers) == (BundleFault.DIFFERS, {"height": height})


def test_another_order_of_fires_is_told(world):
    def reverse(trace):
        return codec.encode([*codec.decode(trace)[::-1], b"more"])

    height, data = with_part(world, 3, reverse)
    with pytest.raises(Differs) as told:
        replayed(world, data)
    wanted = f"timer decisions of block {height}: not what executing it gives"
    assert wanted in told.value.lines[0]


def test_another_state_root_is_told_without_the_state(world):
    """A bundle holds no state: what was computed is told of the header alone."""
    height = world.blocks[-1].header.height

    def alter(records):
        key = keys.height8(height)
        parts = codec.decode(records[key])
        header = codec.decode(parts[0])
        header[-1] = bytes(32)
        records[key] = codec.encode([codec.encode(header), *parts[1:]])

    packing = forged(world, alter)
    assert refused(packing) is BundleFault.DAMAGED, "the head is another"
    snapshot = world.store.snapshot()
    head = history.load_header(snapshot, height)
    false = type(head)(
        *[getattr(head, n) for n in head.__struct_fields__][:-1], bytes(32)
    )
    records = dict(pack_chain(snapshot, head)._records)
    alter(records)
    parts = Packing(
        KIND, (world.genesis.encode(), false, CONSENSUS_NUMBER), records.items()
    ).parts()
    with pytest.raises(Differs) as told:
        replayed(world, b"".join(parts))
    assert told.value.lines[0].startswith(f"block {height}: state_root is 00")


def test_another_genesis_state_is_told(world):
    def alter(records):
        parts = codec.decode(records[keys.height8(0)])
        header = codec.decode(parts[0])
        header[-1] = bytes(32)
        parts[0] = codec.encode(header)
        records[keys.height8(0)] = codec.encode(parts)

    with pytest.raises(Differs) as told:
        replayed(world, forged(world, alter))
    assert told.value.height == 0


def test_a_chain_whose_blocks_are_not_all_kept_has_no_bundle():
    store = MemoryStore()
    store.commit(WriteSet({keys.OLDEST: Oldest(0, 5).encode()}))
    with pytest.raises(HistoryNotKept) as told:
        pack_chain(store.snapshot(), None)
    assert told.value.oldest_height == 5


# --- files ---------------------------------------------------------------------------


def test_every_fault_of_a_file_is_one_of_a_bundle():
    for fault in FileFault:
        assert isinstance(KIND.refusal(fault, "it is so"), BundleRefused)
    assert set(ADVICE) == set(BundleFault)


def write_bundle(path, parts):
    with new_bundle(path) as write:
        for part in parts:
            write(part)


def test_a_file_that_exists_is_not_overwritten(tmp_path):
    path = tmp_path / "here"
    path.write_bytes(b"mine")
    with pytest.raises(BundleRefused, match="here exists already: give another name"):
        write_bundle(path, iter([b"other"]))
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(BundleRefused, match="exists already"):
        write_bundle(link, iter([b"other"]))
    assert path.read_bytes() == b"mine"


def test_what_cannot_be_written_or_read_leaves_nothing(tmp_path):
    with pytest.raises(BundleRefused, match="cannot be written: No such file") as error:
        write_bundle(tmp_path / "no" / "where", iter([b"x"]))
    assert error.value.fault is BundleFault.FILE_UNUSABLE
    with pytest.raises(BundleRefused, match="cannot be read: Is a directory"):
        open_bundle(tmp_path).__enter__()

    def cut_off():
        yield b"half"
        raise RuntimeError("lost")

    with pytest.raises(RuntimeError):
        write_bundle(tmp_path / "file", cut_off())
    assert list(tmp_path.iterdir()) == []


# --- a chain in this process ---------------------------------------------------------


@pytest.fixture
def lived(tmp_path):
    """A bundle of a Devnet with an actor, minted money and time that passed."""
    path = tmp_path / "lived.bundle"
    with Devnet() as chain:
        clock = chain.deploy(HEARTBEAT, value="5 CBY")
        chain.set_balance(bytes(19) + b"\x07", "2 CBY")
        chain.advance(blocks=1_000)
        assert chain.export_bundle(path) == path
        yield path, chain, clock


def test_a_chain_is_made_again_from_its_bundle(lived, tmp_path):
    path, chain, clock = lived
    with Devnet() as other:
        assert other.import_bundle(path) == chain.head == other.head
        assert other.receipts() == chain.receipts()
        assert other.events() == chain.events()
        assert other.timers() == chain.timers()
        assert other.supply() == chain.supply()
        assert other.actor(clock.address).storage == clock.storage
        timer = clock.timers[0]
        assert repr(other.explain(timer.timer_id)) == repr(
            chain.explain(timer.timer_id)
        )
        other.export_bundle(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == path.read_bytes()
        again = other.deploy(HEARTBEAT, value="5 CBY")
        assert again.address != clock.address
        with pytest.raises(TransactionFailed, match=r"(?s)<actor>.*beats already"):
            other.actor(clock.address).call("start")
        other.advance(blocks=10)


def test_a_genesis_of_its_own_comes_with_it(tmp_path):
    path = tmp_path / "file"
    with Devnet(chain_id=7, accounts={"count": 2, "balance": "10000000000"}) as chain:
        chain.transfer(bytes(20), 5)
        chain.export_bundle(path)
        head = chain.head
    with Devnet.from_bundle(path) as other:
        assert (other.head, other.params.chain_id) == (head, 7)
        assert len(other.accounts) == 2
    with (
        Devnet() as foreign,
        pytest.raises(BundleRefused, match="differ in: accounts, ") as error,
    ):
        foreign.import_bundle(path)
    assert error.value.fault is BundleFault.FOREIGN


def test_only_a_chain_on_which_nothing_but_time_passed_takes_one(lived):
    path, chain, _ = lived
    with Devnet() as other:
        other.mine(3)
        before = other.snapshot()
        assert other.import_bundle(path) == chain.head
        with pytest.raises(BundleRefused, match="is not empty: it stands") as told:
            other.import_bundle(path)
        assert told.value.fault is BundleFault.NOT_EMPTY
        assert told.value.numbers["height"] == chain.height
        with pytest.raises(SnapshotGone):
            before.revert()
    with Devnet() as other:
        other.submit(Transfer(bytes(20), 1))
        with pytest.raises(BundleRefused, match="1 transactions that wait"):
            other.import_bundle(path)
        assert other.height == 0


def test_a_bundle_that_differs_leaves_the_chain_at_genesis(tmp_path):
    path = tmp_path / "file"
    with Devnet() as chain:
        chain.deploy("def f(payload):\n    return 1\n")
        chain.fund(bytes(20), 5)
        first, last = chain.results[-2:]
        chain.results[-1] = replace(  # a lie: those of the block before
            last, receipts=first.receipts, encodings=first.encodings
        )
        chain.export_bundle(path)
    with Devnet() as other:
        other.mine(2)
        with pytest.raises(BundleRefused, match="first at height 2 ") as told:
            other.import_bundle(path)
        assert told.value.fault is BundleFault.DIFFERS
        assert (other.height, len(other.results)) == (0, 1)
        other.deploy("def f(payload):\n    return 1\n")
    with pytest.raises(BundleRefused):
        Devnet.from_bundle(path)


def test_a_devnet_refuses_files_as_the_command_does(lived):
    path, chain, _ = lived
    with pytest.raises(BundleRefused, match="exists already"):
        chain.export_bundle(path)
    path.write_bytes(path.read_bytes()[:-1])
    with Devnet() as other, pytest.raises(BundleRefused, match="cut or was altered"):
        other.import_bundle(path)


# --- the command ---------------------------------------------------------------------


UNCONFINED = {"COWBOY_DEVNET_CONFINE": "off", "COWBOY_DEVNET_MEMORY_MAX": "off"}
"""The command runs in this process, which has more to do afterwards."""


def command(*words, code=0):
    done = CliRunner(env=UNCONFINED).invoke(main, ["bundle", "check", *map(str, words)])
    assert done.exit_code == code, done.output
    return done


def test_the_command_executes_a_bundle_without_a_node(lived, tmp_path):
    path, chain, _ = lived
    found = json.loads(command(path, "--json").stdout)
    assert found["height"] == chain.height
    assert found["receipts"] == len(chain.receipts())
    genesis = tmp_path / "genesis.json"
    assert "blocks" in command(path, "--genesis-to", genesis).stdout
    assert json.loads(genesis.read_text()) == chain.genesis.document()
    assert "File exists" in command(path, "--genesis-to", genesis, code=2).stderr


@pytest.mark.parametrize("error", [MemoryError(), HostMemoryExhausted()], ids=repr)
def test_the_command_without_memory_says_so_and_ends_with_2(lived, monkeypatch, error):
    path, _, _ = lived

    def poor(*_arguments):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("node.chain.transition._known_of", poor)
        told = command(path, code=2).stderr
    assert "no memory left to execute this chain: give it a larger --memory" in told
    assert command(path).stdout


@pytest.mark.parametrize("size", ["255MiB", "much", "-1"])
def test_the_command_refuses_a_memory_limit_that_is_none(lived, size):
    told = command(lived[0], "--memory-max", size, code=2).stderr
    assert "256MiB" in told or "is no size" in told


def test_the_command_tells_what_is_wrong(world, tmp_path):
    path = tmp_path / "file"
    height, data = with_part(world, 2, lambda _: b"")
    path.write_bytes(data)
    assert f"block {height}: " in command(path, code=1).stderr
    told = json.loads(command(path, "--json", code=1).stdout)
    assert told["height"] == height
    path.write_bytes(data[:-1])
    assert "BUNDLE_DAMAGED: " in command(path, code=1).stderr
    assert "cannot be read" in command(tmp_path / "nowhere", code=2).stderr
    path.write_text("a note\n")
    assert f"NO_BUNDLE: {path} is no bundle: give" in command(path, code=1).stderr
