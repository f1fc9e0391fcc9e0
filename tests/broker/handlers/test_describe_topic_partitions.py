"""DescribeTopicPartitions: pages of partitions. The cases were also run against Apache Kafka 4.3.1."""

from __future__ import annotations

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from tests.broker.running import NODE, BrokerTestCase


class DescribeTopicPartitionsTests(BrokerTestCase):
    def setUp(self) -> None:
        """Make three topics, not in the order of their names."""
        super().setUp()
        for name in ("c", "a", "b"):
            self.make_topic(name, 3)

    def ask_for(
        self, *names: str, limit: int = 2000, cursor: Cursor | None = None
    ) -> DescribeTopicPartitionsResponse:
        """Return the response."""
        request = DescribeTopicPartitionsRequest([TopicRequest(name) for name in names], limit, cursor)
        response: DescribeTopicPartitionsResponse = self.ask(75, 0, request)
        return response

    def page(self, *names: str, limit: int = 2000, cursor: Cursor | None = None) -> list[object]:
        """Return names and partition numbers, then the next cursor or None."""
        response = self.ask_for(*names, limit=limit, cursor=cursor)
        self.assertEqual({topic.error_code for topic in response.topics} | {0}, {0})
        shown: list[object] = [(t.name, [p.partition_index for p in t.partitions]) for t in response.topics]
        after = response.next_cursor
        return [*shown, None if after is None else (after.topic_name, after.partition_index)]

    def test_all(self) -> None:
        """All topics are returned in the order of their names if none are named."""
        whole = [0, 1, 2]
        self.assertEqual(self.page(), [("a", whole), ("b", whole), ("c", whole), None])

    def test_fields(self) -> None:
        """A partition has its leader and replicas; the lists of eligible leader replicas are empty."""
        (topic,) = self.ask_for("a").topics
        known = self.broker.metadata.state.topics["a"]
        self.assertEqual((topic.topic_id, topic.is_internal), (known.topic_id, False))
        self.assertEqual(topic.topic_authorized_operations, 3576)
        part = topic.partitions[1]
        self.assertEqual((part.error_code, part.leader_id, part.leader_epoch), (0, NODE.id, 0))
        self.assertEqual((part.replica_nodes, part.isr_nodes, part.offline_replicas), ([0], [0], []))
        self.assertEqual((part.eligible_leader_replicas, part.last_known_elr), ([], []))

    def test_some(self) -> None:
        """Named topics are returned in order, each once."""
        self.assertEqual(self.page("b", "a", "b"), [("a", [0, 1, 2]), ("b", [0, 1, 2]), None])

    def test_limit(self) -> None:
        """A page ends at its limit, within a topic or between two; the cursor is the next partition."""
        self.assertEqual(self.page("b", "a", limit=2), [("a", [0, 1]), ("a", 2)])
        self.assertEqual(self.page("b", "a", limit=3), [("a", [0, 1, 2]), ("b", 0)])
        self.assertEqual(self.page(limit=2, cursor=Cursor("b", 1)), [("b", [1, 2]), ("c", 0)])
        for limit in (0, -1):
            self.assertEqual(self.page("a", limit=limit), [("a", [0]), ("a", 1)])

    def test_pages_are_complete(self) -> None:
        """The pages together have each partition once, whatever the limit."""
        expected = [(name, number) for name in "abc" for number in range(3)]
        for limit in range(1, 12):
            found, cursor, pages = [], None, 0
            while pages == 0 or cursor is not None:
                response = self.ask_for(limit=limit, cursor=cursor)
                found += [(t.name, p.partition_index) for t in response.topics for p in t.partitions]
                cursor, pages = response.next_cursor, pages + 1
            self.assertEqual(found, expected)
            self.assertEqual(pages, -(-len(expected) // limit))

    def test_cursor(self) -> None:
        """A page begins at the cursor, even if the topic of the cursor was deleted."""
        self.assertEqual(self.page("a", "b", cursor=Cursor("a", 2)), [("a", [2]), ("b", [0, 1, 2]), None])
        self.assertEqual(self.page("a", cursor=Cursor("a", 7)), [("a", []), None])
        self.assertEqual(self.page(cursor=Cursor("bb", 2)), [("c", [0, 1, 2]), None])
        self.assertEqual(self.page(cursor=Cursor("zz", 0)), [None])

    def test_bad_cursors(self) -> None:
        """A cursor with a negative partition or a topic not among those named is refused for each topic."""
        for cursor in (Cursor("a", -1), Cursor("aa", 0), Cursor("zz", 1)):
            response = self.ask_for("a", "b", cursor=cursor)
            self.assertEqual(
                [(topic.name, topic.error_code, topic.partitions) for topic in response.topics],
                [("a", ErrorCode.INVALID_REQUEST, []), ("b", ErrorCode.INVALID_REQUEST, [])],
            )

    def test_missing(self) -> None:
        """A missing topic or an invalid name is an error of its own."""
        response = self.ask_for("zz", "../x", "a")
        self.assertEqual(
            [(topic.name, topic.error_code) for topic in response.topics],
            [
                ("../x", ErrorCode.INVALID_TOPIC_EXCEPTION),
                ("a", 0),
                ("zz", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            ],
        )
        self.assertEqual(response.topics[2].topic_authorized_operations, 3576)

    def test_bounded(self) -> None:
        """A page has at most 2,000 of the named topics, whether or not they exist."""
        response = self.ask_for(*[f"x{number:05}" for number in range(5000)], limit=2**31 - 1)
        self.assertEqual(len(response.topics), 2000)
        self.assertEqual(response.next_cursor, Cursor("x02000", 0))

    def test_without_a_leader(self) -> None:
        """A partition whose leader is not alive has none."""
        state = self.broker.metadata.state
        self.patch(self.broker.metadata, "state", attrs.evolve(state, brokers={}))
        part = self.ask_for("a").topics[0].partitions[0]
        self.assertEqual((part.error_code, part.leader_id), (ErrorCode.LEADER_NOT_AVAILABLE, -1))
