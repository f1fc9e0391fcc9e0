"""Decoding by the schemas of a registry. The driver knows the schemas; the workers do no look-ups.

A message names the schema that it was written with. It is read as the schema of its topic that the driver has
chosen: a row has the columns of that one, whatever schema it was written with. A batch with ids that the
driver does not know yet is not decoded: the ids are in the result, and the driver has the work done again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import pyarrow as pa

from kafkatx.errors import KafkaTXError
from kafkatx.schemas import framing
from kafkatx.schemas.messages.format import Read
from kafkatx.schemas.messages.formats import new_format
from kafkatx.schemas.messages.reader_schema import ReaderSchema
from kafkatx.schemas.types import Dependencies, Schema, SchemaType
from kafkatx.spark.ingest.decoder.decoder import Decoded
from kafkatx.spark.ingest.decoder.plugin import SINGLE, InferringDecoding
from kafkatx.spark.ingest.decoder.rows import Dead
from kafkatx.spark.ingest.decoder.schema_columns import is_single
from kafkatx.spark.ingest.table.columns import Column

MOST_UNKNOWN = 1000
"""Ids that one batch reports at most."""


@attrs.frozen
class Registered:
    """A schema with those that it refers to; picklable."""

    schema: Schema
    dependencies: Dependencies = attrs.field(factory=dict)


@attrs.frozen
class KnownSchemas:
    """The schemas that the driver knows; picklable.

    :ivar readers: by topic: what its messages are read as.
    :ivar written: by the beginning of a message (or its header): what it was written with.
    :ivar bad: likewise: why there is no such schema.
    :ivar complete: True if no more unknown ids are to be reported: they are dead letters.
    """

    kind: SchemaType
    readers: Mapping[str, ReaderSchema] = attrs.field(factory=dict)
    written: Mapping[bytes, Registered] = attrs.field(factory=dict)
    bad: Mapping[bytes, str] = attrs.field(factory=dict)
    complete: bool = False


class UnknownSchema(KafkaTXError):
    """A message was written with a schema that is not there."""


class Readers:
    """Reads messages of a topic as its reader's schema; made in a worker."""

    def __init__(self, schemas: KnownSchemas, topic: str) -> None:
        self._schemas = schemas
        self._topic = topic
        self._readers: dict[bytes, Read] = {}
        self._is_single = is_single(schemas.readers[topic])
        self.unknown: set[bytes] = set()

    def read(self, value: bytes, header: bytes | None) -> Any:
        """Return the fields of a message.

        :param header: the value of the schema header; None: the message has a prefix.
        :raises KafkaTXError: it cannot be read.
        """
        frame = value[: framing.PREFIX_SIZE] if header is None else header
        read = self._readers.get(frame)
        if read is None:
            found = self._find(frame, header is not None)
            if found is None:
                return None
            read = self._readers[frame] = found
        found = as_plain(read(value, framing.PREFIX_SIZE if header is None else 0))
        return {SINGLE: found} if self._is_single else found

    def _find(self, frame: bytes, in_header: bool) -> Read | None:
        """Return the reader of messages with a frame; None if the driver has to be asked."""
        if not in_header:
            framing.prefix_id(frame)
        schemas = self._schemas
        written = schemas.written.get(frame)
        if written is None:
            why = schemas.bad.get(frame)
            if why is None and schemas.complete:
                why = "its schema was not looked up: there were too many unknown ones"
            if why is not None:
                raise UnknownSchema(why)
            if len(self.unknown) < MOST_UNKNOWN:
                self.unknown.add(frame)
            return None
        indexes = frame[1 + framing.GUID_SIZE :] if in_header else None
        return reader_of(schemas, self._topic, written, indexes)


def reader_of(schemas: KnownSchemas, topic: str, written: Registered, indexes: bytes | None = None) -> Read:
    """Return what reads messages that were written with a schema, as that of their topic.

    :param indexes: of a header that names a Protobuf message.
    :raises InvalidSchema: one of the schemas is not valid.
    """
    made = new_format(schemas.kind)
    return made.reader(written.schema, written.dependencies, schemas.readers[topic], indexes)


def as_plain(value: Any) -> Any:
    """Return a message as a mapping, other values as they are."""
    if hasattr(value, "DESCRIPTOR"):
        from kafkatx.schemas.messages.protobuf.message_values import fields_of

        return fields_of(value)
    return value


class RegisteredDecoding(InferringDecoding):
    """Rows have the columns of the readers' schemas."""

    def __init__(
        self,
        name: str,
        schemas: KnownSchemas,
        columns: Sequence[Column],
        time_column: str | None = None,
        partition_by: Sequence[str] = (),
    ) -> None:
        super().__init__(name, None, columns, time_column, partition_by, fixed=True)
        self._schemas = schemas
        self._readers: dict[str, Readers] = {}
        self._headers: list[bytes | None] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_readers": {}, "_headers": None}

    def decode(self, topic: str, batch: pa.RecordBatch) -> Decoded:
        """Make each record a row or a dead letter, unless schemas have to be looked up first."""
        readers = self._readers.get(topic)
        if readers is None:
            readers = self._readers[topic] = Readers(self._schemas, topic)
        has_headers = "headers" in batch.schema.names
        headers = batch.column("headers").to_pylist() if has_headers else None
        self._headers = None if headers is None else [_schema_header(each) for each in headers]
        readers.unknown.clear()
        decoded = super().decode(topic, batch)
        return decoded._replace(unknown=frozenset(readers.unknown))

    def _objects(self, topic: str, values: Sequence[bytes | None], dead: Dead) -> list[object]:
        read = self._readers[topic].read
        headers = self._headers or [None] * len(values)
        made: list[object] = []
        for place, (value, header) in enumerate(zip(values, headers, strict=True)):
            try:
                made.append(None if value is None else read(value, header))
            except Exception as error:
                dead[place] = self._reason(error, value)
                made.append(None)
        return made


def _schema_header(headers: Sequence[Mapping[str, Any]] | None) -> bytes | None:
    for each in headers or ():
        if each["key"] == framing.VALUE_HEADER:
            value: bytes | None = each["value"]
            return value
    return None
