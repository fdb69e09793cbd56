"""Every refusal has one row: a status, a stable reason, what to do."""

import grpc
import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from node.chain.errors import InvalidTransaction, TransactionFault
from node.query import HeightNotReached, HistoryNotKept, MissingKind, NotFound
from node.rpc.errors import DOMAIN, STATUS_KEY, refusal_of, table
from node.rpc.requests import InvalidRequest
from node.runtime.memory_exhaustion import NoMemory
from node.runtime.types import (
    NodeStopping,
    ReaderTooSlow,
    TooManyReads,
    UnknownTransaction,
)
from node.state.snapshots import SnapshotFault, SnapshotRefused, UnknownSnapshot

CODES = grpc.StatusCode


@pytest.mark.parametrize("fault", list(TransactionFault))
def test_every_fault_of_a_transaction_is_told_with_its_numbers(fault):
    refusal = refusal_of(InvalidTransaction(fault, "so it is", {"nonce": 3}))
    assert refusal.reason == fault.value
    assert refusal.metadata == {"nonce": "3"}
    assert refusal.message.startswith("so it is: ")


@pytest.mark.parametrize("missing", list(MissingKind))
def test_unknown_ids_are_not_found(missing):
    refusal = refusal_of(NotFound(missing, b"\x12"))
    assert (refusal.code, refusal.reason) == (CODES.NOT_FOUND, missing.value)
    assert refusal.metadata == {"sought": "12"}


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (TransactionFault.MALFORMED, CODES.INVALID_ARGUMENT),
        (TransactionFault.BAD_SIGNATURE, CODES.INVALID_ARGUMENT),
        (TransactionFault.NONCE_USED, CODES.FAILED_PRECONDITION),
        (TransactionFault.NONCE_TOO_FAR, CODES.FAILED_PRECONDITION),
        (TransactionFault.INSUFFICIENT_BALANCE, CODES.FAILED_PRECONDITION),
        (TransactionFault.POOL_FULL, CODES.RESOURCE_EXHAUSTED),
    ],
)
def test_kinds_of_trouble_have_the_documented_status(fault, code):
    assert refusal_of(InvalidTransaction(fault, "x")).code is code


@pytest.mark.parametrize(
    ("error", "code", "reason", "metadata"),
    [
        (
            InvalidRequest("nonce", "is bad"),
            CODES.INVALID_ARGUMENT,
            "INVALID_ARGUMENT",
            {"field": "nonce"},
        ),
        (
            HistoryNotKept(3, 9),
            CODES.FAILED_PRECONDITION,
            "HISTORY_NOT_KEPT",
            {"height": "3", "oldest_height": "9"},
        ),
        (
            HeightNotReached(9, 3),
            CODES.OUT_OF_RANGE,
            "HEIGHT_NOT_REACHED",
            {"height": "9", "head_height": "3"},
        ),
        (
            ReaderTooSlow(7, bytes(32)),
            CODES.RESOURCE_EXHAUSTED,
            "READER_TOO_SLOW",
            {"resume_height": "7", "resume_hash": "00" * 32},
        ),
        (
            SnapshotRefused(SnapshotFault.TOO_MANY, "too many", {"count": 9}),
            CODES.RESOURCE_EXHAUSTED,
            "TOO_MANY_SNAPSHOTS",
            {"count": "9"},
        ),
        (
            UnknownSnapshot("base"),
            CODES.NOT_FOUND,
            "SNAPSHOT_NOT_FOUND",
            {"name": "base"},
        ),
        (TooManyReads("32 wait"), CODES.RESOURCE_EXHAUSTED, "TOO_MANY_READS", {}),
        (NoMemory("none"), CODES.RESOURCE_EXHAUSTED, "HOST_MEMORY_EXHAUSTED", {}),
        (UnknownTransaction("00"), CODES.NOT_FOUND, "TRANSACTION_NOT_FOUND", {}),
        (NodeStopping("stopping"), CODES.UNAVAILABLE, "NODE_STOPPING", {}),
    ],
)
def test_other_refusals_carry_the_numbers_compared(error, code, reason, metadata):
    refusal = refusal_of(error)
    assert (refusal.code, refusal.reason) == (code, reason)
    assert refusal.metadata == metadata


def test_a_defect_is_internal_and_tells_nothing_of_itself():
    refusal = refusal_of(ZeroDivisionError("a secret"))
    assert (refusal.code, refusal.reason) == (CODES.INTERNAL, "INTERNAL")
    assert "secret" not in refusal.message


def test_a_refusal_travels_as_error_info():
    refusal = refusal_of(HistoryNotKept(3, 9))
    ((key, value),) = refusal.trailing_metadata()
    status = Status.FromString(value)
    info = ErrorInfo()
    assert key == STATUS_KEY
    assert status.code == CODES.FAILED_PRECONDITION.value[0]
    assert status.message == refusal.message
    assert status.details[0].Unpack(info)
    assert (info.reason, info.domain) == ("HISTORY_NOT_KEPT", DOMAIN)
    assert info.metadata == {"height": "3", "oldest_height": "9"}


def test_the_table_has_every_reason_once_with_what_to_do():
    rows = table()
    reasons = [reason for reason, _, _ in rows]
    assert len(set(reasons)) == len(reasons)
    assert {f.value for f in TransactionFault} | {m.value for m in MissingKind} <= set(
        reasons
    )
    assert all(reason == reason.upper() and advice for reason, _, advice in rows)
