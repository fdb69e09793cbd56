"""Native constructors as actors meet them: of exceptions, and `super().__init__`.

What CPython takes by name differs between versions, and what it shows of a class is its
own business; so keywords are listed, and a constructor as a value is an object of ours.
"""

from collections.abc import Mapping
from types import FunctionType, MethodType, MethodWrapperType

from pvm.runtime.exceptions import refused
from pvm.runtime.execution import VmExecution
from pvm.runtime.freezing import sealed

_KEYWORDS: Mapping[type, frozenset[str]] = {
    AttributeError: frozenset({"name", "obj"}),
    ImportError: frozenset({"name", "path"}),
    NameError: frozenset({"name"}),
}
"""What the constructor of an exception takes by name; those of the others take nothing.

3.12 has one more: `name_from`, of ImportError.
"""


class Initializer:
    """CPython's own `super().__init__`: it shows nothing, nothing can be set on it."""

    __slots__ = ("_known", "_method")

    def __init__(self, method: MethodWrapperType) -> None:
        self._method = method
        self._known = _KEYWORDS.get(method.__objclass__, frozenset())

    def __call__(self, /, *arguments: object, **named: object) -> object:
        """Call it."""
        if named:
            _require(self._known, named)
        return self._method(*arguments, **named)


def _require(known: frozenset[str], named: Mapping[str, object]) -> None:
    if not known.issuperset(named):
        raise refused(TypeError("a constructor has no such argument"))


def make_error(
    _vm: VmExecution, class_: type[Exception], /, *arguments: object, **named: object
) -> Exception:
    """`E(…, name=…)` of a native exception; the block has paid."""
    _require(_KEYWORDS.get(class_, frozenset()), named)
    return class_(*arguments, **named)


def initializer(_vm: VmExecution, proxy: object) -> object:
    """`super().__init__`: that of a class of the actor's, or CPython's own, wrapped.

    Raises:
        AttributeError: CPython's own, not bound to an object.
    """
    found = proxy.__init__  # type: ignore[misc] # of a `super`
    if type(found) is MethodType or type(found) is FunctionType:
        return sealed(found)
    if type(found) is not MethodWrapperType:
        raise refused(AttributeError("no class above has __init__"))
    return Initializer(found)
