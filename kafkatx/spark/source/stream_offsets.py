"""A stream's offsets as Spark keeps them in its checkpoint, and what may be wrong between two of them. Pure.

The form is that of Spark's own source, the next offset to be read of each partition::

    {"topicA": {"0": 23, "1": 7}}

A stream that is started has no start in its checkpoint: Spark asks the source for it whenever the first batch
is planned, also after a restart, and does not keep the answer. With ``startingOffsets=latest`` it would be
another one each time. So the end of the first batch, which Spark writes down before it runs it, carries the
start along under a name that no topic can have::

    initial offset              {"topicA": {"0": 20}, "<start>": true}
    end of the first batch      {"topicA": {"0": 23}, "<start>": {"topicA": {"0": 20}}}
    end of the second batch     {"topicA": {"0": 31}}

The first batch is written down at once, even if it has no records: to Spark an end without a start is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

START = "<start>"

Positions: TypeAlias = dict[TopicPartition, int]


class StrangeOffsets(KafkaTXError):
    """Spark has offsets of a checkpoint that this source has not written."""


def to_json(positions: Mapping[TopicPartition, int]) -> dict[str, Any]:
    """The form above, in order, so that equal positions are equal texts."""
    offset: dict[str, Any] = {}
    for (topic, partition), position in sorted(positions.items()):
        offset.setdefault(topic, {})[str(partition)] = position
    return offset


def initial(positions: Mapping[TopicPartition, int]) -> dict[str, Any]:
    """The initial offset of a stream that starts there."""
    return {**to_json(positions), START: True}


def first_end(positions: Mapping[TopicPartition, int], start: Mapping[TopicPartition, int]) -> dict[str, Any]:
    """The end of the first batch, which started there."""
    return {**to_json(positions), START: to_json(start)}


def is_initial(offset: Mapping[str, Any]) -> bool:
    """Whether this is what the source itself gave as the initial offset."""
    return offset.get(START) is True


def positions(offset: Mapping[str, Any]) -> Positions:
    """The positions of an offset.

    :raises StrangeOffsets: it is none of this source's.
    """
    return _positions({topic: value for topic, value in offset.items() if topic != START})


def carried_start(offset: Mapping[str, Any]) -> Positions | None:
    """The start of the stream, if this is the end of its first batch.

    :raises StrangeOffsets: it is none of this source's.
    """
    carried = offset.get(START)
    return None if carried is None or carried is True else _positions(carried)


def _positions(offset: Any) -> Positions:
    try:
        return {
            TopicPartition(topic, int(partition)): int(position)
            for topic, partitions in offset.items()
            for partition, position in partitions.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise StrangeOffsets(
            f"the checkpoint has the offset {offset}, which this source has not written: give the query a "
            "checkpointLocation of its own"
        ) from None


def losses(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> Iterator[str]:
    """What a batch between these offsets misses, in the words of Spark's KafkaOffsetReader."""
    gone = sorted(set(start) - set(end))
    if gone:
        yield f"{names(gone)} are gone. Some data may have been missed"
    for partition, position in sorted(start.items()):
        if position > end.get(partition, position):
            yield (
                f"Partition {partition}'s offset was changed from {position} to {end[partition]}, "
                "some data may have been missed"
            )


def names(partitions: Iterable[TopicPartition]) -> str:
    """Partitions for a message."""
    return ", ".join(map(str, partitions))
