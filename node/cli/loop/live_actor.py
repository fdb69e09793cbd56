"""An actor on a node that has the code of a file, whatever is saved there.

Its state is kept: a development chain replaces the code alone, and on another one the
owner upgrades it, which runs the handler `upgrade` (D58). With `--fresh` each save is a
new actor. An actor that the chain no longer has is deployed again.
"""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from node.chain.timers.lane import DEFAULT_HANDLERS
from node.cli.loop.differences import SourceDifference, difference_of
from node.client._sync.actor import Actor
from node.client._sync.client import Client
from node.client.exceptions import InvalidArgument, UnknownId
from node.client.inputs import FileSource
from node.primitives.crypto import keccak256
from node.primitives.types import Address
from node.query.explain.numbers import counted
from pvm import Report

__all__ = ["DeploymentTerms", "LiveActor", "Taken"]


class DeploymentTerms(Struct, frozen=True):
    """How the actors of a loop are deployed."""

    payload: bytes = b""
    """What their constructors get."""
    value: int = 0
    """Base units that each gets."""
    is_fresh: bool = False
    """Whether each save is a new actor."""


class Taken(Struct, frozen=True):
    """What became of a save."""

    what: str
    """In words, after the actor's name."""
    address: Address
    code_hash: bytes
    is_new: bool
    """Whether it is a new actor, with nothing stored."""
    difference: SourceDifference
    lines: tuple[str, ...]
    """What else is worth knowing."""
    heights: range
    """At which the actor had the code before; none of a new actor."""


class LiveActor:
    """The actor of a file."""

    def __init__(self, path: Path, name: str, terms: DeploymentTerms) -> None:
        self.path = path
        self.name = name
        """What it is called: the stem of its file, if that is nobody else's."""
        self._terms = terms
        self._address: Address | None = None
        self._report: Report | None = None
        self._since = 0
        """The first height after the one at which it got its code."""

    @property
    def is_deployed(self) -> bool:
        """Whether an actor of this file is, or was, on the chain."""
        return self._address is not None

    def take(self, client: Client, content: bytes, report: Report) -> Taken:
        """Let the actor have a code that was checked.

        Raises:
            TransactionFailed, TransactionRefused, TransactionDropped, OutcomeUnknown,
            NodeError, NodeUnreachable, InvalidArgument: as the client does; the actor
                is as before.
        """
        living = self._living(client)
        difference = difference_of(self._report, report)
        source = FileSource(self.path, content)  # that was checked, whatever is saved
        lines: tuple[str, ...] = ()
        heights = range(0)
        if living is None or self._terms.is_fresh:
            was_lost = self._address is not None and living is None
            what = self._deploy(client, source)
            if was_lost:
                what = f"the chain no longer has it; {what}"
        elif living.source.encode() == content:
            what = f"at {_shown(living.address)}, with this code"
        else:
            heights = range(self._since, client.height + 1)
            what, lines = self._replace(client, living, source, difference, report)
        self._report, self._since = report, client.height + 1
        assert self._address is not None, "it is deployed now"
        is_new = living is None or living.address != self._address
        hash_ = keccak256(content)
        return Taken(what, self._address, hash_, is_new, difference, lines, heights)

    def _living(self, client: Client) -> Actor | None:
        """The actor, if the chain has it."""
        if self._address is None:
            return None
        try:
            return client.actor(self._address)
        except UnknownId:
            return None

    def _deploy(self, client: Client, source: FileSource) -> str:
        terms = self._terms
        actor = client.deploy(source, terms.payload, value=terms.value)
        self._address = actor.address
        self._name(client)
        return f"deployed at {_shown(actor.address)}"

    def _name(self, client: Client) -> None:
        """Let failures call the actor by its name."""
        assert self._address is not None
        try:
            client.label(self._address, self.name)
        except InvalidArgument:  # an older one has this name
            return

    def _replace(
        self,
        client: Client,
        actor: Actor,
        source: FileSource,
        found: SourceDifference,
        report: Report,
    ) -> tuple[str, tuple[str, ...]]:
        """Give a living actor new code; what that was, and what it left behind."""
        lines = []
        if client.api.status().dev:
            actor.set_code(source)
            if any(handler.name == "upgrade" for handler in report.handlers):
                lines.append("`upgrade` did not run: `cowboy-devnet upgrade` runs it")
        else:
            actor.upgrade(source, self._terms.payload)
        if found.removed:
            present = {handler.name for handler in report.handlers}
            lines += _stopped(actor, found.removed, present)
        return f"new code at {_shown(actor.address)}, storage kept", tuple(lines)


def _stopped(
    actor: Actor, removed: tuple[str, ...], present: set[str]
) -> Iterable[str]:
    """Lines about timers that will find no handler, which they did before (D12)."""
    due: dict[str, list[int]] = {}
    for timer in actor.timers:
        names = (timer.handler,) if timer.handler else DEFAULT_HANDLERS
        gone = next((name for name in names if name in removed), None)
        if gone is not None and present.isdisjoint(names):
            due.setdefault(gone, []).append(timer.height)
    for name, heights in due.items():
        count = counted(len(heights), "timer")
        waits = "waits" if len(heights) == 1 else "wait"
        yield (
            f"{count} {waits} for `{name}`, which is gone: the next is due at "
            f"height {min(heights)}"
        )


def _shown(address: Address) -> str:
    return f"0x{address.hex()}"
