"""Handlers of an actor as its source names and annotates them, for whoever calls them.

Read from the source when it is first asked for: an actor that is called by the names of
its handlers alone costs nothing more.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec import Struct

from node.client.exceptions import InvalidArgument
from node.primitives import codec
from node.primitives.returned import encode_argument

__all__ = ["HandlerTypes", "find_handler", "handlers_of", "payload_of", "returns_of"]

SOURCES_REMEMBERED_MAX = 256
"""Of which the handlers are known at once: a suite of tests has fewer actors."""


class HandlerTypes(Struct, frozen=True):
    """What a handler takes and gives, as its source says."""

    takes_payload: bool
    """Whether it has a parameter for the payload."""
    returns: str
    """Annotation of what it returns; empty if there is none."""


@lru_cache(maxsize=SOURCES_REMEMBERED_MAX)
def handlers_of(source: str) -> Mapping[str, HandlerTypes]:
    """The handlers that messages can reach, by name, in the order of the source."""
    from pvm import compile_actor  # noqa: PLC0415 - half of pvm

    code = compile_actor(source.encode())
    found = _definitions(source, code.actor_class)
    silent = HandlerTypes(takes_payload=True, returns="")
    return {name: found.get(name, silent) for name in code.handlers}


@lru_cache(maxsize=SOURCES_REMEMBERED_MAX)
def _annotated(source: str) -> Mapping[str, HandlerTypes]:
    return _definitions(source, None)


def returns_of(source: str, handler: str) -> str:
    """The annotation of what a handler returns; empty if there is none."""
    found = _annotated(source).get(handler)
    return "" if found is None else found.returns


def _definitions(source: str, actor_class: str | None) -> dict[str, HandlerTypes]:
    """Every function and method; those of the actor's class and the module win."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return {}  # of a newer language than this interpreter's
    classes = [one for one in tree.body if isinstance(one, ast.ClassDef)]
    classes.sort(key=lambda one: one.name == actor_class)  # the last one wins
    methods = (found for one in classes for found in _functions(one.body, own=1))
    return {**dict(methods), **dict(_functions(tree.body, own=0))}


def _functions(body: list[ast.stmt], own: int) -> Iterator[tuple[str, HandlerTypes]]:
    """Of a module or a class, whose methods have a parameter for the object."""
    for one in body:
        if isinstance(one, ast.FunctionDef):
            positional = len(one.args.posonlyargs) + len(one.args.args)
            takes = positional > own or one.args.vararg is not None
            returns = "" if one.returns is None else ast.unparse(one.returns)
            yield one.name, HandlerTypes(takes, returns.strip("'\""))


def find_handler(source: str, name: str) -> HandlerTypes:
    """A handler by its name; what Python itself asks an object for is none.

    Raises:
        AttributeError: the actor has none of this name; lists those that it has.
    """
    if name.startswith("_"):
        raise AttributeError(name)
    known = handlers_of(source)
    if name not in known:
        told = f"it has {', '.join(known)}" if known else "it has none"
        raise AttributeError(f"the actor has no handler {name!r}: {told}", name=name)
    return known[name]


def payload_of(handler: str, types: HandlerTypes, argument: codec.Value) -> bytes:
    """What a handler is sent for an argument.

    Raises:
        InvalidArgument: the argument has no form, or the handler takes none.
    """
    if argument is not None and not types.takes_payload:
        raise InvalidArgument("argument", f"{handler}() takes no payload", argument)
    try:
        return encode_argument(argument)
    except (TypeError, ValueError):
        wanted = "None, bytes, str, int, bool, or a list or dict of these is wanted"
        raise InvalidArgument("argument", wanted, argument) from None
