"""Rows of the report and how they are written.

A row is a figure, the target that the project set itself, and a baseline that was
measured in the same run, since speeds of machines differ and swing.
"""

import os
import platform
import statistics
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from msgspec import Struct


class Row(Struct, frozen=True):
    """One line of the table."""

    what: str
    measured: str
    baseline: str
    target: str
    is_reached: bool | None
    """None for a figure without a target."""

    def cells(self) -> tuple[str, ...]:
        """As the table shows it."""
        verdict = {True: "reached", False: "**missed**", None: ""}[self.is_reached]
        return (self.what, self.measured, self.baseline, self.target, verdict)


class Section(Struct, frozen=True):
    """Rows that were measured in one way."""

    title: str
    method: str
    rows: tuple[Row, ...]


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def interleave(rounds: int, *samplers: Callable[[], float]) -> tuple[list[float], ...]:
    """Take samples in turns, so that a slow stretch of the machine meets them all."""
    samples: tuple[list[float], ...] = tuple([] for _ in samplers)
    for _ in range(rounds):
        for sampler, taken in zip(samplers, samples, strict=True):
            taken.append(sampler())
    return samples


def median_ratio(values: Sequence[float], ceilings: Sequence[float]) -> float:
    """The middle one of the ratios of samples that were taken one after another."""
    return median([v / c for v, c in zip(values, ceilings, strict=True)])


def machine() -> list[str]:
    """What the figures were measured on, one fact a line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    libraries = ("grpcio", "protobuf", "plyvel", "uvloop", "coincurve")
    return [
        f"{_processor()}, {os.cpu_count()} cores, {memory / 2**30:.0f} GiB",
        f"{platform.system()} {platform.release()}, {' '.join(platform.libc_ver())}",
        f"{platform.python_implementation()} {platform.python_version()}; "
        + ", ".join(f"{name} {version(name)}" for name in libraries),
        f"load average before the run: {load}",
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2] for line in lines if line.startswith("model name")]
    return names[0].strip() if names else platform.machine()


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


INTRODUCTION = (
    "Written by `make bench`; do not edit. Each figure stands beside a baseline "
    "of the same run, sampled in turns with it, since machines differ and swing. "
    "Figures are medians unless they say otherwise."
)


def render(facts: Sequence[str], sections: Sequence[Section]) -> str:
    """The whole document."""
    lines = [
        "# Performance",
        "",
        INTRODUCTION,
        "",
        "## Machine",
        "",
        *[f"- {fact}" for fact in facts],
    ]
    return "\n".join(lines) + "\n" + "".join(map(render_section, sections))


def render_section(section: Section) -> str:
    """A heading, how it was measured, and the table."""
    header = ("what", "measured", "baseline of the same run", "target", "")
    lines = ["", f"## {section.title}", "", section.method, ""]
    lines += table(header, [row.cells() for row in section.rows])
    return "\n".join(lines) + "\n"


def find_section(text: str, title: str) -> str:
    """A section as `render_section` wrote it into a document; "" if it has none."""
    _, heading, rest = text.partition(f"\n## {title}\n")
    return heading + rest.partition("\n\n## ")[0].rstrip("\n") + "\n" if heading else ""


def progress(text: str) -> None:
    """Tell who waits what is being measured."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
