"""f-strings, of which the parsers of 3.11 and 3.12 do not admit and read the same.

What both do is scanned here, from the source and by the same code on both: in a field
no backslash, no `#` but in its format, not the quote around it, no second line where
that ends at the line; a conversion that is one letter; f-strings at most two deep.
"""

import re

_STRING = r"(?:(?<!\w)(?P<prefix>[rRbBfFuU]{1,2}))?(?P<quote>\"\"\"|'''|\"|')"
_PLAIN = (
    r"\"\"\"(?:[^\"\\]++|\\.|\"(?!\"\"))*+\"\"\"|\"(?:[^\"\\]++|\\.)*+\""
    r"|'''(?:[^'\\]++|\\.|'(?!''))*+'''|'(?:[^'\\]++|\\.)*+'"
)
# All but f-strings is passed over, in as few steps as there are comments and strings:
# what a string is, the letters before it tell, at which one looks back.
_OF_F_STRING = r"(?:(?<=(?<!\w)[fF])|(?<=(?<!\w)[fF][rR])|(?<=(?<!\w)[rR][fF]))"
_PASSED = rf"[^\"'#]++|#[^\n]*+|(?!{_OF_F_STRING})(?:{_PLAIN})"
_OUTSIDE = re.compile(rf"(?:{_PASSED})*+(?P<quote>\"\"\"|'''|\"|'|\Z)", re.DOTALL)
_IN_FIELD = re.compile(rf"{_STRING}|[!=]=|=(?=\s*[!:}}])|[][(){{}}!:#]")
_CONVERSION = re.compile(r"![rsa](?=[:}])")
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
_ENDS = frozenset("!:}")
_CUT = re.compile("[!#:{]")
_IN_FORMAT = re.compile(r"\{\{|[{}]")
_IN_TEXT = re.compile(r"\\.|\"\"\"|'''|\"|'", re.DOTALL)
_IN_RAW_F_STRING = re.compile(r"\\[^{}]|\{\{?|\"\"\"|'''|\"|'", re.DOTALL)
_IN_F_STRING = re.compile(rf"\\N\{{[^}}]*\}}|{_IN_RAW_F_STRING.pattern}", re.DOTALL)
_DEPTH_MAX = 2


class _UnlikeError(Exception):
    """A field that one of the parsers does not admit, or reads in its own way."""


def first_unlike(source: str) -> int | None:
    """Line of an f-string that versions of Python read differently, or None.

    Args:
        source: of a module that parses.
    """
    text = source.replace("\r\n", "\n").replace("\r", "\n")
    position = 0
    while position < len(text):
        found = _OUTSIDE.match(text, position)
        assert found is not None, "it parses"
        position = found.end()
        start, quote = found.start("quote"), found["quote"]
        if quote:
            prefix = text[max(0, start - 2) : start]
            try:
                position = _after_string(text, position, prefix, quote, 0)
            except _UnlikeError:
                return text.count("\n", 0, start) + 1
    return None


def _after_string(text: str, start: int, prefix: str, quote: str, depth: int) -> int:
    """Where the string ends that starts after `quote`.

    `depth` counts the f-strings around it; before its prefix may stand a sign.
    """
    inside = _IN_TEXT
    if "f" in prefix.lower():
        inside = _IN_RAW_F_STRING if "r" in prefix.lower() else _IN_F_STRING
        if depth == _DEPTH_MAX:
            raise _UnlikeError
    position = start
    while (found := inside.search(text, position)) is not None:
        position = found.end()
        if found[0] == "{":
            position = _after_field(text, position, quote, depth + 1)
        elif found[0].startswith(quote):
            return found.start() + len(quote)
    raise _UnlikeError


def _after_field(text: str, start: int, quote: str, depth: int) -> int:
    position = _end_of_expression(text, start, depth)
    conversion = _CONVERSION.match(text, position)
    if conversion is not None:
        position = conversion.end()
    if text[position] == "!":
        raise _UnlikeError
    position += 1
    if text[position - 1] == ":":
        position = _after_format(text, position)
    field = text[start:position]
    is_broken = "\n" in field and len(quote) == 1
    if is_broken or "\\" in field or quote in field:
        raise _UnlikeError
    return position


def _end_of_expression(text: str, start: int, depth: int) -> int:
    """Where the conversion, the format or the end of a field stands."""
    position, nested = start, 0
    while True:
        found = _IN_FIELD.search(text, position)
        if found is None or found[0] == "#":
            raise _UnlikeError
        position = found.end()
        if found["quote"]:
            prefix, quote = found["prefix"] or "", found["quote"]
            position = _after_string(text, position, prefix, quote, depth)
        elif found[0] in _OPENING:
            nested += 1
        elif nested:
            nested -= found[0] in _CLOSING
        elif found[0] == "=" and _CUT.search(text[start:position]):
            raise _UnlikeError  # 3.12 shows less of it
        elif found[0] in _ENDS:
            return found.start()


def _after_format(text: str, position: int) -> int:
    nested = 1
    while nested:
        found = _IN_FORMAT.search(text, position)
        if found is None or found[0] == "{{":
            raise _UnlikeError
        position = found.end()
        nested += 1 if found[0] == "{" else -1
    return position
