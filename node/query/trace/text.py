"""Traces and changes as text: for a terminal, a failed test, a log.

What actors say is a stranger's text: it is shown and never obeyed. Long values are cut
where they stand, and a text that may have so many lines says how many it left out.
"""

from collections.abc import Iterator, Mapping

from node.chain.timers.timer import Timer
from node.primitives import codec
from node.primitives.hex_repr import foreign
from node.query.trace.records import (
    CallRefused,
    Changes,
    EventMade,
    ExecutionTrace,
    MessageQueued,
    Step,
    StorageWrite,
    TimerTouched,
    TracedCall,
    TracedFrame,
    TransferMade,
    UpgradeMade,
)
from pvm import STORAGE_PREFIX, Failure
from pvm.output import Printed

__all__ = [
    "Names",
    "call_text",
    "changes_text",
    "failure_path",
    "key_text",
    "output_text",
    "trace_text",
    "value_text",
]

Names = Mapping[bytes, str]
"""What addresses are called instead of their hexadecimal."""

VALUE_LENGTH_MAX = 72
"""Characters of a value."""
LINE_LENGTH_MAX = 200
"""Characters of a line."""
_ADDRESS_BYTES_SHOWN = 4
_NO_NAMES: Names = {}


def trace_text(
    trace: ExecutionTrace, lines_max: int | None = None, names: Names = _NO_NAMES
) -> str:
    """A trace: what it was, where it failed with the deepest frame first, its calls.

    Args:
        trace: what is told.
        lines_max: most lines; the last one says how many are left out.
        names: what addresses are called.
    """
    lines = [_headline(trace, names)]
    if trace.call is not None:
        lines += _told(trace.call, lines_max, names)
    return _joined(lines, lines_max)


def call_text(
    call: TracedCall, lines_max: int | None = None, names: Names = _NO_NAMES
) -> str:
    """A call and all below it, as `trace_text` tells them."""
    return _joined(_told(call, lines_max, names), lines_max)


