"""Source to code: one function of visible lines, each step pure (sandbox.md §2)."""

import ast
import sys
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, MappingProxyType

from pvm import language
from pvm.builtins import NATIVE, PRICED
from pvm.desugar import desugar
from pvm.errors import CompileError
from pvm.execution import Helper
from pvm.facts import Facts, gather
from pvm.gate import restrict
from pvm.guards import HELPERS, NATIVES
from pvm.instrument import CELLS, MODULE_FUNCTION, instrument
from pvm.modules import EXPORTS
from pvm.parser import parse, refuse
from pvm.policy import check_policy

_FRAMES = 8 * language.LEVELS_MAX + 1_000
"""No step takes more than eight frames a level."""


@dataclass(frozen=True, slots=True)
class ActorCode:
    """A compiled actor: immutable, shared by all its executions."""

    module: CodeType
    """The module's body, a function of the three cells of a meter."""
    handlers: tuple[str, ...]
    """Public names that messages can reach, in source order, for display."""
    functions: frozenset[str]
    """Those of them that are functions of the module."""
    methods: frozenset[str]
    """Public methods of the actor's class, inherited ones included."""
    actor_class: str | None
    """The class named `Actor`, else the only class that is no exception."""
    natives: Mapping[str, object]
    """Names of the namespace that are the same for every execution."""
    helpers: tuple[tuple[str, Helper], ...]
    """Names of the namespace that are bound to each execution."""
    implicit_modules: tuple[str, ...]
    """Modules that are used without an import."""


def compile_actor(source: bytes) -> ActorCode:
    """Compile an actor's source.

    Raises:
        CompileError: it is not UTF-8, does not parse or is not in the language;
            carries every refusal of the first step that refuses.
    """
    tree = parse(source)
    with _room_to_recurse():
        check_policy(tree, EXPORTS)
        _compile(tree)  # what only the compiler refuses: a `return` outside, say
        tree = desugar(tree)
        tree = restrict(tree)
        facts = gather(tree)
        code = _module_code(_compile(instrument(tree)))
    return _actor_code(tree, facts, code)


@contextmanager
def _room_to_recurse() -> Iterator[None]:
    """Frames for the deepest tree the parser passes, whatever called us."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class CodeCache:
    """The compiled actors that were used last, by code hash; owned by the caller."""

    def __init__(self, entries_max: int) -> None:
        """An empty cache of at most `entries_max` actors."""
        assert entries_max > 0
        self._entries_max = entries_max
        self._entries: OrderedDict[bytes, ActorCode] = OrderedDict()

    def find(self, code_hash: bytes) -> ActorCode | None:
        """The compiled actor, if it is among those used last: no source is needed."""
        code = self._entries.get(code_hash)
        if code is not None:
            self._entries.move_to_end(code_hash)
        return code

    def get(self, code_hash: bytes, source: bytes) -> ActorCode:
        """The compiled source; `code_hash` must be a function of it.

        Raises:
            CompileError: as `compile_actor`; refusals are not remembered.
        """
        code = self._entries.get(code_hash)
        if code is None:
            code = compile_actor(source)
            self._entries[code_hash] = code
            if len(self._entries) > self._entries_max:
                self._entries.popitem(last=False)
        else:
            self._entries.move_to_end(code_hash)
        return code

    def __len__(self) -> int:
        """Number of compiled actors held."""
        return len(self._entries)


def _compile(tree: ast.Module) -> CodeType:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(
                tree, language.ACTOR_FILE, "exec", dont_inherit=True, optimize=0
            )
    except SyntaxError as error:
        line = max(1, error.lineno or 1)
        raise refuse("a statement stands where it may not", line=line) from None
    except (RecursionError, MemoryError, ValueError):
        raise refuse("the source does not compile") from None


def _module_code(code: CodeType) -> CodeType:
    """The function that `instrument` made of the module."""
    (outer,) = (part for part in code.co_consts if isinstance(part, CodeType))
    for part in outer.co_consts:
        if isinstance(part, CodeType) and part.co_name == MODULE_FUNCTION:
            assert part.co_freevars == CELLS
            return part
    raise AssertionError("the module has no body")


def _names(code: CodeType) -> Iterator[str]:
    """Every name that the code, or code inside it, may look up."""
    stack = [code]
    while stack:
        part = stack.pop()
        yield from part.co_names
        stack.extend(one for one in part.co_consts if isinstance(one, CodeType))


def _actor_code(tree: ast.Module, facts: Facts, code: CodeType) -> ActorCode:
    used = set(_names(code))
    natives = {**NATIVES, **NATIVE}
    always = {"__build_class__", "super"}
    priced = {**HELPERS, **PRICED}
    functions = _public(tree.body)
    actor_class = _actor_class(facts)
    methods = _methods(facts, actor_class)
    return ActorCode(
        module=code,
        handlers=tuple(dict.fromkeys([*functions, *methods])),
        functions=frozenset(functions),
        methods=frozenset(methods),
        actor_class=actor_class,
        natives=MappingProxyType(
            {name: natives[name] for name in natives if name in used | always}
        ),
        helpers=tuple((name, priced[name]) for name in sorted(used & priced.keys())),
        implicit_modules=tuple(sorted(used & language.IMPLICIT_MODULES - facts.bound)),
    )


def _public(body: list[ast.stmt]) -> list[str]:
    return [
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith(("_", "private_"))
        and not any(_is_property(decorator) for decorator in node.decorator_list)
    ]


def _is_property(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "property") or (
        isinstance(node, ast.Attribute) and node.attr == "setter"
    )


def _actor_class(facts: Facts) -> str | None:
    if "Actor" in facts.classes:
        return "Actor"
    ordinary = [name for name in facts.classes if name not in facts.exceptions]
    return ordinary[0] if len(ordinary) == 1 else None


def _methods(facts: Facts, actor_class: str | None) -> list[str]:
    """Public methods of the class and its bases, each once."""
    names: dict[str, None] = {}
    stack = [] if actor_class is None else [actor_class]
    while stack:
        node = facts.classes.get(stack.pop())
        if node is not None:
            names.update(dict.fromkeys(_public(node.body)))
            stack.extend(
                base.id for base in reversed(node.bases) if isinstance(base, ast.Name)
            )
    return list(names)


__all__ = ["ActorCode", "CodeCache", "CompileError", "compile_actor"]
