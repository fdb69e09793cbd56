"""Timers: records, calendar, host calls, and the lane in which they fire."""
