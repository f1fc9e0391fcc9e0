"""What ConsumerGroupDescribe and DescribeGroups say of a group of KIP-848."""

from __future__ import annotations

from kafkatx.group.consumer.assignment.partitions import Assignment
from kafkatx.group.consumer.rebalance import Rebalance
from kafkatx.types import ClusterState
from kafkatx.wire.messages import consumer_group_describe as wire
from kafkatx.wire.messages.describe_groups import DescribedGroup

DEAD = "Dead"


def described(rebalance: Rebalance) -> wire.DescribedGroup:
    """The group with all that its members have and shall have; partitions of topics that have gone not."""
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
    """What DescribeGroups says: in Apache Kafka no group of that protocol is there. Clients ask both ways."""
    return DescribedGroup(group_id=group_id, group_state=DEAD)
