"""The actor virtual machine: compiles and executes actors; knows nothing of blocks.

This is its whole public surface; nobody imports past it. Names are imported when they
are first used (PEP 562): most of it compiles, which a chain without actors never does.
"""

from typing import TYPE_CHECKING

from pvm import cbor, costs
from pvm.lazy_exports import resolve

if TYPE_CHECKING:
    from pvm.actor_code import ActorCode
    from pvm.codecache import CodeCache
    from pvm.compiler.block_costs import Block
    from pvm.driver.actors import compile_actor
    from pvm.driver.interpreter import execute, find_handler
    from pvm.errors import (
        CompileError,
        Halt,
        HostError,
        HostErrorCode,
        HostMemoryExhausted,
        OutOfCells,
        OutOfCycles,
        OutOfMemory,
        OutOfWrites,
        ReadOnlyViolation,
        Refusal,
        Reverted,
        RevertError,
        StackExhausted,
        TooDeepRecursion,
        reverted,
    )
    from pvm.hashing import keccak256
    from pvm.host import (
        MUTATING,
        Host,
        ScheduleRequest,
        TimeoutRequest,
        WatchRequest,
        address_of,
    )
    from pvm.meter import CYCLES_LIMIT_MAX, Meter
    from pvm.runtime.failures import source_refused
    from pvm.runtime.owner import OWNER_KEY, RESERVED_KEYS
    from pvm.runtime.storage import STORAGE_PREFIX, storage_key, stored_values
    from pvm.tools.arcs import Arc, Arcs, ProbedCode, ProbedExecutor
    from pvm.tools.debugger import Debugger
    from pvm.tools.profile import (
        NO_COST,
        NO_LINE,
        Cost,
        Place,
        ProfiledCode,
        Recorder,
        Stack,
        by_line,
        running_line,
    )
    from pvm.tools.report import Handler, Report, Room, report_on
    from pvm.tools.syntax_reasons import syntax_hint
    from pvm.types import (
        Address,
        Cells,
        Cycles,
        Entry,
        Environment,
        Failure,
        FireContext,
        Frame,
        Limits,
        Message,
        Outcome,
    )
    from pvm.worker import NearWorker, Worker

__all__ = [
    "CYCLES_LIMIT_MAX",
    "MUTATING",
    "NO_COST",
    "NO_LINE",
    "OWNER_KEY",
    "RESERVED_KEYS",
    "STORAGE_PREFIX",
    "ActorCode",
    "Address",
    "Arc",
    "Arcs",
    "Block",
    "Cells",
    "CodeCache",
    "CompileError",
    "Cost",
    "Cycles",
    "Debugger",
    "Entry",
    "Environment",
    "Failure",
    "FireContext",
    "Frame",
    "Halt",
    "Handler",
    "Host",
    "HostError",
    "HostErrorCode",
    "HostMemoryExhausted",
    "Limits",
    "Message",
    "Meter",
    "NearWorker",
    "OutOfCells",
    "OutOfCycles",
    "OutOfMemory",
    "OutOfWrites",
    "Outcome",
    "Place",
    "ProbedCode",
    "ProbedExecutor",
    "ProfiledCode",
    "ReadOnlyViolation",
    "Recorder",
    "Refusal",
    "Report",
    "RevertError",
    "Reverted",
    "Room",
    "ScheduleRequest",
    "Stack",
    "StackExhausted",
    "TimeoutRequest",
    "TooDeepRecursion",
    "WatchRequest",
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
    "reverted",
    "running_line",
    "source_refused",
    "storage_key",
    "stored_values",
    "syntax_hint",
]

_HOMES = {
    "by_line": ".tools.profile",
    "running_line": ".tools.profile",
    "Stack": ".tools.profile",
    "Recorder": ".tools.profile",
    "ProfiledCode": ".tools.profile",
    "Place": ".tools.profile",
    "Cost": ".tools.profile",
    "NO_COST": ".tools.profile",
    "NO_LINE": ".tools.profile",
    "ActorCode": ".actor_code",
    "Address": ".types",
    "Arc": ".tools.arcs",
    "Arcs": ".tools.arcs",
    "ProbedCode": ".tools.arcs",
    "ProbedExecutor": ".tools.arcs",
    "Block": ".compiler.block_costs",
    "CYCLES_LIMIT_MAX": ".meter",
    "Cells": ".types",
    "CodeCache": ".codecache",
    "CompileError": ".errors",
    "Cycles": ".types",
    "FireContext": ".types",
    "Debugger": ".tools.debugger",
    "Entry": ".types",
    "Environment": ".types",
    "Failure": ".types",
    "Frame": ".types",
    "Halt": ".errors",
    "Handler": ".tools.report",
    "Host": ".host",
    "ScheduleRequest": ".host",
    "HostError": ".errors",
    "HostErrorCode": ".errors",
    "HostMemoryExhausted": ".errors",
    "Limits": ".types",
    "MUTATING": ".host",
    "Message": ".types",
    "Meter": ".meter",
    "NearWorker": ".worker",
    "OWNER_KEY": ".runtime.owner",
    "OutOfCells": ".errors",
    "OutOfCycles": ".errors",
    "OutOfMemory": ".errors",
    "OutOfWrites": ".errors",
    "Outcome": ".types",
    "RESERVED_KEYS": ".runtime.owner",
    "ReadOnlyViolation": ".errors",
    "Refusal": ".errors",
    "Report": ".tools.report",
    "RevertError": ".errors",
    "reverted": ".errors",
    "Reverted": ".errors",
    "Room": ".tools.report",
    "STORAGE_PREFIX": ".runtime.storage",
    "StackExhausted": ".errors",
    "TimeoutRequest": ".host",
    "TooDeepRecursion": ".errors",
    "WatchRequest": ".host",
    "Worker": ".worker",
    "address_of": ".host",
    "compile_actor": ".driver.actors",
    "execute": ".driver.interpreter",
    "find_handler": ".driver.interpreter",
    "keccak256": ".hashing",
    "report_on": ".tools.report",
    "source_refused": ".runtime.failures",
    "storage_key": ".runtime.storage",
    "stored_values": ".runtime.storage",
    "syntax_hint": ".tools.syntax_reasons",
}


def __getattr__(name: str) -> object:
    return resolve(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return __all__
