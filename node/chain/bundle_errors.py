"""Why a bundle is refused, by whichever chain; apart, so that a client can raise it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

__all__ = ["ADVICE", "BundleFault", "BundleRefused", "refuse_bundle"]


class BundleFault(StrEnum):
    """Why a bundle is refused; stable names for programs."""

    FILE_EXISTS = "FILE_EXISTS"
    FILE_UNUSABLE = "FILE_UNUSABLE"
    NO_BUNDLE = "NO_BUNDLE"
    FOREIGN = "BUNDLE_FOREIGN"
    NEWER = "BUNDLE_NEWER"
    OLDER = "BUNDLE_OLDER"
    OTHER_CONSENSUS = "BUNDLE_OTHER_CONSENSUS"
    DAMAGED = "BUNDLE_DAMAGED"
    DIFFERS = "BUNDLE_DIFFERS"
    TOO_LARGE = "BUNDLE_TOO_LARGE"
    NOT_EMPTY = "CHAIN_NOT_EMPTY"


ADVICE: Final[Mapping[BundleFault, str]] = {
    BundleFault.FILE_EXISTS: "give another name",
    BundleFault.FILE_UNUSABLE: "look at its path and its permissions",
    BundleFault.NO_BUNDLE: "give a file that `bundle export` wrote",
    BundleFault.FOREIGN: (
        "give a bundle to a chain of its genesis, which `bundle check --genesis-to "
        "FILE` writes for `start --genesis FILE`"
    ),
    BundleFault.NEWER: "use the version of cowboy-devnet that wrote it, or a later one",
    BundleFault.OLDER: "use the version of cowboy-devnet that wrote it",
    BundleFault.OTHER_CONSENSUS: (
        "use the version of cowboy-devnet that wrote it; a chain is carried over by a "
        "state file (`snapshot export`, `snapshot import`)"
    ),
    BundleFault.DAMAGED: "export it again, or restore a copy",
    BundleFault.DIFFERS: (
        "use the version of cowboy-devnet that wrote it, or report the difference"
    ),
    BundleFault.TOO_LARGE: "check it without a node: `bundle check`",
    BundleFault.NOT_EMPTY: (
        "take an empty one (of a node another `--data-dir`, or `client.api.reset()`)"
    ),
}
"""What to do, by what is wrong."""


class BundleRefused(Exception):  # noqa: N818 - a refusal, not a defect
    """A bundle that cannot be written, read, or taken by this chain."""

    def __init__(
        self, fault: BundleFault, message: str, numbers: Mapping[str, int] | None = None
    ) -> None:
        super().__init__(message)
        self.fault = fault
        self.numbers = dict(numbers or {})
        """Those that were compared, by name."""


def refuse_bundle(fault: BundleFault, what: str, **numbers: int) -> BundleRefused:
    """The refusal that says what is wrong, and what to do."""
    return BundleRefused(fault, f"{what}: {ADVICE[fault]}", numbers)
