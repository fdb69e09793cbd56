"""Bundles through the command line and real processes, one killed in an import."""

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from node.chain.transaction import Transfer
from node.cli import main
from node.client import Api
from node.testing import Devnet
from tests.crash.processes import DEADLINE_SECONDS, ROOT, Process, running

BLOCKS = 400
KILLED_AT = (0.1, 0.6)
"""Shares of what an import writes."""
UNCONFINED = {"COWBOY_DEVNET_CONFINE": "off", "COWBOY_DEVNET_MEMORY_MAX": "off"}
"""A command runs in this process, which has more to do afterwards."""


def command(*words, code=0):
    done = CliRunner(env=UNCONFINED).invoke(main, [*map(str, words)])
    assert done.exit_code == code, (done.output, done.exception)
    return done


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """A bundle of many blocks, and its head's height and hash."""
    path = tmp_path_factory.mktemp("lived") / "chain.bundle"
    with Devnet() as chain:
        for _ in range(BLOCKS):
            chain.submit(Transfer(bytes(20), 1), cycles_limit=9_000, cells_limit=900)
            chain.mine()
        chain.advance(blocks=1_000)
        chain.export_bundle(path)
        return path, chain.head


@pytest.mark.slow
def test_a_bundle_goes_through_two_nodes_and_the_command_line(tmp_path, lived):
    """Export, check, import: other processes, the same bytes."""
    path, head = lived
    flags = ("--mining", "manual")
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    with running(first, *flags) as (_, url), running(second, *flags) as (_, other):
        said = command("bundle", "import", path, "--url", url).stdout
        assert f"0x{head.hash().hex()}" in said
        again = tmp_path / "again"
        said = command("bundle", "export", again, "--url", url).stdout
        assert said.endswith(f"blocks up to height {head.height} are in {again}\n")
        assert again.read_bytes() == path.read_bytes()
        checked = command("bundle", "check", again, "--json").stdout
        assert json.loads(checked)["height"] == head.height
        imported = command("bundle", "import", again, "--url", other, "--json").stdout
        assert json.loads(imported)["head"]["height"] == head.height
        refused = command("bundle", "import", again, "--url", other, code=1)
        assert "CHAIN_NOT_EMPTY: the chain is not empty" in refused.stderr
        refused = command("bundle", "export", again, "--url", other, code=2)
        assert "again exists already: give another name" in refused.stderr
        refused = command("bundle", "import", tmp_path / "no", "--url", other, code=2)
        assert "cannot be read: No such file" in refused.stderr
        cut = tmp_path / "cut"
        cut.write_bytes(path.read_bytes()[:-1])
        refused = command("bundle", "import", cut, "--url", other, code=1)
        assert "BUNDLE_DAMAGED: the bundle is cut or was altered" in refused.stderr
    told = json.loads(command("replay", "--data-dir", second / "data", "--json").stdout)
    assert (told["height"], told["blocks"]) == (head.height, BLOCKS + 1)
    command("bundle", "export", tmp_path / "x", "--url", "127.0.0.1:1", code=3)
    assert not list(tmp_path.glob("x*"))


def importing(url, path):
    words = ("-m", "node", "bundle", "import", str(path), "--url", url)
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def written(folder):
    """Bytes of blocks that the database has got."""
    return sum(log.stat().st_size for log in (folder / "data").glob("*.log"))


@pytest.mark.slow
def test_a_node_killed_in_an_import_opens_at_genesis_or_with_all_of_it(tmp_path, lived):
    path, head = lived
    with running(tmp_path, "--mining", "manual") as (_, url), Api(url) as api:
        api.import_bundle([path.read_bytes()])
        whole = written(tmp_path)
    heights = []
    for share in KILLED_AT:
        folder = tmp_path / f"{share}"
        folder.mkdir()
        process = Process(folder, "--mining", "manual")
        client = importing(process.wait_ready(), path)
        while written(folder) < share * whole:
            assert client.poll() is None, "it was too fast to be killed"
            os.sched_yield()
        process.kill()
        assert client.wait(DEADLINE_SECONDS) in (1, 3), "the command says so"
        told = CliRunner(env=UNCONFINED).invoke(
            main, ["replay", "--data-dir", f"{folder}/data"]
        )
        assert told.exit_code == 2
        assert "was being taken back when its node was killed" in told.stderr
        with running(folder, "--mining", "manual") as (_, url), Api(url) as api:
            heights.append(api.status().head.height)
            assert api.import_bundle([path.read_bytes()]).hash == head.hash()
    assert heights == [0] * len(KILLED_AT)
