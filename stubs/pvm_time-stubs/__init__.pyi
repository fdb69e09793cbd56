"""`pvm_time`, also as `time`: the time of the block, in integers."""

def time_ms() -> int:
    """Virtual time of the block, in milliseconds since 1970 (D37)."""

def time_ns() -> int:
    """The same in nanoseconds."""
