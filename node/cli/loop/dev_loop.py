"""The loop: look at the files, at the node and at the tests, and say what is new.

A turn takes no longer than a deployment. Whatever fails in one is told and leaves the
loop as it was: the old code stays until one that is accepted takes its place.
"""

import threading
from collections.abc import Sequence

from node.cli.loop.live_actor import LiveActor, Taken
from node.cli.loop.node_link import NodeLink
from node.cli.loop.rehearsals import BackgroundRehearsal
from node.cli.loop.saved_file import FileTrouble, SavedFile
from node.cli.loop.suite import Suite
from node.cli.loop.telling import Fact, Teller
from node.client.exceptions import (
    InvalidArgument,
    NodeError,
    NodeUnreachable,
    OutcomeUnknown,
    TransactionDropped,
    TransactionFailed,
    TransactionRefused,
)
from node.runtime.clock import Clock
from pvm import CompileError, Report, report_on

__all__ = ["DevLoop"]

TURN_SECONDS = 0.1
"""Between two looks at files that rest."""

REST_TURN_SECONDS = 0.01
"""While a save is not over."""

_REFUSALS = (
    InvalidArgument,
    NodeError,
    OutcomeUnknown,
    TransactionDropped,
    TransactionFailed,
    TransactionRefused,
)


class DevLoop:
    """Keeps actors as their files say."""

    def __init__(
        self,
        link: NodeLink,
        actors: Sequence[LiveActor],
        suite: Suite,
        teller: Teller,
        *,
        is_rehearsing: bool = False,
    ) -> None:
        self._link = link
        self._actors = [(actor, SavedFile(actor.path)) for actor in actors]
        self._rehearsals: dict[str, BackgroundRehearsal] = {}
        if is_rehearsing:
            self._rehearsals = {actor.name: BackgroundRehearsal() for actor in actors}
        self._suite = suite
        self._teller = teller
        self._pause = threading.Event()

    def run(self, clock: Clock) -> None:
        """Go on until KeyboardInterrupt; then what runs beside is ended."""
        try:
            while True:
                self.turn(clock.monotonic(), clock)
                is_busy = any(file.is_resting for _, file in self._actors)
                self._pause.wait(REST_TURN_SECONDS if is_busy else TURN_SECONDS)
        finally:
            self._suite.stop()
            for rehearsal in self._rehearsals.values():
                rehearsal.stop()

    def turn(self, now: float, clock: Clock) -> None:
        """One look at everything."""
        if self._link.look(now):
            for _, file in self._actors:
                file.forget()
        is_changed = self._suite.is_saved(now)
        for actor, file in self._actors:
            if self._link.is_up:
                is_changed |= self._look_at(actor, file, clock)
        if is_changed:
            self._suite.start()
        self._look_beside()

    def _look_beside(self) -> None:
        """Tell of what has ended beside the loop."""
        for name, rehearsal in self._rehearsals.items():
            found = rehearsal.look()
            if found is not None:
                self._teller.say("rehearsed", f"{name}: {found}")
        outcome = self._suite.look()
        if outcome is not None:
            text = f"tests: {outcome.sentence}"
            if outcome.output:
                text = f"{text}\n{outcome.output}"
            self._teller.say("tests", text, is_passed=outcome.is_passed)

    def _look_at(self, actor: LiveActor, file: SavedFile, clock: Clock) -> bool:
        """Whether a file holds an actor that is new."""
        began = clock.monotonic()
        found = file.look(began)
        if found is None:
            return False
        if isinstance(found, FileTrouble):
            text = f"{actor.path} cannot be read: {found.reason}{_old_code(actor)}"
            self._teller.say("file_trouble", text, file=str(actor.path))
            return False
        try:
            report = report_on(found)
        except CompileError as error:
            self._tell_refused(actor, error)
            return False
        taken = self._take(actor, found, report)
        if taken is not None:
            milliseconds = round(1000 * (clock.monotonic() - began))
            self._tell_taken(actor, report, taken, milliseconds)
            rehearsal = self._rehearsals.get(actor.name)
            if rehearsal is not None and taken.heights:
                url = self._link.client.api.url
                rehearsal.start(taken.address, actor.path, taken.heights, url)
        return True

    def _take(self, actor: LiveActor, content: bytes, report: Report) -> Taken | None:
        """Let the actor have its code; None if that was refused, which is told."""
        try:
            return actor.take(self._link.client, content, report)
        except NodeUnreachable as error:
            self._link.lost(error)
        except _REFUSALS as error:
            text = f"{actor.name} is not deployed: {error}{_old_code(actor)}"
            self._teller.say("not_deployed", text, file=str(actor.path))
        return None

    def _tell_refused(self, actor: LiveActor, error: CompileError) -> None:
        lines = [refusal.in_file(actor.path) for refusal in error.refusals]
        text = f"{actor.name} is refused{_old_code(actor)}"
        file = str(actor.path)
        told = "\n".join([text, *lines])
        self._teller.say("refused", told, file=file, refusals=lines)

    def _tell_taken(
        self, actor: LiveActor, report: Report, taken: Taken, milliseconds: int
    ) -> None:
        found = taken.difference
        lines = [*found.lines(), *taken.lines]
        if report.hint:
            lines.append(f"hint: {report.hint}")
        facts: dict[str, Fact] = {
            "file": str(actor.path),
            "actor": f"0x{taken.address.hex()}",
            "code_hash": f"0x{taken.code_hash.hex()}",
            "is_new": taken.is_new,
            "added": list(found.added),
            "removed": list(found.removed),
            "cycles": {name: list(both) for name, both in found.cycles.items()},
            "milliseconds": milliseconds,
        }
        hash_ = f"code 0x{taken.code_hash[:4].hex()}…"
        text = f"{actor.name}: {taken.what} ({hash_}, {milliseconds} ms)"
        self._teller.say("deployed", "\n".join([text, *lines]), **facts)


def _old_code(actor: LiveActor) -> str:
    return "; the old code stays" if actor.is_deployed else ""
