"""Costs of a range of heights, as a user sees them, out of protobuf."""

from collections.abc import Iterable

from node.client.decoding import receipt_kind_from_proto
from node.primitives.types import Address, Hash32, Height
from node.query.costs.ranges import ActorCosts, CostSum, ExecutionStack, RangeCosts
from node.rpc.v1 import costs_pb2 as pb
from pvm import Cost, Place

__all__ = ["costs_from_proto"]


def costs_from_proto(messages: Iterable[pb.StreamCostsResponse]) -> RangeCosts:
    """What a stream told, which came to its end."""
    actors: list[ActorCosts] = []
    stacks: list[tuple[ExecutionStack, CostSum]] = []
    summary = pb.CostsSummary()
    for message in messages:
        match message.WhichOneof("told"):
            case "actor":
                actors.append(_actor_from_proto(message.actor))
            case "stacks":
                stacks += _stacks_from_proto(message.stacks)
            case "summary":
                summary = message.summary
            case _:
                pass  # progress
    return RangeCosts(
        first_height=Height(summary.first_height),
        last_height=Height(summary.last_height),
        is_complete=summary.is_complete,
        headers=summary.headers,
        total=CostSum(summary.cycles, summary.cells, summary.executions),
        actors=tuple(actors),
        stacks=tuple(stacks),
        uncounted=CostSum(
            summary.uncounted_cycles,
            summary.uncounted_cells,
            summary.uncounted_executions,
        ),
        cut=Cost(summary.cut_cycles, summary.cut_cells),
        cut_lines=Cost(summary.cut_line_cycles, summary.cut_line_cells),
    )


def _actor_from_proto(message: pb.ActorCosts) -> ActorCosts:
    return ActorCosts(
        Address(message.actor),
        Hash32(message.code_hash),
        message.source.decode(),
        {one.line: _sum_from_proto(one) for one in message.lines},
    )


def _stacks_from_proto(
    message: pb.FoldedStacks,
) -> Iterable[tuple[ExecutionStack, CostSum]]:
    frames = [
        Place(one.actor, one.name, one.line, one.code_hash) for one in message.frames
    ]
    for one in message.stacks:
        where = ExecutionStack(
            receipt_kind_from_proto(one.kind),
            Address(one.actor),
            one.handler,
            tuple(frames[index] for index in one.frames),
        )
        yield where, _sum_from_proto(one)


def _sum_from_proto(message: pb.LineCost | pb.FoldedStack) -> CostSum:
    return CostSum(message.cycles, message.cells, message.executions)
