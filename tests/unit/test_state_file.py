"""State files: equal states give equal bytes; what is cut or altered is refused."""

import os
import shutil

import pytest
from click.testing import CliRunner

from node import history
from node.archive.opening import DamagedChain, open_chain
from node.archive.state_file import (
    MAGIC,
    StateFileRefused,
    check_state_file,
    read_records,
    write_state_file,
)
from node.archive.state_import import import_folder, load_state
from node.archive.verification import verify
from node.chain.genesis import parse_genesis
from node.chain.timers.due_index import found
from node.cli import main
from node.query import HistoryNotKept, block_at, blocks_page, chain_status
from node.state import keys
from node.state.leveldb import LevelStore
from node.state.memory import MemoryStore
from node.state.store import WriteSet
from pvm import Worker
from tests.worlds import GENESIS, Bidders, KeptWorld, WeighedBidders, fixed_pick

COMMITTED = (b"g", b"s", b"t")
DERIVED = (b"i", b"m", b"n")
OTHER = parse_genesis(GENESIS | {"chain_id": 7})


@pytest.fixture(scope="module")
def world():
    """A chain with timers, actors and waiting messages."""
    with Worker() as worker:
        world = KeptWorld(MemoryStore(), fixed_pick(12), worker)
        families = set()
        while not {b"se", b"sm", b"iq", b"ia"} <= families or len(world.blocks) < 20:
            world.step()
            families = {key[:2] for key in content(world.store.snapshot())}
            assert len(world.blocks) < 200
        yield world


@pytest.fixture
def exported(world, tmp_path):
    path = tmp_path / "state"
    write_state_file(path, world.genesis, world.state.head, world.state.snapshot)
    return path


def content(snapshot, families=(b"",)):
    return {
        key: value
        for key, value in snapshot.range(b"", b"\xff")
        if key.startswith(families)
    }


def test_what_is_read_is_what_was_written(world, exported):
    file = check_state_file(exported)
    assert (file.genesis, file.head) == (world.genesis, world.state.head)
    assert dict(read_records(file)) == content(world.state.snapshot, COMMITTED)
    assert file.records == len(content(world.state.snapshot, COMMITTED))


def test_equal_states_give_equal_bytes_whatever_led_to_them(world, exported, tmp_path):
    """A store that was imported has other pages' history, and the same bytes."""
    store = MemoryStore()
    state = load_state(check_state_file(exported), store)
    again = tmp_path / "again"
    write_state_file(again, world.genesis, state.head, state.snapshot)
    assert again.read_bytes() == exported.read_bytes()


def test_all_that_is_derived_is_built_again(world, exported, monkeypatch):
    """Also where the records come in many batches."""
    for size in (3, 20_000):
        monkeypatch.setattr("node.archive.state_import.BATCH_RECORDS", size)
        store = MemoryStore()
        load_state(check_state_file(exported), store)
        wanted = content(world.state.snapshot, COMMITTED + DERIVED)
        assert content(store.snapshot()) == wanted


def test_an_imported_folder_goes_on_as_the_chain_did(world, exported, tmp_path):
    folder = tmp_path / "deep" / "data"
    told = []
    import_folder(check_state_file(exported), folder, told.append)
    assert told[-1] == check_state_file(exported).records
    with LevelStore(folder) as store:
        opened = open_chain(store, lambda stored: stored)
        assert opened.state.head == world.state.head
        assert verify(opened.state).timers == verify(world.state).timers
        fork = KeptWorld.__new__(KeptWorld)
        fork.__dict__ |= world.__dict__
        fork.store, fork.state, fork.blocks = store, opened.state, []
        fork.chain = type(world.chain)(store)
        fork.mine([])
        fork.run_empty(5)
        fork.reopen()
        assert verify(fork.state).blocks == 2 + len(fork.blocks)
        header = fork.blocks[0].header
    beside = KeptWorld.__new__(KeptWorld)
    beside.__dict__ |= world.__dict__
    beside.store = MemoryStore()
    beside.store.commit(WriteSet(content(world.store.snapshot())))
    beside.chain, beside.blocks = type(world.chain)(beside.store), []
    beside.reopen()
    assert beside.mine([]).header == header


def test_blocks_below_an_import_are_not_kept(exported, tmp_path):
    folder = tmp_path / "data"
    import_folder(check_state_file(exported), folder)
    with LevelStore(folder) as store:
        state = open_chain(store, lambda stored: stored).state
        height = state.head.height
        assert chain_status(state).genesis_hash
        for wanted in (1, height - 1, height):
            with pytest.raises(HistoryNotKept) as refused:
                block_at(state, wanted)
            assert refused.value.oldest_height == height + 1
        assert block_at(state, 0).block.header.height == 0
        with pytest.raises(HistoryNotKept):
            blocks_page(state, 1, 5, is_descending=False, is_header_wanted_only=True)
        (view,), rest = blocks_page(
            state, height, 5, is_descending=True, is_header_wanted_only=True
        )
        assert (view.block.header.height, rest) == (height, height - 1)
        assert history.load_header(store.snapshot(), height) == state.head


