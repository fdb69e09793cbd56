"""A damaged folder is refused with a sentence; what was acknowledged is never missed.

Each test alters the files of a closed chain, as a failing disk or a person might, and
opens it again. Damage is either told, with nothing altered, or harmless.
"""

import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from node.chain.genesis import dev_account, parse_genesis
from node.chain.transaction import Body, Transfer, decode_transaction, impersonate
from node.chain.transition import build_block, next_state
from node.primitives.types import Amount
from node.runtime.chainstore import ChainStore
from node.runtime.startup import DamagedChain, open_chain
from node.state import keys
from node.state.errors import StoreCorrupt, StoreError
from node.state.leveldb import LevelStore
from node.state.watermark import WATERMARK_FILE
from pvm import Worker

GENESIS = parse_genesis(
    {"name": "faults", "accounts": {"count": 3, "balance": "1000000000000000"}}
)
BLOCKS = 12


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


def open_folder(folder: Path, worker):
    """(store, state) of the chain in a folder."""
    store = LevelStore(folder)
    try:
        return store, worker.run(
            lambda: open_chain(store, lambda _stored: GENESIS).state
        )
    except BaseException:
        store.close()
        raise


def grow(folder: Path, worker, blocks: int) -> None:
    """Blocks of one transfer each, all of them acknowledged."""
    store, state = open_folder(folder, worker)
    chain = ChainStore(store)
    for height in range(state.head.height, state.head.height + blocks):
        free = Amount(0)
        fee = Amount(5_000)
        instruction = Transfer(dev_account(1), Amount(height + 1))
        body = Body(
            100, height, 1_000_000, 1_000_000, fee, free, fee, free, instruction
        )
        sent = decode_transaction(impersonate(body.encode(), dev_account(0)))
        result = worker.run(lambda state=state, sent=sent: build_block(state, [sent]))
        assert [r.failure for r in result.receipts] == [None]
        snapshot = chain.commit(state.snapshot, state.head, result)
        state = next_state(state, result, snapshot)
    store.close()


@pytest.fixture(scope="module")
def chain_folder(tmp_path_factory, worker) -> Path:
    """A chain whose first half lies in a table, and the rest in a log."""
    folder = tmp_path_factory.mktemp("chain") / "data"
    grow(folder, worker, BLOCKS // 2)
    grow(folder, worker, BLOCKS - BLOCKS // 2)  # opening made a table of the log
    return folder


@pytest.fixture
def folder(chain_folder, tmp_path) -> Path:
    return Path(shutil.copytree(chain_folder, tmp_path / "data"))


def the(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern), key=lambda path: path.stat().st_size)


def read_records(folder: Path, worker) -> dict[bytes, bytes]:
    """All that the folder holds, opened as a node opens it."""
    store, state = open_folder(folder, worker)
    try:
        return dict(state.snapshot.range(b"", b"\xff"))
    finally:
        store.close()


def read_all(folder: Path, worker) -> int:
    """The height, every record having been read."""
    return int.from_bytes(read_records(folder, worker)[keys.HEAD], "big")


FILES = ["*.ldb", "*.log", "MANIFEST-*", "CURRENT", "FORMAT", "HEAD"]


@pytest.mark.parametrize("pattern", FILES)
def test_a_flipped_bit_is_told_or_harmless(chain_folder, tmp_path, worker, pattern):
    """LevelDB alone would lose the end of a log, and hand out altered values."""
    whole = shutil.copytree(chain_folder, tmp_path / "whole")
    records = read_records(whole, worker)
    places = random.Random(pattern)
    length = the(chain_folder, pattern).stat().st_size
    for trial in range(min(12, length)):
        folder = Path(shutil.copytree(chain_folder, tmp_path / str(trial)))
        path = the(folder, pattern)
        data = bytearray(path.read_bytes())
        data[places.randrange(length)] ^= 1 << places.randrange(8)
        path.write_bytes(data)
        with suppress(StoreError, DamagedChain):
            assert read_records(folder, worker) == records, "altered without a word"


def test_a_flipped_length_in_the_log_is_told(folder, worker):
    """To LevelDB it looks like a record that a crash cut short."""
    log = the(folder, "*.log")
    data = bytearray(log.read_bytes())
    data[5] ^= 0x40  # the upper byte of the first record's length
    log.write_bytes(data)
    with pytest.raises(StoreCorrupt, match=r"ends at height 6, and blocks up to .* 12"):
        read_all(folder, worker)


@pytest.mark.parametrize("pattern", ["*.ldb", "*.log", "MANIFEST-*", "CURRENT"])
@pytest.mark.parametrize("tenths", [0, 3, 9])
def test_a_file_that_was_cut_is_told(folder, worker, pattern, tenths):
    path = the(folder, pattern)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * tenths // 10])
    before = {path.name: path.read_bytes() for path in folder.glob("*.ldb")}
    with pytest.raises(StoreCorrupt, match="restore a copy of the folder"):
        read_all(folder, worker)
    after = {path.name: path.read_bytes() for path in folder.glob("*.ldb")}
    assert before.items() <= after.items(), "what is whole stays"


@pytest.mark.parametrize("pattern", ["*.ldb", "*.log", "MANIFEST-*", "CURRENT"])
def test_a_file_that_is_missing_is_told(folder, worker, pattern):
    the(folder, pattern).unlink()
    with pytest.raises(StoreCorrupt):
        read_all(folder, worker)


def test_an_unfinished_record_at_the_end_of_the_log_is_no_damage(folder, worker):
    """A crash in the middle of a write leaves one: nobody was told of it."""
    log = the(folder, "*.log")
    data = log.read_bytes()
    # A header that promises 100 bytes, and 20 of them.
    log.write_bytes(data + bytes(4) + (100).to_bytes(2, "little") + b"\x01" + bytes(20))
    assert read_all(folder, worker) == BLOCKS
    grow(folder, worker, 1)
    assert read_all(folder, worker) == BLOCKS + 1


def test_a_copy_without_the_watermark_is_taken_as_it_is(folder, worker):
    (folder / WATERMARK_FILE).unlink()
    assert read_all(folder, worker) == BLOCKS


@pytest.mark.parametrize("text", [b"none\n", b"\xff", b"-\n"])
def test_a_malformed_watermark_is_told(folder, worker, text):
    (folder / WATERMARK_FILE).write_bytes(text)
    with pytest.raises(StoreCorrupt, match="HEAD holds no height"):
        read_all(folder, worker)


def test_the_watermark_follows_a_rewind(folder, worker):
    store, state = open_folder(folder, worker)
    chain = ChainStore(store)
    chain.rewind(state.head.height, 4)
    store.close()
    assert (folder / WATERMARK_FILE).read_bytes() == b"00000000000000000004\n"
    assert read_all(folder, worker) == 4
