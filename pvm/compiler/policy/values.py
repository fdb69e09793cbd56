"""The policy's leaves: identifiers, literals, format specifications, imports.

Each yields (reason, what to write instead) for what it refuses.
"""

import ast
import re
from collections.abc import Iterator

from pvm import language
from pvm.compiler.parser import TOO_LONG
from pvm.compiler.syntax.imports import Find
from pvm.compiler.syntax.tree import literal_format

_FORMAT = re.compile(r"(.?[<>^])?\+?#?0?(\d{0,4})[,_]?([dxXobs]?)", re.DOTALL)
Refused = Iterator[tuple[str, str]]


def check_identifier(name: str) -> Refused:
    """A name of a variable, attribute, parameter, function or class."""
    if len(name) > language.IDENTIFIER_LENGTH_MAX:
        yield TOO_LONG, "a shorter name"
    elif not name.isascii():
        yield f"the identifier {name!r} is not ASCII", "ASCII letters"
    elif name.startswith("__"):
        reason, instead = language.REFUSED_NAMES.get(
            name, (f"the name {name} starts with two underscores", "one underscore")
        )
        yield reason, instead
    elif name.startswith(("private_", "hidden_")):
        yield f"the prefix of {name} is the compiler's", "another name"
    elif name.endswith("__roles__") or name == "builtins":
        yield f"the name {name} is reserved", "another name"


def check_constant(value: object) -> Refused:
    """A literal."""
    if isinstance(value, float | complex):
        yield "floats do not exist in actors", "integers of base units"
    elif value is ...:
        yield "... is not in the language", "pass"
    elif isinstance(value, int) and value.bit_length() > language.INT_BITS_MAX:
        yield f"an integer of more than {language.INT_BITS_MAX} bits", ""


def check_f_string_field(node: ast.FormattedValue) -> Refused:
    """A field of an f-string: literal specification, 3.11's grammar."""
    elements = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    if any(isinstance(element, ast.Starred) for element in elements):
        yield "a starred field in an f-string", "a variable"
    if node.conversion == ord("a"):
        yield "the conversion !a", "!r, which is ASCII already"
    if node.format_spec is None:
        return
    specification = literal_format(node.format_spec)
    if specification is None:
        yield "a format that is not a literal", "a literal width"
        return
    found = _FORMAT.fullmatch(specification)
    if found is None or not specification.isprintable() or not specification.isascii():
        yield (
            f"the format {specification!r}",
            "types d x X o b s, with , _ 0 < > ^ + #",
        )
    elif int(found.group(2) or "0") > language.FORMAT_WIDTH_MAX:
        yield f"a width over {language.FORMAT_WIDTH_MAX}", "a smaller width"


def check_import(  # noqa: C901 - a line for each reason
    node: ast.Import | ast.ImportFrom, find: Find
) -> Refused:
    """An import of a module of the universe, or of names of it."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from _check_module(alias.name, find)
        return
    if node.level or node.module is None:
        yield "a relative import", "a module of the universe"
        return
    if node.module == "__future__":
        if [alias.name for alias in node.names] != ["annotations"]:
            yield "this __future__ is not available", "nothing"
        return
    if node.module in language.INERT_MODULES:
        return
    yield from _check_module(node.module, find)
    names = find(node.module)
    for alias in node.names:
        if alias.name == "*":
            yield "import *", "the names that are used"
        elif names is not None and alias.name not in names.exports:
            instead = instead_of(node.module, alias.name)
            yield f"the module {node.module} has no {alias.name!r}", instead


def instead_of(module: str, name: str) -> str:
    """What to write for a name that a module has not, where that is known."""
    if module.partition(".")[0] == "cowboy_sdk":
        return language.ABSENT_FROM_SDK.get(name, "")
    return language.ABSENT_NAMES.get(f"{module}.{name}", "")


def _check_module(name: str, find: Find) -> Refused:
    if find(name) is None and name not in language.INERT_MODULES:
        instead = language.REFUSED_MODULES.get(name, "")
        yield f"the module {name} is not available", instead