@pytest.mark.parametrize("share", [0, 3, 10, 40, 70, 99])
def test_a_file_that_is_cut_or_altered_is_refused(exported, share):
    data = exported.read_bytes()
    at = len(data) * share // 100
    for broken in (data[:at], data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]):
        exported.write_bytes(broken)
        with pytest.raises(StateFileRefused, match=r"cut or was altered|no state file"):
            check_state_file(exported)


def test_bytes_after_the_end_are_refused(exported):
    exported.write_bytes(exported.read_bytes() + b"\0")
    with pytest.raises(StateFileRefused, match="altered"):
        check_state_file(exported)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x7fELF",
        MAGIC,
        MAGIC.replace(b"2", b"3") + bytes(100),
        MAGIC.replace(b"2", b"1") + bytes(100),
        MAGIC + b"\xff\xff\xff\xff" + bytes(99),
    ],
)
def test_what_is_no_state_file_is_refused(tmp_path, data):
    path = tmp_path / "state"
    path.write_bytes(data)
    with pytest.raises(StateFileRefused):
        check_state_file(path)


def test_records_that_do_not_give_the_root_leave_nothing(world, tmp_path):
    """Whole by its checksum, and not what the header says."""
    path, folder = tmp_path / "state", tmp_path / "data"
    store = MemoryStore()
    changed = content(world.state.snapshot)
    changed[keys.storage(bytes(20), b"x")] = b"y"
    store.commit(WriteSet(changed))
    write_state_file(path, world.genesis, world.state.head, store.snapshot())
    file = check_state_file(path)
    with pytest.raises(StateFileRefused, match="do not have the state root"):
        import_folder(file, folder)
    assert [one.name for one in tmp_path.iterdir()] == ["state"]


def test_a_record_that_cannot_be_read_is_refused(world, tmp_path):
    store = MemoryStore()
    changed = content(world.state.snapshot)
    changed[keys.timer(9, 9)] = b"\xff"
    store.commit(WriteSet(changed))
    path = tmp_path / "state"
    write_state_file(path, world.genesis, world.state.head, store.snapshot())
    with pytest.raises(StateFileRefused, match="a record cannot be read"):
        import_folder(check_state_file(path), tmp_path / "data")


def test_a_folder_with_something_in_it_is_refused(exported, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "mine").touch()
    with pytest.raises(StateFileRefused, match="is not empty"):
        import_folder(check_state_file(exported), folder)
    assert [one.name for one in folder.iterdir()] == ["mine"]
    (folder / "mine").unlink()
    import_folder(check_state_file(exported), folder)
    assert (folder / "FORMAT").exists()


def test_what_a_killed_import_left_is_removed(exported, tmp_path):
    left = tmp_path / ".data.importing"
    with LevelStore(left) as store:
        store.commit(WriteSet({b"sa": b"x"}))
    shutil.copytree(left, tmp_path / "keep")
    import_folder(check_state_file(exported), tmp_path / "data")
    assert not left.exists()
    os.truncate(next(iter((tmp_path / "keep").glob("MANIFEST*"))), 3)
    (tmp_path / "keep").rename(tmp_path / ".other.importing")
    import_folder(check_state_file(exported), tmp_path / "other")
    assert not (tmp_path / ".other.importing").exists()


def test_a_file_that_exists_is_not_overwritten(world, exported):
    before = exported.read_bytes()
    with pytest.raises(StateFileRefused, match="exists already"):
        write_state_file(
            exported, world.genesis, world.state.head, world.state.snapshot
        )
    assert exported.read_bytes() == before


def test_what_a_killed_export_left_is_replaced(world, tmp_path):
    (tmp_path / "state.partial").write_bytes(b"half")
    write_state_file(
        tmp_path / "state", world.genesis, world.state.head, world.state.snapshot
    )
    assert [one.name for one in tmp_path.iterdir()] == ["state"]


# --- the commands --------------------------------------------------------------------


def command(*words, code=0):
    done = CliRunner(
        env={"COWBOY_DEVNET_CONFINE": "off", "COWBOY_DEVNET_MEMORY_MAX": "off"}
    ).invoke(main, [*map(str, words)])
    assert done.exit_code == code, done.output
    return done.output


