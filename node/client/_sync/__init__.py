"""Clients without an event loop, written by `scripts/gensync.py`."""
