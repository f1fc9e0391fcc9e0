"""The ends of this broker's logs, told to the cluster after an older copy of its state was put back.

If a partition's state has no in-sync replicas, no broker knows which replica has all records: the controller
gives it to the one whose log is the longest. Until then no broker leads or follows it, and its logs stay as
they are.
It touches the cluster's metadata and the clock. :mod:`kafkatx.broker.broker` makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.topics import Topics
from kafkatx.interfaces import IMetadataStore
from kafkatx.types import ClusterDelta, LogEnd, Topic, TopicPartition

DELAY_S = 0.05
"""Many changes at once cost as much as one."""
RETRY_S = 1.0
MOST_TOLD = 10_000
"""Logs that are told at once: others are when these have leaders."""


class LogEnds:
    """Tells where logs end that may have all records of their partitions."""

    _log = Logger()

    def __init__(self, metadata: IMetadataStore, topics: Topics, clock: IReactorTime) -> None:
        self._metadata = metadata
        self._topics = topics
        self._clock = clock
        self._broker_id = -1
        self._started = False
        self._told: dict[TopicPartition, LogEnd] = {}
        self._epoch = -1
        self._telling: IDelayedCall | None = None

    def start(self) -> None:
        """Begin: this broker is registered."""
        self._started = True
        self._broker_id = self._topics.broker_id
        self._metadata.subscribe(self._follow)
        self._topics.replica_listeners.append(self._opened)
        self._look(self._metadata.state.topics.values())

    def stop(self) -> None:
        """Tell nothing any more."""
        self._started = False
        if self._telling is not None:
            self._telling.cancel()
            self._telling = None

    def _follow(self, delta: ClusterDelta) -> None:
        """Look at a change of the state: at what has changed, or at everything after a new registration."""
        own = delta.after.brokers.get(self._broker_id)
        known = delta.after.topics
        if own is not None and own.epoch != self._epoch:
            self._look(known.values())
        elif delta.topics:
            self._look(known[name] for name in delta.topics if name in known)

    def _opened(self, partition: Partition) -> None:
        if not partition.state.isr:
            self._tell_soon()

    def _look(self, topics: Iterable[Topic]) -> None:
        if self._told or any(not one.isr for topic in topics for one in topic.partitions):
            self._tell_soon()

    def _tell_soon(self, delay_s: float = DELAY_S) -> None:
        if self._started and self._telling is None:
            self._telling = self._clock.callLater(delay_s, self._tell)

    def _tell(self) -> None:
        self._telling = None
        own = self._metadata.state.brokers.get(self._broker_id)
        ends = dict(islice(self._ends(), MOST_TOLD))
        if own is None or (ends, own.epoch) == (self._told, self._epoch):
            return
        self._told, self._epoch = ends, own.epoch
        self._metadata.report_log_ends(ends).addErrback(self._failed)

    def _ends(self) -> Iterator[tuple[TopicPartition, LogEnd]]:
        for name in self._topics.partitions:
            for one in self._topics.of(name):
                state = one.state
                if state.isr or state.partition_epoch < 0 or one.offline or one.leads:
                    continue
                end = one.log.log_end_offset
                is_empty = end == one.log.log_start_offset
                last = one.log.latest_epoch if is_empty and end else one.log.epoch_at(end - 1)
                yield one.topic_partition, LogEnd(state.leader_epoch, one.log.latest_epoch, last, end)

    def _failed(self, failure: Failure) -> None:
        self._log.warn(
            "the cluster could not be told where logs end: {error}; trying again", error=failure.value
        )
        self._epoch = -1
        self._tell_soon(RETRY_S)
