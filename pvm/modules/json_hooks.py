"""What functions of an actor's have to say about JSON that is read or written.

Rules (sandbox.md §3, §4):

* none is called inside of CPython's reader or writer: a text is read first, whole and
  admitted, and what stands for its objects and numbers then goes to the functions, in
  the order in which CPython calls them; a value is copied first, and only the copy,
  which nobody else holds, is measured and written;
* both work on an explicit stack and take one of depth for as long as they last, so that
  natives which call one another are counted as an actor's functions are;
* what is copied or built pays as what `json` walks does, and each call as that of a key
  function.
"""

import json
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, cast

from pvm import costs
from pvm.depth import END
from pvm.errors import TooDeepRecursion
from pvm.meter import Meter
from pvm.runtime.exceptions import refused
from pvm.runtime.values import is_key, type_name

DEPTH_MAX: Final = 64

Hook: TypeAlias = Callable[[object], object]
_Pairs: TypeAlias = "tuple[tuple[str, object], ...]"
_Parse: TypeAlias = Callable[[str], object]

_WITH_FORM = frozenset({list, tuple, dict, str, int, bool, type(None)})
_KEYS_WITH_FORM = frozenset({str, int, bool, type(None)})
"""Of CPython's: `skipkeys` leaves none of them out."""
_PAIR_BYTES = 80
_COPIED_BYTES = 16  # of an item, beside the copy itself


def hook(name: str, value: object) -> Hook | None:
    """A function of the actor's, or None.

    Raises:
        TypeError: it cannot be called; `name` is that of the argument.
    """
    if value is not None and not callable(value):
        raise refused(
            TypeError(f"{name} is a function or None, not {type_name(value)}")
        )
    return cast("Hook | None", value)


def _deeper(meter: Meter) -> object:
    """As `VmExecution.deeper`: what is put back into the cell afterwards."""
    depth: object = meter.depth.cell_contents
    if depth is END:
        meter.halt(TooDeepRecursion())
    (meter.depth.cell_contents,) = depth  # type: ignore[misc] # a link of the chain
    return depth


class _Number:
    """A number as it was written, and the function that it goes to."""

    __slots__ = ("parse", "text")

    def __init__(self, parse: Hook, text: str) -> None:
        self.parse = parse
        self.text = text


class Reading:
    """The functions of one `loads`."""

    __slots__ = ("_hook", "_meter", "_numbers", "_pairs_hook")

    def __init__(self, meter: Meter, *functions: object) -> None:
        """Take what `loads` was given, in the order of `NAMES`."""
        self._meter = meter
        self._hook, self._pairs_hook, *self._numbers = map(hook, _NAMES, functions)

    def decoder(self, refuse: _Parse) -> json.JSONDecoder:
        """Reads an object as a tuple of pairs, and numbers for later.

        Args:
            refuse: what is called for numbers that have no form without a function.
        """
        parse_int, parse_float, parse_constant = map(_later, self._numbers)
        return json.JSONDecoder(
            object_pairs_hook=tuple,
            parse_int=parse_int,
            parse_float=cast("Callable[[str], float]", parse_float or refuse),
            parse_constant=parse_constant or refuse,
        )

    def value_of(self, read: object) -> object:
        """What the functions make of what the decoder has read."""
        depth = _deeper(self._meter)
        done: list[object] = []
        waiting: list[tuple[object, Iterator[object], list[object]]] = [
            (None, iter((read,)), done)
        ]
        while waiting:
            container, items, made = waiting[-1]
            for item in items:
                if type(item) is list:
                    waiting.append((item, iter(item), []))
                    break
                if type(item) is tuple:
                    waiting.append((item, (value for _, value in item), []))
                    break
                made.append(self._scalar(item))
            else:
                waiting.pop()
                if waiting:
                    value: object = made
                    if type(container) is tuple:
                        value = self._object(container, made)
                    waiting[-1][2].append(value)
        self._meter.depth.cell_contents = depth
        return done[0]

    def _scalar(self, item: object) -> object:
        if type(item) is not _Number:
            return item
        self._meter.charge_cycles(costs.CALL + len(item.text))
        return item.parse(item.text)

    def _object(self, pairs: _Pairs, values: list[object]) -> object:
        keyed = zip((key for key, _ in pairs), values, strict=True)
        if self._pairs_hook is not None:
            self._meter.charge_cycles(costs.CALL)
            size = costs.SEQUENCE_BYTES + _PAIR_BYTES * len(pairs)
            self._meter.charge_memory(size)
            return self._pairs_hook(list(keyed))
        if self._hook is not None:
            self._meter.charge_cycles(costs.CALL)
            return self._hook(dict(keyed))
        return dict(keyed)


