"""Timers: their records, their calendar, and the lane in which they fire."""
