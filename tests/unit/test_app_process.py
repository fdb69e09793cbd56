"""`cowboy-devnet start` as a process: ready file, signals, folders, exit codes."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import psutil
import pytest

from node.chain.genesis import dev_account
from node.chain.transaction import Body, Fund, impersonate
from node.primitives.types import Amount
from node.rpc.v1 import dev_pb2, queries_pb2, transactions_pb2
from node.rpc.v1.dev_pb2_grpc import DevServiceStub
from node.rpc.v1.queries_pb2_grpc import QueryServiceStub
from node.rpc.v1.transactions_pb2_grpc import TransactionServiceStub
from node.state import keys
from node.state.leveldb import LevelStore
from node.state.store import WriteSet

DEADLINE_SECONDS = 30
ROOT = Path(__file__).parents[2]


class Node:
    """A node's process."""

    def __init__(self, process: subprocess.Popen[str], ready: Path) -> None:
        self.process = process
        self.ready_file = ready
        self.ready = json.loads(ready.read_text())

    @contextmanager
    def channel(self):
        with grpc.insecure_channel(self.ready["grpc"]) as channel:
            yield channel

    def status(self) -> queries_pb2.GetStatusResponse:
        with self.channel() as channel:
            request = queries_pb2.GetStatusRequest()
            return QueryServiceStub(channel).GetStatus(request, timeout=5)

    def height(self) -> int:
        return self.status().head.height

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Exit code and log."""
        self.process.send_signal(number)
        _, log = self.process.communicate(timeout=DEADLINE_SECONDS)
        return self.process.returncode, log


def command(folder: Path | str, *flags: str) -> list[str]:
    return [
        *(sys.executable, "-m", "node", "start"),
        *("--data-dir", str(folder), "--grpc-listen", "127.0.0.1:0"),
        *("--log-format", "json", *flags),
    ]


def spawn(
    folder: Path | str,
    *flags: str,
    stderr: int = subprocess.PIPE,
    through: tuple[str, ...] = (),
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*through, *command(folder, *flags)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


@contextmanager
def running(
    tmp_path: Path,
    *flags: str,
    folder: Path | str | None = None,
    stderr: int = subprocess.PIPE,
    through: tuple[str, ...] = (),
):
    """A node that serves; killed at the end if it still runs."""
    ready = tmp_path / f"ready-{time.monotonic_ns()}.json"
    flags = (*flags, "--ready-file", str(ready))
    where = folder or tmp_path / "data"
    process = spawn(where, *flags, stderr=stderr, through=through)
    try:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(process.communicate()[1])
            os.sched_yield()
        yield Node(process, ready)
    finally:
        process.kill()
        with process:  # closes its pipes, however it ended
            pass


def refused(tmp_path: Path, *flags: str) -> str:
    """The sentence with which a start is refused, with exit code 2."""
    done = subprocess.run(
        command(tmp_path / "data", *flags),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == (4 if "Usage" in done.stderr else 1), done.stderr
    assert done.stdout == ""
    return done.stderr


def mine(node: Node, blocks: int) -> int:
    with node.channel() as channel:
        request = dev_pb2.MineRequest(blocks=blocks)
        return DevServiceStub(channel).Mine(request, timeout=5).head.height


def fund(node: Node) -> int:
    with node.channel() as channel:
        request = dev_pb2.FundRequest(to=dev_account(0), amount="1")
        return DevServiceStub(channel).Fund(request, timeout=5).committed.block.height


def test_the_ready_file_says_what_the_banner_says(tmp_path: Path) -> None:
    with running(tmp_path, "--mining", "manual", "--accounts", "2") as node:
        ready = node.ready
        assert (ready["chain"], ready["chain_id"], ready["height"]) == (
            "devnet",
            100,
            0,
        )
        assert (ready["mining"], ready["pace_ms"]) == ("manual", 1_000)
        assert node.height() == 0
        code, _ = node.stop()
        assert code == 0
        banner = node.process.stdout
        assert banner is not None
    assert (ready["http"], ready["page"]) == (None, None)
    addresses = [account["address"] for account in ready["accounts"]]
    assert addresses == [f"0x{dev_account(index).hex()}" for index in range(2)]
    assert not node.ready_file.exists(), "a node that has ended is not ready"


def test_the_banner_names_endpoint_chain_accounts_and_mode(tmp_path: Path) -> None:
    with running(tmp_path, "--pace", "2s") as node:
        node.process.send_signal(signal.SIGTERM)
        banner, _ = node.process.communicate(timeout=DEADLINE_SECONDS)
    assert node.ready["grpc"] in banner
    assert "page      off" in banner
    assert "UNSAFE" in banner
    assert "a block every 2 s" in banner
    for account in node.ready["accounts"]:
        assert account["address"] in banner
        assert account["private_key"] in banner


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_soon_and_nothing_is_lost(tmp_path: Path, number: int) -> None:
    """Finishes the block in hand, closes streams, flushes, exits 0."""
    with running(tmp_path, "--mining", "manual") as node:
        with node.channel() as channel:
            # A stream that is open when it ends.
            stub = channel.unary_stream(
                "/cowboy.devnet.v1.StreamService/StreamBlocks",
                request_serializer=lambda _request: b"",
                response_deserializer=bytes,
            )
            stub(None)
            assert mine(node, 3) == 3
            code, log = node.stop(number)
            assert code == 0
        assert json.loads(log.splitlines()[-1])["event"] == "node_stopped"
    with running(tmp_path, "--mining", "manual") as node:
        assert node.height() == 3
        assert mine(node, 1) == 4


def test_a_node_ends_with_the_program_that_has_its_standard_input(tmp_path) -> None:
    """docs/operations.md: none is left behind, even if that program is killed."""
    starting = (
        "import subprocess, sys\n"
        "node = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)\n"
        "node.stdin.write(b'this says nothing'); node.stdin.flush()\n"
        "node.wait()\n"
    )
    through = (sys.executable, "-c", starting)
    with running(tmp_path, "--end-with-stdin", through=through) as node:
        assert mine(node, 5) >= 5
        node.process.kill()
        log = node.process.communicate(timeout=DEADLINE_SECONDS)[1]  # the node's end
    assert '"event": "node_stopped"' in log
    assert not node.ready_file.exists()


def test_an_input_that_cannot_end_is_refused(tmp_path: Path) -> None:
    with open("/dev/null") as nothing:  # noqa: PTH123 - as a service has it
        done = subprocess.run(
            command(tmp_path / "data", "--end-with-stdin"),
            stdin=nothing,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "standard input is no pipe and no terminal" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_log_that_nobody_reads_stops_no_block(tmp_path: Path) -> None:
    """A full pipe, as a container's log driver that hangs leaves behind."""
    room = 4_096
    reading, writing = os.pipe()
    capacity = fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)
    os.write(writing, bytes(capacity - room))

    def is_full() -> bool:
        waiting = fcntl.ioctl(reading, termios.FIONREAD, bytes(4))
        return capacity - int.from_bytes(waiting, sys.byteorder) < room // 2

    try:
        with running(tmp_path, "--mining", "manual", stderr=writing) as node:
            deadline = time.monotonic() + DEADLINE_SECONDS
            while not is_full():
                fund(node)
                assert time.monotonic() < deadline
            height = fund(node)
            assert [fund(node) for _ in range(10)][-1] == height + 10
            code, _ = node.stop()
            assert code == 0
    finally:
        os.close(reading)
        os.close(writing)


