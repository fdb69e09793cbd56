"""What is not ASCII stands in texts and comments only, found before a parser sees it.

A parser reads a mathematical bold x as `x`, and which characters are letters depends on
its version's Unicode tables (sandbox.md §1, §6). So the source is scanned here, by the
same code on every interpreter, in time linear in it, and also where it does not parse.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product, repeat
from string import ascii_letters, ascii_uppercase, digits

from pvm import language
from pvm.compiler.syntax.nesting import DOES_NOT_PARSE
from pvm.errors import CompileError, Refusal

# Possessive, and a text may end with the source: nothing is looked at twice.
_TEXT = (
    r"(?P<quote>\"\"\"|'''|\"|')"
    r"(?P<body>(?:[^\\\"']++|\\.|(?!(?P=quote)).)*+)(?:(?P=quote))?"
)
# What is passed over in as few steps as there are comments and texts: all but what is
# not ASCII, and f-strings, which the letters before them tell, at which one looks back.
_WORD = r"0-9A-Za-z_\x80-\U0010ffff"
_OF_F_STRING = (
    rf"(?:(?<=(?<![{_WORD}])[fF])|(?<=(?<![{_WORD}])[fF][rRbBfFuU])"
    rf"|(?<=(?<![{_WORD}])[rRbBuU][fF]))"
)
_PLAIN_TEXT = (
    r"\"\"\"(?:[^\"\\]++|\\.|\"(?!\"\"))*+(?:\"\"\")?|\"(?:[^\"\\]++|\\.)*+\"?"
    r"|'''(?:[^'\\]++|\\.|'(?!''))*+(?:''')?|'(?:[^'\\]++|\\.)*+'?"
)
_PASSED = rf"[^\"'#\x80-\U0010ffff]++|#[^\n\r]*+|(?!{_OF_F_STRING})(?:{_PLAIN_TEXT})"
_OUTSIDE = re.compile(
    rf"(?:{_PASSED})*+(?:{_TEXT}|(?P<foreign>[\x80-\U0010ffff][{_WORD}]*+)|\Z)",
    re.DOTALL,
)
_BEFORE_FIELD = re.compile(r"\{\{|(?P<field>\{)")
_IN_FIELD = re.compile(rf"{_TEXT}|[{{}}]", re.DOTALL)
_ASCII_WORD = re.compile(r"[0-9A-Za-z_]++")
_ASCII_LETTERS = frozenset(ascii_letters + digits + "_")
_SHOWN = 64
_VARIED = 4
"""Letters that tell the names that are put in apart."""


def refuse_foreign(text: str, compile_rest: Callable[[bytes], object]) -> None:
    """Refuse each word outside of texts and comments that is not ASCII.

    What else is wrong is told with them: `compile_rest` tries the source with ASCII
    names in their stead. Where it does not parse they come alone, since they may be
    the reason.

    Raises:
        CompileError: there is such a word.
    """
    found = [] if text.isascii() else list(_foreign_words(text, 0, len(text)))
    if not found:
        return
    names = _stand_ins(text, found)
    refusals = [*_refusals(text, found)]
    try:
        compile_rest(_replaced(text, found, names).encode())
    except CompileError as error:
        known = frozenset(names.values())
        refusals += [one for one in error.refusals if _is_other(one, known)]
    refusals.sort(key=lambda one: (one.line, one.column))
    raise CompileError(tuple(refusals[: language.REFUSALS_MAX]))


def _is_other(refusal: Refusal, names: frozenset[str]) -> bool:
    """Whether it says anything but what follows from the names that were put in."""
    return refusal.reason != DOES_NOT_PARSE and names.isdisjoint(
        _ASCII_WORD.findall(refusal.reason)
    )


def _refusals(text: str, found: Iterable[tuple[int, str]]) -> Iterator[Refusal]:
    line, column, position = 1, 0, 0
    for start, word in found:
        before, newline, last = text[position:start].rpartition("\n")
        line += before.count("\n") + len(newline)
        column = len(last.encode()) + (0 if newline else column)
        position = start
        reason = f"the identifier '{word[:_SHOWN]}' is not ASCII"
        yield Refusal(line, column, reason, "ASCII letters")


def _stand_ins(text: str, found: Iterable[tuple[int, str]]) -> dict[str, str]:
    """Word → a name that the source does not have, as long in bytes.

    A source with more words of two bytes than there are such names has one name for
    the rest of them.
    """
    taken = frozenset(_ASCII_WORD.findall(text))
    unused: dict[int, Iterator[str]] = {}
    names: dict[str, str] = {}
    for _, word in found:
        if word not in names:
            length = len(word.encode())
            if length not in unused:
                unused[length] = _names(length, taken)
            names[word] = next(unused[length], "Z" * length)
    return names


def _names(length: int, taken: frozenset[str]) -> Iterator[str]:
    """They begin with a capital: none is a keyword or a builtin."""
    fixed = max(0, length - _VARIED)
    rest = repeat(ascii_letters + digits, length - fixed - 1)
    for letters in product(ascii_uppercase, *rest):
        name = "A" * fixed + "".join(letters)
        if name not in taken:
            yield name


def _replaced(
    text: str, found: Iterable[tuple[int, str]], names: Mapping[str, str]
) -> str:
    parts, position = [], 0
    for start, word in found:
        parts += [text[position:start], names[word]]
        position = start + len(word)
    return "".join(parts) + text[position:]


def _foreign_words(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    for found in _OUTSIDE.finditer(text, start, end):
        if found["foreign"] is not None:
            first = found.start("foreign")
            while first > start and text[first - 1] in _ASCII_LETTERS:
                first -= 1
            yield first, text[first : found.end()]
        elif found["quote"] is not None:
            for field in _fields(text, *found.span("body")):
                yield from _foreign_words(text, *field)


def _fields(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the fields of an f-string stand, their formats included."""
    while (opening := _BEFORE_FIELD.search(text, start, end)) is not None:
        start = opening.end()
        if opening["field"] is None:
            continue
        first, depth = start, 1
        while depth and (found := _IN_FIELD.search(text, start, end)) is not None:
            start = found.end()
            depth += {"{": 1, "}": -1}.get(found[0], 0)
        start = start if depth == 0 else end
        yield first, start
