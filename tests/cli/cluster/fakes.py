"""A cluster in memory that deletes records and describes its log dirs."""

from __future__ import annotations

from typing import Any

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages import delete_records, describe_log_dirs
from tests.blocking.fakes import FakeCluster


@attrs.define(eq=False)
class FakeDisks(FakeCluster):
    """Each broker has a directory ``/d1`` with everything and a failed one, ``/d2``."""

    def answer_delete_records(self, node: int, request: Any, version: int, error: int) -> Any:
        """Move the start of a log; -1 stands for its end."""
        m = delete_records
        (topic,) = request.topics
        (asked,) = topic.partitions
        log = self.topics[topic.name][asked.partition_index]
        offset = log.end if asked.offset == -1 else asked.offset
        code = error or (ErrorCode.OFFSET_OUT_OF_RANGE if offset > log.end else 0)
        if not code:
            log.start = max(log.start, offset)
        result = m.DeleteRecordsPartitionResult(asked.partition_index, -1 if code else log.start, code)
        return m.DeleteRecordsResponse(topics=[m.DeleteRecordsTopicResult(topic.name, [result])])

    def answer_describe_log_dirs(self, node: int, request: Any, version: int, error: int) -> Any:
        """100 bytes for each partition; that of the last one is a future log, 7 records behind."""
        m = describe_log_dirs
        topics = [
            m.DescribeLogDirsTopic(
                name,
                [
                    m.DescribeLogDirsPartition(n, 100, 7 * (n + 1 == len(logs)), n + 1 == len(logs))
                    for n in range(len(logs))
                ],
            )
            for name, logs in self.topics.items()
        ]
        return m.DescribeLogDirsResponse(
            results=[
                m.DescribeLogDirsResult(0, "/d1", topics, 1000, 400),
                m.DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, "/d2", []),
            ]
        )
