"""A cluster in memory that has consumer groups."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.types import TopicPartition
from kafkatx.wire.messages import (
    consumer_group_describe,
    delete_groups,
    describe_groups,
    find_coordinator,
    list_groups,
    offset_commit,
    offset_delete,
    offset_fetch,
)
from tests.blocking.fakes import FakeCluster


def assignment(topics: Mapping[str, Sequence[int]]) -> bytes:
    """Encode a member's assignment: version 1 of the consumer protocol, with user data."""
    parts = [struct.pack(">hi", 1, len(topics))]
    for name, partitions in topics.items():
        parts.append(struct.pack(">h", len(name)) + name.encode())
        parts.append(struct.pack(f">i{len(partitions)}i", len(partitions), *partitions))
    return b"".join([*parts, struct.pack(">i", 4), b"data"])


@attrs.define
class FakeMember:
    """A member and the partitions that it has, topic by topic."""

    member_id: str
    topics: Mapping[str, Sequence[int]] = attrs.Factory(dict)
    instance_id: str | None = None


@attrs.define
class FakeGroup:
    """A group and the broker that coordinates it."""

    members: list[FakeMember] = attrs.Factory(list)
    offsets: dict[TopicPartition, int] = attrs.Factory(dict)
    type: str = "classic"
    protocol_type: str = "consumer"
    coordinator: int = 1

    @property
    def state(self) -> str:
        """With members it is stable."""
        return "Stable" if self.members else "Empty"


