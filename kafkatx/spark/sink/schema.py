"""The columns of a table that make up a record; checked when Spark plans the write.

===========  ==========================================  ====================================================
column       type                                        if it is missing or null
===========  ==========================================  ====================================================
value        string or binary                            it must be there; null is a tombstone
key          string or binary                            no key
headers      array<struct<key: string, value: binary>>   no headers
topic        string                                      the option ``topic``, which goes before the column
partition    int                                         by the key's hash; without a key, one of them
===========  ==========================================  ====================================================

As in Spark's ``KafkaWriter``: names are compared exactly, and other columns are left alone.
"""

from __future__ import annotations

from collections.abc import Container

import attrs
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    StringType,
    StructField,
    StructType,
)

from kafkatx.errors import SettingError

_HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
_ALLOWED: dict[str, tuple[DataType, ...]] = {
    "topic": (StringType(),),
    "key": (StringType(), BinaryType()),
    "value": (StringType(), BinaryType()),
    "headers": (_HEADERS,),
    "partition": (IntegerType(),),
}


@attrs.frozen
class SinkColumns:
    """The positions of the columns in a batch; None if there is none."""

    value: int
    key: int | None = None
    headers: int | None = None
    topic: int | None = None
    partition: int | None = None


def sink_columns(schema: StructType, topic: str | None, encoded: Container[str] = ()) -> SinkColumns:
    """Find the columns in a table's schema.

    :param topic: the option; with it the column is not looked at, if it has the right type.
    :param encoded: columns that become messages with schemas, and have any type before.
    :raises SettingError: one is missing or has another type.
    """
    found = {name: _index(schema, name, name in encoded) for name in _ALLOWED}
    if found["topic"] is None and topic is None:
        raise SettingError(
            "topic option required when no 'topic' attribute is present. Use the topic option for setting a "
            "topic."
        )
    value = found.pop("value")
    if value is None:
        raise SettingError("Required attribute 'value' not found")
    if topic is not None:
        found["topic"] = None
    return SinkColumns(value, **found)


def _index(schema: StructType, name: str, any_type: bool) -> int | None:
    """Return the position of the first column of this name.

    :param any_type: do not look at its type.
    :raises SettingError: it has a type that cannot be written.
    """
    names = schema.fieldNames()
    if name not in names:
        return None
    index: int = names.index(name)
    # Types in words leave nullability out, which does not matter.
    got = schema.fields[index].dataType.simpleString()
    allowed = [dtype.simpleString() for dtype in _ALLOWED[name]]
    if got not in allowed and not any_type:
        hint = f"; kafka.{name}.serializer=avro writes any type" if name in ("key", "value") else ""
        raise SettingError(
            f"{name} attribute unsupported type {got}. {name} must be a(n) {' or '.join(allowed)}{hint}"
        )
    return index
