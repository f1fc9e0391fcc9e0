"""Tests of kafkatx.clientcore.consumer.fetch_requests."""

from __future__ import annotations

import uuid
from typing import Any

from kafkatx.clientcore.consumer.completed_fetch import DecodeSettings
from kafkatx.clientcore.consumer.fetch_requests import (
    MAX_FETCH_BYTES,
    PARTIAL_RETRY_MS,
    FailedPartition,
    FetchRequests,
    InFlightFetch,
    group_by_node,
)
from kafkatx.clientcore.consumer.partition_state import NO_NODE, TopicPartitionState
from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.errors import CorruptRecords, ErrorCode, RequestError
from kafkatx.records.builder import build_values
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from tests.clientcore.consumer.partitions import T0, T1, T2, SubscriptionTestCase
from tests.clientcore.consumer.test_aborted_transactions import batch
from tests.clientcore.consumer.test_completed_fetch import at

TOPIC_ID = uuid.UUID(int=5)
SHARE = 1 << 18


def metadata(topic_id: uuid.UUID = TOPIC_ID, **leaders: int) -> ClusterMetadata:
    """Return brokers 1 to 3, and partitions of t (p0=1: partition 0 is led by broker 1)."""
    partitions = {
        int(name[1:]): PartitionMetadata(int(name[1:]), leader, 10 + leader)
        for name, leader in leaders.items()
    }
    return ClusterMetadata(
        {node: BrokerNode(node, f"broker{node}", 9092) for node in (1, 2, 3)},
        topics={"t": TopicMetadata("t", partitions, topic_id)},
    )


class FetchRequestsTestCase(SubscriptionTestCase):
    """Three partitions led by broker 1."""

    def setUp(self) -> None:
        """Make no requests yet."""
        super().setUp()
        for position in self.subscriptions:
            position.validated_epoch = 11
        self.buffer.share_bytes = SHARE
        self.metadata = metadata(p0=1, p1=1, p2=1)
        self.requests = self.make()

    def make(self, **settings: Any) -> FetchRequests:
        """Make one with these settings."""
        loaded = ClientSettings.load("consumer", {"bootstrap_servers": "broker1", **settings})
        return FetchRequests(loaded, self.buffer, DecodeSettings())

    def ask(self, under_way: bool = False) -> InFlightFetch:
        """Make a request for all fetchable partitions."""
        asked = self.requests.build(list(self.subscriptions), self.metadata)
        assert asked is not None
        if not under_way:
            self.requests.release(asked)
        return asked

    def asked_for(self, asked: InFlightFetch) -> list[tuple[int, int, int]]:
        """Return partition, offset and limit of each partition in a request."""
        (topic,) = asked.message.topics
        return [(p.partition, p.fetch_offset, p.partition_max_bytes) for p in topic.partitions]

    def reply(self, *parts: PartitionData, by_id: bool = False, error: int = 0) -> FetchResponse:
        """Return a response of one topic."""
        topic = FetchableTopicResponse(
            "" if by_id else "t", TOPIC_ID if by_id else uuid.UUID(int=0), list(parts)
        )
        return FetchResponse(error_code=error, responses=[topic])

    def part(self, partition: int, records: bytes = b"", error: int = 0, **more: Any) -> PartitionData:
        """Return one partition of a response."""
        fields = {"high_watermark": 50, "last_stable_offset": 40, "log_start_offset": 2, **more}
        return PartitionData(partition, error, records=memoryview(records), **fields)


