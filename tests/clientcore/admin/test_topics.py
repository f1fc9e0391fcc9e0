"""Tests of kafkatx.clientcore.admin.topics: requests and responses."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin import topics as admin
from kafkatx.clientcore.admin.configs import ConfigEntry
from kafkatx.clientcore.errors import UnknownTopic
from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages import delete_records as records
from kafkatx.wire.messages import describe_log_dirs as dirs
from kafkatx.wire.messages.delete_topics import DeletableTopicResult

T0 = TopicPartition("t", 0)


class RequestTests(SynchronousTestCase):
    def test_create(self) -> None:
        """A request has the topic and its settings; brokers without defaults get a count of 1."""
        request = admin.create_topic_request("t", -1, -1, {"retention.ms": "1"}, 9, 4, validate_only=True)
        (topic,) = request.topics
        self.assertEqual((topic.name, topic.num_partitions, topic.replication_factor), ("t", -1, -1))
        self.assertEqual([(one.name, one.value) for one in topic.configs], [("retention.ms", "1")])
        self.assertEqual((request.timeout_ms, request.validate_only), (9, True))
        (old,) = admin.create_topic_request("t", -1, -1, {}, 9, 3).topics
        self.assertEqual((old.num_partitions, old.replication_factor), (1, 1))
        (old,) = admin.create_topic_request("t", 3, 2, {}, 9, 3).topics
        self.assertEqual((old.num_partitions, old.replication_factor), (3, 2))

    def test_delete(self) -> None:
        """The name is in the fields of old and new versions."""
        request = admin.delete_topic_request("t", 9)
        self.assertEqual(([one.name for one in request.topics], request.topic_names), (["t"], ["t"]))

    def test_partitions_and_records(self) -> None:
        """The requests have the new number of partitions, and the offset before which records are deleted."""
        (topic,) = admin.create_partitions_request("t", 7, 9).topics
        self.assertEqual((topic.name, topic.count, topic.assignments), ("t", 7, None))
        (asked,) = admin.delete_records_request(T0, 42, 9).topics
        self.assertEqual(
            (asked.name, [(p.partition_index, p.offset) for p in asked.partitions]), ("t", [(0, 42)])
        )


class AnswerTests(SynchronousTestCase):
    def test_known(self) -> None:
        """A topic is known when brokers report it with partitions; until then the error is retriable."""

        def error(*topics: TopicMetadata) -> RequestError:
            metadata = ClusterMetadata(topics={topic.name: topic for topic in topics})
            error: RequestError = self.assertRaises(RequestError, admin.check_known, "t", metadata)
            return error

        partition = PartitionMetadata(0, 0, 0, (0,), (0,))
        unknown = TopicMetadata("t", {}, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        for found in (error(), error(unknown), error(TopicMetadata("t", {}))):
            self.assertTrue(found.code.retriable, found)
        admin.check_known("t", ClusterMetadata(topics={"t": TopicMetadata("t", {0: partition})}))

    def test_created_and_changed(self) -> None:
        """Errors name the topic; a change of an unknown topic raises UnknownTopic."""

        def result(code: int) -> list[DeletableTopicResult]:
            return [DeletableTopicResult(name="t", error_code=code, error_message=None)]

        admin.check_created(result(0))
        admin.check_changed(result(0))
        error = self.assertRaises(RequestError, admin.check_created, result(ErrorCode.TOPIC_ALREADY_EXISTS))
        self.assertEqual(str(error), "topic 't': topic already exists")
        missing = result(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.assertRaises(UnknownTopic, admin.check_changed, missing)
        self.assertNotIsInstance(self.assertRaises(RequestError, admin.check_created, missing), UnknownTopic)

    def test_low_watermark(self) -> None:
        """The response gives the new start offset of a partition, or its error."""

        def answer(code: int) -> records.DeleteRecordsResponse:
            parts = [records.DeleteRecordsPartitionResult(0, 42, code)]
            return records.DeleteRecordsResponse(topics=[records.DeleteRecordsTopicResult("t", parts)])

        self.assertEqual(admin.low_watermark(answer(0), T0), 42)
        wrong = answer(ErrorCode.OFFSET_OUT_OF_RANGE)
        error = self.assertRaises(RequestError, admin.low_watermark, wrong, T0)
        self.assertEqual(str(error), "t [0]: offset out of range")

    def test_log_dirs(self) -> None:
        """Sizes and lags are by partition, the volume's bytes by directory; a failed one has its error."""
        partitions = [dirs.DescribeLogDirsPartition(0, 123), dirs.DescribeLogDirsPartition(1, 5, 7, True)]
        results = [
            dirs.DescribeLogDirsResult(0, "/a", [dirs.DescribeLogDirsTopic("t", partitions)], 1000, 400),
            dirs.DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, "/b", []),
        ]
        found = admin.log_dirs(dirs.DescribeLogDirsResponse(results=results))
        t1 = TopicPartition("t", 1)
        self.assertEqual(
            found,
            [
                admin.LogDir(
                    "/a", ErrorCode.NONE, {T0: 123, t1: 5}, {T0: 0, t1: 7}, frozenset([t1]), 1000, 400
                ),
                admin.LogDir("/b", ErrorCode.KAFKA_STORAGE_ERROR),
            ],
        )

    def test_log_dirs_refused(self) -> None:
        """An error of the whole response is raised."""
        refused = dirs.DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        self.assertRaises(RequestError, admin.log_dirs, refused)


class TopicTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a topic of two partitions, one without a leader, and an internal one."""
        self.topic = TopicMetadata("t", {0: PartitionMetadata(0, 1), 1: PartitionMetadata(1, -1)})
        offsets = TopicMetadata("__consumer_offsets", {0: PartitionMetadata(0, 1)}, internal=True)
        topics = {topic.name: topic for topic in (self.topic, offsets)}
        self.metadata = ClusterMetadata({1: BrokerNode(1, "h", 9092)}, topics=topics)

    def test_listed(self) -> None:
        """Topics are sorted by name; internal ones are listed on request."""
        for internal, names in ((False, ["t"]), (True, ["__consumer_offsets", "t"])):
            found = admin.topics_listed(self.metadata, internal)
            self.assertEqual([topic.name for topic in found], names)

    def test_led(self) -> None:
        """Partitions with a leader are returned; an unknown topic has none."""
        self.assertEqual(
            (admin.partitions_with_leader(self.topic), admin.partitions_with_leader(None)), ([0], [])
        )

    def test_description(self) -> None:
        """Offsets of partitions that have them, -1 for others."""
        entry = ConfigEntry("a", "1")
        found = admin.topic_description(self.topic, {0: (2, -1)}, {0: (9, -1)}, {"a": entry})
        self.assertEqual([(p.earliest, p.latest) for p in found.partitions], [(2, 9), (-1, -1)])
        self.assertEqual((found.name, found.internal, found.configs), ("t", False, {"a": entry}))

    def test_by_leader(self) -> None:
        """Partitions are grouped by leader; those that cannot be requested are errors of their kind."""
        self.assertEqual(admin.by_leader([T0], self.metadata), {1: [T0]})
        for at, code in (
            (TopicPartition("t", 2), ErrorCode.INVALID_PARTITIONS),
            (TopicPartition("t", 1), ErrorCode.LEADER_NOT_AVAILABLE),
            (TopicPartition("u", 0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ):
            error = self.assertRaises(RequestError, admin.by_leader, [at], self.metadata)
            self.assertIs(error.code, code)
