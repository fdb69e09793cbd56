"""What a handler returned, read back: by its annotation, else text, CBOR, bytes."""

import pytest

from node.primitives import codec
from node.primitives.returned import decode_returned, encode_argument

VALUES = [
    (None, "None"),
    (b"", "bytes"),
    ("", "str"),
    (b"plain text", "bytes"),
    ("plain text", "str"),
    ("two\nlines \x1b[2J", "str"),
    (-3, "int"),
    (7, "int"),
    (2**200, "int"),
    (True, "bool"),
    ([1, "a", b"b"], "list[int | str | bytes]"),
    ([1], "tuple[int]"),
    ({"a": 1}, "dict[str, int]"),
    ({"a": 1}, "typing.Mapping[str, int]"),
]


@pytest.mark.parametrize(("value", "annotation"), VALUES)
def test_what_is_annotated_is_exact(value, annotation):
    """By the rule of host-api.md §1, there and back."""
    assert decode_returned(encode_argument(value), annotation) == value


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"", None),
        (b"text", "text"),
        ("ü".encode(), "ü"),
        (codec.encode({"a": 1}), {"a": 1}),
        (codec.encode(7), 7),
        (b"\xff\xfe", b"\xff\xfe"),
        (b"two\nlines", b"two\nlines"),
        (b"\x22", '"'),
    ],
)
def test_without_an_annotation_text_goes_first_and_bytes_last(data, value):
    for annotation in ("", "Unknown", "int | None"):
        assert decode_returned(data, annotation) == value


def test_bytes_of_another_type_than_annotated_are_read_as_if_there_were_none():
    assert decode_returned(b"text", "int") == "text"
    assert decode_returned(b"\xff", "str") == b"\xff"
    assert decode_returned(b"\xf5", "int") is True
    with pytest.raises(ValueError, match="float"):
        encode_argument(1.5)
