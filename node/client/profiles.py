"""Profile: what executions cost, as a user sees it, of whichever chain.

It crosses processes in the node's own message, of a node as of a worker of pytest;
protobuf is loaded only then.
"""

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from typing_extensions import override

from node.client.exceptions import InvalidArgument
from node.primitives.types import Address, Height
from node.query.profile_text import speedscope, tell_profile
from node.query.profiles import ExecutionProfile as Costs
from node.query.profiles import Profiled
from pvm import Cost, Place, Stack

if TYPE_CHECKING:
    from node.rpc.v1 import types_pb2

__all__ = ["Profile", "read_profile"]


class Profile(Costs):
    """What executions cost, by line of the actors' sources; prints as a report."""

    @override
    def __str__(self) -> str:
        return tell_profile(self)

    @override
    def __repr__(self) -> str:
        return (
            f"<profile of {len(self.executions)} executions: {self.cycles} cycles, "
            f"{self.cells} cells>"
        )

    def save(self, path: Path | str) -> None:
        """Write it for https://www.speedscope.app; a file of that name is replaced.

        Raises:
            InvalidArgument: no path.
            OSError: it cannot be written.
        """
        if not isinstance(path, str | Path):
            raise InvalidArgument("path", "a file's name, such as profile.json", path)
        file = Path(path)
        file.write_text(speedscope(self, file.stem), encoding="utf-8")


def read_profile(message: "types_pb2.ExecutionProfile") -> Profile:
    """A profile out of a message."""
    return Profile(
        list(map(_read_execution, message.executions)),
        {Address(one.address): one.source.decode() for one in message.actors},
    )


def _read_execution(message: "types_pb2.ProfiledExecution") -> Profiled:
    from node.client.decoding import read_receipt  # noqa: PLC0415 - a Devnet has none

    costs = {_read_stack(one): Cost(one.cycles, one.cells) for one in message.costs}
    return Profiled(
        Height(message.receipt.height),
        read_receipt(message.receipt),
        MappingProxyType(costs),
    )


def _read_stack(message: "types_pb2.StackCost") -> Stack:
    return tuple(Place(one.actor, one.name, one.line) for one in message.stack)
