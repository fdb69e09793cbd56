"""Start of the node, its import budget, its memory; import of `node.testing`."""

import re
import subprocess
import sys
import time
from pathlib import Path

from benches.nodes import output_of_python, running_node, seconds_of_python
from benches.report import Row, Section, interleave, median

STARTS = 15
IMPORTS = 9
IDLE_SECONDS = 5
BASELINE = "import grpc.aio, plyvel"
MEMORY_BASELINE = "import grpc.aio, plyvel, uvloop, coincurve, structlog"
MEBIBYTE = 1 << 20

START_MS_MAX = 400
IMPORT_MS_MAX = 150
MEMORY_MIB_MAX = 90

FORBIDDEN = {
    "table printers": {"rich", "tabulate", "prettytable", "texttable", "structlog"},
    "settings libraries": {"pydantic", "pydantic_settings", "dotenv", "dynaconf"},
    "HTTP libraries": {
        *("aiohttp", "h11", "httpx", "requests", "starlette", "tornado"),
        *("urllib3", "uvicorn", "werkzeug", "http"),
    },
}
"""What `start` must not import before it is ready; structlog brings `rich`."""

BUDGET_US_MIN = 500
"""Packages below it are shown together."""
_OTHERS = "all others"

_IMPORT_LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")

_TIME_IMPORT = """
import time
began = time.perf_counter()
{statement}
print(time.perf_counter() - began)
"""


def measure_start() -> Section:
    """Process start to first answer, in fresh folders, with the import budget."""

    def start() -> float:
        with running_node() as node:
            return node.seconds

    starts, baselines = interleave(STARTS, start, lambda: seconds_of_python(BASELINE))
    budget, forbidden = import_budget()
    milliseconds = median(starts) * 1_000
    rows = (
        Row(
            "process start to first answered RPC, fresh folder",
            f"{milliseconds:.0f} ms (least {min(starts) * 1_000:.0f})",
            f"`python -c '{BASELINE}'`: {median(baselines) * 1_000:.0f} ms",
            f"< {START_MS_MAX} ms",
            milliseconds < START_MS_MAX,
        ),
        Row(
            "imported before it is ready: " + ", ".join(FORBIDDEN),
            ", ".join(sorted(forbidden)) or "none",
            f"{sum(own for _, own, _ in budget) / 1_000:.0f} ms of imports in all",
            "none",
            not forbidden,
        ),
        *(
            Row(f"import budget: `{name}`", f"{spent / 1_000:.1f} ms", count, "", None)
            for name, spent, count in budget
        ),
    )
    return Section(
        "Start",
        f"`cowboy-devnet start` on a free port of this machine, {STARTS} times, each "
        "in a fresh folder with LevelDB, until `GetStatus` is answered to a client "
        "that connects when the banner comes. The import budget is one start under "
        "`python -X importtime`, which makes imports about half as slow again: the "
        "time of each top-level package's own modules until the node is ready.",
        rows,
    )


def import_budget() -> tuple[list[tuple[str, int, str]], set[str]]:
    """(package, microseconds, how many modules) of a start; forbidden ones."""
    prefix = (sys.executable, "-X", "importtime", "-m", "node")
    with running_node(prefix=prefix) as node:
        log = node.log.read_text(encoding="utf-8")
    spent: dict[str, int] = {}
    modules: dict[str, int] = {}
    seen: set[str] = set()
    for match in _IMPORT_LINE.finditer(log):
        top = match[2].partition(".")[0]
        seen.add(top)
        group = "standard library" if top in sys.stdlib_module_names else top
        spent[group] = spent.get(group, 0) + int(match[1])
        modules[group] = modules.get(group, 0) + 1
    for group in [name for name, own in spent.items() if own < BUDGET_US_MIN]:
        spent[_OTHERS] = spent.get(_OTHERS, 0) + spent.pop(group)
        modules[_OTHERS] = modules.get(_OTHERS, 0) + modules.pop(group)
    budget = [
        (group, spent[group], f"{modules[group]} modules")
        for group in sorted(spent, key=lambda group: -spent[group])
    ]
    return budget, seen & set().union(*FORBIDDEN.values())


def measure_import() -> Section:
    """Import of `node.testing` with what it exports."""

    def import_of(statement: str) -> float:
        return float(output_of_python(_TIME_IMPORT.format(statement=statement)))

    needed = "import RestrictedPython, coincurve, sha3"
    testing, baselines = interleave(
        IMPORTS,
        lambda: import_of("from node.testing import Devnet"),
        lambda: import_of(needed),
    )
    milliseconds = median(testing) * 1_000
    row = Row(
        "`from node.testing import Devnet`",
        f"{milliseconds:.0f} ms (least {min(testing) * 1_000:.0f})",
        f"`{needed}`: {median(baselines) * 1_000:.0f} ms",
        f"< {IMPORT_MS_MAX} ms",
        milliseconds < IMPORT_MS_MAX,
    )
    return Section(
        "Import",
        f"In {IMPORTS} new interpreters, from inside; the baseline is what comes from "
        "others and cannot be left out.",
        (row,),
    )


def measure_memory() -> Section:
    """Resident memory of a node that does nothing but make empty blocks."""
    with running_node() as node:
        time.sleep(IDLE_SECONDS)
        rss, anonymous = memory_mib(node.process.pid)
    baseline_rss, baseline_anonymous = _memory_of_python()
    row = Row(
        "idle node",
        f"RSS {rss:.0f} MiB, anonymous {anonymous:.0f} MiB",
        f"`python -c '{MEMORY_BASELINE}'`: RSS {baseline_rss:.0f}, anonymous "
        f"{baseline_anonymous:.0f} MiB",
        f"RSS < {MEMORY_MIB_MAX} MiB",
        rss < MEMORY_MIB_MAX,
    )
    return Section(
        "Memory",
        f"After {IDLE_SECONDS} s of empty blocks, one a second, log open, from "
        "`/proc/PID/smaps_rollup`. RSS counts the pages of files that are mapped, "
        "shared libraries among them; anonymous memory is the node's own.",
        (row,),
    )


def memory_mib(pid: int) -> tuple[float, float]:
    """Resident and anonymous memory of a process."""
    fields = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines()[1:]:
        name, value = line.split()[:2]
        fields[name] = int(value) * 1_024 / MEBIBYTE
    return fields["Rss:"], fields["Anonymous:"]


def _memory_of_python() -> tuple[float, float]:
    code = f"{MEMORY_BASELINE}\nprint(flush=True)\ninput()"
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        memory = memory_mib(process.pid)
        process.communicate("\n")
    return memory