class AskTests(FetchRequestsTestCase):
    def test_all_that_is_wanted(self) -> None:
        """Partitions are requested from their fetch offsets on, except those that are not fetchable."""
        self.subscriptions[T0].seek(7)
        self.subscriptions[T1].paused = True
        asked = self.ask()
        self.assertEqual(self.asked_for(asked), [(0, 7, SHARE), (2, 0, SHARE)])
        self.assertEqual(asked.message.topics[0].partitions[0].current_leader_epoch, 11)
        self.assertEqual((asked.reserved_bytes, asked.pause_ms), (2 * SHARE, 0))
        self.subscriptions[T0].suspended = self.subscriptions[T2].suspended = True
        self.assertIsNone(self.requests.build(list(self.subscriptions), self.metadata))

    def test_settings(self) -> None:
        """The request has the fetch limits of the settings."""
        self.requests = self.make(
            fetch_max_wait_ms=70, fetch_min_bytes=9, isolation_level="read_committed", client_rack="r"
        )
        message = self.ask().message
        self.assertEqual((message.max_wait_ms, message.min_bytes), (70, 9))
        self.assertEqual((message.isolation_level, message.rack_id), (1, "r"))

    def test_epochs(self) -> None:
        """The request has the leader epoch, and that of the last fetched batch (KIP-320)."""
        self.fill(T0, 1)
        first, second, _ = self.ask().message.topics[0].partitions
        self.assertEqual((first.current_leader_epoch, first.last_fetched_epoch), (11, 3))
        self.assertEqual((second.current_leader_epoch, second.last_fetched_epoch), (11, -1))

    def test_another_leader(self) -> None:
        """A position read from another leader is not fetched before its validation."""
        self.fill(T0, 1)
        under_way = self.ask()
        self.metadata = metadata(p0=2, p1=1, p2=1)
        self.assertEqual([partition for partition, _, _ in self.asked_for(self.ask())], [1, 2])
        self.assertTrue(self.requests.validation_needed)
        self.assertEqual(
            self.requests.handle_response(under_way, self.reply(self.part(0, at(1, b"x" * 99)))), ([], [])
        )
        self.subscriptions[T0].complete_validation(12, 3)
        self.assertEqual(len(self.asked_for(self.ask())), 3)

    def test_another_leader_before_anything_was_read(self) -> None:
        """A position before the first record needs no validation."""
        self.metadata = metadata(p0=2, p1=1, p2=1)
        self.assertEqual(len(self.asked_for(self.ask())), 3)
        self.assertFalse(self.requests.validation_needed)

    def test_diverging(self) -> None:
        """A diverging epoch in a response makes the position be validated (KIP-595)."""
        self.fill(T0, 1)
        asked = self.ask()
        part = self.part(0, diverging_epoch=EpochEndOffset(2, 0))
        self.assertEqual(self.requests.handle_response(asked, self.reply(part)), ([], []))
        self.assertTrue(self.requests.validation_needed)
        self.assertEqual([partition for partition, _, _ in self.asked_for(self.ask())], [1, 2])
        self.assertTrue(self.subscriptions[T0].awaiting_validation)

    def test_fetch_max_bytes(self) -> None:
        """A response is bounded by fetch.max.bytes, but not below what one partition may need."""
        self.requests = self.make(fetch_max_bytes=SHARE + 1)
        self.assertEqual(self.ask().message.max_bytes, SHARE + 1)
        self.requests = self.make(fetch_max_bytes=5)
        self.assertEqual(self.ask().message.max_bytes, SHARE)

    def test_names_or_ids(self) -> None:
        """Any version may be sent if all topic ids are known, and otherwise one with names."""
        asked = self.ask()
        self.assertEqual((asked.max_version, asked.message.topics[0].topic_id), (16, TOPIC_ID))
        self.metadata = metadata(uuid.UUID(int=0), p0=1)
        self.assertEqual(self.ask().max_version, 12)

    def test_full_partitions_are_left_out(self) -> None:
        """A partition with a share in the buffer is not requested, and does not make the others wait."""
        self.buffer.share_bytes = self.fill(T0, 1)
        asked = self.ask()
        self.assertEqual([partition for partition, _, _ in self.asked_for(asked)], [1, 2])
        self.assertEqual((asked.message.max_wait_ms, asked.pause_ms), (0, PARTIAL_RETRY_MS))

    def test_room(self) -> None:
        """Buffered and requested bytes are bounded; ended requests do not count."""
        self.buffer._limit = 4 * SHARE
        first = self.ask(under_way=True)
        self.assertEqual(first.message.max_bytes, 3 * SHARE)
        second = self.ask(under_way=True)
        self.assertEqual(second.message.max_bytes, SHARE)
        self.assertIsNone(self.requests.build(list(self.subscriptions), self.metadata))
        self.requests.release(first)
        self.requests.release(second)
        self.assertEqual(self.ask().message.max_bytes, 3 * SHARE)

    def test_paused_ones_make_room(self) -> None:
        """Buffered records of paused partitions are dropped before others go without, and fetched again."""
        self.buffer._limit = self.fill(T0, 3)
        self.buffer.share_bytes = 10
        self.assertIsNone(self.requests.build([self.subscriptions[T1]], self.metadata))
        self.subscriptions[T0].paused = True
        asked = self.requests.build([self.subscriptions[T1], self.subscriptions[T0]], self.metadata)
        self.assertIsNotNone(asked)
        self.assertEqual((self.buffer.buffered_bytes, self.subscriptions[T0].fetch_offset), (0, 0))

    def test_by_node(self) -> None:
        """Positions are grouped by live leaders, or NO_NODE without one."""
        self.metadata = metadata(p0=2, p1=9)
        self.subscriptions.add_partitions([TopicPartition("u", 0)], 0)
        found = group_by_node(self.subscriptions, self.metadata)
        places = {node: [position.topic_partition for position in found[node]] for node in found}
        self.assertEqual(places, {2: [T0], NO_NODE: [T1, T2, TopicPartition("u", 0)]})

    def test_by_replica(self) -> None:
        """A replica that the leader has named is used in its place, as long as it is alive."""
        self.subscriptions[T0].preferred_read_replica = 3
        self.subscriptions[T1].preferred_read_replica = 7
        found = group_by_node(self.subscriptions, self.metadata)
        self.assertEqual({node: len(found[node]) for node in found}, {3: 1, 1: 2})


