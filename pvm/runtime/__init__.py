"""What executes a compiled actor: its namespace, helpers, values, storage."""
