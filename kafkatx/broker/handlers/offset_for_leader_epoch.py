"""OffsetForLeaderEpoch (key 23), versions 0-4: the end offsets of leader epochs (KIP-320)."""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.fetch.answers import epoch_error
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


def answer(
    broker: Broker, request: OffsetForLeaderEpochRequest, context: RequestContext
) -> OffsetForLeaderEpochResponse:
    """Look up the epoch of every partition."""
    topics = [
        OffsetForLeaderTopicResult(
            topic.topic, [_end(broker, topic.topic, asked) for asked in topic.partitions]
        )
        for topic in request.topics
    ]
    return OffsetForLeaderEpochResponse(topics=topics)


def _end(broker: Broker, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    partition = broker.topics.find(topic, asked.partition)
    if partition is None:
        return EpochEndOffset(broker.topics.absent(topic, asked.partition), asked.partition)
    error = epoch_error(partition, asked.current_leader_epoch)
    if error:
        return EpochEndOffset(error, asked.partition)
    if asked.leader_epoch == partition.leader_epoch:
        return EpochEndOffset(0, asked.partition, asked.leader_epoch, partition.log.log_end_offset)
    if asked.leader_epoch > partition.leader_epoch:  # as Apache Kafka's LeaderEpochFileCache says
        return EpochEndOffset(0, asked.partition)
    epoch, end_offset = partition.log.end_offset_for_epoch(asked.leader_epoch)
    return EpochEndOffset(0, asked.partition, epoch, end_offset)


def refuse(
    request: OffsetForLeaderEpochRequest, context: RequestContext, code: ErrorCode, message: str
) -> OffsetForLeaderEpochResponse:
    """Refuse every partition with the same error."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(t.topic, [EpochEndOffset(code, p.partition) for p in t.partitions])
            for t in request.topics
        ]
    )


API = Api(OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, answer, refuse)
