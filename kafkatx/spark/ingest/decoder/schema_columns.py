"""The columns of a table from schemas: of Avro, JSON Schema and Protobuf; and how they change with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from kafkatx.decoders.avro import columns_of as avro_columns
from kafkatx.errors import SettingError
from kafkatx.schemas.avro.avro_types import Record
from kafkatx.schemas.messages import json_schema
from kafkatx.schemas.messages.avro import avro_format
from kafkatx.schemas.messages.reader_schema import ReaderSchema
from kafkatx.schemas.types import SchemaType
from kafkatx.spark.ingest.table.columns import Column, arrow_type, ddl_type, quoted_name

_WIDER = {("int", "bigint"), ("int", "double"), ("float", "double")}
"""Changes of a column's type that Spark reads old Parquet files with."""

_JSON = {"string": "string", "integer": "bigint", "number": "double", "boolean": "boolean"}
_JSON_FORMATS = {"date-time": "timestamp", "date": "date"}
MAX_DEPTH = 16


def schema_columns(reader: ReaderSchema) -> list[Column]:
    """Return the columns of what messages are read as; of Protobuf's first message if none is named.

    :raises SettingError: they cannot become a table.
    :raises InvalidSchema: the schema is not valid.
    """
    schema, dependencies = reader.schema, reader.dependencies
    assert schema is not None
    match schema.type:
        case SchemaType.AVRO:
            root = avro_format.parse(schema, dependencies)
            found = [Column(*column) for column in avro_columns(root)]
        case SchemaType.JSON:
            found = _json_columns(json_schema.load(schema.text))
        case SchemaType.PROTOBUF:
            from kafkatx.schemas.messages.protobuf.message_classes import MessageClasses

            classes = MessageClasses(schema, dependencies)
            kind = classes.named(reader.message) if reader.message else classes.at((0,))
            found = _message_columns(kind.DESCRIPTOR, ())
    return [Column(name, ddl_type(arrow_type(kind))) for name, kind in found]


def is_single(reader: ReaderSchema) -> bool:
    """Return True if values have no fields: they are the one column ``value``."""
    schema = reader.schema
    assert schema is not None
    match schema.type:
        case SchemaType.AVRO:
            return not isinstance(avro_format.parse(schema, reader.dependencies), Record)
        case SchemaType.JSON:
            return not _properties(json_schema.load(schema.text))
        case SchemaType.PROTOBUF:
            return False


# -- evolution


def evolved(known: Sequence[Column], declared: Sequence[Column]) -> list[Column]:
    """Return the columns of a table whose schema is now another: old ones first, with wider types if need be.

    A column that is declared no more stays, and is null from then on.

    :raises SettingError: old files could not be read with the new type of a column.
    """
    types = dict(declared)
    first = [
        Column(name, ddl_type(_evolved(name, arrow_type(kind), arrow_type(types.get(name, kind)))))
        for name, kind in known
    ]
    names = {column.name for column in first}
    return [*first, *(column for column in declared if column.name not in names)]


def _evolved(name: str, old: pa.DataType, new: pa.DataType) -> pa.DataType:
    if old == new or (ddl_type(new), ddl_type(old)) in _WIDER:
        return old
    if pa.types.is_list(old) and pa.types.is_list(new):
        return pa.list_(_evolved(f"{name}[]", old.value_type, new.value_type))
    if pa.types.is_struct(old) and pa.types.is_struct(new):
        types = {field.name: field.type for field in new}
        fields = [
            (field.name, _evolved(f"{name}.{field.name}", field.type, types.pop(field.name, field.type)))
            for field in old
        ]
        return pa.struct([*fields, *types.items()])
    if (ddl_type(old), ddl_type(new)) in _WIDER:
        return new
    raise SettingError(
        f"column {name} is {ddl_type(old)} in the table, and {ddl_type(new)} by the schema: choose another "
        "version of it (--decoder-setting version=N), or ingest into another directory"
    )


# -- JSON Schema


