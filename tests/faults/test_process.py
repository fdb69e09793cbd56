"""Faults as a process meets them: a full disk, a damaged folder."""

import json
import signal
import subprocess
from pathlib import Path

import grpc
import psutil
import pytest

from tests.unit.test_app_process import (
    DEADLINE_SECONDS,
    ROOT,
    command,
    fund,
    mine,
    running,
)

MANUAL = ("--mining", "manual", "--http-listen", "off")
# What measures coverage writes a file of its own, which a limit would end as well.
UNMEASURED = ("env", "-u", "COVERAGE_PROCESS_CONFIG", "-u", "COVERAGE_PROCESS_START")


def exits(tmp_path: Path, *flags: str) -> tuple[int, str]:
    """Exit code and standard error of a start that comes to nothing."""
    done = subprocess.run(
        command(tmp_path / "data", *MANUAL, *flags),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_full_disk_ends_the_node_and_loses_nothing_acknowledged(tmp_path):
    """A limit on the size of files stands in for the end of the disk.

    The node acknowledges nothing more, says so, and ends; with room again it has all
    that it acknowledged, and everything in the folder agrees.
    """
    acknowledged = []

    def fund_on(node) -> None:
        while len(acknowledged) < 10_000:
            acknowledged.append(fund(node))

    with running(tmp_path, *MANUAL, through=UNMEASURED) as node:
        (log,) = (tmp_path / "data").glob("*.log")
        room = log.stat().st_size + 40_000
        limit = psutil.Process(node.process.pid).rlimit
        limit(psutil.RLIMIT_FSIZE, (room, psutil.RLIM_INFINITY))
        with pytest.raises(grpc.RpcError) as refused:
            fund_on(node)
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        _, errors = node.process.communicate(timeout=DEADLINE_SECONDS)
        assert node.process.returncode == 2
    assert acknowledged
    assert "make room on its disk" in errors.splitlines()[-1]
    assert "Traceback" not in errors
    with running(tmp_path, *MANUAL, "--verify") as node:
        # One more may have reached the disk and not its sender.
        assert node.height() - acknowledged[-1] in (0, 1)
        before = node.height()
        assert mine(node, 1) == before + 1
        code, errors = node.stop()
        assert code == 0
    (verified,) = (json.loads(line) for line in errors.splitlines() if "verif" in line)
    assert verified["event"] == "chain_verified"
    assert verified["blocks"] == before + 1


def test_a_damaged_folder_ends_the_start_with_a_sentence(tmp_path):
    with running(tmp_path, *MANUAL) as node:
        assert fund(node) == 1
        node.stop(signal.SIGKILL)
    (log,) = (tmp_path / "data").glob("*.log")
    log.write_bytes(log.read_bytes()[:-200])
    code, errors = exits(tmp_path)
    assert code == 1
    assert errors.count("\n") == 1, errors
    assert "ends at height 0, and blocks up to height 1 were on disk" in errors
    assert "restore a copy of the folder" in errors
