"""Tests of kafkatx.client.consumer.epoch_validator: positions after a change of leader (KIP-320)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkatx.clientcore.errors import LogTruncation
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.builder import build_values
from kafkatx.types import TopicPartition
from kafkatx.wire.messages import offset_for_leader_epoch as m
from kafkatx.wire.messages.fetch import EpochEndOffset, PartitionData
from kafkatx.wire.messages.metadata import MetadataRequest
from kafkatx.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from tests.client.consumer.test_fetcher import T0, FetcherTestCase
from tests.clientcore.consumer.test_completed_fetch import at


class EpochValidatorTests(FetcherTestCase):
    """Partition 0 was read up to offset 2, in epoch 4, from the leader of epoch 5, which then changes."""

    def setUp(self) -> None:
        """Deliver two records."""
        super().setUp()
        self.network.result(self.consumer.close(), 40)
        self.epoch = 5
        self.ends: list[tuple[int, int, int]] = []
        self.network.answers[MetadataRequest] = self.describe
        self.network.answers[OffsetForLeaderEpochRequest] = self.tell
        self.consumer = self.make()
        self.give(b"a", b"b")
        self.assertEqual(self.values(), [b"a", b"b"])

    def describe(self, node: int, request: Any, version: int) -> Any:
        """Return metadata with epochs."""
        response = self.brokers.answer(node, request, version)
        for topic in response.topics:
            for partition in topic.partitions:
                partition.leader_epoch = self.epoch
        return response

    def tell(self, node: int, request: Any, version: int) -> Any:
        """Set the next answer for each partition: error, epoch, end; by default the log has all."""
        topics = []
        for topic in request.topics:
            ends = []
            for p in topic.partitions:
                error, epoch, end = self.ends.pop(0) if self.ends else (0, p.leader_epoch, 1 << 40)
                ends.append(m.EpochEndOffset(error, p.partition, epoch, end))
            topics.append(m.OffsetForLeaderTopicResult(topic.topic, ends))
        return m.OffsetForLeaderEpochResponse(topics=topics)

    def give(self, *values: bytes, offset: int = 0, epoch: int = 4, node: int = 1) -> None:
        """Answer the fetch in flight with a batch of partition 0."""
        data = at(offset, build_values(values, 5), epoch)
        self.answer(node, PartitionData(0, 0, 10, 10, 0, records=memoryview(data)))

    def elect(self, *ends: tuple[int, int, int]) -> None:
        """Make broker 2 the leader in epoch 6, with these answers for end offsets."""
        self.ends = list(ends)
        self.logs[0].leader, self.epoch = 2, 6
        self.consumer.cluster.stale()
        self.network.run(1)
        self.answer(2)

    def doubts(self) -> list[tuple[int, int, int]]:
        """Return partition, leader epoch and last record's epoch of all questions."""
        return [
            (p.partition, p.current_leader_epoch, p.leader_epoch)
            for request in self.network.sent(OffsetForLeaderEpochRequest)
            for topic in request.topics
            for p in topic.partitions
        ]

    def test_all_is_there(self) -> None:
        """The new leader is asked once, and the consumer continues at its position."""
        self.elect((0, 4, 2))
        self.assertEqual(self.doubts(), [(0, 6, 4)])
        self.assertIn((0, 2), self.asked(2))
        self.give(b"c", offset=2, epoch=6, node=2)
        self.assertEqual(self.values(), [b"c"])
        self.assertEqual(len(self.doubts()), 1)

    def test_truncated(self) -> None:
        """The position goes back to where the logs diverge, provided settings allow a reset."""
        self.elect((0, 4, 1))
        self.assertIn((0, 1), self.asked(2))
        self.give(b"B", b"C", offset=1, epoch=6, node=2)
        self.assertEqual(self.values(), [b"B", b"C"])

    def test_no_reset(self) -> None:
        """Without a reset, a truncation is an error with the diverging offset; a seek goes on."""
        self.consumer = self.make(auto_offset_reset="none", prepare=self.commit_nothing)
        self.give(b"a", b"b")
        self.assertEqual(self.values(), [b"a", b"b"])
        self.elect((0, 4, 1))
        for _ in range(2):
            error = self.assertRaises(LogTruncation, self.values)
            self.assertEqual((error.offset, error.latest), (2, 1))
            self.assertIn("the logs diverge at 1", str(error))
        self.consumer.seek(T0, 1)
        self.network.run(0.1)
        self.answer(2)
        self.assertIn((0, 1), self.asked(2))

    def commit_nothing(self, consumer: Any) -> None:
        """Answer that the group has committed 0 everywhere."""

        async def committed(places: Any) -> Mapping[TopicPartition, OffsetAndMetadata]:
            return {place: OffsetAndMetadata(0) for place in places}

        consumer._parts.offset_resolver._committed = committed

    def test_unknown_epoch(self) -> None:
        """A leader that knows no epoch up to the last record's makes the position be reset."""
        self.elect((0, -1, -1))
        self.assertIn((0, 0), self.asked(2))

    def test_read_ahead(self) -> None:
        """Buffered records that are not in the new log are dropped before they are delivered."""
        self.give(b"c", b"d", offset=2, epoch=5)
        self.elect((0, 4, 2), (0, 4, 2))
        self.assertEqual(self.doubts(), [(0, 6, 5), (0, 6, 4)])
        self.assertEqual(self.values(), [])
        self.assertIn((0, 2), self.asked(2))
        self.give(b"C", offset=2, epoch=6, node=2)
        self.assertEqual(self.values(), [b"C"])

    def test_nothing_before_it_is_known(self) -> None:
        """Nothing is delivered until the new leader answers; retriable errors are retried."""
        self.give(b"c", offset=2)
        wrong = (int(ErrorCode.UNKNOWN_LEADER_EPOCH), -1, -1)
        self.elect(*[wrong] * 99)
        self.assertEqual(self.values(), [])
        self.assertGreater(len(self.doubts()), 1)
        self.ends.clear()
        self.network.run(2)
        self.assertEqual(self.values(), [b"c"])

    def test_refused(self) -> None:
        """A final error is raised to the application; then the leader is asked again."""
        self.elect((int(ErrorCode.TOPIC_AUTHORIZATION_FAILED), -1, -1))
        error = self.assertRaises(RequestError, self.values)
        self.assertIs(error.code, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        self.network.run(1)
        self.assertEqual(len(self.doubts()), 2)

    def test_old_broker(self) -> None:
        """A broker that requires more rights for the request than a consumer has is not asked."""
        self.network.newest[OffsetForLeaderEpochRequest] = 2
        for link in self.network.live(2):
            link.lose()
        self.elect()
        self.assertEqual(self.doubts(), [])
        self.assertIn((0, 2), self.asked(2))

    def test_committed(self) -> None:
        """A committed offset with an epoch is compared with the log, too, before anything is fetched."""
        self.ends = [(0, 4, 1), (0, 4, 9)]

        def prepare(consumer: Any) -> None:
            async def committed(places: Any) -> Mapping[TopicPartition, OffsetAndMetadata]:
                return {place: OffsetAndMetadata(3, "", 4) for place in places}

            consumer._parts.offset_resolver._committed = committed

        other = self.make(prepare)
        self.assertEqual(sorted(self.doubts()), [(0, 5, 4), (1, 5, 4)])
        found = {self.network.result(other.position(place)) for place in sorted(other.assignment())}
        self.assertEqual(found, {1, 3})

    def test_position_waits(self) -> None:
        """A position committed with an epoch is returned only after its validation."""
        self.consumer.assign([])
        self.ends = [(0, 4, 1)]

        async def committed(places: Any) -> Mapping[TopicPartition, OffsetAndMetadata]:
            return {place: OffsetAndMetadata(3, "", 4) for place in places}

        self.consumer._parts.offset_resolver._committed = committed
        self.consumer.assign([T0])
        self.assertEqual(self.network.result(self.consumer.position(T0), 1), 1)

    def test_seek(self) -> None:
        """A seek takes effect during a validation, and is not validated itself."""
        self.network.mute.add(2)
        self.elect((0, 4, 1))
        self.consumer.seek(T0, 2)
        self.assertFalse(self.consumer._parts.subscriptions[T0].awaiting_validation)

    def test_diverging(self) -> None:
        """A diverging epoch in a fetch response is validated in the same way (KIP-595)."""
        self.ends = [(0, 3, 1)]
        part = PartitionData(0, 0, 10, 10, 0, diverging_epoch=EpochEndOffset(3, 1), records=memoryview(b""))
        self.answer(1, part)
        self.network.run(1)
        self.assertEqual(self.doubts(), [(0, 5, 4)])
        self.assertEqual(self.asked(1), [(0, 1)])
