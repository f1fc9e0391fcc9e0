"""The ids of schemas in the records of a batch. Pure; called in a worker.

A key or a value begins with a byte 0 and the id, i32. Or the record has the header ``__key_schema_id`` or
``__value_schema_id``, whose value is a byte 1 and the 16 bytes of a guid. A null needs no schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from kafkatx.records import conversion
from kafkatx.records.batch import Headers

PREFIX_BYTES: Final = 5
GUID_BYTES: Final = 17
MOST_FAULTS: Final = 100
"""Records at fault that are told one by one."""


@attrs.define
class SchemaIds:
    """The ids of one field, key or value.

    :ivar ids: the prefix (5 bytes) or the header's value (17 bytes), with the index of its first record.
    :ivar faults: the indexes of the first records without one.
    """

    ids: dict[bytes, int] = attrs.Factory(dict)
    faults: list[int] = attrs.Factory(list)

    def take(self, texts: Sequence[bytes | None], headers: Sequence[Headers], name: str) -> None:
        """Add the field of each record; *name* is that of its header."""
        first = self.ids.setdefault
        for index, text in enumerate(texts):
            if text is None:
                continue
            found = _header(headers[index], name) if headers[index] else None
            if found is None and len(text) >= PREFIX_BYTES and not text[0]:
                found = text[:PREFIX_BYTES]
            if found is not None:
                first(found, index)
            elif len(self.faults) < MOST_FAULTS:
                self.faults.append(index)


def _header(headers: Headers, name: str) -> bytes | None:
    for key, value in headers:
        if key == name and value is not None and len(value) == GUID_BYTES and value[0] == 1:
            return bytes(value)
    return None


def find_ids(
    records: memoryview | bytes, keys: bool, values: bool, limit_bytes: int
) -> tuple[SchemaIds, SchemaIds]:
    """Return the ids of the keys and of the values, each empty if they are not asked for.

    :param limit_bytes: the most that the records may have when they are decompressed.
    :raises RequestError: the records cannot be read.
    """
    found_keys: list[bytes | None] = []
    found_values: list[bytes | None] = []
    headers: list[Headers] = []
    conversion.read_columns(
        records, [], [], found_keys, found_values, headers, check=False, limit_bytes=limit_bytes
    )
    of_keys, of_values = SchemaIds(), SchemaIds()
    if keys:
        of_keys.take(found_keys, headers, "__key_schema_id")
    if values:
        of_values.take(found_values, headers, "__value_schema_id")
    return of_keys, of_values
