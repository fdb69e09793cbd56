"""The genesis of a test's chain: a preset with the fields that the test overrides."""

import json
from collections.abc import Mapping
from pathlib import Path

from node.chain.genesis import Genesis, parse_genesis
from node.client.exceptions import InvalidArgument
from node.client.inputs import check_text
from node.config import genesis_folder

__all__ = ["preset"]


def preset(name: str | Genesis, overrides: Mapping[str, object]) -> Genesis:
    """A preset, or another genesis, with fields of its document replaced or merged.

    Raises:
        InvalidGenesis: an override that cannot be.
        InvalidArgument: no preset has that name.
    """
    if isinstance(name, Genesis):
        return parse_genesis(_merge(name.document(), overrides))
    check_text("genesis", name)
    known = {path.stem: path for path in Path(genesis_folder()).glob("*.json")}
    if name not in known:
        names = " or ".join(repr(each) for each in sorted(known))
        raise InvalidArgument("genesis", f"the name of a preset ({names})", name)
    return parse_genesis(_merge(json.loads(known[name].read_text()), overrides))


def _merge(base: dict[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    merged = dict(base)
    for name, value in changes.items():
        old = merged.get(name)
        if isinstance(old, dict) and isinstance(value, Mapping):
            merged[name] = _merge(old, value)
        else:
            merged[name] = value
    return merged
