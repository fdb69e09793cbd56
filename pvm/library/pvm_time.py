"""`pvm_time`, also as `time`: the time of the block, in integers.

There is no other clock: `time_ns` is the block's timestamp, the same for the whole
block (D37). `time`, `sleep` and the rest are missing, floats and waiting with them.
"""

from pvm_host import block_timestamp as _timestamp


def time_ms():
    """Milliseconds since 1970 at which the block says it was made."""
    return _timestamp()


def time_ns():
    """The same in nanoseconds."""
    return _timestamp() * 1_000_000
