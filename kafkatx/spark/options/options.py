"""The options of a query, by the names and rules of Spark's own Kafka source. Pure.

Which names there are is in :mod:`kafkatx.spark.options.names`; the ``kafka.*`` options are read in
:mod:`kafkatx.spark.options.client`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from kafkatx.errors import RequestError, SettingError
from kafkatx.names import check_topic_name
from kafkatx.spark.offsets import EARLIEST, LATEST, parse_partitions
from kafkatx.spark.options.boundaries import Boundary, check_batch, parse_ending, parse_starting
from kafkatx.spark.options.client import ClientSettings, parse_bool, parse_client, parse_int
from kafkatx.spark.options.limits import Limits, parse_duration_ms
from kafkatx.spark.options.names import SELECTING, about_groups, check_stream, ignored_in_batch, lowered
from kafkatx.types import TopicPartition

_MAX_OFFSET = (1 << 63) - 1


@attrs.frozen
class Subscribe:
    """All partitions of these topics."""

    topics: tuple[str, ...]


@attrs.frozen
class SubscribePattern:
    """All partitions of every topic in whose name the pattern is found, as Python's ``re.search`` finds."""

    pattern: str


@attrs.frozen
class Assign:
    """These partitions."""

    partitions: frozenset[TopicPartition]


Selection: TypeAlias = Subscribe | SubscribePattern | Assign


@attrs.frozen
class SourceOptions:
    """The selection, boundaries and limits of a query; picklable, for the workers.

    :ivar attempts: how often offsets are asked for before the query fails.
    :ivar limits: of a stream's batches.
    :ivar warnings: to be logged when the query starts.
    """

    client: ClientSettings
    selection: Selection
    starting: Boundary = EARLIEST
    ending: Boundary = LATEST
    include_headers: bool = False
    min_partitions: int | None = None
    fail_on_data_loss: bool = True
    max_records_per_partition: int | None = None
    attempts: int = 3
    retry_interval_ms: int = 1000
    limits: Limits = attrs.field(factory=Limits)
    warnings: tuple[str, ...] = ()


def parse_headers(options: Mapping[str, str]) -> bool:
    """Return True if there is a column of headers, after checking the options that batches and streams share.

    Spark asks for the columns before it says whether a query is a batch or a stream.

    :raises SettingError: an option is unknown, missing or has a bad value.
    """
    given = lowered(options)
    parse_starting(given, EARLIEST)
    parse_ending(given)
    _limits(given)
    return bool(_common(given)["include_headers"])


def parse_batch(options: Mapping[str, str]) -> SourceOptions:
    """Read the options of ``spark.read``.

    :raises SettingError: one is unknown, missing or has a bad value; the message names it.
    """
    given = lowered(options)
    starting, ending = parse_starting(given, EARLIEST), parse_ending(given)
    check_batch(starting, ending)
    warnings = (*about_groups(given), *ignored_in_batch(given))
    return SourceOptions(starting=starting, ending=ending, warnings=warnings, **_common(given))


def parse_stream(options: Mapping[str, str]) -> SourceOptions:
    """Read the options of ``spark.readStream``; as :func:`parse_batch`."""
    given = lowered(options)
    check_stream(given)
    return SourceOptions(
        starting=parse_starting(given, LATEST),
        limits=_limits(given),
        warnings=tuple(about_groups(given)),
        **_common(given),
    )


def _common(given: Mapping[str, str]) -> dict[str, Any]:
    return {
        "client": parse_client(given),
        "selection": _selection(given),
        "include_headers": parse_bool("includeHeaders", given.get("includeheaders", "false")),
        "min_partitions": _number(given, "minPartitions"),
        "max_records_per_partition": _number(given, "maxRecordsPerPartition", most=_MAX_OFFSET),
        "fail_on_data_loss": parse_bool("failOnDataLoss", given.get("failondataloss", "true")),
        "attempts": _number(given, "fetchOffset.numRetries") or 3,
        "retry_interval_ms": parse_int(
            "fetchOffset.retryIntervalMs", given.get("fetchoffset.retryintervalms", "1000")
        ),
    }


def _number(given: Mapping[str, str], option: str, most: int = (1 << 31) - 1) -> int | None:
    text = given.get(option.lower())
    return None if text is None else parse_int(option, text, least=1, most=most)


def _limits(given: Mapping[str, str]) -> Limits:
    most = _number(given, "maxOffsetsPerTrigger", most=_MAX_OFFSET)
    least = _number(given, "minOffsetsPerTrigger", most=_MAX_OFFSET)
    if least is not None and most is not None and least > most:
        raise SettingError(
            f"The value of minOffsetsPerTrigger({least}) is higher than the maxOffsetsPerTrigger({most})"
        )
    delay_ms = parse_duration_ms("maxTriggerDelay", given.get("maxtriggerdelay", "15m"))
    return Limits(most, least, delay_ms)


def _selection(given: Mapping[str, str]) -> Selection:
    named = [name for name in SELECTING if name.lower() in given]
    if len(named) != 1:
        which = "Only one of the following options can" if named else "One of the following options must"
        raise SettingError(f"{which} be specified for Kafka source: {', '.join(SELECTING)}")
    text = given[named[0].lower()].strip()
    if named[0] == "subscribe":
        topics = tuple(dict.fromkeys(topic.strip() for topic in text.split(",") if topic.strip()))
        if not topics:
            raise SettingError(f"No topics to subscribe to: the value of option 'subscribe' is '{text}'")
        check_topic_names("subscribe", topics)
        return Subscribe(topics)
    if named[0] == "subscribePattern":
        return SubscribePattern(_pattern(text))
    partitions = parse_partitions("assign", text)
    if not partitions:
        raise SettingError(f"No topic partitions to assign: the value of option 'assign' is '{text}'")
    check_topic_names("assign", {topic for topic, _ in partitions})
    return Assign(partitions)


def check_topic_names(option: str, topics: Iterable[str]) -> None:
    """Check that Kafka allows the names of topics.

    :raises SettingError: one is not allowed in Kafka.
    """
    for topic in topics:
        try:
            check_topic_name(topic)
        except RequestError as error:
            raise SettingError(f"{option}={topic}: {error}") from None


def _pattern(text: str) -> str:
    if not text:
        raise SettingError("Pattern to subscribe is empty: give 'subscribePattern' a regular expression")
    try:
        re.compile(text)
    except re.error as error:
        raise SettingError(f"subscribePattern={text}: not a regular expression: {error}") from None
    return text
