"""Coverage's own data and reports of what actors executed.

Arcs go into a data file as coverage.py's own measurement would have put them there, so
its reporters write the reports, its configuration rules them, and `coverage combine`
merges them with other data. This module alone needs coverage.py.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from errno import EISDIR
from io import StringIO
from pathlib import Path
from typing import Final

from coverage import Coverage, CoverageData
from coverage.exceptions import CoverageException
from msgspec import Struct

from node.coverage.actor_files import ActorFiles, CoverageRefused
from node.coverage.executed import Executed
from node.query.explain.numbers import counted
from pvm import Arc

__all__ = [
    "KINDS",
    "CoverageReport",
    "CoverageReports",
    "CoverageWritten",
    "is_measuring_lines_alone",
    "parse_report",
]

UNMATCHED_MAX: Final = 10
"""Actors of no file that are named; the others are counted."""


class CoverageReport(Struct, frozen=True):
    """A report that is wanted."""

    kind: str
    """One of `KINDS`."""
    place: str | None
    """File or folder; None: where coverage's configuration says."""


class CoverageWritten(Struct):
    """What became of the data and the reports."""

    told: list[str]
    """Sentences for whoever asked."""
    text: str = ""
    """The reports that are shown."""
    is_whole: bool = True
    """Whether all that was wanted could be written."""

    def refuse(self, refusal: CoverageRefused) -> None:
        """Something of it could not."""
        self.told.append(str(refusal))
        self.is_whole = False


def _missing_shown(coverage: Coverage, text: StringIO, _place: str | None) -> None:
    coverage.report(file=text, show_missing=True)


_WRITERS: Mapping[str, Callable[[Coverage, StringIO, str | None], object]] = {
    "term": lambda coverage, text, _: coverage.report(file=text),
    "term-missing": _missing_shown,
    "lcov": lambda coverage, _, place: coverage.lcov_report(outfile=place),
    "xml": lambda coverage, _, place: coverage.xml_report(outfile=place),
    "json": lambda coverage, _, place: coverage.json_report(outfile=place),
    "html": lambda coverage, _, place: coverage.html_report(directory=place),
}
_PLACES: Mapping[str, str] = {
    "lcov": "lcov:output",
    "xml": "xml:output",
    "json": "json:output",
    "html": "html:directory",
}
"""The setting of coverage's that says where a report goes."""

_RELATIVE = "run:relative_files"
"""The setting of coverage's that says how data name files."""

_DATA: Final = b"SQLite format 3\0"
"""Begins each data file."""

KINDS: Final = tuple(_WRITERS)
"""Reports that can be had."""


def parse_report(text: str) -> CoverageReport:
    """Read `KIND` or `KIND:PLACE`.

    Raises:
        CoverageRefused: there is no such report, or one on the terminal has a place.
    """
    kind, _, place = text.partition(":")
    if kind not in _WRITERS:
        raise CoverageRefused(f"{text!r} is no report: {', '.join(KINDS)} are known")
    if place and kind not in _PLACES:
        raise CoverageRefused(f"{text!r}: this report is shown, and takes no place")
    return CoverageReport(kind, place or None)


def is_measuring_lines_alone() -> bool:
    """Whether coverage.py measures this process, and no branches."""
    measuring = Coverage.current()
    return measuring is not None and not measuring.get_option("run:branch")


