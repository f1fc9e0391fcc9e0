"""The description of a consumer group in ConsumerGroupDescribe and DescribeGroups. Pure."""

from __future__ import annotations

from kafkatx.group.consumer.assignment.partitions import Assignment
from kafkatx.group.consumer.rebalance import Rebalance
from kafkatx.types import ClusterState
from kafkatx.wire.messages import consumer_group_describe as wire
from kafkatx.wire.messages.describe_groups import DescribedGroup

DEAD = "Dead"


def described(rebalance: Rebalance) -> wire.DescribedGroup:
    """Return the group with its members' current and target assignments, without deleted topics."""
    state, cluster = rebalance.state, rebalance.cluster()
    return wire.DescribedGroup(
        group_id=rebalance.group_id,
        group_state=state.name,
        group_epoch=state.epoch,
        assignment_epoch=state.assignment_epoch,
        assignor_name=rebalance.assignor,
        members=[_member(rebalance, member_id, cluster) for member_id in sorted(state.members)],
    )


def _member(rebalance: Rebalance, member_id: str, cluster: ClusterState) -> wire.Member:
    state = rebalance.state
    member, current = state.members[member_id], state.current_of(member_id)
    return wire.Member(
        member_id,
        member.instance_id,
        member.rack_id,
        current.epoch,
        member.client_id,
        member.client_host,
        sorted(member.topic_names),
        member.topic_regex,
        _listed(current.assigned, cluster),
        _listed(state.target_of(member_id), cluster),
        wire.CONSUMER_MEMBER if member.classic is None else wire.CLASSIC_MEMBER,
    )


def _listed(assignment: Assignment, cluster: ClusterState) -> wire.Assignment:
    names = cluster.topic_names
    known = sorted((names[topic], topic, sorted(assignment[topic])) for topic in assignment if topic in names)
    return wire.Assignment([wire.TopicPartitions(topic, name, numbers) for name, topic, numbers in known])


def described_as_classic(group_id: str) -> DescribedGroup:
    """Return the group for DescribeGroups: Dead, as in Apache Kafka. Clients send both requests."""
    return DescribedGroup(group_id=group_id, group_state=DEAD)
