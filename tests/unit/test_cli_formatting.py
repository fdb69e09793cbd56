"""Messages of the node in words, where a word too many misleads."""

import json

import pytest

from node.cli.formatting import failure_text, receipt_fields, receipt_row
from node.cli.human_json import human_json
from node.rpc.v1 import types_pb2

FAILED = types_pb2.EXECUTION_STATUS_FAILED


def test_a_deployment_that_was_refused_has_no_target():
    receipt = types_pb2.Receipt(status=FAILED, kind=types_pb2.RECEIPT_KIND_TRANSACTION)
    assert "target" not in receipt_fields(receipt)
    assert "0x" not in receipt_row(receipt)[:3]


def test_a_deployment_that_failed_left_no_actor():
    receipt = types_pb2.Receipt(
        status=FAILED,
        kind=types_pb2.RECEIPT_KIND_TRANSACTION,
        actor=b"a" * 20,
        handler="deploy",
    )
    assert "actor" in receipt_fields(receipt)
    assert "actor" not in receipt_fields(receipt, is_deployment=True)
    receipt.status = types_pb2.EXECUTION_STATUS_SUCCEEDED
    assert "actor" in receipt_fields(receipt, is_deployment=True)


def test_a_refused_source_names_its_lines_itself():
    error = types_pb2.ExecutionError(
        kind="CompileError", message="line 1, column 0: a\nline 9, column 4: b", line=1
    )
    assert failure_text(error).endswith("line 9, column 4: b")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (types_pb2.ExecutionError(kind="KeyError"), "KeyError"),
        (
            types_pb2.ExecutionError(
                kind="ValueError", message="no", handler="run", line=3, hint="try"
            ),
            "ValueError: no in run, line 3 (try)",
        ),
    ],
)
def test_kind_message_place_and_hint(error, text):
    assert failure_text(error) == text


def test_the_calls_are_told_where_there_is_more_than_one():
    frames = [
        types_pb2.StackFrame(function="Actor.run", line=3),
        types_pb2.StackFrame(function="help", line=9),
    ]
    receipt = types_pb2.Receipt(
        status=FAILED,
        kind=types_pb2.RECEIPT_KIND_FIRE,
        error=types_pb2.ExecutionError(kind="KeyError", stack=frames),
    )
    assert receipt_fields(receipt)["calls"] == "Actor.run:3 > help:9"
    del receipt.error.stack[1]
    assert "calls" not in receipt_fields(receipt)


def test_every_warning_is_told():
    receipt = types_pb2.Receipt(
        status=types_pb2.EXECUTION_STATUS_SUCCEEDED,
        kind=types_pb2.RECEIPT_KIND_TRANSACTION,
        warnings=[
            types_pb2.WARNING_EXPIRES_BEFORE_DUE,
            types_pb2.WARNING_UNSPECIFIED,
        ],
    )
    shown = receipt_fields(receipt)["warning"]
    assert shown == "WARNING_EXPIRES_BEFORE_DUE, WARNING_UNSPECIFIED"


def test_the_calls_of_a_callee_stand_behind_its_address():
    frames = [
        types_pb2.StackFrame(function="Actor.ask", line=7),
        types_pb2.StackFrame(function="check", line=6, actor=bytes(19) + b"\x07"),
    ]
    receipt = types_pb2.Receipt(
        status=FAILED,
        kind=types_pb2.RECEIPT_KIND_FIRE,
        error=types_pb2.ExecutionError(kind="RevertError", stack=frames),
    )
    assert receipt_fields(receipt)["calls"] == f"Actor.ask:7 > 0x{'00' * 19}07 check:6"


def test_a_word_of_a_newer_node_is_shown_by_its_number():
    receipt = types_pb2.Receipt(status=FAILED, kind=99)
    shown = json.loads(human_json(receipt))
    assert (shown["status"], shown["kind"]) == ("failed", "99")
