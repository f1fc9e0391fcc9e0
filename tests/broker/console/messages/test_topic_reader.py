"""Readers of topics, whose partitions may be at other brokers."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.broker.console.messages.topic_reader import Bounds, Chunk, TopicReader
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.conversion import iter_any
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest
from tests.broker.brokers import ClusterOfBrokersCase


class TopicReaderTests(ClusterOfBrokersCase):
    def setUp(self) -> None:
        """Make a topic at broker 2, which broker 1 reads."""
        super().setUp()
        self.create("t", 3)
        self.number = self.leaders("t").index(2)
        for value in (b"a", b"b", b"c"):
            self.put(value)

    def put(self, value: bytes) -> None:
        """Produce a record."""
        self.assertEqual(self.produce("t", self.number, value), 0)

    def reader(self, by: int = 1) -> TopicReader:
        """Make a reader at a broker."""
        broker = self.brokers[by].broker
        return TopicReader("t", broker.metadata, broker.topics, broker.peers.apart("console"), broker.clock)

    def run_coroutine(self, work: Any) -> Any:
        """Return the result of a coroutine."""
        return self.run_to_end(Deferred.fromCoroutine(work))

    def values_in(self, chunk: Chunk) -> list[bytes | None]:
        """Return the values in a chunk."""
        return [record.value for record in iter_any(chunk.load())]

    def test_both(self) -> None:
        """A partition that is here and one that another broker leads are read alike."""
        for by in (1, 2):
            reader = self.reader(by)
            self.assertEqual(self.run_coroutine(reader.bounds(self.number)), Bounds(0, 3))
            self.assertEqual(self.run_coroutine(reader.end(self.number)), 3)
            chunk = self.run_coroutine(reader.read(self.number, 1, 1 << 20))
            self.assertEqual((chunk.position, chunk.end, chunk.stable), (1, 3, 3))
            self.assertEqual(self.values_in(chunk), [b"b", b"c"])
            self.assertEqual(self.values_in(self.run_coroutine(reader.read(self.number, 3, 1 << 20))), [])
            beyond = self.run_coroutine(reader.read(self.number, 99, 1 << 20))
            self.assertEqual((beyond.position, len(beyond.records)), (3, 0))
            self.assertEqual(self.run_coroutine(reader.offset_at(self.number, 0)), 0)
            self.assertIsNone(self.run_coroutine(reader.offset_at(self.number, 2**60)))

    def test_deleted(self) -> None:
        """A topic that was deleted is told, also if there is a new one of its name."""
        reader = self.reader()
        response = self.ask(1, 20, 4, DeleteTopicsRequest(topic_names=["t"]))
        self.assertEqual(response.responses[0].error_code, 0)
        self.advance(2)
        self.assert_deleted(reader)
        self.create("t", 3)
        self.assert_deleted(reader)
        self.assertEqual(self.reader().count, 3)

    def assert_deleted(self, reader: TopicReader) -> None:
        """Check the error of a reader."""
        asked = Deferred.fromCoroutine(reader.bounds(self.number))
        error = self.failureResultOf(asked, RequestError).value
        self.assertEqual(error.code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.assertIn("was deleted", str(error))

    def test_unknown(self) -> None:
        """There is no reader of a topic that does not exist."""
        broker = self.brokers[1].broker
        error = self.assertRaises(
            RequestError,
            lambda: TopicReader("u", broker.metadata, broker.topics, broker.peers, broker.clock),
        )
        self.assertEqual(error.code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def test_leader_gone(self) -> None:
        """While a partition has no leader the reader waits; then it says which one."""
        reader = self.reader()
        self.kill(2)
        waiting = Deferred.fromCoroutine(reader.bounds(self.number))
        failed: list[Any] = []
        waiting.addErrback(failed.append)
        self.advance(60)
        self.assertEqual(len(failed), 1)
        self.assertIn(f"t-{self.number}", failed[0].getErrorMessage())

    def test_leader_returns(self) -> None:
        """A reader goes on when the leader is back."""
        reader = self.reader()
        self.kill(2)
        waiting = Deferred.fromCoroutine(reader.bounds(self.number))
        self.advance(1)
        self.start(2)
        self.assertEqual(self.run_to_end(waiting), Bounds(0, 3))
