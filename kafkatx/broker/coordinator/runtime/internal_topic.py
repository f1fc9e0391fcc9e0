"""An internal topic of a coordinator, such as ``__consumer_offsets``: it is created when it is first needed.

The keys of a coordinator (ids of groups, transactional ids) are spread over the topic's partitions; the
leader of a partition coordinates its keys. All is read from the cluster's state, so that any broker knows it.
It touches the metadata and the clock; :mod:`kafkatx.broker.coordinator.runtime.runtime` serves the partitions
that this broker leads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.coordinator.runtime.partition_hash import partition_for
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.topics import Topics
from kafkatx.broker.topic_commands import TopicCommands
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import IMetadataStore
from kafkatx.types import NO_LEADER_EPOCH, BrokerNode, ClusterDelta, PartitionState, Topic

SHOWN_WITHIN_S = 5.0
"""Seconds within which a topic that another broker has just created is shown here, with its leaders."""


class InternalTopic:
    """One internal topic, as this broker knows it.

    :ivar name: the name of the topic.
    :ivar node_id: the id of this broker.
    """

    _log = Logger()

    def __init__(
        self,
        name: str,
        node_id: int,
        metadata: IMetadataStore,
        topics: Topics,
        topic_commands: TopicCommands,
        clock: IReactorTime,
    ) -> None:
        self.name = name
        self.node_id = node_id
        self._metadata = metadata
        self._topics = topics
        self._topic_commands = topic_commands
        self._clock = clock
        self._waiting: list[Deferred[None]] = []
        self._shown: Deferred[None] | None = None
        self._timer: IDelayedCall | None = None
        metadata.subscribe(self._changed)

    @property
    def state(self) -> Topic | None:
        """The topic in the cluster's state; None before it is created."""
        topic: Topic | None = self._metadata.state.topics.get(self.name)
        return topic

    @property
    def exists(self) -> bool:
        """True if the topic exists, and its creation by this broker has ended; see :meth:`ensure`."""
        return self.name in self._metadata.state.topics and not self._topic_commands.is_creating(self.name)

    @property
    def is_alone(self) -> bool:
        """True if the cluster cannot have other brokers."""
        return self._metadata.lease_remaining_s is None

    def partition_of(self, key: str) -> int:
        """Return the number of a key's partition.

        :raises RequestError: COORDINATOR_NOT_AVAILABLE: the topic does not exist; see :meth:`ensure`.
        """
        return partition_for(key, len(self._partitions()))

    def _partitions(self) -> Sequence[PartitionState]:
        topic = self._metadata.state.topics.get(self.name)
        if topic is None:
            raise RequestError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{self.name} does not exist yet")
        partitions: Sequence[PartitionState] = topic.partitions
        return partitions

    def leads(self, number: int) -> bool:
        """Return True if this broker leads a partition, also while it has not opened the log."""
        partition = self.find(number)
        if partition is not None:
            return partition.leads
        partitions = self._partitions()
        return number < len(partitions) and self._metadata.state.leads(self.node_id, partitions[number])

    def leader_of(self, key: str) -> BrokerNode:
        """Return the broker that coordinates a key.

        :raises RequestError: COORDINATOR_NOT_AVAILABLE: the topic does not exist, or the key's partition has
            no leader, or an offline log.
        """
        number = self.partition_of(key)
        node: BrokerNode | None = self._metadata.state.brokers.get(self._partitions()[number].leader)
        partition = self.find(number)
        if node is None or (node.id == self.node_id and partition is not None and partition.offline):
            raise RequestError(
                ErrorCode.COORDINATOR_NOT_AVAILABLE, f"the partition {self.name}-{number} has no leader"
            )
        return node

    def find(self, number: int) -> Partition | None:
        """Return a partition that this broker has; None if it is another's."""
        return self._topics.find(self.name, number)

    def led(self) -> Iterator[Partition]:
        """Return the partitions that this broker leads."""
        return (partition for partition in self._topics.of(self.name) if partition.leads)

    # --- creation

    def ensure(self) -> Deferred[None]:
        """Create the topic unless it exists. Callers are told in their order, so that requests keep theirs.

        :return: fails with RequestError COORDINATOR_NOT_AVAILABLE. Cancelling it ends the waiting only.
        """
        waiting: Deferred[None] = Deferred()
        self._waiting.append(waiting)
        if len(self._waiting) == 1:
            Deferred.fromCoroutine(self._create()).addBoth(self._ensured)
        return waiting

    async def _create(self) -> None:
        try:
            await self._topic_commands.ensure(self.name)
        except RequestError as error:
            if error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
            await self._until_shown()  # another broker has created it at the same time

    def _until_shown(self) -> Deferred[None]:
        """Wait until the state shows the topic and a state of each partition, or some time has passed."""
        if self._is_complete():
            return succeed(None)
        self._shown = Deferred()
        self._timer = self._clock.callLater(SHOWN_WITHIN_S, self._show)
        return self._shown

    def _is_complete(self) -> bool:
        topic = self.state
        return topic is not None and all(p.leader_epoch != NO_LEADER_EPOCH for p in topic.partitions)

    def _changed(self, delta: ClusterDelta) -> None:
        if self._shown is not None and self._is_complete():
            self._show()

    def _show(self) -> None:
        shown, self._shown = self._shown, None
        self.stop()
        if shown is not None:
            shown.callback(None)

    def _ensured(self, result: Failure | None) -> None:
        waiting, self._waiting = self._waiting, []
        message = "" if self.exists else f"{self.name} is not known here yet"
        if result is not None and result.check(RequestError):
            message = str(result.value)
        elif result is not None:
            self._log.failure("creating {topic} failed", result, topic=self.name)
            message = "see the broker's log"
        for one in waiting:
            if not message:
                one.callback(None)
            else:
                one.errback(RequestError(ErrorCode.COORDINATOR_NOT_AVAILABLE, message))

    def stop(self) -> None:
        """Stop the timer."""
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()
