"""How deep a source nests, found before a parser sees it.

CPython's parser raises `MemoryError` beyond 6,000 levels of its own, which some thirty
brackets inside one another take a thousand of: the same error as of a machine without
memory, which must decide nothing (sandbox-internals.md §1). So what would take it so
far is refused here, by the same code on every interpreter, in time linear in the
source.

What is counted takes a level of the tree each, so that it would be refused afterwards
anyhow, but for brackets that say nothing, as in `((x))`: a bracket that is open, a sign
or `not` before its operand, `**`, the `lambda` and the `else` of an expression, words
side by side. An `elif` counts apart, as it does in the tree.
"""

import re
from functools import cache
from typing import Final, NoReturn

from pvm import language
from pvm.errors import CompileError, Refusal

DOES_NOT_PARSE = "the source does not parse"

_BODIES: Final = {
    quote: re.compile(body, re.DOTALL)
    for quote, body in (
        ('"""', r"(?:[^\"\\]++|\\.|\"(?!\"\"))*+"),
        ("'''", r"(?:[^'\\]++|\\.|'(?!''))*+"),
        ('"', r"(?:[^\"\\\n\r]++|\\(?:\r\n|.))*+"),
        ("'", r"(?:[^'\\\n\r]++|\\(?:\r\n|.))*+"),
    )
}
_PREFIX = r"(?:[fF][rR]?|[rR][fFbB]?|[bB][rR]?|[uU])?"
_PLAIN_TEXT = (
    r"(?:[rR][bB]?|[bB][rR]?|[uU])?(?:"
    r"\"\"\"(?:[^\"\\]++|\\.|\"(?!\"\"))*+\"\"\"|\"(?!\"\")(?:[^\"\\\n\r]++|\\(?:\r\n|.))*+\""
    r"|'''(?:[^'\\]++|\\.|'(?!''))*+'''|'(?!'')(?:[^'\\\n\r]++|\\(?:\r\n|.))*+')"
)
_NUMBER = (
    r"0[xX][0-9a-fA-F_]++|0[oObB][0-7_]++"
    r"|[0-9][0-9_]*+(?:\.[0-9_]*+)?+(?:[eE][+-]?[0-9][0-9_]*+)?+[jJ]?+"
)
_SIGNIFICANT = "not|lambda|else|elif|and|or|if|for|in|is"
_SPACE = r"[ \t]++|\\\r?\n|#[^\n\r]*+"
_NAME = rf"(?!(?:{_SIGNIFICANT})\b|{_PREFIX}[\"'])[A-Za-z_\x80-\U0010ffff]\w*+"


def _operands(closed: str) -> str:
    """Operands side by side, of which the parser makes one, as in `a.b(c)[d]`.

    The first may be a name, the others are what is `closed`: texts, numbers, brackets.
    """
    attribute = rf"\.++(?:{_SPACE})*+(?:{_NAME})?+"
    return rf"(?:{_NAME}|\.++|{closed})(?:{_SPACE}|{attribute}|{closed})*+"


_CLOSED = rf"{_PLAIN_TEXT}|{_NUMBER}"
# In brackets with nothing to count in them, it is as if these were not there.
_FLAT = (
    rf"(?:{_SPACE}|[\n\r,:=<>]"
    rf"|{_operands(_CLOSED)}(?:{_SPACE}|[\n\r])*+(?=[,:=<>)\]}}]))*+"
)
_OPERANDS = _operands(rf"{_CLOSED}|\({_FLAT}\)|\[{_FLAT}\]|\{{{_FLAT}\}}")
_TOKEN = (
    rf"(?:{_SPACE})*+(?:(?P<operand>{_OPERANDS}"
    rf"(?P<binary>(?:(?:[-+/%&|^@<>]|[!=<>]=|\*(?!\*))(?:{_SPACE})*+{_OPERANDS})++)?+)"
    r"|(?P<line>[\n\r][ \t\n\r]*+)"
    rf"|(?P<word>{_SIGNIFICANT})\b"
    rf"|(?P<text>{_PREFIX})(?P<quote>\"\"\"|'''|\"|')"
    r"|(?P<other>\*\*|[!=<>]=|.)|\Z)"
)
_IN_F_STRING = re.compile(r"\{\{?")
_BRACE = re.compile("[{}]")
_FIRST_WORD = re.compile(r"[^\s#\\](?:\w*)")
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
_FIELD_ENDS = frozenset("}:")
_SIGNS = frozenset("-+~")
_PART_ENDS = frozenset(",;=")


@cache
def _token() -> re.Pattern[str]:
    """Made for the first source and not on import: it takes 60 ms."""
    return re.compile(_TOKEN, re.DOTALL)


def refuse_deep(text: str) -> None:
    """Refuse a source that nests more than `language.NESTING_MAX` deep.

    Raises:
        CompileError: it does, or a field of an f-string has no end.
    """
    _Scan(text).code(0, len(text), 0)


