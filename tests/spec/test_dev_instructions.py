"""Development instructions and impersonation: D41."""

import pytest
from msgspec.structs import replace

from node.chain.errors import InvalidBlock, InvalidTransaction, TransactionFault
from node.chain.transaction import (
    Body,
    Fund,
    SetBalance,
    Transfer,
    decode_transaction,
    impersonate,
)
from node.chain.transition import apply_block, build_block
from node.chain.validation import validate_admission
from node.primitives.crypto import keccak256, sign
from node.testing import Devnet

THERE = b"\x77" * 20


def test_fund_mints(chain):
    """241 Fund `[to, amount]` (minted, counted as such), no fee, no lane."""
    before, sender = chain.supply(), chain.account(chain.accounts[0])
    chain.execute(Fund(THERE, 12))
    assert chain.balance(THERE) == 12
    assert chain.supply().minted == before.minted + 12
    assert chain.supply().is_balanced
    assert chain.account(chain.accounts[0]) == replace(sender, nonce=sender.nonce + 1)
    assert chain.last.use.user_cycles == chain.last.use.cells == 0
    (receipt,) = chain.last.receipts
    assert (receipt.fee, receipt.cycles_used, receipt.cells_used) == (0, 0, 0)


def test_set_balance_mints_or_takes_the_difference(chain):
    """242 SetBalance `[address, amount]` (the difference is minted or taken)."""
    before = chain.supply().minted
    chain.execute(SetBalance(THERE, 100))
    chain.execute(SetBalance(THERE, 30))
    assert chain.balance(THERE) == 30
    assert chain.supply().minted == before + 30
    chain.execute(SetBalance(THERE, 0))
    assert chain.supply().minted == before
    chain.execute(SetBalance(chain.accounts[0].address, 5))  # its own balance
    assert chain.account(chain.accounts[0]).balance == 5
    assert chain.account(chain.accounts[0]).nonce == 4
    assert chain.supply().is_balanced


def test_their_limits_and_fees_are_not_checked(chain):
    """Their limits and fees are 0 and not checked: the basefee is 1,000 here."""
    body = Body(100, 0, 0, 0, 0, 0, 0, 0, Fund(THERE, 1))
    transaction = decode_transaction(impersonate(body.encode(), THERE))
    assert chain.balance(THERE) == 0
    validate_admission(chain.state, transaction)
    # A sender that has queued more than it owns is not charged by this one either.
    validate_admission(chain.state, transaction, queued_cost=10**30)
    assert build_block(chain.state, [transaction]).rejected == ()


def test_they_may_be_signed_like_any_other(chain):
    account = chain.accounts[3]
    data = Body(100, 0, 0, 0, 0, 0, 0, 0, Fund(THERE, 1)).encode()
    chain.submit_raw(data + sign(keccak256(data), account.private_key))
    chain.mine()
    assert chain.balance(THERE) == 1
    assert chain.account(account).nonce == 1


def test_anybody_can_be_impersonated(chain):
    """45 zero bytes ‖ sender20; nonce checked as usual."""
    chain.fund(THERE, 10**12)
    receipt = chain.execute(Transfer(b"\1" * 20, 5), sender=THERE)
    assert receipt.sender == THERE
    assert chain.account(THERE).nonce == 1
    assert chain.account(THERE).balance == 10**12 - 5 - receipt.fee
    body = Body(100, 5, 5_000, 1_000, 9_999, 0, 9_999, 0, Transfer(THERE, 1))
    ahead = decode_transaction(impersonate(body.encode(), THERE))
    ((_, error),) = build_block(chain.state, [ahead]).rejected
    assert error.fault is TransactionFault.NONCE_GAP


def test_they_are_ordinary_content_of_blocks(chain):
    """Ordinary content of blocks, so that replay and bundles hold."""
    parent = chain.state
    chain.submit(Fund(THERE, 7))
    result = chain.mine()
    assert len(result.block.transactions) == 1
    assert apply_block(parent, result.block).header == result.header


def test_without_dev_they_are_refused():
    """Valid only if genesis says `dev: true`."""
    with Devnet(dev=False) as chain:
        account = chain.accounts[0]
        for instruction in (Fund(THERE, 1), SetBalance(THERE, 1)):
            data = Body(100, 0, 0, 0, 0, 0, 0, 0, instruction).encode()
            raw = data + sign(keccak256(data), account.private_key)
            with pytest.raises(InvalidTransaction) as error:
                validate_admission(chain.state, decode_transaction(raw))
            assert error.value.fault is TransactionFault.NOT_DEV
        body = Body(100, 0, 5_000, 1_000, 9_999, 0, 9_999, 0, Transfer(THERE, 1))
        impersonated = decode_transaction(impersonate(body.encode(), account.address))
        ((_, error),) = build_block(chain.state, [impersonated]).rejected
        assert error.fault is TransactionFault.NOT_DEV
        data = body.encode()
        raw = data + sign(keccak256(data), account.private_key)
        good = build_block(chain.state, [decode_transaction(raw)])
        assert not good.rejected
        bad = replace(good.block, transactions=(impersonated,))
        with pytest.raises(InvalidBlock):
            apply_block(chain.state, bad)
