"""Messages of the node as JSON for people's programs.

What one command prints, the next accepts. Names are those of the API and of the Python
client. Addresses, ids, hashes, keys and payloads are `0x…`, numbers are numbers, and
amounts decimal strings of base units, since they exceed what most readers of JSON can
hold. A name of an enumeration is the word that flags use (`pending`, `interval`). What
an actor stored, emitted or returned is decoded, and its bytes stand beside it as `raw`.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, TypeAlias, cast

from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.message import Message

from node.primitives import codec
from node.primitives.returned import decode_returned
from node.rpc.v1 import queries_pb2, traces_pb2, types_pb2
from pvm.runtime.storage import STORAGE_PREFIX

__all__ = ["human_json"]

_Json: TypeAlias = "int | str | bool | list[_Json] | dict[str, _Json] | None"


def human_json(message: Message) -> str:
    """One line of JSON."""
    return json.dumps(_object(message), ensure_ascii=True)


def _object(message: Message) -> dict[str, _Json]:
    """The fields that are set, and those that always say something."""
    found: dict[str, _Json] = {}
    decode, decoded = _DECODED.get(message.DESCRIPTOR.full_name, (None, ()))
    for field in message.DESCRIPTOR.fields:
        name = field.name
        if field.has_presence and not message.HasField(name):
            continue
        value = getattr(message, name)
        kind = field.message_type
        if kind is not None and kind.GetOptions().map_entry:
            found[name] = {str(key): value[key] for key in sorted(value)}
        elif decode is not None and name in decoded:
            found[name] = decode(message, value)
            raw = "raw" if len(decoded) == 1 else f"raw_{name}"
            found[raw] = _hexadecimal(value)
        else:
            parts = value if field.is_repeated else (value,)
            enum = cast("EnumDescriptor | None", field.enum_type)
            shown = [_value(message, name, enum, part) for part in parts]
            found[name] = shown if field.is_repeated else shown[0]
    return found


def _value(
    message: Message, name: str, enum: EnumDescriptor | None, value: object
) -> _Json:
    if isinstance(value, Message):
        return _object(value)
    if enum is not None:
        return _word(enum, cast("int", value))
    if not isinstance(value, bytes):
        return cast("_Json", value)
    if (message.DESCRIPTOR.full_name, name) in _SOURCES:
        return value.decode("utf-8", "backslashreplace")
    return _hexadecimal(value)


def _hexadecimal(data: bytes) -> str:
    return f"0x{data.hex()}"


def _word(enum: EnumDescriptor, number: int) -> str:
    """`TIMER_STATUS_REMOVED_INSUFFICIENT_FUNDS` as `removed-insufficient-funds`."""
    found = enum.values_by_number.get(number)
    if found is None:
        return str(number)  # of a newer node
    prefix = enum.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return found.name.removeprefix(prefix).lower().replace("_", "-")


_SOURCES: Final = frozenset(
    {
        (queries_pb2.GetActorResponse.DESCRIPTOR.full_name, "source"),
        (types_pb2.DeployActor.DESCRIPTOR.full_name, "code"),
    }
)
"""Bytes that are a text: sources of actors."""


# --- what actors say ---------------------------------------------------------------


def _event(message: Message, data: bytes) -> _Json:
    is_of_actor = bool(cast("types_pb2.Event", message).emitter)
    return _said(data) if is_of_actor else _plain(codec.decode(data))


def _entry(message: Message, data: bytes) -> _Json:
    """What `self.storage` holds is CBOR, under a raw key of its own."""
    key = cast("queries_pb2.StorageEntry", message).key
    is_named = key.startswith(STORAGE_PREFIX)
    if is_named:
        with suppress(codec.MalformedCbor):  # else `set_state` wrote past the view
            return _plain(codec.decode(data))
    return _said(data)


def _bytes(_message: Message, data: bytes) -> _Json:
    return _said(data)


_Decode: TypeAlias = Callable[[Message, bytes], _Json]

_DECODED: Final[Mapping[str, tuple[_Decode, tuple[str, ...]]]] = {
    kind.DESCRIPTOR.full_name: (decode, names)
    for kind, decode, names in (
        (types_pb2.Event, _event, ("data",)),
        (types_pb2.Receipt, _bytes, ("value",)),
        (queries_pb2.CallReadOnlyResponse, _bytes, ("value",)),
        (queries_pb2.StorageEntry, _entry, ("value",)),
        (traces_pb2.EventMade, _bytes, ("data",)),
        (traces_pb2.TracedCall, _bytes, ("returned",)),
        (queries_pb2.StorageHistoryChange, _entry, ("before", "after")),
        (traces_pb2.StorageWrite, _entry, ("before", "after")),
        (traces_pb2.StorageChange, _entry, ("before", "after")),
    )
}
"""By message, how fields are decoded, and which."""


def _said(data: bytes) -> _Json:
    """Bytes of an actor's own: JSON and other text, canonical CBOR, else hex."""
    value = decode_returned(data)
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            return cast("_Json", json.loads(value))
        except (ValueError, RecursionError):
            return value
    return _plain(value)


def _plain(value: codec.Value) -> _Json:
    match value:
        case bytes():
            return _hexadecimal(value)
        case list():
            return [_plain(one) for one in value]
        case dict():
            return {_key(key): _plain(one) for key, one in value.items()}
        case _:
            return value


def _key(key: int | bytes | str) -> str:
    return _hexadecimal(key) if isinstance(key, bytes) else str(key)
