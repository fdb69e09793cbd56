"""Bundles of a chain in this process: imported when a test wants one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from node.archive.bundle import (
    Bundle,
    chain_not_empty,
    first_difference,
    new_bundle,
    open_bundle,
    pack_results,
    replay_of,
    require_executable,
    require_same_genesis,
)
from node.archive.replay import Differs
from node.chain.genesis import Genesis
from node.chain.transaction import DeployActor
from node.chain.transition import BlockResult, State
from node.state.store import StoreSnapshot

__all__ = ["execute", "export", "open_bundle", "opened", "sources_of"]

_STEP_HEADERS = 1_000


def export(path: Path, genesis: Genesis, results: list[BlockResult]) -> None:
    """Write a chain into a new file.

    Raises:
        BundleRefused: There is a file already, or it cannot be written.
    """
    with new_bundle(path) as write:
        for part in pack_results(genesis, results).parts():
            write(part)


@contextmanager
def opened(
    path: Path, genesis: Genesis, results: list[BlockResult], waiting: int
) -> Iterator[Bundle]:
    """A bundle that a chain may take.

    Raises:
        BundleRefused: It is none, or of another genesis; or the chain is not empty.
    """
    with open_bundle(path) as bundle:
        require_same_genesis(bundle, genesis)
        require_executable(bundle)
        if waiting or not all(result.is_empty for result in results):
            raise chain_not_empty(results[-1].header.height, waiting, 0)
        yield bundle


def execute(
    bundle: Bundle, keep: Callable[[State, BlockResult], StoreSnapshot], state: State
) -> State:
    """All blocks of a bundle above genesis' state; the state after the last one.

    Raises:
        BundleRefused: Executing them gives something else.
    """
    try:
        replay = replay_of(bundle, keep, state)
        while replay.step(_STEP_HEADERS):
            continue
    except Differs as difference:
        raise first_difference(bundle, difference) from difference
    return replay.state


def sources_of(result: BlockResult) -> dict[bytes, str]:
    """The sources of actors that a block deployed, by address."""
    return {
        receipt.actor: instruction.code.decode("utf-8", "replace")
        for transaction, receipt in zip(
            result.block.transactions, result.receipts, strict=False
        )
        if isinstance(instruction := transaction.body.instruction, DeployActor)
        and receipt.is_success
    }
