"""docs/host-api.md and docs/compatibility.md against the tables in the code."""

import re
from pathlib import Path

from pvm import language
from pvm.driver.library_loader import find_module

DOCS = Path(__file__).parents[2] / "docs"


def page(name):
    return (DOCS / name).read_text()


def between(text, name):
    return text.split(f"<!-- {name} begin -->")[1].split(f"<!-- {name} end -->")[0]


def first_cells(text):
    return [row.split("|")[1] for row in text.splitlines() if row.startswith("| `")]


def test_every_function_of_the_runtime_has_its_row():
    cells = " ".join(first_cells(between(page("host-api.md"), "runtime")))
    assert (
        set(re.findall(r"`(\w+)", cells)) == find_module("cowboy_sdk.runtime").exports
    )


def test_every_name_of_the_sdk_is_told():
    text = page("host-api.md").split("## 4.")[1]
    told = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", text))))
    assert find_module("cowboy_sdk").exports - {"GuardedValue"} <= told


def test_every_absent_name_has_its_row():
    cells = " ".join(first_cells(between(page("compatibility.md"), "absent")))
    assert set(re.findall(r"`(\w+)`", cells)) == language.ABSENT_FROM_SDK.keys()
