"""Checks of an application's arguments to a producer: a wrong one fails its own call and no other. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import cast

TIMESTAMP_MAX = (1 << 63) - 1
PARTITION_MAX = (1 << 31) - 1


def checked_bytes(what: str, value: object) -> bytes:
    """Return *value* as bytes; a mutable buffer is copied.

    :param what: ``key`` or ``value``, for the message.
    :raises TypeError: it is not bytes-like.
    """
    if type(value) is bytes:
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    try:
        return bytes(memoryview(cast("bytes", value)))
    except TypeError:
        serializer = f"{what}.serializer=string" if isinstance(value, str) else f"{what}.serializer"
        raise TypeError(
            f"a record's {what} must be bytes, not {_kind(value)}: encode it, or set {serializer}"
        ) from None


def checked_values(values: Sequence[object]) -> Sequence[bytes]:
    """Return the values of a list as bytes; the list itself if all of them are bytes.

    :raises TypeError: one of them is not bytes-like.
    """
    if {*map(type, values)} <= {bytes}:
        return cast("Sequence[bytes]", values)
    if any(value is None for value in values):
        raise TypeError("a list of values must not contain None: use send() for a record without a value")
    return [checked_bytes("value", value) for value in values]


def check_value_list(values: object) -> None:
    """Check that *values* is a sequence of values, and not a single value.

    :raises TypeError: it is not.
    """
    if isinstance(values, (str, bytes, bytearray, memoryview)) or not isinstance(values, Sized):
        raise TypeError(f"values must be a list of values, not a single {_kind(values)}")


def checked_header_value(name: str, value: object) -> bytes | None:
    """Return the value of the header *name*; raise as :func:`checked_headers` does."""
    if value is None:
        return None
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"the value of header {name!r} must be bytes or None, not {_kind(value)}: encode it")


def checked_headers(headers: Iterable[tuple[str, bytes | None]]) -> tuple[tuple[str, bytes | None], ...]:
    """Return headers as an immutable tuple.

    :raises TypeError: they are not pairs of a str and bytes or None.
    :raises ValueError: a name cannot be encoded in UTF-8.
    """
    checked = []
    try:
        pairs = [(name, value) for name, value in headers]
    except (TypeError, ValueError):
        raise TypeError(
            f"a record's headers must be pairs of a name and bytes, not {_kind(headers)}"
        ) from None
    for name, value in pairs:
        if not isinstance(name, str):
            raise TypeError(f"the name of a header must be str, not {_kind(name)}")
        name.encode()
        checked.append((name, checked_header_value(name, value)))
    return tuple(checked)


def check_timestamp(timestamp_ms: object) -> None:
    """Check a record's timestamp: milliseconds since the epoch, from 0 to 2^63 - 1.

    :raises TypeError: it is not an int; ``time.time() * 1000`` is a float.
    :raises ValueError: it is out of range.
    """
    if not isinstance(timestamp_ms, int):
        raise TypeError(
            f"timestamp_ms must be an int, milliseconds since the epoch, not {_kind(timestamp_ms)}:"
            " int(time.time() * 1000)"
        )
    if not 0 <= timestamp_ms <= TIMESTAMP_MAX:
        raise ValueError(f"timestamp_ms must be from 0 to 2^63 - 1, not {timestamp_ms}")


def check_partition(partition: object) -> None:
    """Check that *partition* is an int; the topic's number of partitions is not known here.

    :raises TypeError: it is not.
    """
    if not isinstance(partition, int):
        raise TypeError(f"partition must be an int, not {_kind(partition)}")


def check_topic(topic: object) -> None:
    """Check that *topic* is a str.

    :raises TypeError: it is not.
    """
    if not isinstance(topic, str):
        raise TypeError(f"topic must be a str, not {_kind(topic)}")


def _kind(value: object) -> str:
    return type(value).__name__