class CoverageReports:
    """Where data and reports go."""

    def __init__(
        self,
        data_file: Path,
        reports: Sequence[CoverageReport],
        *,
        has_branches: bool = True,
    ) -> None:
        """Take the data file, in which nothing is then.

        Args:
            data_file: the data that it held are gone: they were of another run.
            reports: those that are wanted.
            has_branches: False where the data are to be merged with data that only
                know lines; coverage.py merges like with like.

        Raises:
            CoverageRefused: the file cannot be written or holds no data of coverage's,
                or coverage's configuration cannot be read.
        """
        self._file = data_file.absolute()
        self._reports = tuple(reports)
        self._has_branches = has_branches
        with _refused(f"{data_file} cannot be written"):
            if self._file.is_dir():
                raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
            with self._file.open("a+b") as file:
                file.seek(0)
                begins = file.read(len(_DATA))
            if begins not in {b"", _DATA}:
                raise CoverageRefused(
                    f"{data_file} holds something else than coverage.py's data, and is "
                    "left as it is"
                )
            self._file.unlink()
        with _refused("coverage's configuration cannot be read"):
            self._is_relative = bool(_reader(self._file).get_option(_RELATIVE))

    def write(
        self, executed: Executed, files: ActorFiles, *, has_unexecuted: bool
    ) -> CoverageWritten:
        """Write all that can be written, and say what cannot.

        Args:
            executed: what ran.
            files: whose coverage it is.
            has_unexecuted: whether files of actors that did not execute count, too.
        """
        written = CoverageWritten([*_about(files, executed), *_unmatched(executed)])
        unexecuted = files.actors_not_in(executed.codes) if has_unexecuted else []
        try:
            with _refused(f"{self._file} cannot be written"):
                self._write_data(executed, files, unexecuted)
        except CoverageRefused as refusal:
            written.refuse(refusal)
            return written
        written.told.append(f"data in {self._file}")
        for report in self._reports:
            try:
                self._write_report(report, written)
            except CoverageRefused as refusal:
                written.refuse(refusal)
        return written

    def _write_report(self, report: CoverageReport, written: CoverageWritten) -> None:
        text = StringIO()
        wanted = f"{report.kind}:{report.place}" if report.place else report.kind
        with _refused(f"the report {wanted} cannot be made"):
            coverage = _reader(self._file)
            coverage.load()
            with closing(coverage.get_data()):
                _WRITERS[report.kind](coverage, text, report.place)
        written.text += text.getvalue()
        if report.kind in _PLACES:
            place = report.place or coverage.get_option(_PLACES[report.kind])
            written.told.append(f"{report.kind} report in {place}")

    def _write_data(
        self, executed: Executed, files: ActorFiles, unexecuted: Sequence[str]
    ) -> None:
        with closing(CoverageData(str(self._file))) as data:
            data.erase()
            self._add(data, {})  # says of which kind they are
            for code_hash, code in executed.codes.items():
                for path in files.get(code_hash, ()):
                    name = self._name_of(path)
                    for context, arcs in code.contexts.items():
                        data.set_context(context)
                        self._add(data, {name: arcs | code.body})
            data.touch_files([self._name_of(path) for path in unexecuted])
            data.write()

    def _add(self, data: CoverageData, arcs: Mapping[str, set[Arc]]) -> None:
        if self._has_branches:
            data.add_arcs(arcs)
        else:
            data.add_lines(
                {
                    name: {line for arc in found for line in arc if line > 0}
                    for name, found in arcs.items()
                }
            )

    def _name_of(self, path: str) -> str:
        return os.path.relpath(path) if self._is_relative else path


def _reader(data_file: Path) -> Coverage:
    return Coverage(data_file=str(data_file))


@contextmanager
def _refused(what: str) -> Iterator[None]:
    """Say in a sentence what coverage.py or the system did not do."""
    try:
        yield
    except OSError as error:
        raise CoverageRefused(f"{what}: {error.strerror or error}") from error
    except CoverageException as error:
        raise CoverageRefused(f"{what}: {error}") from error


def _about(files: ActorFiles, executed: Executed) -> list[str]:
    twins = [
        f"{' and '.join(paths)} have the same content: what ran counts for each"
        for paths in files.twins(executed.codes)
    ]
    return twins + [
        f"{path} holds no actor: it is not counted"
        for path in files.named_without_actor(executed.codes)
    ]


def _unmatched(executed: Executed) -> list[str]:
    told = [
        f"no file has the code of actor {one.actor}, deployed by {one.deployer} (code "
        f"hash 0x{code_hash}): it is not counted"
        for code_hash, one in executed.unmatched.items()
    ]
    more = len(told) - UNMATCHED_MAX
    if more > 0:
        verb = "is" if more == 1 else "are"
        told[UNMATCHED_MAX:] = [f"and {counted(more, 'more code')} {verb} in no file"]
    return told
