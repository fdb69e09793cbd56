"""Watermark: a height in a file of constant size."""

import pytest

from node.state.watermark import WATERMARK_FILE, Watermark


def test_it_begins_at_zero_and_remembers(tmp_path):
    mark = Watermark(tmp_path)
    assert mark.height == 0
    mark.move_to(7)
    mark.close()
    again = Watermark(tmp_path)
    assert again.height == 7
    again.move_to(2**64 - 1)
    again.move_to(3)
    assert (tmp_path / WATERMARK_FILE).read_bytes() == b"%020d\n" % 3
    again.close()


def test_the_file_has_its_size_from_the_start(tmp_path):
    """So that a full disk never stops a number that is already due."""
    mark = Watermark(tmp_path)
    size = (tmp_path / WATERMARK_FILE).stat().st_size
    mark.move_to(2**64 - 1)
    assert (tmp_path / WATERMARK_FILE).stat().st_size == size
    mark.close()


def test_what_is_no_number_is_refused(tmp_path):
    (tmp_path / WATERMARK_FILE).write_bytes(b"seven\n")
    with pytest.raises(ValueError, match="no height"):
        Watermark(tmp_path)
