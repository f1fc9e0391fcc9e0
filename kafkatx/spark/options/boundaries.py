"""The start and the end of a query, by time or by offset, as its options say. Pure.

Of several options the first one counts, as in Spark's source: ``startingTimestamp``, then
``startingOffsetsByTimestamp``, then ``startingOffsets``; and the same for the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import attrs

from kafkatx.errors import SettingError
from kafkatx.spark.offsets import EARLIEST, LATEST, Offsets, boundary, by_partition, parse_offsets
from kafkatx.types import TopicPartition

STARTING = "startingOffsets"
ENDING = "endingOffsets"
STRATEGY = "startingOffsetsByTimestampStrategy"
_MAX_MS = (1 << 63) - 1


@attrs.frozen
class ByTimestamp:
    """A boundary at the first record of a time or later, in each partition.

    :ivar option: which option said so.
    :ivar timestamps: milliseconds since 1970, for all partitions or for each.
    :ivar or_latest: where no record is that late: the partition's end. Otherwise that is an error.
    """

    option: str
    timestamps: int | Mapping[TopicPartition, int]
    or_latest: bool = True

    def of(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the time for each partition that is read.

        :raises SettingError: the option names other partitions than those.
        """
        return boundary(self.option, self.timestamps, partitions, hint=" with a time for each")

    def offset(self, partition: TopicPartition, found: int) -> int:
        """Return the boundary in one partition.

        :param found: the offset that the broker gave for the time, -1 for none.
        :raises SettingError: there is none, and that is an error.
        """
        if found >= 0:
            return found
        if self.or_latest:
            return LATEST
        timestamp = self.timestamps if isinstance(self.timestamps, int) else self.timestamps[partition]
        raise SettingError(
            f"{self.option}: No offset matched from request of topic-partition {partition} and timestamp "
            f"{timestamp}. To start at the end of such partitions, set {STRATEGY} to latest"
        )


Boundary: TypeAlias = Offsets | ByTimestamp


def parse_starting(given: Mapping[str, str], default: int) -> Boundary:
    """Parse the start of a query; option names in lower case.

    :raises SettingError: an option has a bad value.
    """
    strategy = given.get(STRATEGY.lower(), "error").strip().lower()
    if strategy not in ("error", "latest"):
        raise SettingError(f"{STRATEGY}={given[STRATEGY.lower()]}: give error or latest")
    return _parse(given, "starting", default, or_latest=strategy == "latest")


def parse_ending(given: Mapping[str, str]) -> Boundary:
    """Parse the end of a batch; option names in lower case.

    :raises SettingError: an option has a bad value.
    """
    return _parse(given, "ending", LATEST, or_latest=True)


def _parse(given: Mapping[str, str], side: str, default: int, or_latest: bool) -> Boundary:
    for_all, for_each, offsets = f"{side}Timestamp", f"{side}OffsetsByTimestamp", f"{side}Offsets"
    if for_all.lower() in given:
        return ByTimestamp(for_all, _timestamp(for_all, given[for_all.lower()]), or_latest)
    if for_each.lower() in given:
        return ByTimestamp(for_each, _timestamps(for_each, given[for_each.lower()]), or_latest)
    text = given.get(offsets.lower())
    return default if text is None else parse_offsets(offsets, text)


def _timestamp(option: str, text: str) -> int:
    try:
        timestamp = int(text.strip())
    except ValueError:
        timestamp = -1
    if not _is_timestamp(timestamp):
        raise SettingError(f"{option}={text}: give a time as milliseconds since 1970")
    return timestamp


def _timestamps(option: str, text: str) -> dict[TopicPartition, int]:
    example = '{"topicA":{"0":1767225600000,"1":1767225600000}}'
    return by_partition(option, text, example, _is_timestamp, "a time as milliseconds since 1970")


def _is_timestamp(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_MS


def check_batch(starting: Boundary, ending: Boundary) -> None:
    """Check that a batch neither starts at the latest offset, nor ends at the earliest or before its start.

    :raises SettingError: it would; or the boundaries are of different partitions.
    """
    _check_word(STARTING, starting, LATEST, "latest")
    _check_word(ENDING, ending, EARLIEST, "earliest")
    if isinstance(starting, ByTimestamp) and isinstance(ending, ByTimestamp):
        _check_order(starting.option, starting.timestamps, ending.option, ending.timestamps)
    elif not isinstance(starting, ByTimestamp) and not isinstance(ending, ByTimestamp):
        _check_order(STARTING, starting, ENDING, ending)


def _check_word(option: str, boundary: Boundary, wrong: int, word: str) -> None:
    if isinstance(boundary, ByTimestamp):
        return
    if boundary == wrong:
        raise SettingError(f"{option} can't be {word} for batch queries on Kafka")
    for partition, offset in () if isinstance(boundary, int) else boundary.items():
        if offset == wrong:
            raise SettingError(f"{option} for {partition} can't be {word} for batch queries on Kafka")


def _check_order(
    starting_option: str,
    starting: int | Mapping[TopicPartition, int],
    ending_option: str,
    ending: int | Mapping[TopicPartition, int],
) -> None:
    """Check boundaries given by partition: they name the same ones, and none ends before it starts."""
    if isinstance(starting, int) or isinstance(ending, int):
        return
    if set(starting) != set(ending):
        differing = ", ".join(map(str, sorted(set(starting) ^ set(ending))))
        raise SettingError(
            f"{starting_option} and {ending_option} must name the same partitions; not in both: {differing}"
        )
    for partition, start in starting.items():
        if 0 <= ending[partition] < start:
            raise SettingError(
                f"{starting_option} for {partition}, {start}, is greater than its {ending_option}, "
                f"{ending[partition]}"
            )
