"""Traces: an execution in the state before it, executed again and watched."""
