"""`check`: actors' files, read as a deployment would read them; no node is asked.

Rules: everything that the step which refuses has found is printed, one line each, so
that an editor can follow it. A file that cannot be read does not hide what is to be
said of the others. Exit codes are 0 accepted, 1 refused, 2 usage or a file unread.
"""

from pathlib import Path

import click

from node.chain.params import (
    DEPLOY_CYCLES,
    DEPLOY_CYCLES_PER_CODE_BYTE,
    INTRINSIC_CYCLES,
)
from node.cli.arguments import json_option
from node.cli.check_formats import Checked, as_github, as_json, as_sarif
from node.cli.connection import EXIT_REFUSED
from node.cli.output import JsonForm, Output
from pvm import Block, CompileError, Handler, Refusal, Report, report_on
from pvm.language import SOURCE_BYTES_MAX

__all__ = ["check"]

_HANDLER_COLUMNS = ("handler", "line", "who may call it", "each call", "further blocks")
_BLOCKS_SHOWN_MAX = 6
_EXIT_UNREAD = 2


@click.command()
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
)
@click.option(
    "--format",
    "report_format",
    type=click.Choice(["human", "json", "sarif", "github"]),
    default="human",
    help="For people, for programs, for code scanning, for a job of GitHub Actions.",
)
@json_option
def check(
    files: tuple[Path, ...], *, report_format: str, form: JsonForm | None
) -> None:
    """Read each FILE as a deployment would: every refusal, or what the actor is.

    Cycles are those of blocks of source when they are entered; what operands and host
    calls cost beyond that, only an execution knows.
    """
    if form is not None:
        if report_format not in {"human", "json"}:
            raise click.UsageError(
                f"--json and --format {report_format} exclude each other"
            )
        report_format = "json"
    every = [_checked(file) for file in files]
    _PRINTERS[report_format](Output(), every)
    if any(one.is_unread for one in every):
        raise click.exceptions.Exit(_EXIT_UNREAD)
    if any(one.report is None for one in every):
        raise click.exceptions.Exit(EXIT_REFUSED)


def _checked(file: Path) -> Checked:
    try:
        with file.open("rb") as opened:
            source = opened.read(SOURCE_BYTES_MAX + 1)  # it need not end
    except OSError as error:
        reason = f"the file cannot be read: {error.strerror}"
        return Checked(file, b"", None, (Refusal(1, 0, reason, ""),), is_unread=True)
    try:
        return Checked(file, source, report_on(source))
    except CompileError as error:
        return Checked(file, source, None, error.refusals)


def _tell_every(output: Output, every: list[Checked]) -> None:
    for one in every:
        _tell_one(output, one)


def _print_json(output: Output, every: list[Checked]) -> None:
    for one in every:
        output.line(as_json(one))


def _print_sarif(output: Output, every: list[Checked]) -> None:
    output.line(as_sarif(every))


def _print_github(output: Output, every: list[Checked]) -> None:
    for line in as_github(every):
        output.line(line)


_PRINTERS = {
    "human": _tell_every,
    "json": _print_json,
    "sarif": _print_sarif,
    "github": _print_github,
}


def _tell_one(output: Output, checked: Checked) -> None:
    if checked.report is not None:
        _tell(output, checked, checked.report)
        return
    if checked.is_unread:
        output.error(f"{checked.file}: {checked.refusals[0].reason}")
        return
    for refusal in checked.refusals:
        output.line(refusal.in_file(checked.file))
    count = len(checked.refusals)
    output.error(
        f"{checked.file} is refused: {count} place{'s' * (count > 1)} to change"
    )


def _tell(output: Output, checked: Checked, report: Report) -> None:
    cycles, memory = _sum(report.body)
    size = len(checked.source)
    deploying = INTRINSIC_CYCLES + DEPLOY_CYCLES + DEPLOY_CYCLES_PER_CODE_BYTE * size
    fields = {
        "accepted": str(checked.file),
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
