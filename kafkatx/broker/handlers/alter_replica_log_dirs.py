"""AlterReplicaLogDirs (key 34), versions 0-2: move partitions between this broker's log.dirs (KIP-113).

The reply comes when the moves have begun, or are queued: one partition is copied at a time. DescribeLogDirs
shows their progress. A partition that is named for several dirs goes to the last.

Deviation from Apache Kafka: a dir for a partition that this broker does not have is not remembered, and the
answer is REPLICA_NOT_AVAILABLE.
"""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.names import check_topic_name
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)


def answer(
    broker: Broker, request: AlterReplicaLogDirsRequest, context: RequestContext
) -> AlterReplicaLogDirsResponse:
    """Begin the moves."""
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for name, path in _wanted(request).items():
        topic = results.setdefault(name.topic, AlterReplicaLogDirTopicResult(name.topic))
        topic.partitions.append(AlterReplicaLogDirPartitionResult(name.partition, _begin(broker, name, path)))
    return AlterReplicaLogDirsResponse(0, list(results.values()))


def _wanted(request: AlterReplicaLogDirsRequest) -> dict[TopicPartition, str]:
    """Return the destination log dir of each partition."""
    return {
        TopicPartition(topic.name, number): log_dir.path
        for log_dir in request.dirs
        for topic in log_dir.topics
        for number in topic.partitions
    }


def _begin(broker: Broker, name: TopicPartition, path: str) -> int:
    try:
        check_topic_name(name.topic)
        if broker.topics.find(*name) is None:
            return ErrorCode.REPLICA_NOT_AVAILABLE
        broker.store.relocate(name, path)
    except RequestError as error:
        return error.code
    return ErrorCode.NONE


def refuse(
    request: AlterReplicaLogDirsRequest, context: RequestContext, code: ErrorCode, message: str
) -> AlterReplicaLogDirsResponse:
    """Refuse every partition with the same error."""
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for name in _wanted(request):
        topic = results.setdefault(name.topic, AlterReplicaLogDirTopicResult(name.topic))
        topic.partitions.append(AlterReplicaLogDirPartitionResult(name.partition, code))
    return AlterReplicaLogDirsResponse(0, list(results.values()))


API = Api(AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse, answer, refuse)