@attrs.define(eq=False)
class FakeGroups(FakeCluster):
    """Answers what is asked about groups; a broker that does not coordinate one says so."""

    groups: dict[str, FakeGroup] = attrs.Factory(dict)

    def group_error(self, node: int, group_id: str, error: int, unknown: int = 0) -> int:
        """The error for a group: that of the fault, or one of its own."""
        group = self.groups.get(group_id)
        if error or group is None:
            return error or unknown
        return 0 if group.coordinator == node else ErrorCode.NOT_COORDINATOR

    def answer_find_coordinator(self, node: int, request: Any, version: int, error: int) -> Any:
        """The group's own broker; broker 1 for what is not there. From version 4 on, key by key."""
        m = find_coordinator
        keys = request.coordinator_keys if version >= 4 else [request.key]
        found = []
        for key in keys:
            number = self.groups[key].coordinator if key in self.groups else 1
            found.append((key, number, f"broker{number}", 9092, error))
        if version >= 4:
            return m.FindCoordinatorResponse(coordinators=[m.Coordinator(*one) for one in found])
        ((_, number, host, port, _),) = found
        return m.FindCoordinatorResponse(error_code=error, node_id=number, host=host, port=port)

    def answer_list_groups(self, node: int, request: Any, version: int, error: int) -> Any:
        """The groups that this broker coordinates."""
        mine = [(name, group) for name, group in self.groups.items() if group.coordinator == node]
        return list_groups.ListGroupsResponse(
            error_code=error,
            groups=[list_groups.ListedGroup(name, g.protocol_type, g.state, g.type) for name, g in mine],
        )

    def answer_describe_groups(self, node: int, request: Any, version: int, error: int) -> Any:
        """A group of another type, or none, is dead, and from version 6 on an error, too."""
        name = request.groups[0]
        group = self.groups.get(name)
        code = self.group_error(node, name, error)
        if group is None or group.type != "classic" or code:
            missing = ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else 0
            answer = describe_groups.DescribedGroup(code or missing, None, name, "Dead")
        else:
            members = [
                describe_groups.DescribedGroupMember(
                    m.member_id, m.instance_id, "client", "/h", b"", assignment(m.topics)
                )
                for m in group.members
            ]
            answer = describe_groups.DescribedGroup(
                0, None, name, group.state, group.protocol_type, "range", members
            )
        return describe_groups.DescribeGroupsResponse(groups=[answer])

    def answer_consumer_group_describe(self, node: int, request: Any, version: int, error: int) -> Any:
        """Only consumer groups are there."""
        name = request.group_ids[0]
        group = self.groups.get(name)
        code = self.group_error(node, name, error)
        if not code and (group is None or group.type != "consumer"):
            code = ErrorCode.GROUP_ID_NOT_FOUND
        answer = consumer_group_describe.DescribedGroup(code, None, name)
        if group is not None and not code:
            members = [self._consumer(member) for member in group.members]
            answer = consumer_group_describe.DescribedGroup(
                0, None, name, group.state, 5, 5, "uniform", members
            )
        return consumer_group_describe.ConsumerGroupDescribeResponse(groups=[answer])

    def _consumer(self, member: FakeMember) -> consumer_group_describe.Member:
        topics = [
            consumer_group_describe.TopicPartitions(topic_name=name, partitions=list(partitions))
            for name, partitions in member.topics.items()
        ]
        return consumer_group_describe.Member(
            member.member_id,
            member.instance_id,
            member_epoch=4,
            client_id="client",
            client_host="/h",
            assignment=consumer_group_describe.Assignment(topics),
        )

    def answer_offset_fetch(self, node: int, request: Any, version: int, error: int) -> Any:
        """All offsets of the group, in the form of the version; -1 for partition 9 of each topic."""
        m = offset_fetch
        assert version >= 2, "only from version 2 on is null all topics"
        asked = request.groups[0] if version >= 8 else request
        assert asked.topics is None
        code = self.group_error(node, asked.group_id, error)
        group = self.groups.get(asked.group_id, FakeGroup())
        topics: defaultdict[str, list[Any]] = defaultdict(list)
        one = m.OffsetFetchResponsePartitions if version >= 8 else m.OffsetFetchResponsePartition
        for (topic, number), offset in ({} if code else group.offsets).items():
            topics[topic].append(one(number, offset, 3, f"note {offset}", 0))
        for partitions in topics.values():
            partitions.append(one(9, -1, -1, "", 0))
        if version < 8:
            old = [m.OffsetFetchResponseTopic(name, parts) for name, parts in topics.items()]
            return m.OffsetFetchResponse(topics=old, error_code=code)
        new = [m.OffsetFetchResponseTopics(name, parts) for name, parts in topics.items()]
        return m.OffsetFetchResponse(groups=[m.OffsetFetchResponseGroup(asked.group_id, new, code)])

    def answer_offset_commit(self, node: int, request: Any, version: int, error: int) -> Any:
        """Commit, unless the group has members; a new group comes into being."""
        m = offset_commit
        code = self.group_error(node, request.group_id, error)
        group = self.groups.get(request.group_id, FakeGroup())
        if not code and group.members:
            code = ErrorCode.UNKNOWN_MEMBER_ID
        if not code:
            self.groups[request.group_id] = group
            for topic in request.topics:
                for p in topic.partitions:
                    group.offsets[TopicPartition(topic.name, p.partition_index)] = p.committed_offset
        return m.OffsetCommitResponse(
            topics=[
                m.OffsetCommitResponseTopic(
                    t.name, [m.OffsetCommitResponsePartition(p.partition_index, code) for p in t.partitions]
                )
                for t in request.topics
            ]
        )

    def answer_offset_delete(self, node: int, request: Any, version: int, error: int) -> Any:
        """Delete, but nothing of a topic that a member has partitions of."""
        m = offset_delete
        code = self.group_error(node, request.group_id, error, ErrorCode.GROUP_ID_NOT_FOUND)
        if code:
            return m.OffsetDeleteResponse(error_code=code)
        group = self.groups[request.group_id]
        read = {name for member in group.members for name in member.topics}
        topics = []
        for topic in request.topics:
            code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if topic.name in read else ErrorCode.NONE
            answers = []
            for p in topic.partitions:
                if not code:
                    del group.offsets[TopicPartition(topic.name, p.partition_index)]
                answers.append(m.OffsetDeleteResponsePartition(p.partition_index, code))
            topics.append(m.OffsetDeleteResponseTopic(topic.name, answers))
        return m.OffsetDeleteResponse(topics=topics)

    def answer_delete_groups(self, node: int, request: Any, version: int, error: int) -> Any:
        """Delete, unless it has members."""
        name = request.groups_names[0]
        code = self.group_error(node, name, error, ErrorCode.GROUP_ID_NOT_FOUND)
        if not code and self.groups[name].members:
            code = ErrorCode.NON_EMPTY_GROUP
        if not code:
            del self.groups[name]
        return delete_groups.DeleteGroupsResponse(results=[delete_groups.DeletableGroupResult(name, code)])
