"""One table: domain error → gRPC status and `google.rpc.ErrorInfo`.

Every refusal has a stable `reason` for programs, the numbers compared as `metadata`,
and a message for people: what happened, why, and what to do. A failed execution is
none of them: it is a receipt. `table` is what the documentation prints.
"""

from collections.abc import Mapping

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from msgspec import Struct

from node.chain.advance import AdvanceFault, AdvanceRefused
from node.chain.bundle_errors import ADVICE as BUNDLE_ADVICE
from node.chain.bundle_errors import BundleFault, BundleRefused
from node.chain.consensus import CONSENSUS_NUMBER, OtherConsensus
from node.chain.errors import ADVICE as FAULT_ADVICE
from node.chain.errors import InvalidTransaction, TransactionFault
from node.primitives.merkle import ProofTooLarge
from node.query import (
    HeightNotReached,
    HistoryNotKept,
    MissingKind,
    NotFound,
    SupplyTooLarge,
)
from node.rpc.access import Unauthenticated
from node.rpc.requests import InvalidRequest, MalformedRequest
from node.rpc.room import NoRoom
from node.runtime.memory_exhaustion import NO_MEMORY, NoMemory
from node.runtime.types import (
    ChainOnlyRead,
    NodeStopping,
    ReaderTooSlow,
    TooManyReads,
    UnknownTransaction,
)
from node.state.snapshots import SnapshotFault, SnapshotRefused, UnknownSnapshot

__all__ = [
    "DOMAIN",
    "STATUS_KEY",
    "CallTooLong",
    "InvalidPageToken",
    "RpcRefusal",
    "refusal_of",
    "table",
]

DOMAIN = "cowboy.devnet"
"""`ErrorInfo.domain` of everything this node refuses."""

STATUS_KEY = "grpc-status-details-bin"
"""Where gRPC carries a `google.rpc.Status` (its richer error model)."""

_Code = grpc.StatusCode


class CallTooLong(Exception):  # noqa: N818 - a refusal, named like the others
    """A call without a deadline took longer than the server lets it."""

    def __init__(self, limit_ms: int) -> None:
        super().__init__(f"no answer within {limit_ms} ms")
        self.limit_ms = limit_ms


class InvalidPageToken(Exception):  # noqa: N818 - a refusal, named like the others
    """A page token is not one that this list gave for this question."""


class _Row(Struct, frozen=True):
    """How one kind of refusal is told."""

    code: grpc.StatusCode
    advice: str


_FAULT_CODES: dict[TransactionFault, grpc.StatusCode] = {
    TransactionFault.MALFORMED: _Code.INVALID_ARGUMENT,
    TransactionFault.TOO_LARGE: _Code.INVALID_ARGUMENT,
    TransactionFault.BAD_SIGNATURE: _Code.INVALID_ARGUMENT,
    TransactionFault.WRONG_CHAIN: _Code.INVALID_ARGUMENT,
    TransactionFault.NOT_DEV: _Code.FAILED_PRECONDITION,
    TransactionFault.NONCE_USED: _Code.FAILED_PRECONDITION,
    TransactionFault.NONCE_TOO_FAR: _Code.FAILED_PRECONDITION,
    TransactionFault.NONCE_GAP: _Code.FAILED_PRECONDITION,
    TransactionFault.LIMIT_BELOW_INTRINSIC: _Code.INVALID_ARGUMENT,
    TransactionFault.LIMIT_ABOVE_BLOCK: _Code.INVALID_ARGUMENT,
    TransactionFault.INSUFFICIENT_BALANCE: _Code.FAILED_PRECONDITION,
    TransactionFault.MAX_FEE_BELOW_BASEFEE: _Code.FAILED_PRECONDITION,
    TransactionFault.BLOCK_FULL: _Code.FAILED_PRECONDITION,
    TransactionFault.ALREADY_KNOWN: _Code.ALREADY_EXISTS,
    TransactionFault.REPLACEMENT_UNDERPRICED: _Code.FAILED_PRECONDITION,
    TransactionFault.REPLACED: _Code.ABORTED,
    TransactionFault.POOL_FULL: _Code.RESOURCE_EXHAUSTED,
}

_FAULTS: dict[TransactionFault, _Row] = {
    fault: _Row(code, FAULT_ADVICE[fault]) for fault, code in _FAULT_CODES.items()
}

_MISSING: dict[MissingKind, _Row] = {
    MissingKind.ACTOR: _Row(
        _Code.NOT_FOUND, "check the address: a deployment's receipt names it"
    ),
    MissingKind.STORAGE_KEY: _Row(
        _Code.NOT_FOUND,
        "ListStorage shows the keys that are there; `self.storage[n]` has `storage:n`",
    ),
    MissingKind.BLOCK: _Row(
        _Code.NOT_FOUND, "check the hash: after a reset old ones are gone"
    ),
    MissingKind.TIMER: _Row(
        _Code.NOT_FOUND, "check the id: ListTimers shows those that are pending"
    ),
    MissingKind.EXECUTION: _Row(
        _Code.NOT_FOUND,
        "check id and height: what waits, or left the pool, was not executed",
    ),
}

