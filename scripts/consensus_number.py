"""Writes the consensus number: how many lines the changelog has under **Consensus**.

Each of them is a change after which the same transactions may give other results, so
each raises the number, in the midst of development as well. Lines are therefore never
joined or taken away, not even when a release is made of them.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULE = ROOT / "node" / "chain" / "consensus.py"

_SECTION = re.compile(r"^### Consensus\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^- ", re.MULTILINE)
_NUMBER = re.compile(r"^(CONSENSUS_NUMBER: Final = )\d+$", re.MULTILINE)


def count_lines(changelog: str) -> int:
    """The lines under **Consensus**, of all releases."""
    return sum(len(_LINE.findall(section)) for section in _SECTION.findall(changelog))


def numbered() -> str:
    """The module with the number in it."""
    count = count_lines((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    return _NUMBER.sub(rf"\g<1>{count}", MODULE.read_text(encoding="utf-8"))


def write_number() -> bool:
    """Write the module; whether it was another one."""
    text = numbered()
    if MODULE.read_text(encoding="utf-8") == text:
        return False
    MODULE.write_text(text, encoding="utf-8")
    return True
