"""Avro schemas of Spark's types, for tables that are written without a schema of their own. Pure.

All that is in a record, an array or a map is a union of null and its type, with the default null in records,
whatever Spark knows of nulls: that depends on how a table was made, and a schema whose fields all have
defaults can change with the table. Records in records are named by their fields: ``order.place`` is the
record ``order_place``.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from kafkatx.errors import SettingError

_PRIMITIVE: dict[type, object] = {
    BooleanType: "boolean",
    ByteType: "int",
    ShortType: "int",
    IntegerType: "int",
    LongType: "long",
    FloatType: "float",
    DoubleType: "double",
    StringType: "string",
    BinaryType: "bytes",
    DateType: {"type": "int", "logicalType": "date"},
    TimestampType: {"type": "long", "logicalType": "timestamp-micros"},
    TimestampNTZType: {"type": "long", "logicalType": "local-timestamp-micros"},
}
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def avro_schema(dtype: DataType, name: str) -> str:
    """Return the schema of values of a column that are not null.

    :param name: of the record.
    :raises SettingError: a type or a name has no equivalent.
    """
    return json.dumps(_avro(dtype, name))


def _avro(dtype: DataType, name: str) -> Any:
    for known, avro in _PRIMITIVE.items():
        if isinstance(dtype, known):
            return avro
    if isinstance(dtype, DecimalType):
        return {
            "type": "bytes",
            "logicalType": "decimal",
            "precision": dtype.precision,
            "scale": dtype.scale,
        }
    if isinstance(dtype, ArrayType):
        return {"type": "array", "items": ["null", _avro(dtype.elementType, name)]}
    if isinstance(dtype, MapType) and isinstance(dtype.keyType, StringType):
        return {"type": "map", "values": ["null", _avro(dtype.valueType, name)]}
    if isinstance(dtype, StructType):
        return {"type": "record", "name": name, "fields": [_field(field, name) for field in dtype.fields]}
    raise SettingError(
        f"{name}: the type {dtype.simpleString()} has no equivalent in Avro: cast it, or give a schema in"
        " kafka.kafkatx.value.schema (kafka.kafkatx.key.schema)"
    )


def _field(field: Any, record: str) -> dict[str, Any]:
    if not _NAME.fullmatch(field.name):
        raise SettingError(
            f"{record}: Avro has no fields with the name {field.name!r}: rename the column, with letters,"
            " digits and underscores"
        )
    avro = _avro(field.dataType, f"{record}_{field.name}")
    return {"name": field.name, "type": ["null", avro], "default": None}


def record_name(topic: str) -> str:
    """Return the name of a topic's record: other characters than letters, digits and ``_`` become ``_``."""
    name = re.sub("[^A-Za-z0-9_]", "_", topic)
    return name if _NAME.fullmatch(name) else f"_{name}"
