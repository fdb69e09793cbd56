"""The fuzzer of the ports: it repeats itself, and its judge sees what it is to see."""

import subprocess
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace

import grpc
import pytest
from google.protobuf.any_pb2 import Any
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from tests import fuzz_server
from tests.fuzz_server import (
    LawBroken,
    Node,
    broken,
    message,
    require_reason,
    require_typed,
)

ROOT = Path(__file__).parents[2]


def refusal(code, reason=None):
    details = []
    if reason is not None:
        detail = Any()
        detail.Pack(ErrorInfo(reason=reason))
        status = Status(details=[detail]).SerializeToString()
        details.append(("grpc-status-details-bin", status))
    return SimpleNamespace(
        code=lambda: code, details=lambda: "", trailing_metadata=lambda: details
    )


def test_a_refusal_has_a_reason_of_the_table():
    require_typed(refusal(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT"))
    require_typed(refusal(grpc.StatusCode.DEADLINE_EXCEEDED))


@pytest.mark.parametrize(
    "error",
    [
        refusal(grpc.StatusCode.UNKNOWN),
        refusal(grpc.StatusCode.INTERNAL, "INTERNAL"),
        refusal(grpc.StatusCode.INVALID_ARGUMENT),
        refusal(grpc.StatusCode.INVALID_ARGUMENT, "NEVER_HEARD_OF"),
    ],
)
def test_any_other_refusal_is_told(error):
    with pytest.raises(LawBroken, match="a refusal"):
        require_typed(error)


def over_http(code, *reasons):
    details = [{"debug": {"reason": reason}} for reason in reasons]
    return {"code": code, "message": "", "details": details}


def test_a_refusal_over_http_has_one_too():
    require_reason(over_http("invalid_argument", "INVALID_ARGUMENT"))
    require_reason(over_http("deadline_exceeded"))
    for error in (
        over_http("internal"),
        over_http("internal", "INTERNAL"),
        over_http("unknown"),
        over_http("not_found"),
        over_http("not_found", "NEVER_HEARD_OF"),
    ):
        with pytest.raises(LawBroken, match="over HTTP"):
            require_reason(error)


def test_a_node_that_ended_is_told():
    process = SimpleNamespace(poll=lambda: -11, returncode=-11)
    with pytest.raises(LawBroken, match="ended with -11"):
        Node(process, {"grpc": "127.0.0.1:1"}, None).judge()


@pytest.mark.parametrize("seed", range(8))
def test_a_seed_makes_the_same_bytes(seed):
    def made():
        random = Random(seed)
        return [
            broken(random, message(random, each.input_type).SerializeToString())
            for each in fuzz_server.METHODS
        ]

    assert made() == made()


def test_every_method_of_the_api_is_called():
    written = (ROOT / "proto" / "node" / "rpc" / "v1").glob("*.proto")
    count = sum(path.read_text().count("\n  rpc ") for path in written)
    assert len(fuzz_server.METHODS) == count > 30


@pytest.mark.slow
def test_a_node_withstands_a_few_rounds_and_a_traceback_is_told(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz_server", "--seed=1", "--seconds=2"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "the node withstood all" in done.stdout
    log = tmp_path / "log"
    log.write_text("Traceback (most recent call last)")
    with fuzz_server.node() as served:
        served.judge()
        served.log = log
        with pytest.raises(LawBroken, match="its log"):
            served.judge()
