"""Fetches of followers: what they get, what they acknowledge, and who may fetch as a follower."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode
from kafkatx.net.requests import Peer, no_hurry
from kafkatx.records.builder import build_values
from kafkatx.types import Topic
from kafkatx.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from tests.broker.cluster import ClusterTestCase
from tests.broker.running import NOW_MS, BrokerTestCase, values


class ReplicaFetchCase(ClusterTestCase):
    """Broker 1 leads a topic of which 2 and 3 have replicas; the test is broker 2."""

    topic: Topic

    def setUp(self) -> None:
        """Make the topic."""
        super().setUp()
        self.metadata.put(self.metadata.make_topic("t", [[1, 2, 3], [1, 2, 3]]))
        self.topic = self.metadata.state.topics["t"]

    @property
    def log(self) -> Any:
        """The leader's log of partition 0."""
        partition = self.broker.topics.find("t", 0)
        assert partition is not None
        return partition.log

    def add(self, *payloads: bytes, partition: int = 0) -> None:
        """Append to the leader, a batch for each value."""
        for payload in payloads:
            result = self.produce(build_values([payload], NOW_MS), acks=1, partition=partition)
            self.assertEqual(result.error_code, 0)

    def request(self, *parts: FetchPartition, replica: int = 2, **fields: Any) -> FetchRequest:
        """Return a fetch of a follower."""
        asked = [FetchTopic("", self.topic.topic_id, list(parts))]
        state = ReplicaState(replica, self.metadata.state.brokers[replica].epoch)
        return FetchRequest(
            **{"max_wait_ms": 0, "min_bytes": 1, "replica_state": state, "topics": asked, **fields}
        )

    def fetch(self, offset: int, last_epoch: int = -1, epoch: int = 0, **fields: Any) -> PartitionData:
        """Return the answer for partition 0."""
        part = FetchPartition(0, epoch, offset, last_epoch, 0, 1 << 20)
        response: FetchResponse = self.ask(1, 15, self.request(part, **fields))
        self.assertEqual(response.error_code, 0)
        (found,) = response.responses[0].partitions
        return found

    def refused(self, request: FetchRequest, version: int = 15) -> int:
        """Return the error with which a whole request is refused."""
        response = self.ask(1, version, request)
        self.assertEqual(response.responses, [])
        code: int = response.error_code
        return code


class ReadTests(ReplicaFetchCase):
    def test_to_the_log_end(self) -> None:
        """A follower gets records that are not committed, and the high watermark with them."""
        self.add(b"a", b"b")
        part = self.fetch(0)
        self.assertEqual((part.error_code, values(part.records)), (0, [b"a", b"b"]))
        self.assertEqual((part.high_watermark, part.log_start_offset), (0, 0))

    def test_counted_apart(self) -> None:
        """Bytes that followers get are no consumers', and the requests are not counted as theirs."""
        self.add(b"a", b"b")
        part = self.fetch(0)
        partition = self.broker.topics.find("t", 0)
        assert partition is not None and part.records is not None
        counts = partition.counts
        self.assertEqual((counts.replica_bytes_out, counts.bytes_out), (len(part.records), 0))
        self.assertEqual(counts.fetches, 0)

    def test_acknowledges(self) -> None:
        """A fetch offset acknowledges all below it: the high watermark is the least of the in-sync ones."""
        self.add(b"a", b"b")
        self.fetch(2)
        self.assertEqual(self.fetch(2, replica=3).high_watermark, 2)

    def test_refused_fetch_acknowledges_nothing(self) -> None:
        """A fetch with another leader epoch, or one that must truncate, counts for nothing."""
        self.add(b"a", b"b")
        self.fetch(2, replica=3)
        self.assertEqual(self.fetch(2, epoch=1).error_code, ErrorCode.UNKNOWN_LEADER_EPOCH)
        self.assertIsNotNone(self.fetch(3, last_epoch=0).diverging_epoch)
        self.assertEqual(self.fetch(3).error_code, ErrorCode.OFFSET_OUT_OF_RANGE)
        self.assertEqual(self.fetch(0).high_watermark, 0)
        self.assertEqual(self.fetch(2).high_watermark, 2)

    def test_quota(self) -> None:
        """Quotas of consumers do not hold for followers."""
        self.metadata.change(client_quotas={(("client-id", None),): {"consumer_byte_rate": 1.0}})
        self.add(b"v" * 10_000)
        self.assertEqual(values(self.fetch(0).records), [b"v" * 10_000])
        self.assertEqual(self.peer.throttle_time_ms, 0)


