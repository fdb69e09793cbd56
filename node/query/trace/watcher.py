"""CallWatcher: executes messages as the chain does, and notes what each of them did.

Rule: it looks at what a host call did after the call, and changes nothing: what is
executed under it uses the same cycles and leads to the same state.
"""

from collections.abc import Callable, Container, Sequence
from types import TracebackType
from typing import cast

import pvm
from node.chain.accounts import load_account, load_code
from node.chain.block import ReceiptKind
from node.chain.effects import (
    CodeReplaced,
    Effect,
    EventEmitted,
    FireCancelled,
    MessageSent,
    TimerCancelled,
    TimerEffect,
    TimerExtended,
    TimerScheduled,
    TimerUpdated,
    Transferred,
)
from node.chain.host import ActorHost
from node.query.trace.records import (
    CallRefused,
    EventMade,
    MessageQueued,
    Step,
    StorageWrite,
    TimerTouched,
    TracedCall,
    TracedFrame,
    TransferMade,
    UpgradeMade,
)
from node.state import keys
from pvm import ActorCode, Host, HostError, Message, Meter, Outcome
from pvm.host import MUTATING
from pvm.output import Printed
from pvm.tools.frames import failed_frames

__all__ = ["CallWatcher", "TraceRoom"]

TRACE_BYTES_MAX = 2 << 20
"""Of what one trace tells, about: what is beyond it is counted, not kept."""

_STEP_BYTES = 64
"""What a step counts beside the bytes that it tells of."""
_STATE_CALLS = frozenset({"set_state", "delete_state"})
_EFFECTFUL = MUTATING - _STATE_CALLS


class TraceRoom:
    """Bytes that a trace may still tell, for all executions of one answer."""

    __slots__ = ("left",)

    def __init__(self, bytes_: int = TRACE_BYTES_MAX) -> None:
        self.left = bytes_

    def take(self, bytes_: int) -> bool:
        """Whether there is room for so much; takes it."""
        if bytes_ > self.left:
            return False
        self.left -= bytes_
        return True


class _OpenCall:
    """A call that is running, and what is known of it so far."""

    __slots__ = (
        "below_cells", "below_cycles", "cells", "cut", "cut_cells", "cut_cycles",
        "cycles", "frames", "is_kept", "steps",
    )  # fmt: skip

    def __init__(self, meter: Meter, *, is_kept: bool) -> None:
        self.cycles = meter.cycles_used
        self.cells = meter.cells_used
        self.is_kept = is_kept
        self.steps: list[Step] = []
        self.frames: tuple[TracedFrame, ...] = ()
        self.below_cycles = self.below_cells = 0
        self.cut = self.cut_cycles = self.cut_cells = 0


class CallWatcher:
    """Notes the calls of those executions that are wanted, each a tree."""

    __slots__ = ("_begun", "_open", "_room", "_wanted", "calls")

    def __init__(
        self,
        room: TraceRoom,
        wanted: Container[int] | None = None,
        begun: Callable[[ActorHost], None] | None = None,
    ) -> None:
        """Watch executions.

        Args:
            room: what the trace may tell.
            wanted: indexes of their receipts; of all if None.
            begun: is told of each execution before its first call.
        """
        self._room = room
        self._wanted = wanted
        self._begun = begun
        self._open: _OpenCall | None = None
        self.calls: dict[int, TracedCall] = {}
        """By index of the receipt, the call that the execution began with."""

    def execute(
        self, code: ActorCode, message: Message, host: Host, meter: Meter
    ) -> Outcome:
        """As `pvm.execute`."""
        assert isinstance(host, ActorHost), "messages of a block have the chain's host"
        index = host.execution.receipt_index
        if host.depth == 0 and self._begun is not None:
            self._begun(host)
        if self._wanted is not None and index not in self._wanted:
            return pvm.execute(code, message, host, meter)
        outer = self._open
        size = 4 * _STEP_BYTES + len(message.payload)
        is_kept = (outer is None or outer.is_kept) and self._room.take(size)
        call = self._open = _OpenCall(meter, is_kept=is_kept)
        watched = cast("Host", _WatchedHost(host, call, self._room))

        def on_failure(trace: TracebackType | None) -> None:
            if call.is_kept:
                call.frames = _frames(host, trace, self._room)

        try:
            outcome = pvm.execute(code, message, watched, meter, on_failure=on_failure)
        finally:
            self._open = outer
        found = pvm.find_handler(code, message.handlers, message.entry)
        handler = found or message.handlers[0]
        traced = self._closed(call, message, handler, outcome, (host, meter))
        if outer is None:
            self.calls[index] = traced
        else:
            _note_call(outer, call, traced)
        return outcome

    def _closed(
        self,
        call: _OpenCall,
        message: Message,
        handler: str,
        outcome: Outcome,
        used: tuple[ActorHost, Meter],
    ) -> TracedCall:
        host, meter = used
        cycles = meter.cycles_used - call.cycles
        cells = meter.cells_used - call.cells
        if host.execution.kind is ReceiptKind.AGENT and _is_asked(host):
            cells = 0
        returned = outcome.value
        if not self._room.take(len(returned)):
            returned, call.cut = b"", call.cut + 1
        return TracedCall(
            actor=message.actor,
            handler=handler,
            sender=message.sender,
            value=message.value,
            payload=message.payload if call.is_kept else b"",
            returned=returned if call.is_kept else b"",
            failure=outcome.failure,
            cycles=cycles,
            cells=cells,
            own_cycles=cycles - call.below_cycles,
            own_cells=cells - call.below_cells,
            steps=tuple(call.steps),
            frames=call.frames,
            cut=call.cut,
            cut_cycles=call.cut_cycles,
            cut_cells=call.cut_cells,
        )


