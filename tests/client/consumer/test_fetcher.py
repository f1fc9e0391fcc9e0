"""Tests of kafkatx.client.consumer.fetcher: two brokers that answer as the test says."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.consumer.consumer import Consumer
from kafkatx.client.consumer.fetcher import END_SESSIONS_S, LANE
from kafkatx.clientcore.consumer.fetch_session import FEWEST
from kafkatx.clientcore.errors import CorruptBatch
from kafkatx.errors import CorruptRecords, ErrorCode, RequestError
from kafkatx.records.builder import build_values
from kafkatx.types import TopicPartition
from kafkatx.wire.leaders import LeaderIdAndEpoch, NodeEndpoint
from kafkatx.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fakes import FakeCluster, Log
from tests.client.fakes import Network
from tests.clientcore.consumer.test_completed_fetch import at

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class FetcherTestCase(SynchronousTestCase):
    """Partitions 0 and 1 of t are led by brokers 1 and 2; fetches wait until the test answers them."""

    def setUp(self) -> None:
        """Make brokers, and a consumer of both partitions."""
        self.logs = [Log(leader=1, end=10), Log(leader=2, end=10)]
        self.brokers = FakeCluster({"t": self.logs}, brokers=2)
        self.network = Network(self.brokers.answer)
        self.network.answers[FetchRequest] = self.fetch
        self.fetches: defaultdict[int, list[tuple[Any, Deferred[Any]]]] = defaultdict(list)
        self.consumer = self.make()

    def make(self, prepare: Callable[[Consumer], None] = lambda consumer: None, **settings: Any) -> Consumer:
        """Return a consumer that has started, at the start of both partitions."""
        values = {"bootstrap_servers": "broker1:9092", "kafkatx_endpoint": self.network.endpoint, **settings}
        consumer = Consumer({"auto_offset_reset": "earliest", **values}, reactor=self.network.clock)
        self.addCleanup(lambda: self.network.result(consumer.close(), 40))
        self.network.result(consumer.start())
        prepare(consumer)
        consumer.assign([T0, T1])
        self.network.run(0.5)
        return consumer

    def with_ids(self) -> None:
        """Make the consumer anew, with brokers that know the ids of topics: Fetch is of version 16 then."""

        def answer(node: int, request: Any, version: int) -> Any:
            reply = self.brokers.answer(node, request, version)
            for topic in reply.topics:
                topic.topic_id = uuid.UUID(int=7)
            return reply

        self.network.result(self.consumer.close(), 40)
        self.fetches.clear()
        self.network.answers[MetadataRequest] = answer
        self.consumer = self.make()

    def fetch(self, node: int, request: Any, version: int) -> Deferred[Any]:
        """Keep the fetch waiting."""
        waiting: Deferred[Any] = Deferred()
        self.fetches[node].append((request, waiting))
        return waiting

    def asked(self, node: int) -> list[tuple[int, int]]:
        """Return partitions and offsets of a broker's fetch in flight, if there is one."""
        if not self.fetches[node] or self.fetches[node][-1][1].called:
            return []
        return [(p.partition, p.fetch_offset) for p in self.fetches[node][-1][0].topics[0].partitions]

    def answer(
        self,
        node: int,
        *parts: PartitionData,
        error: int = 0,
        throttle_ms: int = 0,
        endpoints: Sequence[NodeEndpoint] = (),
        session_id: int = 0,
    ) -> None:
        """Answer the last fetch."""
        request, waiting = self.fetches[node][-1]
        named = request.topics[0] if request.topics else self.fetches[node][0][0].topics[0]
        topic = FetchableTopicResponse(named.topic, named.topic_id, list(parts))
        waiting.callback(
            FetchResponse(throttle_ms, error, session_id, responses=[topic], node_endpoints=list(endpoints))
        )
        self.network.pump()

    def part(self, partition: int, *values: bytes, offset: int = 0, error: int = 0) -> PartitionData:
        """Return the records of a partition, or its error."""
        data = at(offset, build_values(values, 5)) if values else b""
        return PartitionData(partition, error, 10, 10, 0, records=memoryview(data))

    def values(self, consumer: Consumer | None = None) -> list[Any]:
        """Return the buffered records' values."""
        found = self.network.result((consumer or self.consumer).getmany(), 0.1)
        return [record.value for records in found.values() for record in records]


