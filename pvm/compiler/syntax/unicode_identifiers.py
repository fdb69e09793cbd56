"""What is not ASCII stands in texts and comments only, found before a parser sees it.

A parser reads a mathematical bold x as `x`, and which characters are letters depends on
its version's Unicode tables (sandbox.md §1, §6). So the source is scanned here, by the
same code on every interpreter, in time linear in it, and also where it does not parse.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from string import ascii_letters, digits

from pvm import language
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
_ASCII_LETTERS = frozenset(ascii_letters + digits + "_")
_SHOWN = 64


def refuse_foreign(text: str) -> None:
    """Refuse each word outside of texts and comments that is not ASCII.

    They are refused before a parser sees the source, and so before all else.

    Raises:
        CompileError: there is such a word; carries the first of them.
    """
    if text.isascii():
        return
    refusals = tuple(
        islice(
            _refusals(text, _foreign_words(text, 0, len(text))), language.REFUSALS_MAX
        )
    )
    if refusals:
        raise CompileError(refusals)


def _refusals(text: str, found: Iterable[tuple[int, str]]) -> Iterator[Refusal]:
    line, column, position = 1, 0, 0
    for start, word in found:
        before, newline, last = text[position:start].rpartition("\n")
        line += before.count("\n") + len(newline)
        column = len(last.encode()) + (0 if newline else column)
        position = start
        reason = f"the identifier '{word[:_SHOWN]}' is not ASCII"
        end = column + len(word.encode())
        yield Refusal(line, column, reason, "ASCII letters", line, end)


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
