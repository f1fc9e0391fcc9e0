"""The cluster's state as one broker knows it, and what was read of the nodes. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import attrs

from kafkatx.interfaces.nodes import NodeStat
from kafkatx.metadata.layout.partition_states import StateNode
from kafkatx.metadata.layout.restorations import FIRST, generation
from kafkatx.metadata.layout.topics import TopicNode
from kafkatx.types import NO_LEADER, BrokerNode, ClusterState, LogEnd, PartitionState, Topic, TopicPartition

NO_CHANGE = -1
"""The sequence number before that of any change record."""


@attrs.frozen
class ControllerFacts:
    """The nodes ``/controller`` and ``/controller_epoch``.

    :ivar session_id: owner of ``/controller``.
    :ivar czxid: transaction that created ``/controller``.
    :ivar epoch_version: version of ``/controller_epoch``.
    :ivar epoch_mzxid: transaction that last set it.
    """

    broker_id: int
    session_id: int
    czxid: int
    epoch: int
    epoch_version: int
    epoch_mzxid: int

    def elects(self, session_id: int | None) -> bool:
        """Return True if a session is the controller in this epoch: one transaction wrote both nodes."""
        return self.session_id == session_id and self.czxid == self.epoch_mzxid


@attrs.frozen
class FoundTopic:
    """The nodes of a topic, as they were read.

    :ivar stat: that of the topic's node.
    :ivar states: for each partition its state; None if it has none.
    """

    name: str
    node: TopicNode
    stat: NodeStat
    configs: Mapping[str, str]
    states: Sequence[tuple[StateNode, NodeStat] | None]


@attrs.frozen
class FoundBrokers:
    """The nodes of brokers, as they were read.

    :ivar number: increases with each reading that begins.
    :ivar nodes: the live brokers; None for one whose nodes cannot be read, or are gone since.
    :ivar incarnations: the versions of the incarnations, also of brokers that are not live.
    :ivar offline: as ``ClusterState.offline``; without brokers that have no offline replicas.
    :ivar lost_epochs: as ``ClusterState.lost_epochs``.
    :ivar stale_epochs: as ``ClusterState.stale_epochs``.
    :ivar log_ends: as ``ClusterState.log_ends``; without brokers that tell none.
    """

    number: int
    nodes: Mapping[int, BrokerNode | None]
    incarnations: Mapping[int, int]
    offline: Mapping[int, frozenset[TopicPartition]]
    lost_epochs: Mapping[int, int]
    stale_epochs: Mapping[int, int] = MappingProxyType({})
    log_ends: Mapping[int, Mapping[TopicPartition, LogEnd]] = MappingProxyType({})


@attrs.frozen
class Restorations:
    """The nodes ``/kafkatx/restorations`` and ``/kafkatx/restoring``.

    :ivar at: as ``ClusterState.restored_at``.
    """

    number: int
    at: int


@attrs.frozen
class Image:
    """The cluster's state, and what else the store knows of the nodes.

    :ivar topics: the dict behind ``state.topics``: a dict is copied ten times faster than a mapping proxy.
    :ivar names: the dict behind ``state.topic_names``.
    :ivar zxids: for each topic the last transaction that changed its node.
    :ivar applied: sequence number of the last change record that is included.
    :ivar deleting: names of topics that are marked for deletion.
    :ivar unidentified: topics whose nodes have no topic id yet; the state does not show them.
    :ivar controller: None if there is no controller.
    :ivar incarnations: versions of the incarnations of the lives that ``state.brokers`` shows; of a broker
        that is not live, that of its last life.
    :ivar brokers_read: the number of the reading that the brokers are from.
    :ivar restorations: how often an older copy of the tree was put back and noticed, and 1.
    :ivar deletions: a version of ``/kafkatx/deletions`` for which no topic of the image has been deleted; -1
        if there is no such node.
    """

    state: ClusterState
    topics: dict[str, Topic] = attrs.field(factory=dict, repr=False)
    names: dict[uuid.UUID, str] = attrs.field(factory=dict, repr=False)
    zxids: dict[str, int] = attrs.field(factory=dict, repr=False)
    applied: int = NO_CHANGE
    deleting: frozenset[str] = frozenset()
    unidentified: Mapping[str, Topic] = MappingProxyType({})
    controller: ControllerFacts | None = None
    incarnations: Mapping[int, int] = MappingProxyType({})
    brokers_read: int = 0
    deletions: int = -1
    restorations: int = FIRST

    @property
    def generation(self) -> int:
        """The generation of the tree, as far as it is applied."""
        return generation(self.restorations, self.applied)

    def whole_state(self) -> ClusterState:
        """Return the state with the topics that have no id yet; theirs is ``NO_TOPIC_ID``."""
        if not self.unidentified:
            return self.state
        return attrs.evolve(self.state, topics=MappingProxyType({**self.topics, **self.unidentified}))


def no_state(replicas: Sequence[int]) -> PartitionState:
    """Return the state of a partition whose state node does not exist yet."""
    return PartitionState(NO_LEADER, -1, tuple(replicas), (), -1)


def assigned(
    state: PartitionState,
    replicas: tuple[int, ...],
    number: int,
    adding: Mapping[int, tuple[int, ...]],
    removing: Mapping[int, tuple[int, ...]],
) -> PartitionState:
    """Return the state of a partition with the replicas of its topic's node; the same object if it has them.

    :param adding: replicas that reassignments add, by number of partition, as those that they remove.
    """
    added, removed = adding.get(number, ()), removing.get(number, ())
    if (state.replicas, state.adding, state.removing) == (replicas, added, removed):
        return state
    return attrs.evolve(state, replicas=replicas, adding=added, removing=removed)
