"""The actor virtual machine: compiles and executes actors; knows nothing of blocks.

This is its whole public surface; nobody imports past it.
"""

from pvm import cbor, costs
from pvm.codecache import CodeCache
from pvm.compiler import ActorCode, compile_actor
from pvm.errors import (
    CompileError,
    Halt,
    HostError,
    HostErrorCode,
    OutOfCells,
    OutOfCycles,
    OutOfMemory,
    OutOfWrites,
    ReadOnlyViolation,
    Refusal,
    Reverted,
    RevertError,
    TooDeepRecursion,
)
from pvm.hashing import keccak256
from pvm.host import MUTATING, Host, address_of
from pvm.interpreter import execute, find_handler
from pvm.ledger import Block
from pvm.meter import CYCLES_LIMIT_MAX, Meter
from pvm.profile import NO_LINE, Cost, Place, ProfiledCode, Recorder, Stack, by_line
from pvm.report import Handler, Report, Room, report_on
from pvm.storage import STORAGE_PREFIX, storage_key
from pvm.types import (
    Address,
    Cells,
    Cycles,
    Entry,
    Environment,
    Failure,
    Frame,
    Limits,
    Message,
    Outcome,
)
from pvm.worker import Worker

__all__ = [
    "CYCLES_LIMIT_MAX",
    "MUTATING",
    "NO_LINE",
    "STORAGE_PREFIX",
    "ActorCode",
    "Address",
    "Block",
    "Cells",
    "CodeCache",
    "CompileError",
    "Cost",
    "Cycles",
    "Entry",
    "Environment",
    "Failure",
    "Frame",
    "Halt",
    "Handler",
    "Host",
    "HostError",
    "HostErrorCode",
    "Limits",
    "Message",
    "Meter",
    "OutOfCells",
    "OutOfCycles",
    "OutOfMemory",
    "OutOfWrites",
    "Outcome",
    "Place",
    "ProfiledCode",
    "ReadOnlyViolation",
    "Recorder",
    "Refusal",
    "Report",
    "RevertError",
    "Reverted",
    "Room",
    "Stack",
    "TooDeepRecursion",
    "Worker",
    "address_of",
    "by_line",
    "cbor",
    "compile_actor",
    "costs",
    "execute",
    "find_handler",
    "keccak256",
    "report_on",
    "storage_key",
]
