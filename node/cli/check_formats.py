"""What `check` found, in the forms that programs read: JSON, SARIF 2.1.0, GitHub's.

Rules: paths are relative to the working folder where they lie in it, with forward
slashes. Lines and columns count from 1 and in characters, ends are behind the last one;
JSON alone has columns as the compiler has them, in bytes from 0, as it always had.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from msgspec import Struct, to_builtins

from node import __version__
from node.primitives.github_commands import Annotation, annotation
from pvm import Refusal, Report

__all__ = ["Checked", "as_github", "as_json", "as_sarif"]

_Json: TypeAlias = "dict[str, object]"

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
    "sarif-schema-2.1.0.json"
)
_HINT_RULE = "probable-mistake"
_RULE_LENGTH_MAX = 80
_LINE_OF_HINT = re.compile(r"line (\d+) ")


class Checked(Struct, frozen=True):
    """One file, and what is to be said of it."""

    file: Path
    source: bytes
    report: Report | None
    """What the actor is; None of a source that is refused."""
    refusals: tuple[Refusal, ...] = ()
    is_unread: bool = False
    """Whether the file could not be read; its one refusal says why."""


class _Finding(Struct, frozen=True):
    """A refusal or a hint with its place: lines and columns from 1, in characters."""

    level: str
    rule: str
    message: str
    """Reason and advice."""
    instead: str
    line: int
    column: int
    end_line: int
    end_column: int


def as_json(checked: Checked) -> str:
    """One line for a file: the report, or its refusals."""
    answer: _Json = {
        "file": _shown(checked.file),
        "accepted": checked.report is not None,
    }
    if checked.report is not None:
        return json.dumps({**answer, **to_builtins(checked.report)})
    lines = checked.source.splitlines() or [b""]
    answer["refusals"] = [
        {**to_builtins(_ended(one, lines)), "rule": _rule(one.reason)}
        for one in checked.refusals
    ]
    return json.dumps(answer)


def as_github(every: Iterable[Checked]) -> Iterator[str]:
    """Workflow commands: an error for each refusal, a warning for each hint."""
    for checked in every:
        for one in _findings(checked):
            place = Annotation(
                Path(_shown(checked.file)),
                one.line,
                one.end_line,
                one.column,
                max(one.column, one.end_column - 1),
                f"cowboy-devnet check: {one.rule}",
            )
            yield annotation(one.level, place, one.message)


def as_sarif(every: Iterable[Checked]) -> str:
    """One log of one run: a result for each refusal and each hint."""
    rules: dict[str, _Json] = {}
    results: list[_Json] = []
    for checked in every:
        for one in _findings(checked):
            rules.setdefault(one.rule, _sarif_rule(one))
            index = list(rules).index(one.rule)
            results.append(_sarif_result(one, index, _uri(checked.file)))
    driver: _Json = {
        "name": "cowboy-devnet",
        "semanticVersion": __version__,
        "rules": list(rules.values()),
    }
    run: _Json = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    log: _Json = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2)


def _sarif_rule(one: _Finding) -> _Json:
    meaning = one.rule.replace("-", " ").capitalize()
    return {
        "id": one.rule,
        "shortDescription": {"text": meaning},
        "help": {"text": f"Write instead: {one.instead}" if one.instead else meaning},
        "defaultConfiguration": {"level": one.level},
    }


def _sarif_result(one: _Finding, index: int, uri: str) -> _Json:
    region = {
        "startLine": one.line,
        "startColumn": one.column,
        "endLine": one.end_line,
        "endColumn": one.end_column,
    }
    place = {"artifactLocation": {"uri": uri}, "region": region}
    return {
        "ruleId": one.rule,
        "ruleIndex": index,
        "level": one.level,
        "message": {"text": one.message},
        "locations": [{"physicalLocation": place}],
    }


def _findings(checked: Checked) -> Iterator[_Finding]:
    lines = checked.source.splitlines() or [b""]
    for one in checked.refusals:
        yield _finding("error", _rule(one.reason), _ended(one, lines), lines)
    if checked.report is not None and checked.report.hint:
        hint = checked.report.hint
        found = _LINE_OF_HINT.match(hint)
        place = Refusal(int(found[1]) if found else 1, 0, hint, "")
        yield _finding("warning", _HINT_RULE, _ended(place, lines), lines)


def _finding(level: str, rule: str, one: Refusal, lines: list[bytes]) -> _Finding:
    return _Finding(
        level,
        rule,
        one.message,
        one.instead,
        one.line,
        _characters(lines, one.line, one.column),
        one.end_line,
        _characters(lines, one.end_line, one.end_column),
    )


def _ended(one: Refusal, lines: list[bytes]) -> Refusal:
    """A place within the file, with an end: where none is known, that of its line."""
    line = min(one.line, len(lines))
    end_line = min(one.end_line, len(lines)) or line
    end_column = one.end_column if one.end_line else len(lines[line - 1])
    return Refusal(line, one.column, one.reason, one.instead, end_line, end_column)


def _characters(lines: list[bytes], line: int, column: int) -> int:
    """The column from 1 and in characters of one from 0 and in bytes."""
    return len(lines[line - 1][:column].decode(errors="replace")) + 1


def _rule(reason: str) -> str:
    """A reason as the name of a rule: without what it quotes, numbers and details."""
    words = re.sub(r"'[^']*'|\d[\d,]*|: .*", " ", reason.lower())
    rule = "-".join(re.findall(r"[a-z_]+", words))
    return rule[:_RULE_LENGTH_MAX].rstrip("-") or "refused"


def _shown(file: Path) -> str:
    """The path from the working folder, if it lies there."""
    whole, here = _whole(file), Path.cwd()
    return (whole.relative_to(here) if whole.is_relative_to(here) else whole).as_posix()


def _uri(file: Path) -> str:
    shown = _shown(file)
    if Path(shown).is_absolute():
        return _whole(file).as_uri()
    return quote(os.fsencode(shown))  # a name need not be text


def _whole(file: Path) -> Path:
    """The path from the root, without `..`; links stay as they are named."""
    return Path(os.path.abspath(file))  # noqa: PTH100 - resolve() follows links
