"""On the driver: the schemas that a table is written with, by the settings of a producer's encoders."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
from pyspark.sql.types import DataType, StructType

from kafkatx.clientcore.registry.plans import WriterPolicy
from kafkatx.clientcore.registry.subjects import strategy
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import producer
from kafkatx.clientcore.tables import registry as table
from kafkatx.errors import SettingError
from kafkatx.schemas.avro.avro_types import Record
from kafkatx.schemas.given import given_schema
from kafkatx.schemas.messages.avro.avro_format import parse
from kafkatx.schemas.messages.formats import NAMES, new_format
from kafkatx.schemas.types import InvalidSchema, Schema, SchemaType
from kafkatx.spark.sink.options import SinkOptions
from kafkatx.spark.sink.schemas.derived import avro_schema, record_name
from kafkatx.spark.sink.schemas.message_columns import ANY_TOPIC, Encoding, Encodings, Subject, look_up

_SERIALIZERS = {"key": producer.KEY_SERIALIZER, "value": producer.VALUE_SERIALIZER}
_SCHEMAS = {"key": table.KEY_SCHEMA, "value": table.VALUE_SCHEMA}
_STRATEGIES = {"key": table.KEY_STRATEGY, "value": table.VALUE_STRATEGY}
_PLACES = {"key": table.KEY_ID_PLACE, "value": table.VALUE_ID_PLACE}


def planned(options: SinkOptions, schema: StructType) -> Encodings:
    """Return the encodings of a table, before the registry is asked: none of their subjects is known.

    :raises SettingError: a setting is wrong, or a column cannot be written so.
    """
    settings = options.settings()
    types = {field.name: field.dataType for field in schema.fields}
    found = {column: _planned(options, settings, column, types.get(column)) for column in _SERIALIZERS}
    return Encodings(**found)


def _planned(
    options: SinkOptions, settings: ClientSettings, column: str, dtype: DataType | None
) -> Encoding | None:
    serializer = settings[_SERIALIZERS[column]]
    if serializer not in NAMES or dtype is None:
        return None
    place = _PLACES[column]
    if settings[place] != table.PREFIX:
        raise SettingError(
            f"kafka.{place.name}={settings[place]}: the sink writes the id before the message only"
        )
    by = _STRATEGIES[column]
    strategy(f"kafka.{by.name}", settings[by])
    kind = NAMES[serializer]
    given, record = _given(options, settings, column, kind, dtype)
    return Encoding(
        column,
        kind,
        {},
        given,
        record,
        settings[by],
        _policy(settings, given, registers=False),
        settings[table.ENCODING_VALID],
    )


def _given(
    options: SinkOptions, settings: ClientSettings, column: str, kind: SchemaType, dtype: DataType
) -> tuple[Schema | None, str]:
    """Return the schema to write with, and its name; None: only the registry knows it."""
    setting = _SCHEMAS[column]
    text = given_schema(f"kafka.{setting.name}", settings.part(setting))
    if text is None:
        if settings[table.USE_LATEST] or settings[table.USE_SCHEMA_ID] >= 0:
            return None, ""
        if kind is not SchemaType.AVRO:
            raise SettingError(
                f"kafka.{setting.name} is not set: give the schema of the {column}s, or"
                f" kafka.{table.USE_LATEST.name}=true with kafka.{table.AUTO_REGISTER.name}=false; only for"
                " avro the table's own is enough"
            )
        text = avro_schema(dtype, record_name(options.topic or column))
    try:
        told = new_format(kind).schema_of(text)
    except InvalidSchema as error:
        raise SettingError(f"kafka.{setting.name}: {error}") from error
    if told is None:
        raise SettingError(f"kafka.{setting.name}: it is no schema of {kind.value}")
    return told


def _policy(settings: ClientSettings, given: Schema | None, registers: bool) -> WriterPolicy:
    return WriterPolicy(
        auto_register=registers and settings[table.AUTO_REGISTER],
        use_schema_id=settings[table.USE_SCHEMA_ID],
        use_latest=settings[table.USE_LATEST] or given is None,
        normalize=settings[table.NORMALIZE],
    )


def resolved(options: SinkOptions, encodings: Encodings, schema: StructType) -> Encodings:
    """Return the encodings with the schemas of the registry, registered if the settings say so.

    Subjects that follow from a topic column are looked up by the tasks.

    :raises KafkaTXError: the registry does not answer, or refuses a schema; or columns do not fit a schema.
    """
    types = {field.name: field.dataType for field in schema.fields}
    settings = options.settings()

    def with_subject(encoding: Encoding | None) -> Encoding | None:
        if encoding is None:
            return None
        known = _known(options, settings, encoding)
        for subject in known.values():
            _check_fields(encoding, subject, types[encoding.column])
        return attrs.evolve(encoding, known=known)

    return Encodings(with_subject(encodings.key), with_subject(encodings.value))


def _known(options: SinkOptions, settings: ClientSettings, encoding: Encoding) -> Mapping[str, Subject]:
    name = encoding.strategy.rpartition(".")[2]
    by_topic = name != "RecordNameStrategy"
    if options.topic is None and by_topic:
        return {}
    topic = options.topic if by_topic and options.topic is not None else ANY_TOPIC
    policy = _policy(settings, encoding.given, registers=True)
    return {topic: look_up(encoding, topic, settings, policy)}


def _check_fields(encoding: Encoding, subject: Subject, dtype: DataType) -> None:
    """Check that no field of the rows would be left out.

    :raises SettingError: the schema lacks one.
    """
    if encoding.kind is SchemaType.JSON or not isinstance(dtype, StructType):
        return
    known = _field_names(subject)
    missing = [name for name in dtype.fieldNames() if name not in known]
    if missing:
        raise SettingError(
            f"{encoding.column}: the schema of subject {subject.name} has no field {', '.join(missing)}; it"
            f" has {', '.join(sorted(known))}"
        )


def _field_names(subject: Subject) -> set[str]:
    """Return the names of the fields of a schema's record or message; none if it is of single values."""
    if subject.schema.type is SchemaType.AVRO:
        root = parse(subject.schema, subject.dependencies)
        return {field.name for field in root.fields} if isinstance(root, Record) else set()
    from kafkatx.schemas.messages.protobuf.message_classes import MessageClasses

    message = MessageClasses(subject.schema, subject.dependencies).at((0,))
    return {field.name for field in message.DESCRIPTOR.fields}
