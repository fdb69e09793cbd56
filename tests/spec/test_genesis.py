"""Genesis documents and block 0: D5's proposer, D7, D37, D42."""

import json

import pytest
from msgspec.structs import replace

from node.chain.block import ReceiptKind
from node.chain.errors import InvalidGenesis
from node.chain.genesis import build_genesis, dev_account, override, parse_genesis
from node.chain.globals import load_globals
from node.chain.params import (
    BasefeeConfig,
    BiddingConfig,
    CalendarSizes,
    ChainParams,
    GlobalboxConfig,
    TieBreak,
    TimerConfig,
)
from node.config import load_genesis
from node.primitives.crypto import blake2b256, dev_private_key, keccak256
from node.state.commitment import recompute
from node.state.memory import MemoryStore
from node.testing import Devnet

CBY = 10**9


def test_the_devnet():
    """D42: chain id 100, the timestamp, ten accounts of 1,000,000 CBY, dev."""
    genesis = load_genesis("devnet")
    params = genesis.params
    assert params.chain_id == 100
    assert params.genesis_timestamp_ms == 1_700_000_000_000
    assert params.block_interval_ms == 1_000
    assert params.dev
    accounts = [dev_account(i) for i in range(10)]
    assert genesis.balances == dict.fromkeys(accounts, 1_000_000 * CBY)
    assert params.proposer == dev_account(10)  # the next such key
    assert params.system_deployers == (dev_account(0),)
    assert genesis.activations == {0: "fifo"}
    assert params.calendar == CalendarSizes(256, 3_600, 24)  # D24
    assert params.auction_tie_break is TieBreak.FAIR  # D33
    assert params.timer_config == TimerConfig()


def test_the_keys_of_devnet_are_known_to_everybody():
    """Private keys keccak256("cowboy-devnet " ‖ decimal i)."""
    assert dev_private_key(0) == keccak256(b"cowboy-devnet 0")
    assert dev_private_key(12) == keccak256(b"cowboy-devnet 12")


def test_the_fees_of_devnet():
    """D7: targets 10,000,000 / 500,000, alpha 8, denom 8, min 1, genesis 1,000."""
    params = load_genesis("devnet").params
    assert params.basefee_config == BasefeeConfig(10_000_000, 500_000, 8, 8, 1)
    assert (params.basefee_cycle, params.basefee_cell) == (1_000, 1_000)


def test_mesa():
    """D7's reported figures; what is not named there is as in `devnet`."""
    genesis, devnet = load_genesis("mesa"), load_genesis("devnet")
    params = genesis.params
    assert params == replace(
        devnet.params,
        chain_id=101,
        lane_user_cycles=22_222_222,
        lane_deferred_cycles=40_000_000,
        basefee_cycle=100_000,
        basefee_cell=100_000,
        basefee_config=BasefeeConfig(20_000_000, 4_000_000, 96, 96, 10_000),
        timer_config=replace(TimerConfig(), lane_timer_cycles=8_888_890),
    )
    assert genesis.balances == devnet.balances


@pytest.mark.parametrize("name", ["devnet", "mesa"])
def test_a_document_is_read_back(name):
    genesis = load_genesis(name)
    document = json.loads(json.dumps(genesis.document()))
    assert parse_genesis(document) == genesis
    assert parse_genesis(document).encode() == genesis.encode()


def test_block_0_holds_the_first_state():
    genesis = load_genesis("devnet")
    result = build_genesis(genesis)
    header = result.header
    assert header.height == 0
    assert header.span == 1
    assert header.parent_hash == blake2b256(genesis.encode())
    assert header.timestamp_ms == 1_700_000_000_000
    assert (header.basefee_cycle, header.basefee_lane) == (1_000, 0)
    assert result.is_empty
    store = MemoryStore()
    store.commit(result.writes)
    snapshot = store.snapshot()
    assert recompute(snapshot) == header.state_root
    globals_ = load_globals(snapshot)
    assert globals_.minted == 10 * 1_000_000 * CBY
    assert globals_.burned == 0


def test_chains_that_differ_in_a_parameter_differ_in_every_hash():
    devnet = load_genesis("devnet")
    other = override(devnet, block_interval_ms=999)
    assert build_genesis(devnet).header.hash() != build_genesis(other).header.hash()


def test_tips_never_change_a_test_account():
    """With n accounts the proposer is key n."""
    genesis = override(load_genesis("devnet"), account_count=3)
    assert genesis.params.proposer == dev_account(3)
    assert len(genesis.balances) == 3
    assert genesis.params.system_deployers == (dev_account(0),)


