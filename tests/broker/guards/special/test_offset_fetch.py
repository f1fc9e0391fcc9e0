"""OffsetFetch: groups and topics of which only some may be described."""

from __future__ import annotations

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tests.broker.authorization.authorized import GROUP, TOPIC, AuthorizedTestCase

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


class OffsetFetchTests(AuthorizedTestCase):
    def setUp(self) -> None:
        """Give alice the right to describe the group and one topic."""
        super().setUp()
        self.grant(AclOperation.DESCRIBE, ResourceType.GROUP)
        self.grant(AclOperation.DESCRIBE, ResourceType.TOPIC)

    def test_one_group(self) -> None:
        """A topic that may not be described has its error for each partition; others have their offsets."""
        for version in range(8):
            topics = [OffsetFetchRequestTopic(name, [0, 1]) for name in ("other", TOPIC)]
            response = self.ask(9, version, OffsetFetchRequest(GROUP, topics))
            found = {
                topic.name: [(one.error_code, one.committed_offset) for one in topic.partitions]
                for topic in response.topics
            }
            self.assertEqual(found["other"], [(DENIED, -1)] * 2)
            self.assertEqual(found[TOPIC][0], (0, 1))

    def test_many_groups(self) -> None:
        """Each group has its own answer, and within it each topic."""
        asked = [OffsetFetchRequestTopics(name, [0]) for name in ("other", TOPIC)]
        groups = [OffsetFetchRequestGroup(name, topics=list(asked)) for name in ("forbidden", GROUP)]
        found = {one.group_id: one for one in self.ask(9, 9, OffsetFetchRequest(groups=groups)).groups}
        self.assertEqual(found["forbidden"].error_code, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        self.assertEqual(found["forbidden"].topics, [])
        codes = {topic.name: topic.partitions[0].error_code for topic in found[GROUP].topics}
        self.assertEqual(codes, {TOPIC: 0, "other": DENIED})
