"""Values of decoders as values of JSON, for filters. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal

from kafkatx.schemas.json_numbers import LongNumber
from kafkatx.schemas.messages.plain import field_names

_PLAIN = frozenset((str, int, float, LongNumber, bool, type(None), Decimal))
DEEPEST = 200


def plain_value(value: object, depth: int = 0) -> object:
    """Return a value with JSON's values in it, and Decimal.

    Times become texts of ISO 8601; bytes become texts with a character for each byte, as in Avro's JSON;
    objects become their fields.

    :raises ValueError: it is nested more than :data:`DEEPEST` levels deep.
    """
    kind: type = type(value)
    if kind in _PLAIN:
        return value
    if depth > DEEPEST:
        raise ValueError(f"it is nested more than {DEEPEST} levels deep")
    depth += 1
    if isinstance(value, Mapping):
        return {str(key): plain_value(item, depth) for key, item in value.items()}
    names: tuple[str, ...] | None = getattr(value, "_fields", None) if isinstance(value, tuple) else None
    names = names or field_names(kind)
    if names is not None:
        return {name: plain_value(getattr(value, name), depth) for name in names}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain_value(item, depth) for item in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("latin-1")
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if hasattr(value, "DESCRIPTOR"):
        from kafkatx.schemas.messages.protobuf.message_values import as_dict

        return plain_value(as_dict(value), depth)
    return str(value)
