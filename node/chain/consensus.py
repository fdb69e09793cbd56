"""Consensus: by which version of the rules a chain was executed.

The same transactions give other results once a price or a rule has changed, and then
what an earlier version left looks like damage to whoever executes it again. So each
folder, bundle and state file says under which number it was written, and a node of
another number refuses, by name, to execute that past. It still reads what is stored.
"""

from typing import Final

__all__ = ["CONSENSUS_NUMBER", "OtherConsensus", "require_own_consensus"]

CONSENSUS_NUMBER: Final = 11
"""1 for release 0.1.0, and 1 more for each line that the changelog has had under
**Consensus** since. `make vectors` writes it."""


class OtherConsensus(Exception):  # noqa: N818 - a refusal, not a defect
    """What was executed under another number cannot be executed here."""

    def __init__(self, what: str, number: int) -> None:
        super().__init__(
            f"{what} was executed under consensus {number}, and this cowboy-devnet "
            f"executes under {CONSENSUS_NUMBER}: what is stored can be read; to "
            "execute it use the version that wrote it, or carry the chain over into a "
            "new folder (snapshot export, snapshot import)"
        )
        self.number = number


def require_own_consensus(what: str, number: int) -> None:
    """Refuse to execute what was executed under another number.

    Raises:
        OtherConsensus: `what` was; it is the subject of the sentence.
    """
    if number != CONSENSUS_NUMBER:
        raise OtherConsensus(what, number)