def test_no_file_of_the_store_gets_the_number_of_a_closed_log(tmp_path: Path) -> None:
    """Libraries would write their messages into it."""
    closed = ("sh", "-c", 'exec "$@" 2>&-', "sh")
    with running(tmp_path, "--mining", "manual", through=closed) as node:
        assert mine(node, 1) == 1
        log = Path(f"/proc/{node.process.pid}/fd/2").readlink()
        assert log == Path(os.devnull)
        code, _ = node.stop()
        assert code == 0


def test_a_killed_node_has_all_that_it_acknowledged(tmp_path: Path) -> None:
    """Durable, visible, announced."""
    with running(tmp_path, "--mining", "manual") as node:
        heights = [fund(node) for _ in range(3)]
        node.process.kill()
    with running(tmp_path, "--mining", "manual") as node:
        assert node.height() == heights[-1] == 3


def test_a_second_node_on_one_folder_is_refused(tmp_path: Path) -> None:
    with running(tmp_path) as node:
        sentence = refused(tmp_path, "--ready-file", str(node.ready_file))
        assert "another node has" in sentence
        assert "give this one a folder of its own" in sentence
        assert node.ready_file.exists(), "the first node's file is left alone"
        assert node.height() >= 0


def test_a_foreign_genesis_is_refused(tmp_path: Path) -> None:
    with running(tmp_path, "--accounts", "3") as node:
        node.stop()
    sentence = refused(tmp_path, "--genesis", "mesa")
    assert "began from another genesis" in sentence
    assert "--data-dir" in sentence
    assert "block_interval_ms" in refused(tmp_path, "--block-time", "250ms")
    assert "activations" in refused(tmp_path, "--rules", "auction")
    with running(tmp_path) as node:  # what is not said is taken from the folder
        assert len(node.ready["accounts"]) == 3


