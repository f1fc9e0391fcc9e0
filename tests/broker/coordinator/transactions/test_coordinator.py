"""The transaction coordinator: records, loads, lost partitions, memory and time."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import capturedLogs

from kafkatx.broker.coordinator.transactions.coordinator import COMPLETE_AGAIN_S
from kafkatx.broker.coordinator.transactions.sweeps import abort_each, expire_each
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.conversion import iter_any
from kafkatx.transactions.metadata import Producer
from kafkatx.transactions.records import decode_key, decode_value
from kafkatx.transactions.transaction import Transaction
from tests.broker.stored import in_memory
from tests.broker.transactional import TransactionsTestCase

NOT_COORDINATOR = ErrorCode.NOT_COORDINATOR


class CoordinatorCase(TransactionsTestCase):
    """A test case with access to the topic of transactions."""

    @property
    def partition(self) -> Any:
        """The partition of the transactional id."""
        topic = self.broker.transactions.topic
        return topic.find(topic.partition_of("tx"))

    def records(self) -> list[tuple[str, str | None]]:
        """Return id and state of each record."""
        log = self.partition.log
        data = in_memory(log.read(0, 1 << 20, log.log_end_offset, True))
        return [
            (decode_key(record.key or b""), decode_value(record.value).state.value if record.value else None)
            for record in iter_any(memoryview(data))
        ]

    def hold(self) -> Deferred[None]:
        """Make the next record wait until the test commits it."""
        waiting: Deferred[None] = Deferred()
        patched = self.patch(self.broker.transactions.writer, "committed", lambda partition: once())

        def once() -> Deferred[None]:
            patched.restore()
            return waiting

        return waiting

    def add_later(self, producer: tuple[int, int]) -> Any:
        """Ask to add a partition."""
        from kafkatx.types import TopicPartition

        return self.broker.transactions.add("tx", Producer(*producer), [TopicPartition("t", 0)], 0)


class RecordsTests(CoordinatorCase):
    def test_records(self) -> None:
        """A transaction leaves its records in order; the last says that it is complete."""
        self.transact(b"x")
        states = ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]
        self.assertEqual(self.records(), [("tx", state) for state in states])

    def test_topic(self) -> None:
        """The topic is compacted and not compressed, with the settings of its own."""
        topic = self.broker.metadata.state.topics["__transaction_state"]
        self.assertEqual(len(topic.partitions), 3)
        self.assertEqual(
            {
                name: topic.configs[name]
                for name in ("cleanup.policy", "compression.type", "min.insync.replicas")
            },
            {"cleanup.policy": "compact", "compression.type": "uncompressed", "min.insync.replicas": "1"},
        )

    def test_pending(self) -> None:
        """A change counts when its record is committed; until then requests are to be repeated."""
        producer = self.producer()
        committing = self.hold()
        waiting = self.add_later(producer)
        self.assertNoResult(waiting)
        self.assertEqual(self.state, "Empty")
        self.assertEqual(self.add(producer, 0), [ErrorCode.CONCURRENT_TRANSACTIONS])
        committing.callback(None)
        self.assertEqual(self.successResultOf(waiting).error, ErrorCode.NONE)
        self.assertEqual(self.state, "Ongoing")

    def test_markers_follow_the_decision(self) -> None:
        """No marker is written, and no client answered, before the decision is durable."""
        producer = self.producer()
        self.add(producer, 0)
        self.write(producer, b"x")
        committing = self.hold()
        waiting = self.broker.transactions.end("tx", Producer(*producer), True, 0, -1)
        assert isinstance(waiting, Deferred)
        self.assertNoResult(waiting)
        self.assertEqual(self.fetched(), ([], 0))
        self.assertEqual(self.broker.topics.of("t")[0].log.log_end_offset, 1)
        committing.callback(None)
        self.assertEqual(self.successResultOf(waiting).error, ErrorCode.NONE)
        self.assertEqual(self.fetched(), ([b"x"], 2))

    def test_stop(self) -> None:
        """A broker that stops leaves an open transaction open, for its producer to go on."""
        producer = self.producer()
        self.add(producer, 0)
        self.write(producer, b"x")
        before = self.records()
        self.successResultOf(self.broker.transactions.stop())
        self.assertEqual((self.records(), self.fetched()[1]), (before, 0))
        self.assertEqual(before[-1], ("tx", "Ongoing"))

    def test_cancelled(self) -> None:
        """A client that leaves drops its answer; the change goes on."""
        producer = self.producer()
        committing = self.hold()
        waiting = self.add_later(producer)
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        committing.callback(None)
        self.assertEqual(self.state, "Ongoing")

    def test_refused(self) -> None:
        """A record that cannot be written changes nothing, and a new id is forgotten."""
        producer = self.producer()
        self.patch(self.broker.transactions.writer, "stage", lambda *args: ErrorCode.NOT_ENOUGH_REPLICAS)
        not_available = ErrorCode.COORDINATOR_NOT_AVAILABLE
        self.assertEqual(self.add(producer, 0), [not_available])
        self.assertEqual(self.state, "Empty")
        used = self.broker.transactions.used_bytes
        self.assertEqual(self.init("other").error_code, not_available)
        self.assertEqual([one.transactional_id for one in self.broker.transactions.all()], ["tx"])
        self.assertEqual(self.broker.transactions.used_bytes, used)

    def test_late(self) -> None:
        """A record that is not committed in time may be so later: the partition is loaded again, with it."""
        producer = self.producer()
        committing = self.hold()
        waiting = self.add_later(producer)
        with capturedLogs() as events:
            committing.errback(RequestError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        self.assertIn("is loaded again", "".join(event.get("log_format", "") for event in events))
        self.assertEqual(self.failureResultOf(waiting, RequestError).value.code, NOT_COORDINATOR)
        self.assertEqual(self.state, "Ongoing")  # as the record says

    def test_complete_again(self) -> None:
        """The end of a transaction that cannot be stored is stored later."""
        producer = self.producer()
        self.add(producer, 0)
        self.write(producer, b"x")
        stage, count = self.broker.transactions.writer.stage, 0

        def refuse_second(*args: Any) -> ErrorCode:
            nonlocal count
            count += 1
            return ErrorCode.NOT_ENOUGH_REPLICAS if count == 2 else stage(*args)

        patched = self.patch(self.broker.transactions.writer, "stage", refuse_second)
        self.assertEqual(self.end(producer).error_code, 0)
        patched.restore()
        self.assertEqual(self.state, "PrepareCommit")
        self.clock.advance(COMPLETE_AGAIN_S)
        self.assertEqual(self.state, "CompleteCommit")


class LoadTests(CoordinatorCase):
    def test_open(self) -> None:
        """An open transaction goes on after a load, and records of others are not touched."""
        producer = self.producer()
        self.add(producer, 0)
        self.write(producer, b"x")
        self.transact(b"y", name="other")
        self.reload()
        self.assertEqual(self.state, "Ongoing")
        self.assertEqual(self.end(producer).error_code, 0)
        self.assertEqual(self.fetched(), ([b"x", b"y"], 4))

    def test_prepared(self) -> None:
        """A decided transaction has its markers written after a load."""
        producer = self.producer()
        self.add(producer, 0)
        self.write(producer, b"x")
        patched = self.patch(
            self.broker.marker_writer, "write", lambda *args: ErrorCode.NOT_LEADER_OR_FOLLOWER
        )
        self.assertEqual(self.end(producer).error_code, 0)
        patched.restore()
        self.assertEqual((self.state, self.fetched()[1]), ("PrepareCommit", 0))
        self.assertEqual(self.end(producer).error_code, ErrorCode.CONCURRENT_TRANSACTIONS)
        self.reload()
        self.assertEqual((self.state, self.fetched()), ("CompleteCommit", ([b"x"], 2)))
        self.assertEqual(self.broker.transactions.markers.count, 0)

    def test_lost(self) -> None:
        """A partition that another broker leads is forgotten; those who wait are told."""
        producer = self.producer()
        self.hold()
        waiting = self.add_later(producer)
        runtime, leads = (
            self.broker.transactions.runtime,
            self.patch(self.broker.transactions.topic, "leads", lambda number: False),
        )
        runtime.role_changed(self.partition, False)
        self.assertEqual(self.failureResultOf(waiting, RequestError).value.code, NOT_COORDINATOR)
        self.assertEqual(self.init().error_code, NOT_COORDINATOR)
        self.assertEqual(self.broker.transactions.used_bytes, 0)
        leads.restore()

    def test_lost_while_markers_are_sent(self) -> None:
        """Markers of a lost partition are not sent any more."""
        producer = self.producer()
        self.add(producer, 0)
        self.patch(self.broker.marker_writer, "write", lambda *args: ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.end(producer)
        self.assertEqual(self.broker.transactions.markers.count, 1)
        self.broker.transactions.runtime.role_changed(self.partition, False)
        self.assertEqual(self.broker.transactions.markers.count, 0)

    def test_memory(self) -> None:
        """The memory of loaded ids is that of the ids before the load."""
        producer = self.producer()
        self.add(producer, 0, 1)
        used = self.broker.transactions.used_bytes
        self.assertGreater(used, 0)
        self.reload()
        self.assertEqual(self.broker.transactions.used_bytes, used)

    def test_unreadable(self) -> None:
        """Unreadable records are skipped; ids with sound ones are served."""
        self.transact(b"x")
        self.broker.transactions.writer.append(self.partition, [(b"\0\0\0\x05a", b"?"), (b"\0\x07new", b"")])
        self.reload()
        self.assertEqual(self.state, "CompleteCommit")


class SweepTests(CoordinatorCase):
    def test_abort(self) -> None:
        """A transaction whose time is over is aborted, and its producer fenced."""
        producer = self.producer(timeout_ms=5000)
        self.add(producer, 0)
        self.write(producer, b"x")
        self.clock.advance(4.9)
        list(abort_each(self.broker.transactions))
        self.assertEqual(self.state, "Ongoing")
        self.clock.advance(0.2)
        list(abort_each(self.broker.transactions))
        self.assertEqual((self.state, self.fetched()[1]), ("CompleteAbort", 2))
        self.assertEqual(self.end(producer).error_code, ErrorCode.PRODUCER_FENCED)
        self.assertEqual(self.write(producer, b"late", sequence=1), ErrorCode.INVALID_PRODUCER_EPOCH)

    def test_expire(self) -> None:
        """An unused id is forgotten, with a tombstone; its producer is unknown then."""
        producer = self.transact(b"x")
        self.clock.advance(self.broker.transactions.expiration_ms / 1000 - 1)
        list(expire_each(self.broker.transactions))
        self.assertEqual(self.state, "CompleteCommit")
        self.clock.advance(2)
        list(expire_each(self.broker.transactions))
        self.assertEqual(list(self.broker.transactions.all()), [])
        self.assertEqual(self.records()[-1], ("tx", None))
        self.assertEqual(self.broker.transactions.used_bytes, 0)
        self.assertEqual(self.add(producer, 0), [ErrorCode.INVALID_PRODUCER_ID_MAPPING])
        self.reload()
        self.assertEqual(list(self.broker.transactions.all()), [])

    def test_failure(self) -> None:
        """A failure with one id does not keep the others from their turn."""
        self.producer("a")
        self.producer("b")
        self.patch(Transaction, "abort_if_late", None)
        self.patch(Transaction, "expire", None)
        self.assertEqual(len(list(abort_each(self.broker.transactions))), 2)
        self.assertEqual(len(list(expire_each(self.broker.transactions))), 2)
        self.assertEqual(len(self.flushLoggedErrors(TypeError)), 4)
