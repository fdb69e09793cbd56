"""Accounts: one record each, absent while it is empty (D38)."""

from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from node.chain.reader import Reader
from node.primitives import codec
from node.primitives.types import NOTHING, Address, Amount
from node.state import keys
from node.state.journal import Journal


class Account(Struct, frozen=True, gc=False):
    """Balance, counters and, of an actor, its code and deployer."""

    balance: Amount = NOTHING
    nonce: int = 0
    """Transactions of this sender that were included."""
    scheduling_counter: int = 0
    """Timers this actor had accepted; outlives its last timer (D19)."""
    code_hash: bytes = b""
    """keccak256 of the source; empty for an account that is no actor."""
    deployer: bytes = b""

    @property
    def is_actor(self) -> bool:
        """Whether messages can be sent to it."""
        return bool(self.code_hash)

    def encode(self) -> bytes:
        """The record: the fields as one array, in order."""
        record = _Record(
            codec.encode(
                [
                    self.balance,
                    self.nonce,
                    self.scheduling_counter,
                    self.code_hash,
                    self.deployer,
                ]
            )
        )
        record.account = self
        return record


class _Record(bytes):
    """An account's bytes that remember what they say.

    So what was written is never decoded in the same process; to everybody else they
    are the bytes alone, and an account is frozen.
    """

    account: Account


EMPTY_ACCOUNT = Account()
DECODED_MAX = 256
"""Records from disk whose accounts are remembered, the latest."""


class InsufficientBalance(Exception):  # noqa: N818 - a refusal, not a defect
    """An account has less than what was to leave it."""

    def __init__(self, address: Address, required: Amount, available: Amount) -> None:
        super().__init__(f"{required} base units are wanted, {available} are there")
        self.address = address
        self.required = required
        self.available = available


def decode_account(record: bytes) -> Account:
    """The account that `Account.encode` wrote; trusts its bytes."""
    return record.account if type(record) is _Record else _decode(record)


@lru_cache(maxsize=DECODED_MAX)
def _decode(record: bytes) -> Account:
    return Account(*codec.decode(record))  # type: ignore[misc]


def load_account(reader: Reader, address: Address) -> Account:
    """The account at an address; an empty one if nothing is there."""
    key = keys.account(address)
    record = reader.peek(key) if type(reader) is Journal else reader.get(key)
    if type(record) is Account:
        return record
    if type(record) is _Record:  # as nearly all others are
        return record.account
    if record is None:
        return EMPTY_ACCOUNT
    assert isinstance(record, bytes), "drafts of accounts are accounts"
    return _decode(record)


def save_account(journal: Journal, address: Address, account: Account) -> None:
    """Write an account back; an empty one disappears."""
    journal.put(keys.account(address), None if account == EMPTY_ACCOUNT else account)


def save_code(journal: Journal, code_hash: bytes, code: bytes) -> None:
    """Keep an actor's source under its hash.

    It is looked for first: what is there already is no change of a block, whoever had
    it compiled before and therefore never read it.
    """
    key = keys.code(code_hash)
    if journal.get(key) is None:
        journal.put(key, code)


def load_code(reader: Reader, code_hash: bytes) -> bytes:
    """Source of an actor; its account says that it is there."""
    source = reader.get(keys.code(code_hash))
    assert source is not None, "an account names code that is not in the state"
    return source


def credit(journal: Journal, address: Address, amount: int) -> None:
    """Add base units to a balance."""
    assert amount >= 0
    if amount:
        account = load_account(journal, address)
        save_account(
            journal, address, replace(account, balance=account.balance + amount)
        )


def debit(journal: Journal, address: Address, amount: int) -> None:
    """Take base units from a balance.

    Raises:
        InsufficientBalance: nothing was taken.
    """
    assert amount >= 0
    account = load_account(journal, address)
    if account.balance < amount:
        raise InsufficientBalance(address, Amount(amount), account.balance)
    if amount:
        save_account(
            journal, address, replace(account, balance=account.balance - amount)
        )


def transfer(journal: Journal, sender: Address, to: Address, amount: int) -> None:
    """Move base units, also to oneself.

    Raises:
        InsufficientBalance: nothing was moved.
    """
    if amount == 0:
        return
    debit(journal, sender, amount)
    credit(journal, to, amount)
