"""A consumed record."""

from __future__ import annotations

from typing import Any, NamedTuple

from kafkatx.records.batch import Headers, decode_headers
from kafkatx.types import NO_LEADER_EPOCH, NO_TIMESTAMP, TopicPartition


class Record(NamedTuple):
    """One record with its topic, partition and offset.

    :ivar timestamp_ms: since the epoch; -1 for magic 0, which has none.
    :ivar timestamp_type: -1: none, 0: CreateTime, 1: LogAppendTime.
    :ivar key: bytes or None, or the result of ``key.deserializer``; *value* likewise.
    :ivar encoded_headers: the record's headers, undecoded; :attr:`headers` decodes them.
    :ivar leader_epoch: epoch of the leader that appended it; -1 if unknown.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int = NO_TIMESTAMP
    timestamp_type: int = -1
    key: Any = None
    value: Any = None
    encoded_headers: bytes = b""
    leader_epoch: int = NO_LEADER_EPOCH

    @property
    def headers(self) -> Headers:
        """Header names and values, in order; decoded at each access.

        :raises CorruptRecords: the headers are malformed.
        """
        return decode_headers(self.encoded_headers)

    @property
    def topic_partition(self) -> TopicPartition:
        """The record's topic and partition."""
        return TopicPartition(self.topic, self.partition)
