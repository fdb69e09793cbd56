"""What executes a compiled actor: one message at a time, paid as it goes."""
