"""Avro schemas as fastavro parses them, made from ours. Pure.

Each schema has all that it refers to. A named type is defined where it is first used; where types are nested
deeply, it is defined beside the schema.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import attrs

from kafkatx.schemas.avro.avro_types import Array, AvroType, Enum, Fixed, Map, Record, Union
from kafkatx.schemas.messages.avro.default_values import NoValue, default_value
from kafkatx.schemas.messages.avro.logical_types import annotation, reading_annotation
from kafkatx.schemas.messages.avro.shape import Named, ParsedSchema

MOST_INLINE = 16
"""Levels of named types that are defined within each other; others are reached by their names."""

_ROOT = "kafkatx_root"
_ROOT_FIELD = "value"


@attrs.frozen
class ParsedAvro:
    """A schema as fastavro parses it.

    :ivar schema: the schema of values.
    :ivar named: its named types.
    """

    schema: ParsedSchema
    named: Named

    @property
    def is_record(self) -> bool:
        """True if values are records."""
        return isinstance(self.schema, dict) and self.schema["type"] == "record"

    def root(self) -> dict[str, Any]:
        """Return the schema for fastavro: a record, of one field if values are no records.

        Its data are those of the values. fastavro keeps the named types of a dict alone.
        """
        schema = self.schema
        if not isinstance(schema, dict) or schema["type"] != "record":
            schema = {"type": "record", "name": _ROOT, "fields": [{"name": _ROOT_FIELD, "type": schema}]}
        return {**schema, "__fastavro_parsed": True, "__named_schemas": dict(self.named)}

    def value(self, found: Any) -> Any:
        """Return a value from one of :meth:`root`."""
        return found if self.is_record else found[_ROOT_FIELD]

    def rooted(self, value: Any) -> Any:
        """Return a value for :meth:`root`."""
        return value if self.is_record else {_ROOT_FIELD: value}


def written_schema(type_: AvroType) -> ParsedAvro:
    """Return the schema for fastavro's writer: with the names, and with defaults as values."""
    return _parsed(type_, annotation, with_defaults=True)


def read_schema(type_: AvroType) -> ParsedAvro:
    """Return the schema for fastavro's reader of data that are read as they were written."""
    return _parsed(type_, reading_annotation, with_defaults=False)


def _parsed(
    type_: AvroType, annotate: Callable[[AvroType], dict[str, Any]], with_defaults: bool
) -> ParsedAvro:
    definitions = Definitions(annotate, lambda named: str(named.name), with_defaults)
    schema = definitions.schema(type_)
    definitions.finish()
    return ParsedAvro(schema, definitions.named)


class Definitions:
    """Makes the schemas of types for fastavro.

    :param annotate: returns the annotation of a type.
    :param name: returns the name by which a named type is known in the result.
    :ivar named: the named types so far.
    """

    def __init__(
        self,
        annotate: Callable[[AvroType], dict[str, Any]],
        name: Callable[[Any], str],
        with_defaults: bool = False,
        named: dict[str, Any] | None = None,
    ) -> None:
        self.named: dict[str, Any] = {} if named is None else named
        self._annotate = annotate
        self._name = name
        self._with_defaults = with_defaults
        self._names: dict[int, str] = {}
        self._waiting: list[Record] = []
        self._depth = 0

    def schema(self, type_: AvroType) -> ParsedSchema:
        """Return the schema of a type."""
        if isinstance(type_, Union):
            return [self.schema(branch) for branch in type_.branches]
        if isinstance(type_, Array):
            return {"type": "array", "items": self.schema(type_.items)}
        if isinstance(type_, Map):
            return {"type": "map", "values": self.schema(type_.values)}
        if isinstance(type_, (Record, Enum, Fixed)):
            return self._known_name(type_) or self._defined(type_)
        found = self._annotate(type_)
        return {"type": type_.kind, **found} if found else type_.kind

    def finish(self) -> None:
        """Define the types that have been left out because they are nested deeply."""
        while self._waiting:
            self._fill(self._waiting.pop())

    def _known_name(self, type_: Record | Enum | Fixed) -> str | None:
        return self._names.get(id(type_))

    def _defined(self, type_: Record | Enum | Fixed) -> ParsedSchema:
        name = self._names[id(type_)] = self._name(type_)
        made: dict[str, Any] = {"type": type_.kind, "name": name}
        self.named[name] = made
        if isinstance(type_, Fixed):
            made.update(size=type_.size, **self._annotate(type_))
        elif isinstance(type_, Enum):
            made.update(symbols=list(type_.symbols))
            if type_.default is not None:
                made.update(default=type_.default)
        else:
            made.update(fields=[])
            if self._depth >= MOST_INLINE:
                self._waiting.append(type_)
                return name
            self._fill(type_)
        return made

    def _fill(self, record: Record) -> None:
        self._depth += 1
        fields = self.named[self._names[id(record)]]["fields"]
        for field in record.fields:
            made = {"name": field.name, "type": self.schema(field.type)}
            if self._with_defaults:
                with suppress(NoValue):
                    made["default"] = default_value(field)
            fields.append(made)
        self._depth -= 1