class TakeTests(FetchRequestsTestCase):
    def take(
        self, *parts: PartitionData, by_id: bool = False
    ) -> tuple[list[TopicPartitionState], list[FailedPartition]]:
        """Return the result of a response to a request for all partitions."""
        return self.requests.handle_response(self.ask(), self.reply(*parts, by_id=by_id))

    def test_records(self) -> None:
        """Records and offsets of a response go to their positions, by topic name or id."""
        for by_id in (False, True):
            start = self.subscriptions[T0].fetch_offset
            got, refused = self.take(self.part(0, at(start, build_values([b"a"], 5))), by_id=by_id)
            self.assertEqual(([position.topic_partition for position in got], refused), ([T0], []))
            self.assertEqual(self.subscriptions[T0].fetch_offset, start + 1)
        position = self.subscriptions[T0]
        self.assertEqual((position.high_watermark, position.last_stable_offset), (50, 40))
        self.assertEqual(position.log_start_offset, 2)
        self.assertEqual(len(self.subscriptions.take(9)[T0]), 2)

    def test_nobody_asked(self) -> None:
        """Partitions that were not requested, or only before a seek, are ignored."""
        asked = self.ask()
        self.subscriptions[T0].seek(0)
        self.subscriptions.remove_partitions([T1])
        records = build_values([b"a"], 5)
        reply = self.reply(self.part(0, records), self.part(1, records), self.part(8, records))
        self.assertEqual(self.requests.handle_response(asked, reply), ([], []))
        self.assertEqual(self.subscriptions.take(9), {})
        self.assertEqual(asked.states(), [self.subscriptions[T2]])

    def test_slices_let_go_of_the_reply(self) -> None:
        """Records of several partitions are copied apart, since the last slice would keep all in memory."""
        records = memoryview(build_values([b"a"], 5))
        whole = FetchResponse(
            responses=[
                FetchableTopicResponse(
                    "t", partitions=[PartitionData(n, 0, 9, records=records) for n in range(2)]
                )
            ]
        )
        self.requests.handle_response(self.ask(), whole)
        found = {position._completed[0]._data.obj is records.obj for position in (*self.subscriptions,)[:2]}
        self.assertEqual(found, {False})
        alone = FetchResponse(
            responses=[FetchableTopicResponse("t", partitions=[PartitionData(2, 0, 9, records=records)])]
        )
        self.requests.handle_response(self.ask(), alone)
        self.assertIs(self.subscriptions[T2]._completed[0]._data.obj, records.obj)

    def test_errors(self) -> None:
        """A partition's error does not affect the others; an error of the whole response is raised."""
        got, refused = self.take(self.part(0, error=6), self.part(1, build_values([b"a"], 5)))
        self.assertEqual([position.topic_partition for position in got], [T1])
        self.assertEqual(refused, [FailedPartition(self.subscriptions[T0], ErrorCode.NOT_LEADER_OR_FOLLOWER)])
        self.assertRaises(RequestError, self.requests.handle_response, self.ask(), self.reply(error=35))

    def test_too_large(self) -> None:
        """A truncated batch is requested with growing limits until it is whole, or else is an error."""
        records = build_values([b"x" * 1000], 5)
        self.assertEqual(self.take(self.part(0, records[:-1])), ([], []))
        self.assertEqual(self.asked_for(self.ask())[0], (0, 0, SHARE))
        self.subscriptions[T0].needed_bytes = SHARE
        self.take(self.part(0, records[:-1]))
        asked = self.ask()
        self.assertEqual((self.asked_for(asked)[0], asked.message.max_bytes), ((0, 0, 4 * SHARE), 4 * SHARE))
        self.take(self.part(0, records))
        self.assertEqual(self.asked_for(self.ask())[0], (0, 1, SHARE))
        self.subscriptions[T1].needed_bytes = MAX_FETCH_BYTES
        self.take(self.part(1, records[:-1]))
        self.assertIn("2 GiB", str(self.subscriptions[T1].error))

    def test_garbage(self) -> None:
        """Bytes that are no batches are an error of their partition."""
        self.take(self.part(0, b"\xff" * 100))
        self.assertIsInstance(self.subscriptions[T0].error, CorruptRecords)

    def test_read_committed(self) -> None:
        """Aborted transactions are left out with isolation.level=read_committed only."""
        part = self.part(0, batch(0, 7, b"a"), aborted_transactions=[AbortedTransaction(7, 0)])
        self.take(part)
        self.assertEqual(len(self.subscriptions.take(9)[T0]), 1)
        self.subscriptions[T0].seek(0)
        self.requests = self.make(isolation_level="read_committed")
        self.take(part)
        self.assertEqual((self.subscriptions.take(9), self.subscriptions[T0].position), ({}, 1))

    def test_preferred_replica(self) -> None:
        """A leader may name another replica to read from (KIP-392)."""
        self.take(self.part(0, preferred_read_replica=3))
        self.assertEqual(
            (self.subscriptions[T0].preferred_read_replica, self.requests.replica_changed), (3, True)
        )
