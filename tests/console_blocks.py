"""Consoles printed in documents: what is typed, and whether the answer is what came.

In a printed answer `…` stands for anything, and a line of it alone for any lines.
"""

import re
from collections.abc import Iterator

__all__ = ["blocks", "is_what_came", "sessions"]


def blocks(text: str) -> list[tuple[str, str]]:
    """(language, content) of the code blocks of a document."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def sessions(block: str) -> Iterator[tuple[str, str]]:
    """(command without its comment, printed answer) of a console block."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, answer = part.partition("\n")
        yield command.split("  #")[0].strip(), answer


def is_what_came(answer: str, output: str) -> bool:
    """Whether an output is what was printed."""
    return _pattern(answer).fullmatch(output) is not None


def _pattern(answer: str) -> re.Pattern[str]:
    lines = [
        r"(?:.*\n)*?"
        if line == "…"
        else ".*".join(map(re.escape, line.split("…"))) + r"\n"
        for line in answer.splitlines()
    ]
    return re.compile("".join(lines))
