"""The options of a write, by the names and rules of Spark's own Kafka sink. Pure.

``kafka.*`` options are a producer's settings, read by :mod:`kafkatx.clientcore.settings`. An unknown one is
an error here: Java's producer would warn, in a worker's log.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

import attrs

from kafkatx.clientcore.producer.accumulator import BATCH_BYTES
from kafkatx.clientcore.producer.config import limits_of
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, producer, registry
from kafkatx.errors import RequestError, SettingError
from kafkatx.names import check_topic_name
from kafkatx.spark.options.client import parse_bool

TOPIC = "topic"
EXACTLY_ONCE = "exactlyOnce"
SCHEMA_LANGUAGES = ("avro", "json-schema", "protobuf")
_SERIALIZERS = {"key": producer.KEY_SERIALIZER.name, "value": producer.VALUE_SERIALIZER.name}
_PREFIX = "kafka."
_WITHOUT_EFFECT = (
    "includeHeaders",  # the source's: a column named headers is written in any case
    # what Spark itself adds, for save(path) and for streams
    "path",
    "checkpointLocation",
    "queryName",
    "asyncProgressTrackingEnabled",
    "asyncProgressTrackingCheckpointIntervalMs",
)
_PARTS = "the sink has no part that could be replaced: do it with DataFrame operations before"
_REFUSED = {
    "partitioner.class": "name the partition in a column of that name",
    **dict.fromkeys(
        ("key.encoder", "value.encoder", "serializer.class", "callback.handler", "event.handler"), _PARTS
    ),
    "interceptor.classes": _PARTS,
    "kafkatx.endpoint": "the sink connects by itself: TLS has security.protocol and ssl.*",
}
_DEFAULTS = {"client.id": "kafkatx-spark", "batch.size": str(BATCH_BYTES)}
"""A table's rows are all there: large batches cost no waiting."""
_EXACTLY_ONCE_DEFAULTS = {producer.TRANSACTION_TIMEOUT_MS.name: str(15 * 60_000)}
"""A transaction is open until all tasks are done. More than that brokers do not allow by default."""


@attrs.frozen
class SinkOptions:
    """The topic and the producer's settings of a write; picklable, for the workers.

    :ivar topic: of all rows, whatever the column says; None: the column says it.
    :ivar given: the producer's settings as text, by Kafka's names.
    :ivar exactly_once: write each micro-batch in transactions.
    """

    topic: str | None
    given: Mapping[str, str] = attrs.field(repr=False)  # with passwords
    exactly_once: bool = False

    @property
    def encoded(self) -> list[str]:
        """The columns that become messages with schemas: ``key``, ``value``."""
        return [column for column, name in _SERIALIZERS.items() if name in self.given]

    def settings(self) -> ClientSettings:
        """Return the producer's settings.

        :raises SettingError: one is unknown or has a bad value.
        """
        try:
            more = _EXACTLY_ONCE_DEFAULTS if self.exactly_once else {}
            settings = ClientSettings.load("producer", {**_DEFAULTS, **more, **self.given})
            limits_of(settings)  # what cannot be together
        except SettingError as error:
            raise SettingError(f"{_PREFIX}{error}") from None
        return settings


def parse_sink(options: Mapping[str, str]) -> SinkOptions:
    """Read the options of ``df.write`` or ``df.writeStream``.

    :raises SettingError: one is unknown, refused, missing or has a bad value; the message names it.
    """
    given = {name.lower(): value for name, value in options.items()}
    _check_names(given)
    ours = {name[len(_PREFIX) :]: value for name, value in given.items() if name.startswith(_PREFIX)}
    for name, reason in _REFUSED.items():
        if name in ours:
            raise SettingError(f"Kafka option '{name}' is not supported: {reason}")
    _check_serializers(ours)
    if not ours.get(common.BOOTSTRAP_SERVERS.name, "").strip():
        raise SettingError(
            f"Option 'kafka.{common.BOOTSTRAP_SERVERS.name}' must be specified for configuring Kafka "
            "producer: HOST:PORT[,...]"
        )
    exactly_once = parse_bool(EXACTLY_ONCE, given.get(EXACTLY_ONCE.lower(), "false"))
    _check_transactional_id(ours.get(producer.TRANSACTIONAL_ID.name, "").strip(), exactly_once)
    parsed = SinkOptions(_topic(given), ours, exactly_once)
    parsed.settings()
    return parsed


def _check_serializers(ours: Mapping[str, str]) -> None:
    """Check that keys and values are written with schemas of a registry, or as they are."""
    given = [name for name in _SERIALIZERS.values() if name in ours]
    for name in given:
        if ours[name] not in SCHEMA_LANGUAGES:
            raise SettingError(
                f"Kafka option '{name}' is not supported but for schemas of a registry"
                f" ({', '.join(SCHEMA_LANGUAGES)}): use DataFrame operations to serialize in another way"
            )
    url = registry.URL.name
    if given and not ours.get(url, "").strip():
        raise SettingError(f"Option '{_PREFIX}{url}' must be specified for the schemas of keys and values")
    if url in ours and not given:
        needed = " or ".join(f"{_PREFIX}{name}" for name in _SERIALIZERS.values())
        raise SettingError(f"Kafka option '{url}' needs {needed}: {', '.join(SCHEMA_LANGUAGES)}")


def _check_transactional_id(name: str, exactly_once: bool) -> None:
    option = f"{_PREFIX}{producer.TRANSACTIONAL_ID.name}"
    if exactly_once and not name:
        raise SettingError(
            f"{EXACTLY_ONCE}=true needs {option}: a name for the transactions of this query, the same in each"
            " run, which no other query uses"
        )
    if name and not exactly_once:
        raise SettingError(f"Kafka option '{producer.TRANSACTIONAL_ID.name}' needs {EXACTLY_ONCE}=true")


def _topic(given: Mapping[str, str]) -> str | None:
    name = given.get(TOPIC)
    if name is None:
        return None
    try:
        check_topic_name(name.strip())
    except RequestError as error:
        raise SettingError(f"{TOPIC}={name}: {error}") from None
    return name.strip()


def _check_names(given: Mapping[str, str]) -> None:
    names = (TOPIC, EXACTLY_ONCE, *_WITHOUT_EFFECT, f"{_PREFIX}{producer.ACKS.name}")
    known = {name.lower(): name for name in names}
    for name in given:
        if name in known or name.startswith(_PREFIX):
            continue
        near = difflib.get_close_matches(name, known, n=1)
        hint = (
            f"did you mean {known[near[0]]}?" if near else f"a sink has {TOPIC}, {EXACTLY_ONCE} and kafka.*"
        )
        raise SettingError(f"unknown option {name}: {hint}")
