"""Profiles as a text for people, and as a file for https://www.speedscope.app.

Every cycle and cell of the receipts stands in one row of the text and in one sample of
the file: by a line of a source, or under a name.
"""

import json
from collections.abc import Iterable, Iterator

from node import __version__
from node.chain.block import ReceiptKind
from node.primitives.types import Address
from node.query.costs.profiles import (
    ENTRY,
    NO_LINE_NAME,
    ExecutionProfile,
    Profiled,
)
from pvm import NO_COST, NO_LINE, Cost, Place, Stack

__all__ = ["profile_text", "speedscope"]

EXECUTIONS_SHOWN = 20
SCHEMA = "https://www.speedscope.app/file-format-schema.json"
ENTRY_NAMES = {ReceiptKind.TRANSACTION: "intrinsic cost, compiling"}
"""What is paid before an actor runs; of all else it is the entry charge (D16)."""
ENTRY_CHARGE = "entry charge"


def _sum(costs: Iterable[Cost]) -> Cost:
    total = NO_COST
    for cost in costs:
        total = total.plus(*cost)
    return total


def _entry_name(each: Profiled) -> str:
    return ENTRY_NAMES.get(each.receipt.kind, ENTRY_CHARGE)


def _label(each: Profiled) -> str:
    receipt = each.receipt
    kind = receipt.kind.name.lower().replace("_", " ")
    return f"{kind} {receipt.handler or '(no handler)'} of 0x{receipt.actor.hex()}"


# --- for people ----------------------------------------------------------------------


def profile_text(profile: ExecutionProfile) -> str:
    """Executions, then what was paid where, then each actor's source with its costs."""
    total = Cost(profile.cycles, profile.cells)
    count = len(profile.executions)
    executions = "execution" if count == 1 else "executions"
    lines = [f"{count:,} {executions}: {_units(total)}", ""]
    for each in profile.executions[:EXECUTIONS_SHOWN]:
        used = Cost(each.receipt.cycles_used, each.receipt.cells_used)
        failure = each.receipt.failure
        end = "" if failure is None else f"; failed: {failure.kind}"
        lines.append(f"height {each.height:,}: {_label(each)}: {_units(used)}{end}")
    if count > EXECUTIONS_SHOWN:
        lines.append(f"… and {count - EXECUTIONS_SHOWN:,} more")
    costs = profile.costs()
    lines += ["", *_sum_text(profile, total), *_hosts_text(costs, total)]
    for actor in profile.sources:
        lines += ["", *_actor_text(profile, costs, actor)]
    return "\n".join(lines)


def _units(cost: Cost) -> str:
    return f"{cost.cycles:,} cycles, {cost.cells:,} cells"


def _row(cost: Cost, total: Cost, name: str) -> str:
    permille = cost.cycles * 1_000 // max(1, total.cycles)
    share = f"{permille // 10}.{permille % 10} %"
    return f"{cost.cycles:>12,}  {share:>7}  {cost.cells:>10,}  {name}"


def _sum_text(profile: ExecutionProfile, total: Cost) -> Iterator[str]:
    """Rows that add up to all that was used."""
    yield f"{'cycles':>12}  {'':>7}  {'cells':>10}"
    entries: dict[str, Cost] = {}
    for each in profile.executions:
        name = _entry_name(each)
        entries[name] = entries.get(name, NO_COST).plus(*each.costs[ENTRY])
    for name, cost in entries.items():
        yield _row(cost, total, name)
    for actor in profile.sources:
        own = _sum(profile.lines(actor).values())
        yield _row(own, total, f"actor 0x{actor.hex()}")
    yield _row(total, total, "total, as the receipts say")


def _hosts_text(costs: dict[Stack, Cost], total: Cost) -> Iterator[str]:
    """Host calls: parts of the lines that make them."""
    hosts: dict[str, Cost] = {}
    for stack, cost in costs.items():
        if stack and not stack[-1].actor:
            hosts[stack[-1].name] = hosts.get(stack[-1].name, NO_COST).plus(*cost)
    if hosts:
        yield "  of the actors' lines, host calls:"
    for name, cost in sorted(hosts.items(), key=lambda pair: -pair[1].cycles):
        yield _row(cost, total, f"  {name}")


