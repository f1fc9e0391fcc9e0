"""AlterReplicaLogDirs (key 34), versions 0-2: partitions move between the log.dirs of this broker (KIP-113).

The reply comes when the moves have begun, or wait for their turn: one partition is copied at a time.
DescribeLogDirs shows how far each has come. A partition that is named for several dirs goes to the last.

Deviation from Apache Kafka: a dir is meant for partitions that are here; for one that is not, it is not
remembered, and REPLICA_NOT_AVAILABLE is answered.
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
    """Return the log dir that each partition is to go to."""
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
    """The same error for every partition."""
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for name in _wanted(request):
        topic = results.setdefault(name.topic, AlterReplicaLogDirTopicResult(name.topic))
        topic.partitions.append(AlterReplicaLogDirPartitionResult(name.partition, code))
    return AlterReplicaLogDirsResponse(0, list(results.values()))


API = Api(AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse, answer, refuse)
