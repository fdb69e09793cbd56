"""Coverage of actors: which lines and branches of their files ran, for coverage.py."""
