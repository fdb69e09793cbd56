"""Profile: what executions cost, as a user sees it, of whichever chain.

It crosses processes in the node's own message, of a node as of a worker of pytest;
protobuf is loaded only then.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import field
from typing_extensions import override

from node.client.exceptions import InvalidArgument
from node.client.labels import Labels
from node.primitives.types import Address, Height
from node.query.costs.profile_text import profile_text, speedscope
from node.query.costs.profiles import ExecutionProfile as Costs
from node.query.costs.profiles import Profiled
from pvm import Cost, Place, Stack

if TYPE_CHECKING:
    from node.rpc.v1 import types_pb2

__all__ = ["Profile", "profile_from_proto"]


class Profile(Costs):
    """Cycles and cells of executions, by line of source; print it to read it."""

    labels: Labels = field(default_factory=Labels)
    """What its chain calls the actors."""
    files: Mapping[bytes, str] = field(default_factory=dict)
    """Paths by hash of the code, as deployments in this process named them."""

    @override
    def __str__(self) -> str:
        return self.labels.replaced(profile_text(self))

    @override
    def __repr__(self) -> str:
        return (
            f"<profile of {len(self.executions)} executions: {self.cycles} cycles, "
            f"{self.cells} cells>"
        )

    def save(self, path: Path | str) -> None:
        """Write a file for https://www.speedscope.app; an existing one is replaced.

        Raises:
            InvalidArgument: the path is no path.
            OSError: the file cannot be written.
        """
        if not isinstance(path, str | Path):
            raise InvalidArgument("path", "a file's name, such as profile.json", path)
        file = Path(path)
        file.write_text(speedscope(self, file.stem), encoding="utf-8")


def profile_from_proto(message: "types_pb2.ExecutionProfile") -> Profile:
    """A profile out of a message."""
    return Profile(
        list(map(_execution_from_proto, message.executions)),
        {Address(one.address): one.source.decode() for one in message.actors},
    )


def _execution_from_proto(message: "types_pb2.ProfiledExecution") -> Profiled:
    from node.client.decoding import receipt_from_proto  # noqa: PLC0415 - a Devnet has none

    costs = {
        _stack_from_proto(one): Cost(one.cycles, one.cells) for one in message.costs
    }
    return Profiled(
        Height(message.receipt.height),
        receipt_from_proto(message.receipt),
        MappingProxyType(costs),
    )


def _stack_from_proto(message: "types_pb2.StackCost") -> Stack:
    return tuple(
        Place(one.actor, one.name, one.line, one.code_hash) for one in message.stack
    )
