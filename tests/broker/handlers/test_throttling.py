"""Client quotas (KIP-13, KIP-124, KIP-219, KIP-599): what is counted, and who is throttled."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.broker.handlers import produce
from kafkatx.errors import ErrorCode, ProtocolViolation
from kafkatx.net.requests import ExclusiveReply, Session
from kafkatx.records.builder import build_values
from kafkatx.wire import codec
from kafkatx.wire.api import APIS
from kafkatx.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.broker.running import NOW_MS, BrokerTestCase, codes, produce_request, values


def fetch_request(offset: int = 0, replica_id: int = -1) -> FetchRequest:
    """Return a request that waits for a record."""
    partitions = [FetchPartition(0, -1, offset, partition_max_bytes=1 << 20)]
    return FetchRequest(
        replica_id=replica_id, max_wait_ms=500, min_bytes=1, topics=[FetchTopic("t", partitions=partitions)]
    )


CLIENT = (("client-id", "tests"),)
RECORDS = build_values([b"x" * 100], NOW_MS)


class ThrottlingTestCase(BrokerTestCase):
    def setUp(self) -> None:
        """Make a topic with one partition."""
        super().setUp()
        self.make_topic()

    def limit(self, **quotas: float | None) -> None:
        """Set quotas for the client of the tests."""
        self.successResultOf(self.broker.metadata.alter_client_quotas({CLIENT: quotas}))

    def muted(self) -> int:
        """Return how long the connection is to be muted, in ms, and clear it."""
        found, self.peer.throttle_time_ms = self.peer.throttle_time_ms, 0
        return found


class ProduceTests(ThrottlingTestCase):
    def produced(self, version: int = 9, acks: int = -1, topic: str = "t") -> Any:
        """Return the response to a produce request."""
        return self.ask(0, version, produce_request(RECORDS, acks, topic))

    def size(self, version: int = 9) -> int:
        """Return the size of such a request in bytes, without its size field."""
        return len(self.frame(0, version, produce_request(RECORDS)))

    def test_within_quota(self) -> None:
        """Requests up to ten seconds' bytes pass; the next one is served, and throttles its client."""
        self.limit(producer_byte_rate=float(self.size()))
        for _ in range(10):
            self.assertEqual((self.produced().throttle_time_ms, self.muted()), (0, 0))
        self.assertEqual((self.produced().throttle_time_ms, self.muted()), (1000, 1000))
        self.assertEqual(len(self.stored()), 11)

    def test_every_version(self) -> None:
        """A client of version 0, which has no throttle time, is muted like the others."""
        self.limit(producer_byte_rate=1.0)
        for version in range(3, APIS[0].versions.stop):
            self.assertEqual(self.produced(version).throttle_time_ms, self.peer.throttle_time_ms)
            self.assertGreater(self.muted(), 1000)
        self.ask(0, 0, produce_request(None))
        self.assertGreater(self.muted(), 1000)

    def test_without_a_reply(self) -> None:
        """A request with acks=0 mutes the connection; an error still closes it."""
        self.limit(producer_byte_rate=1.0)
        self.assertIsNone(self.produced(acks=0))
        self.assertGreater(self.muted(), 1000)
        self.assertEqual(len(self.stored()), 1)
        self.assertRaises(ProtocolViolation, self.produced, acks=0, topic="none")

    def test_errors_count(self) -> None:
        """A refused request counts as well, since it has used the network."""
        self.limit(producer_byte_rate=1.0)
        self.assertGreater(self.produced(acks=7).throttle_time_ms, 1000)
        response = self.produced(topic="none")
        self.assertGreater(response.throttle_time_ms, 1000)
        error = response.responses[0].partition_responses[0].error_code
        self.assertEqual(error, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def test_others(self) -> None:
        """A client without a quota, and one with a fetch quota only, produce freely."""
        self.successResultOf(
            self.broker.metadata.alter_client_quotas(
                {(("client-id", "other"),): {"producer_byte_rate": 1.0}, CLIENT: {"consumer_byte_rate": 1.0}}
            )
        )
        self.assertEqual((self.produced().throttle_time_ms, self.muted()), (0, 0))

    def test_users(self) -> None:
        """The quota of a user applies to connections with its principal, and to no others."""
        entity = (("user", "CN=ann,O=x"),)
        self.successResultOf(self.broker.metadata.alter_client_quotas({entity: {"producer_byte_rate": 1.0}}))
        self.assertEqual(self.produced().throttle_time_ms, 0)
        self.peer.session = Session("User:CN=ann,O=x")
        self.assertGreater(self.produced().throttle_time_ms, 1000)

    def test_commits(self) -> None:
        """Offset commits do not count as produced bytes."""
        self.limit(producer_byte_rate=1.0)
        partitions = [OffsetCommitRequestPartition(0, 1, 0, committed_metadata="")]
        commit = OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("t", partitions)])
        for _ in range(2):
            (topic,) = self.ask(8, 8, commit).topics
            self.assertEqual((codes(topic.partitions), self.muted()), ([0], 0))

    def test_quota_goes(self) -> None:
        """Requests are not throttled any more when the quota is removed."""
        self.limit(producer_byte_rate=1.0)
        self.assertGreater(self.produced().throttle_time_ms, 0)
        self.limit(producer_byte_rate=None)
        self.muted()
        self.assertEqual((self.produced().throttle_time_ms, self.muted()), (0, 0))


