"""Files whose coverage is wanted, by the hash of the code that they hold.

A file with the line ends of Windows is deployed as it is, or as a text that has others:
both forms are that file. Files of one content are all found by its hash, since what ran
of one is what ran of the other.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from typing_extensions import override

from node.client.source_files import sources_below
from node.primitives.crypto import keccak256
from pvm import CompileError, compile_actor
from pvm.language import SOURCE_BYTES_MAX

__all__ = ["ActorFiles", "CoverageRefused"]


class CoverageRefused(Exception):  # noqa: N818 - of what was asked, not of a program
    """Coverage as it was asked for cannot be had; the message is a sentence."""


class ActorFiles(Mapping[str, tuple[str, ...]]):
    """Absolute paths by the hash of their code, in hexadecimal."""

    def __init__(self, paths: Iterable[str | Path]) -> None:
        """Read the files, and those below the folders.

        Raises:
            CoverageRefused: one is not there, cannot be read, or is no source.
        """
        self._sources: dict[str, bytes] = {}
        self._paths: dict[str, list[str]] = {}
        self._named: list[str] = []
        for one in paths:
            for path, source in _read(Path(one)):
                self._add(str(path), source)
            if Path(one).is_file():
                self._named.append(str(Path(one).resolve()))

    def _add(self, path: str, source: bytes) -> None:
        if path in self._sources:
            return
        self._sources[path] = source
        for form in {source, source.replace(b"\r\n", b"\n")}:
            self._paths.setdefault(keccak256(form).hex(), []).append(path)

    @override
    def __getitem__(self, code_hash: str) -> tuple[str, ...]:
        return tuple(self._paths[code_hash])

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    @override
    def __len__(self) -> int:
        return len(self._paths)

    @property
    def hashes(self) -> frozenset[bytes]:
        """Of the code that the files hold."""
        return frozenset(map(bytes.fromhex, self._paths))

    def twins(self, executed: Iterable[str]) -> list[tuple[str, ...]]:
        """Files of one content of which something executed."""
        groups = {self.get(name, ()) for name in executed}
        return sorted(group for group in groups if len(group) > 1)

    def actors_not_in(self, executed: Iterable[str]) -> list[str]:
        """Files that hold an actor which did not execute, by their paths.

        An actor is what the language admits and what has a handler.
        """
        seen = {path for name in executed for path in self.get(name, ())}
        return sorted(
            path
            for path, source in self._sources.items()
            if path not in seen and _is_actor(source)
        )

    def named_without_actor(self, executed: Iterable[str]) -> list[str]:
        """Files that were named themselves, and hold no actor."""
        seen = {path for name in executed for path in self.get(name, ())}
        return [
            path
            for path in self._named
            if path not in seen and not _is_actor(self._sources[path])
        ]


def _read(path: Path) -> Iterator[tuple[Path, bytes]]:
    if path.is_dir():
        yield from sources_below(path)
        return
    try:
        source = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise CoverageRefused(f"{path} cannot be read: {reason}") from error
    if len(source) > SOURCE_BYTES_MAX:
        raise CoverageRefused(
            f"{path} is no source of an actor: it has {len(source)} bytes, and "
            f"{SOURCE_BYTES_MAX} are the most"
        )
    yield path.resolve(), source


def _is_actor(source: bytes) -> bool:
    try:
        return bool(compile_actor(source).handlers)
    except CompileError:
        return False
