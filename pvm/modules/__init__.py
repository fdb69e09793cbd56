"""Native modules that actors import: `pvm_host`, `json`, `math` and others.

Each is a table of priced functions, made afresh for every execution from its
`ModuleContext`. Rules (sandbox-internals.md §3, §9): every function has an exact
signature, passes no keywords through, checks exact types, charges before it works and
gives away no module, class or function that is not in its table. Importing anything
that is not listed here or in `pvm.library` is refused at deployment.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from pvm.modules import (
    base64,
    binascii,
    cowboy_sdk,
    hashlib,
    hmac,
    json,
    math,
    pvm_host,
    struct,
)
from pvm.runtime.context import ModuleContext

__all__ = ["ATTRIBUTES", "EXPORTS", "NATIVE", "OBJECT_ATTRIBUTES", "ModuleContext"]

_MODULES: Final = (
    ("base64", base64.make, base64.EXPORTS),
    ("binascii", binascii.make, binascii.EXPORTS),
    ("cowboy_sdk.native", cowboy_sdk.make, cowboy_sdk.EXPORTS),
    ("hashlib", hashlib.make, hashlib.EXPORTS),
    ("hmac", hmac.make, hmac.EXPORTS),
    ("json", json.make, json.EXPORTS),
    ("math", math.make, math.EXPORTS),
    ("pvm_host", pvm_host.make, pvm_host.EXPORTS),
    ("struct", struct.make, struct.EXPORTS),
)

NATIVE: Final[Mapping[str, Callable[[ModuleContext], Mapping[str, object]]]] = (
    MappingProxyType({name: make for name, make, _ in _MODULES})
)
"""How each module's names are made for one execution."""

EXPORTS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {name: exports for name, _, exports in _MODULES}
)
"""The names of each module, for the check of imports and attributes."""

ATTRIBUTES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {"cowboy_sdk.native": cowboy_sdk.ATTRIBUTES, "json": json.ATTRIBUTES}
)
"""Public names of a module's objects, known only to those who import it."""

OBJECT_ATTRIBUTES: Final = frozenset({"digest", "hexdigest", "update"})
"""Public names of the objects that functions of native modules return."""
