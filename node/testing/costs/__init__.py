"""Costs of a run of tests in a file, and which lines became dearer since."""
