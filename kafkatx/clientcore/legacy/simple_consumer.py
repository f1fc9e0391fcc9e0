"""The SimpleConsumer's fetch requests, and message sets from replies; it keeps no state. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import attrs

from kafkatx.clientcore.consumer.aborted_transactions import AbortedTransactions
from kafkatx.clientcore.consumer.completed_fetch import CompletedFetch, DecodeSettings
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import OffsetOutOfRange, Undecodable, check, describe
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages import fetch as messages
from kafkatx.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

READ_COMMITTED = 1


class FetchRequest(NamedTuple):
    """A fetch from one partition.

    :ivar offset: the first offset to fetch, inclusive.
    :ivar max_bytes: the approximate size; a larger first batch is returned whole (from Kafka 0.10.1 on).
        None: ``max.partition.fetch.bytes``.
    """

    topic: str
    partition: int
    offset: int
    max_bytes: int | None = None

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)


@attrs.frozen
class MessageSet:
    """The records for one :class:`FetchRequest`; iterate over it to get them.

    :ivar records: may be empty, as at the end of the log.
    :ivar next_offset: the offset of the next fetch.
    :ivar high_watermark: the end of the log (exclusive) that consumers see; -1: not known.
    :ivar error: iterating raises it after the last of *records*.
    """

    request: FetchRequest
    records: Sequence[Record] = ()
    next_offset: int = -1
    high_watermark: int = -1
    error: KafkaTXError | None = None

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        yield from self.records
        if self.error is not None:
            raise self.error


@attrs.frozen
class Reader:
    """Reads message sets from replies.

    :ivar isolation_level: 1: records of aborted transactions are left out.
    """

    decoding: DecodeSettings = attrs.field(factory=DecodeSettings)
    isolation_level: int = 0

    def read(
        self, response: messages.FetchResponse, asked: Mapping[TopicPartition, FetchRequest]
    ) -> dict[TopicPartition, MessageSet]:
        """Return the message sets by partition.

        :raises RequestError: the error of the whole reply.
        """
        check(response.error_code, "fetch")
        return {
            at: self._message_set(asked[at], data)
            for topic in response.responses
            for data in topic.partitions
            if (at := TopicPartition(topic.topic, data.partition_index)) in asked
        }

    def _message_set(self, request: FetchRequest, data: messages.PartitionData) -> MessageSet:
        error = _refusal(request, data)
        records: list[Record] = []
        next_offset = request.offset
        if error is None:
            try:
                fetched = self._fetched(request, data)
                while fetched:
                    batch = fetched.decode_next()
                    records += batch.records(0, len(batch))
                    next_offset = fetched.next_offset
            except KafkaTXError as failure:
                error = failure
                if isinstance(failure, Undecodable) and failure.records:
                    records += failure.records
                    next_offset = records[-1].offset + 1
        return MessageSet(request, records, next_offset, data.high_watermark, error)

    def _fetched(self, request: FetchRequest, data: messages.PartitionData) -> CompletedFetch:
        stored: Any = data.records
        raw = memoryview(stored or b"")
        aborted = (
            AbortedTransactions(data.aborted_transactions or ())
            if self.isolation_level == READ_COMMITTED
            else None
        )
        fetched = CompletedFetch(request.topic_partition, raw, request.offset, aborted, self.decoding)
        if len(raw) and not fetched:
            raise RequestError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"{_name(request)}: the batch at offset {request.offset} is larger than "
                f"max_bytes={request.max_bytes}: increase it",
            )
        return fetched


def _refusal(request: FetchRequest, data: messages.PartitionData) -> KafkaTXError | None:
    if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
        return OffsetOutOfRange(
            request.topic, request.partition, request.offset, data.log_start_offset, data.high_watermark
        )
    if data.error_code:
        code = ErrorCode.of(data.error_code)
        return RequestError(code, f"{_name(request)}: {describe(code)}")
    return None


def _name(request: FetchRequest) -> str:
    return f"{request.topic} [{request.partition}]"


def fetch_request(
    wanted: Iterable[FetchRequest],
    *,
    max_wait_ms: int,
    min_bytes: int,
    max_bytes: int,
    isolation_level: int,
) -> messages.FetchRequest:
    """Return the request for one leader; send it in a version up to 12, which names topics.

    :param wanted: at most one per partition, each with its ``max_bytes``.
    :param max_bytes: the approximate size of the whole reply.
    """
    topics: defaultdict[str, list[messages.FetchPartition]] = defaultdict(list)
    for topic, partition, offset, limit in wanted:
        topics[topic].append(
            messages.FetchPartition(partition, fetch_offset=offset, partition_max_bytes=limit or 0)
        )
    return messages.FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        topics=[messages.FetchTopic(topic=topic, partitions=parts) for topic, parts in topics.items()],
    )


def offsets_before_request(at: TopicPartition, time: int, max_offsets: int) -> ListOffsetsRequest:
    """Return the request of Kafka 0.7 and 0.8 for the offsets of segments; send it in version 0."""
    asked = ListOffsetsPartition(at.partition, timestamp=time, max_num_offsets=max_offsets)
    return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(at.topic, [asked])])


def offsets_before(response: ListOffsetsResponse, at: TopicPartition) -> list[int]:
    """Return the offsets, largest first.

    :raises RequestError: NOT_LEADER_OR_FOLLOWER, ...
    """
    (result,) = response.topics[0].partitions
    check(result.error_code, f"offsets of {at.topic} [{at.partition}]")
    return list(result.old_style_offsets)


def offsets_known(time: int, start: int, end: int, first_after: int, max_offsets: int) -> list[int]:
    """Return offsets in place of those of segments, for brokers that do not support version 0 any more.

    :param first_after: the offset of the first record at or after *time*; -1: there is none.
    """
    if time == EARLIEST:
        found = {start}
    elif time == LATEST or first_after < 0:
        found = {start, end}
    else:
        found = {start, first_after}
    return sorted(found, reverse=True)[:max_offsets]
