"""The controlled shutdown: a broker that stops lets the others take over what it leads (KAFKA-340).

It touches the cluster's metadata and the clock. The broker says that it is stopping, and the controller gives
its partitions to other in-sync replicas. The broker goes on until it leads nothing that another one could
lead, or until ``controlled.shutdown.max.retries`` times ``controlled.shutdown.retry.backoff.ms`` have passed;
so clients wait for no session to end. :mod:`kafkatx.broker.service` closes connections and logs afterwards.
"""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.config import BrokerConfig
from kafkatx.config.table import replication
from kafkatx.errors import RequestError
from kafkatx.interfaces import IMetadataStore
from kafkatx.types import ClusterState, PartitionState, TopicPartition


class ControlledShutdown:
    """Waits until the other brokers of a cluster lead what this one has led."""

    _log = Logger()

    def __init__(self, config: BrokerConfig, metadata: IMetadataStore, clock: IReactorTime) -> None:
        self._broker_id: int = config.get("broker.id")
        retries = config[replication.CONTROLLED_SHUTDOWN_MAX_RETRIES]
        self._most_s = retries * config[replication.CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS] / 1000
        self._is_enabled = config[replication.CONTROLLED_SHUTDOWN_ENABLE]
        self._metadata = metadata
        self._clock = clock
        self._waiting: Deferred[None] | None = None

    async def run(self) -> None:
        """Hand over all partitions that others could lead. It never fails."""
        state = self._metadata.state
        if not self._is_enabled or self._metadata.lease_remaining_s is None or state.fenced:
            return
        led = count_movable(state, self._broker_id)
        if not led:
            return
        waiting: Deferred[None] = Deferred()
        self._waiting = waiting
        waiting.addTimeout(self._most_s, self._clock)
        self._metadata.subscribe(lambda _: self._look())
        began_s = self._clock.seconds()
        self._metadata.begin_stopping().addErrback(self._not_told)
        self._look()
        try:
            await waiting
        except (TimeoutError, CancelledError):
            self._waiting = None
            self._log.warn(
                "after {seconds:.1f} s this broker still leads {left} of {led} partitions that other brokers"
                " could lead; it stops nevertheless, and they take over when its session ends",
                seconds=self._clock.seconds() - began_s,
                left=count_movable(self._metadata.state, self._broker_id),
                led=led,
            )
        else:
            self._log.info(
                "other brokers lead the {led} partitions of this one, after {seconds:.1f} s",
                led=led,
                seconds=self._clock.seconds() - began_s,
            )

    def _look(self) -> None:
        """End the wait if nothing is left to hand over, or if this broker may act on nothing any more."""
        state, waiting = self._metadata.state, self._waiting
        if waiting is not None and (state.fenced or not count_movable(state, self._broker_id)):
            self._waiting = None
            waiting.callback(None)

    def _not_told(self, failure: Failure) -> None:
        failure.trap(RequestError)
        self._log.warn(
            "the cluster was not told that this broker stops: {why}", why=failure.getErrorMessage()
        )
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.cancel()


def count_movable(state: ClusterState, broker_id: int) -> int:
    """Return how many partitions a broker leads that a live broker, which is not stopping, could lead."""
    return sum(
        state.leads(broker_id, each) and _is_movable(state, TopicPartition(name, number), each, broker_id)
        for name, topic in state.topics.items()
        for number, each in enumerate(topic.partitions)
    )


def _is_movable(state: ClusterState, name: TopicPartition, partition: PartitionState, broker_id: int) -> bool:
    return any(
        state.has_live(other, name) and not state.brokers[other].stopping
        for other in (*partition.isr, *partition.eligible)
        if other != broker_id
    )