class WaitTests(ReplicaFetchCase):
    def park(self, *parts: FetchPartition) -> Deferred[Any]:
        """Fetch; the answer waits."""
        waiting = self.answer(1, 15, self.request(*parts, max_wait_ms=500))
        assert isinstance(waiting, Deferred)
        self.assertNoResult(waiting)
        return waiting

    def came(self, waiting: Deferred[Any]) -> list[PartitionData]:
        """Return the parts of a reply that has arrived."""
        found: FetchResponse = self.response(1, 15, self.successResultOf(waiting))
        return found.responses[0].partitions

    def test_data_ends_it(self) -> None:
        """A fetch at the log's end is answered when a record is there, before it is committed."""
        waiting = self.park(*(FetchPartition(n, 0, 0, partition_max_bytes=100) for n in (0, 1)))
        self.add(b"v", partition=1)
        self.assertEqual([values(part.records) for part in self.came(waiting)], [[], [b"v"]])

    def test_time_ends_it(self) -> None:
        """It is answered without records after max_wait_ms."""
        waiting = self.park(FetchPartition(0, 0, 0))
        self.clock.advance(0.499)
        self.assertNoResult(waiting)
        self.clock.advance(0.001)
        self.assertEqual([values(part.records) for part in self.came(waiting)], [[]])

    def test_another_request_ends_it(self) -> None:
        """It is answered at once when the follower sends more; that changes nothing for later requests."""
        waiting = self.park(FetchPartition(0, 0, 0))
        self.peer.hurry()
        self.assertEqual([values(part.records) for part in self.came(waiting)], [[]])
        self.assertIs(self.peer.hurry, no_hurry)

    def test_log_start_ends_it(self) -> None:
        """A fetch at the log's end is answered when records are deleted: DeleteRecords waits for it."""
        self.add(b"a", b"b")
        self.fetch(2, replica=3)
        waiting = self.park(FetchPartition(0, 0, 2))
        self.log.advance_log_start(1)
        found = self.broker.topics.find("t", 0)
        assert found is not None
        found.wake()
        (part,) = self.came(waiting)
        self.assertEqual((part.error_code, part.log_start_offset, values(part.records)), (0, 1, []))

    def test_another_leader_ends_it(self) -> None:
        """It is answered with the error when another broker leads."""
        waiting = self.park(FetchPartition(0, 0, 0))
        self.metadata.replicate("t", leader=3)
        self.assertEqual([one.error_code for one in self.came(waiting)], [ErrorCode.NOT_LEADER_OR_FOLLOWER])

    def test_error_at_once(self) -> None:
        """An error in one partition answers the fetch at once."""
        request = self.request(FetchPartition(0, 0, 0), FetchPartition(1, 0, 9), max_wait_ms=500)
        response = self.ask(1, 15, request)
        codes = [one.error_code for one in response.responses[0].partitions]
        self.assertEqual(codes, [0, ErrorCode.OFFSET_OUT_OF_RANGE])


class DivergenceTests(ReplicaFetchCase):
    def setUp(self) -> None:
        """Two records in epoch 0, and two in epoch 2, in which this broker leads again."""
        super().setUp()
        self.add(b"a", b"b")
        self.metadata.replicate("t", leader=3)
        self.metadata.replicate("t", leader=1)
        self.add(b"c", b"d")

    def diverging(self, offset: int, last_epoch: int) -> tuple[int, int] | None:
        """Return the diverging epoch of an answer; it has no records then."""
        part = self.fetch(offset, last_epoch, epoch=2)
        self.assertEqual(part.error_code, 0)
        found = part.diverging_epoch
        if found is None:
            return None
        self.assertEqual(values(part.records), [])
        return found.epoch, found.end_offset

    def test_agree(self) -> None:
        """A follower that has nothing else goes on, within an epoch and at its end."""
        for offset, epoch in ((0, -1), (1, 0), (2, 0), (2, 2), (3, 2), (4, 2)):
            self.assertIsNone(self.diverging(offset, epoch), (offset, epoch))

    def test_longer_epoch(self) -> None:
        """A follower that has more of an epoch is told its end."""
        self.assertEqual(self.diverging(3, 0), (0, 2))
        self.assertEqual(self.diverging(5, 2), (2, 4))

    def test_unknown_epoch(self) -> None:
        """A follower with an epoch that the leader does not know is told the one before."""
        self.assertEqual(self.diverging(2, 1), (0, 2))
        self.assertEqual(self.diverging(4, 1), (0, 2))

    def test_epoch_without_records(self) -> None:
        """A leader that has written nothing yet knows its epoch (KAFKA-7415)."""
        self.metadata.replicate("t", leader=3)
        self.metadata.replicate("t", leader=1)
        part = self.fetch(5, 3, epoch=4)
        self.assertEqual(
            part.diverging_epoch and (part.diverging_epoch.epoch, part.diverging_epoch.end_offset), (2, 4)
        )

    def test_emptied_mirror(self) -> None:
        """A mirror that was emptied knows no epoch: who is at its start has nothing that could differ."""
        partition = self.broker.topics.find("t", 0)
        assert partition is not None
        self.log.restart_at(7)
        self.assertEqual(self.log.latest_epoch, -1)
        part = self.fetch(7, 2, epoch=2)
        self.assertEqual((part.error_code, part.log_start_offset), (0, 7))
        self.assertEqual(self.fetch(6, 2, epoch=2).error_code, ErrorCode.OFFSET_OUT_OF_RANGE)
        self.assertEqual(self.fetch(8, 2, epoch=2).error_code, ErrorCode.OFFSET_OUT_OF_RANGE)

    def test_out_of_range(self) -> None:
        """Below the log's start, or above its end without an epoch, the answer says where the log is."""
        self.log.advance_log_start(2)
        for offset, epoch in ((1, 0), (1, -1), (9, -1)):
            part = self.fetch(offset, epoch, epoch=2)
            self.assertEqual(part.error_code, ErrorCode.OFFSET_OUT_OF_RANGE)
            assert part.diverging_epoch is not None
            self.assertEqual((part.log_start_offset, part.diverging_epoch.end_offset), (2, 4))

    def test_lease_ended(self) -> None:
        """Without a lease no follower is told to cut its log: the new leader may have those records."""
        self.log.advance_log_start(2)
        self.metadata.remaining_s = 0.0
        for offset, epoch in ((1, -1), (9, -1), (3, 0), (5, 2)):
            part = self.fetch(offset, epoch, epoch=2)
            self.assertEqual(part.error_code, ErrorCode.NOT_LEADER_OR_FOLLOWER, (offset, epoch))
            self.assertIsNone(part.diverging_epoch)
        self.assertEqual(self.fetch(3, 2, epoch=2).error_code, 0)


