"""The controller's decisions: which writes the cluster's state needs. Pure.

:func:`reconcile` compares the state with the rules below and returns what is to be written. Applied to the
state that its writes make, it returns nothing. So the controller calls it after each change, a new controller
calls it first of all, and a controller that stops between two writes leaves nothing behind that the next one
does not see. :mod:`kafkatx.metadata.controller.pieces` makes transactions of the writes. The state must show
all earlier writes of this controller when it calls :func:`reconcile` again.

A broker is *live* for a partition if it is registered and its replica is not offline. A broker that is
stopping counts as live only where no other is. A broker *may have lost* records if its machine has gone down
and it has registered after the state was written (``isr.is_lost``); it is taken out of the ISR and of the
eligible brokers, live or not, if another is left in these. What is left of the ISR are its *members*. A
broker is *stale* if it has registered after the state was written, with logs that are not those of its last
life. Rules for a partition whose topic is not being deleted:

=============================================  ==========================================================
the state is of an older copy of the tree      leader -1, epoch + 1, no ISR
without an ISR, and all replicas have told     the longest log leads, by the epoch of its last record and its
where their logs end                           end; epoch above those of all logs; ISR [leader]
without an ISR, and one has not told it        nothing: it waits
without a state, and a replica is live         the first live replica leads, epoch 0; ISR: all live ones
without a state, and no replica is live        nothing: it waits
all members and eligible brokers are stale     nothing: it waits, if the topic allows no unclean election
the leader is a live member                    it stays; ISR: the live members
the same, but the state is older than its      epoch + 1: its log may lack its end, and the new epoch
registration                                   makes that visible
another member is live                         the first such replica leads, epoch + 1; ISR: live members
no member is live, but an eligible broker      the first such replica leads, epoch + 1; ISR [leader]
neither is, and the topic allows unclean       the first live replica leads, epoch + 1; ISR [leader], it
elections                                      is *recovering*, and no broker is eligible
neither is, and it does not                    leader -1, epoch + 1 if it had one; the ISR stays
it is being reassigned, and all replicas of    replicas and ISR: those of the target; the leader stays or
the target are in sync                         becomes the first live one of them, epoch + 1
=============================================  ==========================================================

So the epoch rises with each new leader, and not when the ISR shrinks. The last members stay in the ISR. While
the ISR is smaller than ``min.insync.replicas``, brokers that leave it are eligible (``isr.next_eligible``).

*Older than that*: the state's ``revision`` is not above the ``epoch`` of the broker (mzxid above czxid).

A topic that is being deleted gets no leaders. Its nodes are deleted, and a mark without a topic is removed. A
topic without an id, made by a tool for Apache Kafka before 2.8, gets one.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterator
from functools import cache, partial

import attrs

from kafkatx.metadata.controller.isr import TopicRules
from kafkatx.metadata.controller.leaders import Replicas, next_state
from kafkatx.metadata.controller.reassignments import ended
from kafkatx.metadata.controller.writes import (
    MarkRemoval,
    StateWrite,
    TopicDeletion,
    Write,
    topic_writes,
)
from kafkatx.metadata.layout.topics import NO_TOPIC_ID as NO_TOPIC_ID  # other modules know it from here
from kafkatx.types import ClusterState, PartitionState, Topic, TopicPartition

DEFAULT_RULES = TopicRules()


def reconcile(
    state: ClusterState,
    deleting: Collection[str],
    topics: Collection[str] | None = None,
    new_topic_id: Callable[[], uuid.UUID] = uuid.uuid4,
    rules: Callable[[Topic], TopicRules] = lambda topic: DEFAULT_RULES,
) -> list[Write]:
    """Return the writes that the state needs, by the rules of this module.

    :param deleting: names of the topics that are marked for deletion.
    :param topics: names of topics that changed since the last call, which returned nothing or whose writes
        the state shows, and of new marks; None to look at all. A change of the brokers, of their offline
        replicas or of the default configs concerns all topics.
    :param new_topic_id: returns an id that no topic has.
    :param rules: returns the configs of a topic; called for topics that may need a write.
    """
    writes: list[Write] = []
    names = state.topics if topics is None else [name for name in topics if name in state.topics]
    replicas = Replicas(state)
    for name in names:
        topic = state.topics[name]
        if name in deleting:
            writes.append(TopicDeletion(topic))
        else:
            writes.extend(_topic_writes(topic, replicas, new_topic_id, rules))
    marks = sorted(deleting) if topics is None else [name for name in topics if name in deleting]
    writes.extend(MarkRemoval(name) for name in marks if name not in state.topics)
    return writes


def _topic_writes(
    topic: Topic,
    replicas: Replicas,
    new_topic_id: Callable[[], uuid.UUID],
    rules: Callable[[Topic], TopicRules],
) -> Iterator[Write]:
    settled = replicas.is_settled
    known_rules = cache(partial(rules, topic))
    finished: dict[int, PartitionState] = {}
    states: list[StateWrite] = []
    for number, partition in enumerate(topic.partitions):
        if settled(partition):
            continue
        one = TopicPartition(topic.name, number)
        found = next_state(partition, one, replicas, known_rules)
        end = None
        if found is not None or not replicas.is_stale(partition):
            end = ended(partition, found or partition, one, replicas)
        if end is not None:
            finished[number] = end
        elif found is not None:
            states.append(StateWrite(topic.name, number, found))
    if topic.topic_id == NO_TOPIC_ID:
        yield from topic_writes(attrs.evolve(topic, topic_id=new_topic_id()), finished, finished)
    elif finished:
        yield from topic_writes(topic, finished, finished)
    yield from states
