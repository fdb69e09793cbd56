"""The library: modules written in the actor language itself, in `pvm/library/`.

They pass the same compiler as an actor, so they are metered and bounded without a
line of their own for it. Each is compiled once a process, when it is first imported,
and made once for each `VmExecution`. A library module may import native ones and other
library modules, without a cycle; a name with an underscore is its own business; a
package may import its own modules, which makes them attributes of it.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType

from msgspec import Struct

from pvm import costs, language
from pvm.compiler.pipeline import Compiled, compile_module
from pvm.compiler.syntax.imports import ModuleNames
from pvm.depth import LINKS
from pvm.meter import CYCLES_LIMIT_MAX
from pvm.modules import ATTRIBUTES, EXPORTS, NATIVE
from pvm.runtime import enums
from pvm.runtime.execution import ACTOR_MODULE, Helper, SealedModule, VmExecution
from pvm.runtime.freezing import build_class, seal
from pvm.types import DEPTH_MAX

_ROOM = (CYCLES_LIMIT_MAX, LINKS[DEPTH_MAX], CYCLES_LIMIT_MAX)
"""Counters while a module is made: what that costs is the price of an import."""


class Library(Struct, frozen=True):
    """A compiled module of the library: immutable, shared by all executions."""

    code: CodeType
    names: ModuleNames


@cache
def library(name: str) -> Library | None:
    """The compiled module, or None if the library has none of that name."""
    source = _source(name)
    if source is None:
        return None
    compiled = compile_module(source, find_module, f"<{name}>")
    return Library(compiled.code, _names(name, compiled))


def find_module(name: str) -> ModuleNames | None:
    """What a module of the universe offers."""
    found = _NAMES.get(name)
    if found is None:
        compiled = library(name)
        found = None if compiled is None else compiled.names
    return found


_NAMES = {
    name: ModuleNames(exports, enums.ATTRIBUTES if name == "enum" else frozenset())
    for name, exports in language.COMPILER_MODULES.items()
} | {
    name: ModuleNames(exports, ATTRIBUTES.get(name, frozenset()))
    for name, exports in EXPORTS.items()
}
"""Of the modules that are not written in the actor language."""


def module(vm: VmExecution, name: str) -> object:
    """The module, made if this `vm` has not made it yet; costs nothing."""
    found = vm.modules.get(name)
    if found is None:
        if name in NATIVE:
            # A class itself could be called, unpaid, with what nobody has checked.
            errors = language.MODULE_ERRORS.get(name, frozenset())
            guarded = {one: vm.builtin(one) for one in sorted(errors)}
            found = SealedModule({**NATIVE[name](vm.context), **guarded})
        else:
            found = _make(vm, name)
        vm.modules[name] = found
    return found


def import_module(vm: VmExecution, name: str) -> object:
    """`import name`; the policy has checked that there is one."""
    is_first = name not in vm.imported
    vm.charge(costs.IMPORT_FIRST if is_first else costs.IMPORT_AGAIN)
    vm.imported.add(name)
    return module(vm, name)


def import_from(vm: VmExecution, name: str, attribute: str) -> object:
    """`from name import attribute`."""
    found: object = getattr(import_module(vm, name), attribute)
    return found


IMPORTS: Mapping[str, Helper] = {"_import": import_module, "_import_from": import_from}
"""What inserted code calls for an import; the others are `runtime.helpers`."""


def _source(name: str) -> bytes | None:
    """The module's file, or that of the package; names are ASCII identifiers."""
    parts = name.split(".")
    if not all(part.isidentifier() and not part.startswith("_") for part in parts):
        return None
    folder = Path(__file__).parents[1] / "library"  # importlib.resources takes 10 ms
    for part in parts[:-1]:
        folder /= part
    for file in (folder / f"{parts[-1]}.py", folder / parts[-1] / "__init__.py"):
        if file.is_file():
            return file.read_bytes()
    return None


def _names(name: str, compiled: Compiled) -> ModuleNames:
    """What the module offers: its public names, but modules only of its own package."""
    facts = compiled.facts
    public = {
        local
        for local in compiled.names
        if not local.startswith(("_", "private_"))
        and local not in facts.module_errors
        and facts.modules.get(local, f"{name}.").startswith(f"{name}.")
    }
    classes = {local for local in public if local in facts.classes}
    exceptions = public & facts.exceptions
    attributes = set(facts.attributes)
    for local, (source, original) in facts.imports.items():
        found = find_module(source)
        if local in public and found is not None and original in found.classes:
            classes.add(local)
    for source in {
        *facts.modules.values(),
        *(one for one, _ in facts.imports.values()),
    }:
        found = find_module(source)
        if found is not None:
            attributes |= found.attributes
            if source.startswith(f"{name}."):
                attributes |= found.exports
    return ModuleNames(
        frozenset(public),
        frozenset(attributes),
        frozenset(classes),
        frozenset(exceptions),
    )


def _make(vm: VmExecution, name: str) -> SealedModule:
    """Run the body of a library module, outside of the account of any execution."""
    found = library(name)
    assert found is not None, "the policy refuses modules that are not there"
    names = {
        **vm.names,
        "__build_class__": vm.bind(build_class),
        "_import": vm.bind(module),
        "_import_from": vm.bind(_import_from),
    }
    namespace: dict[str, object] = {"__builtins__": names, "__name__": ACTOR_MODULE}
    counted = [cell.cell_contents for cell in vm.cells]
    for cell, room in zip(vm.cells, _ROOM, strict=True):
        cell.cell_contents = room
    try:
        FunctionType(found.code, namespace, closure=vm.cells)()
    finally:
        for cell, count in zip(vm.cells, counted, strict=True):
            cell.cell_contents = count
    seal(namespace)
    return SealedModule({one: namespace[one] for one in found.names.exports})


def _import_from(vm: VmExecution, name: str, attribute: str) -> object:
    found: object = getattr(module(vm, name), attribute)
    return found