class RefusalTests(ReplicaFetchCase):
    def test_broker_epoch(self) -> None:
        """A fetch of another life of a broker, or of none, refuses the whole request (KIP-903)."""
        for state in (ReplicaState(2, 999), ReplicaState(9, 1), ReplicaState(1, 1)):
            request = self.request(FetchPartition(0, 0, 0))
            request.replica_state = state
            self.assertEqual(self.refused(request), ErrorCode.STALE_BROKER_EPOCH)
        request = self.request(FetchPartition(0, 0, 0))
        self.metadata.join(2)
        self.assertEqual(self.refused(request), ErrorCode.STALE_BROKER_EPOCH)

    def test_old_version(self) -> None:
        """A follower's fetch of a version without broker epochs is refused."""
        request = self.request(FetchPartition(0, 0, 0), replica_state=None, replica_id=2)
        self.assertEqual(self.refused(request, 14), ErrorCode.UNSUPPORTED_VERSION)

    def test_other_listener(self) -> None:
        """A follower's fetch at a listener for clients is refused; at the other one it is served."""
        self.broker.inter_broker_port = 9092
        self.assertEqual(self.fetch(0).error_code, 0)
        self.peer = Peer("127.0.0.1", 40_000, "127.0.0.1", 9093)
        request = self.request(FetchPartition(0, 0, 0))
        self.assertEqual(self.refused(request), ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

    def test_no_replica(self) -> None:
        """A broker that has no replica of the partition is refused."""
        self.metadata.replicate("t", replicas=(1, 3), isr=(1, 3))
        self.assertEqual(self.fetch(0).error_code, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def test_topic_id(self) -> None:
        """A topic of another id is unknown."""
        self.metadata.remove("t")
        self.assertEqual(self.fetch(0).error_code, ErrorCode.UNKNOWN_TOPIC_ID)


class ThrottleTests(ReplicaFetchCase):
    def test_held_back(self) -> None:
        """A follower that is not in sync gets no records above the limit; one that is in sync gets all."""
        config = {"leader.replication.throttled.rate": "10"}
        self.broker.throttles.use(self.broker.config.with_dynamic({}, config))
        topic = self.metadata.make_topic("t", [[1, 2, 3]], {"leader.replication.throttled.replicas": "0:1"})
        out = attrs.evolve(topic.partitions[0], isr=(1, 3))
        self.metadata.put(attrs.evolve(topic, partitions=(out,)))
        self.topic = self.metadata.state.topics["t"]
        self.add(b"a" * 100, b"b")
        self.assertTrue(self.fetch(0).records)
        self.assertFalse(self.fetch(0).records)
        self.assertTrue(self.fetch(0, replica=3).records)
        part = FetchPartition(0, 0, 0, -1, 0, 1 << 20)
        waiting = self.answer(1, 15, self.request(part, max_wait_ms=500))
        self.assertNoResult(waiting)
        self.clock.advance(1000)
        response = self.response(1, 15, self.successResultOf(waiting))
        self.assertTrue(response.responses[0].partitions[0].records)


class AloneTests(BrokerTestCase):
    def test_alone(self) -> None:
        """A broker that is alone has no followers: it refuses their fetches, in any version."""
        self.make_topic("t")
        asked = [FetchTopic("t", partitions=[FetchPartition(0, -1, 0)])]
        response = self.ask(1, 12, FetchRequest(replica_id=0, max_wait_ms=0, topics=asked))
        self.assertEqual(response.error_code, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
