"""Records with a form: a class that derives from `CowboyModel` is a dataclass."""

from dataclasses import field
from typing import Any, ClassVar, Self, dataclass_transform

from cowboy_sdk.codec import decode as decode
from cowboy_sdk.codec import encode as encode

SCHEMA_TYPES: tuple[tuple[str, str], ...]
"""Kinds of a field, and what JSON Schema calls them."""

@dataclass_transform(field_specifiers=(field,))
class CowboyModel:
    """The base of records: the annotated names of a class are its fields."""

    model_fields: ClassVar[tuple[tuple[str, str, bool], ...]]
    """Of each field its name, its kind, and whether it must be given."""

    def to_dict(self) -> dict[str, Any]:
        """The fields by their names."""

    def to_cbor(self) -> bytes:
        """Canonical CBOR of the dict; CodecError if a field has none."""

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """A record with these fields; TypeError for others."""

    @classmethod
    def from_cbor(cls, data: bytes) -> Self:
        """The record whose `to_cbor` gave the bytes; CodecError for others."""

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """What the fields are, as JSON Schema says it."""

    def validate(self) -> None:
        """Raise ValueError unless each field is of the kind its annotation names."""
