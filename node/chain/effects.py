"""ExecutionSideEffects: what an execution did beyond computing, in order (CIP-5 §4.3).

Every host call that changes something notes it here once, and so does a system
instruction about a timer. Accounts and storage change in the journal at the same time.
Timers and messages do not: the execution and the actors that it calls see them at once
through this log, which lies over the store, and the timer store and the mailbox take
them when the execution stands (D18). Its receipt, its events, its part of the timer
trace and the count of the keys that it wrote (D43) are read from here (`booking`).

Rules: an entry is noted after what it says was accepted; undoing takes entries off the
end, and each takes back what it counted.
"""

from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from node.chain.block import Event
from node.chain.reader import Reader, load_count
from node.chain.timers import calendar
from node.chain.timers.ruleset import FeeTerms
from node.chain.timers.timer import Timer
from node.primitives.types import Address, Amount, Hash32
from node.state import keys

if TYPE_CHECKING:
    from node.chain.mailbox import PendingMessage

By = Literal["actor", "governance"]
"""Who changes a live timer: its owner, or a system instruction (CIP-5 §5.4)."""


class TimerScheduled(Struct, frozen=True):
    """A timer was accepted."""

    timer: Timer
    terms: FeeTerms


class TimerExtended(Struct, frozen=True):
    """A live timer got another expiry."""

    before: Timer
    timer: Timer
    by: By


class TimerUpdated(Struct, frozen=True):
    """A live timer got another payload, limit or bid (D50)."""

    before: Timer
    timer: Timer


class TimerCancelled(Struct, frozen=True):
    """A live timer was removed."""

    timer: Timer
    by: By


class FireCancelled(Struct, frozen=True):
    """A timer that waits in this block's queue was cancelled; its money is back."""

    timer: Timer
    refund: Amount


class MessageSent(Struct, frozen=True):
    """A message was accepted for the next block."""

    message: "PendingMessage"


class Transferred(Struct, frozen=True):
    """Base units moved between two accounts."""

    sender: Address
    to: Address
    amount: Amount


class StorageWritten(Struct, frozen=True, gc=False):
    """A value of an actor's storage was set or removed."""

    key: bytes
    """Of the state."""


class CodeReplaced(Struct, frozen=True):
    """An actor gave itself new code, which it has once the execution stands (D58)."""

    actor: Address
    code_hash: Hash32
    code: bytes


class EventEmitted(Struct, frozen=True):
    """An actor emitted an event, or a system instruction announced one."""

    event: Event


class RandomnessDrawn(Struct, frozen=True, gc=False):
    """Random bytes were drawn: the next draw gives others (D39)."""


TimerEffect = (
    TimerScheduled | TimerExtended | TimerUpdated | TimerCancelled | FireCancelled
)
Effect = (
    TimerEffect
    | MessageSent
    | Transferred
    | StorageWritten
    | CodeReplaced
    | EventEmitted
    | RandomnessDrawn
)


