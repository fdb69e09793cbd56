"""What is not ASCII stands in texts and comments only, found before a parser sees it.

A parser reads a mathematical bold x as `x`, and which characters are letters depends on
its version's Unicode tables (sandbox.md §1, §6). So the source is scanned here, by the
same code on every interpreter, in time linear in it, and also where it does not parse.
"""

import re
from collections.abc import Iterator

from pvm.errors import Refusal

# Possessive, and a text may end with the source: nothing is looked at twice.
_TEXT = (
    r"(?P<prefix>[rRbBfFuU]{1,2})?(?P<quote>\"\"\"|'''|\"|')"
    r"(?P<body>(?:\\.|(?!(?P=quote)).)*+)(?:(?P=quote))?"
)
_WORD = r"(?P<word>[0-9A-Za-z_\x80-\U0010ffff]++)"
_OUTSIDE = re.compile(rf"#[^\n\r]*+|{_TEXT}|{_WORD}", re.DOTALL)
_BEFORE_FIELD = re.compile(r"\{\{|(?P<field>\{)")
_IN_FIELD = re.compile(rf"{_TEXT}|[{{}}]", re.DOTALL)
_SHOWN = 64


def refuse_foreign(text: str) -> tuple[Refusal, ...]:
    """One refusal for each word outside of texts and comments that is not ASCII."""
    if text.isascii():
        return ()
    refusals = []
    line, column, position = 1, 0, 0
    for start, word in _foreign_words(text, 0, len(text)):
        before, newline, last = text[position:start].rpartition("\n")
        line += before.count("\n") + len(newline)
        column = len(last.encode()) + (0 if newline else column)
        position = start
        reason = f"the identifier '{word[:_SHOWN]}' is not ASCII"
        refusals.append(Refusal(line, column, reason, "ASCII letters"))
    return tuple(refusals)


def _foreign_words(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    for found in _OUTSIDE.finditer(text, start, end):
        word, prefix = found["word"], found["prefix"]
        if word is not None:
            if not word.isascii():
                yield found.start(), word
        elif prefix is not None and "f" in prefix.lower():
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
