"""Measurements of `scripts/bench.py`, one module for each kind."""
