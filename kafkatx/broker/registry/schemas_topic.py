"""The topic of the registry, ``_schemas``: who leads it, and if it can be used. It touches the metadata."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.coordinator.runtime.internal_topic import InternalTopic
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.topics import Topics
from kafkatx.interfaces import IMetadataStore
from kafkatx.registry.errors import store_error, unknown_leader
from kafkatx.types import BrokerNode, ClusterDelta


class SchemasTopic:
    """The topic as this broker sees it.

    :ivar name: its name.
    """

    def __init__(self, name: str, metadata: IMetadataStore, topics: Topics, internal: InternalTopic) -> None:
        self.name = name
        self._metadata = metadata
        self._topics = topics
        self._internal = internal
        self._was_seen = False
        self._note()
        metadata.subscribe(self._changed)

    def _changed(self, delta: ClusterDelta) -> None:
        self._note()

    def _note(self) -> None:
        self._was_seen = self._was_seen or self.name in self._metadata.state.topics

    @property
    def exists(self) -> bool:
        """True if the topic is there.

        :raises RegistryError: it was there before: someone has deleted it.
        """
        if self.name in self._metadata.state.topics:
            return True
        if self._was_seen:
            raise store_error(
                f"the topic {self.name} was deleted while the registry used it, and all schemas with it:"
                " restore it, or restart the broker to begin with an empty registry"
            )
        return False

    def has_lease(self) -> bool:
        """Return True if no other broker can lead the topic now: else this one's state may be an old one."""
        remaining_s = self._metadata.lease_remaining_s
        return remaining_s is None or remaining_s() > 0

    def led(self) -> Partition | None:
        """Return the partition if this broker leads it, as far as it knows, and it can be used.

        :raises RegistryError: it can not: it is not compacted, has several partitions, or its log dir failed.
        """
        if self.name not in self._metadata.state.topics:
            return None
        self._check_partitions()
        partition = self._topics.find(self.name, 0)
        if partition is None or not partition.leads or not self.has_lease():
            return None
        if partition.offline:
            raise store_error(f"the log dir of {self.name}-0 is offline")
        policy = partition.log.config.cleanup_policy
        if policy != {"compact"}:
            raise store_error(
                f"the topic {self.name} has cleanup.policy={','.join(sorted(policy))}, which deletes schemas:"
                " set it to compact"
            )
        return None if partition.error else partition

    def _check_partitions(self) -> None:
        topic = self._metadata.state.topics[self.name]
        if len(topic.partitions) != 1:
            raise store_error(
                f"the topic {self.name} has {len(topic.partitions)} partitions; a registry needs one, which"
                " gives all changes one order"
            )

    def other_leader(self) -> BrokerNode | None:
        """Return the broker that leads the topic if that is another one, and live."""
        state = self._metadata.state
        topic = state.topics.get(self.name)
        if topic is None or not topic.partitions or topic.partitions[0].leader == self._internal.node_id:
            return None
        node: BrokerNode | None = state.brokers.get(topic.partitions[0].leader)
        return node

    def create(self) -> Deferred[None]:
        """Create the topic.

        :return: fails with RegistryError.
        """

        def failed(failure: object) -> None:
            raise unknown_leader(
                f"the topic {self.name} could not be created: {getattr(failure, 'value', '')}"
            )

        return self._internal.ensure().addErrback(failed)
