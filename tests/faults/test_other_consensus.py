"""A chain that was executed under other rules: read, never executed, carried over."""

import json

import grpc
import pytest
from click.testing import CliRunner

from node import history
from node.archive.bundle import new_bundle, pack_chain
from node.archive.folder import open_folder
from node.archive.state_file import check_state_file
from node.chain.bundle_errors import BundleFault, BundleRefused
from node.chain.consensus import CONSENSUS_NUMBER
from node.chain.genesis import dev_account
from node.cli import main
from node.client import Api, NodeError
from node.state import keys
from node.state.leveldb import LevelStore
from node.testing import Devnet
from tests.unit.test_app_process import fund, mine, running

OTHER = CONSENSUS_NUMBER + 1
MANUAL = ("--mining", "manual", "--http-listen", "off")
SENTENCE = (
    f"was executed under consensus {OTHER}, and this cowboy-devnet executes under "
    f"{CONSENSUS_NUMBER}: what is stored can be read"
)


@pytest.fixture
def other(tmp_path):
    """The folder of a chain with two blocks, as if it were of a later version."""
    with running(tmp_path, *MANUAL) as node:
        fund(node)
        fund(node)
        node.stop()
    with LevelStore(tmp_path / "data") as store:
        assert history.load_consensus(store.snapshot()) == CONSENSUS_NUMBER
        assert store.snapshot().get(keys.CONSENSUS) is not None
        store.commit(history.consensus_record(OTHER))
    return tmp_path / "data"


def command(*words, code):
    done = CliRunner(
        env={"COWBOY_DEVNET_CONFINE": "off", "COWBOY_DEVNET_MEMORY_MAX": "off"}
    ).invoke(main, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


def test_a_node_reads_what_is_stored_and_executes_none_of_it(tmp_path, other):
    with running(tmp_path, *MANUAL) as node, Api(node.ready["grpc"]) as api:
        assert api.status().head.height == 2
        assert api.block(2).header.height == 2
        refused = [
            lambda: api.mine(1),
            lambda: api.fund(dev_account(0), 1),
            lambda: api.create_snapshot("here"),
            lambda: list(api.advance(blocks=1)),
            lambda: api.block_profile(2),
        ]
        for call in refused:
            with pytest.raises(NodeError, match=SENTENCE) as error:
                call()
            assert error.value.reason == "OTHER_CONSENSUS"
        data = b"".join(api.export_bundle())
        code, errors = node.stop()
        assert code == 0
    assert data
    told = [json.loads(line) for line in errors.splitlines()]
    (warning,) = (line for line in told if line["event"] == "chain_only_read")
    assert (warning["consensus"], warning["own"]) == (OTHER, CONSENSUS_NUMBER)
    with open_folder(other) as folder:
        assert history.load_consensus(folder.snapshot) == OTHER


@pytest.mark.usefixtures("other")
def test_blocks_are_not_made_in_any_mode(tmp_path):
    flags = ("--mining", "interval", "--pace", "1ms", "--http-listen", "off")
    with running(tmp_path, *flags) as node:
        with pytest.raises(grpc.RpcError):
            mine(node, 1)
        assert node.height() == 2


def test_a_reset_begins_anew_under_the_own_number(tmp_path, other):
    with running(tmp_path, *MANUAL) as node, Api(node.ready["grpc"]) as api:
        api.reset()
        assert mine(node, 1) == 1
        node.stop()
    with open_folder(other) as folder:
        assert history.load_consensus(folder.snapshot) == CONSENSUS_NUMBER


def test_it_is_not_replayed(other):
    assert SENTENCE in command("replay", "--data-dir", other, code=2)


def test_a_state_file_carries_it_over(tmp_path, other):
    file, fresh = tmp_path / "chain.state", tmp_path / "fresh" / "data"
    command("snapshot", "export", file, "--data-dir", other, code=0)
    assert check_state_file(file).consensus == OTHER
    command("snapshot", "import", file, "--data-dir", fresh, code=0)
    with running(fresh.parent, *MANUAL) as node:
        assert node.height() == 2
        assert fund(node) == 3
        node.stop()
    command("replay", "--data-dir", fresh, "--from-snapshot", file, code=0)


def test_a_bundle_of_it_is_refused_by_name(tmp_path, other):
    file = tmp_path / "chain.bundle"
    with open_folder(other) as folder, new_bundle(file) as write:
        for part in pack_chain(folder.snapshot, folder.head).parts():
            write(part)
        genesis = folder.genesis
    said = command("bundle", "check", file, code=1)
    assert f"was executed under consensus {OTHER}" in said
    assert "carried over by a state file" in said
    with pytest.raises(BundleRefused) as refused:
        Devnet.from_bundle(file)
    assert refused.value.fault is BundleFault.OTHER_CONSENSUS
    with Devnet(genesis=genesis) as devnet, pytest.raises(BundleRefused) as refused:
        devnet.import_bundle(file)
    assert refused.value.fault is BundleFault.OTHER_CONSENSUS
