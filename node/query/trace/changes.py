"""What keys of the state say of a change: in words of the chain, net, in order.

Indexes, globals, counters and messages that wait are left out: their changes follow
from what is told.
"""

from collections.abc import Mapping

from node.chain.accounts import EMPTY_ACCOUNT, Account, decode_account
from node.chain.params import ADDRESS_BYTES
from node.chain.timers.globalbox.fires import decode_fire
from node.chain.timers.timer import Timer, decode_timer
from node.primitives.types import Address
from node.query.trace.records import (
    BalanceChange,
    Changes,
    CodeChange,
    StorageChange,
    TimerReplaced,
)
from node.query.trace.watcher import TraceRoom
from node.state import keys

__all__ = ["changes_of"]

_CHANGE_BYTES = 64
_ACCOUNT = keys.account(Address(b""))
_STORAGE = keys.storage(Address(b""))

Pair = tuple[bytes | None, bytes | None]
"""The value before and after."""


def changes_of(
    changed: Mapping[bytes, Pair],
    room: TraceRoom,
    advanced: Mapping[Address, int] | None = None,
) -> Changes:
    """What a set of changed keys says.

    Args:
        changed: by key of the database, the value before and after.
        room: for how much there is room.
        advanced: base units that accounts had before besides what their record says.
    """
    found = _Found(room, advanced or {})
    for key in sorted(changed):
        before, after = changed[key]
        if key.startswith(_ACCOUNT):  # which may have changed though its record did not
            address = Address(key[len(_ACCOUNT) :])
            found.account_changed(address, _account(before), _account(after))
        elif before == after:  # written as it was
            continue
        elif key.startswith(_STORAGE):
            found.storage_changed(key[len(_STORAGE) :], before, after)
        elif key.startswith(keys.TIMER_PREFIX):
            found.timer_changed(_timer(key, before), _timer(key, after))
        elif key.startswith(keys.FIRE_PREFIX):
            found.timer_changed(_queued(key, before), _queued(key, after))
    return found.changes()


def _account(record: bytes | None) -> Account:
    return EMPTY_ACCOUNT if record is None else decode_account(record)


def _timer(key: bytes, record: bytes | None) -> Timer | None:
    return None if record is None else decode_timer(key, record)


def _queued(key: bytes, record: bytes | None) -> Timer | None:
    """The timer that lies in a queued fire; a watch lies in the calendar (D52)."""
    if record is None:
        return None
    fire = decode_fire(key[len(keys.FIRE_PREFIX) :], record)
    return None if fire.is_of_watch else fire.height_timer()


class _Found:
    """Gathers changes while there is room."""

    def __init__(self, room: TraceRoom, advanced: Mapping[Address, int]) -> None:
        self._room = room
        self._advanced = advanced
        self._storage: list[StorageChange] = []
        self._balances: list[BalanceChange] = []
        self._timers: dict[bytes, tuple[Timer | None, Timer | None]] = {}
        """By id, before and after: one that moves has a key on either side."""
        self._codes: list[CodeChange] = []
        self._cut = 0

    def _has_room(self, bytes_: int) -> bool:
        has_room = self._room.take(_CHANGE_BYTES + bytes_)
        self._cut += not has_room
        return has_room

    def storage_changed(
        self, name: bytes, before: bytes | None, after: bytes | None
    ) -> None:
        """A key of an actor's state, behind its address."""
        if self._has_room(len(name) + len(before or b"") + len(after or b"")):
            actor, key = Address(name[:ADDRESS_BYTES]), name[ADDRESS_BYTES:]
            self._storage.append(StorageChange(actor, key, before, after))

    def account_changed(
        self, address: Address, before: Account, after: Account
    ) -> None:
        """An account's balance, and whose code it has."""
        held = before.balance + self._advanced.get(address, 0)
        if held != after.balance and self._has_room(0):
            self._balances.append(BalanceChange(address, held, after.balance))
        if before.code_hash != after.code_hash and self._has_room(0):
            self._codes.append(CodeChange(address, before.code_hash, after.code_hash))

    def timer_changed(self, before: Timer | None, after: Timer | None) -> None:
        """A timer's record, or that it came or went."""
        one = before or after
        if one is None:  # a queued fire of a watch
            return
        was, is_ = self._timers.get(one.timer_id, (None, None))
        self._timers[one.timer_id] = before or was, after or is_

    def _has_changed(self, before: Timer | None, after: Timer | None) -> bool:
        """Whether a timer came, went or has another record, and there is room."""
        if before == after:
            return False
        return self._has_room(sum(len(one.payload) for one in (before, after) if one))

    def changes(self) -> Changes:
        """All that was found, in order."""
        timers = [
            TimerReplaced(timer_id, *self._timers[timer_id])
            for timer_id in sorted(self._timers)
            if self._has_changed(*self._timers[timer_id])
        ]
        return Changes(
            tuple(self._storage),
            tuple(self._balances),
            tuple(timers),
            tuple(self._codes),
            self._cut,
        )
