"""`explore` and `open`: the page on a chain at rest, and on one that a node runs."""

import asyncio
import hashlib
import json
import re
import socket
import webbrowser
from base64 import b64encode
from contextlib import asynccontextmanager, contextmanager
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner

from node.archive.bundle import KIND, open_bundle, pack_results
from node.archive.folder import open_folder
from node.archive.record_file import Packing
from node.chain.consensus import CONSENSUS_NUMBER
from node.cli import main, open_page
from node.client.inputs import dev_account
from node.explorer.exploring import of_bundle, of_folder, serve_page
from node.primitives import codec
from node.runtime.bundle_import import ImportProgress
from node.runtime.shared_store import SharedStore
from node.state import keys
from node.state.errors import StoreLocked
from node.state.leveldb import LevelStore
from node.testing import Devnet
from pvm.worker import Worker
from tests.unit.test_replay import UNCONFINED

DEADLINE_SECONDS = 60
HEART = b"""
class Heart:
    def deploy(self):
        self.handle_timer(b"")

    def handle_timer(self, payload):
        pvm_host.schedule_timer(pvm_host.block_height() + 3, b"", gas_limit=20_000)
"""


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A chain, and the bundle of it."""
    path = tmp_path_factory.mktemp("explored") / "a<b>.bundle"
    with Devnet() as devnet:
        devnet.deploy(HEART, value="5 CBY")
        devnet.mine(10)
        devnet.export_bundle(path)
        told = devnet.head, len(devnet.receipts())
        made = devnet.genesis, devnet.results
    return path, *told, made


@pytest.fixture(scope="module")
def data(chain, tmp_path_factory):
    """The same chain in a folder, as a node leaves it."""
    folder = tmp_path_factory.mktemp("folder") / "data"

    async def fill(store, worker):
        with open_bundle(chain[0]) as bundle:
            progress = ImportProgress(store, bundle.genesis, bundle, None)
            await progress.run(worker, 0, lambda: False)

    with Worker() as worker, LevelStore(folder) as store:
        asyncio.run(fill(store, worker))
    return folder


@asynccontextmanager
async def page_of(opened, shown="a chain"):
    """The URL of the page of a chain while it is served."""
    told = asyncio.get_running_loop().create_future()
    served = asyncio.create_task(
        serve_page(opened, shown, ("127.0.0.1", 0), told.set_result)
    )
    try:
        await asyncio.wait({served, told}, return_when=asyncio.FIRST_COMPLETED)
        if served.done():
            served.result()
        yield told.result()
    finally:
        served.cancel()
        await asyncio.gather(served, return_exceptions=True)


async def ask(url, method, request):
    """What the API answers to a question in JSON, or refuses."""

    def exchange():
        path = f"{url}cowboy.devnet.v1.{method}"
        body, headers = (
            json.dumps(request).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urlopen(Request(path, body, headers), timeout=DEADLINE_SECONDS) as got:
                return json.load(got)
        except HTTPError as refused:
            return json.load(refused)

    return await asyncio.to_thread(exchange)


async def get(url):
    def read():
        with urlopen(url, timeout=DEADLINE_SECONDS) as answer:
            return answer.read().decode()

    return await asyncio.to_thread(read)


def of(chain, scenario):
    """Run a scenario with the URL of a bundle's page."""

    async def run():
        with open_bundle(chain[0]) as bundle, Worker() as worker:
            opened = await of_bundle(bundle, SharedStore(), worker, ())
            async with page_of(opened, str(chain[0].name)) as url:
                await scenario(url)

    asyncio.run(run())


# --- bundles -------------------------------------------------------------------------


def test_the_page_of_a_bundle_has_the_numbers_of_the_chain(chain):
    _, head, receipts, _ = chain

    async def scenario(url):
        status = await ask(url, "QueryService/GetStatus", {})
        assert status["head"]["height"] == str(head.height)
        assert status["dev"] is False
        told = await ask(url, "QueryService/GetLaneUse", {"buckets": 1})
        bucket = told["buckets"][0]
        assert int(bucket["fires"]) + int(bucket["transactions"]) == receipts
        block = await ask(url, "TimerService/ExplainBlock", {"height": "4"})
        assert block["timers"][0]["decision"]["decision"] == "fired"
        traced = await ask(url, "QueryService/TraceBlock", {"height": "4"})
        assert len(traced["executions"]) == 1
        timers = await ask(url, "TimerService/ListTimers", {})
        assert len(timers["timers"]) == 1

    of(chain, scenario)


