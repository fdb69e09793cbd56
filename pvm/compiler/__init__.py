"""From source bytes to code that pays for itself; read pipeline.py first."""
