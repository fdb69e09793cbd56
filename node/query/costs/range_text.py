"""Costs of a range of heights as text: by line for people, folded for flame graphs.

Names and sources are a stranger's text: they are shown and never obeyed.
"""

from collections.abc import Iterator, Mapping

from node.primitives.hex_repr import foreign
from node.query.costs.profiles import ENTRY_NAME, NO_LINE_NAME
from node.query.costs.ranges import ActorCosts, CostSum, ExecutionStack, RangeCosts
from node.query.explain.numbers import counted
from pvm import NO_LINE, Cost, Place

__all__ = ["costs_text", "folded_text"]

Names = Mapping[bytes, str]


# --- for people ----------------------------------------------------------------------


def costs_text(costs: RangeCosts, names: Names) -> str:
    """The sum, what of it was left out, then each actor's source with its costs."""
    heights = f"heights {costs.first_height:,} to {costs.last_height:,}"
    executions = counted(costs.total.executions, "execution")
    lines = [f"{heights}: {executions}: {_units(costs.total)}"]
    lines += _left_out(costs)
    for actor in costs.actors:
        lines += ["", *_actor_lines(actor, names)]
    return "\n".join(lines)


def _units(cost: Cost | CostSum | ActorCosts) -> str:
    return f"{cost.cycles:,} cycles, {cost.cells:,} cells"


def _left_out(costs: RangeCosts) -> Iterator[str]:
    if not costs.is_complete:
        above = costs.last_height + 1
        yield f"no more was executed at once: ask again from height {above:,}"
    if costs.uncounted.executions:
        executions = counted(costs.uncounted.executions, "execution")
        yield f"too large to be counted by line: {executions}: " + _units(
            costs.uncounted
        )
    if any(costs.cut_lines):
        yield f"in lines beyond those that are told: {_units(costs.cut_lines)}"
    if any(costs.cut):
        yield f"in stacks beyond those that are told: {_units(costs.cut)}"


def _actor_lines(actor: ActorCosts, names: Names) -> Iterator[str]:
    name = f"{_name(actor.actor, names)}, code 0x{actor.code_hash.hex()}"
    yield f"{name}: {_units(actor)}"
    yield f"{'line':>6}  {'cycles':>12}  {'cells':>10}  {'executions':>10}"
    source = actor.source.splitlines()
    for line, cost in sorted(actor.lines.items(), key=_last_if_none):
        known = line <= len(source)
        text = source[line - 1] if known else ""
        text = NO_LINE_NAME if line == NO_LINE else foreign(text)
        number = "" if line == NO_LINE else line
        yield (
            f"{number:>6}  {cost.cycles:>12,}  {cost.cells:>10,}  "
            f"{cost.executions:>10,}  {text}"
        ).rstrip()


def _last_if_none(item: tuple[int, CostSum]) -> tuple[bool, int]:
    return item[0] == NO_LINE, item[0]


def _name(address: bytes, names: Names) -> str:
    return names.get(address, f"0x{address.hex()}")


# --- for flame graphs ----------------------------------------------------------------


def folded_text(costs: RangeCosts, names: Names) -> str:
    """A line for each stack that cost cycles: its frames, and how many."""
    return "".join(
        f"{_folded(where, names)} {cost.cycles}\n"
        for where, cost in costs.stacks
        if cost.cycles
    )


def _folded(where: ExecutionStack, names: Names) -> str:
    kind = where.kind.name.lower().replace("_", " ")
    handler = where.handler or "(no handler)"
    frames = [f"{kind} {handler} of {_name(where.actor, names)}"]
    frames += [_frame(place, names) for place in where.stack]
    if not where.stack:
        frames.append(ENTRY_NAME)
    return ";".join(foreign(frame).replace(";", ",") for frame in frames)


def _frame(place: Place, names: Names) -> str:
    if not place.actor:
        return f"host: {place.name}"
    line = "" if place.line == NO_LINE else f":{place.line}"
    return f"{_name(place.actor, names)} {place.name or '(module)'}{line}"
