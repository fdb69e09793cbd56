"""Why a source does not parse, in the words of this interpreter's parser: for authors.

A chain says only that it does not: each version of Python has words and places of its
own. So nothing that is hashed, stored or compared may hold what is answered here.
"""

import ast
import warnings

from msgspec.structs import replace

from pvm.compiler.parser import digits_as_usual, parse
from pvm.compiler.syntax.nesting import DOES_NOT_PARSE, refuse_deep
from pvm.errors import CompileError, Refusal

__all__ = ["explained", "syntax_hint"]

_FIELD = "a field of this f-string does not end"
_DIFFERENT = "versions of Python read this f-string differently"


def explained(error: CompileError, source: bytes) -> CompileError:
    """The same refusals; one that says that a source does not parse says why, too.

    Args:
        error: what refused the source.
        source: all of it.
    """
    if error.refusals[0].reason != DOES_NOT_PARSE:
        return error
    return CompileError((_explained(error.refusals[0], source),))


def syntax_hint(source: bytes) -> str:
    """Why a source does not parse; empty for one that does, or is refused otherwise."""
    try:
        parse(source)
    except CompileError as error:
        reason = explained(error, source).refusals[0].reason
        said, _, why = reason.partition(": ")
        return why if said == DOES_NOT_PARSE else ""
    return ""


def _explained(refusal: Refusal, source: bytes) -> Refusal:
    text = source.decode()
    try:
        refuse_deep(text)  # what is too deep for this interpreter's parser, too
    except CompileError:
        return _with_reason(refusal, _FIELD)
    try:
        with warnings.catch_warnings(action="ignore"), digits_as_usual():
            ast.parse(text, feature_version=(3, 11))
    except SyntaxError as error:
        return _placed(_with_reason(refusal, error.msg), error, source)
    except (ValueError, RecursionError, MemoryError):
        return refusal
    return _with_reason(refusal, _DIFFERENT)


def _with_reason(refusal: Refusal, why: str) -> Refusal:
    return replace(refusal, reason=f"{DOES_NOT_PARSE}: {why}")


def _placed(refusal: Refusal, error: SyntaxError, source: bytes) -> Refusal:
    """With the columns that the parser names: from 1 and in characters, if it knows."""
    lines = source.splitlines()
    line, start, end = error.lineno or 0, error.offset or 0, error.end_offset or 0
    if line != refusal.line or line > len(lines) or start < 1:
        return refusal
    characters = lines[line - 1].decode()
    column = len(characters[: start - 1].encode())
    if error.end_lineno != line or end <= start:
        return replace(refusal, column=column)
    end_column = len(characters[: end - 1].encode())
    return replace(refusal, column=column, end_line=line, end_column=end_column)
