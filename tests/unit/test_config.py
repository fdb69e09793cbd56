"""NodeConfig and the texts it is read from: right values, and sentences for others."""

import json
from pathlib import Path

import pytest

from node.chain.genesis import parse_genesis
from node.config import (
    ConfigError,
    GenesisChoice,
    Listen,
    NodeConfig,
    genesis_folder,
    load_genesis,
    parse_amount,
    parse_duration_ms,
    parse_listen,
)
from node.primitives.amounts import format_amount
from node.primitives.types import Amount


@pytest.mark.parametrize(
    ("text", "base_units"),
    [
        ("5 CBY", 5 * 10**9),
        ("5cby", 5 * 10**9),
        ("0.000000001 CBY", 1),
        ("1.5 CBY", 1_500_000_000),
        ("1,000,000 CBY", 10**15),
        ("1_000", 1_000),
        ("0", 0),
        (str(2**128 - 1), 2**128 - 1),
    ],
)
def test_amounts(text: str, base_units: int) -> None:
    """D4: 9 decimals; amounts are integers of base units."""
    assert parse_amount(text) == base_units


@pytest.mark.parametrize(
    "text",
    ["", "five", "-1", "1.5", "0.0000000001 CBY", "1 ETH", "1e9", str(2**128), "٣"],
)
def test_no_amounts(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_amount(text)


@pytest.mark.parametrize(
    ("base_units", "text"),
    [
        (1_500_000_000, "1.5 CBY (1,500,000,000 base units)"),
        (0, "0 CBY (0 base units)"),
        (1, "0.000000001 CBY (1 base units)"),
        (-5 * 10**9, "-5 CBY (-5,000,000,000 base units)"),
        (10**12, "1,000 CBY (1,000,000,000,000 base units)"),
    ],
)
def test_amounts_are_shown_as_cby_with_base_units(base_units: int, text: str) -> None:
    assert format_amount(base_units) == text


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("250ms", 250),
        ("1s", 1_000),
        ("1.5s", 1_500),
        ("10m", 600_000),
        ("2 h", 7200000),
        ("1d", 86_400_000),
    ],
)
def test_durations(text: str, milliseconds: int) -> None:
    assert parse_duration_ms(text) == milliseconds


@pytest.mark.parametrize("text", ["", "1", "s", "0.5ms", "-1s", "1.2345s", "1w"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_duration_ms(text)


@pytest.mark.parametrize(
    ("text", "listen"),
    [
        ("127.0.0.1:50051", Listen("127.0.0.1", 50051)),
        ("[::1]:0", Listen("::1", 0)),
        ("localhost:1", Listen("localhost", 1)),
    ],
)
def test_addresses_to_listen_on(text: str, listen: Listen) -> None:
    assert parse_listen(text) == listen
    assert str(listen) == text


@pytest.mark.parametrize("text", ["", "50051", ":1", "host:", "host:65536", "host:x"])
def test_no_addresses_to_listen_on(text: str) -> None:
    with pytest.raises(ConfigError, match="HOST:PORT"):
        parse_listen(text)


# --- the genesis ----------------------------------------------------------------------


def test_presets_lie_in_the_genesis_folder() -> None:
    assert {"devnet", "mesa"} <= {path.stem for path in genesis_folder().glob("*.json")}
    assert load_genesis("devnet").params.chain_id == 100
    assert load_genesis("mesa").params.chain_id == 101


def test_a_genesis_can_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"name": "mine", "chain_id": 7}))
    assert load_genesis(str(file)).params.chain_id == 7


@pytest.mark.parametrize(
    ("content", "sentence"),
    [("{", "is not JSON"), ('{"chain_id": "x"}', "chain_id"), ('{"a": 1}', "unknown")],
)
def test_a_bad_genesis_file_is_told(
    tmp_path: Path, content: str, sentence: str
) -> None:
    file = tmp_path / "bad.json"
    file.write_text(content)
    with pytest.raises(ConfigError, match=sentence):
        load_genesis(str(file))


def test_an_unknown_genesis_names_the_presets() -> None:
    with pytest.raises(ConfigError, match="devnet, mesa"):
        load_genesis("nowhere")


def test_a_fresh_folder_begins_from_devnet_with_the_operators_choices() -> None:
    choice = GenesisChoice(
        account_count=3, account_balance=Amount(5), block_interval_ms=250
    )
    genesis = choice.wanted(None)
    assert genesis.name == "devnet"
    assert (genesis.dev_account_count, genesis.params.block_interval_ms) == (3, 250)
    assert set(genesis.balances.values()) == {5}


def test_what_was_not_said_is_taken_from_the_folder() -> None:
    stored = GenesisChoice("mesa", account_count=3).wanted(None)
    assert GenesisChoice().wanted(stored).encode() == stored.encode()
    asked = GenesisChoice(block_interval_ms=7).wanted(stored)
    assert asked.encode() != stored.encode()
    assert GenesisChoice("devnet").wanted(stored).name == "devnet"


def test_rules_are_chosen_for_the_first_block_and_leave_later_activations() -> None:
    later = parse_genesis({"activations": [{"height": 9, "rules": "fifo"}]})
    genesis = GenesisChoice(rules="auction").wanted(later)
    assert genesis.activations == {0: "auction", 9: "fifo"}
    assert GenesisChoice(rules="auction").wanted(None).activations == {0: "auction"}


def test_unknown_rules_name_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"--rules is one of auction, .*fifo.*'lifo'"):
        GenesisChoice(rules="lifo")


# --- the whole ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: GenesisChoice(account_count=0),
        lambda: GenesisChoice(account_count=1_001),
        lambda: GenesisChoice(block_interval_ms=0),
        lambda: NodeConfig(pace_ms=0),
        lambda: NodeConfig(pace_ms=3_600_001),
        lambda: NodeConfig(grpc_listen=Listen("127.0.0.1", 65_536)),
        lambda: NodeConfig(ready_file=Path("/")),
    ],
)
def test_a_value_out_of_its_range_is_a_sentence(make) -> None:
    with pytest.raises(ConfigError, match=" "):
        make()


def test_the_defaults_are_those_of_the_documentation() -> None:
    config = NodeConfig()
    assert str(config.grpc_listen) == "127.0.0.1:50051"
    assert config.data_dir == Path("devnet-data")
    assert (config.mining, config.pace_ms) == ("interval", None)
