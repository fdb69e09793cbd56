"""Decorators, dataclasses, enums and more, written out in plain statements."""
