"""APIs about topics: pages, the configs of new ones, and names behind ids."""

from __future__ import annotations

import uuid

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkatx.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tests.broker.authorization.authorized import ADMIN, ALICE, TOPIC, AuthorizedTestCase

_O, _R = AclOperation, ResourceType
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
OTHER = "other"


class TopicsTests(AuthorizedTestCase):
    def setUp(self) -> None:
        """Make another topic, which alice may not touch."""
        super().setUp()
        self.use(ADMIN)
        self.make_topic(OTHER)
        self.use(ALICE)

    def test_pages(self) -> None:
        """Pages of all topics have, and name as the next one, only what the client may see."""
        self.use(ADMIN)
        for name in ("a", "b", "z"):
            self.make_topic(name)
        self.use(ALICE)
        for name in ("a", "z"):
            self.grant(_O.DESCRIBE, _R.TOPIC, name)
        page = self.ask(75, 0, DescribeTopicPartitionsRequest([], 1))
        self.assertEqual([topic.name for topic in page.topics], ["a"])
        self.assertEqual(page.next_cursor.topic_name, "z")
        for cursor in (page.next_cursor, Cursor("b", 0)):
            page = self.ask(75, 0, DescribeTopicPartitionsRequest([], 1, cursor))
            self.assertEqual([topic.name for topic in page.topics], ["z"])
        self.revoke_all()
        for asked in ([], [TopicRequest("a")]):
            page = self.ask(75, 0, DescribeTopicPartitionsRequest(asked, 10))
            self.assertEqual([topic.error_code for topic in page.topics], [DENIED] * len(asked))
            self.assertIsNone(page.next_cursor)

    def test_new_configs(self) -> None:
        """The configs of a new topic are for those who may describe them."""
        self.grant(_O.CREATE, _R.CLUSTER)
        for version, name in ((5, "n5"), (7, "n7")):
            (topic,) = self.ask_late(19, version, CreateTopicsRequest([CreatableTopic(name, 2, 1)])).topics
            self.assertEqual((topic.error_code, topic.topic_config_error_code), (0, DENIED))
            self.assertEqual((topic.num_partitions, topic.configs), (-1, []))

    def test_delete_by_id(self) -> None:
        """A topic that is named by its id keeps its name a secret; an unknown id is unknown."""
        topic_id = self.broker.metadata.state.topics[OTHER].topic_id
        asked = [DeleteTopicState(None, topic_id), DeleteTopicState(None, uuid.UUID(int=5))]
        found = {one.topic_id: one for one in self.ask_late(20, 6, DeleteTopicsRequest(asked)).responses}
        self.assertEqual((found[topic_id].error_code, found[topic_id].name), (DENIED, None))
        self.assertEqual(found[uuid.UUID(int=5)].error_code, ErrorCode.UNKNOWN_TOPIC_ID)
        self.assertIn(OTHER, self.broker.metadata.state.topics)

    def test_some_deleted(self) -> None:
        """The topics that the client may delete are deleted, and others in the request are not."""
        self.grant(_O.DELETE, _R.TOPIC)
        for version in (3, 6):
            states = [DeleteTopicState(name) for name in (TOPIC, OTHER)]
            request = DeleteTopicsRequest(states, [TOPIC, OTHER])
            found = {one.name: one.error_code for one in self.ask_late(20, version, request).responses}
            self.assertEqual(found, {TOPIC: 0, OTHER: DENIED})
            self.use(ADMIN)
            self.make_topic(TOPIC)
            self.use(ALICE)
