"""The genesis of a test's chain: a preset with the fields that the test overrides."""

import json
from collections.abc import Mapping
from pathlib import Path

from node.chain.genesis import Genesis, parse_genesis
from node.config import genesis_folder

__all__ = ["preset"]


def preset(name: str, overrides: Mapping[str, object]) -> Genesis:
    """A preset with fields of its document replaced, nested ones merged.

    Raises:
        InvalidGenesis: an override that cannot be.
    """
    path = Path(genesis_folder()) / f"{name}.json"
    return parse_genesis(_merge(json.loads(path.read_text()), overrides))


def _merge(base: dict[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    merged = dict(base)
    for name, value in changes.items():
        old = merged.get(name)
        if isinstance(old, dict) and isinstance(value, Mapping):
            merged[name] = _merge(old, value)
        else:
            merged[name] = value
    return merged
