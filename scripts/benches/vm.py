"""The virtual machine's speed, under each interpreter that has an environment here.

Run by itself (`python -m benches.vm ratios`) it measures under the interpreter it runs
in, and prints JSON.
"""

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from RestrictedPython import compile_restricted, safe_builtins
from RestrictedPython.Eval import default_guarded_getitem, default_guarded_getiter
from RestrictedPython.Guards import safer_getattr

from benches import rows, vmtimes
from benches.report import Row, Section
from benches.workloads import WORKLOADS
from pvm import Meter, compile_actor, execute
from pvm.testing import World

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 50
ROW_MAX = 50.0
COMPILE_MAX = 15.0
"""Milliseconds, of 360 ordinary lines."""
MESSAGE_MAX = 100.0
"""Microseconds; half as much again with an Enum or the SDK."""
SHOWN = 15
PRINTED_ELSEWHERE = frozenset(
    {"schedule_timer", "schedule_timer_ex", "cancel_timer", "extend_timer"}
)
"""CIP-5 §6.1 prints their price; a list of timers is made of them first."""
_NOT_REPEATED = frozenset({"revert"})
"""Programs whose time is that of what comes before the call."""
_MEMORY = 2**30 - 1


def ratios() -> dict[str, dict[str, float]]:
    """Workload → least times, as ratios to plain `exec`'s."""
    world = World()
    try:
        return world.worker.run(
            lambda: {name: _ratio(world, one.source) for name, one in WORKLOADS.items()}
        )
    finally:
        world.worker.close()


def _ratio(world: World, source: str) -> dict[str, float]:
    code = compile_actor(source.encode())
    message = world.message(world.add(code), ("run",), b"")
    plain = compile(source, "plain", "exec")
    guarded = compile_restricted(source, "guarded", "exec")

    def metered() -> None:
        meter = Meter(_MEMORY, _MEMORY)
        meter.memory.cell_contents = _MEMORY
        # A workload asks its host for nothing.
        outcome = execute(code, message, world, meter)  # type: ignore[arg-type]
        assert outcome.is_success, outcome.failure

    samplers = (metered, lambda: _exec(plain, {}), lambda: _exec(guarded, _guards()))
    gc.disable()
    best = [min(taken) for taken in zip(*_samples(samplers), strict=True)]
    gc.enable()
    return {"vm": best[0] / best[1], "guards": best[2] / best[1]}


def _samples(samplers: tuple[Callable[[], None], ...]) -> list[list[float]]:
    """Rounds of one sample each, so that a slow stretch meets them all."""
    rounds = []
    for _ in range(ROUNDS):
        taken = []
        for sampler in samplers:
            began = time.thread_time()
            sampler()
            taken.append(time.thread_time() - began)
        rounds.append(taken)
    return rounds


def _exec(code: object, namespace: dict[str, object]) -> None:
    exec(code, namespace)  # type: ignore[arg-type] # noqa: S102 - a workload
    run = namespace["run"]
    assert callable(run)
    run()


def _guards() -> dict[str, object]:
    """What RestrictedPython's documentation sets up, and what the workloads call."""
    return {
        "__builtins__": safe_builtins | {"sorted": sorted},
        "__metaclass__": type,
        "__name__": "guarded",
        "_getattr_": safer_getattr,
        "_getitem_": default_guarded_getitem,
        "_getiter_": default_guarded_getiter,
        "_write_": lambda value: value,
    }


def measure_ratios() -> Section:
    """Metered actor code against the same source in plain Python."""
    found = {name: _under(python, "ratios") for name, python in interpreters().items()}
    lines = []
    for name, workload in WORKLOADS.items():
        own = {version: ratios[name]["vm"] for version, ratios in found.items()}
        guards = {version: ratios[name]["guards"] for version, ratios in found.items()}
        lines.append(
            Row(
                name,
                _by_version(own),
                f"RestrictedPython's guards, unmetered: {_by_version(guards)}",
                f"≤ {workload.target}",
                max(own.values()) <= workload.target,
            )
        )
    method = (
        f"Least of {ROUNDS} rounds, in turns, in one process: a whole message that "
        "runs the lines, with cycles, memory and depth metered, as a ratio to plain "
        "`exec` of the same source (`scripts/benches/workloads.py`)."
    )
    return Section("Virtual machine: overhead", method, tuple(lines))


