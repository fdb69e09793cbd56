"""A prompt on a chain: statements, their values, undo, and the session as a test."""
