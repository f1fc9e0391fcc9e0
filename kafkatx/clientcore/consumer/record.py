"""A record as consumers give it to applications."""

from __future__ import annotations

from typing import Any, NamedTuple

from kafkatx.records.batch import Headers, decode_headers
from kafkatx.types import NO_LEADER_EPOCH, NO_TIMESTAMP, TopicPartition


class Record(NamedTuple):
    """One record, and where it stands.

    :ivar timestamp_ms: since the epoch; -1 where magic 0 has none.
    :ivar timestamp_type: -1: none, 0: the producer's time, 1: the broker's.
    :ivar key: bytes or None, or what ``key.deserializer`` makes of them; *value* likewise.
    :ivar encoded_headers: as they stand in the record; :attr:`headers` reads them.
    :ivar leader_epoch: of the leader that took it; -1 where it is not known.
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
        """Names and values, in order; decoded anew with each call.

        :raises CorruptRecords: they are not what they promise.
        """
        return decode_headers(self.encoded_headers)

    @property
    def topic_partition(self) -> TopicPartition:
        """Where it stands."""
        return TopicPartition(self.topic, self.partition)
