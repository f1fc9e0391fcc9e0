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

TOPIC = "topic"
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
    "key.serializer": "keys are written as they are; use DataFrame operations to serialize them",
    "value.serializer": "values are written as they are; use DataFrame operations to serialize them",
    registry.URL.name: "make the column value with kafkatx.spark.to_registry before",
    "partitioner.class": "name the partition in a column of that name",
    **dict.fromkeys(
        ("key.encoder", "value.encoder", "serializer.class", "callback.handler", "event.handler"), _PARTS
    ),
    "interceptor.classes": _PARTS,
    producer.TRANSACTIONAL_ID.name: "the sink makes no transactions",
    "kafkatx.endpoint": "the sink speaks plain TCP only",
}
_DEFAULTS = {"client.id": "kafkatx-spark", "batch.size": str(BATCH_BYTES)}
"""A table's rows are all there: large batches cost no waiting."""


@attrs.frozen
class SinkOptions:
    """The topic and the producer's settings of a write; picklable, for the workers.

    :ivar topic: of all rows, whatever the column says; None: the column says it.
    :ivar given: the producer's settings as text, by Kafka's names.
    """

    topic: str | None
    given: Mapping[str, str]

    def settings(self) -> ClientSettings:
        """Return the producer's settings.

        :raises SettingError: one is unknown or has a bad value.
        """
        try:
            settings = ClientSettings.load("producer", {**_DEFAULTS, **self.given})
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
    if not ours.get(common.BOOTSTRAP_SERVERS.name, "").strip():
        raise SettingError(
            f"Option 'kafka.{common.BOOTSTRAP_SERVERS.name}' must be specified for configuring Kafka "
            "producer: HOST:PORT[,...]"
        )
    parsed = SinkOptions(_topic(given), ours)
    parsed.settings()
    return parsed


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
    known = {name.lower(): name for name in (TOPIC, *_WITHOUT_EFFECT, f"kafka.{producer.ACKS.name}")}
    for name in given:
        if name in known or name.startswith(_PREFIX):
            continue
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {known[near[0]]}?" if near else f"a sink has {TOPIC} and kafka.*"
        raise SettingError(f"unknown option {name}: {hint}")
