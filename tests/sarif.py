"""The judge of SARIF: the schema that OASIS publishes."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import fastjsonschema

__all__ = ["require_sarif"]

SCHEMA = Path(__file__).parent / "fixtures" / "sarif-schema-2.1.0.json"


@cache
def _compiled() -> Callable[[object], object]:
    """Compiled when it is first asked for: that takes as long as a hundred tests."""
    return fastjsonschema.compile(json.loads(SCHEMA.read_text(encoding="utf-8")))


def require_sarif(log: object) -> None:
    """Raise JsonSchemaValueException unless it is a log of SARIF 2.1.0."""
    _compiled()(log)
