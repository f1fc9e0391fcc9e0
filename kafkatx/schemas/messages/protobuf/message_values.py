"""Protobuf messages as plain values of Python, with all fields that a table needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from kafkatx.schemas.messages.errors import BadPayload

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_GOOGLE = "google.protobuf."
_DEEPEST = 100


def _time(message: Any) -> datetime | None:
    try:
        return _EPOCH + timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)
    except OverflowError:
        return None


def as_dict(message: Any) -> Any:
    """Return a message as a dict of JSON, with the names of the schema.

    :raises BadPayload: it has no JSON: a time beyond the year 9999, or an Any of an unknown type.
    """
    from google.protobuf.json_format import Error, MessageToDict

    try:
        return MessageToDict(message, preserving_proto_field_name=True)
    except (Error, TypeError, ValueError) as error:
        raise BadPayload(f"a message {message.DESCRIPTOR.full_name} without JSON: {error}") from error


def _json(message: Any) -> str:
    found = as_dict(message)
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def _wrapped(message: Any) -> Any:
    return message.value


_WRAPPERS = ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
_OF_GOOGLE: Mapping[str, Callable[[Any], Any]] = {
    f"{_GOOGLE}Timestamp": _time,
    **{f"{_GOOGLE}{name}Value": _wrapped for name in _WRAPPERS},
    **{
        f"{_GOOGLE}{name}": _json for name in ("Duration", "Struct", "Value", "ListValue", "Any", "FieldMask")
    },
}


def fields_of(message: Any, depth: int = 0) -> Any:
    """Return a message as a dict of its fields.

    A message or a field with presence that is not set is None; other fields have their values or defaults. A
    timestamp is a datetime, an enum the name of its value, a map a dict, a wrapper what it wraps; Google's
    other messages are their JSON.

    :raises ValueError: it is nested too deeply.
    """
    if depth > _DEEPEST:
        raise ValueError(f"the message is nested more than {_DEEPEST} levels deep")
    of_google = _OF_GOOGLE.get(message.DESCRIPTOR.full_name)
    if of_google is not None:
        return of_google(message)
    return {field.name: _field(message, field, depth + 1) for field in message.DESCRIPTOR.fields}


def _field(message: Any, field: Any, depth: int) -> Any:
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        item = kind.fields_by_name["value"]
        return {str(key): _single(value, item, depth) for key, value in getattr(message, field.name).items()}
    if field.is_repeated:
        return [_single(each, field, depth) for each in getattr(message, field.name)]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _single(getattr(message, field.name), field, depth)


def _single(value: Any, field: Any, depth: int) -> Any:
    if field.message_type is not None:
        return fields_of(value, depth)
    if field.enum_type is not None:
        named = field.enum_type.values_by_number.get(value)
        return str(value) if named is None else named.name
    return value
