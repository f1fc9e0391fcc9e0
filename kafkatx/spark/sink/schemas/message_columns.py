"""In a worker: columns of values become columns of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import pyarrow as pa

from kafkatx.blocking.registry import BlockingRegistry
from kafkatx.clientcore.registry import plans
from kafkatx.clientcore.registry.settings import RegistrySettings
from kafkatx.clientcore.registry.subjects import strategy
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.errors import KafkaTXError
from kafkatx.schemas import framing
from kafkatx.schemas.messages.format import Write
from kafkatx.schemas.messages.formats import new_format
from kafkatx.schemas.types import Dependencies, Schema, SchemaType
from kafkatx.spark.sink.encoder import BadRow
from kafkatx.spark.sink.schema import SinkColumns
from kafkatx.spark.sink.schemas.plain_values import values_of

ANY_TOPIC = ""
_LOOK_UP_ONLY = plans.WriterPolicy(auto_register=False)


@attrs.frozen
class Subject:
    """A schema of the registry, to write with; picklable."""

    name: str
    schema_id: int
    schema: Schema
    dependencies: Dependencies = attrs.field(factory=dict)


@attrs.frozen
class Encoding:
    """The encoding of a column; picklable.

    :ivar column: ``key`` or ``value``.
    :ivar known: subjects by topic that the driver has looked up; :data:`ANY_TOPIC`: one for all topics.
    :ivar given: the schema to write with; None: the subject's latest, or one by its id.
    :ivar record: its full name.
    :ivar strategy: the name of the strategy that finds subjects.
    :ivar policy: how a worker looks up the subjects of other topics; it never registers.
    """

    column: str
    kind: SchemaType
    known: Mapping[str, Subject]
    given: Schema | None = None
    record: str = ""
    strategy: str = "TopicNameStrategy"
    policy: plans.WriterPolicy = _LOOK_UP_ONLY
    checked: bool = True


@attrs.frozen
class Encodings:
    """The encodings of a table's columns; None: the column is text or bytes."""

    key: Encoding | None = None
    value: Encoding | None = None


NO_ENCODINGS = Encodings()


def look_up(encoding: Encoding, topic: str, settings: ClientSettings, policy: plans.WriterPolicy) -> Subject:
    """Ask the registry for the schema of a topic's messages.

    :raises KafkaTXError: it has none, refuses it, or does not answer; the message names topic and subject.
    """
    found_by = strategy("kafka.subject.name.strategy", encoding.strategy)
    name = topic
    try:
        name = found_by(topic, encoding.column == "key", encoding.record)
        with BlockingRegistry(RegistrySettings.of(settings)) as registry:
            found = registry.run(plans.writer_schema(name, encoding.given, policy))
        if found.schema.type is not encoding.kind:
            raise KafkaTXError(
                f"schema {found.id} is of type {found.schema.type.value}, not {encoding.kind.value}"
            )
    except (KafkaTXError, ValueError) as error:
        raise KafkaTXError(
            f"{encoding.column}s of topic {topic or '(any)'}, subject {name}: {error}"
        ) from error
    return Subject(name, found.id, found.schema, dict(found.dependencies))


class MessageColumns:
    """Encodes the key and value of rows."""

    def __init__(
        self, encodings: Encodings, columns: SinkColumns, topic: str | None, settings: ClientSettings
    ) -> None:
        found = ((columns.key, encodings.key), (columns.value, encodings.value))
        self._encoders = [
            (index, _Encoder(encoding, settings))
            for index, encoding in found
            if index is not None and encoding is not None
        ]
        self._topic = topic
        self._topic_column = columns.topic

    def encode(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with messages in place of values.

        :raises BadRow: a value does not fit its schema.
        :raises KafkaTXError: the registry has no schema for a topic, or does not answer.
        """
        if not self._encoders:
            return batch
        topics: Sequence[str | None] = [self._topic] * batch.num_rows
        if self._topic is None and self._topic_column is not None:
            topics = batch.column(self._topic_column).to_pylist()
        for index, encoder in self._encoders:
            messages = encoder.encode(batch.column(index), topics)
            batch = batch.set_column(index, batch.schema.names[index], messages)
        return batch


class _Encoder:
    """Encodes one column."""

    def __init__(self, encoding: Encoding, settings: ClientSettings) -> None:
        self._encoding = encoding
        self._settings = settings
        self._writers: dict[str | None, Write] = {None: lambda value: b""}  # such a row is refused later
        self._subjects: dict[str | None, str] = {}

    def encode(self, column: pa.Array, topics: Sequence[str | None]) -> pa.Array:
        """Return messages; null stays null."""
        messages: list[bytes | None] = []
        add, writers = messages.append, self._writers
        for value, topic in zip(values_of(column, self._encoding.kind), topics, strict=True):
            if value is None:
                add(None)
                continue
            write = writers.get(topic) or self._writer(topic)
            try:
                add(write(value))
            except Exception as error:
                raise self._bad_row(topic, value, error) from error
        return pa.array(messages, pa.binary())

    def _writer(self, topic: str | None) -> Write:
        assert topic is not None
        encoding = self._encoding
        found = encoding.known.get(topic) or encoding.known.get(ANY_TOPIC)
        if found is None:
            found = look_up(encoding, topic, self._settings, encoding.policy)
        made = new_format(encoding.kind)
        made.checked = encoding.checked
        prefix = framing.prefix(found.schema_id)
        _, write = made.writer(found.schema, found.dependencies, prefix, None)
        self._writers[topic] = write
        self._subjects[topic] = found.name
        return write

    def _bad_row(self, topic: str | None, value: Any, error: Exception) -> BadRow:
        encoding = self._encoding
        return BadRow(
            f"topic {topic}: a {encoding.column} does not fit the schema of subject"
            f" {self._subjects[topic]}: {error}"
        )
