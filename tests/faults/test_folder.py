"""A damaged folder is refused with a sentence; what was acknowledged is never missed.

Each test alters the files of a closed chain, as a failing disk or a person might, and
opens it again. Damage is either told, with nothing altered, or harmless.
"""

import os
import random
import re
import shutil
import stat
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from node.archive.chain_store import ChainStore
from node.archive.opening import (
    DamagedChain,
    ForeignGenesis,
    open_chain,
    require_chain,
)
from node.chain.genesis import dev_account, parse_genesis
from node.chain.transaction import Body, Transfer, decode_transaction, impersonate
from node.chain.transition import build_block, next_state
from node.primitives.types import Amount
from node.state import keys
from node.state.errors import StoreCorrupt, StoreError, StoreForeign
from node.state.leveldb import LevelStore
from node.state.store import WriteSet
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


def wanted(_stored):
    return GENESIS


def open_folder(folder: Path, worker):
    """(store, state) of the chain in a folder."""
    store = LevelStore(folder, inspect=partial(require_chain, want=wanted))
    try:
        return store, worker.run(lambda: open_chain(store, wanted).state)
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
    before = contents(folder)
    with pytest.raises(StoreCorrupt, match="restore a copy of the folder"):
        read_all(folder, worker)
    assert contents(folder) == before


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


# --- a refused start changes nothing -------------------------------------------------


def contents(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Names, and what stands under them, of a folder and those in it."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        what: bytes | str = b""
        if stat.S_ISREG(mode):
            what = path.read_bytes()
        elif stat.S_ISLNK(mode):
            what = os.readlink(path)  # noqa: PTH115 - its text
        found[str(path.relative_to(folder))] = (stat.S_IFMT(mode), what)
    return found


def truncate(path: Path, pick: random.Random) -> None:
    """The last byte goes, or a part, or all."""
    data = path.read_bytes()
    places = (len(data) - 1, pick.randrange(len(data) or 1), 0)
    path.write_bytes(data[: max(0, pick.choice(places))])


def flip(path: Path, pick: random.Random) -> None:
    data = bytearray(path.read_bytes() or b"\0")
    data[pick.randrange(len(data))] ^= 1 << pick.randrange(8)
    path.write_bytes(data)


def overwrite(path: Path, pick: random.Random) -> None:
    path.write_bytes(pick.randbytes(len(path.read_bytes()) or 1))


def append(path: Path, pick: random.Random) -> None:
    path.write_bytes(path.read_bytes() + pick.randbytes(pick.randrange(1, 100)))


def remove(path: Path, _pick: random.Random) -> None:
    path.unlink()


def put_beside(path: Path, pick: random.Random) -> None:
    """A file of another database, perhaps with a number that is to come."""
    suffix = path.suffix or pick.choice((".log", ".ldb"))
    beside = path.with_name(f"{pick.randrange(1, 40):06}{suffix}")
    beside.write_bytes(pick.choice((b"", pick.randbytes(300), path.read_bytes())))


WHAT_TO_DO = re.compile(": (restore a copy|use the version|give an empty folder)")


def refusal_of(folder: Path, worker) -> str:
    """What a start says; nothing if it goes on."""
    try:
        open_folder(folder, worker)[0].close()
    except (StoreError, DamagedChain) as error:
        return str(error)
    return ""


DAMAGES = (truncate, flip, overwrite, append, remove, put_beside)
TRIALS = 10


@pytest.fixture(scope="module")
def grown_folder(tmp_path_factory, worker) -> Path:
    """A chain that was open several times: tables, a log, a manifest of edits."""
    folder = tmp_path_factory.mktemp("grown") / "data"
    for blocks in (3, 2, 4):
        grow(folder, worker, blocks)
    store, _ = open_folder(folder, worker)
    store._database.compact_range()  # more edits in the manifest, and one table
    store.close()
    grow(folder, worker, 2)
    return folder


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_refused_start_changes_nothing(grown_folder, tmp_path, worker, damage):
    """Nor does it where LevelDB alone would write tables over those that are there."""
    refused = 0
    for name in sorted(path.name for path in grown_folder.iterdir()):
        for trial in range(TRIALS):
            seed = f"{damage.__name__} {name} {trial}"
            folder = Path(shutil.copytree(grown_folder, tmp_path / "data"))
            damage(folder / name, random.Random(seed))
            before = contents(folder)
            refusal = refusal_of(folder, worker)
            if refusal:
                refused += 1
                assert contents(folder) == before, f"{seed}: {refusal}"
                assert WHAT_TO_DO.search(refusal), f"{seed}: {refusal}"
            shutil.rmtree(folder)
    assert refused, "some of it is damage"


def test_a_manifest_without_its_last_byte_costs_nothing(grown_folder, tmp_path, worker):
    """LevelDB alone begins there to write tables over those that are there."""
    folder = Path(shutil.copytree(grown_folder, tmp_path / "data"))
    manifest = the(folder, "MANIFEST-*")
    data = manifest.read_bytes()
    manifest.write_bytes(data[:-1])
    before = contents(folder)
    with pytest.raises(StoreCorrupt):
        open_folder(folder, worker)
    assert contents(folder) == before
    manifest.write_bytes(data)
    assert read_all(folder, worker) == 11


def test_a_folder_of_another_genesis_is_refused_untouched(folder):
    before = contents(folder)
    other = parse_genesis({"name": "other"})
    with pytest.raises(ForeignGenesis, match="began from another genesis"):
        LevelStore(folder, inspect=partial(require_chain, want=lambda _stored: other))
    assert contents(folder) == before


def test_blocks_without_a_genesis_are_refused_with_what_to_do(folder, worker):
    with LevelStore(folder) as store:
        store.commit(WriteSet({keys.GENESIS: None}))
    with pytest.raises(DamagedChain, match=r"blocks but no genesis.*restore a copy"):
        open_folder(folder, worker)


# --- what is no file -----------------------------------------------------------------


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


def as_folder(path: Path) -> None:
    path.mkdir()


def as_link(path: Path) -> None:
    elsewhere = path.parent.with_name("elsewhere")
    elsewhere.write_bytes(b"theirs")
    path.symlink_to(elsewhere)


def as_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (as_pipe, "a pipe"),
        (as_folder, "a folder"),
        (as_link, "a link"),
        (as_device, "a link"),
    ],
)
@pytest.mark.parametrize(
    "name", ["FORMAT", "HEAD", "CURRENT", "LOG", "LOCK", "*.log", "*.ldb", "MANIFEST-*"]
)
def test_what_is_no_file_is_refused_by_name(folder, worker, name, make, kind):
    """A pipe or a device would be read for ever, and a link leads out of the folder."""
    path = the(folder, name)
    path.unlink()
    make(path)
    before = contents(folder)
    with pytest.raises(StoreForeign, match=f"{path} is {kind} and no file: restore"):
        open_folder(folder, worker)
    assert contents(folder) == before


@pytest.mark.parametrize("version", ["\u0662", "02", "-2", "2 2", "2.0", ""])
def test_a_version_is_written_in_digits(folder, worker, version):
    """A letter that Python takes for a digit is none."""
    (folder / "FORMAT").write_text(f"cowboy-devnet-store {version}\n")
    before = contents(folder)
    with pytest.raises(StoreForeign, match=r"does not name|has format"):
        open_folder(folder, worker)
    assert contents(folder) == before
