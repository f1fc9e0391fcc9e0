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

from collections.abc import Mapping
from typing import Any

from zope.interface import implementer

from kafkatx.errors import SettingError
from kafkatx.interfaces import IConfigurable, IRowDecoder
from kafkatx.schemas.avro.avro_types import Array, AvroType, Fixed, Map, Record, Union
from kafkatx.schemas.messages.avro.avro_format import AvroFormat, parse
from kafkatx.schemas.messages.avro.logical_types import annotation
from kafkatx.schemas.messages.errors import BadPayload
from kafkatx.schemas.messages.format import Read
from kafkatx.schemas.types import InvalidSchema, Schema

SCHEMA, SCHEMA_ID = "avro.schema", "avro.schema.id"
HEADER_SIZE = 5
SINGLE = "value"
MAX_DEPTH = 100


@implementer(IRowDecoder, IConfigurable)
class AvroDecoder:
    """Decodes a message into the fields of its record, or its single value."""

    time_column = None

    def __init__(self) -> None:
        self.columns: tuple[tuple[str, str], ...] = ()
        self._schema: Schema | None = None
        self._read: Read | None = None
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
        schema = self._schema = _schema_of(settings[SCHEMA])
        try:
            root = parse(schema, {})
            self.columns = columns_of(root)
            self._read = AvroFormat().reader(schema, {}, None)
        except InvalidSchema as error:
            raise SettingError(f"{SCHEMA} is no Avro schema: {error}") from error
        self._names = [name for name, _ in self.columns] if isinstance(root, Record) else None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_read": None}

    def decode(self, topic: str, data: bytes | None) -> tuple[object, ...] | None:
        """Return the columns' values.

        :raises ValueError: the message was not written with the schema.
        """
        if data is None:
            return None
        if self._schema is None:  # a consumer does not configure its deserializers
            raise ValueError(f"decoder avro needs {SCHEMA}")
        if self._read is None:
            self._read = AvroFormat().reader(self._schema, {}, None)
        start = 0 if self._id is None else self._check_header(data)
        try:
            value = self._read(data, start)
        except BadPayload as error:
            raise ValueError(f"{error}{self._hint(data)}") from error
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


def columns_of(type_: AvroType) -> tuple[tuple[str, str], ...]:
    """Return the columns of a schema.

    :raises SettingError: it is recursive, or has arrays whose size a short message can make unbounded.
    """
    if not isinstance(type_, Record):
        return ((SINGLE, _spark_type(type_)),)
    return tuple((field.name, _spark_type(field.type, (type_.name,))) for field in type_.fields)


def _spark_type(type_: AvroType, inside: tuple[str, ...] = ()) -> str:
    """Return Spark's type of a type, as DDL.

    :param inside: names of the enclosing records.
    """
    if isinstance(type_, Union):
        branches = [branch for branch in type_.branches if branch.kind != "null"]
        return _spark_type(branches[0], inside) if len(branches) == 1 else "string"
    if isinstance(type_, Record):
        return _struct(type_, inside)
    if isinstance(type_, Array):
        if _is_empty(type_.items):  # a message of ten bytes could announce 2**63 of them
            raise SettingError(f"{SCHEMA}: an array of {type_.items.kind} has items of no bytes")
        return f"array<{_spark_type(type_.items, inside)}>"
    if isinstance(type_, Map):
        return f"array<struct<key:string,value:{_spark_type(type_.values, inside)}>>"
    return _LOGICAL.get(annotation(type_).get("logicalType", "")) or _SIMPLE[type_.kind]


def _struct(record: Record, inside: tuple[str, ...]) -> str:
    if record.name in inside:
        raise SettingError(f"{SCHEMA}: record {record.name} contains itself, which a table column cannot")
    if len(inside) >= MAX_DEPTH:
        raise SettingError(f"{SCHEMA}: records are nested more than {MAX_DEPTH} levels deep")
    types = {field.name: _spark_type(field.type, (*inside, record.name)) for field in record.fields}
    return f"struct<{','.join(f'`{field}`:{word}' for field, word in types.items())}>"


def _is_empty(type_: AvroType, inside: tuple[str, ...] = ()) -> bool:
    if isinstance(type_, Record):
        if type_.name in inside:
            return False
        return all(_is_empty(field.type, (*inside, type_.name)) for field in type_.fields)
    return type_.kind == "null" or (isinstance(type_, Fixed) and not type_.size)


_SIMPLE = {
    "null": "string",
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
    "enum": "string",
    "fixed": "binary",
}
_LOGICAL = {
    "date": "date",
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "local-timestamp-millis": "timestamp",
    "local-timestamp-micros": "timestamp",
    "time-millis": "string",
    "time-micros": "string",
    "decimal": "string",
    "uuid": "string",
}


def _parse_id(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) >= 1 << 32:
        raise SettingError(f"{SCHEMA_ID}={text}: must be the schema's id in the registry")
    return int(text)


def _schema_of(text: str) -> Schema:
    """Return the schema that is JSON or in a file.

    :raises SettingError: the file cannot be read.
    """
    if text.lstrip()[:1] in ("{", "[", '"'):
        return Schema(text)
    try:
        with open(text, encoding="utf-8") as file:
            return Schema(file.read())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingError(f"{SCHEMA}={text}: {reason.lower()}") from None