_BUNDLE_CODES: dict[BundleFault, grpc.StatusCode] = {
    BundleFault.NO_BUNDLE: _Code.INVALID_ARGUMENT,
    BundleFault.FOREIGN: _Code.FAILED_PRECONDITION,
    BundleFault.NEWER: _Code.FAILED_PRECONDITION,
    BundleFault.OLDER: _Code.FAILED_PRECONDITION,
    BundleFault.OTHER_CONSENSUS: _Code.FAILED_PRECONDITION,
    BundleFault.DAMAGED: _Code.INVALID_ARGUMENT,
    BundleFault.DIFFERS: _Code.ABORTED,
    BundleFault.TOO_LARGE: _Code.RESOURCE_EXHAUSTED,
    BundleFault.NOT_EMPTY: _Code.FAILED_PRECONDITION,
    BundleFault.FILE_UNUSABLE: _Code.UNAVAILABLE,
}
"""All but what only happens where a caller's file is."""

_BUNDLES: dict[BundleFault, _Row] = {
    fault: _Row(code, BUNDLE_ADVICE[fault]) for fault, code in _BUNDLE_CODES.items()
}

_OTHERS: dict[str, _Row] = {
    "INVALID_ARGUMENT": _Row(_Code.INVALID_ARGUMENT, "correct this field"),
    "INVALID_PAGE_TOKEN": _Row(
        _Code.INVALID_ARGUMENT, "begin again without a token, or repeat the question"
    ),
    "HISTORY_NOT_KEPT": _Row(
        _Code.FAILED_PRECONDITION,
        "ask for oldest_height or later; without at_height the head is read",
    ),
    "HEIGHT_NOT_REACHED": _Row(_Code.OUT_OF_RANGE, "ask again when it is reached"),
    "PROOF_TOO_LARGE": _Row(
        _Code.RESOURCE_EXHAUSTED, "ask for fewer heights at a time"
    ),
    "SUPPLY_TOO_LARGE": _Row(
        _Code.RESOURCE_EXHAUSTED, "leave include_supply out; --verify counts at start"
    ),
    "TOO_MANY_READS": _Row(_Code.RESOURCE_EXHAUSTED, "try again in a moment"),
    "HOST_MEMORY_EXHAUSTED": _Row(
        _Code.RESOURCE_EXHAUSTED,
        "ask for less, or start the node with a larger --memory-max",
    ),
    "CHAIN_ONLY_READ": _Row(
        _Code.FAILED_PRECONDITION, "start a node, which takes the chain from there"
    ),
    "TRANSACTION_NOT_FOUND": _Row(
        _Code.NOT_FOUND, "check the id: those dropped long ago are forgotten"
    ),
    "MALFORMED_REQUEST": _Row(
        _Code.INVALID_ARGUMENT, "send the message that the .proto files name"
    ),
    "ANSWERS_UNREAD": _Row(
        _Code.RESOURCE_EXHAUSTED,
        "read the answers that were asked for, or try again when others have",
    ),
    "READER_TOO_SLOW": _Row(
        _Code.RESOURCE_EXHAUSTED,
        "read faster, and resume after resume_height and resume_hash",
    ),
    "CALL_TOO_LONG": _Row(
        _Code.DEADLINE_EXCEEDED,
        "give the call a deadline of its own; ask GetTransaction what became of a "
        "transaction",
    ),
    "UNAUTHENTICATED": _Row(
        _Code.UNAUTHENTICATED,
        "send the metadata `authorization: Bearer TOKEN` (--token-file)",
    ),
    AdvanceFault.NO_TIME.value: _Row(_Code.INVALID_ARGUMENT, "give at least 1"),
    AdvanceFault.HEIGHT_PASSED.value: _Row(
        _Code.FAILED_PRECONDITION, "give a height above the head"
    ),
    AdvanceFault.HEIGHT_TOO_FAR.value: _Row(
        _Code.INVALID_ARGUMENT, "give a lower height"
    ),
    AdvanceFault.NO_TIMER.value: _Row(
        _Code.FAILED_PRECONDITION, "schedule a timer, or advance by blocks"
    ),
    SnapshotFault.NAME.value: _Row(_Code.INVALID_ARGUMENT, "give another name"),
    SnapshotFault.EXISTS.value: _Row(
        _Code.ALREADY_EXISTS, "delete it, or give another name"
    ),
    SnapshotFault.TOO_MANY.value: _Row(
        _Code.RESOURCE_EXHAUSTED, "delete those that nobody needs"
    ),
    SnapshotFault.POOL_TOO_LARGE.value: _Row(
        _Code.RESOURCE_EXHAUSTED, "make blocks first, so that fewer transactions wait"
    ),
    "SNAPSHOT_NOT_FOUND": _Row(
        _Code.NOT_FOUND,
        "ListSnapshots shows what is there: a revert deletes those above it",
    ),
    "OTHER_CONSENSUS": _Row(
        _Code.FAILED_PRECONDITION, "docs/operations.md, Other versions, says how"
    ),
    "NODE_STOPPING": _Row(_Code.UNAVAILABLE, "connect again when it is back"),
    "INTERNAL": _Row(_Code.INTERNAL, "this is a defect of the node: see its log"),
}