def _told(call: TracedCall, lines_max: int | None, names: Names) -> list[str]:
    """Where it failed, at most half of the lines, and then the tree."""
    failure = list(_failure_lines(call, names))
    if lines_max is not None:
        failure = _cut_lines(failure, lines_max // 2)
    return [*failure, *_call_lines(call, 0, names)]


def _joined(lines: list[str], lines_max: int | None) -> str:
    if lines_max is not None:
        lines = _cut_lines(lines, lines_max)
    return "\n".join(map(_line, lines))


def _cut_lines(lines: list[str], lines_max: int) -> list[str]:
    """At most so many lines, of which the last counts those that are left out."""
    if len(lines) <= lines_max:
        return lines
    return [*lines[: lines_max - 1], f"… and {len(lines) - lines_max + 1:,} lines more"]


def _line(text: str) -> str:
    return text if len(text) <= LINE_LENGTH_MAX else text[: LINE_LENGTH_MAX - 1] + "…"


def _headline(trace: ExecutionTrace, names: Names) -> str:
    receipt = trace.receipt
    kind = receipt.kind.name.lower().replace("_", " ")
    used = f"{receipt.cycles_used:,} cycles, {receipt.cells_used:,} cells"
    entry = f"{trace.entry_cycles:,} and {trace.entry_cells:,} before any call"
    target = f", to {_name(receipt.actor, names)}" if receipt.actor else ""
    return (
        f"{kind} 0x{receipt.id.hex()} at height {trace.height:,}{target}: "
        f"{used} ({entry}); {_outcome(receipt.failure)}"
    )


def _outcome(failure: Failure | None) -> str:
    return "succeeded" if failure is None else _failure(failure)


def _failure(failure: Failure) -> str:
    message = f": {failure.message}" if failure.message else ""
    return "failed: " + foreign(f"{failure.kind}{message}")


def failure_path(call: TracedCall) -> tuple[TracedFrame, ...]:
    """The frames of a failure across all actors that it went through, deepest first.

    A call that failed below and was caught is none of them.
    """
    frames = [frame for one in _failed_calls(call) for frame in one.frames]
    return tuple(reversed(frames))


def _failed_calls(call: TracedCall) -> list[TracedCall]:
    """The calls that one failure went through, outermost first."""
    found: list[TracedCall] = []
    at: TracedCall | None = call
    while at is not None and at.failure is not None:
        found.append(at)
        at = next((one for one in reversed(at.calls) if _went_on(one, at)), None)
    return found


def _went_on(callee: TracedCall, caller: TracedCall) -> bool:
    """Whether a callee's failure is that of its caller: their stacks end alike."""
    below, above = callee.failure, caller.failure
    if below is None or above is None or above.kind != "RevertError":
        return False
    if not below.stack or not above.stack:
        return True
    last, other = below.stack[-1], above.stack[-1]
    return (last.function, last.line) == (other.function, other.line)


def _failure_lines(call: TracedCall, names: Names) -> Iterator[str]:
    failed = _failed_calls(call)
    if len(failed) > 1:  # whoever called tells of it behind a `RevertError` each
        yield _outcome(failed[-1].failure)
    for number, frame in enumerate(failure_path(call)):
        how = "in" if number else "failed in"
        where = f"{frame.function}, line {frame.line}"
        yield f"{how} {where} of {_name(frame.actor, names)}: {foreign(frame.source)}"
        for variable in frame.variables:
            yield f"    {variable.name} = {foreign(variable.text)}"


def _call_lines(call: TracedCall, depth: int, names: Names) -> Iterator[str]:
    indent = "  " * depth
    yield indent + _call_line(call, names)
    for step in call.steps:
        if isinstance(step, TracedCall):
            yield from _call_lines(step, depth + 1, names)
        else:
            for line in _step_lines(step, names):
                yield f"{indent}  {line}"
    if call.cut:
        cost = (
            f", {call.cut_cycles:,} cycles of calls in them" if call.cut_cycles else ""
        )
        yield f"{indent}  … {call.cut:,} more, which a trace has no room for{cost}"


def _call_line(call: TracedCall, names: Names) -> str:
    used = f"{call.cycles:,} cycles, {call.cells:,} cells"
    if call.calls or call.cut:
        used += f" (own {call.own_cycles:,} and {call.own_cells:,})"
    if call.failure is not None:
        end = f"; {_failure(call.failure)}; undone"
    elif call.returned:
        end = f" → {value_text(call.returned)}"
    else:
        end = ""
    value = f" with {call.value:,} base units" if call.value else ""
    handler = foreign(call.handler)
    payload = value_text(call.payload) if call.payload else ""
    return (
        f"{_name(call.actor, names)}.{handler}({payload}) by "
        f"{_name(call.sender, names)}{value}: {used}{end}"
    )


def _step_lines(step: Step, names: Names) -> list[str]:
    return output_lines(step) if isinstance(step, Printed) else [_step(step, names)]


def _step(  # noqa: PLR0911 - a line for each kind
    step: Step, names: Names
) -> str:
    match step:
        case StorageWrite(key, before, after):
            return f"{key_text(key)}: {_change(before, after)}"
        case TransferMade(to, amount):
            return f"transfer of {amount:,} base units to {_name(to, names)}"
        case EventMade(topic, data):
            return f"event '{foreign(topic)}': {value_text(data)}"
        case TimerTouched():
            return (
                f"timer 0x{step.timer_id.hex()} {step.what}: due at {step.height:,}, "
                f"expires at {step.expires_at:,}, payload {value_text(step.payload)}"
            )
        case MessageQueued():
            handler = foreign(step.handler) or "(default handler)"
            return (
                f"message to {_name(step.target, names)}.{handler}"
                f"({value_text(step.payload)}) with {step.cycles:,} cycles, "
                f"{step.cells:,} cells"
            )
        case UpgradeMade(code_hash):
            return f"new code for itself: 0x{code_hash.hex()}"
        case CallRefused(name, reason):
            return f"{name} refused: {foreign(reason)}"
        case _:
            raise AssertionError("calls and what was printed are told apart")


def output_lines(printed: Printed) -> list[str]:
    """What an actor wrote, line by line; its level before each."""
    level = f"[{printed.level}] " if printed.level else ""
    lines = printed.text.removesuffix("\n").split("\n")
    return [f"| {level}{foreign(line)}" for line in lines]


def output_text(printed: tuple[Printed, ...], names: Names = _NO_NAMES) -> str:
    """All that executions wrote, each actor's under its name where several did."""
    lines: list[str] = []
    last = None
    is_mixed = len({one.actor for one in printed}) > 1
    for one in printed:
        if is_mixed and one.actor != last:
            lines.append(f"{_name(one.actor, names)}:")
            last = one.actor
        level = f"[{one.level}] " if one.level else ""
        text = one.text.removesuffix("\n").split("\n")
        lines += [f"{level}{foreign(line)}" for line in text]
    return "\n".join(lines)


# --- changes -------------------------------------------------------------------------


def changes_text(changes: Changes, names: Names = _NO_NAMES) -> str:
    """What changed, a line each; "nothing changed" if nothing did."""
    lines = list(_changes_lines(changes, names))
    return "\n".join(map(_line, lines)) or "nothing changed"


def _changes_lines(changes: Changes, names: Names) -> Iterator[str]:
    actor = None
    for one in changes.storage:
        if one.actor != actor:
            actor = one.actor
            yield f"storage of {_name(actor, names)}:"
        yield f"  {key_text(one.key)}: {_change(one.before, one.after)}"
    if changes.balances:
        yield "balances, in base units:"
    for balance in changes.balances:
        difference = balance.after - balance.before
        yield (
            f"  {_name(balance.address, names)}: {balance.before:,} → "
            f"{balance.after:,} ({difference:+,})"
        )
    for timer in changes.timers:
        told = _timer_change(timer.before, timer.after)
        yield f"timer 0x{timer.timer_id.hex()}: {told}"
    for code in changes.codes:
        before = f"0x{code.before.hex()}" if code.before else "no actor"
        after = f"0x{code.after.hex()}" if code.after else "no actor"
        yield f"code of {_name(code.actor, names)}: {before} → {after}"
    if changes.cut:
        yield f"… {changes.cut:,} more, which this has no room for"


def _timer_change(before: Timer | None, after: Timer | None) -> str:
    if before is None and after is not None:
        return f"scheduled, due at {after.height:,}, expires at {after.expires_at:,}"
    if before is not None and after is None:
        return f"gone, was due at {before.height:,}"
    assert before is not None, "a timer is there before or after"
    assert after is not None, "a timer is there before or after"
    told = [
        f"{name.replace('_', ' ')} {_field(getattr(before, name))} → "
        f"{_field(getattr(after, name))}"
        for name in Timer.__struct_fields__
        if getattr(before, name) != getattr(after, name)
    ]
    return ", ".join(told)


def _field(value: object) -> str:
    """A field of a timer's record."""
    match value:
        case None:
            return "(none)"
        case bytes():
            return value_text(value)
        case str():
            return _quoted(value)
        case bool() | tuple():
            return str(value)
        case _:
            return f"{value:,}"


def _change(before: bytes | None, after: bytes | None) -> str:
    return f"{_stored(before)} → {_stored(after)}"


def _stored(value: bytes | None) -> str:
    return "(none)" if value is None else value_text(value, is_cbor=True)


# --- values --------------------------------------------------------------------------


def _name(address: bytes, names: Names) -> str:
    known = names.get(address)
    if known is not None:
        return foreign(known)
    if not any(address):
        return "nobody"
    return f"0x{address[:_ADDRESS_BYTES_SHOWN].hex()}…"


def key_text(key: bytes) -> str:
    """A key of an actor's state: as `self.storage` names it, or as it is."""
    if key.startswith(STORAGE_PREFIX):
        try:
            name = key[len(STORAGE_PREFIX) :].decode()
        except UnicodeDecodeError:
            pass
        else:
            return f"self.storage[{_quoted(name)}]"
    return f"state {value_text(key)}"


def value_text(value: bytes, *, is_cbor: bool = False) -> str:
    """Bytes of an actor's in words: as a text, a value, or in hexadecimal; cut.

    Args:
        value: the bytes.
        is_cbor: whether what can be a text or a value is taken for a value.
    """
    text = _text_of(value)
    decoded = None if text and not is_cbor else _value_of(value)
    if decoded is not None:
        return _cut(decoded)
    return _quoted(text) if text else _cut(f"0x{value.hex()}")


def _text_of(value: bytes) -> str:
    """The text that bytes are; "" if they are none that can be read."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() else ""


def _value_of(value: bytes) -> str | None:
    try:
        return _decoded(codec.decode(value)) if value else "(empty)"
    except codec.MalformedCbor:
        return None


def _decoded(value: codec.Value) -> str:
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_decoded, value))}]"
    if isinstance(value, dict):
        pairs = (f"{_decoded(key)}: {_decoded(one)}" for key, one in value.items())
        return "{" + ", ".join(pairs) + "}"
    return str(value)


def _quoted(text: str) -> str:
    return _cut(f"'{foreign(text)}'")


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_LENGTH_MAX else text[: VALUE_LENGTH_MAX - 1] + "…"
