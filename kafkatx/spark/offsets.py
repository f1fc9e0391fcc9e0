"""Offset ranges: boundaries from options, the offsets of a log, and the split into tasks. Pure.

All ends are exclusive.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from kafkatx.errors import SettingError
from kafkatx.types import TopicPartition

LATEST = -1
EARLIEST = -2
_OFFSET = "an offset, -1 for the latest or -2 for the earliest"

Offsets: TypeAlias = int | Mapping[TopicPartition, int]
"""A boundary as an option gives it: :data:`EARLIEST` or :data:`LATEST` for all partitions, or one for each.

In the mapping, too, -1 is the latest and -2 the earliest.
"""


class OffsetRange(NamedTuple):
    """Offsets of one partition, from ``start`` to before ``end``. One task of Spark reads one of them."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        """Number of offsets; there may be fewer records."""
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.topic} [{self.partition}] offsets {self.start} to {self.end}"


class Available(NamedTuple):
    """The offsets of a partition's log: ``latest`` is the offset that the next record gets."""

    earliest: int
    latest: int


def parse_offsets(option: str, text: str) -> Offsets:
    """Read ``earliest``, ``latest`` or ``{"topic":{"0":23,"1":-1}}``.

    :raises SettingError: it is none of them.
    """
    word = text.strip().lower()
    if word in ("earliest", "latest"):
        return EARLIEST if word == "earliest" else LATEST
    return by_partition(option, text, '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}', _is_offset, _OFFSET)


def by_partition(
    option: str, text: str, example: str, fits: Callable[[object], bool], what: str
) -> dict[TopicPartition, int]:
    """Read ``{"topic":{"0":23}}``: a number for each partition.

    :param fits: whether a number may stand there.
    :param what: what it should be, for the error's message.
    :raises SettingError: it is something else.
    """
    numbers = {}
    for topic, partitions in _object(option, text, example).items():
        if not isinstance(partitions, dict):
            raise SettingError(f"{option}: give the numbers of {topic!r} by partition, not {partitions!r}")
        for partition, number in partitions.items():
            if not (partition.isascii() and partition.isdigit() and fits(number)):
                raise SettingError(
                    f"{option}: {topic!r} {{{partition!r}: {number!r}}}: give a partition's number and {what}"
                )
            numbers[TopicPartition(topic, int(partition))] = number
    return numbers


def parse_partitions(option: str, text: str) -> frozenset[TopicPartition]:
    """Read ``{"topicA":[0,1],"topicB":[2]}``.

    :raises SettingError: it is something else.
    """
    assigned: set[TopicPartition] = set()
    for topic, partitions in _object(option, text, '{"topicA":[0,1],"topicB":[0,1]}').items():
        if not isinstance(partitions, list) or not all(_is_int(p) and p >= 0 for p in partitions):
            raise SettingError(f"{option}: give {topic!r} a list of partition numbers, not {partitions!r}")
        assigned.update(TopicPartition(topic, partition) for partition in partitions)
    return frozenset(assigned)


def _object(option: str, text: str, example: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise SettingError(f"{option}: expected e.g. {example}, got {text}")
    return value


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_offset(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= EARLIEST


def boundary(
    option: str,
    offsets: Offsets,
    partitions: Iterable[TopicPartition],
    hint: str = " (-1 for latest, -2 for earliest)",
) -> dict[TopicPartition, int]:
    """Return one boundary for each partition that is read.

    :param hint: what to say of the numbers where some are missing.
    :raises SettingError: the option names other partitions than those that are read. Spark wants all of
        them: a missing one may have been forgotten.
    """
    wanted = sorted(partitions)
    if isinstance(offsets, int):
        return dict.fromkeys(wanted, offsets)
    if set(offsets) != set(wanted):
        raise SettingError(
            f"{option}: if it contains specific offsets, it must specify all topic partitions{hint}. "
            f"Specified: {_names(offsets)}; assigned: {_names(wanted)}"
        )
    return {partition: offsets[partition] for partition in wanted}


def _names(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(map(str, sorted(partitions))) or "none"


def fixed(partition: TopicPartition, start: int, end: int, available: Available) -> OffsetRange:
    """Put the offsets that the log has in the place of -1 and -2."""
    known = {EARLIEST: available.earliest, LATEST: available.latest}
    return OffsetRange(*partition, known.get(start, start), known.get(end, end))


def clip(wanted: OffsetRange, available: Available) -> OffsetRange:
    """Return the part of a range that the log has; without offsets (``size`` 0) if there is none.

    ::

        log         100 ........ 200
        wanted    50 ...... 150         ->  100 to 150
        wanted              150 ... 250 ->  150 to 200
        wanted  10 .. 20                ->   20 to  20
    """
    start = max(wanted.start, available.earliest)
    end = min(wanted.end, available.latest)
    if start >= end:
        return wanted._replace(start=wanted.end)
    return wanted._replace(start=start, end=end)


def split(
    ranges: Sequence[OffsetRange], min_partitions: int | None, max_records: int | None = None
) -> list[OffsetRange]:
    """Split large ranges for Spark's tasks, as its own KafkaOffsetRangeCalculator does.

    Empty ranges go. First no range is left with more than *max_records* offsets. If there are then fewer
    than *min_partitions*, a range gets its share of the tasks, rounded, and at least one; what is too small
    to be split is taken out first, so that the others' shares are of what they hold themselves::

        sizes 10, 1000, 1990, min_partitions 6  ->  1 + 2 + 3 tasks
    """
    ranges = [item for item in ranges if item.size > 0]
    if max_records is not None:
        ranges = [piece for item in ranges for piece in _cut(item, -(-item.size // max_records))]
    if min_partitions is None or len(ranges) >= min_partitions:
        return ranges
    total = sum(item.size for item in ranges)
    large = {item for item in ranges if _share(item.size, total, min_partitions) > 1}
    large_total = sum(item.size for item in large)
    tasks = max(min_partitions - (len(ranges) - len(large)), 1)
    pieces: list[OffsetRange] = []
    for item in ranges:
        pieces += _cut(item, _share(item.size, large_total, tasks)) if item in large else [item]
    return pieces


def _share(size: int, total: int, tasks: int) -> int:
    """Return this range's share of the tasks: the nearest whole number, half up, and at least 1."""
    return max((2 * size * tasks + total) // (2 * total), 1)


def _cut(whole: OffsetRange, parts: int) -> list[OffsetRange]:
    """Equal pieces; the last ones take what does not divide. None is empty."""
    edges = [whole.start]
    for left in range(parts, 0, -1):
        edges.append(edges[-1] + (whole.end - edges[-1]) // left)
    return [whole._replace(start=start, end=end) for start, end in pairwise(edges) if end > start]
