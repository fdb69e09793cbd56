"""Clients for programs with an event loop, written by hand."""
