"""Names that a package exports without importing their modules before they are used.

PEP 562: a package's `__getattr__` is asked for what it does not have yet. What a
process never uses it never loads, which is most of a node's start.
"""

import sys
from collections.abc import Mapping
from importlib import import_module

from pvm.alarm import suspended


def resolve(package: str, homes: Mapping[str, str], name: str) -> object:
    """`package.name`, from its home; the package has it from then on.

    Args:
        package: whose `__getattr__` asks.
        homes: module of each exported name, a relative one with its dot.
        name: what is wanted.

    Raises:
        AttributeError: the package exports no such name.
    """
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    with suspended():
        value: object = getattr(import_module(homes[name], package), name)
    setattr(sys.modules[package], name, value)
    return value
