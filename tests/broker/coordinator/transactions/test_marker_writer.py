"""Markers in this broker's own partitions."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.transactions.actions import Marker
from kafkatx.transactions.metadata import TV2, Producer
from kafkatx.types import TopicPartition
from tests.broker.transactional import TransactionsTestCase

A = TopicPartition("t", 0)


class WriterTests(TransactionsTestCase):
    def begin(self) -> Marker:
        """Begin a transaction in partition 0; return its marker."""
        producer = self.producer()
        self.add(producer, 0)
        self.assertEqual(self.write(producer, b"x"), 0)
        return Marker(Producer(*producer), True, 0)

    def test_write(self) -> None:
        """A marker ends the transaction, and wakes readers that wait for committed records."""
        marker = self.begin()
        self.assertEqual(self.fetched()[1], 0)
        self.assertEqual(self.broker.marker_writer.write(A, marker, 0), ErrorCode.NONE)
        self.assertEqual(self.fetched(), ([b"x"], 2))

    def test_absent(self) -> None:
        """A partition that does not exist, and one of another broker, are told apart."""
        marker = self.begin()
        write = self.broker.marker_writer.write
        self.assertEqual(write(TopicPartition("t", 5), marker, 0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.patch(self.broker.topics, "find", lambda topic, number: None)
        self.assertEqual(write(A, marker, 0), ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def test_offsets_are_loaded(self) -> None:
        """While the group coordinator loads, a marker is told in a partition's words, and sent again."""
        producer = self.producer()
        self.add_offsets(producer)
        self.assertEqual(self.commit_offset(producer, 5), 0)
        place = self.offsets_partition()
        marker, shards = Marker(Producer(*producer), True, 0), self.broker.groups.shards
        loaded = shards.pop(place.partition)
        written = self.broker.marker_writer.write(place, marker, 0)
        self.assertEqual(written, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        shards[place.partition] = loaded
        self.assertEqual(self.broker.marker_writer.write(place, marker, 0), ErrorCode.NONE)
        self.assertEqual(self.offset(), (5, 0))

    def test_verifications(self) -> None:
        """A question to the coordinator that is under way is taken back."""
        marker = self.begin()
        pending = self.broker.verifier.pending
        token = pending.begin([A], *marker.producer)
        self.broker.marker_writer.write(A, marker, 0)
        self.assertFalse(pending.end(token, A, marker.producer.id))

    def test_verifications_of_the_next_transaction(self) -> None:
        """A marker of version 2 has the epoch of the next transaction, whose questions stand."""
        marker = self.begin()._replace(version=TV2)
        pending = self.broker.verifier.pending
        token = pending.begin([A], *marker.producer)
        self.broker.marker_writer.write(A, marker, 0)
        self.assertTrue(pending.end(token, A, marker.producer.id))

    def test_later(self) -> None:
        """A marker that waits for its replicas is answered when they have it, in a partition's words."""
        for error, told in (
            (None, ErrorCode.NONE),
            (ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_LEADER_OR_FOLLOWER),
            (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND),
        ):
            marker = self.begin()
            waiting: Deferred[None] = Deferred()
            patched = self.patch(self.broker.transactions.writer, "committed", lambda _, one=waiting: one)
            written = self.broker.marker_writer.write(A, marker, 0)
            patched.restore()
            assert isinstance(written, Deferred)
            self.assertNoResult(written)
            if error is None:
                waiting.callback(None)
            else:
                waiting.errback(RequestError(error))
            self.assertEqual(self.successResultOf(written), told)

    def test_not_written(self) -> None:
        """A log that cannot be written to is a storage error."""
        marker = self.begin()
        partition = self.broker.topics.find("t", 0)
        self.patch(self.broker.replicas, "write", lambda one: {partition: OSError("full")})
        self.assertEqual(self.broker.marker_writer.write(A, marker, 0), ErrorCode.KAFKA_STORAGE_ERROR)
