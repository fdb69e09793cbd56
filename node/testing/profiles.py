"""The profile of a test, or of a run of tests: a report, and a file of speedscope's.

The plugin loads this module only in a run that asks for a profile.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from node.client.failures import InvalidArgument
from node.query.profiles import Profile as Costs
from node.query.telling_profiles import speedscope, tell_profile

if TYPE_CHECKING:
    import pytest

    from node.testing.devnet import Devnet

__all__ = ["Profile", "RunProfile"]


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


class RunProfile:
    """What a run of pytest executed on its chains; a plugin of that run."""

    def __init__(self, path: str, worker: str | None) -> None:
        """Where to write it; with a worker of xdist its name is added to the file's."""
        file = Path(path)
        self._file = file if worker is None else file.with_stem(f"{file.stem}-{worker}")
        self._profile = Profile()

    @contextmanager
    def watching(self, chain: "Devnet") -> Iterator[None]:
        """Count what the chain executes inside."""
        with chain.profile() as profile:
            try:
                yield
            finally:
                self._profile.add(profile)

    def pytest_sessionfinish(self) -> None:
        """Write both forms: speedscope's, and beside it the report."""
        if self._profile.executions:
            self._profile.save(self._file)
            report = self._file.with_suffix(".txt")
            report.write_text(f"{self._profile}\n", encoding="utf-8")

    def pytest_terminal_summary(
        self, terminalreporter: "pytest.TerminalReporter"
    ) -> None:
        """Say where it is."""
        if self._profile.executions:
            told = f"{self._profile!r} in {self._file} and as .txt"
        else:
            told = (
                "no fixture `devnet` of this process executed anything; each worker "
                "of xdist writes a file of its own, with its name"
            )
        terminalreporter.write_line(f"devnet profile: {told}")
