"""`check`: an actor's file, read as a deployment would read it; no node is asked.

Rules: everything that the step which refuses has found is printed, one line each, so
that an editor can follow it; exit codes are 0 accepted, 1 refused, 2 usage.
"""

import json
from pathlib import Path
from typing import TypeAlias

import click
from msgspec import to_builtins

from node.chain.params import (
    DEPLOY_CYCLES,
    DEPLOY_CYCLES_PER_CODE_BYTE,
    INTRINSIC_CYCLES,
)
from node.cli.arguments import json_option
from node.cli.connection import EXIT_REFUSED
from node.cli.output import JsonForm, Output
from pvm import Block, CompileError, Handler, Report, report_on
from pvm.language import SOURCE_BYTES_MAX

__all__ = ["check"]

_Json: TypeAlias = "dict[str, object]"

_HANDLER_COLUMNS = ("handler", "line", "who may call it", "each call", "further blocks")
_BLOCKS_SHOWN_MAX = 6


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def check(file: Path, *, form: JsonForm | None) -> None:
    """Read FILE as a deployment would: every refusal, or what the actor is.

    Cycles are those of blocks of source when they are entered; what operands and host
    calls cost beyond that, only an execution knows.
    """
    output = Output(form)
    try:
        with file.open("rb") as opened:
            source = opened.read(SOURCE_BYTES_MAX + 1)  # it need not end
        report = report_on(source)
    except CompileError as error:
        _tell_refused(output, file, error)
        raise click.exceptions.Exit(EXIT_REFUSED) from error
    except OSError as error:
        raise click.UsageError(f"{file} cannot be read: {error.strerror}") from error
    if output.is_json:
        output.line(
            json.dumps({"file": str(file), "accepted": True, **to_builtins(report)})
        )
    else:
        _tell(output, file, report)


def _tell_refused(output: Output, file: Path, error: CompileError) -> None:
    if output.is_json:
        refusals = to_builtins(error.refusals)
        answer: _Json = {"file": str(file), "accepted": False, "refusals": refusals}
        output.line(json.dumps(answer))
        return
    for refusal in error.refusals:
        instead = f"; instead: {refusal.instead}" if refusal.instead else ""
        place = f"{file}:{refusal.line}:{refusal.column}"
        output.line(f"{place}: {refusal.reason}{instead}")
    count = len(error.refusals)
    output.error(f"{file} is refused: {count} place{'s' * (count > 1)} to change")


def _tell(output: Output, file: Path, report: Report) -> None:
    cycles, memory = _sum(report.body)
    size = file.stat().st_size
    deploying = INTRINSIC_CYCLES + DEPLOY_CYCLES + DEPLOY_CYCLES_PER_CODE_BYTE * size
    fields = {
        "accepted": str(file),
        "actor class": report.actor_class or "none: functions of the module",
        "imports": ", ".join(report.imports) or "none",
        "deploying": f"{deploying + report.compiling:,} cycles, and what `deploy` uses",
        "each message": f"{cycles:,} cycles, {memory:,} bytes for the module's body",
    }
    for room in report.room:
        fields[room.what] = f"{room.used:,} of {room.limit:,}"
    if report.hint:
        fields["hint"] = report.hint
    output.fields("", fields)
    if report.handlers:
        rows = [_row(handler) for handler in report.handlers]
        output.table("", _HANDLER_COLUMNS, rows)
    else:
        output.line("no handlers: no message can reach this actor")


def _row(handler: Handler) -> tuple[str, ...]:
    first, *others = handler.blocks
    shown = [f"{one.cycles:,} (line {one.line})" for one in others[:_BLOCKS_SHOWN_MAX]]
    if len(others) > _BLOCKS_SHOWN_MAX:
        shown.append(f"{len(others) - _BLOCKS_SHOWN_MAX} more blocks")
    return (
        handler.name,
        str(handler.line),
        handler.who,
        f"{first.cycles:,}",
        ", ".join(shown),
    )


def _sum(blocks: tuple[Block, ...]) -> tuple[int, int]:
    return sum(one.cycles for one in blocks), sum(one.bytes for one in blocks)