def test_a_fresh_folder_begins_under_the_rules_of_the_flag(tmp_path: Path) -> None:
    with running(tmp_path, "--rules", "globalbox") as node:
        assert node.status().rules == "globalbox"
        node.stop()
    with running(tmp_path) as node:  # what is not said is taken from the folder
        assert node.status().rules == "globalbox"


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--rules", "lifo"), "--rules is one of auction, bidding, fifo, globalbox"),
        (("--genesis", "nowhere"), "neither a preset"),
        (("--pace", "soon"), "no duration"),
        (("--accounts", "0"), "--accounts is from 1"),
        (("--account-balance", "much"), "no amount"),
        (("--grpc-listen", "here"), "HOST:PORT"),
        (("--grpc-listen", "192.0.2.1:1"), "cannot listen"),
        (("--ready-file", "/nowhere/ready"), "--ready-file"),
        (("--ready-file", f"{__file__}/ready"), "Not a directory"),
        (("--data-dir", "\udcff"), "is not UTF-8"),
    ],
)
def test_a_wrong_flag_is_a_sentence(
    tmp_path: Path, flags: tuple[str, ...], sentence: str
) -> None:
    assert sentence in refused(tmp_path, *flags)


def test_a_banner_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command(tmp_path / "data", "--log-level", "error"),
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
    sentence = "cowboy-devnet: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, sentence)


def test_a_ready_file_is_its_owners(tmp_path: Path) -> None:
    """It holds keys: nobody else on the machine reads it."""
    (tmp_path / ".ready.json.draft").touch(0o666)
    with running(tmp_path) as node:
        assert node.ready_file.stat().st_mode & 0o777 == 0o600


