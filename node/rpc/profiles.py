"""Profiles on the wire: between a node and a client, or two processes of a test run."""

from node.query.costs.profiles import ExecutionProfile, Profiled
from node.rpc import convert
from node.rpc.v1 import types_pb2 as pb
from pvm import Cost, Stack

__all__ = ["profile_to_proto"]


def profile_to_proto(profile: ExecutionProfile) -> pb.ExecutionProfile:
    """A profile, to be added up with others."""
    return pb.ExecutionProfile(
        executions=map(_execution_to_proto, profile.executions),
        actors=[
            pb.ProfiledActor(address=address, source=source.encode())
            for address, source in profile.sources.items()
        ],
    )


def _execution_to_proto(each: Profiled) -> pb.ProfiledExecution:
    return pb.ProfiledExecution(
        receipt=convert.receipt_to_proto(each.receipt, each.height),
        costs=[_cost_to_proto(stack, cost) for stack, cost in each.costs.items()],
    )


def _cost_to_proto(stack: Stack, cost: Cost) -> pb.StackCost:
    return pb.StackCost(
        stack=[
            pb.SourcePlace(
                actor=place.actor,
                name=place.name,
                line=place.line,
                code_hash=place.code_hash,
            )
            for place in stack
        ],
        cycles=cost.cycles,
        cells=cost.cells,
    )
