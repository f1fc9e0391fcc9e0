"""Columns of messages with schemas of a registry, for one's own tables and streams.

::

    url = "http://127.0.0.1:8081"
    frame.select(from_registry("value", url, subject="orders-value").alias("order"))
    frame.select(to_registry(struct("id", "item"), url, subject="orders-value").alias("value"))

The driver looks the schemas up, all versions of the subject. A worker asks the registry only about an id that
is newer than that, and once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from kafkatx.blocking.registry import BlockingRegistry
from kafkatx.clientcore.registry import plans, reader_schemas, requests
from kafkatx.clientcore.registry.errors import RegistryUnavailable
from kafkatx.clientcore.registry.plans import WriterPolicy
from kafkatx.clientcore.registry.replies import RegisteredSchema
from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.schemas import framing
from kafkatx.schemas.messages.format import Read, Write
from kafkatx.schemas.messages.formats import new_format
from kafkatx.schemas.types import Schema
from kafkatx.spark.ingest.decoder.fit import Fit, fit_of
from kafkatx.spark.ingest.decoder.registered import KnownSchemas, Registered, as_plain, reader_of
from kafkatx.spark.ingest.decoder.schema_columns import is_single, schema_columns
from kafkatx.spark.ingest.table.columns import arrow_type, quoted_name

if TYPE_CHECKING:
    from pyspark.sql import Column

T = TypeVar("T")

MOST_BAD = 1000
"""Ids without a schema that a worker asks about."""


def from_registry(
    column: Column | str,
    url: str,
    *,
    subject: str,
    version: int = requests.LATEST,
    message: str = "",
    errors: str = "fail",
    **settings: object,
) -> Column:
    """Return the values of messages, as a struct with the fields of the schema.

    :param column: of messages with a schema id before them; null stays null.
    :param url: addresses of the registry, as ``schema.registry.url``.
    :param version: of *subject*, that all messages are read as; -1: the latest at this time.
    :param message: the full name of a Protobuf message; empty: the first one of the subject's oldest version
        that *version* has, too. Messages of other names cannot be read.
    :param errors: ``fail``: a message that cannot be read fails the query; ``null``: it becomes null.
    :param settings: of the registry's client, as ``basic_auth_user_info``.
    :raises SettingError: there is no such subject, or its schema cannot become columns.
    :raises KafkaTXError: the registry does not answer.
    """
    from pyspark.sql.functions import udf

    if errors not in ("fail", "null"):
        raise SettingError(f"errors={errors}: there are fail and null")
    client = {"schema.registry.url": url, **settings}
    with BlockingRegistry.of(client) as registry:
        read = _run(registry, subject, reader_schemas.read_version(subject, version, message))
        written = {}
        for number in registry.send(requests.versions(subject)):
            found = _run(registry, subject, _version(subject, number))
            written[framing.prefix(found.id)] = Registered(found.schema, dict(found.dependencies))
    schema = read.registered.schema
    schemas = KnownSchemas(schema.type, {"": read.reader}, written)
    columns = schema_columns(read.reader)
    fields = ",".join(f"{quoted_name(name)}:{kind}" for name, kind in columns)
    kind = columns[0].type if is_single(read.reader) else f"struct<{fields}>"
    return udf(_FromRegistry(schemas, kind, client, errors == "null"), kind, useArrow=False)(column)


def to_registry(
    column: Column | str,
    url: str,
    *,
    subject: str,
    schema: str | Schema | None = None,
    register: bool = True,
    **settings: object,
) -> Column:
    """Return messages of the values of a column, as binary with the schema's id before them.

    :param column: a struct with the fields of the schema, or a single value; null stays null.
    :param schema: its text (Avro), or a ``Schema``; None: the latest of *subject*.
    :param register: register the schema; False: it must be registered already.
    :raises KafkaTXError: the registry does not answer, or refuses the schema.
    """
    from pyspark.sql.functions import udf

    client = {"schema.registry.url": url, **settings}
    given = Schema(schema) if isinstance(schema, str) else schema
    policy = WriterPolicy(auto_register=register and given is not None, use_latest=given is None)
    with BlockingRegistry.of(client) as registry:
        found = registry.run(plans.writer_schema(subject, given, policy))
    chosen = Registered(found.schema, dict(found.dependencies))
    return udf(_ToRegistry(chosen, framing.prefix(found.id)), "binary", useArrow=False)(column)


def _run(registry: BlockingRegistry, subject: str, plan: plans.Plan[T]) -> T:
    try:
        return registry.run(plan)
    except RegistryUnavailable:
        raise
    except KafkaTXError as error:
        raise SettingError(f"subject {subject}: {error}") from error


def _version(subject: str, version: int) -> plans.Plan[RegisteredSchema]:
    found = yield from plans.ask(requests.schema_version(subject, version))
    return (yield from plans.with_dependencies(found))


@attrs.define
class _FromRegistry:
    """The function of :func:`from_registry`, in a worker."""

    _schemas: KnownSchemas
    _type: str
    _client: Mapping[str, object]
    _null_errors: bool
    _fit: Fit | None = None
    _readers: dict[bytes, Read] = attrs.Factory(dict)
    _bad: dict[bytes, str] = attrs.Factory(dict)

    __name__ = "from_registry"

    def __getstate__(self) -> tuple[object, ...]:
        return self._schemas, self._type, self._client, self._null_errors

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._schemas, self._type, self._client, self._null_errors = state
        self._fit, self._readers, self._bad = None, {}, {}

    def __call__(self, message: Any) -> Any:
        """Return the value of a message."""
        if message is None:
            return None
        try:
            return self._value(bytes(message))
        except Exception:
            if self._null_errors:
                return None
            raise

    def _value(self, message: bytes) -> Any:
        if self._fit is None:
            self._fit = fit_of(arrow_type(self._type))
        frame = message[: framing.PREFIX_SIZE]
        read = self._readers.get(frame)
        if read is None:
            read = self._readers[frame] = self._reader(frame)
        return self._fit.fit(as_plain(read(message, framing.PREFIX_SIZE)))

    def _reader(self, frame: bytes) -> Read:
        """Return the reader of messages with a prefix; the registry is asked about each once."""
        written = self._schemas.written.get(frame)
        if written is None:
            if frame in self._bad or len(self._bad) >= MOST_BAD:
                raise KafkaTXError(self._bad.get(frame, "too many messages name schemas that are not there"))
            try:
                written = self._look_up(frame)
            except RegistryUnavailable:
                raise
            except KafkaTXError as error:
                self._bad[frame] = str(error)
                raise
        return reader_of(self._schemas, "", written)

    def _look_up(self, frame: bytes) -> Registered:
        with BlockingRegistry.of(self._client) as registry:
            found = registry.run(plans.schema_of_id(framing.prefix_id(frame)))
        if found.schema.type is not self._schemas.kind:
            raise KafkaTXError(f"schema {found.id} is of type {found.schema.type.value}")
        return Registered(found.schema, dict(found.dependencies))


@attrs.define
class _ToRegistry:
    """The function of :func:`to_registry`, in a worker."""

    _schema: Registered
    _prefix: bytes
    _write: Write | None = None

    __name__ = "to_registry"

    def __getstate__(self) -> tuple[object, ...]:
        return self._schema, self._prefix

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._schema, self._prefix = state
        self._write = None

    def __call__(self, value: Any) -> bytes | None:
        """Return the message of a value."""
        if value is None:
            return None
        if self._write is None:
            found = self._schema
            made = new_format(found.schema.type)
            _, self._write = made.writer(found.schema, found.dependencies, self._prefix, None)
        return self._write(value.asDict(recursive=True) if hasattr(value, "asDict") else value)
