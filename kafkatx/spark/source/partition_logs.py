"""On the driver: what the logs of a query's partitions have, asked again while brokers cannot answer.

One attempt lasts as long as :class:`kafkatx.blocking.Cluster` retries, about 10 s; there are
``fetchOffset.numRetries`` of them, with ``fetchOffset.retryIntervalMs`` between. Before a broker has answered
for the first time an attempt fails at once, so that a wrong address is reported early.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from kafkatx.blocking import LATEST
from kafkatx.clientcore.errors import retriable
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.spark.offsets import Available, OffsetRange, fixed
from kafkatx.spark.options.boundaries import STARTING
from kafkatx.spark.options.options import SourceOptions
from kafkatx.spark.source import plan
from kafkatx.types import TopicPartition

T = TypeVar("T")

log = logging.getLogger(__name__)


class PartitionLogs:
    """The logs that a query reads; keeps its connections until :meth:`close`. A context manager."""

    def __init__(self, options: SourceOptions, sleep: Callable[[float], None] = time.sleep) -> None:
        self._options = options
        self._cluster = plan.connect(options.client)
        self._sleep = sleep

    def __enter__(self) -> PartitionLogs:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the next question opens them again."""
        self._cluster.close()

    def batch(self) -> list[OffsetRange]:
        """Return the ranges of a batch; raises as :func:`kafkatx.spark.source.plan.plan_batch`."""
        return self._retry(lambda: plan.plan_batch(self._cluster, self._options))

    def start(self) -> dict[TopicPartition, int]:
        """Return the start of a new stream, by its options.

        :raises UnknownTopic: a topic that was named is not there.
        :raises SettingError: the options name other partitions than those that are read.
        """
        return self._retry(self._start)

    def _start(self) -> dict[TopicPartition, int]:
        self._cluster.forget_metadata()
        partitions = plan.assigned(self._cluster, self._options.selection)
        starts = plan.bounded(self._cluster, STARTING, self._options.starting, partitions)
        logs = plan.available(self._cluster, partitions, self._options.client.isolation_level)
        return {item: fixed(item, starts[item], LATEST, logs[item]).start for item in partitions}

    def latest(self, known: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the offsets that the next records get, of all partitions that exist now.

        :param known: what was there before. If partitions are gone or end earlier now, the broker may have
            just started and have outdated metadata, so it is asked again, as Spark's
            KafkaOffsetReaderAdmin.fetchLatestOffsets does.
        """
        for left in reversed(range(self._options.attempts)):
            found = self._retry(self._latest, topics_may_vanish=True)
            behind = [str(item) for item, offset in known.items() if found.get(item, -1) < offset]
            if not (behind and left):
                break
            log.warning("Found incorrect offsets in %s; asking again", ", ".join(behind))
            self._pause()
        return found

    def _latest(self) -> dict[TopicPartition, int]:
        partitions = self._present()
        found = self._cluster.offsets_of(
            dict.fromkeys(partitions, LATEST), self._options.client.isolation_level
        )
        return {item: found[item][0] for item in partitions}

    def available(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Available]:
        """Return the offsets of these partitions' logs now, without partitions that are gone."""
        return self._retry(lambda: self._available(partitions), topics_may_vanish=True)

    def _available(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Available]:
        present = set(self._present())
        return plan.available(self._cluster, [item for item in partitions if item in present])

    def _present(self) -> list[TopicPartition]:
        """Return the partitions that exist at this moment; metadata is always requested anew."""
        self._cluster.forget_metadata()
        return plan.assigned(self._cluster, self._options.selection, strict=False)

    def _retry(self, ask: Callable[[], T], topics_may_vanish: bool = False) -> T:
        """Ask up to ``fetchOffset.numRetries`` times.

        :param topics_may_vanish: topics may be deleted between two requests, without that being the end.
        :raises KafkaTXError: what the last attempt raised, or one that no other attempt would mend.
        """
        for _ in range(self._options.attempts - 1):
            try:
                return ask()
            except KafkaTXError as error:
                if not (retriable(error) or (topics_may_vanish and _is_gone(error))):
                    raise
                log.warning("Offsets cannot be got now: %s; trying again", error)
            self._cluster.close()
            self._pause()
        return ask()

    def _pause(self) -> None:
        self._sleep(self._options.retry_interval_ms / 1000)


def _is_gone(error: KafkaTXError) -> bool:
    gone = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_PARTITIONS)
    return isinstance(error, RequestError) and error.code in gone
