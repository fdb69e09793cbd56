"""A wallet signs what the chain accepts, and does not show its key."""

import pytest

from node.chain.transaction import Transfer, decode_transaction
from node.client import Wallet, build_body
from node.primitives.crypto import dev_private_key, public_key_address

BODY = build_body(
    Transfer(bytes(20), 5),
    chain_id=100,
    nonce=3,
    limits=(6_000, 700),
    max_fees=(2_000, 2_001),
    priority_fees=(1, 2),
)


def test_a_signed_body_is_a_transaction_of_the_wallet():
    wallet = Wallet.random()
    transaction = decode_transaction(wallet.sign(BODY))
    assert transaction.sender == wallet.address
    assert transaction.body == BODY


def test_a_body_has_its_pairs_for_cycles_then_for_cells():
    assert (BODY.cycles_limit, BODY.cells_limit) == (6_000, 700)
    assert (BODY.max_fee_per_cycle, BODY.max_fee_per_cell) == (2_000, 2_001)
    assert BODY.max_priority_fee_per_cycle == 1
    assert BODY.max_priority_fee_per_cell == 2


def test_development_wallets_are_those_of_the_genesis():
    """D42: private keys keccak256("cowboy-devnet " ‖ decimal i)."""
    assert Wallet.dev(3).address == public_key_address(dev_private_key(3))
    with pytest.raises(ValueError, match="numbered from 0"):
        Wallet.dev(-1)


def test_random_wallets_differ():
    assert Wallet.random().address != Wallet.random().address


def test_keys_that_are_none_are_drawn_again(monkeypatch):
    keys = iter([bytes(32), b"\xff" * 32, b"\x01" * 32])
    monkeypatch.setattr("secrets.token_bytes", lambda _: next(keys))
    assert Wallet.random().private_key == b"\x01" * 32


@pytest.mark.parametrize("prefix", ["", "0x", " 0x"])
def test_a_key_can_be_given_in_hexadecimal(prefix):
    key = dev_private_key(1)
    assert Wallet.from_hex(prefix + key.hex()).private_key == key


@pytest.mark.parametrize("text", ["", "0x12", "secret-secret", "00" * 32, "ff" * 32])
def test_what_is_no_key_is_refused_without_repeating_it(text):
    with pytest.raises(ValueError, match="key") as error:
        Wallet.from_hex(text)
    assert not text or text not in str(error.value)


def test_a_wallet_does_not_show_its_key():
    wallet = Wallet.dev(0)
    shown = repr(wallet)
    assert wallet.address.hex() in shown
    assert wallet.private_key.hex() not in shown