def test_a_ready_file_replaces_nothing_but_a_file(tmp_path: Path) -> None:
    """`--ready-file /dev/stdout` would replace the device."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    sentence = refused(tmp_path, "--ready-file", str(pipe))
    assert "a folder or a device: name a file" in sentence
    assert pipe.is_fifo()


def test_a_defect_ends_the_process_with_one_line_and_exit_code_1(
    tmp_path: Path,
) -> None:
    """Neither InvalidTransaction nor InvalidBlock is a bug."""
    program = (
        "import node.runtime.block_builder as block_builder\n"
        "def build_next(*_arguments): raise AssertionError('supply')\n"
        "block_builder.build_next = build_next\n"
        "from node.cli import main\n"
        "main()"
    )
    flags = command(tmp_path / "data", "--pace", "10ms")[3:]
    done = subprocess.run(
        [sys.executable, "-c", program, *flags],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 1
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    lines = [line for line in lines if line["event"] != "beware"]  # of root
    assert [line["event"] for line in lines] == ["node_serves", "node_failed"]
    assert lines[1]["error"] == "AssertionError('supply')"
    assert "build_next" in lines[1]["traceback"]


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "letters.txt").write_text("dear")
    assert "no database of cowboy-devnet" in refused(tmp_path)


def test_a_taken_port_is_refused(tmp_path: Path) -> None:
    with running(tmp_path, folder=":memory:") as node:
        assert "cannot listen" in refused(tmp_path, "--grpc-listen", node.ready["grpc"])
    assert not (tmp_path / "data").exists(), "nothing is left behind"


def test_flags_can_be_set_as_variables(tmp_path: Path, monkeypatch) -> None:
    """Every flag has a variable."""
    monkeypatch.setenv("COWBOY_DEVNET_MINING", "instant")
    monkeypatch.setenv("COWBOY_DEVNET_ACCOUNTS", "1")
    with running(tmp_path, folder=":memory:") as node:
        assert node.ready["mining"] == "instant"
        assert len(node.ready["accounts"]) == 1
        assert node.ready["data_dir"] == ":memory:"
        assert fund(node) == 1
        code, _ = node.stop()
        assert code == 0


def test_without_dev_nobody_is_impersonated(tmp_path: Path) -> None:
    """DevService is absent (UNIMPLEMENTED) with --no-dev."""
    with running(tmp_path, "--no-dev", folder=":memory:") as node:
        with pytest.raises(grpc.RpcError) as absent:
            mine(node, 1)
        assert absent.value.code() is grpc.StatusCode.UNIMPLEMENTED
        no = Amount(0)
        fund_all = Fund(dev_account(0), Amount(1))
        body = Body(100, 0, 0, 0, no, no, no, no, fund_all)
        raw = impersonate(body.encode(), dev_account(1))
        request = transactions_pb2.SubmitRequest(transaction=raw)
        with node.channel() as channel:
            service = TransactionServiceStub(channel)
            with pytest.raises(grpc.RpcError) as refused:
                service.Submit(request, timeout=5)
        assert "--no-dev" in refused.value.details()


def test_an_idle_node_is_small(tmp_path: Path) -> None:
    """Idle resident memory under 90 MiB."""
    with running(tmp_path, "--mining", "manual") as node:
        mine(node, 10)
        resident = psutil.Process(node.process.pid).memory_info().rss
        assert resident < 90 * 2**20


OWN_MODULES_MAX = 236
"""Of `node` and `pvm`; 232 with four sets of timer rules, traces and upgrades."""

BEFORE_READY = """
import sys
import node.app, node.cli, node.cli.ready, node.cli.start, node.state.leveldb
import node.rpc.queries  # answers the first call
from node.config import GenesisChoice
from node.runtime.shared_store import SharedStore
from node.archive.opening import open_chain
opened = open_chain(SharedStore(), GenesisChoice().wanted)
assert opened.is_fresh
print(*sys.modules)
"""


def modules_before_ready() -> set[str]:
    """What a start imports until it serves, and for the first answer."""
    command = [sys.executable, "-c", BEFORE_READY]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


BEFORE_GRPC = """
import os, sys
from unittest.mock import patch
from node.cli import main

class Imported(Exception):
    pass

def watch(name, *_):
    if name == "grpc":
        raise Imported(os.environ["GRPC_EXPERIMENTS"])

with patch.object(sys, "meta_path", [type("", (), {"find_spec": staticmethod(watch)}),
                                     *sys.meta_path]):
    try:
        main(["start", "--data-dir", ":memory:"], standalone_mode=False)
    except Imported as told:
        print(told)
