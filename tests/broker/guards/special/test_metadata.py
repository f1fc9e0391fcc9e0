"""Metadata: secret names, ids, topics that would be created, and rights in the reply."""

from __future__ import annotations

from kafkatx.acls import AclOperation, AclPermission, PatternType, ResourceType
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.authorization.authorized import ADMIN, ALICE, TOPIC, AuthorizedTestCase

_O, _R = AclOperation, ResourceType
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
OTHER = "other"


class MetadataTests(AuthorizedTestCase):
    def setUp(self) -> None:
        """Make another topic, which alice may not touch."""
        super().setUp()
        self.use(ADMIN)
        self.make_topic(OTHER)
        self.use(ALICE)

    def test_secret_names(self) -> None:
        """A topic that exists and one that does not look the same to those who may not see them."""
        asked = [MetadataRequestTopic(name=name) for name in (OTHER, "nothing")]
        topics = self.ask(3, 12, MetadataRequest(asked, True)).topics
        self.assertEqual([(one.error_code, one.partitions) for one in topics], [(DENIED, [])] * 2)
        self.assertEqual(len({one.topic_id for one in topics}), 1)
        self.assertNotIn("nothing", self.broker.metadata.state.topics)

    def test_by_id(self) -> None:
        """A topic that is asked for by its id keeps its name a secret, whatever name stands beside the id."""
        self.grant(_O.DESCRIBE, _R.TOPIC, "mine")
        topic_id = self.broker.metadata.state.topics[OTHER].topic_id
        for name in (None, "", "mine"):
            (topic,) = self.ask(3, 12, MetadataRequest([MetadataRequestTopic(topic_id, name)])).topics
            self.assertEqual((topic.error_code, topic.name, topic.topic_id), (DENIED, None, topic_id))

    def test_creation(self) -> None:
        """A missing topic that a client may see, but not create, is refused; with the right it is created."""
        self.grant(_O.DESCRIBE, _R.TOPIC, "new", pattern_type=PatternType.PREFIXED)
        wanted = MetadataRequest([MetadataRequestTopic(name="new-1")], True)
        (topic,) = self.ask(3, 9, wanted).topics
        self.assertEqual(topic.error_code, DENIED)
        self.assertNotIn("new-1", self.broker.metadata.state.topics)
        only_looking = MetadataRequest([MetadataRequestTopic(name="new-1")], False)
        (topic,) = self.ask(3, 9, only_looking).topics
        self.assertEqual(topic.error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.grant(_O.CREATE, _R.TOPIC, "new-1")
        self.ask_late(3, 9, wanted)
        self.assertIn("new-1", self.broker.metadata.state.topics)

    def test_version_0(self) -> None:
        """The oldest request for topics that are all refused does not become one for all topics."""
        (topic,) = self.ask(3, 0, MetadataRequest([MetadataRequestTopic(name=OTHER)])).topics
        self.assertEqual((topic.name, topic.error_code), (OTHER, DENIED))

    def test_topic(self) -> None:
        """The bits of a topic are the client's rights, a denied one not among them."""
        self.grant(_O.ALL, _R.TOPIC)
        self.grant(_O.DELETE, _R.TOPIC, permission=AclPermission.DENY)
        asked = MetadataRequest(
            [MetadataRequestTopic(name=TOPIC)], False, include_topic_authorized_operations=True
        )
        (topic,) = self.ask(3, 9, asked).topics
        expected = {
            _O.READ,
            _O.WRITE,
            _O.CREATE,
            _O.ALTER,
            _O.DESCRIBE,
            _O.DESCRIBE_CONFIGS,
            _O.ALTER_CONFIGS,
        }
        self.assertEqual(topic.topic_authorized_operations, sum(1 << one for one in expected))
