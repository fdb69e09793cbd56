"""What is wrong with the arguments of a call, in words of ours (host-api.md §2).

The interpreter says it in words that differ by its version, and counts the object of a
method. They are read where an execution has failed, and only of functions that actors
know: of a helper they would tell of ours.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, TracebackType
from typing import Final

from pvm import language
from pvm.language import MODULE_FUNCTION, public_name
from pvm.runtime.classes import is_actor_class
from pvm.runtime.execution import SealedModule
from pvm.runtime.freezing import SealedFunction, inside

NAMES_SHOWN: Final = 4
"""Names that are missing; of more their number is told."""

_INIT = ".__init__"
_OF_MODULE = f"_outer.<locals>.{MODULE_FUNCTION}.<locals>."
"""What the interpreter calls a lambda that stands in no function."""


def wrong_arguments(text: object, trace: TracebackType | None) -> tuple[str, str]:
    """The qualified name of what was called, and what is wrong; else two empty texts.

    Args:
        text: what the interpreter said in a `TypeError`.
        trace: the frames it went through.
    """
    call = _CALL.fullmatch(text) if type(text) is str else None
    if call is None:
        return "", ""
    name = call["name"]
    function = _function(name, _names(trace))
    if function is None:
        return "", ""
    for pattern, tell in _MISTAKES:
        mistake = pattern.fullmatch(call["mistake"])
        if mistake is not None:
            own = _is_method(name) and not isinstance(function, staticmethod)
            return name.removesuffix(_INIT), tell(mistake, int(own))
    return "", ""


_CALL = re.compile(r"(?P<name>[\w.<>]{1,2000})\(\) (?P<mistake>.+)", re.ASCII)


def _names(trace: TracebackType | None) -> Mapping[str, object] | None:
    """Names of the module whose code called; None where the chain did."""
    found = None
    while trace is not None:
        frame = trace.tb_frame
        if language.is_of_actor(frame.f_code):
            found = frame.f_globals
        trace = trace.tb_next
    return found


def _function(name: str, names: Mapping[str, object] | None) -> object:
    """What a qualified name means there; true of what stands in a function."""
    first, *others = name.split(".")
    if names is None or name.startswith(_OF_MODULE):
        return True
    for scope in (names, *_modules(names)):
        value = scope.get(first)
        if isinstance(value, SealedFunction):
            value = inside(value)
        if isinstance(value, FunctionType) and value.__qualname__ == first:
            return value
        if isinstance(value, type) and is_actor_class(value) and others:
            return vars(value).get(others[0])
    return None


def _modules(names: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    for value in names.values():
        if isinstance(value, SealedModule):
            yield vars(value)


def _is_method(name: str) -> bool:
    before = name.split(".")[:-1]
    return bool(before) and before[-1] != "<locals>"


_Mistake = re.Match[str]


def _too_many(mistake: _Mistake, own: int) -> str:
    """As the caller wrote them: the object of a method is not counted."""
    least, most = mistake["least"], int(mistake["most"]) - own
    noun = "argument" if mistake["named"] is None else "positional argument"
    count = f"{int(least) - own} to {most}" if least else f"{most or 'no'}"
    plural = "" if count == "1" else "s"
    return f"takes {count} {noun}{plural}, {int(mistake['given']) - own} given"


def _quoted(names: str) -> str:
    found = [f"'{public_name(name)}'" for name in _NAME.findall(names)]
    more = len(found) - NAMES_SHOWN
    return ", ".join([*found[:NAMES_SHOWN], *([f"{more} more"] if more > 0 else [])])


_NAME = re.compile(r"\w+(?='|,|$)", re.ASCII)


def _missing(mistake: _Mistake, _own: int) -> str:
    return f"misses {_quoted(mistake['names'])}"


def _unknown(mistake: _Mistake, _own: int) -> str:
    return f"takes no argument named {_quoted(mistake['name'])}"


def _twice(mistake: _Mistake, _own: int) -> str:
    return f"got {_quoted(mistake['name'])} twice"


def _by_position(mistake: _Mistake, _own: int) -> str:
    return f"takes {_quoted(mistake['names'])} by position only"


_IDENTIFIER = rf"(?P<name>\w{{1,{language.IDENTIFIER_LENGTH_MAX}}})"
_TAKES = (
    r"takes (?:from (?P<least>\d+) to )?(?P<most>\d+) positional arguments? "
    r"but (?P<given>\d+) (?P<named>positional .+ )?(?:was|were) given"
)
_MISSES = r"missing \d+ required [a-z-]+ arguments?: (?P<names>.+)"
_HAS_NONE = (
    rf"got an unexpected keyword argument '{_IDENTIFIER}'"
    r"(?:\. Did you mean '\w+'\?)?"  # 3.13 does
)
_HAS_TWO = rf"got multiple values for argument '{_IDENTIFIER}'"
_BY_NAME = (
    r"got some positional-only arguments passed as keyword arguments: '(?P<names>.+)'"
)
_MISTAKES: tuple[tuple[re.Pattern[str], Callable[[_Mistake, int], str]], ...] = (
    (re.compile(_TAKES, re.ASCII), _too_many),
    (re.compile(_MISSES, re.ASCII), _missing),
    (re.compile(_HAS_NONE, re.ASCII), _unknown),
    (re.compile(_HAS_TWO, re.ASCII), _twice),
    (re.compile(_BY_NAME, re.ASCII), _by_position),
)
