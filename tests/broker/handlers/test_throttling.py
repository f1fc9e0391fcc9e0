"""Client quotas where they are enforced: produce and fetch (KIP-13, KIP-219)."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode, ProtocolViolation
from kafkatx.records.builder import build_values
from kafkatx.wire import codec
from kafkatx.wire.api import APIS
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.broker.running import NOW_MS, BrokerTestCase, codes, produce_request, values

CLIENT = (("client-id", "tests"),)
RECORDS = build_values([b"x" * 100], NOW_MS)


class ThrottlingTestCase(BrokerTestCase):
    def setUp(self) -> None:
        """A topic of one partition."""
        super().setUp()
        self.make_topic()

    def limit(self, **quotas: float | None) -> None:
        """Give the tests' client quotas."""
        self.successResultOf(self.broker.coordinator.alter_client_quotas({CLIENT: quotas}))

    def muted(self) -> int:
        """For how long the connection is to be left alone; the connection takes it."""
        found, self.peer.throttle_time_ms = self.peer.throttle_time_ms, 0
        return found


class ProduceTests(ThrottlingTestCase):
    def produced(self, version: int = 9, acks: int = -1, topic: str = "t") -> Any:
        """The response to a produce request."""
        return self.ask(0, version, produce_request(RECORDS, acks, topic))

    def size(self, version: int = 9) -> int:
        """The bytes of such a request, without its size."""
        return len(self.frame(0, version, produce_request(RECORDS)))

    def test_within_quota(self) -> None:
        """Requests of ten seconds' bytes, to the last, pass; the next is done, and pauses its client."""
        self.limit(producer_byte_rate=float(self.size()))
        for _ in range(10):
            self.assertEqual((self.produced().throttle_time_ms, self.muted()), (0, 0))
        self.assertEqual((self.produced().throttle_time_ms, self.muted()), (1000, 1000))
        self.assertEqual(len(self.stored()), 11)

    def test_every_version(self) -> None:
        """Version 0 has no field for the time, and is muted as the others."""
        self.limit(producer_byte_rate=1.0)
        for version in range(3, APIS[0].versions.stop):
            self.assertEqual(self.produced(version).throttle_time_ms, self.peer.throttle_time_ms)
            self.assertGreater(self.muted(), 1000)
        self.ask(0, 0, produce_request(None))
        self.assertGreater(self.muted(), 1000)

    def test_without_a_reply(self) -> None:
        """With acks=0 there is nobody to tell, but the connection is muted; an error closes it still."""
        self.limit(producer_byte_rate=1.0)
        self.assertIsNone(self.produced(acks=0))
        self.assertGreater(self.muted(), 1000)
        self.assertEqual(len(self.stored()), 1)
        self.assertRaises(ProtocolViolation, self.produced, acks=0, topic="none")

    def test_errors_count(self) -> None:
        """A request that is refused has used the network as well."""
        self.limit(producer_byte_rate=1.0)
        self.assertGreater(self.produced(acks=7).throttle_time_ms, 1000)
        response = self.produced(topic="none")
        self.assertGreater(response.throttle_time_ms, 1000)
        error = response.responses[0].partition_responses[0].error_code
        self.assertEqual(error, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def test_others(self) -> None:
        """A client without a quota, and one that only fetches by quota, produce freely."""
        self.successResultOf(
            self.broker.coordinator.alter_client_quotas(
                {(("client-id", "other"),): {"producer_byte_rate": 1.0}, CLIENT: {"consumer_byte_rate": 1.0}}
            )
        )
        self.assertEqual((self.produced().throttle_time_ms, self.muted()), (0, 0))

    def test_commits(self) -> None:
        """Commits of offsets, which are written as records are, are not counted as produced."""
        self.limit(producer_byte_rate=1.0)
        partitions = [OffsetCommitRequestPartition(0, 1, 0, committed_metadata="")]
        commit = OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("t", partitions)])
        for _ in range(2):
            (topic,) = self.ask(8, 8, commit).topics
            self.assertEqual((codes(topic.partitions), self.muted()), ([0], 0))

    def test_quota_goes(self) -> None:
        """When the quota is removed, nothing is throttled any more."""
        self.limit(producer_byte_rate=1.0)
        self.assertGreater(self.produced().throttle_time_ms, 0)
        self.limit(producer_byte_rate=None)
        self.muted()
        self.assertEqual((self.produced().throttle_time_ms, self.muted()), (0, 0))


