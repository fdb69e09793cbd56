"""Watermark: a height in a file of constant size."""

from contextlib import closing

import pytest

from node.state.watermark import WATERMARK_FILE, Watermark, open_height_file


def test_it_begins_at_zero_and_remembers(tmp_path):
    with closing(open_height_file(tmp_path)) as file:
        mark = Watermark(file)
        assert mark.height == 0
        mark.move_to(7)
    with closing(open_height_file(tmp_path)) as file:
        again = Watermark(file)
        assert again.height == 7
        again.move_to(2**64 - 1)
        again.move_to(3)
    assert (tmp_path / WATERMARK_FILE).read_bytes() == b"%020d\n" % 3


def test_the_file_has_its_size_from_the_start(tmp_path):
    """So that a full disk never stops a number that is already due."""
    with closing(open_height_file(tmp_path)) as file:
        mark = Watermark(file)
        size = (tmp_path / WATERMARK_FILE).stat().st_size
        mark.move_to(2**64 - 1)
        assert (tmp_path / WATERMARK_FILE).stat().st_size == size


@pytest.mark.parametrize("text", [b"", bytes(21)])
def test_a_file_that_a_power_cut_left_without_its_text_begins_anew(tmp_path, text):
    (tmp_path / WATERMARK_FILE).write_bytes(text)
    with closing(open_height_file(tmp_path)) as file:
        assert Watermark(file).height == 0
    assert (tmp_path / WATERMARK_FILE).read_bytes() == b"%020d\n" % 0


@pytest.mark.parametrize(
    "text", [b"seven\n", b"7\n", b"-%019d\n" % 7, b"%020d\n\n" % 7]
)
def test_what_is_no_number_is_refused(tmp_path, text):
    (tmp_path / WATERMARK_FILE).write_bytes(text)
    with (
        closing(open_height_file(tmp_path)) as file,
        pytest.raises(ValueError, match="no height"),
    ):
        Watermark(file)
