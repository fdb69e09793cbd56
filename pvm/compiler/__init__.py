"""Source bytes to code that pays for itself; read `pipeline` first."""
