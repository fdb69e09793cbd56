"""What the loop says: short lines for people, or an object in JSON for each event."""

import json
from typing import TypeAlias

from node.cli.output import Output

__all__ = ["Fact", "Teller"]

Fact: TypeAlias = "str | int | bool | list[str] | dict[str, list[int]] | None"


class Teller:
    """Says what happened as it happens."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def say(self, event: str, text: str, **facts: Fact) -> None:
        """Tell of an event.

        Args:
            event: its name for programs.
            text: what people read; further lines are indented.
            facts: what programs read beside that.
        """
        if self._output.is_json:
            told = {"event": event, "text": text, **facts}
            self._output.line(json.dumps(told))
        else:
            self._output.line(text.replace("\n", "\n  "))
