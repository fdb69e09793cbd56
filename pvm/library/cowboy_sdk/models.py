"""Records with a form: a class that derives from `CowboyModel` is a dataclass.

Its annotated names are its fields. The compiler writes `__init__`, `__eq__`, `__repr__`
and `to_dict` for it, and `model_fields`: name, kind, whether it must be given.
"""

from cowboy_sdk.codec import decode, encode

SCHEMA_TYPES = (
    ("str", "string"),
    ("int", "integer"),
    ("bool", "boolean"),
    ("bytes", "string"),
    ("list", "array"),
    ("dict", "object"),
)


class CowboyModel:
    """The base of records."""

    model_fields = ()

    def to_dict(self):
        """The fields by their names."""
        return {}

    def to_cbor(self):
        """Canonical CBOR of the dict."""
        return encode(self.to_dict())

    @classmethod
    def from_dict(cls, values):
        """A record with these fields; others are a TypeError."""
        return cls(**values)

    @classmethod
    def from_cbor(cls, data):
        """The record whose `to_cbor` gave the bytes."""
        return cls(**decode(data))

    @classmethod
    def schema(cls):
        """What the fields are, as JSON Schema says it."""
        types = dict(SCHEMA_TYPES)
        properties = {}
        for name, kind, _ in cls.model_fields:
            properties[name] = {"type": types[kind]} if kind in types else {}
        required = [name for name, _, is_required in cls.model_fields if is_required]
        return {"type": "object", "properties": properties, "required": required}

    def validate(self):
        """Raise ValueError unless each field is of the kind its annotation names."""
        types = dict(SCHEMA_TYPES)
        values = self.to_dict()
        for name, kind, is_required in self.model_fields:
            value = values[name]
            found = type(value).__name__
            is_absent = value is None and not is_required
            if kind in types and found != kind and not is_absent:
                raise ValueError(f"{name}: {kind} is wanted, not {found}")
