"""The prompt on a node's chain: undo by snapshots, and a test that needs no node."""

import asyncio
import io
import subprocess
import sys

import pytest

from node.client import Client
from node.config import genesis_folder
from node.testing.console.prompt import Prompt
from node.testing.console.undo import CannotUndo, UndoHistory

COUNTER = genesis_folder() / "actors" / "counter.py"


def typed(client, lines):
    out, err = io.StringIO(), io.StringIO()
    code = Prompt(client, io.StringIO(lines), out, err).run()
    return code, out.getvalue(), err.getvalue()


def serve(run_node, use, **settings):
    async def main():
        async with run_node(**settings) as node:
            await asyncio.to_thread(use, node.url)

    asyncio.run(main())


def test_changes_of_a_nodes_chain_are_undone_and_nothing_of_it_is_kept(run_node):
    def use(url):
        with Client(url, strict=True) as client:
            code, out, err = typed(
                client,
                f'counter = chain.deploy(__import__("pathlib").Path("{COUNTER}"))\n'
                "counter.increment()\ncounter.storage\n.undo\ncounter.storage\n",
            )
            assert (code, err) == (0, "")
            assert "\n{'value': 1}\nundone: counter.increment()\n" in out
            assert out.endswith("{'value': 0}\n")
            assert client.api.snapshots() == []
            assert client.height == 1

    serve(run_node, use)


@pytest.mark.slow
def test_a_session_on_a_node_is_a_test_that_begins_with_its_chain(
    run_node, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)

    def use(url):
        with Client(url) as client:
            client.deploy(COUNTER).increment()
            client.label(client.accounts[3], "treasury")
            code, out, err = typed(
                client,
                "counter.increment()\nchain.api.status().pace_ms\n"
                "chain.balance(treasury)\n.save test_node.py\n",
            )
            assert (code, err) == (0, "")
            assert "left out: 1 statement that cannot be repeated" in out

    serve(run_node, use)
    text = (tmp_path / "test_node.py").read_text()
    assert "assert counter.increment().result == 2\n" in text
    assert "treasury = bytes.fromhex" in text
    assert "api" not in text
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "test_node.py",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout


def test_a_node_without_development_is_asked_and_undoes_nothing(run_node):
    def use(url):
        with Client(url) as client:
            code, out, err = typed(client, "chain.height\n")
            assert (code, out, err) == (0, "0\n", "")
            point = UndoHistory(client).here()
            with pytest.raises(CannotUndo, match="the node kept no state to return to"):
                point.revert()

    serve(run_node, use, is_dev=False)


def test_a_node_that_goes_away_ends_a_pipe_with_a_sentence(run_node):
    clients = []

    def use(url):
        client = Client(url, timeout=2)
        clients.append(client)
        assert client.height == 0

    async def main():
        async with run_node() as node:
            await asyncio.to_thread(use, node.url)
            prompt = await asyncio.to_thread(
                Prompt, clients[0], io.StringIO("chain.height\n"), io.StringIO(), told
            )
        return await asyncio.to_thread(prompt.run)

    told = io.StringIO()
    assert asyncio.run(main()) == 3
    clients[0].close()
    assert told.getvalue().startswith("NodeUnreachable: no node answers at 127.0.0.1:")
