"""Lines of JSON as messages with schemas: ``kafkatx produce --schema`` and ``kafkatx consume --decode``.

The lines, and the properties ``schema.registry.url``, ``value.schema`` and ``key.schema``, are those of
kafka-avro-console-producer; plain JSON is taken as well (:mod:`kafkatx.schemas.messages.avro.json_values`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import click

from kafkatx.cli.options.registry import TYPES, open_registry, read_schema
from kafkatx.errors import KafkaTXError

if TYPE_CHECKING:
    from kafkatx.blocking import Columns
    from kafkatx.blocking.registry import BlockingRegistry
    from kafkatx.blocking.registry.coders import MessageReader, MessageWriter
    from kafkatx.cli.output.renderer import Renderer

F = TypeVar("F", bound=Callable[..., object])

Convert = Callable[["bytes | None"], "bytes | None"]

URL, VALUE_SCHEMA, KEY_SCHEMA = "schema.registry.url", "value.schema", "key.schema"
PROPERTIES = (URL, VALUE_SCHEMA, KEY_SCHEMA)
"""The properties of kafka-avro-console-producer that are taken."""


def schema_options(command: F) -> F:
    """Add the options of ``kafkatx produce`` for messages with schemas."""
    options = (
        click.option("--schema", metavar="FILE", help="Schema of values, which are then lines of JSON."),
        click.option("--key-schema", metavar="FILE", help="Schema of keys."),
        click.option(
            "--schema-type",
            type=click.Choice(TYPES),
            help="Language of the schemas; by default by the files' names, else avro.",
        ),
        click.option(
            "--subject",
            metavar="SUBJECT",
            help="Subject of the schema, by default TOPIC-value; its latest version without --schema.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@attrs.frozen
class SchemaOptions:
    """The options for messages with schemas; None where they were not given."""

    schema: str | None = None
    key_schema: str | None = None
    schema_type: str | None = None
    subject: str | None = None
    registry: str = ""

    @property
    def wanted(self) -> bool:
        """True if messages are to have schemas."""
        return not (self.schema is None and self.key_schema is None and self.subject is None)

    def with_properties(self, properties: Sequence[tuple[str, str]]) -> SchemaOptions:
        """Return the options with those that kafka-avro-console-producer has as properties."""
        given = dict(properties)
        return attrs.evolve(
            self,
            schema=given.get(VALUE_SCHEMA, self.schema),
            key_schema=given.get(KEY_SCHEMA, self.key_schema),
            registry=given.get(URL, self.registry),
        )


class LineEncoder:
    """Encodes the keys and values of lines.

    :ivar key: None if keys are bytes as they are; *value* likewise.
    """

    def __init__(self, topic: str, options: SchemaOptions, timeout_s: float) -> None:
        """Look the schemas up, or register them.

        :raises KafkaTXError: the registry does not answer, or refuses a schema; a file cannot be read.
        """
        self.key: Convert | None = None
        self.value: Convert | None = None
        with open_registry(options.registry, timeout_s) as registry:
            if options.schema is not None or options.subject is not None:
                subject = options.subject or f"{topic}-value"
                self.value = _line_writer(registry, subject, options.schema, options.schema_type)
            if options.key_schema is not None:
                self.key = _line_writer(registry, f"{topic}-key", options.key_schema, options.schema_type)

    def encode(self, key: bytes | None, value: bytes | None) -> tuple[bytes | None, bytes | None]:
        """Return a key and a value as messages.

        :raises KafkaTXError: one is no JSON, or does not match its schema.
        """
        return (key if self.key is None else self.key(key)), (
            value if self.value is None else self.value(value)
        )


def _line_writer(registry: BlockingRegistry, subject: str, place: str | None, kind: str | None) -> Convert:
    from kafkatx.blocking.registry.coders import MessageWriter
    from kafkatx.clientcore.registry.plans import WriterPolicy

    schema = None if place is None else read_schema(place, kind)
    policy = WriterPolicy(auto_register=schema is not None, use_latest=schema is None)
    writer = MessageWriter(registry, subject, schema, policy)
    convert = _converter(writer)

    def write(line: bytes | None) -> bytes | None:
        if line is None:
            return None
        try:
            return writer.write(convert(json.loads(line)))
        except (ValueError, RecursionError, KafkaTXError) as error:
            raise KafkaTXError(f"the line {line[:60]!r} is no {subject}: {error}") from error

    return write


def _converter(writer: MessageWriter) -> Callable[[Any], Any]:
    """Return what makes a value of JSON one of the schema's."""
    from kafkatx.schemas.messages.avro.json_values import AvroJson
    from kafkatx.schemas.types import SchemaType

    found = writer.registered
    if found.schema.type is SchemaType.AVRO:
        return AvroJson(found.schema, found.dependencies).value
    return lambda value: value


class DecodedRenderer:
    """A renderer of messages with schemas; keys and values become lines of JSON.

    :param key: None: keys are as they are; *value* likewise.
    """

    wants_headers = True

    def __init__(
        self, rows: Renderer, topic: str, key: MessageReader | None, value: MessageReader | None
    ) -> None:
        self._rows = rows
        self._topic = topic
        self._key = key
        self._value = value

    def render(self, partition: int, columns: Columns) -> bytes:
        """Return all rows of *columns*, in order.

        :raises KafkaTXError: a message cannot be decoded; it tells which one.
        """
        return self._rows.render(
            partition,
            columns._replace(
                keys=self._decoded(partition, columns, columns.keys, self._key),
                values=self._decoded(partition, columns, columns.values, self._value),
            ),
        )

    def _decoded(
        self, partition: int, columns: Columns, messages: list[bytes | None], reader: MessageReader | None
    ) -> list[bytes | None]:
        from kafkatx.schemas.messages.avro.json_values import to_json

        if reader is None:
            return messages
        made: list[bytes | None] = []
        for at, message in enumerate(messages):
            try:
                headers = columns.headers[at] if columns.headers else ()
                made.append(
                    None if message is None else to_json(reader.read(message, headers).value).encode()
                )
            except KafkaTXError as error:
                schema_id = message[1:5].hex() if message else ""
                named = f" (schema {int(schema_id, 16)})" if message and message[0] == 0 and schema_id else ""
                raise KafkaTXError(
                    f"{self._topic} [{partition}] offset {columns.offsets[at]}{named}: {error}"
                ) from error
        return made


@attrs.frozen
class Decoding:
    """The readers of keys and values, which all topics share; None: bytes stay as they are."""

    key: MessageReader | None
    value: MessageReader | None

    @classmethod
    def of(cls, registry: BlockingRegistry, decode: str | None, decode_key: str | None) -> Decoding:
        """Make readers of the languages that the options name."""
        from kafkatx.blocking.registry.coders import MessageReader
        from kafkatx.schemas.messages.formats import NAMES

        return cls(
            None if decode_key is None else MessageReader(registry, NAMES[decode_key], is_key=True),
            None if decode is None else MessageReader(registry, NAMES[decode]),
        )

    def wrap(self, rows: Renderer, topic: str) -> Renderer:
        """Return a renderer of the decoded messages of a topic."""
        return DecodedRenderer(rows, topic, self.key, self.value)


@contextmanager
def open_decoding(
    registry: str, timeout_s: float, decode: str | None, decode_key: str | None
) -> Iterator[Decoding | None]:
    """Return what decodes messages by a registry while the context lasts; None if no option asks for it.

    :raises SettingError: *registry* is no address.
    """
    if decode is None and decode_key is None:
        yield None
        return
    with open_registry(registry, timeout_s) as client:
        yield Decoding.of(client, decode, decode_key)
