"""Profiles of a transaction that is simulated, and of a block that was made.

Either is executed again, watched, on the worker thread: slower than without by far, so
only a development chain does it, and only so much of it at a time.
"""

from node.chain.consensus import require_own_consensus
from node.chain.transaction import Transaction
from node.chain.transition import State
from node.history import load_consensus
from node.query import BlockView, MissingKind, NotFound
from node.query.costs.profile_text import profile_text, speedscope
from node.query.costs.profiles import ExecutionProfile
from node.query.costs.profiling import profile_block, profile_transaction
from node.rpc.profiles import profile_to_proto
from node.rpc.requests import InvalidRequest
from node.rpc.service import state_at
from node.rpc.v1 import types_pb2 as pb
from node.runtime.types import Backend

__all__ = ["block_profile", "told_profile_to_proto", "transaction_profile"]

PROFILED_CYCLES_MAX = 2_000_000
"""Watched, the worker takes a second or two for them."""


async def transaction_profile(
    backend: Backend,
    state: State,
    transaction: Transaction,
    cycles: int,
    *,
    is_dev: bool,
) -> ExecutionProfile:
    """Where those cycles of a simulated transaction went.

    Raises:
        InvalidRequest: There are too many of them, or the chain is no development one.
    """
    _require_allowed(cycles, is_dev=is_dev)
    _, profile = await backend.run_read(
        lambda _state: profile_transaction(state, transaction)
    )
    return profile


def told_profile_to_proto(profile: ExecutionProfile) -> pb.ExecutionProfile:
    """A profile with what people and tools read of it."""
    shown = profile_to_proto(profile)
    shown.report, shown.speedscope = profile_text(profile), speedscope(profile)
    return shown


async def block_profile(
    backend: Backend, view: BlockView, *, is_dev: bool
) -> ExecutionProfile:
    """Where the cycles of a block's executions went.

    Raises:
        InvalidRequest: There are too many of them, or the chain is no development one.
        OtherConsensus: It was executed under other rules.
        HistoryNotKept: The state before it is not kept.
        NotFound: It was taken back meanwhile.
    """
    require_own_consensus("this block", load_consensus(backend.state.snapshot))
    block = view.block
    cycles = sum(receipt.cycles_used for receipt in view.receipts)
    _require_allowed(cycles, is_dev=is_dev)
    if not view.receipts:
        return ExecutionProfile()
    parent = await state_at(backend, block.header.height - 1)
    if parent.head.hash() != block.header.parent_hash:
        raise NotFound(MissingKind.BLOCK, view.block_hash)
    return await backend.run_read(lambda _: profile_block(parent, block))


def _require_allowed(cycles: int, *, is_dev: bool) -> None:
    if not is_dev:
        raise InvalidRequest("profile", "is told on a development chain alone")
    if cycles > PROFILED_CYCLES_MAX:
        raise InvalidRequest(
            "profile",
            f"reaches to {PROFILED_CYCLES_MAX} cycles, and this takes {cycles}",
        )
