"""CreatePartitions: topics that grow, and every reason for refusal."""

from __future__ import annotations

import attrs
from twisted.internet.defer import Deferred

from kafkatx.broker.requests.assignments import MOST_PARTITIONS
from kafkatx.errors import ErrorCode
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.running import NODE, BrokerTestCase, codes

VERSIONS = range(4)


def topic(count: int, name: str = "t", assignments: list[list[int]] | None = None) -> CreatePartitionsTopic:
    """Return a topic with its new number of partitions."""
    given = None if assignments is None else [CreatePartitionsAssignment(ids) for ids in assignments]
    return CreatePartitionsTopic(name, count, given)


class CreatePartitionsTests(BrokerTestCase):
    def setUp(self) -> None:
        """Make a topic of two partitions."""
        super().setUp()
        self.make_topic("t", 2)

    def grow(
        self, *topics: CreatePartitionsTopic, version: int = 3, validate_only: bool = False
    ) -> list[CreatePartitionsTopicResult]:
        """Return the results for these topics."""
        request = CreatePartitionsRequest(list(topics), 1000, validate_only)
        results: list[CreatePartitionsTopicResult] = self.ask(37, version, request).results
        return results

    def check_refused(self, asked: CreatePartitionsTopic, code: ErrorCode) -> str:
        """Assert that the topic is refused and does not grow; return the message."""
        for validate_only in (True, False):
            (result,) = self.grow(asked, validate_only=validate_only)
            self.assertEqual((result.name, ErrorCode.of(result.error_code)), (asked.name, code))
        self.assertEqual(len(self.broker.topics.of("t")), 2)
        self.assertEqual(len(self.broker.metadata.state.topics["t"].partitions), 2)
        return result.error_message or ""

    def test_every_version(self) -> None:
        """New partitions can be written to and are in the metadata, in every version."""
        for version in VERSIONS:
            count = 3 + version
            (result,) = self.grow(topic(count), version=version)
            self.assertEqual((result.name, result.error_code, result.error_message), ("t", 0, None))
            self.fill(b"v", partition=count - 1)
            asked = MetadataRequest([MetadataRequestTopic(name="t")])
            (described,) = self.ask(3, 12, asked).topics
            self.assertEqual([p.partition_index for p in described.partitions], list(range(count)))
            self.assertEqual({p.leader_id for p in described.partitions}, {0})

    def test_many_topics(self) -> None:
        """Each topic has its own result; one that is refused does not affect the others."""
        self.make_topic("u")
        results = self.grow(topic(2), topic(3, "u"), topic(3, "none"))
        self.assertEqual(
            {result.name: result.error_code for result in results},
            {"t": ErrorCode.INVALID_PARTITIONS, "u": 0, "none": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
        )

    def test_validate_only(self) -> None:
        """A request with validate_only makes no partitions."""
        before = self.broker.metadata.state
        self.assertEqual(codes(self.grow(topic(3), validate_only=True)), [0])
        self.assertIs(self.broker.metadata.state, before)
        self.assertEqual(len(self.broker.store.logs), 2)

    def test_no_increase(self) -> None:
        """The same number, a lower one, zero and a negative one are refused."""
        code = ErrorCode.INVALID_PARTITIONS
        self.assertEqual(self.check_refused(topic(2), code), "Topic already has 2 partition(s).")
        self.assertEqual(
            self.check_refused(topic(1), code),
            "The topic t currently has 2 partition(s); 1 would not be an increase.",
        )
        for count in (0, -1, -(2**31)):
            self.check_refused(topic(count), code)

    def test_too_many(self) -> None:
        """One request may add as many partitions as one CreateTopics request may create."""
        for count in (MOST_PARTITIONS + 3, 2**31 - 1):
            self.check_refused(topic(count), ErrorCode.POLICY_VIOLATION)

    def test_twice(self) -> None:
        """A topic that occurs twice in the request does not grow, and has one result."""
        self.assertEqual(codes(self.grow(topic(3), topic(4))), [ErrorCode.INVALID_REQUEST])
        self.assertEqual(len(self.broker.topics.of("t")), 2)

    def test_assignments(self) -> None:
        """The replicas of each new partition can be assigned."""
        self.assertEqual(codes(self.grow(topic(4, assignments=[[0], [0]]))), [0])
        states = self.broker.metadata.state.topics["t"].partitions
        self.assertEqual([state.replicas for state in states], [(0,)] * 4)

    def test_assignments_refused(self) -> None:
        """Wrong counts, and unknown, missing and repeated brokers are INVALID_REPLICA_ASSIGNMENT."""
        code = ErrorCode.INVALID_REPLICA_ASSIGNMENT
        for assignments in ([], [[0]], [[0]] * 3):
            why = self.check_refused(topic(4, assignments=assignments), code)
            self.assertIn(f"2 partition(s) are to be added, but {len(assignments)}", why)
        for wrong in ([1], [], [0, 0], [-1]):
            why = self.check_refused(topic(4, assignments=[[0], wrong]), code)
            self.assertEqual(why, f"{wrong} must be different brokers out of [0]")

    def add_broker(self) -> None:
        """Add a second broker to the state."""
        coordinator = self.broker.metadata
        brokers = {0: NODE, 1: BrokerNode(1, "127.0.0.1", 9093, "rack b")}
        coordinator.state = attrs.evolve(coordinator.state, brokers=brokers)

    def test_two_brokers(self) -> None:
        """New partitions continue the placement of the old ones, or are placed as assigned."""
        self.add_broker()
        for count in (3, 5):
            self.assertEqual(codes(self.grow(topic(count))), [0])
        self.assertEqual(codes(self.grow(topic(6, assignments=[[0]]))), [0])
        states = self.broker.metadata.state.topics["t"].partitions
        self.assertEqual([state.replicas for state in states[2:]], [(0,), (1,), (0,), (0,)])
        (result,) = self.grow(topic(7, assignments=[[0, 1]]))
        self.assertEqual(result.error_code, ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        self.assertIn("partition 0 has 1", result.error_message or "")

    def test_topic_with_copies(self) -> None:
        """New partitions have as many replicas as partition 0; with fewer brokers there are none."""
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.create("wide", [[0, 1]])))
        self.assertEqual(codes(self.grow(topic(2, "wide"))), [ErrorCode.INVALID_REPLICATION_FACTOR])
        self.add_broker()
        self.assertEqual(codes(self.grow(topic(2, "wide"))), [0])
        self.assertEqual(codes(self.grow(topic(3, "wide", assignments=[[1, 0]]))), [0])
        states = self.broker.metadata.state.topics["wide"].partitions
        self.assertEqual([state.replicas for state in states], [(0, 1), (1, 0), (1, 0)])

    def test_internal_topic(self) -> None:
        """The offsets topic does not grow, since its partition count determines a group's partition."""
        self.make_topic("__consumer_offsets", 3)
        (result,) = self.grow(topic(4, "__consumer_offsets"))
        self.assertEqual(result.error_code, ErrorCode.INVALID_TOPIC_EXCEPTION)
