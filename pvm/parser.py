"""Source bytes to a syntax tree, the same on every supported interpreter.

Rules: limits before trust (sandbox.md §1); whatever a parser raises is one
`CompileError`; the grammar is 3.11's on 3.12 too; positions are those of whole
f-strings, since the two parsers place their parts differently.
"""

import ast
import io
import sys
import tokenize
import warnings
from dataclasses import dataclass

from pvm import language
from pvm.errors import CompileError, Refusal


def refuse(
    reason: str, instead: str = "", line: int = 1, column: int = 0
) -> CompileError:
    """A `CompileError` of a single refusal."""
    return CompileError((Refusal(line, column, reason, instead),))


def parse(source: bytes) -> ast.Module:
    """Parse an actor's source; raise `CompileError` for what is not Python 3.11."""
    text = _decode(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes warn, and differently
            tree = ast.parse(text, language.ACTOR_FILE, feature_version=(3, 11))
    except SyntaxError as error:
        line = max(1, error.lineno or 1)
        raise refuse("the source does not parse", line=line) from None
    except (RecursionError, MemoryError, ValueError):
        raise refuse("the source does not parse") from None
    _check_size(tree)
    if sys.version_info >= (3, 12):
        _check_f_strings(text)
    _flatten_f_strings(tree)
    return tree


def _decode(source: bytes) -> str:
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
    return text


def _check_size(tree: ast.Module) -> None:
    """Nodes and nesting, walked without recursion."""
    count = 0
    stack: list[tuple[ast.AST, int, int]] = [(tree, 0, 0)]
    while stack:
        node, depth, level = stack.pop()
        count += 1
        if count > language.NODES_MAX:
            raise refuse(f"more than {language.NODES_MAX} nodes of syntax")
        line = getattr(node, "lineno", 1)
        if depth > language.NESTING_MAX:
            reason = f"nested more than {language.NESTING_MAX} deep"
            raise refuse(reason, "a variable for a part", line)
        if level > language.LEVELS_MAX:
            raise refuse("too many elif", "a dict of functions", line)
        for child in ast.iter_child_nodes(node):
            deeper = 0 if _is_elif(node, child) else 1
            stack.append((child, depth + deeper, level + 1))


def _is_elif(parent: ast.AST, child: ast.AST) -> bool:
    if not isinstance(parent, ast.If) or not isinstance(child, ast.If):
        return False
    return parent.orelse == [child]


def _flatten_f_strings(tree: ast.Module) -> None:
    """Give every part of an f-string the position of the whole.

    The parsers of 3.11 and 3.12 place those parts differently.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for part in ast.walk(node):
                if isinstance(part, ast.expr | ast.keyword | ast.arg):
                    _place(part, node.lineno, node.col_offset)


def flatten_positions(tree: ast.Module) -> None:
    """Give every expression the position of its statement.

    A failure names the line of a statement then, whatever an interpreter thinks of
    the lines inside it.
    """
    stack: list[tuple[ast.AST, int, int]] = [(tree, 1, 0)]
    while stack:
        node, line, column = stack.pop()
        if isinstance(node, ast.stmt | ast.ExceptHandler):
            line = getattr(node, "lineno", line)  # an inserted one has none
            column = getattr(node, "col_offset", column)
            node.lineno = node.end_lineno = line
            node.col_offset = node.end_col_offset = column
        elif isinstance(node, ast.expr | ast.keyword | ast.arg | ast.alias):
            _place(node, line, column)
        stack.extend((child, line, column) for child in ast.iter_child_nodes(node))


def _place(
    node: ast.expr | ast.keyword | ast.arg | ast.alias, line: int, column: int
) -> None:
    node.lineno = node.end_lineno = line
    node.col_offset = node.end_col_offset = column


@dataclass(slots=True)
class _Open:
    """An f-string whose end has not been seen."""

    quote: str
    fields: int = 0


def _check_f_strings(text: str) -> None:
    """Refuse what 3.12's f-strings admit and 3.11's do not."""
    stack: list[_Open] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            reason = _f_string_reason(token, stack)
            if reason:
                # 3.11's parser says no more than this.
                raise refuse("the source does not parse", line=token.start[0])
    except tokenize.TokenError:
        raise refuse("the source does not parse") from None


def _kind(token: tokenize.TokenInfo) -> str:
    """Name of a token's type; 3.11 has not those of f-strings."""
    return tokenize.tok_name[token.type]


def _f_string_reason(token: tokenize.TokenInfo, stack: list[_Open]) -> str:
    if _kind(token) == "FSTRING_START":
        quote = token.string.lstrip("rRbBfFuU")
        if any(quote in outer.quote or outer.quote in quote for outer in stack):
            return "an f-string field uses the enclosing quote"
        if len(stack) > 1:
            return "f-strings are nested more than twice"
        stack.append(_Open(quote))
        return ""
    if _kind(token) == "FSTRING_END":
        stack.pop()
        return ""
    reason = _field_reason(token, stack) if stack and stack[-1].fields else ""
    if stack and token.type == tokenize.OP:
        stack[-1].fields += (token.string == "{") - (token.string == "}")
    return reason


def _field_reason(  # noqa: PLR0911 - a line for each reason
    token: tokenize.TokenInfo, stack: list[_Open]
) -> str:
    if token.type == tokenize.COMMENT:
        return "a comment stands in an f-string field"
    is_newline = token.type in (tokenize.NL, tokenize.NEWLINE)
    if is_newline and len(stack[-1].quote) == 1:
        return "a field of a one-line f-string is broken over lines"
    if _kind(token) == "FSTRING_MIDDLE":
        return ""
    if "\\" in token.string:
        return "a backslash stands in an f-string field"
    if any(outer.quote in token.string for outer in stack):
        return "an f-string field uses the enclosing quote"
    return ""
