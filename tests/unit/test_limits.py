"""Each limit of sandbox.md §5 at its value and one beyond."""

import pytest

from pvm.testing import call_once

NESTED = "x = []\nfor i in range({}):\n    x = [x]\nreturn "


def error_of(body):
    source = "def run():\n    " + "\n    ".join(body.split("\n"))
    return call_once(source).error.partition(":")[0]


@pytest.mark.parametrize(
    ("body", "at", "beyond", "error"),
    [
        ("return (1 << {}) > 0", 4_095, 4_096, "OverflowError"),
        ("return 2 ** {} > 0", 4_095, 4_096, "OverflowError"),
        ("return {{'a' * {}: 1}} == 1", 1_024, 1_025, "ValueError"),
        ("return {{b'a' * {}: 1}} == 1", 1_024, 1_025, "ValueError"),
        ("k = {}\nreturn {{k: 1}} == 1", 2**60 - 1, 2**60, "ValueError"),
        ("k = {}\nreturn {{k: 1}} == 1", 1 - 2**60, -(2**60), "ValueError"),
        (NESTED + "len(repr(x))", 63, 64, "ValueError"),
        (NESTED + "len(f'{{x}}')", 63, 64, "ValueError"),
        (NESTED + "x", 63, 64, "ReturnValue"),
        ("return b'a' * {}", 65_536, 65_537, "ReturnValue"),
    ],
)
def test_a_limit_is_reached_and_not_passed(body, at, beyond, error):
    assert error_of(body.format(at)) == ""
    assert error_of(body.format(beyond)) == error