"""


def test_grpcs_switches_are_set_before_it_is_imported() -> None:
    """It reads them then, and without a word if they come too late."""
    command = [sys.executable, "-c", BEFORE_GRPC]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "-event_engine_listener\n"


def without_leveldb(folder: Path) -> dict[str, str]:
    """The environment of an interpreter for which nobody installed LevelDB."""
    folder.mkdir()
    (folder / "plyvel.py").write_text("raise ImportError('not installed')\n")
    return {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}"}


def test_a_folder_without_leveldb_is_refused_with_what_to_install(tmp_path) -> None:
    """On CPython 3.13 LevelDB comes by an extra, which `start` names."""
    done = subprocess.run(
        command(tmp_path / "chain"),
        env=without_leveldb(tmp_path / "hidden"),
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'cowboy-devnet[leveldb]'" in done.stderr
    assert "libleveldb-dev" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "chain").iterdir()) == []


def test_a_chain_in_memory_a_client_and_a_devnet_need_no_leveldb(tmp_path) -> None:
    hidden = without_leveldb(tmp_path / "hidden")
    through = ("env", f"PYTHONPATH={hidden['PYTHONPATH']}")
    with running(tmp_path, folder=":memory:", through=through) as node:
        program = (
            "import sys\n"
            "from node.client import Client\n"
            "from node.testing import Devnet\n"
            "with Devnet() as chain, Client(sys.argv[1]) as client:\n"
            "    assert client.height >= chain.height == 0\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, node.ready["grpc"]],
            env=hidden,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
        assert done.stderr == ""
        assert node.stop()[0] == 0


def test_start_imports_no_table_printer_settings_or_http_library() -> None:
    """None is imported by `start` before it is ready."""
    assert modules_before_ready().isdisjoint(
        {
            *("rich", "structlog", "pydantic", "http.client", "urllib.request"),
            *("aiohttp", "requests", "hypothesis", "pytest", "markdown_it", "pygments"),
        }
    )


def test_start_imports_nothing_before_somebody_asks_for_it() -> None:
    """The import budget: compiling and executing come after ready."""
    loaded = modules_before_ready()
    late = {
        *("RestrictedPython", "prometheus_client", "cffi", "node.client"),
        *("pvm.compiler", "pvm.modules", "node.rpc.profiling"),
        *("pvm.driver.interpreter", "pvm.driver.library_loader"),
    }
    assert loaded.isdisjoint(late), sorted(loaded & late)
    own = {name for name in loaded if name.split(".")[0] in {"node", "pvm"}}
    assert len(own) <= OWN_MODULES_MAX, sorted(own)


def test_no_program_that_the_node_might_begin_keeps_its_port_or_lock(
    tmp_path: Path,
) -> None:
    """They are closed where a program takes the process's place.

    LevelDB's own files are not; the lock on its LOCK is one that no child inherits.
    """
    with running(tmp_path, "--http-listen", "127.0.0.1:0") as node:
        fund(node)
        process = Path(f"/proc/{node.process.pid}")
        kept = {}
        for link in (process / "fd").iterdir():
            with suppress(FileNotFoundError):  # a connection that ended
                info = (process / "fdinfo" / link.name).read_text()
                flags = int(info.split("flags:")[1].split()[0], 8)
                file = link.readlink()
                is_leveldb = file.parent == tmp_path / "data" and file.name != "FORMAT"
                if int(link.name) > 2 and not flags & os.O_CLOEXEC and not is_leveldb:
                    kept[link.name] = file
        assert kept == {}


def test_what_verify_refuses_is_left_as_it_was(tmp_path: Path) -> None:
    """Also by LevelDB, which rearranges its files when it opens them."""
    folder = tmp_path / "data"
    with running(tmp_path) as node:
        mine(node, 2)
        node.process.terminate()
        node.process.communicate(timeout=DEADLINE_SECONDS)
    with LevelStore(folder) as store:  # an index that only --verify looks at
        store.commit(WriteSet({keys.block_by_hash(bytes(32)): keys.height8(1)}))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = subprocess.run(
        command(folder, "--verify"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "the index hx has " in done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    with running(tmp_path, "--mining", "manual"):
        pass  # it serves if nobody asks
