"""The names of all options, and in which queries each of them means something. Pure.

Names may come in any case. An unknown one is an error here; Spark's source ignores it and may read the wrong
data.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from kafkatx.errors import SettingError
from kafkatx.spark.options.client import BOOTSTRAP

SELECTING = ("subscribe", "subscribePattern", "assign")
OF_ALL = (
    *SELECTING,
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "startingOffsets",
    "includeHeaders",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
)
OF_BATCHES = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
OF_STREAMS = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
WITHOUT_EFFECT = (
    # of the JVM's consumer
    "kafkaConsumer.pollTimeoutMs",
    # what Spark itself adds for load(path)
    "path",
    "paths",
)
_BY_LOWER = {name.lower(): name for name in (*OF_ALL, *OF_BATCHES, *OF_STREAMS, *WITHOUT_EFFECT)}


def lowered(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options by their names in lower case.

    :raises SettingError: there is no option of such a name; the message has the nearest one.
    """
    given = {name.lower(): value for name, value in options.items()}
    known = {**_BY_LOWER, f"kafka.{BOOTSTRAP}": f"kafka.{BOOTSTRAP}"}
    for name in given:
        if name.startswith("kafka.") or name in known:
            continue
        nearest = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {known[nearest[0]]}?" if nearest else f"there are {', '.join(OF_ALL)}, kafka.*"
        raise SettingError(f"unknown option {name}: {hint}")
    return given


def check_stream(given: Mapping[str, str]) -> None:
    """Check that a stream has no end.

    :raises SettingError: one was given.
    """
    for name in OF_BATCHES:
        if name.lower() in given:
            raise SettingError(f"{name}: ending offset not valid in streaming queries: leave it out")


def ignored_in_batch(given: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each option of streams, in the words of Spark's source."""
    for name in OF_STREAMS:
        if name.lower() in given:
            yield f"{name} option ignored in batch queries"


def about_groups(given: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning if a consumer group is named, as Spark's source does.

    Spark warns because queries in one group disturb each other. Here none joins a group.
    """
    if "kafka.group.id" not in given:
        return
    yield (
        "Kafka option 'kafka.group.id' has been set on this query: no consumer group is joined and no "
        "offsets are committed to it; it only becomes a part of the client id"
    )
    if "groupidprefix" in given:
        yield "Option groupIdPrefix will be ignored as option kafka.group.id has been set"
