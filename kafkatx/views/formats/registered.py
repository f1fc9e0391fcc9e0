"""The formats whose schemas a registry has: ``avro``, ``json-schema`` and ``protobuf``. Pure.

A schema is named by a *reference*: ``id:7`` or ``guid:...``. The caller has the registry; it gives
descriptions of the schemas that were missed, and has the messages decoded again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

import attrs

from kafkatx.records.batch import Headers
from kafkatx.schemas import framing
from kafkatx.schemas.messages.errors import BadPayload
from kafkatx.schemas.messages.formats import NAMES, new_format
from kafkatx.schemas.types import InvalidSchema, Schema, SchemaType
from kafkatx.views.formats.content import Content, SchemaLabel
from kafkatx.views.formats.plain_values import plain_value
from kafkatx.views.formats.simple import recognized, unreadable, with_fault

MOST_SCHEMAS: Final = 500
"""Schemas that are kept; with one more all are forgotten."""

MOST_MISSING: Final = 50
"""Schemas that are asked for at a time."""

Described: TypeAlias = Mapping[str, object]
"""A schema: ``type``, ``schema``, ``dependencies`` (name to ``type`` and ``schema``), ``id``, ``guid``,
``subject``; or ``error``: why there is none."""

_FORMATS: Final = {kind: name for name, kind in NAMES.items()}


class SchemaMissed(Exception):
    """The schema of a message is not known yet; it is asked for."""


@attrs.frozen
class Reader:
    """A schema, or why there is none."""

    label: SchemaLabel | None = None
    read: Callable[[bytes, int], object] | None = None
    fault: str = ""


class Schemas:
    """The schemas of one registry.

    :ivar missing: the references that were missed since :meth:`take`.
    :ivar asks: False if a schema that is not known is a fault of its message.
    """

    def __init__(self) -> None:
        self.missing: dict[str, None] = {}
        self.asks = True
        self._described: dict[str, Described] = {}
        self._readers: dict[tuple[str, bytes | None], Reader] = {}

    def take(self, described: Mapping[str, Described]) -> None:
        """Accept descriptions of schemas by reference; those that say an error count until the next time."""
        if len(self._described) + len(described) > MOST_SCHEMAS:
            self._described.clear()
            self._readers.clear()
        for reference, known in list(self._described.items()):
            if "error" in known:
                self._forget(reference)
        for reference, description in described.items():
            self._forget(reference)
            self._described[reference] = description
        self.missing = {}

    def _forget(self, reference: str) -> None:
        self._described.pop(reference, None)
        for key in [key for key in self._readers if key[0] == reference]:
            del self._readers[key]

    def find(self, reference: str, indexes: bytes | None = None) -> Reader:
        """Return a schema.

        :param indexes: the message indexes in a header; None: they are in the message.
        :raises SchemaMissed: it is not known.
        """
        found = self._readers.get((reference, indexes))
        if found is not None:
            return found
        description = self._described.get(reference)
        if description is None:
            if not self.asks:
                return Reader(fault="too many schemas are named at once: it was not looked up")
            if len(self.missing) < MOST_MISSING:
                self.missing[reference] = None
            raise SchemaMissed(reference)
        found = self._readers[reference, indexes] = _make(description, indexes)
        return found


def _make(description: Described, indexes: bytes | None) -> Reader:
    error = description.get("error")
    if error is not None:
        return Reader(fault=str(error))
    schema, dependencies = described_schema(description)
    label = described_label(description)
    try:
        read = new_format(schema.type).reader(schema, dependencies, None, indexes)
    except InvalidSchema as invalid:
        return Reader(label, None, f"its schema cannot be used: {invalid}")
    except BadPayload as error:
        return Reader(label, None, str(error))
    return Reader(label, read)


def described_schema(description: Described) -> tuple[Schema, dict[str, Schema]]:
    """Return the schema of a description, and those that it refers to."""
    others = description.get("dependencies")
    assert isinstance(others, Mapping)
    dependencies = {str(name): _schema(one) for name, one in others.items()}
    return _schema(description), dependencies


def _schema(description: Mapping[str, object]) -> Schema:
    return Schema(str(description["schema"]), SchemaType(description["type"]))


def described_label(description: Described) -> SchemaLabel:
    """Return the label of a description's schema."""
    number, guid, subject = (description.get(name) for name in ("id", "guid", "subject"))
    return SchemaLabel(
        str(description["type"]),
        number if isinstance(number, int) else None,
        guid if isinstance(guid, str) else None,
        subject if isinstance(subject, str) else None,
    )


def find_frame(
    data: bytes, headers: Iterable[tuple[str, bytes | None]], header: str
) -> tuple[str, bytes | None, int]:
    """Return how a message names its schema: the reference, message indexes of the header, and the payload's
    position.

    :param header: the name of the header that may have it.
    :raises BadFrame: it names none.
    """
    for name, value in headers:
        if name == header and value is not None:
            return f"guid:{framing.header_guid(value)}", value[1 + framing.GUID_SIZE :], 0
    return f"id:{framing.prefix_id(data)}", None, framing.PREFIX_SIZE


class RegisteredFormat:
    """A format of messages with schemas.

    :param name: ``avro``, ``json-schema`` or ``protobuf``; ``auto``: all of them, and messages without.
    :param header: the name of the header that may name a schema.
    """

    def __init__(self, name: str, schemas: Schemas, header: str) -> None:
        self._name = name
        self._schemas = schemas
        self._header = header

    def decode(self, data: bytes, headers: Headers) -> Content:
        """Return the content of a message.

        :raises SchemaMissed: its schema is asked for first.
        """
        is_auto = self._name == "auto"
        if is_auto and data[:1] != b"\0" and not headers:
            return recognized(data)  # the usual case
        try:
            reference, indexes, start = find_frame(data, headers, self._header)
        except framing.BadFrame as error:
            return recognized(data) if is_auto else unreadable(data, str(error))
        reader = self._schemas.find(reference, indexes)
        if reader.read is None or reader.label is None:
            shown = recognized(data) if is_auto else unreadable(data, "")
            return with_fault(shown, f"schema {reference.partition(':')[2]}: {reader.fault}")
        name = _FORMATS[SchemaType(reader.label.type)]
        if name != self._name and not is_auto:
            return unreadable(data, f"its schema is of type {reader.label.type}")
        try:
            value = plain_value(reader.read(data, start))
        except Exception as error:  # libraries raise many kinds of errors
            why = " ".join(str(error).split())[:300]
            content = unreadable(data, f"{name}, schema {reference.partition(':')[2]}: {why}")
            content.schema = reader.label
            return content
        return Content(name, value, None, len(data), schema=reader.label)
