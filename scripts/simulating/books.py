"""The supply, counted apart: minted = balances + burned by kind + held (D10).

It is checked after every block of every simulation.

Balances are those of the accounts that a block wrote, burned amounts those of its
receipts; neither is what the chain itself adds up.
"""

from collections.abc import Iterator

from node.chain.accounts import decode_account
from node.chain.block import Receipt
from node.chain.globals import load_globals
from node.chain.mailbox import decode_message
from node.chain.transition import BlockResult
from node.state import keys
from node.state.store import StoreSnapshot

_ACCOUNTS = b"sa"
_HELD = (b"se", b"sm")
"""Families of keys whose records hold money; `node.state.keys` names them."""


class SupplyError(Exception):
    """Money came from nowhere, or went there."""


class Books:
    """What everybody has and what is gone, since genesis."""

    def __init__(self, snapshot: StoreSnapshot) -> None:
        """Begin with a chain's first state, in which nothing was burned yet."""
        self._sums = dict(_found(snapshot))
        self._total = sum(self._sums.values())
        self._burned = [0, 0, 0]

    def check(self, result: BlockResult) -> None:
        """Enter a block.

        Raises:
            SupplyError: the equation does not hold after it.
        """
        for key, record in result.writes.changes.items():
            if key.startswith((_ACCOUNTS, *_HELD)):
                amount = _amount(key, record) if record else 0
                self._total += amount - self._sums.pop(key, 0)
                if amount:
                    self._sums[key] = amount
        for receipt in result.receipts:
            for kind, burned in enumerate(_burned(receipt)):
                self._burned[kind] += burned
        after = result.known.globals
        told = [after.burned_cycle, after.burned_cell, after.burned_lane]
        if told != self._burned or after.minted != self._total + sum(told):
            raise SupplyError(
                f"height {after.height}: minted {after.minted}, balances and held "
                f"{self._total}, burned {told}, by receipts {self._burned}"
            )

    def recount(self, snapshot: StoreSnapshot) -> None:
        """Compare with every record that there is.

        Raises:
            SupplyError: they differ.
        """
        after = load_globals(snapshot)
        told = [after.burned_cycle, after.burned_cell, after.burned_lane]
        if dict(_found(snapshot)) != self._sums or told != self._burned:
            raise SupplyError("what is there is not what the blocks wrote")


def _found(snapshot: StoreSnapshot) -> Iterator[tuple[bytes, int]]:
    for family in (_ACCOUNTS, *_HELD):
        for key, record in snapshot.range(family, keys.prefix_stop(family)):
            amount = _amount(key, record)
            if amount:
                yield key, amount


def _amount(key: bytes, record: bytes) -> int:
    if key.startswith(_ACCOUNTS):
        return decode_account(record).balance
    return decode_message(key, record).prepaid


def _burned(receipt: Receipt) -> tuple[int, int, int]:
    return receipt.burned_cycle, receipt.burned_cell, receipt.burned_lane