_NAMES = (
    "object_hook", "object_pairs_hook", "parse_int", "parse_float", "parse_constant",
)  # fmt: skip


def _later(function: Hook | None) -> _Parse | None:
    if function is None:
        return None
    return lambda text: _Number(function, text)


class Writing:
    """The function of one `dumps`, and whether it leaves keys out."""

    __slots__ = ("_default", "_is_skipping", "_meter")

    def __init__(
        self, meter: Meter, default: Hook | None, *, is_skipping: bool
    ) -> None:
        self._meter = meter
        self._default = default
        self._is_skipping = is_skipping

    def copy_of(self, value: object) -> object:
        """A copy of lists, dicts and scalars alone, which only its caller holds.

        Raises:
            ValueError: nested more than 64 deep, calls of the function counted.
            TypeError: a key, or without a function a value, that has no form.
        """
        depth = _deeper(self._meter)
        copied: dict[object, object] | list[object] = [None]
        root = copied
        waiting: list[tuple[object, Iterator[tuple[object, object]]]] = [
            (root, iter([(0, value)]))
        ]
        while waiting:
            target, items = waiting[-1]
            for key, item in items:
                one = self._with_form(item, len(waiting))
                if type(one) is list or type(one) is tuple:
                    copied, inner = self._list(one)
                elif type(one) is dict:
                    copied, inner = self._dict(one)
                else:
                    target[key] = one  # type: ignore[index] # of a dict or list
                    continue
                _require_shallow(len(waiting))
                target[key] = copied  # type: ignore[index]
                waiting.append((copied, inner))
                break
            else:
                waiting.pop()
        self._meter.depth.cell_contents = depth
        return root[0]

    def _with_form(self, value: object, depth: int) -> object:
        """The value, or what the function makes of it, however often it is asked."""
        while type(value) not in _WITH_FORM and self._default is not None:
            _require_shallow(depth)
            depth += 1
            self._meter.charge_cycles(costs.CALL)
            value = self._default(value)
        return value

    def _list(self, items: list[object] | tuple[object, ...]) -> "_Opened":
        count = len(items)
        self._charge(count, costs.SEQUENCE_BYTES + 8 * count)
        return [None] * count, enumerate(tuple(items))

    def _dict(self, items: dict[object, object]) -> "_Opened":
        count = len(items)
        size = costs.MAPPING_BYTES + costs.MAPPING_BYTES_PER_ITEM * count
        self._charge(2 * count, size)
        if self._is_skipping:
            pairs = [(k, v) for k, v in items.items() if type(k) in _KEYS_WITH_FORM]
        else:
            pairs = list(items.items())
        for key, _ in pairs:
            if not is_key(key):  # an object of the actor's would be asked for its hash
                raise refused(TypeError("a key must be str or int"))
        return {}, iter(pairs)

    def _charge(self, items: int, size: int) -> None:
        cycles = 2 * (costs.WALK_CONTAINER + costs.WALK_ITEM * items)
        self._meter.charge_cycles(cycles)
        self._meter.charge_memory(size + _COPIED_BYTES * items)


_Opened: TypeAlias = (
    "tuple[dict[object, object] | list[object], Iterator[tuple[object, object]]]"
)


def _require_shallow(depth: int) -> None:
    if depth > DEPTH_MAX:
        raise refused(ValueError("nested more than 64 deep"))