class ExecutionSideEffects(Struct):
    """The log of one execution and of all the calls that it makes."""

    log: list[Effect] = field(default_factory=list)
    """All that stands, in order; only to be read."""
    timers_scheduled: int = 0
    messages_sent: int = 0
    actor_events: int = 0
    draws: int = 0
    """Of randomness."""
    written: dict[bytes, int] = field(default_factory=dict)
    """Keys that host calls changed → how many entries say so (D43)."""
    _timers: dict[bytes, Timer | None] = field(default_factory=dict)
    """Id → the timer as it stands after the log; None: it is gone."""
    _cancelled: dict[bytes, int] = field(default_factory=dict)
    """Id → how many entries cancel a timer of this id: a client's nonce gives an id
    again (D50)."""
    _places: dict[Address, dict[bytes, bytes]] = field(default_factory=dict)
    """Actor → place → id, of the live timers that the log names."""
    _timer_changes: dict[bytes, int] = field(default_factory=dict)
    """Actor → by how many its live timers grew."""
    _guest_changes: dict[bytes, int] = field(default_factory=dict)
    """Target → by how many the live timers of others on it grew."""
    _waiting: dict[bytes, int] = field(default_factory=dict)
    """Derived count of the mailbox → by how much it grew."""

    # --- the log -----------------------------------------------------------------

    def note(self, effect: Effect) -> None:
        """Add an entry; a written value once while it stands, since writes are many."""
        if type(effect) is StorageWritten and effect.key in self.written:
            return
        self.log.append(effect)
        self._count(effect, 1)

    def undo(self, length: int) -> None:
        """Take off all entries behind the first so many (D16)."""
        assert 0 <= length <= len(self.log), "a log has no entries to come"
        while len(self.log) > length:
            self._count(self.log.pop(), -1)

    def _count(self, effect: Effect, sign: int) -> None:
        for key in _written_keys(effect):
            _add(self.written, key, sign)
        match effect:
            case (
                TimerScheduled()
                | TimerExtended()
                | TimerUpdated()
                | TimerCancelled()
                | FireCancelled()
            ):
                self._count_timer(effect, is_done=sign > 0)
            case EventEmitted(event):
                self.actor_events += sign if event.emitter is not None else 0
            case MessageSent(message):
                self.messages_sent += sign
                for key, change in message.count_changes().items():
                    _add(self._waiting, key, sign * change)
            case RandomnessDrawn():
                self.draws += sign
            case _:
                pass

    def _count_timer(self, effect: TimerEffect, *, is_done: bool) -> None:
        timer, sign = effect.timer, 1 if is_done else -1
        match effect:
            case TimerScheduled():
                self._stand(timer, is_live=is_done)
                self.timers_scheduled += sign
                self._add_live(timer, sign)
            case TimerExtended(before) | TimerUpdated(before):
                old, new = (before, timer) if is_done else (timer, before)
                self._stand(old, is_live=False)  # a watch has another place
                self._stand(new, is_live=True)
            case TimerCancelled():
                self._stand(timer, is_live=not is_done)
                self._add_live(timer, -sign)
                _add(self._cancelled, timer.timer_id, sign)
            case FireCancelled():
                self._timers[timer.timer_id] = None
        is_undone = not is_done and isinstance(effect, (TimerScheduled, FireCancelled))
        if is_undone and timer.timer_id not in self._cancelled:
            del self._timers[timer.timer_id]  # the store says how it stands

    def _add_live(self, timer: Timer, change: int) -> None:
        _add(self._timer_changes, timer.actor, change)
        if timer.other_target is not None:
            _add(self._guest_changes, timer.other_target, change)

    def _stand(self, timer: Timer, *, is_live: bool) -> None:
        place = keys.timer_place(timer.height, timer.sequence)
        places = self._places.setdefault(timer.actor, {})
        if is_live:
            places[place] = timer.timer_id
        else:
            places.pop(place, None)
        self._timers[timer.timer_id] = timer if is_live else None

    # --- the store with the log over it ------------------------------------------

    def is_gone(self, timer_id: bytes) -> bool:
        """Whether this execution cancelled a timer."""
        return self._timers.get(timer_id, _UNTOUCHED) is None

    def load_timer(self, reader: Reader, timer_id: bytes) -> Timer | None:
        """A live timer by its id, or None."""
        timer = self._timers.get(timer_id, _UNTOUCHED)
        if isinstance(timer, _Untouched):
            return calendar.load_timer(reader, timer_id)
        return timer

    def count_timers(self, reader: Reader, actor: Address) -> int:
        """How many live timers an actor holds (CIP-5 §4.2)."""
        stored = calendar.count_of(reader, actor)
        return stored + self._timer_changes.get(actor, 0)

    def count_guests(self, reader: Reader, target: Address) -> int:
        """How many live timers of other owners call a target (D56)."""
        stored = calendar.guests_of(reader, target)
        return stored + self._guest_changes.get(target, 0)

    def timer_ids_of(self, reader: Reader, actor: Address) -> list[bytes]:
        """Ids of an actor's live timers in due order."""
        stored = calendar.places_of(reader, actor)
        if actor not in self._places:
            return [timer_id for _, timer_id in stored]
        standing = {p: i for p, i in stored if i not in self._timers}
        standing |= self._places[actor]  # where a watch that was extended stands now
        return [standing[place] for place in sorted(standing)]

    def load_waiting(self, reader: Reader, key: bytes) -> int:
        """A derived count of the mailbox with what this execution sent."""
        return load_count(reader, key) + self._waiting.get(key, 0)


class _Untouched(Struct):
    """Stands for a timer that the log does not name."""


_UNTOUCHED = _Untouched()


def _written_keys(effect: Effect) -> tuple[bytes, ...]:
    """What D43 counts of an entry: keys that host calls write, governance's not."""
    match effect:
        case (
            TimerScheduled()
            | TimerExtended(by="actor")
            | TimerUpdated()
            | TimerCancelled(by="actor")
            | FireCancelled()
        ):
            return (keys.timer_by_id(effect.timer.timer_id),)
        case StorageWritten(key):
            return (key,)
        case MessageSent(message):
            return (message.key,)
        case Transferred(sender, to):
            one, other = keys.account(sender), keys.account(to)
        case CodeReplaced(actor, code_hash):
            one, other = keys.account(actor), keys.code(code_hash)
        case _:
            return ()
    return one, other


def _add(counts: dict[bytes, int], key: bytes, change: int) -> None:
    count = counts.get(key, 0) + change
    if count:
        counts[key] = count
    else:
        counts.pop(key, None)