def test_the_page_says_that_it_only_reads_and_what(chain):
    """The name of a file is anybody's text."""

    async def scenario(url):
        page = await get(url)
        assert 'name="only-read" content="a&lt;b&gt;.bundle"' in page
        assert re.search(r'src="/static/[0-9a-f]+/main\.js"', page)

    of(chain, scenario)


def test_nothing_is_added_to_a_chain_at_rest(chain):
    """No DevService, and what is sent is refused with its reason."""

    async def scenario(url):
        refused = await ask(url, "DevService/Mine", {})
        assert refused["code"] == "unimplemented"
        sender, other = (
            b64encode(dev_account(index).address).decode() for index in (0, 1)
        )
        amount = {"to": other, "amount": "5"}
        draft = {"sender": sender, "instruction": {"transfer": amount}}
        prepared = await ask(url, "TransactionService/Prepare", {"draft": draft})
        sent = {"transaction": prepared["body"], "asSender": sender}
        for method in ("Submit", "SubmitAndWait"):
            refused = await ask(url, f"TransactionService/{method}", sent)
            assert refused["code"] == "failed_precondition"
            assert "does not go on" in refused["message"]
        tried = await ask(url, "TransactionService/Simulate", {"draft": draft})
        assert tried["receipt"]["status"] == "EXECUTION_STATUS_SUCCEEDED"

    of(chain, scenario)


def test_a_bundle_that_is_cut_is_refused_in_a_sentence(chain, tmp_path):
    cut = tmp_path / "cut.bundle"
    cut.write_bytes(chain[0].read_bytes()[:-9])
    done = explore(cut)
    assert done.exit_code == 1
    assert "DAMAGED" in done.stderr
    assert str(cut) in done.stderr


def test_a_bundle_that_executing_does_not_give_is_refused_with_the_height(
    chain, tmp_path
):
    genesis, results = chain[3]
    forged = tmp_path / "forged.bundle"
    records = dict(pack_results(genesis, results)._records)
    height = next(one.header.height for one in results if one.receipts)
    whole = codec.decode(records[keys.height8(height)])
    records[keys.height8(height)] = codec.encode([*whole[:2], b"", b""])
    head = genesis.encode(), results[-1].header, CONSENSUS_NUMBER
    forged.write_bytes(b"".join(Packing(KIND, head, records.items()).parts()))
    done = explore(forged)
    assert done.exit_code == 1
    assert "DIFFERS" in done.stderr
    assert f"first at height {height}" in done.stderr


def test_what_is_no_chain_is_refused_in_a_sentence(tmp_path):
    nothing = explore(tmp_path / "nothing")
    assert (nothing.exit_code, "cannot be read" in nothing.stderr) == (2, True)
    empty = explore(tmp_path)
    assert (empty.exit_code, "holds no chain" in empty.stderr) == (2, True)
    address = explore(tmp_path, "--http-listen", "nowhere")
    assert (address.exit_code, "write `HOST:PORT`" in address.stderr) == (2, True)


def test_a_port_that_is_taken_is_told_before_a_block_is_executed(chain):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        done = explore(chain[0], "--http-listen", listen)
    assert done.exit_code == 2
    assert f"cannot listen on {listen} for HTTP: " in done.stderr
    assert "executing" not in done.stderr


# --- folders -------------------------------------------------------------------------


def contents(folder):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
    }


def test_a_folder_is_shown_and_not_altered(chain, data):
    before = contents(data)

    async def run():
        with open_folder(data) as folder, Worker() as worker:
            opened = await of_folder(folder, worker, ())
            async with page_of(opened) as url:
                status = await ask(url, "QueryService/GetStatus", {})
                assert status["head"]["height"] == str(chain[1].height)
                block = await ask(url, "QueryService/GetBlock", {"height": "4"})
                assert block["block"]["fireCount"] == 1
                with pytest.raises(StoreLocked):
                    LevelStore(data)

    asyncio.run(run())
    assert contents(data) == before


def test_a_folder_that_a_node_has_open_is_refused(data):
    with LevelStore(data):
        done = explore(data)
    assert (done.exit_code, "another node" in done.stderr) == (2, True)


def explore(path, *words):
    command = ["explore", str(path), "--http-listen", "127.0.0.1:0", *words]
    return CliRunner(env=UNCONFINED).invoke(main, command)


# --- open ----------------------------------------------------------------------------


@contextmanager
def opening(monkeypatch, is_there):
    """The URLs that a browser was given, if there is a browser."""
    opened = []

    def open_url(url):
        opened.append(url)
        return is_there

    monkeypatch.setattr(webbrowser, "open", open_url)
    yield opened


def run_open(*words):
    return CliRunner().invoke(main, ["open", *words])


