"""Rehearsals of upgrades as a test asks for them: on its own chain, or on a bundle."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from node.archive.bundle import first_difference, open_bundle, require_executable
from node.archive.replay import Differs
from node.archive.upgrade_differences import DifferenceName
from node.archive.upgrade_rehearsal import (
    Rehearsal,
    RehearsalRefused,
    RehearsedUpgrade,
    rehearse_bundle,
    rehearse_results,
)
from node.client.exceptions import InvalidArgument
from node.client.inputs import check_count

_OPTIONS = ("further", "costs_within")

__all__ = [
    "Rehearsal",
    "RehearsalRefused",
    "RehearsedUpgrade",
    "asked",
    "check_names",
    "check_options",
    "rehearse_file",
    "rehearse_results",
]


def asked(wanted: RehearsedUpgrade, over: range | None) -> RehearsedUpgrade:
    """What is rehearsed, over those heights.

    Raises:
        InvalidArgument: the heights are none, or not one after another.
    """
    if over is None:
        return wanted
    if len(over) == 0 or over.step != 1 or over.start < 1:
        raise InvalidArgument("over", "range(first, last + 1) is wanted", over)
    return replace(wanted, first=over.start, last=over.stop - 1)


def check_names(allow: Iterable[str]) -> frozenset[str]:
    """Names of differences, each alone or with a subject.

    Raises:
        InvalidArgument: there is no such name.
    """
    known = [name.value for name in DifferenceName]
    if not isinstance(allow, Iterable):
        raise InvalidArgument("allow", "a list of names is wanted", allow)
    names = (allow,) if isinstance(allow, str) else tuple(allow)
    for name in names:
        if type(name) is not str or name.partition(":")[0] not in known:
            reason = f"one of {', '.join(known)} is wanted, or NAME:SUBJECT, NAME:PRE*"
            raise InvalidArgument("allow", reason, name)
    return frozenset(names)


def check_options(options: Mapping[str, int]) -> dict[str, int]:
    """Numbers of a rehearsal by their names.

    Raises:
        InvalidArgument: there is no such option, or its value is out of range.
    """
    for name, number in options.items():
        if name not in _OPTIONS:
            raise InvalidArgument(name, f"{' and '.join(_OPTIONS)} are known", number)
        check_count(name, number, 0)
    return dict(options)


def rehearse_file(path: Path, wanted: RehearsedUpgrade) -> Rehearsal:
    """Rehearse on the chain of a bundle.

    Raises:
        BundleRefused: the file is no complete bundle, or a block gave something else.
        RehearsalRefused: no such actor, or no such heights, are there.
    """
    with open_bundle(path) as bundle:
        require_executable(bundle)
        try:
            return rehearse_bundle(bundle, wanted)
        except Differs as difference:
            raise first_difference(bundle, difference) from difference
