"""The running node: the engine, which alone writes, and what paces and feeds it."""
