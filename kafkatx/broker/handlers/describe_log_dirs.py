"""DescribeLogDirs (key 35), versions 0-4: the partitions in each of log.dirs, and their sizes (KIP-113).

A dir that is offline has error KAFKA_STORAGE_ERROR and no partitions. A partition that is on its way into a
dir (AlterReplicaLogDirs) is a future replica there, whose lag is what its copy lacks; all other lags are 0.
A store without directories shows none.

The size of a dir's volume and its free space are read in a worker (version 4, KIP-827): a file system that
hangs does not block other requests.
"""

from __future__ import annotations

import os
from contextlib import suppress

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.interfaces import ILogDir
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

VOLUME_SINCE = 4


def answer(
    broker: Broker, request: DescribeLogDirsRequest, context: RequestContext
) -> DescribeLogDirsResponse | Deferred[DescribeLogDirsResponse]:
    """Describe every dir."""
    wanted = None
    if request.topics is not None:
        wanted = {TopicPartition(asked.topic, n) for asked in request.topics for n in asked.partitions}
    response = DescribeLogDirsResponse(results=[_describe(log_dir, wanted) for log_dir in broker.store.dirs])
    if context.version < VOLUME_SINCE or not response.results:
        return response
    return broker.workers("volumes")(lambda: _with_volumes(response))


def _with_volumes(response: DescribeLogDirsResponse) -> DescribeLogDirsResponse:
    """Add the sizes of the file systems; runs in a worker. A dir that cannot be read keeps -1."""
    for result in response.results:
        if not result.error_code:
            with suppress(OSError):
                volume = os.statvfs(result.log_dir)
                result.total_bytes = volume.f_blocks * volume.f_frsize
                result.usable_bytes = volume.f_bavail * volume.f_frsize
    return response


def _describe(log_dir: ILogDir, wanted: set[TopicPartition] | None) -> DescribeLogDirsResult:
    """Describe one log dir; *wanted* are its partitions, None for all."""
    if log_dir.error is not None:
        return DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, log_dir.path)
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for name, log in log_dir.logs.items():
        if wanted is None or name in wanted:
            described = DescribeLogDirsPartition(name.partition, log.size_bytes)
            topics.setdefault(name.topic, []).append(described)
    for name, move in log_dir.incoming.items():
        if wanted is None or name in wanted:
            future = DescribeLogDirsPartition(name.partition, move.size_bytes, move.offset_lag, True)
            topics.setdefault(name.topic, []).append(future)
    return DescribeLogDirsResult(
        0, log_dir.path, [DescribeLogDirsTopic(topic, partitions) for topic, partitions in topics.items()]
    )


def refuse(
    request: DescribeLogDirsRequest, context: RequestContext, code: ErrorCode, why: str
) -> DescribeLogDirsResponse:
    """Refuse the request: no dirs, and from version 3 on an error."""
    return DescribeLogDirsResponse(error_code=code)


API = Api(DescribeLogDirsRequest, DescribeLogDirsResponse, answer, refuse)
