"""Forecasts: what rules would do with a timer, as far as is known now."""
