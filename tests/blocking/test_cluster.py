"""Tests of kafkatx.blocking.cluster and offsets."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import ConnectionFailed, UnknownTopic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.list_offsets import ListOffsetsRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fakes import LOSE_REQUEST, FakeCluster, Log


class ClusterTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two brokers, each leading one partition."""
        self.fake = FakeCluster({"t": [Log(leader=1), Log(leader=2)]}, brokers=2)
        self.cluster = self.fake.client(retries=3)

    def test_first_contact_is_not_retried(self) -> None:
        """A bootstrap address without a broker is an error at once."""
        self.fake.down = {1}
        self.assertRaises(ConnectionFailed, self.cluster.partitions, "t")
        self.assertEqual(self.fake.slept, [])

    def test_retried_after_first_contact(self) -> None:
        """Once the cluster is known, a broker that restarts is waited for with growing pauses."""
        self.cluster.metadata([])
        self.cluster.close()
        self.fake.down = {1, 2}

        def up_after_two() -> None:
            if len(self.fake.slept) == 2:
                self.fake.down.clear()

        self.fake.on_sleep = up_after_two
        self.assertEqual(self.cluster.partitions("t"), [0, 1])
        self.assertEqual(self.fake.slept, [0.1, 0.2])

    def test_retries_end(self) -> None:
        """A broker that does not come back is an error after the retries."""
        self.cluster.metadata([])
        self.cluster.close()
        self.fake.down = {1, 2}
        error = self.assertRaises(ConnectionFailed, self.cluster.partitions, "t")
        self.assertIn("broker1:9092", str(error))
        self.assertEqual(len(self.fake.slept), 3)

    def test_error_names_what_was_typed(self) -> None:
        """The error is that of the bootstrap server, not of the first known broker."""
        self.fake.bootstrap = "broker2:9092"
        cluster = self.fake.client(retries=0)
        cluster.metadata([])
        cluster.close()
        self.fake.down = {1, 2}
        self.assertIn("broker2:9092", str(self.assertRaises(ConnectionFailed, cluster.metadata, [])))

    def test_other_broker(self) -> None:
        """A known broker serves when the bootstrap one is down."""
        self.cluster.metadata([])
        self.cluster.close()
        self.fake.down = {1}
        self.assertEqual(self.cluster.partitions("t"), [0, 1])
        self.assertEqual(self.fake.slept, [])

    def test_hung_broker(self) -> None:
        """A broker that did not answer is asked last from then on."""
        self.cluster.metadata([])
        self.fake.faults[MetadataRequest].append(LOSE_REQUEST)
        self.cluster.metadata([])
        self.cluster.metadata([])
        asked = [node for node, request in self.fake.requests if isinstance(request, MetadataRequest)]
        self.assertEqual(asked, [1, 1, 2, 2])

    def test_controller_moves(self) -> None:
        """A retry goes to the new controller, because the brokers are asked for it again."""
        self.cluster.metadata([])
        self.fake.controller = 2
        self.fake.down = {1}
        self.cluster.close()
        controller = self.cluster.retrying(self.cluster.controller_connection)
        self.assertEqual(controller.host, "broker2")

    def test_topics_are_remembered(self) -> None:
        """A second look at a topic needs no request; after forget_metadata() it does."""
        self.cluster.partitions("t")
        self.cluster.partitions("t")
        self.assertEqual(len(self.fake.sent(MetadataRequest)), 1)
        self.cluster.forget_metadata()
        self.cluster.partitions("t")
        self.assertEqual(len(self.fake.sent(MetadataRequest)), 2)

    def test_unknown_topic(self) -> None:
        """A topic that is not there is an error at once, and is not created."""
        error = self.assertRaises(UnknownTopic, self.cluster.partitions, "x")
        self.assertIn("there is no topic 'x': create it", str(error))
        self.assertNotIn("x", self.fake.topics)
        self.assertEqual(self.fake.slept, [])

    def test_auto_create(self) -> None:
        """A topic that the broker creates is waited for while it has no leader."""
        faults = [ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        self.fake.faults[MetadataRequest].extend(faults)
        self.assertEqual(list(self.cluster.topic("x", allow_auto_create=True).partitions), [0])
        self.assertEqual(len(self.fake.slept), 2)

    def test_bad_name(self) -> None:
        """An error that does not pass is raised without a retry."""
        self.fake.faults[MetadataRequest].append(ErrorCode.INVALID_TOPIC_EXCEPTION)
        error = self.assertRaises(RequestError, self.cluster.topic, "../x", True)
        self.assertEqual(error.code, ErrorCode.INVALID_TOPIC_EXCEPTION)
        self.assertEqual(self.fake.slept, [])

    def test_all_topics_in_version_0(self) -> None:
        """Metadata 0 cannot say null: an empty list asks for all topics."""
        self.fake.versions[MetadataRequest] = 0
        self.cluster.metadata(None)
        self.assertEqual(self.fake.sent(MetadataRequest)[0].topics, [])
        self.fake.versions[MetadataRequest] = 1
        self.assertEqual(list(self.cluster.metadata(None).topics), ["t"])

    def test_offsets_ask_each_leader(self) -> None:
        """One request goes to each leader, and an offset comes with its timestamp."""
        self.fake.topics["t"][1].end = 5
        self.assertEqual(self.cluster.offsets("t", {0: 1234, 1: -1}), {0: (1, 11), 1: (5, -1)})
        asked = [node for node, request in self.fake.requests if isinstance(request, ListOffsetsRequest)]
        self.assertEqual(sorted(asked), [1, 2])

    def test_offsets_after_a_move(self) -> None:
        """After the leader has moved, metadata is requested again and the new leader is asked."""
        self.cluster.partitions("t")
        self.fake.topics["t"][0].leader = 2
        self.assertEqual(self.cluster.offsets("t", {0: -1}), {0: (0, -1)})
        self.assertEqual(self.fake.slept, [0.1])

    def test_offsets_after_a_lost_connection(self) -> None:
        """A connection that breaks is made anew."""
        self.fake.faults[ListOffsetsRequest].append(LOSE_REQUEST)
        self.assertEqual(self.cluster.offsets("t", {0: -2}), {0: (0, -1)})

    def test_offsets_of_several_topics(self) -> None:
        """One request to each leader, whatever number of topics there is."""
        self.fake.topics["u"] = [Log(leader=2, end=7)]
        asked = {TopicPartition("t", 0): -1, TopicPartition("t", 1): -1, TopicPartition("u", 0): -1}
        found = self.cluster.offsets_of(asked)
        self.assertEqual(found, {("t", 0): (0, -1), ("t", 1): (0, -1), ("u", 0): (7, -1)})
        self.assertEqual(len(self.fake.sent(ListOffsetsRequest)), 2)

    def test_brokers(self) -> None:
        """The brokers are asked for once, and reached by the connections that all share."""
        self.assertEqual(list(self.cluster.brokers()), [1, 2])
        self.assertIs(
            self.cluster.connection_to(self.cluster.brokers()[2]), self.cluster.leader_connection("t", 1)
        )
        self.assertEqual(len(self.fake.sent(MetadataRequest)), 2)

    def test_leaderless_partition(self) -> None:
        """A partition without a leader is waited for; the others can be used meanwhile."""
        self.fake.topics["t"][1].leader = -1
        self.assertEqual(self.cluster.leader_connection("t", 0).host, "broker1")
        self.assertRaises(RequestError, self.cluster.leader_connection, "t", 1)
        self.fake.on_sleep = lambda: setattr(self.fake.topics["t"][1], "leader", 2)
        self.assertEqual(self.cluster.offsets("t", {1: -1}), {1: (0, -1)})

    def test_no_such_partition(self) -> None:
        """The error of a partition that is not there tells which there are."""
        error = self.assertRaises(RequestError, self.cluster.leader_connection, "t", 2)
        self.assertIn("it has 0 to 1", str(error))

    def test_close(self) -> None:
        """Closing closes every shared connection."""
        with self.cluster:
            self.cluster.offsets("t", {0: -1, 1: -1})
        self.assertTrue(all(channel.closed for channel in self.fake.channels))
        self.assertEqual(len(self.fake.channels), 2)
