"""Frames of a failure, with what an actor's variables held: for its author.

The walk is our own and bounded: no code of the actor's runs, nothing of it is changed,
and what is too long or nests too deep is cut and says so.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import FrameType, TracebackType
from typing import Final

from msgspec import Struct

from pvm.language import public_name
from pvm.runtime.classes import is_actor_class, name_of_class
from pvm.runtime.enums import Enum, member_text
from pvm.runtime.exceptions import arguments_of
from pvm.runtime.failures import STACK_FRAMES_MAX, actor_frames
from pvm.runtime.ordered_set import FrozenOrderedSet, OrderedSet
from pvm.runtime.storage import StorageView

__all__ = ["FailedFrame", "LocalVariable", "failed_frames", "shown"]

LOCALS_MAX: Final = 24
"""Variables of a frame."""
TEXT_LENGTH_MAX: Final = 160
"""Characters of a value."""
ITEMS_MAX: Final = 8
"""Items of a container, attributes of an object."""
NESTING_MAX: Final = 3
"""Containers inside one another."""
INT_BITS_SHOWN: Final = 256


class LocalVariable(Struct, frozen=True):
    """A variable of a function, as it was when the failure went through."""

    name: str
    """As the actor wrote it."""
    text: str
    """What it held, in the words of the actor language; cut where it is long."""


class FailedFrame(Struct, frozen=True):
    """One function of an actor's through which a failure went."""

    function: str
    """`name` or `Class.name`; `<module>` for the body of the module."""
    line: int
    """Line of the actor's source, from 1."""
    variables: tuple[LocalVariable, ...]
    """Its variables, in the order in which the function names them."""


def failed_frames(trace: TracebackType | None) -> tuple[FailedFrame, ...]:
    """Functions of one actor that a failure went through, outermost first.

    As in `Failure.stack`, of a deep stack the innermost ones.
    """
    found = list(actor_frames(trace))[-STACK_FRAMES_MAX:]
    return tuple(
        FailedFrame(one.function, one.line, tuple(_variables(frame)))
        for one, frame in found
    )


def _variables(frame: FrameType) -> Iterator[LocalVariable]:
    """Those that the actor named; what was inserted begins with an underscore."""
    code = frame.f_code
    if code.co_name == "_module":  # its names are globals
        return
    held = frame.f_locals
    own = (
        name
        for name in (*code.co_varnames, *code.co_cellvars)
        if name.isidentifier() and not name.startswith(("_", "hidden_"))
    )
    for name in islice((name for name in own if name in held), LOCALS_MAX):
        yield LocalVariable(public_name(name), shown(held[name]))


def shown(value: object) -> str:
    """A value in the words of the actor language, whatever it is."""
    return _cut(_shown(value, NESTING_MAX))


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_LENGTH_MAX else text[: TEXT_LENGTH_MAX - 1] + "…"


def _shown(  # noqa: C901, PLR0911 - a line for each kind
    value: object, depth: int
) -> str:
    kind = type(value)
    if kind is int:
        bits = int(value).bit_length()  # type: ignore[call-overload]
        return f"<int of {bits} bits>" if bits > INT_BITS_SHOWN else str(value)
    if kind is bool or value is None or kind is range:
        return repr(value)
    if kind is str or kind is bytes:
        return _text(value)  # type: ignore[arg-type] # one of the two
    if isinstance(value, type):
        return f"<class {name_of_class(value)}>"
    if kind is StorageView:
        return "<storage>"
    if isinstance(value, Enum):
        return member_text(value)
    container = _container(value, depth)
    if container is not None:
        return container
    if isinstance(value, Exception):
        return f"{name_of_class(kind)}({_items(arguments_of(value), depth - 1)})"
    if is_actor_class(kind):
        return _object(value, depth)
    return "<function>" if callable(value) else "<object>"


def _text(value: str | bytes) -> str:
    start = value[:TEXT_LENGTH_MAX]
    return ascii(start) + ("…" if len(value) > TEXT_LENGTH_MAX else "")


def _container(value: object, depth: int) -> str | None:
    kind = type(value)
    if kind is list:
        return f"[{_items(value, depth - 1)}]"  # type: ignore[arg-type] # a list
    if kind is tuple:
        items = _items(value, depth - 1)  # type: ignore[arg-type] # a tuple
        return f"({items},)" if len(value) == 1 else f"({items})"  # type: ignore[arg-type]
    if kind is dict:
        return "{" + _pairs(value, depth - 1) + "}"  # type: ignore[arg-type] # a dict
    if kind is OrderedSet or kind is FrozenOrderedSet:
        items = _items(OrderedSet.__iter__(value), depth - 1)  # type: ignore[arg-type]
        return f"{name_of_class(kind)}({{{items}}})" if items else "set()"
    return None


def _items(items: Iterable[object], depth: int) -> str:
    if depth < 0:
        return "…"
    found = list(islice(items, ITEMS_MAX + 1))
    texts = [_cut(_shown(one, depth)) for one in found[:ITEMS_MAX]]
    return ", ".join([*texts, *(["…"] if len(found) > ITEMS_MAX else [])])


def _pairs(pairs: Mapping[object, object], depth: int) -> str:
    if depth < 0:
        return "…"
    texts = [
        f"{_cut(_shown(key, depth))}: {_cut(_shown(value, depth))}"
        for key, value in islice(pairs.items(), ITEMS_MAX)
    ]
    return ", ".join([*texts, *(["…"] if len(pairs) > ITEMS_MAX else [])])


def _object(value: object, depth: int) -> str:
    """An object of the actor's: its attributes, none of its methods runs."""
    name = name_of_class(type(value))
    if depth <= 0:
        return f"<{name}>"
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return f"<{name}>"
    attributes = [
        f"{public_name(one)}={_cut(_shown(held[one], depth - 1))}"
        for one in islice(held, ITEMS_MAX)
    ]
    if not attributes:
        return f"<{name}>"
    more = [" …"] if len(held) > ITEMS_MAX else []
    return f"<{name} " + " ".join([*attributes, *more]) + ">"