class FetchTests(ThrottlingTestCase):
    def setUp(self) -> None:
        """Write twenty batches of one record each."""
        super().setUp()
        for number in range(20):
            self.fill(b"%04d" % number * 250)
        self.batch = len(self.fetched(max_bytes=1)[0])
        self.muted()

    def request(self, offset: int = 0, max_bytes: int = 1 << 20, **more: Any) -> FetchRequest:
        """Return a request for the topic's partition."""
        topic_id = self.broker.metadata.state.topics["t"].topic_id
        asked = FetchPartition(0, -1, offset, partition_max_bytes=max_bytes)
        return FetchRequest(min_bytes=1, topics=[FetchTopic("t", topic_id, [asked])], **more)

    def fetch(self, version: int = 12, **request: Any) -> FetchResponse:
        """Return the response to :meth:`request`."""
        response: FetchResponse = self.ask(1, version, self.request(**request))
        return response

    def fetched(self, **request: Any) -> tuple[Any, int]:
        """Return the records, or None if the response has no partitions, and the throttle time."""
        response = self.fetch(**request)
        found = [p.records for t in response.responses for p in t.partitions]
        return (found[0] if found else None), response.throttle_time_ms

    def test_within_quota(self) -> None:
        """A fetch within the quota is answered as usual."""
        self.limit(consumer_byte_rate=1e6)
        records, throttle_time_ms = self.fetched()
        self.assertEqual((len(values(records)), throttle_time_ms, self.muted()), (20, 0, 0))

    def test_reply_is_counted_whole(self) -> None:
        """All bytes of the reply count, not only the records, as in Kafka."""
        response = self.fetch(max_bytes=1)
        size = 4 + len(codec.encode(response, 12))
        self.limit(consumer_byte_rate=float(size))
        for _ in range(10):
            self.assertEqual(self.fetched(max_bytes=1)[1], 0)
        self.assertEqual((self.fetched(max_bytes=1), self.muted()), ((None, 1000), 1000))

    def test_over_quota(self) -> None:
        """A fetch over quota gets a throttle time and no partitions, is not counted, and succeeds later."""
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
        """All versions are throttled alike; version 0 has no field for the throttle time."""
        self.limit(consumer_byte_rate=1.0)
        self.fetched()
        self.muted()
        for version in APIS[1].versions:
            response = self.fetch(version)
            self.assertEqual(response.responses, [])
            self.assertEqual(response.throttle_time_ms, self.muted() if version else 0)
            self.muted()

    def test_no_more_than_a_window(self) -> None:
        """A reply is no larger than the quota allows at once, so that it need not be held back."""
        self.limit(consumer_byte_rate=self.batch * 0.55)
        records, throttle_time_ms = self.fetched()
        self.assertEqual((len(records), throttle_time_ms), (5 * self.batch, 0))

    def test_large_batch(self) -> None:
        """A batch larger than that is sent to an idle client, and throttles it for its whole time."""
        self.limit(consumer_byte_rate=10.0)
        records, throttle_time_ms = self.fetched()
        self.assertEqual(len(records), self.batch)
        self.assertGreater(throttle_time_ms, 90_000)
        self.assertEqual(self.muted(), throttle_time_ms)
        self.assertIsNone(self.fetched(offset=1)[0])
        self.clock.advance(throttle_time_ms / 1000)
        self.assertEqual(len(self.fetched(offset=1)[0]), self.batch)

    def test_users(self) -> None:
        """The quota of a user bounds and throttles the fetches of its principal alone."""
        entity = (("user", "ann"),)
        self.successResultOf(
            self.broker.metadata.alter_client_quotas({entity: {"consumer_byte_rate": 1000.0}})
        )
        self.assertEqual((len(values(self.fetched()[0])), self.muted()), (20, 0))
        self.peer.session = Session("User:ann")
        self.assertEqual((len(values(self.fetched()[0])), self.muted()), (9, 0))
        self.assertIsNone(self.fetched(offset=9)[0])
        self.assertGreater(self.muted(), 0)

    def test_parked(self) -> None:
        """A parked fetch is counted when its data is there."""
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
        """A reply that a worker converts for an old client is counted after the conversion."""
        self.limit(consumer_byte_rate=1.0)
        answer = self.answer(1, 2, self.request())
        self.assertIsInstance(answer, Deferred)
        response = self.response(1, 2, self.successResultOf(answer))
        self.assertEqual(len(values(response.responses[0].partitions[0].records)), 1)
        self.assertEqual(self.muted(), response.throttle_time_ms)


