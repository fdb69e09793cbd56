"""Writes the consensus number: which version of the rules this checkout executes.

It is 1 for release 0.1.0, whose section of the changelog tells what a chain is. Each
line that the changelog has had under **Consensus** since is a change after which the
same transactions may give other results, so each raises the number, in the midst of
development as well. Those lines are therefore never joined or taken away, not even
when a release is made of them.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULE = ROOT / "node" / "chain" / "consensus.py"

_FIRST_RELEASE = re.compile(r"^## \[0\.1\.0\]", re.MULTILINE)
_SECTION = re.compile(r"^### Consensus\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^- ", re.MULTILINE)
_NUMBER = re.compile(r"^(CONSENSUS_NUMBER: Final = )\d+$", re.MULTILINE)


def number_of(changelog: str) -> int:
    """1, and 1 more for each line under **Consensus** above the section of 0.1.0."""
    later, _ = _FIRST_RELEASE.split(changelog)
    return 1 + sum(len(_LINE.findall(section)) for section in _SECTION.findall(later))


def numbered() -> str:
    """The module with the number in it."""
    number = number_of((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    return _NUMBER.sub(rf"\g<1>{number}", MODULE.read_text(encoding="utf-8"))


def write_number() -> bool:
    """Write the module; whether it was another one."""
    text = numbered()
    if MODULE.read_text(encoding="utf-8") == text:
        return False
    MODULE.write_text(text, encoding="utf-8")
    return True
