"""Messages in Avro's binary encoding, all written with one schema that is known in advance.

Settings:

``avro.schema``
    The schema: a file's path, or the JSON itself.
``avro.schema.id``
    The id of this schema in a schema registry. Messages then begin with Confluent's header (a zero byte and
    the id in four bytes) with this id. Without this setting they have no header.

=======================================  =================================================================
Avro                                     column
=======================================  =================================================================
boolean, int, long, float, double        boolean, int, bigint, float, double
string, enum, uuid, null                 string
bytes, fixed, duration                   binary
decimal                                  string, with all its digits
date                                     date
timestamp-millis, timestamp-micros       timestamp; local timestamps are read as UTC
time-millis, time-micros                 string
array                                    array
map                                      array<struct<key:string,value:T>>
record                                   struct; the schema's own record: the columns
union with null                          as without null
other unions                             string: values other than text are written as JSON
schema other than a record               a single column, ``value``
other logical types                      as without them
=======================================  =================================================================

The module reads the schema's file when it is configured, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any, TypeAlias, TypeGuard

from zope.interface import implementer

from kafkatx.errors import SettingError
from kafkatx.interfaces import IConfigurable, IRowDecoder

RecordSchema: TypeAlias = "dict[str, Any]"
Schema: TypeAlias = "str | list[Schema] | RecordSchema"
"""A schema as fastavro parses it."""

SCHEMA, SCHEMA_ID = "avro.schema", "avro.schema.id"
HEADER_SIZE = 5


@implementer(IRowDecoder, IConfigurable)
class AvroDecoder:
    """Decodes a message into the fields of its record, or its single value."""

    time_column = None

    def __init__(self) -> None:
        self.columns: tuple[tuple[str, str], ...] = ()
        self._schema: Schema | None = None
        self._id: int | None = None
        self._names: list[str] | None = None

    def configure(self, settings: Mapping[str, str]) -> None:
        """Parse the schema.

        :raises SettingError: it is missing or invalid, cannot become a table, or fastavro is not installed.
        """
        unknown = set(settings) - {SCHEMA, SCHEMA_ID}
        if unknown:
            raise SettingError(f"{min(unknown)}: decoder avro knows {SCHEMA} and {SCHEMA_ID}")
        if SCHEMA not in settings:
            raise SettingError(f"decoder avro needs {SCHEMA}: a file's path, or the schema itself")
        self._id = _parse_id(settings[SCHEMA_ID]) if SCHEMA_ID in settings else None
        self._schema = _parse_schema(settings[SCHEMA])
        self.columns = columns_of(self._schema)
        self._names = [name for name, _ in self.columns] if _is_record(self._schema) else None

    def decode(self, topic: str, data: bytes | None) -> tuple[object, ...] | None:
        """Return the columns' values.

        :raises ValueError: the message was not written with the schema.
        """
        if data is None:
            return None
        if self._schema is None:  # a consumer does not configure its deserializers
            raise ValueError(f"decoder avro needs {SCHEMA}")
        from fastavro import schemaless_reader

        start = 0 if self._id is None else self._check_header(data)
        stream = BytesIO(data)
        stream.seek(start)
        try:
            value: Any = schemaless_reader(stream, self._schema, None)
        except Exception as error:  # fastavro raises many kinds of errors
            why = f"{type(error).__name__}: {error}"
            raise ValueError(f"does not match the schema ({why}){self._hint(data)}") from error
        left = len(data) - stream.tell()
        if left:
            raise ValueError(f"does not match the schema: {left} bytes are left over{self._hint(data)}")
        return (value,) if self._names is None else tuple(value[name] for name in self._names)

    def _check_header(self, data: bytes) -> int:
        """Return the size of the header.

        :raises ValueError: it is missing, or has another schema id.
        """
        if len(data) < HEADER_SIZE or data[0]:
            raise ValueError(f"no schema registry header, although {SCHEMA_ID} is set")
        found = int.from_bytes(data[1:HEADER_SIZE], "big")
        if found != self._id:
            raise ValueError(f"written with the registry's schema {found}, and {SCHEMA} is {self._id}")
        return HEADER_SIZE

    def _hint(self, data: bytes) -> str:
        """Return advice if the message seems to have a header although ``avro.schema.id`` is not set."""
        if self._id is not None or len(data) < HEADER_SIZE or data[0]:
            return ""
        found = int.from_bytes(data[1:HEADER_SIZE], "big")
        return (
            f"; it seems to have a schema registry header, with schema {found}: set schema.registry.url "
            f"(--registry) and leave {SCHEMA} out, or set {SCHEMA} to that schema, and {SCHEMA_ID}={found}"
        )


def columns_of(schema: Schema) -> tuple[tuple[str, str], ...]:
    """Return the columns of a schema that fastavro has parsed.

    :raises SettingError: it is recursive, or has arrays whose size a short message can make unbounded.
    """
    named = schema.get("__named_schemas", {}) if isinstance(schema, dict) else {}
    types = _SparkTypes(named)
    if not _is_record(schema):
        return (("value", types.of(schema)),)
    return tuple((field["name"], types.of(field["type"], (schema["name"],))) for field in schema["fields"])


class _SparkTypes:
    """Spark DDL types of Avro schemas."""

    def __init__(self, named: Mapping[str, Schema]) -> None:
        self._named = named

    def of(self, schema: Schema, inside: tuple[str, ...] = ()) -> str:
        """Return the type of a schema.

        :param inside: names of the enclosing records.
        """
        if isinstance(schema, str):
            return _PRIMITIVE[schema] if schema in _PRIMITIVE else self.of(self._named[schema], inside)
        if isinstance(schema, list):
            branches = [branch for branch in schema if branch != "null"]
            return self.of(branches[0], inside) if len(branches) == 1 else "string"
        kind = schema["type"]
        if kind == "record":
            return self._record(schema, inside)
        if kind == "array":
            self._check_items(schema["items"])
            return f"array<{self.of(schema['items'], inside)}>"
        if kind == "map":
            return f"array<struct<key:string,value:{self.of(schema['values'], inside)}>>"
        return _LOGICAL.get((kind, schema.get("logicalType"))) or _COMPLEX.get(kind) or self.of(kind, inside)

    def _record(self, schema: RecordSchema, inside: tuple[str, ...]) -> str:
        name = schema["name"]
        if name in inside:
            raise SettingError(f"{SCHEMA}: record {name} contains itself, which a table column cannot")
        types = {field["name"]: self.of(field["type"], (*inside, name)) for field in schema["fields"]}
        return f"struct<{','.join(f'`{field}`:{word}' for field, word in types.items())}>"

    def _check_items(self, items: Schema) -> None:
        """Reject items without bytes: a message of ten bytes could announce an array of 2**63 of them."""
        if self._empty(items):
            raise SettingError(f"{SCHEMA}: an array of {items!r} has items of no bytes")

    def _empty(self, schema: Schema) -> bool:
        if isinstance(schema, str):
            return schema == "null" or (schema not in _PRIMITIVE and self._empty(self._named[schema]))
        if isinstance(schema, list):
            return False  # the branch number takes a byte
        if schema["type"] == "record":
            return all(self._empty(field["type"]) for field in schema["fields"])
        return schema["type"] == "null" or (schema["type"] == "fixed" and not schema["size"])


_PRIMITIVE = {
    "null": "string",
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
}
_COMPLEX = {"enum": "string", "fixed": "binary"}
_LOGICAL: dict[tuple[str, object], str] = {
    ("int", "date"): "date",
    ("long", "timestamp-millis"): "timestamp",
    ("long", "timestamp-micros"): "timestamp",
    ("long", "local-timestamp-millis"): "timestamp",
    ("long", "local-timestamp-micros"): "timestamp",
    ("int", "time-millis"): "string",
    ("long", "time-micros"): "string",
    ("bytes", "decimal"): "string",
    ("fixed", "decimal"): "string",
}


def _is_record(schema: Schema | None) -> TypeGuard[RecordSchema]:
    return isinstance(schema, dict) and schema["type"] == "record"


def _parse_id(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) >= 1 << 32:
        raise SettingError(f"{SCHEMA_ID}={text}: must be the schema's id in the registry")
    return int(text)


def _parse_schema(text: str) -> Schema:
    """Parse a schema from JSON, or from a file.

    :raises SettingError: as :meth:`AvroDecoder.configure`.
    """
    try:
        from fastavro import parse_schema
    except ImportError:
        raise SettingError("decoder avro needs fastavro: pip install 'kafkatx[avro]'") from None
    try:
        if text.lstrip()[:1] not in ("{", "[", '"'):
            with open(text, encoding="utf-8") as file:
                text = file.read()
        return parse_schema(json.loads(text))
    except OSError as error:
        raise SettingError(f"{SCHEMA}={text}: {(error.strerror or str(error)).lower()}") from None
    except Exception as error:  # fastavro raises many kinds of errors
        raise SettingError(f"{SCHEMA} is no Avro schema: {error}") from error