def _json_columns(schema: Any) -> list[Column]:
    properties = _properties(schema)
    if not properties:
        return [Column("value", _json_type(schema, 0))]
    return [Column(name, _json_type(each, 1)) for name, each in properties.items()]


def _properties(schema: Any) -> Mapping[str, Any]:
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def _json_type(schema: Any, depth: int) -> str:
    """Return the type of a column; text, the value's JSON, where there is no other."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return "string"
    kinds = schema.get("type")
    names = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind != "null"]
    branches = next((schema[name] for name in ("oneOf", "anyOf") if isinstance(schema.get(name), list)), None)
    if branches is not None:
        others = [each for each in branches if not (isinstance(each, dict) and each.get("type") == "null")]
        return _json_type(others[0], depth + 1) if len(others) == 1 else "string"
    if len(names) != 1:
        return "string"
    (kind,) = names
    if kind == "array" and "items" in schema:
        return f"array<{_json_type(schema['items'], depth + 1)}>"
    if kind == "object" and isinstance(schema.get("properties"), dict) and schema["properties"]:
        fields = (
            f"{quoted_name(name)}:{_json_type(each, depth + 1)}"
            for name, each in schema["properties"].items()
        )
        return f"struct<{','.join(fields)}>"
    if kind == "string":
        return _JSON_FORMATS.get(str(schema.get("format")), "string")
    return _JSON.get(str(kind), "string")


# -- Protobuf

_MESSAGES: Mapping[str, str] = {
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "string",
    "google.protobuf.Struct": "string",
    "google.protobuf.Value": "string",
    "google.protobuf.ListValue": "string",
    "google.protobuf.Any": "string",
    "google.protobuf.FieldMask": "string",
    "google.protobuf.DoubleValue": "double",
    "google.protobuf.FloatValue": "float",
    "google.protobuf.Int64Value": "bigint",
    "google.protobuf.UInt64Value": "string",
    "google.protobuf.Int32Value": "int",
    "google.protobuf.UInt32Value": "bigint",
    "google.protobuf.BoolValue": "boolean",
    "google.protobuf.StringValue": "string",
    "google.protobuf.BytesValue": "binary",
}
"""Google's own messages, whose JSON is no object."""


def _message_columns(descriptor: Any, inside: tuple[str, ...]) -> list[Column]:
    """Return the columns of a message.

    :raises SettingError: it contains itself.
    """
    if descriptor.full_name in inside:
        raise SettingError(f"message {descriptor.full_name} contains itself, which a table column cannot")
    inside = (*inside, descriptor.full_name)
    return [Column(field.name, _field_type(field, inside)) for field in descriptor.fields]


def _field_type(field: Any, inside: tuple[str, ...]) -> str:
    message = field.message_type
    if message is not None and message.GetOptions().map_entry:
        key, value = (_single_type(message.fields_by_name[name], inside) for name in ("key", "value"))
        return f"array<struct<key:{'string' if key != 'string' else key},value:{value}>>"
    one = _single_type(field, inside)
    return f"array<{one}>" if field.is_repeated else one


def _single_type(field: Any, inside: tuple[str, ...]) -> str:
    kind = field.cpp_type
    if kind == field.CPPTYPE_MESSAGE:
        name = field.message_type.full_name
        if name in _MESSAGES:
            return _MESSAGES[name]
        fields = _message_columns(field.message_type, inside)
        return f"struct<{','.join(f'{quoted_name(name)}:{word}' for name, word in fields)}>"
    if field.type == field.TYPE_BYTES:
        return "binary"
    return {
        field.CPPTYPE_INT32: "int",
        field.CPPTYPE_UINT32: "bigint",
        field.CPPTYPE_INT64: "bigint",
        field.CPPTYPE_UINT64: "string",
        field.CPPTYPE_DOUBLE: "double",
        field.CPPTYPE_FLOAT: "float",
        field.CPPTYPE_BOOL: "boolean",
        field.CPPTYPE_ENUM: "string",
        field.CPPTYPE_STRING: "string",
    }[kind]