def test_an_override_may_leave_no_accounts():
    genesis = override(load_genesis("devnet"), account_count=0)
    assert genesis.balances == {}
    assert genesis.params.system_deployers == ()
    assert override(genesis, dev=False).params.dev is False


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"nonsense": 1}, "nonsense"),
        ({"chain_id": -1}, "chain_id"),
        ({"chain_id": True}, "chain_id"),
        ({"chain_id": "100"}, "chain_id"),
        ({"dev": 1}, "dev"),
        ({"name": ""}, "name"),
        ({"name": "\ud800"}, "name"),
        ([], "the document"),
        (None, "the document"),
        ({"proposer": "00" * 20}, "proposer"),
        ({"proposer": "77" * 19}, "proposer"),
        ({"system_deployers": ["x"]}, "system_deployers"),
        ({"accounts": {"count": 1_001}}, "accounts.count"),
        ({"accounts": {"balance": 5}}, "accounts.balance"),
        ({"accounts": {"cuont": 5}}, "cuont"),
        ({"balances": {"77" * 20: "-5"}}, "balances"),
        ({"balances": {"77" * 20: "\u0665"}}, "balances"),
        ({"balances": {"77" * 20: str(2**128)}}, "balances"),
        ({"balances": {"77" * 20: "0" * 70 + "5"}}, "balances"),
        ({"balances": {"77": "5"}}, "balances"),
        ({"activations": [{"height": 0, "rules": "lifo"}]}, "activations.rules"),
        ({"activations": [{"height": -1, "rules": "fifo"}]}, "activations.height"),
        ({"activations": {}}, "activations"),
        ({"timer_config": {"lane": 5}}, "timer_config"),
        ({"timer_config": {"lane_timer_cycles": 5}}, "lane_timer_cycles"),
        ({"timer_config": {"max_ttl_blocks": 0}}, "every field"),
        ({"timer_config": {"tier_multipliers_permille": [1]}}, "four tier"),
        ({"basefee_config": {"alpha": 1_001}}, "alpha"),
        ({"bidding_config": {"lambda": 5}}, "bidding_config"),
        ({"bidding_config": {"lambda_permille": 1_001}}, "lambda_permille"),
        ({"bidding_config": {"weight_min": 0}}, "weight_min"),
        ({"calendar": {"ring_size": 0}}, "calendar"),
        ({"block_interval_ms": 0}, "block_interval_ms"),
        ({"block_cells": 1_200_000}, "block_cells"),
        ({"lane_deferred_cycles": 7_999}, "lane_deferred_cycles"),
        ({"lane_user_cycles": 2**30}, "lane_user_cycles"),
        ({"auction_tie_break": "random"}, "auction_tie_break"),
    ],
)
def test_a_document_that_cannot_start_a_chain_is_refused(document, field):
    """The message names the field."""
    with pytest.raises(InvalidGenesis, match=field):
        parse_genesis(document)


def test_any_positive_calendar_sizes_do():
    """D24: any positive sizes, ring < epoch included."""
    sizes = {"ring_size": 1, "epoch_length": 1, "epochs": 1}
    assert parse_genesis({"calendar": sizes}).params.calendar == CalendarSizes(1, 1, 1)


def test_what_a_document_does_not_name_is_as_in_devnet():
    genesis = parse_genesis({"accounts": {"count": 10, "balance": str(10**15)}})
    assert genesis.params == load_genesis("devnet").params
    assert genesis.balances == load_genesis("devnet").balances
    assert parse_genesis({}).params == replace(ChainParams(), proposer=dev_account(0))


def test_a_chain_that_does_not_choose_what_was_added_keeps_its_hash():
    """What 0.1.0 did not know is in a document only where it is not the default."""
    plain = parse_genesis({})
    assert not {"bidding_config", "globalbox_config"} & plain.document().keys()
    named = parse_genesis({"bidding_config": {"lambda_permille": 200}})
    assert named.encode() == plain.encode()
    chosen = parse_genesis({"bidding_config": {"lambda_permille": 100}})
    assert chosen.params.bidding_config == BiddingConfig(lambda_permille=100)
    assert chosen.encode() != plain.encode()
    assert parse_genesis(chosen.document()) == chosen


def test_a_genesis_chooses_the_globalbox_with_all_its_bounds():
    """D56: a genesis is held to what instruction 237 is held to."""
    named = parse_genesis({"globalbox_config": {"w_bid": 1}})
    assert named.encode() == parse_genesis({}).encode()
    chosen = parse_genesis({"globalbox_config": {"w_age": 5, "max_bid_fp": 2**100}})
    assert chosen.params.globalbox_config == GlobalboxConfig(w_age=5, max_bid_fp=2**100)
    assert parse_genesis(chosen.document()) == chosen
    for wrong in ({"w_age": 0}, {"max_watch_keys": 65}, {"max_bid_fp": 2**128}):
        with pytest.raises(InvalidGenesis):
            parse_genesis({"globalbox_config": wrong})


def test_a_chain_of_mesa_runs():
    with Devnet("mesa") as chain:
        receipt = chain.transfer(b"\x77" * 20, 5)
        assert receipt.kind is ReceiptKind.TRANSACTION
        assert receipt.price.cycle_burn == 100_000
        assert chain.supply().is_balanced