def _is_asked(host: ActorHost) -> bool:
    """Whether it is an agent, whose cells are free (D34), and no reader's question."""
    return bool(host.execution.timer_id)


def _note_call(outer: _OpenCall, call: _OpenCall, traced: TracedCall) -> None:
    outer.below_cycles += traced.cycles
    outer.below_cells += traced.cells
    if call.is_kept:
        outer.steps.append(traced)
        return
    outer.cut += 1
    outer.cut_cycles += traced.cycles
    outer.cut_cells += traced.cells


def _frames(
    host: ActorHost, trace: TracebackType | None, room: TraceRoom
) -> tuple[TracedFrame, ...]:
    found = failed_frames(trace)
    size = sum(
        _STEP_BYTES + sum(len(one.name) + len(one.text) for one in frame.variables)
        for frame in found
    )
    if not found or not room.take(size):
        return ()
    journal = host.execution.block.journal
    source = load_code(journal, load_account(journal, host.actor).code_hash)
    lines = source.decode("utf-8", "replace").split("\n")
    return tuple(
        TracedFrame(
            host.actor,
            frame.function,
            frame.line,
            lines[frame.line - 1].strip() if 0 < frame.line <= len(lines) else "",
            frame.variables,
        )
        for frame in found
    )


class _WatchedHost:
    """The host of a call, with a note of what each of its calls did."""

    __slots__ = ("_call", "_host", "_room")

    def __init__(self, host: ActorHost, call: _OpenCall, room: TraceRoom) -> None:
        self._host = host
        self._call = call
        self._room = room

    def __getattr__(self, name: str) -> object:
        method = getattr(self._host, name)

        def call(*arguments: object, **named: object) -> object:
            known = len(self._call.steps) + self._call.cut
            log = self._host.execution.effects.log
            place = len(log)
            before = self._value(arguments) if name in _STATE_CALLS else None
            try:
                answer: object = method(*arguments, **named)
            except HostError as error:
                if len(self._call.steps) + self._call.cut == known:
                    self._note(CallRefused(name, str(error)), len(str(error)))
                raise
            if name in _STATE_CALLS:
                self._note_write(arguments, before)
            elif name == "log":
                self._note_printed(arguments, answer)
            elif name in _EFFECTFUL:
                for effect in log[place:]:
                    self._note_effect(effect)
            return answer

        return call

    def _value(self, arguments: tuple[object, ...]) -> bytes | None:
        """What stands under the key that a call was given, if it is one."""
        key = arguments[0]
        if type(key) is not bytes:
            return None
        journal = self._host.execution.block.journal
        return journal.get(keys.storage(self._host.actor, key))

    def _note(self, step: Step, bytes_: int) -> None:
        if self._call.is_kept and self._room.take(_STEP_BYTES + bytes_):
            self._call.steps.append(step)
        else:
            self._call.cut += 1

    def _note_write(self, arguments: tuple[object, ...], before: bytes | None) -> None:
        key, after = arguments[0], self._value(arguments)
        assert type(key) is bytes, "the host has taken it"
        size = len(key) + len(before or b"") + len(after or b"")
        self._note(StorageWrite(key, before, after), size)

    def _note_printed(self, arguments: tuple[object, ...], kept: object) -> None:
        level = arguments[0]
        assert type(level) is str, "the machine gives it"
        if type(kept) is str and kept:
            self._note(Printed(self._host.actor, level, kept), len(kept))
        elif any(cast("Sequence[str]", arguments[1])):  # beyond what is kept (D59)
            self._call.cut += 1

    def _note_effect(  # noqa: C901 - a line for each kind
        self, effect: Effect
    ) -> None:
        match effect:
            case Transferred(_, to, amount):
                self._note(TransferMade(to, amount), 0)
            case CodeReplaced(_, code_hash):
                self._note(UpgradeMade(code_hash), len(code_hash))
            case EventEmitted(event):
                self._note(EventMade(event.topic, event.data), len(event.data))
            case MessageSent(message):
                queued = MessageQueued(
                    message.target,
                    message.handler,
                    message.payload,
                    message.cycles,
                    message.cells,
                    message.kind is ReceiptKind.ENGINE_MESSAGE,
                )
                self._note(queued, len(message.payload))
            case TimerScheduled():
                self._note_timer("scheduled", effect)
            case TimerExtended():
                self._note_timer("extended", effect)
            case TimerUpdated():
                self._note_timer("updated", effect)
            case TimerCancelled() | FireCancelled():
                self._note_timer("cancelled", effect)
            case _:
                pass

    def _note_timer(self, what: str, effect: TimerEffect) -> None:
        timer = effect.timer
        touched = TimerTouched(
            what, timer.timer_id, timer.height, timer.expires_at, timer.payload
        )
        self._note(touched, len(timer.payload))
