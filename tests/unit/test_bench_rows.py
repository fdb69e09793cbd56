"""The bench of prices tries every row there is (docs/performance.md)."""

import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture(scope="module")
def rows():
    sys.path.insert(0, str(SCRIPTS))
    from benches import rows  # noqa: PLC0415 - scripts are no package

    yield rows
    sys.path.remove(str(SCRIPTS))


def test_no_row_of_the_price_table_is_forgotten(rows):
    assert rows.wanted() - rows.covered() == set()


def test_every_row_that_is_tried_exists(rows):
    extra = rows.covered() - rows.wanted()
    # No values of an actor's.
    forms = {"classmethod", "property", "staticmethod", "super"}
    found = {row for row in extra if not row.startswith("refused ")}
    assert found == {"exceptions", *forms}


@pytest.mark.slow
def test_every_program_runs_until_its_cycles_are_used_up(rows):
    """`measure` refuses a program that ends for another reason."""
    assert all(
        found > 0 for row in rows.measure(3_000, 0).values() for found in row.values()
    )