def measure_prices() -> Section:
    """Time that a cycle takes, of the dearest rows of the price table."""
    found = {name: _under(python, "prices") for name, python in interpreters().items()}
    worst: dict[str, dict[str, float]] = {}
    for version, ratios in found.items():
        for row, programs in ratios.items():
            if programs and row not in _NOT_REPEATED:
                worst.setdefault(row, {})[version] = max(programs.values())
    dearest = sorted(worst, key=lambda row: -max(worst[row].values()))
    middle = worst[dearest[len(dearest) // 2]]
    lines = []
    for row in dearest[:SHOWN]:
        is_printed = row in PRINTED_ELSEWHERE
        lines.append(
            Row(
                f"`{row}`{', its price printed by CIP-5 §6.1' * is_printed}",
                f"{_by_version(worst[row], 1)} ns a cycle",
                f"the middle row: {_by_version(middle, 1)}",
                "" if is_printed else f"< {ROW_MAX:.0f}",
                None if is_printed else max(worst[row].values()) < ROW_MAX,
            )
        )
    method = (
        f"All {len(worst)} rows were tried, each constant, builtin, method, function "
        "of a module and host call, with the worst operands that were found "
        f"(`scripts/benches/operands.py`); these are the dearest {SHOWN}. Time of the "
        "thread, in a block of a real chain, least of five runs."
    )
    return Section("Virtual machine: prices", method, tuple(lines))


def measure_compiling() -> Section:
    """Time from source to code."""
    found = {
        name: _under(python, "compiling") for name, python in interpreters().items()
    }
    lines = []
    for name in vmtimes.SOURCES:
        each = {version: sources[name] for version, sources in found.items()}
        own = {version: one["ms"] for version, one in each.items()}
        plain = {version: one["plain"] for version, one in each.items()}
        paid = {version: one["ns"] for version, one in each.items()}
        count = next(iter(each.values()))["lines"]
        is_ordinary = name == vmtimes.ORDINARY
        lines.append(
            Row(
                f"{count:.0f} lines, {name}",
                f"{_by_version(own, 1)} ms",
                f"`ast.parse` and `compile` alone: {_by_version(plain, 1)} ms; "
                f"{_by_version(paid, 0)} ns for each cycle of a deployment",
                f"< {COMPILE_MAX:.0f} ms" if is_ordinary else "",
                max(own.values()) < COMPILE_MAX if is_ordinary else None,
            )
        )
    method = f"Time of the thread, least of {vmtimes.ROUNDS} rounds, without a cache."
    return Section("Virtual machine: compiling", method, tuple(lines))


def measure_messages() -> Section:
    """Time of one message to an actor that is compiled already."""
    found = {
        name: _under(python, "messages") for name, python in interpreters().items()
    }
    lines = []
    for name in vmtimes.MESSAGES_OF:
        own = {version: actors[name]["us"] for version, actors in found.items()}
        plain = {version: actors[name]["plain"] for version, actors in found.items()}
        target = MESSAGE_MAX if name == vmtimes.PLAIN else MESSAGE_MAX * 1.5
        lines.append(
            Row(
                name,
                f"{_by_version(own, 0)} µs",
                f"plain Python on a dictionary {_by_version(plain, 0)} µs",
                f"< {target:.0f} µs",
                max(own.values()) < target,
            )
        )
    method = (
        "One message that reads, adds and writes one key of storage, in a block of a "
        "real chain, through its host, without signature and commit. Time of the "
        f"thread, of {vmtimes.MESSAGES} messages, least of {vmtimes.ROUNDS} rounds."
    )
    return Section("Virtual machine: messages", method, tuple(lines))


def _by_version(values: Mapping[str, float], digits: int = 2) -> str:
    return ", ".join(f"{value:.{digits}f} ({name})" for name, value in values.items())


def interpreters() -> dict[str, Path]:
    """Version → interpreter of an environment of this folder."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = {here: Path(sys.executable)}
    for version in ("3.11", "3.12", "3.13"):
        other = ROOT / f".venv-{version}" / "bin" / "python"
        if other.exists() and version != here:
            found[version] = other
    return found


def _under(python: Path, what: str) -> dict[str, dict[str, float]]:
    done = subprocess.run(
        [python, "-m", "benches.vm", what],
        cwd=ROOT / "scripts",
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'scripts'}"},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    measures = {
        "compiling": vmtimes.compiling,
        "messages": vmtimes.messages,
        "prices": rows.measure,
        "ratios": ratios,
    }
    sys.stdout.write(json.dumps(measures[sys.argv[1]]()))
