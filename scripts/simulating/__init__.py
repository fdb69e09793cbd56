"""Populations of actors on the real chain: what the auction does to whom."""
