"""What a statement that failed is answered with: its own lines, and one sentence.

Frames of ours say nothing to whoever typed the statement, and are left out. What an
actor raised has the actor's lines in its message already.
"""

import linecache
import traceback
from types import TracebackType

from node.primitives.hex_repr import foreign

__all__ = ["failure_text", "remember_source"]

_OURS = ("node", "pvm", "grpc", "_pytest", "pluggy")
_TYPED = {None, "<unknown>", "<input>"}
"""What the parser calls a text that is in no file."""

MESSAGE_MAX = 4_000
FRAMES_MAX = 20


def remember_source(name: str, source: str) -> None:
    """Let tracebacks show the lines of what was typed."""
    lines = source.splitlines(keepends=True)
    linecache.cache[name] = len(source), None, lines, name


def failure_text(error: BaseException, name: str) -> str:
    """The sentence of an exception, after the frames that are the user's own.

    Args:
        error: the exception.
        name: of the statement that raised it, as `remember_source` got it.
    """
    if isinstance(error, SyntaxError) and error.filename in _TYPED:
        return foreign(_syntax_text(error), is_multiline=True)
    told = "".join(traceback.format_exception_only(error)).strip()
    if error.__class__.__module__.partition(".")[0] in _OURS:
        told = (
            f"{type(error).__name__}: {error}" if f"{error}" else type(error).__name__
        )
    if len(told) > MESSAGE_MAX:
        told = f"{told[:MESSAGE_MAX]}… {len(told) - MESSAGE_MAX:,} characters more"
    frames = _own_frames(error.__traceback__)
    is_plain = len(frames) == 1 and not linecache.getline(name, 2)
    if frames and not is_plain:
        told = f"{''.join(traceback.format_list(frames))}{told}"
    return foreign(told, is_multiline=True)


def _syntax_text(error: SyntaxError) -> str:
    text = (error.text or "").rstrip("\n")
    if not text or not error.offset:
        return f"{type(error).__name__}: {error.msg}"
    return f"{text}\n{' ' * (error.offset - 1)}^\n{type(error).__name__}: {error.msg}"


def _own_frames(trace: TracebackType | None) -> traceback.StackSummary:
    """Frames from the statement on, without ours; of very many the last."""
    walked = [
        (frame, line)
        for frame, line in traceback.walk_tb(trace)
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _OURS
    ]
    return traceback.StackSummary.extract(iter(walked[-FRAMES_MAX:]))
