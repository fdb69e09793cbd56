"""Costs of a range of heights as protobuf, in messages of bounded size."""

from collections.abc import Iterator, Sequence

from node.query.costs.ranges import ActorCosts, CostSum, ExecutionStack, RangeCosts
from node.rpc import convert
from node.rpc.v1 import costs_pb2 as pb
from pvm import Place

__all__ = ["costs_to_proto"]

STACKS_MAX = 1_000
"""Of one message."""


def costs_to_proto(costs: RangeCosts) -> Iterator[pb.StreamCostsResponse]:
    """One message for each code of an actor, stacks by parts, then the summary."""
    for actor in costs.actors:
        yield pb.StreamCostsResponse(actor=_actor_to_proto(actor))
    for start in range(0, len(costs.stacks), STACKS_MAX):
        part = costs.stacks[start : start + STACKS_MAX]
        yield pb.StreamCostsResponse(stacks=_stacks_to_proto(part))
    yield pb.StreamCostsResponse(summary=_summary_to_proto(costs))


def _actor_to_proto(actor: ActorCosts) -> pb.ActorCosts:
    return pb.ActorCosts(
        actor=actor.actor,
        code_hash=actor.code_hash,
        source=actor.source.encode(),
        cycles=actor.cycles,
        cells=actor.cells,
        lines=[
            pb.LineCost(
                line=line,
                cycles=cost.cycles,
                cells=cost.cells,
                executions=cost.executions,
            )
            for line, cost in actor.lines.items()
        ],
    )


def _stacks_to_proto(
    stacks: Sequence[tuple[ExecutionStack, CostSum]],
) -> pb.FoldedStacks:
    frames: dict[Place, int] = {}
    shown = [
        pb.FoldedStack(
            kind=convert.receipt_kind_to_proto(where.kind),
            actor=where.actor,
            handler=where.handler,
            frames=[frames.setdefault(place, len(frames)) for place in where.stack],
            cycles=cost.cycles,
            cells=cost.cells,
            executions=cost.executions,
        )
        for where, cost in stacks
    ]
    return pb.FoldedStacks(frames=map(_frame_to_proto, frames), stacks=shown)


def _frame_to_proto(place: Place) -> pb.CostFrame:
    return pb.CostFrame(
        actor=place.actor,
        code_hash=place.code_hash,
        name=place.name,
        line=place.line,
    )


def _summary_to_proto(costs: RangeCosts) -> pb.CostsSummary:
    return pb.CostsSummary(
        first_height=costs.first_height,
        last_height=costs.last_height,
        is_complete=costs.is_complete,
        headers=costs.headers,
        executions=costs.total.executions,
        cycles=costs.total.cycles,
        cells=costs.total.cells,
        uncounted_executions=costs.uncounted.executions,
        uncounted_cycles=costs.uncounted.cycles,
        uncounted_cells=costs.uncounted.cells,
        cut_cycles=costs.cut.cycles,
        cut_cells=costs.cut.cells,
        cut_line_cycles=costs.cut_lines.cycles,
        cut_line_cells=costs.cut_lines.cells,
    )
