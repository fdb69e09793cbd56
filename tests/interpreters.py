"""The interpreters on which one chain has one root, as far as this checkout has them.

An environment is a folder beside `.venv` that `make setup` made: `.venv-3.12`, say.
REQUIRE_INTERPRETERS names versions that may not be missing, separated by spaces; where
it is not set, whatever is there is compared.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13")
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


def environments() -> Mapping[str, Path]:
    """Version → interpreter, of every environment of this checkout."""
    found = {}
    for configured in sorted(ROOT.glob(".venv*/pyvenv.cfg")):
        lines = configured.read_text(encoding="utf-8").splitlines()
        fields = dict(line.partition(" = ")[::2] for line in lines)
        version = ".".join(fields.get("version", "").split(".")[:2])
        python = configured.parent / "bin" / "python"
        if version in VERSIONS and python.exists():
            found.setdefault(version, python)
    return found


def others() -> tuple[Path, ...]:
    """The interpreters of all other versions than the one that runs.

    Raises:
        AssertionError: REQUIRE_INTERPRETERS names one that is missing.
    """
    found = environments()
    for version in os.environ.get("REQUIRE_INTERPRETERS", "").split():
        assert version in found or version == HERE, (
            f"there is no environment of CPython {version}: make it with "
            f"make setup VENV=.venv-{version} PYTHON=python{version}"
        )
    return tuple(found[version] for version in found if version != HERE)
