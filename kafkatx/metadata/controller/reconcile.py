"""The controller's decisions: which writes the cluster's state needs. Pure.

:func:`reconcile` compares the state with the rules below and returns what is to be written. Applied to the
state that its writes make, it returns nothing. So the controller calls it after each change, a new controller
calls it first of all, and a controller that stops between two writes leaves nothing behind that the next one
does not see. :mod:`kafkatx.metadata.controller.pieces` makes transactions of the writes. The state must show
all earlier writes of this controller when it calls :func:`reconcile` again.

A broker is live if ``ClusterState.brokers`` has it. Rules for a partition whose topic is not being deleted:

====================================================  ===================================================
without a state, and a replica is live                the first live replica leads; epoch 0, ISR [leader]
without a state, and no replica is live               nothing: it waits
its leader is live, and has the state since it lives  nothing
its leader is live, and the state is older than that  the same leader, epoch + 1, ISR [leader]
its leader is not live                                as the next two
without a leader, and a live replica is in the ISR    the first such replica leads; epoch + 1, ISR [leader]
its leader is not live, and neither is another        leader -1, epoch + 1; the ISR stays
without a leader, and no replica of the ISR is live   nothing: it waits
====================================================  ===================================================

*Older than that*: the state's ``revision`` is not above the ``epoch`` of the broker, which has registered
again since (mzxid above czxid). Its log may have lost its end in between; the new epoch makes that visible.

A topic that is being deleted gets no leaders. Its nodes are deleted, and a mark without a topic is removed. A
topic without an id, made by a tool for Apache Kafka before 2.8, gets one.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeAlias

import attrs

from kafkatx.metadata.layout.topics import NO_TOPIC_ID as NO_TOPIC_ID  # other modules know it from here
from kafkatx.types import NO_LEADER, BrokerNode, ClusterState, PartitionState, Topic


@attrs.frozen
class StateWrite:
    """A new state of a partition.

    :ivar state: the state after the write; its ``revision`` is 0, since it is not known before.
    """

    topic: str
    partition: int
    state: PartitionState

    @property
    def replaces(self) -> int:
        """The partition epoch of the state that it replaces; -1 if it is the first."""
        return self.state.partition_epoch - 1


@attrs.frozen
class TopicIdWrite:
    """A topic gets an id.

    :ivar topic: the topic with its new id, and with the version that it has before the write.
    """

    topic: Topic


@attrs.frozen
class TopicDeletion:
    """A topic is deleted, and its mark after it.

    :ivar topic: the topic before the deletion.
    """

    topic: Topic


@attrs.frozen
class MarkRemoval:
    """The mark of a topic that does not exist is deleted."""

    topic: str


Write: TypeAlias = StateWrite | TopicIdWrite | TopicDeletion | MarkRemoval


def reconcile(
    state: ClusterState,
    deleting: Collection[str],
    topics: Collection[str] | None = None,
    new_topic_id: Callable[[], uuid.UUID] = uuid.uuid4,
) -> list[Write]:
    """Return the writes that the state needs, by the rules of this module.

    :param deleting: names of the topics that are marked for deletion.
    :param topics: names of topics that changed since the last call, which returned nothing or whose writes
        the state shows, and of new marks; None to look at all. A change of the brokers concerns all topics.
    :param new_topic_id: returns an id that no topic has.
    """
    writes: list[Write] = []
    names = state.topics if topics is None else [name for name in topics if name in state.topics]
    for name in names:
        topic = state.topics[name]
        if name in deleting:
            writes.append(TopicDeletion(topic))
            continue
        if topic.topic_id == NO_TOPIC_ID:
            writes.append(TopicIdWrite(attrs.evolve(topic, topic_id=new_topic_id())))
        writes.extend(_state_writes(topic, state.brokers))
    marks = deleting if topics is None else [name for name in topics if name in deleting]
    writes.extend(MarkRemoval(name) for name in marks if name not in state.topics)
    return writes


def _state_writes(topic: Topic, live: Mapping[int, BrokerNode]) -> Iterator[StateWrite]:
    for number, partition in enumerate(topic.partitions):
        leader = live.get(partition.leader)
        if leader is None or partition.revision <= leader.epoch:
            found = _next_state(partition, live)
            if found is not None:
                yield StateWrite(topic.name, number, found)


def _next_state(partition: PartitionState, live: Mapping[int, BrokerNode]) -> PartitionState | None:
    """Return the new state of a partition whose leader is gone or has registered again; None: it waits."""
    if partition.leader in live:
        return _led_by(partition.leader, partition)
    new = partition.partition_epoch < 0
    for replica in partition.replicas:
        if replica in live and (new or replica in partition.isr):
            return _led_by(replica, partition)
    if partition.leader == NO_LEADER:
        return None
    return _led_by(NO_LEADER, partition)


def _led_by(leader: int, partition: PartitionState) -> PartitionState:
    """Return the state of the next leader epoch."""
    return PartitionState(
        leader=leader,
        leader_epoch=partition.leader_epoch + 1,
        replicas=partition.replicas,
        isr=partition.isr if leader == NO_LEADER else (leader,),
        partition_epoch=partition.partition_epoch + 1,
    )