def test_a_folder_is_exported_imported_and_replayed_from_there(world, tmp_path):
    folder, file, copy = (tmp_path / name for name in ("data", "state", "copy"))
    with LevelStore(folder) as store:
        kept = content(world.store.snapshot())
        store.commit(WriteSet(kept | {keys.GENESIS: world.genesis.encode()}))
    height = world.blocks[-4].header.height
    said = command("snapshot", "export", file, "--data-dir", folder, "--height", height)
    assert f"of height {height} are in" in said
    assert check_state_file(file).head == world.blocks[-4].header
    said = command("snapshot", "import", file, "--data-dir", copy)
    assert said.endswith(f"holds the chain from height {height} on\n")
    said = command("replay", "--data-dir", folder, "--from-snapshot", file, "--json")
    assert '"blocks": 3,' in said
    refused = command("replay", "--data-dir", copy, code=2)
    assert f"kept from height {height + 1} on" in refused
    assert '"blocks": 0,' in command(
        "replay", "--data-dir", copy, "--from-snapshot", file, "--json"
    )


def test_the_commands_refuse_with_a_sentence(world, exported, tmp_path):
    folder = tmp_path / "data"
    import_folder(check_state_file(exported), folder)
    height = world.state.head.height
    out, words = tmp_path / "out", ("--data-dir", folder)
    for wanted in (height - 1, height + 1):
        refused = command("snapshot", "export", out, *words, "--height", wanted, code=2)
        assert "no block ends at height" in refused
    assert "exists already" in command("snapshot", "export", exported, *words, code=2)
    assert "is not empty" in command("snapshot", "import", exported, *words, code=2)
    assert not out.exists()
    foreign = tmp_path / "foreign"
    with LevelStore(tmp_path / "another") as store:
        genesis = open_chain(store, lambda _stored: OTHER).genesis
        head = history.load_head(store.snapshot())
        write_state_file(foreign, genesis, head, store.snapshot())
    refused = command("replay", *words, "--from-snapshot", foreign, code=2)
    assert "is of another chain" in refused
    with LevelStore(folder):
        assert "another node" in command("snapshot", "export", out, *words, code=2)


class AuctionKept(Bidders, KeptWorld):
    """A chain on a store whose timers compete."""


class BiddingKept(WeighedBidders, KeptWorld):
    """A chain on a store whose timers bid and whose actors are often poor."""


def test_what_bids_derive_is_built_again(tmp_path):
    """The orders of waiting timers, those of the poor and of their payers included."""
    wanted = {keys.DUE_PREFIX + family for family in (b"p", b"q", b"y")}
    with Worker() as worker:
        world = BiddingKept(MemoryStore(), fixed_pick(5), worker)
        families = set()
        while not wanted <= families:
            world.step()
            families = {key[:3] for key in content(world.store.snapshot())}
            assert len(world.blocks) < 200
        path = tmp_path / "state"
        write_state_file(path, world.genesis, world.state.head, world.state.snapshot)
        store = MemoryStore()
        load_state(check_state_file(path), store)
        assert list(found(store.snapshot())) == list(found(world.state.snapshot))
        world.reopen()
        verify(world.state)
        for family in sorted(wanted):
            key = min(content(world.state.snapshot, family))
            kept = world.store.snapshot().get(key)
            world.store.commit(WriteSet({key: None}))
            world.reopen()
            with pytest.raises(DamagedChain):
                verify(world.state)
            world.store.commit(WriteSet({key: kept}))


def test_what_an_auction_derives_is_built_again(tmp_path):
    """The orders of waiting timers and the sums of fires; `--verify` doubts both."""
    with Worker() as worker:
        world = AuctionKept(MemoryStore(), fixed_pick(3), worker)
        families = set()
        while not {b"iw", b"iu", b"sf"} <= families:
            world.step()
            families = {key[:2] for key in content(world.store.snapshot())}
            assert len(world.blocks) < 100
        path = tmp_path / "state"
        write_state_file(path, world.genesis, world.state.head, world.state.snapshot)
        store = MemoryStore()
        load_state(check_state_file(path), store)
        for family in (b"iu", b"ih", b"ig"):
            wanted = content(world.state.snapshot, family)
            assert content(store.snapshot(), family) == wanted
        assert list(found(store.snapshot())) == list(found(world.state.snapshot))
        world.reopen()
        verify(world.state)
        for family in (b"iw", b"iu", b"ih", b"ig"):
            key = min(content(world.state.snapshot, family))
            kept = world.store.snapshot().get(key)
            world.store.commit(WriteSet({key: None}))
            world.reopen()
            with pytest.raises(DamagedChain):
                verify(world.state)
            world.store.commit(WriteSet({key: kept}))