class RequestTimeTests(ThrottlingTestCase):
    """A quota so low that each request exceeds it: its client is throttled for a second."""

    def setUp(self) -> None:
        """Set the quota."""
        super().setUp()
        self.limit(request_percentage=1e-9)

    def test_at_once(self) -> None:
        """A response that is ready at once has the throttle time, in versions that have the field."""
        self.assertEqual((self.ask(3, 9, MetadataRequest([])).throttle_time_ms, self.muted()), (1000, 1000))
        self.assertEqual((self.ask(3, 1, MetadataRequest([])).throttle_time_ms, self.muted()), (0, 1000))

    def test_later(self) -> None:
        """A response that is ready later has it, too; the client is not muted before."""
        self.fill(b"v")
        self.muted()
        answer = self.answer(1, 12, fetch_request(offset=1))
        self.assertNoResult(answer)
        self.assertEqual(self.muted(), 0)
        self.clock.advance(1)
        response = self.response(1, 12, self.successResultOf(answer))
        self.assertEqual((response.throttle_time_ms, self.muted()), (1000, 1000))

    def test_late_work_counts(self) -> None:
        """The work of a fetch that has waited counts: the next request is throttled for it."""
        self.limit(request_percentage=None)
        answer = self.answer(1, 12, fetch_request(offset=0))
        self.limit(request_percentage=1e-9)
        times = self.broker.quotas.request_times
        assert times is not None
        self.assertEqual(len(times.accounts._accounts), 0)
        self.fill(b"v")
        self.successResultOf(answer)
        self.assertEqual(len(times.accounts._accounts), 1)

    def test_produce(self) -> None:
        """A produce request has the longer one of its two throttle times."""
        request = produce_request(RECORDS)
        self.assertEqual((self.ask(0, 9, request).throttle_time_ms, self.muted()), (1000, 1000))
        self.limit(producer_byte_rate=1e9)
        self.assertEqual((self.ask(0, 9, request).throttle_time_ms, self.muted()), (1000, 1000))
        self.limit(producer_byte_rate=1.0)
        response = self.ask(0, 9, request)
        self.assertGreater(response.throttle_time_ms, 1000)
        self.assertEqual(self.muted(), response.throttle_time_ms)

    def test_many_partitions(self) -> None:
        """A produce request that is served in parts is throttled, too."""
        self.patch(produce, "MANY_PARTITIONS", 1)
        topics = [TopicProduceData(name, [PartitionProduceData(0, RECORDS)]) for name in ("t", "u")]
        request = ProduceRequest(None, 1, 1000, topics)
        answer = self.dispatch.answer(self.frame(0, 9, request), self.peer)
        assert isinstance(answer, ExclusiveReply)
        self.assertEqual(self.muted(), 0)
        for _ in range(100):
            self.clock.advance(0)
        response = self.response(0, 9, self.successResultOf(answer.reply))
        self.assertEqual((response.throttle_time_ms, self.muted()), (1000, 1000))

    def test_refused(self) -> None:
        """A request that is refused is counted like the others."""
        self.ask(32, 4, DescribeConfigsRequest([DescribeConfigsResource(99, "x", None)]))
        self.assertEqual(self.muted(), 1000)

    def test_replies_count(self) -> None:
        """The encoding of a reply counts: a client pays for its large replies."""
        times = self.broker.quotas.request_times
        assert times is not None
        since: list[float] = []
        charge = times.charge

        def noted(principal: str, client_id: str | None, since_s: float) -> int:
            since.append(since_s)
            return charge(principal, client_id, since_s)

        self.patch(times, "charge", noted)
        self.ask(3, 9, MetadataRequest([]))
        self.assertEqual(len(since), 2)

    def test_brokers(self) -> None:
        """A follower is not throttled: the partition would fall behind."""
        self.ask(1, 12, fetch_request(replica_id=7))
        self.assertEqual(self.muted(), 0)