class FetcherTests(FetcherTestCase):
    def test_each_leader(self) -> None:
        """Each leader is asked for its own partitions, over a connection of its own, and again when it has
        answered; not before."""
        self.assertEqual((self.asked(1), self.asked(2)), ([(0, 0)], [(1, 0)]))
        self.answer(1, self.part(0, b"a", b"b"))
        self.assertEqual((self.asked(1), self.asked(2)), ([(0, 2)], [(1, 0)]))
        self.assertEqual((len(self.fetches[1]), len(self.fetches[2])), (2, 1))
        self.assertEqual(self.values(), [b"a", b"b"])
        self.assertEqual(LANE, "fetch")
        self.assertEqual(len(self.network.live(1)), 2)

    def test_leader_moves(self) -> None:
        """Partitions that a leader refuses are fetched from the new one, once metadata shows it."""
        self.logs[0].leader = 2
        self.answer(2, self.part(1, b"x"))
        self.answer(1, self.part(0, error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
        self.network.run(0.3)
        self.assertEqual(self.asked(1), [])
        self.answer(2)
        self.assertEqual(sorted(self.asked(2)), [(0, 0), (1, 1)])

    def test_named_leader(self) -> None:
        """A leader that the reply names is asked at once, by another broker's metadata or none (KIP-951)."""
        self.with_ids()
        self.answer(2, self.part(1, b"x"))
        asked_before = len(self.network.sent(MetadataRequest))
        refused = self.part(0, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
        refused.current_leader = LeaderIdAndEpoch(2, 6)
        self.answer(1, refused, endpoints=[NodeEndpoint(2, "broker2", 9092)])
        self.answer(2)
        self.assertEqual(sorted(self.asked(2)), [(0, 0), (1, 1)])
        self.assertEqual(len(self.network.sent(MetadataRequest)), asked_before)

    def test_older_leader(self) -> None:
        """A leader of an epoch that is not later is not asked: metadata is requested."""
        self.with_ids()
        asked_before = len(self.network.sent(MetadataRequest))
        refused = self.part(0, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
        refused.current_leader = LeaderIdAndEpoch(2, -1)
        self.answer(1, refused, endpoints=[NodeEndpoint(2, "broker2", 9092)])
        self.network.run(1)
        self.assertEqual(self.asked(1), [(0, 0)])
        self.assertGreater(len(self.network.sent(MetadataRequest)), asked_before)

    def test_no_leader(self) -> None:
        """A partition without a leader is fetched once it has one; others are fetched meanwhile."""
        self.logs[0].leader = -1
        for code in (ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.UNKNOWN_TOPIC_ID):
            self.answer(1, self.part(0, error=code))
            self.network.run(3)
            self.assertEqual(self.asked(1), [])
            self.answer(2, self.part(1, b"x", offset=len(self.fetches[2]) - 1))
            self.assertEqual(len(self.values()), 1)
            self.logs[0].leader = 1
            self.network.run(2)
            self.assertEqual(self.asked(1), [(0, 0)])
            self.logs[0].leader = -1

    def test_refused_again_and_again(self) -> None:
        """A broker that keeps refusing is asked with pauses."""

        def refuse(node: int, request: Any, version: int) -> Any:
            topic = request.topics[0]
            parts = [self.part(p.partition, error=ErrorCode.NOT_LEADER_OR_FOLLOWER) for p in topic.partitions]
            self.refused += 1
            return FetchResponse(responses=[FetchableTopicResponse(topic.topic, topic.topic_id, parts)])

        self.refused = 0
        self.network.answers[FetchRequest] = refuse
        self.answer(1, self.part(0, error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
        self.network.run(10)
        self.assertGreater(self.refused, 20)
        self.assertLess(self.refused, 300)

    def test_only_what_was_read_already(self) -> None:
        """A broker that answers with records below the position alone is asked with pauses."""

        def old(node: int, request: Any, version: int) -> Any:
            topic = request.topics[0]
            self.asked_for += 1
            parts = [self.part(p.partition, b"a", offset=p.fetch_offset - 1) for p in topic.partitions]
            return FetchResponse(responses=[FetchableTopicResponse(topic.topic, topic.topic_id, parts)])

        self.asked_for = 0
        self.network.answers[FetchRequest] = old
        self.answer(1, self.part(0, b"a", b"b"))
        self.assertEqual(self.values(), [b"a", b"b"])
        self.network.run(10)
        self.assertEqual(self.values(), [])
        self.assertGreater(self.asked_for, 5)
        self.assertLess(self.asked_for, 300)

    def test_last_offset(self) -> None:
        """A record at the largest offset, after which there is none, is an error and no endless wait."""
        self.answer(1, self.part(0, b"a", offset=2**63 - 1))
        error = self.assertRaises(CorruptBatch, self.values)
        self.assertIn("after which there is none", str(error))

    def test_lost_connection(self) -> None:
        """A leader is asked again from the same position after its connection was lost."""
        self.answer(1, self.part(0, b"a"))
        self.network.kill(1)
        self.network.run(2)
        self.network.down.clear()
        self.network.run(3)
        self.assertEqual(self.asked(1), [(0, 1)])

    def test_request_error(self) -> None:
        """A retriable error of the whole response causes a pause; another is raised for each partition."""
        self.answer(1, error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        self.assertEqual(self.asked(1), [])
        self.network.run(1)
        self.assertEqual(self.asked(1), [(0, 0)])
        self.answer(1, error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        self.assertRaises(RequestError, self.values)
        self.network.run(1)
        self.assertEqual(self.asked(1), [(0, 0)])

    def test_session(self) -> None:
        """A fetch of many partitions names only changed ones; all if the broker has lost the session."""
        self.network.result(self.consumer.close(), 40)
        self.fetches.clear()
        self.logs += [Log(leader=1, end=10) for _ in range(FEWEST)]
        self.consumer = self.make()
        self.consumer.assign([TopicPartition("t", number) for number in range(len(self.logs))])
        self.answer(1, self.part(0))
        self.network.run(1)
        self.assertEqual(len(self.asked(1)), FEWEST + 1)
        self.answer(1, self.part(0, b"a"), session_id=7)
        request = self.fetches[1][-1][0]
        self.assertEqual((request.session_id, request.session_epoch, self.asked(1)), (7, 1, [(0, 1)]))
        self.answer(1, self.part(5, b"a"), session_id=7)
        self.assertEqual(self.asked(1), [(5, 1)])
        self.answer(1, error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        self.assertEqual(len(self.asked(1)), FEWEST + 1)

    def test_sessions_end(self) -> None:
        """A consumer that closes ends its session at the broker, which does not answer the fetch first."""
        self.network.result(self.consumer.close(), 40)
        self.fetches.clear()
        self.logs += [Log(leader=1, end=10) for _ in range(FEWEST)]
        self.consumer = self.make()
        self.consumer.assign([TopicPartition("t", number) for number in range(len(self.logs))])
        self.answer(1, self.part(0))
        self.network.run(1)
        self.answer(1, self.part(0, b"a"), session_id=7)
        closing = self.consumer.close()
        self.network.run(0.5)
        request, waiting = self.fetches[1][-1]
        self.assertEqual((request.session_id, request.session_epoch, request.topics), (7, -1, []))
        self.assertNotEqual(self.fetches[2][-1][0].session_id, 7)
        self.assertNoResult(closing)
        waiting.callback(FetchResponse())
        self.network.run(0.1)
        self.successResultOf(closing)

    def test_sessions_do_not_end(self) -> None:
        """A broker that does not answer the end of a session does not keep a consumer from closing."""
        self.answer(1, self.part(0, b"a"))
        self.consumer._parts.fetcher._sessions[1]._id = 7
        closing = self.consumer.close()
        self.network.run(END_SESSIONS_S / 2)
        self.assertNoResult(closing)
        self.network.run(END_SESSIONS_S)
        self.successResultOf(closing)

    def test_partition_errors(self) -> None:
        """Errors that are not retriable are raised to the application; a corrupt batch until it seeks."""
        self.answer(1, self.part(0, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        error = self.assertRaises(RequestError, self.values)
        self.assertIs(error.code, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        self.network.run(1)
        self.assertEqual(self.asked(1), [(0, 0)])
        self.answer(1, self.part(0, error=ErrorCode.CORRUPT_MESSAGE))
        for _ in range(2):
            self.assertRaises(CorruptRecords, self.values)
        self.network.run(1)
        self.assertEqual(self.asked(1), [])
        self.consumer.seek(T0, 5)
        self.network.run(1)
        self.assertEqual(self.asked(1), [(0, 5)])

    def test_throttled(self) -> None:
        """A throttling broker is not asked for a while (KIP-219)."""
        self.answer(1, self.part(0, b"a"), throttle_ms=2000)
        self.network.run(1.9)
        self.assertEqual(self.asked(1), [])
        self.network.run(0.3)
        self.assertEqual(self.asked(1), [(0, 1)])

    def test_who_got_something_is_the_last_next_time(self) -> None:
        """Partitions without records in a response come first in the next request."""
        self.logs[1].leader = 1
        consumer = self.make()
        self.assertEqual(self.asked(1), [(0, 0), (1, 0)])
        self.answer(1, self.part(0, b"a"), self.part(1))
        self.assertEqual(self.asked(1), [(1, 0), (0, 1)])
        self.answer(1, self.part(1, b"x"), self.part(0))
        self.assertEqual(self.asked(1), [(0, 1), (1, 1)])
        self.assertEqual(self.values(consumer), [b"a", b"x"])

    def test_preferred_replica(self) -> None:
        """A partition is read from the replica that its leader names, and from the leader if that fails."""
        part = self.part(0)
        part.preferred_read_replica = 2
        self.answer(1, part)
        self.answer(2)
        self.assertEqual((self.asked(1), sorted(self.asked(2))), ([], [(0, 0), (1, 0)]))
        self.answer(2, self.part(0, error=ErrorCode.OFFSET_OUT_OF_RANGE))
        self.assertEqual((self.asked(1), self.asked(2)), ([(0, 0)], [(1, 0)]))

    def to_follower(self, replica: int = 2) -> None:
        """Make the leader of partition 0 name a replica."""
        part = self.part(0)
        part.preferred_read_replica = replica
        self.answer(1, part)

    def test_leader_is_asked_after_a_while(self) -> None:
        """After metadata.max.age.ms the leader is asked again, and may name another replica."""
        self.network.result(self.consumer.close(), 40)
        self.fetches.clear()
        self.consumer = self.make(metadata_max_age_ms=5000)
        self.to_follower()
        self.answer(2)
        self.network.run(4.9)
        self.assertEqual((self.asked(1), sorted(self.asked(2))), ([], [(0, 0), (1, 0)]))
        self.network.run(0.2)
        self.assertEqual(self.asked(1), [(0, 0)])

    def test_follower_fails(self) -> None:
        """After an error of a follower, or of its connection, the leader is asked, though not at once."""
        self.to_follower()
        self.answer(2)
        self.answer(2, self.part(0, error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
        self.network.run(0.3)
        self.assertEqual((self.asked(1), self.asked(2)), ([(0, 0)], [(1, 0)]))
        self.to_follower()
        self.answer(2)
        self.assertEqual(self.asked(1), [])
        self.network.kill(2)
        self.network.run(1)
        self.assertEqual(self.asked(1), [(0, 0)])

    def test_failing_follower_is_named_again_and_again(self) -> None:
        """A leader that keeps naming a replica that refuses, or that is not known, is asked with pauses."""

        def name(node: int, request: Any, version: int) -> Any:
            topic = request.topics[0]
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER if node == 2 else 0
            parts = [self.part(p.partition, error=code) for p in topic.partitions]
            parts[0].preferred_read_replica = self.named if node == 1 else -1
            self.answered += 1
            return FetchResponse(responses=[FetchableTopicResponse(topic.topic, topic.topic_id, parts)])

        for self.named in (2, 9):
            self.answered = 0
            self.network.answers[FetchRequest] = name
            self.consumer = self.make()
            self.network.run(10)
            self.assertGreater(self.answered, 5)
            self.assertLess(self.answered, 500)

    def test_replies_to_what_was_before(self) -> None:
        """Records that were requested before a seek are not delivered."""
        self.consumer.seek(T0, 7)
        self.answer(1, self.part(0, b"a"))
        self.assertEqual((self.asked(1), self.values()), ([(0, 7)], []))

    def test_asks_before_it_hands_out(self) -> None:
        """The next fetch is sent before the application gets the records of the last one."""
        order = []
        waiting = self.consumer.getone()
        waiting.addCallback(lambda record: order.append(self.consumer._parts.fetcher.in_flight))
        self.network.pump(0.05)
        self.answer(1, self.part(0, b"a"))
        self.assertEqual(order, [2])
