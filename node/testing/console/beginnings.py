"""Where a session began, so that a test of it can begin there, too.

A chain at genesis is what the fixture `devnet` has. Any other chain is a bundle beside
the test: its blocks up to there. What a bundle does not have is done by the test: names
that were given, and transactions that waited.
"""

import tempfile
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from typing_extensions import override

from node.chain.block import Header
from node.chain.bundle_errors import BundleRefused
from node.chain.genesis import Genesis
from node.chain.transition import BlockResult
from node.client._sync.actor import Chain
from node.client._sync.client import Client
from node.client.exceptions import NodeError
from node.testing import bundles
from node.testing.devnet import Devnet
from node.testing.presets import preset

__all__ = ["Beginning", "CannotSave", "beginning_of"]

_FIXTURE = "devnet"
"""The preset of the fixture."""


class CannotSave(Exception):  # noqa: N818 - reads as what happened
    """No test can be made of the session; nothing was written."""


class Beginning(Protocol):
    """The state of a chain in which a session began."""

    names: Mapping[bytes, str]
    """Those that somebody gave, or that came from files."""
    waiting: tuple[bytes, ...]
    """Transactions in the pool, as they are sent."""
    is_strict: bool

    @property
    def is_fixture(self) -> bool:
        """Whether it is what the fixture `devnet` has."""
        ...

    @abstractmethod
    def export(self, path: Path) -> None:
        """Write the chain up to there into a new file.

        Raises:
            CannotSave: it is no longer known, or there is no room for it.
        """
        ...


def beginning_of(chain: Chain) -> Beginning:
    """The present state of a chain."""
    if isinstance(chain, Devnet):
        return _OfDevnet(chain)
    assert isinstance(chain, Client), "chains are of these two kinds"
    return _OfNode(chain)


def _names_of(chain: Chain) -> dict[bytes, str]:
    of_accounts = {bytes(one.address): one.label for one in chain.accounts}
    return {
        address: name
        for address, name in chain.labels.items()
        if of_accounts.get(address) != name
    }


class _OfDevnet(Beginning):
    def __init__(self, chain: Devnet) -> None:
        self._chain = chain
        self._head = chain.head
        is_new = len(chain.results) == 1
        self._is_fixture = is_new and chain.genesis == preset(_FIXTURE, {})
        self.names: Mapping[bytes, str] = _names_of(chain)
        self.waiting = tuple(one.raw for one in chain.waiting)
        self.is_strict = chain.is_strict

    @property
    @override
    def is_fixture(self) -> bool:
        return self._is_fixture

    @override
    def export(self, path: Path) -> None:
        _export(path, self._chain.genesis, self._chain.results, self._head)


class _OfNode(Beginning):
    def __init__(self, client: Client) -> None:
        self._client = client
        self._head = client.head
        self.names: Mapping[bytes, str] = _names_of(client)
        self.waiting: tuple[bytes, ...] = ()
        self.is_strict = client.is_strict

    @property
    @override
    def is_fixture(self) -> bool:
        return False

    @override
    def export(self, path: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="cowboy-console-") as folder:
            whole = Path(folder) / "chain.bundle"
            try:
                self._client.export_bundle(whole)
                chain = Devnet.from_bundle(whole)
            except (BundleRefused, NodeError) as refusal:
                raise CannotSave(f"the node's chain cannot be had: {refusal}") from None
            with chain:
                _export(path, chain.genesis, chain.results, self._head)


def _export(
    path: Path, genesis: Genesis, results: list[BlockResult], head: Header
) -> None:
    """The blocks of a chain up to one."""
    for index, result in enumerate(results):
        if result.header == head:
            try:
                return bundles.export(path, genesis, results[: index + 1])
            except BundleRefused as refusal:
                raise CannotSave(f"{refusal}") from None
    raise CannotSave(
        f"the chain no longer has the block {head.height} at which this session began"
    )