class MutationTests(ThrottlingTestCase):
    """A quota of one partition in a second, which allows eleven at once."""

    def setUp(self) -> None:
        """Set the quota."""
        super().setUp()
        self.limit(controller_mutation_rate=1.0)

    def create(self, *counts: int, version: int = 7, validate_only: bool = False) -> Any:
        """Return codes and the throttle time of a request for topics with so many partitions."""
        topics = [CreatableTopic(f"n{version}-{at}", count, 1) for at, count in enumerate(counts)]
        response = self.ask(19, version, CreateTopicsRequest(topics, validate_only=validate_only))
        return codes(response.topics), response.throttle_time_ms

    def test_create(self) -> None:
        """A topic may exceed the quota, the next one in the request is refused; later it is created."""
        self.assertEqual(self.create(2, 12, 1), ([0, 0, ErrorCode.THROTTLING_QUOTA_EXCEEDED], 3000))
        self.assertEqual(self.muted(), 3000)
        self.assertNotIn("n7-2", self.broker.metadata.state.topics)
        self.clock.advance(3)
        self.assertEqual(self.create(1, version=6), ([0], 0))

    def test_old_clients(self) -> None:
        """Topics of older versions are created, and their client is throttled."""
        self.assertEqual(self.create(2, 12, 1, version=5), ([0, 0, 0], 4000))
        self.assertEqual(self.muted(), 4000)

    def test_not_counted(self) -> None:
        """Requests that only ask, and those that are refused for other reasons, do not count."""
        self.create(50, validate_only=True)
        self.assertEqual(self.create(0, -5), ([ErrorCode.INVALID_PARTITIONS] * 2, 0))
        self.assertEqual(self.create(11), ([0], 0))

    def test_delete(self) -> None:
        """The partitions of deleted topics count, from version 5 on strictly."""
        self.create(11)
        for version, code in ((5, ErrorCode.THROTTLING_QUOTA_EXCEEDED), (4, ErrorCode.NONE)):
            self.limit(controller_mutation_rate=1.0)
            self.fill_bucket()
            response = self.ask(20, version, DeleteTopicsRequest(topic_names=["t"]))
            self.assertEqual(codes(response.responses), [code])
            self.assertGreater(response.throttle_time_ms, 0)

    def test_grow(self) -> None:
        """Added partitions count, from version 3 on strictly."""
        self.create(11)
        self.fill_bucket()
        for version, code in ((3, ErrorCode.THROTTLING_QUOTA_EXCEEDED), (2, ErrorCode.NONE)):
            asked = CreatePartitionsRequest([CreatePartitionsTopic("t", 3, None)], 1000)
            response = self.ask(37, version, asked)
            self.assertEqual(codes(response.results), [code])
            self.assertGreater(response.throttle_time_ms, 0)
        self.assertEqual(len(self.broker.metadata.state.topics["t"].partitions), 3)

    def test_auto_creation(self) -> None:
        """Topics that a metadata request creates count, and are created."""
        self.create(11)
        response = self.ask(3, 9, MetadataRequest([MetadataRequestTopic(name="new")]))
        self.assertEqual((codes(response.topics), response.throttle_time_ms), ([0], 1000))
        self.assertEqual(self.ask(3, 9, MetadataRequest([])).throttle_time_ms, 0)

    def fill_bucket(self) -> None:
        """Use more than the quota allows."""
        mutations = self.broker.quotas.mutations
        assert mutations is not None
        mutations.charge("User:ANONYMOUS", "tests", 20)
