"""Every command that reads a bundle tells alike of one that it refuses."""

import pytest
from click.testing import CliRunner

from node.cli import main as command_line
from node.testing import Devnet

COMMANDS = {
    "bundle check": ["bundle", "check"],
    "console": ["console", "--bundle"],
    "coverage": ["coverage"],
    "explore": ["explore", "--http-listen", "127.0.0.1:0"],
}


@pytest.fixture
def cut(tmp_path):
    file = tmp_path / "chain.bundle"
    with Devnet() as chain:
        chain.mine(2)
        chain.export_bundle(file)
    file.write_bytes(file.read_bytes()[:-9])
    return file


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_bundle_that_is_cut_ends_a_command_with_1(words, cut, capfd):
    done = CliRunner().invoke(command_line, [*words, str(cut)])
    told = done.output + capfd.readouterr().err  # some execute it in another process
    assert done.exit_code == 1, told
    assert f"BUNDLE_DAMAGED: {cut} is cut or was altered" in told


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_file_that_is_not_there_is_wrong_usage(words, tmp_path):
    done = CliRunner().invoke(command_line, [*words, str(tmp_path / "nowhere")])
    assert done.exit_code == 2, done.output
    assert "nowhere" in done.output
