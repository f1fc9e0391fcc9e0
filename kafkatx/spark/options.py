"""The options of a batch query, by the names and rules of Spark's own Kafka source. Pure.

Names may come in any case. An unknown one is an error here, where Spark's source would read something else
than was meant. The ``kafka.*`` options are read in :mod:`kafkatx.spark.client_options`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import TypeAlias

import attrs

from kafkatx.errors import SettingError
from kafkatx.spark.client_options import BOOTSTRAP, ClientSettings, parse_bool, parse_client, parse_int
from kafkatx.spark.offsets import EARLIEST, LATEST, Offsets, parse_offsets, parse_partitions
from kafkatx.types import TopicPartition

STARTING = "startingOffsets"
ENDING = "endingOffsets"


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
    """What a query reads, and how; picklable, it travels to the workers."""

    client: ClientSettings
    selection: Selection
    starting: Offsets = EARLIEST
    ending: Offsets = LATEST
    include_headers: bool = False
    min_partitions: int | None = None
    fail_on_data_loss: bool = True


_SELECTING = ("subscribe", "subscribePattern", "assign")
_HEEDED = (*_SELECTING, STARTING, ENDING, "includeHeaders", "minPartitions", "failOnDataLoss")
_WITHOUT_EFFECT = (
    # of streams: Spark's source, too, lets them pass in a batch
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    # of the JVM consumer and its groups
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    # what Spark itself adds for load(path)
    "path",
    "paths",
)
_NOT_YET = (
    "startingTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestamp",
    "endingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "maxRecordsPerPartition",
)


def parse_batch(options: Mapping[str, str]) -> SourceOptions:
    """Read the options of ``spark.read``.

    :raises SettingError: one is unknown, missing or has a bad value; the message names it.
    """
    given = {name.lower(): value for name, value in options.items()}
    _check_names(given)
    starting = _offsets(given, STARTING, EARLIEST, LATEST, "latest")
    ending = _offsets(given, ENDING, LATEST, EARLIEST, "earliest")
    _check_order(starting, ending)
    client = parse_client(given)
    selection = _selection(given)
    parts = given.get("minpartitions")
    return SourceOptions(
        client,
        selection,
        starting,
        ending,
        include_headers=parse_bool("includeHeaders", given.get("includeheaders", "false")),
        min_partitions=None if parts is None else parse_int("minPartitions", parts, least=1),
        fail_on_data_loss=parse_bool("failOnDataLoss", given.get("failondataloss", "true")),
    )


def _check_names(given: Mapping[str, str]) -> None:
    known = {name.lower(): name for name in (*_HEEDED, *_WITHOUT_EFFECT, f"kafka.{BOOTSTRAP}")}
    refused = {name.lower(): name for name in _NOT_YET}
    for name in given:
        if name in refused:
            raise SettingError(f"option {refused[name]} is not supported yet: use {STARTING} and {ENDING}")
        if name in known or name.startswith("kafka."):
            continue
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {known[near[0]]}?" if near else f"there are {', '.join(_HEEDED)} and kafka.*"
        raise SettingError(f"unknown option {name}: {hint}")


def _selection(given: Mapping[str, str]) -> Selection:
    named = [name for name in _SELECTING if name.lower() in given]
    if len(named) != 1:
        which = "Only one of the following options can" if named else "One of the following options must"
        raise SettingError(f"{which} be specified for Kafka source: {', '.join(_SELECTING)}")
    text = given[named[0].lower()].strip()
    if named[0] == "subscribe":
        topics = tuple(dict.fromkeys(topic.strip() for topic in text.split(",") if topic.strip()))
        if not topics:
            raise SettingError(f"No topics to subscribe to: the value of option 'subscribe' is '{text}'")
        return Subscribe(topics)
    if named[0] == "subscribePattern":
        return SubscribePattern(_pattern(text))
    partitions = parse_partitions("assign", text)
    if not partitions:
        raise SettingError(f"No topic partitions to assign: the value of option 'assign' is '{text}'")
    return Assign(partitions)


def _pattern(text: str) -> str:
    if not text:
        raise SettingError("Pattern to subscribe is empty: give 'subscribePattern' a regular expression")
    try:
        re.compile(text)
    except re.error as error:
        raise SettingError(f"subscribePattern={text}: not a regular expression: {error}") from None
    return text


def _offsets(given: Mapping[str, str], option: str, default: int, wrong: int, wrong_word: str) -> Offsets:
    """A boundary; a batch cannot start at the latest offset nor end at the earliest."""
    text = given.get(option.lower())
    offsets = default if text is None else parse_offsets(option, text)
    if isinstance(offsets, int):
        if offsets == wrong:
            raise SettingError(f"{option} can't be {wrong_word} for batch queries on Kafka")
        return offsets
    for partition, offset in offsets.items():
        if offset == wrong:
            raise SettingError(f"{option} for {partition} can't be {wrong_word} for batch queries on Kafka")
    return offsets


def _check_order(starting: Offsets, ending: Offsets) -> None:
    """Where both are told by partition they must be of the same ones, and none may end before it starts."""
    if isinstance(starting, int) or isinstance(ending, int):
        return
    if set(starting) != set(ending):
        differing = ", ".join(map(str, sorted(set(starting) ^ set(ending))))
        raise SettingError(f"{STARTING} and {ENDING} must name the same partitions; not in both: {differing}")
    for partition, start in starting.items():
        if 0 <= ending[partition] < start:
            raise SettingError(
                f"{STARTING} for {partition}, {start}, is greater than its {ENDING}, {ending[partition]}"
            )
