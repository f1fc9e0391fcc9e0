"""A stream's offsets as Spark keeps them in its checkpoint, and the losses between two of them. Pure.

The form is that of Spark's own source, the next offset to be read of each partition::

    {"topicA": {"0": 23, "1": 7}}

The checkpoint of a new stream has no start: Spark asks the source for it whenever the first batch is planned,
also after a restart, and does not keep the answer. With ``startingOffsets=latest`` the answer would differ
each time. So the end of the first batch, which Spark writes down before it runs the batch, carries the start
under a name that no topic can have::

    initial offset              {"topicA": {"0": 20}, "<start>": true}
    end of the first batch      {"topicA": {"0": 23}, "<start>": {"topicA": {"0": 20}}}
    end of the second batch     {"topicA": {"0": 31}}

The first batch is written down at once, even if it has no records: to Spark an end without a start is new.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

START = "<start>"

Positions: TypeAlias = dict[TopicPartition, int]

Offset: TypeAlias = dict[str, object]
"""An offset as Spark keeps it, from JSON; not checked before :func:`positions` is called."""


class StrangeOffsets(KafkaTXError):
    """An offset of the checkpoint is not one that this source has written."""


def to_json(positions: Mapping[TopicPartition, int]) -> Offset:
    """Return the form above, in order, so that equal positions are equal texts."""
    by_topic: dict[str, dict[str, int]] = {}
    for (topic, partition), position in sorted(positions.items()):
        by_topic.setdefault(topic, {})[str(partition)] = position
    return dict(by_topic)


def initial(positions: Mapping[TopicPartition, int]) -> Offset:
    """Return the initial offset of a stream that starts at these positions."""
    return {**to_json(positions), START: True}


def first_end(positions: Mapping[TopicPartition, int], start: Mapping[TopicPartition, int]) -> Offset:
    """Return the end of the first batch, which started at *start*."""
    return {**to_json(positions), START: to_json(start)}


def is_initial(offset: Mapping[str, object]) -> bool:
    """Return True if the source itself gave this offset as the initial one."""
    return offset.get(START) is True


def positions(offset: Mapping[str, object]) -> Positions:
    """Return the positions of an offset.

    :raises StrangeOffsets: it is none of this source's.
    """
    return _positions({topic: value for topic, value in offset.items() if topic != START})


def carried_start(offset: Mapping[str, object]) -> Positions | None:
    """Return the start of the stream, if this is the end of its first batch.

    :raises StrangeOffsets: it is none of this source's.
    """
    carried = offset.get(START)
    return None if carried is None or carried is True else _positions(carried)


def _positions(offset: object) -> Positions:
    try:
        return {
            TopicPartition(topic, int(partition)): int(position)
            for topic, partitions in _object(offset)
            for partition, position in _object(partitions)
        }
    except (TypeError, ValueError):
        raise StrangeOffsets(
            f"the checkpoint has the offset {offset}, which this source has not written: give the query a "
            "checkpointLocation of its own"
        ) from None


def _object(value: object) -> ItemsView[str, Any]:
    """Return the items of an object of JSON.

    :raises TypeError: it is something else.
    """
    if not isinstance(value, dict):
        raise TypeError(f"not an object: {value!r}")
    return value.items()


def losses(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> Iterator[str]:
    """Yield the losses of a batch between these offsets, in the words of Spark's KafkaOffsetReader."""
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
    """Join the names of partitions for a message."""
    return ", ".join(map(str, partitions))