class RpcRefusal(Struct, frozen=True):
    """A refusal as it goes over the wire."""

    code: grpc.StatusCode
    reason: str
    message: str
    metadata: Mapping[str, str]

    def trailing_metadata(self) -> tuple[tuple[str, bytes], ...]:
        """The `google.rpc.Status` with its `ErrorInfo`, as gRPC carries it."""
        info = ErrorInfo(reason=self.reason, domain=DOMAIN, metadata=self.metadata)
        detail = AnyMessage()
        detail.Pack(info)
        status = Status(code=self.code.value[0], message=self.message, details=[detail])
        return ((STATUS_KEY, status.SerializeToString()),)


def refusal_of(error: Exception) -> RpcRefusal:
    """How an error is told; one that is not in the table is a defect, INTERNAL."""
    match error:
        case InvalidTransaction():
            numbers = {name: str(number) for name, number in error.numbers.items()}
            row = _FAULTS[error.fault]
            return _told(row, error.fault.value, str(error), numbers)
        case BundleRefused():
            row = _BUNDLES[error.fault]
            numbers = _numbers(**error.numbers)
            return RpcRefusal(row.code, error.fault.value, str(error), numbers)
        case NotFound():
            row, sought = _MISSING[error.missing], error.sought.hex()
            numbers = {"sought": sought}
            if error.is_maybe_forgotten:
                numbers["oldest_height"] = str(error.oldest_height)
            return _told(row, error.missing.value, str(error), numbers)
        case _:
            reason, metadata = _other(error)
            what = "the node failed" if reason == "INTERNAL" else str(error)
            what = what or NO_MEMORY  # of a `MemoryError`, which says nothing
            return _told(_OTHERS[reason], reason, what, metadata)


def _other(error: Exception) -> tuple[str, dict[str, str]]:
    match error:
        case AdvanceRefused() | SnapshotRefused():
            return error.fault.value, _numbers(**error.numbers)
        case InvalidRequest(field=field):
            metadata = {"field": field}
        case OtherConsensus(number=number):
            metadata = _numbers(consensus=number, own=CONSENSUS_NUMBER)
        case UnknownSnapshot(name=name):
            metadata = {"name": name[:80]}
        case (
            HistoryNotKept()
            | HeightNotReached()
            | ProofTooLarge()
            | CallTooLong()
            | NoRoom()
        ):
            metadata = _numbers(**vars(error))  # all of their numbers
        case ReaderTooSlow(resume_height=height, resume_hash=block_hash):
            metadata = _numbers(resume_height=height)
            metadata["resume_hash"] = block_hash.hex()
        case _:
            metadata = {}
    return _REASONS.get(type(error), "INTERNAL"), metadata


_REASONS: dict[type[Exception], str] = {
    InvalidRequest: "INVALID_ARGUMENT",
    HistoryNotKept: "HISTORY_NOT_KEPT",
    HeightNotReached: "HEIGHT_NOT_REACHED",
    ReaderTooSlow: "READER_TOO_SLOW",
    CallTooLong: "CALL_TOO_LONG",
    InvalidPageToken: "INVALID_PAGE_TOKEN",
    MalformedRequest: "MALFORMED_REQUEST",
    NoRoom: "ANSWERS_UNREAD",
    ProofTooLarge: "PROOF_TOO_LARGE",
    SupplyTooLarge: "SUPPLY_TOO_LARGE",
    TooManyReads: "TOO_MANY_READS",
    Unauthenticated: "UNAUTHENTICATED",
    UnknownSnapshot: "SNAPSHOT_NOT_FOUND",
    UnknownTransaction: "TRANSACTION_NOT_FOUND",
    NodeStopping: "NODE_STOPPING",
    ChainOnlyRead: "CHAIN_ONLY_READ",
    OtherConsensus: "OTHER_CONSENSUS",
    NoMemory: "HOST_MEMORY_EXHAUSTED",
    MemoryError: "HOST_MEMORY_EXHAUSTED",
}


def _numbers(**numbers: int) -> dict[str, str]:
    return {name: str(number) for name, number in numbers.items()}


def _told(row: _Row, reason: str, what: str, metadata: Mapping[str, str]) -> RpcRefusal:
    return RpcRefusal(row.code, reason, f"{what}: {row.advice}", metadata)


def table() -> list[tuple[str, str, str]]:
    """(reason, status, what to do) of every refusal, by reason."""
    rows = {fault.value: row for fault, row in _FAULTS.items()}
    rows |= {missing.value: row for missing, row in _MISSING.items()}
    rows |= {fault.value: row for fault, row in _BUNDLES.items()}
    rows |= _OTHERS
    return [(reason, row.code.name, row.advice) for reason, row in sorted(rows.items())]
