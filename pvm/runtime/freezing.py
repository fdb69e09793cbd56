"""Library objects, which all executions share: nothing of them can be changed.

A library module is made once and serves one execution after another
(sandbox-internals.md §2), so an actor must not be able to leave a trace in it.
Functions and classes are sealed; whatever else a module, a class or a default holds
must be immutable, or the module is refused when it is made: a bug of ours, found by its
first test.
"""

import builtins
from functools import partial
from types import FunctionType
from typing import Self

from typing_extensions import override

from pvm import costs, language
from pvm.errors import Sealed
from pvm.runtime.classes import ORIGIN, is_descriptor
from pvm.runtime.execution import SealedModule, VmExecution
from pvm.runtime.ordered_set import FrozenOrderedSet

_SCALARS = (int, str, bytes, type(None))


class SealedFunction(partial[object]):
    """A function of a library: called as it is, without an attribute to set."""

    # What `partial` shows of itself an actor may not see.
    func = None  # type: ignore[assignment]
    args = ()
    keywords = None  # type: ignore[assignment]

    def __get__(self, instance: object, owner: type | None = None) -> Self:
        """Itself: a `partial` as an attribute warns on 3.13, and is bound on 3.14."""
        return self

    @override
    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: what is shared between executions is immutable."""
        raise AttributeError(name)

    @override
    def __delattr__(self, name: str) -> None:
        """Refuse, likewise."""
        raise AttributeError(name)


def sealed(value: object) -> object:
    """What `super()` found, which asks no metaclass: a library's comes sealed."""
    if type(value) is not FunctionType:
        return value
    return value if language.is_of_actor(value.__code__) else SealedFunction(value)


def inside(function: SealedFunction) -> object:
    """What a sealed function calls; not for actors."""
    return _FUNC.__get__(function)


_FUNC = vars(partial)["func"]

ACTOR_FUNCTIONS = (FunctionType, SealedFunction)
"""What a function of an actor's class, or of a library's, is as an attribute."""


_VM = "_pvm_vm"
_find = type.__getattribute__


class SealedClass(Sealed):
    """Metaclass of the classes of libraries, and of what actors derive from them."""

    @override
    def __getattribute__(cls, name: str) -> object:  # noqa: N805 - of a class
        """As of any class, but paid; a method, not bound to an object, comes sealed."""
        if name[0] != "_":  # else it is asked for by helpers or by the interpreter
            _find(cls, _VM).charge(costs.CLASS_ATTRIBUTE)
        value: object = _find(cls, name)
        if type(value) is FunctionType:
            return SealedFunction(value)
        if name[0] != "_" and is_descriptor(value):
            raise AttributeError(name)  # CPython's, through which it sets unseen
        return value


def build_class(
    vm: VmExecution, body: FunctionType, name: str, /, *bases: type, **_named: object
) -> type:
    """What a `class` statement of a library calls; the class is that of one `vm`."""
    made: type = builtins.__build_class__(body, name, *bases, metaclass=SealedClass)
    type.__setattr__(made, ORIGIN, body.__code__.co_filename.strip("<>"))
    for key, value in list(vars(made).items()):
        if key.startswith("__") and type(value) is not FunctionType:
            continue  # CPython's own
        if isinstance(value, staticmethod):
            _check(value.__func__)
            sealed = staticmethod(SealedFunction(value.__func__))
            type.__setattr__(made, key, sealed)
        elif isinstance(value, classmethod):
            _check(value.__func__)
        elif not isinstance(value, property):
            _check(value)
    type.__setattr__(made, _VM, vm)
    return made


def seal(namespace: dict[str, object]) -> None:
    """Seal the functions of a module; refuse what could be changed."""
    for name, value in namespace.items():
        if not name.startswith("__"):
            namespace[name] = _sealed(value)


def _sealed(value: object) -> object:
    _check(value)
    return SealedFunction(value) if isinstance(value, FunctionType) else value


def _check(value: object) -> None:
    if isinstance(value, FunctionType):
        _check((*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()))
    elif isinstance(value, tuple | FrozenOrderedSet):
        for one in value:
            _check(one)
    else:
        is_fixed = isinstance(value, (*_SCALARS, SealedFunction, SealedModule))
        is_fixed = is_fixed or isinstance(value, Sealed) or callable(value)
        is_fixed = is_fixed or type(value).__setattr__ is not object.__setattr__
        assert is_fixed, f"a library shares a {type(value).__name__}"