class FetchTests(ThrottlingTestCase):
    def setUp(self) -> None:
        """Twenty batches of a record."""
        super().setUp()
        for number in range(20):
            self.fill(b"%04d" % number * 250)
        self.batch = len(self.fetched(max_bytes=1)[0])
        self.muted()

    def request(self, offset: int = 0, max_bytes: int = 1 << 20, **more: Any) -> FetchRequest:
        """A request for the topic's partition."""
        topic_id = self.broker.coordinator.state.topics["t"].topic_id
        asked = FetchPartition(0, -1, offset, partition_max_bytes=max_bytes)
        return FetchRequest(min_bytes=1, topics=[FetchTopic("t", topic_id, [asked])], **more)

    def fetch(self, version: int = 12, **request: Any) -> FetchResponse:
        """The response to :meth:`request`."""
        response: FetchResponse = self.ask(1, version, self.request(**request))
        return response

    def fetched(self, **request: Any) -> tuple[Any, int]:
        """The records, None where the response has no partitions, and the pause."""
        response = self.fetch(**request)
        found = [p.records for t in response.responses for p in t.partitions]
        return (found[0] if found else None), response.throttle_time_ms

    def test_within_quota(self) -> None:
        """A fetch that is answered within the quota is answered as ever."""
        self.limit(consumer_byte_rate=1e6)
        records, throttle_time_ms = self.fetched()
        self.assertEqual((len(values(records)), throttle_time_ms, self.muted()), (20, 0, 0))

    def test_reply_is_counted_whole(self) -> None:
        """What counts are the bytes of the reply with all that stands around the records, as Kafka counts."""
        response = self.fetch(max_bytes=1)
        size = 4 + len(codec.encode(response, 12))
        self.limit(consumer_byte_rate=float(size))
        for _ in range(10):
            self.assertEqual(self.fetched(max_bytes=1)[1], 0)
        self.assertEqual((self.fetched(max_bytes=1), self.muted()), ((None, 1000), 1000))

    def test_over_quota(self) -> None:
        """Over its quota a fetch gets the time and no partitions; it counts nothing, and later gets them."""
        self.limit(consumer_byte_rate=1000.0)
        records, throttle_time_ms = self.fetched()
        self.assertEqual((len(values(records)), throttle_time_ms), (9, 0))
        response = self.fetch(offset=9)
        self.assertEqual((response.error_code, response.session_id, response.responses), (0, 0, []))
        self.assertGreater(response.throttle_time_ms, 0)
        self.assertEqual(self.muted(), response.throttle_time_ms)
        self.assertEqual(self.fetch(offset=9).throttle_time_ms, response.throttle_time_ms)
        self.clock.advance(11)
        records, throttle_time_ms = self.fetched(offset=9)
        self.assertEqual((values(records)[0], throttle_time_ms), (b"0009" * 250, 0))

    def test_every_version(self) -> None:
        """All versions are held back alike; version 0 has no field for the time."""
        self.limit(consumer_byte_rate=1.0)
        self.fetched()
        self.muted()
        for version in APIS[1].versions:
            response = self.fetch(version)
            self.assertEqual(response.responses, [])
            self.assertEqual(response.throttle_time_ms, self.muted() if version else 0)
            self.muted()

    def test_no_more_than_a_window(self) -> None:
        """A reply is no larger than what the quota allows at once, so that it need not be held back."""
        self.limit(consumer_byte_rate=self.batch * 0.55)
        records, throttle_time_ms = self.fetched()
        self.assertEqual((len(records), throttle_time_ms), (5 * self.batch, 0))

    def test_large_batch(self) -> None:
        """A batch that is larger than that is sent after a silence, and its time is waited for."""
        self.limit(consumer_byte_rate=10.0)
        records, throttle_time_ms = self.fetched()
        self.assertEqual(len(records), self.batch)
        self.assertGreater(throttle_time_ms, 90_000)
        self.assertEqual(self.muted(), throttle_time_ms)
        self.assertIsNone(self.fetched(offset=1)[0])
        self.clock.advance(throttle_time_ms / 1000)
        self.assertEqual(len(self.fetched(offset=1)[0]), self.batch)

    def test_parked(self) -> None:
        """A fetch that waited for data is counted when they are there."""
        self.limit(consumer_byte_rate=1000.0)
        self.fetched()
        answer = self.answer(1, 12, self.request(offset=20, max_wait_ms=500))
        self.assertNoResult(answer)
        self.assertEqual(self.muted(), 0)
        self.fill(b"late" * 250)
        response = self.response(1, 12, self.successResultOf(answer))
        self.assertEqual(response.responses, [])
        self.assertEqual(self.muted(), response.throttle_time_ms)

    def test_converted(self) -> None:
        """A reply that is converted for an old client in a worker is counted after that."""
        self.limit(consumer_byte_rate=1.0)
        answer = self.answer(1, 2, self.request())
        self.assertIsInstance(answer, Deferred)
        response = self.response(1, 2, self.successResultOf(answer))
        self.assertEqual(len(values(response.responses[0].partitions[0].records)), 1)
        self.assertEqual(self.muted(), response.throttle_time_ms)
