"""Fetches before version 10, whose clients cannot read all that is stored.

It touches nothing but what :mod:`~kafkatx.broker.fetch.fetch_round` does;
:mod:`kafkatx.broker.requests.down_conversion` converts records in a worker.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.fetch.fetch_round import FetchRound
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.fetch import FetchPartition, FetchResponse

MAGIC_1_SINCE, MAGIC_2_SINCE = 2, 4


class OldFetch(FetchRound):
    """A fetch before version 10, which promises no zstd; before version 4, no magic 2; before 2, no magic 1.

    As in Apache Kafka, zstd is refused where the topic's ``compression.type`` names it, or where batches have
    to be converted. Otherwise they are sent as they are stored: such clients may be able to read them.
    """

    def _check(self, partition: Partition, asked: FetchPartition) -> int:
        error = super()._check(partition, asked)
        if not error and partition.log.config.compression_type == "zstd":
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        return error

    def respond(self) -> FetchResponse | Deferred[FetchResponse]:
        """Return the response as FetchRound does; records that an old client cannot read are converted."""
        response, version = super().respond(), self._context.version
        if version >= MAGIC_2_SINCE:
            return response
        assert isinstance(response, FetchResponse)
        asked = [asked.fetch_offset for topic in self._request.topics for asked in topic.partitions]
        results = [result for topic in response.responses for result in topic.partitions]
        parts = [part for part in zip(asked, results, strict=True) if part[1].records]
        if not parts:
            return response
        to_magic = 0 if version < MAGIC_1_SINCE else 1
        limit_bytes = self._broker.config.get("kafkatx.records.max.inflated.bytes")
        converting = self._broker.down_conversions.convert(self._context.peer, parts, to_magic, limit_bytes)
        return converting.addCallback(lambda _: response)