class _Level:
    """What is open inside of one bracket, outside of those in it."""

    __slots__ = ("bodies", "lambdas", "nots", "signs")

    def __init__(self) -> None:
        self.bodies = 0
        """`lambda` and `else`, which hold all that follows."""
        self.nots = 0
        self.signs = 0
        """Signs and `**`, which bind closer than any operator that follows."""
        self.lambdas: list[int] = []
        """`bodies` at each `lambda` whose colon is to come."""

    def open(self) -> int:
        return self.bodies + self.nots + self.signs

    def read_word(self, word: str, *, is_operand: bool) -> bool:
        """Note one of `_SIGNIFICANT`; whether a sign behind it would be an operator."""
        match word:
            case "not" if not is_operand:
                self.nots += 1
            case "lambda":
                self.bodies += 1
                self.lambdas.append(self.bodies)
            case "else":
                self.bodies += 1
                self.nots = self.signs = 0
            case "for":
                self._end_part()
            case "and" | "or" | "if":
                self.nots = self.signs = 0
            case _:
                self.signs = 0
        return word == "is"  # for a `not` behind it

    def read_operator(self, sign: str, *, is_operand: bool) -> None:
        """Note what is neither word nor bracket."""
        if sign == "**":
            self.signs += is_operand
        elif sign in _SIGNS and not is_operand:
            self.signs += 1
        elif sign == ":" and self.lambdas:
            self.bodies = self.lambdas.pop()
            self.nots = self.signs = 0
        elif sign in _PART_ENDS or sign == ":":
            self._end_part()
        else:
            self.signs = 0

    def _end_part(self) -> None:
        """What was begun is complete, but for a `lambda` whose colon is to come."""
        self.bodies = self.lambdas[-1] if self.lambdas else 0
        self.nots = self.signs = 0


class _Scan:
    """One pass over a source."""

    __slots__ = ("_elifs", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._elifs: dict[int, int] = {}
        """`elif`s of the chains that are open, by their column."""

    def code(  # noqa: C901, PLR0912, PLR0915 - one loop over the kinds of token
        self, start: int, end: int, above: int, *, is_field: bool = False
    ) -> int:
        """Scan up to `end`, or the expression of a field, and return where it ends.

        Args:
            start: where it starts, behind the `{` of a field.
            end: what is beyond is no part of it.
            above: how deep it stands.
            is_field: a `}` or a format ends it.
        """
        token = _token()
        levels: list[_Level] = []
        level, is_operand, position = _Level(), False, start
        while position < end:
            matched = token.match(self._text, position, end)
            assert matched is not None, "anything is a token"
            position, kind, sign = matched.end(), matched.lastgroup, matched["other"]
            if kind == "operand":
                if matched["binary"]:
                    level.signs = 0
                elif is_operand:
                    level.signs += 1  # a parser looks for `print x`, and on in `x`
                is_operand = True
            if kind == "quote":
                is_operand = True
                position = self._string(matched, end, above + level.open())
                continue
            if kind == "word":
                is_operand = level.read_word(matched["word"], is_operand=is_operand)
            elif kind == "line":
                if not levels and not is_field:
                    level, is_operand = _Level(), False
                    self._note_line(matched["line"], position)
                continue
            elif sign in _OPENING:
                above += 1 + level.open()
                levels.append(level)
                level, is_operand = _Level(), False
            elif sign in _CLOSING and levels:
                level, is_operand = levels.pop(), True
                above -= 1 + level.open()
            elif is_field and not levels and sign in _FIELD_ENDS:
                if sign == "}":
                    return position
                return self._specification(position, end, above)
            elif sign is not None:
                level.read_operator(sign, is_operand=is_operand)
                is_operand = False
            if above + level.open() > language.NESTING_MAX:
                reason = f"nested more than {language.NESTING_MAX} deep"
                self._refuse(reason, "a variable for a part", position)
        if is_field:
            self._refuse(DOES_NOT_PARSE, "", start)
        return end

    def _string(self, opening: re.Match[str], end: int, above: int) -> int:
        """Scan the fields of an f-string; where the string, or else `end`, is."""
        text, start, quote = self._text, opening.end(), opening["quote"]
        body = _BODIES[quote].match(text, start, end)
        assert body is not None, "it may be empty"
        while "f" in opening["text"].lower():
            brace = _IN_F_STRING.search(text, start, body.end())
            if brace is None:
                break
            start = brace.end()
            if len(brace[0]) == 1:
                start = self.code(start, body.end(), above + 1, is_field=True)
        if not text.startswith(quote, body.end(), end):
            return end
        return body.end() + len(quote)

    def _specification(self, start: int, end: int, above: int) -> int:
        """Where the format of a field ends, and the field with it."""
        position = start
        while True:
            brace = _BRACE.search(self._text, position, end)
            if brace is None:
                self._refuse(DOES_NOT_PARSE, "", start)
            position = brace.end()
            if brace[0] == "}":
                return position
            position = self.code(position, end, above + 1, is_field=True)

    def _note_line(self, line: str, position: int) -> None:
        """Count the `elif`s of chains inside one another, by how lines are indented."""
        word = _FIRST_WORD.match(self._text, position)
        if word is None or (not self._elifs and word[0] != "elif"):
            return
        column = len(re.split("[\n\r]", line)[-1].expandtabs())
        for inner in [other for other in self._elifs if other > column]:
            del self._elifs[inner]
        if word[0] == "elif":
            self._elifs[column] = self._elifs.get(column, 0) + 1
            if sum(self._elifs.values()) > language.LEVELS_MAX:
                self._refuse("too many elif", "a dict of functions", position)
        elif word[0] != "else":
            self._elifs.pop(column, None)

    def _refuse(self, reason: str, instead: str, position: int) -> NoReturn:
        line = len(re.findall(r"\r\n?|\n", self._text[:position])) + 1
        raise CompileError((Refusal(line, 0, reason, instead),))
