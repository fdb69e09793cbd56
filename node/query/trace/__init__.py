"""Traces: an execution in the state before it, executed again and watched."""

from node.query.trace.records import (
    BlockTrace,
    Changes,
    ExecutionTrace,
    ReadTrace,
    TracedCall,
)
from node.query.trace.tracing import (
    trace_block,
    trace_execution,
    trace_read,
    trace_simulation,
)

__all__ = [
    "BlockTrace",
    "Changes",
    "ExecutionTrace",
    "ReadTrace",
    "TracedCall",
    "trace_block",
    "trace_execution",
    "trace_read",
    "trace_simulation",
]