def _actor_text(
    profile: ExecutionProfile, costs: dict[Stack, Cost], actor: Address
) -> Iterator[str]:
    """The lines of a source that cost anything, and what was called from them."""
    own, below = profile.lines(actor), _with_calls(costs, actor)
    source = profile.sources[actor].splitlines()
    yield f"actor 0x{actor.hex()}: {_units(_sum(own.values()))}"
    yield f"{'line':>6}  {'cycles':>12}  {'cells':>10}  {'with calls':>12}"
    for line in sorted(own.keys() | below.keys(), key=lambda n: (n == NO_LINE, n)):
        cost = own.get(line, NO_COST)
        text = NO_LINE_NAME if line == NO_LINE else source[line - 1]
        inclusive = below.get(line, cost).cycles
        number = "" if line == NO_LINE else line
        yield (
            f"{number:>6}  {cost.cycles:>12,}  {cost.cells:>10,}  {inclusive:>12,}  "
            f"{text}".rstrip()
        )


def _with_calls(costs: dict[Stack, Cost], actor: Address) -> dict[int, Cost]:
    """Line → all that was used while it ran, once however often it stands there."""
    found: dict[int, Cost] = {}
    for stack, cost in costs.items():
        for line in {place.line for place in stack if place.actor == actor}:
            found[line] = found.get(line, NO_COST).plus(*cost)
    return found


# --- for speedscope ------------------------------------------------------------------


def speedscope(profile: ExecutionProfile, name: str = "cowboy-devnet") -> str:
    """The profile as a file of speedscope's: one part for cycles, one for cells."""
    frames: dict[tuple[str, str, int], int] = {}
    samples: dict[tuple[int, ...], Cost] = {}
    for each in profile.executions:
        for stack, cost in each.costs.items():
            places = [(_label(each), "", NO_LINE), *map(_frame, stack)]
            if stack == ENTRY:
                places.append((_entry_name(each), "", NO_LINE))
            key = tuple(frames.setdefault(place, len(frames)) for place in places)
            samples[key] = samples.get(key, NO_COST).plus(*cost)
    parts = [
        _part("cycles", [(stack, cost.cycles) for stack, cost in samples.items()]),
        _part("cells", [(stack, cost.cells) for stack, cost in samples.items()]),
    ]
    document = {
        "$schema": SCHEMA,
        "exporter": f"cowboy-devnet@{__version__}",
        "name": name,
        "activeProfileIndex": 0,
        "shared": {"frames": [_show_frame(*frame) for frame in frames]},
        "profiles": parts,
    }
    return json.dumps(document, separators=(",", ":")) + "\n"


def _frame(place: Place) -> tuple[str, str, int]:
    if not place.actor:
        return f"host: {place.name}", "", NO_LINE
    function = place.name or "(module)"
    where = NO_LINE_NAME if place.line == NO_LINE else f"line {place.line}"
    return f"{function}, {where}", f"0x{place.actor.hex()}", place.line


def _show_frame(name: str, file: str, line: int) -> dict[str, str | int]:
    shown: dict[str, str | int] = {"name": name}
    if file:
        shown["file"] = file
    if line != NO_LINE:
        shown["line"] = line
    return shown


def _part(unit: str, samples: list[tuple[tuple[int, ...], int]]) -> dict[str, object]:
    """A profile of the file: stacks, each with its weight."""
    used = [(stack, weight) for stack, weight in samples if weight]
    return {
        "type": "sampled",
        "name": unit,
        "unit": "none",
        "startValue": 0,
        "endValue": sum(weight for _, weight in used),
        "samples": [stack for stack, _ in used],
        "weights": [weight for _, weight in used],
    }
