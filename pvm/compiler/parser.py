"""Source bytes to a syntax tree, the same on every supported interpreter.

Rules: limits before trust (sandbox-internals.md §1); whatever a parser raises is one
`CompileError`; the grammar is 3.11's on 3.12 too; positions are those of whole
f-strings, since the two parsers place their parts differently.
"""

import ast
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pvm import language
from pvm.compiler.syntax.fstrings import first_unlike
from pvm.compiler.syntax.locations import place
from pvm.compiler.syntax.nesting import DOES_NOT_PARSE, refuse_deep
from pvm.compiler.syntax.unicode_identifiers import refuse_foreign
from pvm.compiler.syntax.visitor import Survey, survey
from pvm.errors import CompileError, Refusal
from pvm.worker import DIGITS_MAX

_NAMED_CHARACTER = re.compile(r"(?<!\\)(?:\\\\)*+\\N\{")
"""Wherever it stands, in a comment too: Unicode 15 has 4,489 names that 14 has not."""


TOO_LONG = f"an identifier of more than {language.IDENTIFIER_LENGTH_MAX} characters"

_LONG_WORD = re.compile(rf"\w{{{language.IDENTIFIER_LENGTH_MAX + 1}}}")


def refuse(
    reason: str, instead: str = "", line: int = 1, column: int = 0
) -> CompileError:
    """A `CompileError` of a single refusal."""
    return CompileError((Refusal(line, column, reason, instead),))


def parse(source: bytes) -> ast.Module:
    """Read and check an actor's source; raises `CompileError`, as both do."""
    tree = read(decode(source))
    check_shape(tree, source)
    return tree