@pytest.mark.parametrize("is_there", [True, False])
def test_open_gives_the_page_to_the_browser_and_prints_where_it_is(
    chain, monkeypatch, is_there
):
    async def scenario(url):
        with opening(monkeypatch, is_there) as opened:
            done = await asyncio.to_thread(run_open, "a b", "--page", url)
        assert done.exit_code == 0
        assert done.stdout == f"{url}#/search/a%20b\n"
        assert ("no browser was found" in done.stderr) is not is_there
        assert opened == [f"{url}#/search/a%20b"]

    of(chain, scenario)


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("127.0.0.1:50051", "http://127.0.0.1:8080/"),
        ("devnet.test:7", "http://devnet.test:8080/"),
        ("https://devnet.test:7", "https://devnet.test:8080/"),
        ("http://devnet.test", "http://devnet.test:8080/"),
        ("[::1]:50051", "http://[::1]:8080/"),
    ],
)
def test_open_takes_the_host_from_where_all_commands_take_it(url, page, monkeypatch):
    """docs/api.md: `--url` or COWBOY_DEVNET_URL says where the node is."""
    monkeypatch.setattr(open_page, "_require_page", lambda _page, _output: None)
    with opening(monkeypatch, is_there=True) as opened:
        assert run_open("--url", url).exit_code == 0
        monkeypatch.setenv("COWBOY_DEVNET_URL", url)
        assert run_open().exit_code == 0
        assert run_open("--page", "http://127.0.0.1:1/").exit_code == 0
    assert opened == [page, page, "http://127.0.0.1:1/"]


@pytest.mark.parametrize("url", ["", "a b:1", "[::1:5", "\x00:1"])
def test_open_says_what_is_no_place_of_a_node(url, monkeypatch):
    with opening(monkeypatch, is_there=True) as opened:
        done = run_open("--url", url)
    assert (done.exit_code, opened) == (2, [])


def test_open_finds_the_page_in_a_ready_file(chain, monkeypatch, tmp_path):
    ready = tmp_path / "ready.json"

    async def scenario(url):
        ready.write_text(json.dumps({"page": url}))
        with opening(monkeypatch, is_there=True) as opened:
            done = await asyncio.to_thread(run_open, "--ready-file", str(ready))
        assert (done.exit_code, opened) == (0, [url])

    of(chain, scenario)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"page": null}', "[" * 9_999])
def test_a_file_without_a_page_is_refused(text, tmp_path, monkeypatch):
    ready = tmp_path / "ready.json"
    ready.write_text(text)
    with opening(monkeypatch, is_there=True) as opened:
        done = run_open("--ready-file", str(ready))
        assert (done.exit_code, opened) == (2, [])


async def of_a_stranger(act, told=b"HTTP/1.0 200 OK\r\n\r\n<title>another</title>"):
    """What comes of the URL of a server that is no node's."""

    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(told)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        return await asyncio.to_thread(act, "--page", f"http://{host}:{port}/")


@pytest.mark.parametrize(
    "page",
    ["http://[", "http://127.0.0.1:no/", "http://127.0.0.1:1/ x", "http://a\nb/", "x:"],
)
def test_open_says_what_is_no_url_of_a_page(page, monkeypatch):
    with opening(monkeypatch, is_there=True) as opened:
        done = run_open("--page", page)
    assert (done.exit_code, opened) == (2, [])
    assert "write it as `http://HOST:PORT/`" in done.stderr


@pytest.mark.parametrize(
    "told",
    [
        b"\0\0\6\4\0\0\0\0\0 and what else gRPC begins with\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 99\r\n\r\ncut",
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx",
    ],
)
def test_open_says_when_what_answers_speaks_no_http(told, monkeypatch):
    with opening(monkeypatch, is_there=True) as opened:
        done = asyncio.run(of_a_stranger(run_open, told))
    assert (done.exit_code, opened) == (1, [])
    assert "is no page of a node" in done.stderr


def test_open_says_when_no_page_is_there(chain, monkeypatch):
    async def scenario(url):
        with opening(monkeypatch, is_there=True) as opened:
            done = await asyncio.to_thread(run_open, "--page", f"{url}nothing/")
            assert (done.exit_code, opened) == (1, [])
            assert "is no page of a node" in done.stderr

    of(chain, scenario)
    with opening(monkeypatch, is_there=True) as opened:
        done = asyncio.run(of_a_stranger(run_open))
        assert (done.exit_code, opened) == (1, [])
        assert "is no page of a node" in done.stderr
        done = run_open("--page", "http://127.0.0.1:1/")
        assert (done.exit_code, opened) == (3, [])
        assert "no node answers" in done.stderr
        done = run_open("--page", "file:///etc/passwd")
        assert (done.exit_code, opened) == (2, [])
