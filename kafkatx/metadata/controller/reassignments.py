"""Reassignments of replicas: their begin, their end and their cancellation. Pure.

A reassignment (KIP-455) has three states of a topic's node, as ``kafka.controller.ReplicaAssignment``:

=========  ==========================================  ==============  ===========================
..         replicas                                    adding          removing
=========  ==========================================  ==============  ===========================
before     1 2 3
under way  4 3 1 2: the target, then the others        4               1 2
after      4 3
cancelled  3 1 2: the replicas that are not added
=========  ==========================================  ==============  ===========================

It ends when all replicas of the target are in sync; the leader is one of them then. A step that takes
replicas away writes the state in the same transaction, even if it stays as it is: so a change of the in-sync
replicas that the leader has asked for at the same time fails, and no broker is in sync that is no replica.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import attrs

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.metadata.controller.isr import TopicRules, next_eligible
from kafkatx.metadata.controller.leaders import Replicas
from kafkatx.metadata.controller.writes import Answers, TopicWrite, topic_writes
from kafkatx.types import NO_LEADER, ClusterState, PartitionState, Topic, TopicPartition


def target(partition: PartitionState) -> tuple[int, ...]:
    """Return the replicas that a partition has when its reassignment ends."""
    return _without(partition.replicas, partition.removing)


def is_reassigned(partition: PartitionState) -> bool:
    """Return True if a reassignment of a partition is under way."""
    return bool(partition.adding or partition.removing)


def ended(
    old: PartitionState, state: PartitionState, one: TopicPartition, replicas: Replicas
) -> PartitionState | None:
    """Return the state of a partition at the end of its reassignment; None if there is none, or it goes on.

    :param old: the state as it is written.
    :param state: the state that it needs else, or the same.
    """
    if not is_reassigned(state):
        return None
    final = target(state)
    able = replicas.able(final, one)
    if not final or not able or not set(final).issubset(state.isr):
        return None
    leader = state.leader if state.leader in able else able[0]
    return attrs.evolve(
        state,
        leader=leader,
        leader_epoch=max(state.leader_epoch, old.leader_epoch + (leader != old.leader)),
        replicas=final,
        isr=tuple(each for each in state.isr if each in final),
        partition_epoch=old.partition_epoch + 1,
        revision=0,
        adding=(),
        removing=(),
        eligible=(),
    )


def reassign(
    state: ClusterState,
    deleting: Collection[str],
    changes: Mapping[TopicPartition, Sequence[int] | None],
    rules: Callable[[Topic], TopicRules],
) -> tuple[list[TopicWrite], Answers]:
    """Begin and cancel reassignments.

    :param state: a state that needs no writes.
    :param deleting: names of the topics that are marked for deletion.
    :param changes: the replicas that each partition is to have, the preferred leader first; None cancels what
        is under way.
    :return: the writes, and for each partition None or one of the errors UNKNOWN_TOPIC_OR_PARTITION,
        NO_REASSIGNMENT_IN_PROGRESS and INVALID_REPLICA_ASSIGNMENT, with Apache Kafka's messages.
    """
    answers: Answers = {}
    replicas = Replicas(state)
    changed: dict[str, dict[int, PartitionState]] = {}
    states: dict[str, dict[int, PartitionState]] = {}
    for one, wanted in changes.items():
        answers[one] = None
        topic = state.topics.get(one.topic)
        if topic is None or one.topic in deleting or not 0 <= one.partition < len(topic.partitions):
            answers[one] = RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
            continue
        partition = topic.partitions[one.partition]
        try:
            if replicas.is_stale(partition):
                raise _invalid("No replica is in sync: elect a leader first, by an unclean election.")
            new = _begun(partition, wanted, replicas)
            if new == partition:
                continue
            if partition.partition_epoch >= 0 and not set(partition.replicas).issubset(new.replicas):
                new = _taken_away(one, new, replicas, rules(topic))
                states.setdefault(one.topic, {})[one.partition] = new
        except RequestError as error:
            answers[one] = error
        else:
            changed.setdefault(one.topic, {})[one.partition] = new
    writes = []
    for name, partitions in changed.items():
        writes += topic_writes(state.topics[name], partitions, states.get(name, {}))
    return writes, answers


def _begun(partition: PartitionState, wanted: Sequence[int] | None, replicas: Replicas) -> PartitionState:
    """Return a partition with the replicas that a request makes of its own.

    :raises RequestError: it is not allowed.
    """
    origin = _without(partition.replicas, partition.adding)
    if wanted is None:
        if not is_reassigned(partition):
            raise RequestError(
                ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress."
            )
        final = origin
    else:
        final = tuple(wanted)
        _check(final)
    every = (*final, *_without(origin, final))
    adding = _without(every, origin)
    if not all(each in replicas.state.brokers for each in adding):
        live = ",".join(map(str, sorted(replicas.state.brokers)))
        raise _invalid(
            "Replica assignment has brokers that are not alive. Replica list:"
            f" {_listed(adding)}, live broker list: {live}"
        )
    return attrs.evolve(partition, replicas=every, adding=adding, removing=_without(every, final))


def _check(wanted: tuple[int, ...]) -> None:
    if not wanted:
        raise _invalid("Empty replica list specified in partition reassignment.")
    if len(set(wanted)) < len(wanted):
        raise _invalid(f"Duplicate replica ids in partition reassignment replica list: {_listed(wanted)}")
    if min(wanted) < 0:
        raise _invalid(f"Invalid broker id in replica list: {_listed(wanted)}")


def _taken_away(
    one: TopicPartition, new: PartitionState, replicas: Replicas, rules: TopicRules
) -> PartitionState:
    """Return the state without brokers that are no replicas any more.

    :raises RequestError: no other is in sync.
    """
    isr = tuple(each for each in new.isr if each in new.replicas)
    if not isr:
        raise _invalid(
            f"Unable to revert partition assignment for {one.topic}:{one.partition} because it would require"
            " an unclean leader election."
        )
    able = replicas.able((each for each in new.replicas if each in isr), one)
    leader = new.leader if new.leader in able else next(iter(able), NO_LEADER)
    eligible = tuple(each for each in new.eligible if each in new.replicas)
    if leader != NO_LEADER and isr != new.isr:
        eligible = next_eligible(new, isr, rules.min_insync)
    return attrs.evolve(
        new,
        leader=leader,
        leader_epoch=new.leader_epoch + (leader != new.leader),
        isr=isr,
        partition_epoch=new.partition_epoch + 1,
        revision=0,
        eligible=eligible,
    )


def _without(brokers: Sequence[int], others: Collection[int]) -> tuple[int, ...]:
    return tuple(each for each in brokers if each not in others)


def _listed(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))


def _invalid(message: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