def read(text: str) -> ast.Module:
    """The tree of a source; raises `CompileError` for what does not parse.

    What is too deep for a parser is refused before: of a machine without memory it
    would say the same (`pvm.compiler.syntax.nesting`).
    """
    refuse_deep(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes warn, and differently
            with digits_as_usual():
                return ast.parse(text, language.ACTOR_FILE, feature_version=(3, 11))
    except SyntaxError as error:
        line = max(1, error.lineno or 1)
        raise refuse(DOES_NOT_PARSE, line=line) from None
    except RecursionError:  # of a chain of operators, as of 1 + 1 + 1
        reason = f"nested more than {language.NESTING_MAX} deep"
        raise refuse(reason, "a variable for a part") from None
    except ValueError:
        raise refuse(DOES_NOT_PARSE) from None


@contextmanager
def digits_as_usual() -> Iterator[None]:
    """Read long integers as a node does, whatever PYTHONINTMAXSTRDIGITS says."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(DIGITS_MAX)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


def check_shape(tree: ast.Module, source: bytes) -> Survey:
    """Its nodes; raises `CompileError` for too many and for what is not 3.11's."""
    found = survey(tree)
    # With its mark or operator no node counts more than three.
    if found.levels >= language.NESTING_MAX or 3 * found.size > language.NODES_MAX:
        _check_depth(tree, language.NODES_MAX)
    _check_classes(tree)
    _check_identifiers(tree, source)
    f_strings = found.of(ast.JoinedStr)
    unlike = first_unlike(source.decode()) if f_strings else None
    if unlike is not None:
        raise refuse(DOES_NOT_PARSE, line=unlike)
    _flatten_f_strings(f_strings)
    return found


def check_written(tree: ast.Module, found: Survey) -> None:
    """The limits again, of what was written out; `found` are the nodes of the tree.

    Raises:
        CompileError: it is nested too deep, or has too many functions; at the place
            of what was written out.
    """
    if found.levels >= language.NESTING_MAX:
        _check_depth(tree)
    lines = [one.lineno for one in found.of(ast.FunctionDef)]
    lines += [one.lineno for one in found.of(ast.Lambda)]
    if len(lines) > language.FUNCTIONS_MAX:
        reason = (
            f"more than {language.FUNCTIONS_MAX} functions with those that are written "
            "for classes and dataclasses"
        )
        line = sorted(lines)[language.FUNCTIONS_MAX]
        raise refuse(reason, "several actors", line)


def decode(source: bytes) -> str:
    """The text of a source; raises `CompileError` for what is none."""
    if len(source) > language.SOURCE_BYTES_MAX:
        raise refuse(
            f"the source is longer than {language.SOURCE_BYTES_MAX} bytes",
            "several actors that call each other",
        )
    try:
        text = source.decode("utf-8")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        raise refuse("the source is not UTF-8", line=line) from None
    for character, name in (("\0", "NUL"), ("\f", "form feed"), ("\ufeff", "BOM")):
        if character in text:
            line = text.count("\n", 0, text.index(character)) + 1
            raise refuse(f"the source contains a {name}", line=line)
    named = _NAMED_CHARACTER.search(text) if "\\N{" in text else None
    if named is not None:
        line = text.count("\n", 0, named.end()) + 1
        raise refuse(
            "a character by its name: which there are depends on the version",
            "the character, or its number as \\u or \\U",
            line,
        )
    refuse_foreign(text)
    return text


def _check_depth(tree: ast.Module, nodes_max: int | None = None) -> None:
    """Refuse too many nodes and too deep ones, without recursion.

    Counted with their marks, and without the levels that an `elif` does not count.
    """
    count = 0
    stack: list[tuple[ast.AST, int, int, int]] = [(tree, 0, 0, 1)]
    while stack:
        node, depth, level, line = stack.pop()
        count += 1
        if nodes_max is not None and count > nodes_max:
            raise refuse(f"more than {nodes_max} nodes of syntax")
        line = getattr(node, "lineno", line)
        if depth > language.NESTING_MAX:
            reason = f"nested more than {language.NESTING_MAX} deep"
            raise refuse(reason, "a variable for a part", line)
        if level > language.LEVELS_MAX:
            raise refuse("too many elif", "a dict of functions", line)
        for child in ast.iter_child_nodes(node):
            deeper = 0 if _is_elif(node, child) else 1
            stack.append((child, depth + deeper, level + 1, line))


def _check_classes(tree: ast.Module) -> None:
    """How many classes there are, and how many one derives from."""
    ancestors: dict[str, frozenset[str]] = {}
    descendants: Counter[str] = Counter()
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    if len(classes) > language.CLASSES_MAX:
        raise refuse(f"more than {language.CLASSES_MAX} classes")
    for node in classes:
        bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
        found = frozenset(bases).union(*(ancestors.get(one, ()) for one in bases))
        if len(found) > language.ANCESTORS_MAX:
            reason = f"a class derives from more than {language.ANCESTORS_MAX} others"
            raise refuse(reason, "an attribute that holds one", node.lineno)
        ancestors[node.name] = found
        descendants.update(found)
        for base in sorted(found & ancestors.keys()):
            if descendants[base] > language.DESCENDANTS_MAX:
                raise refuse(
                    f"more than {language.DESCENDANTS_MAX} classes derive from {base}",
                    "an attribute that tells them apart",
                    node.lineno,
                )


def _check_identifiers(tree: ast.Module, source: bytes) -> None:
    """Refuse long names, whatever they name; few sources have as long a word at all."""
    if _LONG_WORD.search(source.decode()) is None:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            continue
        for _, value in ast.iter_fields(node):
            names = value if isinstance(value, list) else [value]
            for name in names:
                if isinstance(name, str) and _LONG_WORD.search(name):
                    line = getattr(node, "lineno", 1)
                    raise refuse(TOO_LONG, "a shorter name", line)


def _is_elif(parent: ast.AST, child: ast.AST) -> bool:
    if not isinstance(parent, ast.If) or not isinstance(child, ast.If):
        return False
    return parent.orelse == [child]


def _flatten_f_strings(f_strings: Iterable[ast.JoinedStr]) -> None:
    """Give every part of an f-string the position of the whole.

    The parsers of 3.11 and 3.12 place those parts differently.
    """
    for node in f_strings:
        place(node, node)
