"""Tests of kafkatx.clientcore.producer.partition_queue."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.producer.batch import LAST_EPOCH, NOT_IDEMPOTENT, ProducerBatch, ProducerIdAndEpoch
from kafkatx.clientcore.producer.partition_queue import PartitionQueue
from kafkatx.errors import ErrorCode
from kafkatx.records.batch import parse_header
from kafkatx.records.builder import BatchBuilder

OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
UNKNOWN = ErrorCode.UNKNOWN_PRODUCER_ID


class OutboxTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a queue whose first batch is in the log, with four more that wait."""
        self.queue = PartitionQueue("t", 0, ProducerIdAndEpoch(7, 0))
        self.put(1)
        self.queue.complete(self.queue.take())
        self.put(4)

    def put(self, count: int, deadline_s: float = 10.0) -> None:
        """Add *count* waiting batches of two records."""
        for _ in range(count):
            batch = ProducerBatch("t", 0, BatchBuilder(), deadline_s=deadline_s, records=2)
            assert batch.builder is not None
            for _ in range(2):
                batch.builder.append(None, b"v", 1)
            self.queue.waiting.append(batch)

    def take_all(self, limit: int = 5) -> list[ProducerBatch]:
        """Take all sendable batches."""
        taken = []
        while self.queue.sendable(limit):
            taken.append(self.queue.take())
        return taken

    def stamps(self, batches: list[ProducerBatch]) -> list[tuple[int, int]]:
        """Return epoch and first sequence of each batch."""
        headers = [parse_header(batch.data) for batch in batches]
        return [(header.producer_epoch, header.base_sequence) for header in headers]

    def test_first_alone(self) -> None:
        """The first batch of a producer id is sent alone: a broker without state takes any sequence."""
        self.queue = PartitionQueue("t", 0, ProducerIdAndEpoch(7, 0))
        self.put(2)
        self.assertEqual(len(self.take_all()), 1)
        self.queue.complete(self.queue.in_flight[0])
        self.assertTrue(self.queue.sendable(5))

    def test_limit(self) -> None:
        """No more batches than the limit are in flight, and their sequences are consecutive."""
        self.assertEqual(self.stamps(self.take_all(3)), [(0, 2), (0, 4), (0, 6)])

    def test_no_identity(self) -> None:
        """No batch is sent before there is a producer id."""
        self.queue = PartitionQueue("t", 0)
        self.put(1)
        self.assertFalse(self.queue.sendable(5))
        self.queue.set_producer_id(ProducerIdAndEpoch(1, 0))
        self.assertTrue(self.queue.sendable(5))

    def test_again_in_order(self) -> None:
        """Failed batches wait for all responses, then are sent again one by one with their sequences."""
        a, b, c = self.take_all(3)
        self.queue.requeue(a)
        self.assertFalse(self.queue.sendable(5))
        self.assertTrue(self.queue.can_retry(b, OUT_OF_ORDER))
        self.queue.requeue(b)
        self.queue.complete(c)
        self.assertEqual(list(self.queue.waiting)[:2], [a, b])
        self.assertEqual(self.take_all(), [a])
        self.queue.complete(a)
        self.assertEqual(self.take_all(), [b])
        self.assertEqual(self.stamps([a, b]), [(0, 2), (0, 4)])

    def test_answers_in_any_order(self) -> None:
        """No new batch is sent while one has failed, even if one before it is not answered yet."""
        a, b = self.take_all(2)
        self.queue.requeue(b)
        self.assertFalse(self.queue.sendable(5))
        self.queue.complete(a)
        self.assertEqual(self.take_all(), [b])

    def test_refused_leaves_gap(self) -> None:
        """Batches after a refused one get the next epoch, and begin at sequence 0."""
        a, b, _ = self.take_all(3)
        self.queue.fail(a)
        self.assertTrue(self.queue.can_retry(b, OUT_OF_ORDER))
        self.queue.requeue(b)
        self.assertTrue(self.queue.can_retry(self.queue.in_flight[-1], OUT_OF_ORDER))
        self.queue.requeue(self.queue.in_flight[-1])
        first = self.take_all()
        self.assertEqual(self.stamps(first), [(1, 0)])
        self.queue.complete(first[0])
        self.assertEqual(self.stamps(self.take_all()), [(1, 2), (1, 4)])

    def test_in_doubt(self) -> None:
        """Sequences after a batch that may be in the log stay until the broker says that it is not."""
        a, b = self.take_all(2)
        self.queue.requeue(a)
        self.queue.requeue(b)
        a.deadline_s = 5.0
        self.assertEqual(self.queue.expire(6.0), [a])
        self.assertEqual(self.stamps(self.take_all()), [(0, 4)])
        self.assertTrue(self.queue.can_retry(b, OUT_OF_ORDER))
        self.queue.requeue(b)
        self.assertEqual(self.stamps(self.take_all()), [(1, 0)])

    def test_doubt_resolved(self) -> None:
        """A batch that the broker accepts proves that the one before it is in the log."""
        a, b = self.take_all(2)
        self.queue.requeue(a)
        self.queue.requeue(b)
        a.deadline_s = 5.0
        self.queue.expire(6.0)
        self.queue.complete(self.take_all()[0])
        self.assertEqual(self.stamps(self.take_all()), [(0, 6), (0, 8)])

    def test_refused_in_doubt(self) -> None:
        """A batch that is refused when sent again may be in the log: those after it keep their sequences."""
        a, b = self.take_all(2)
        self.queue.requeue(a)
        self.queue.requeue(b)
        self.queue.fail(self.take_all()[0])
        self.assertEqual(self.stamps(self.take_all()), [(0, 4)])

    def test_real_gap(self) -> None:
        """OUT_OF_ORDER for the oldest batch is final: records before it were lost."""
        (a,) = self.take_all(1)
        self.assertFalse(self.queue.can_retry(a, OUT_OF_ORDER))
        self.assertFalse(self.queue.can_retry(a, ErrorCode.INVALID_RECORD))

    def test_forgotten(self) -> None:
        """All batches go on in order in the next epoch when the broker has forgotten the producer."""
        a, b, c = self.take_all(3)
        for batch in (a, b, c):
            self.assertTrue(self.queue.can_retry(batch, UNKNOWN))
            self.queue.requeue(batch)
        self.assertEqual(list(self.queue.waiting)[:3], [a, b, c])
        self.assertEqual(self.stamps([a, b, c]), [(1, 0), (1, 2), (1, 4)])
        self.assertEqual(self.take_all(), [a])
        self.queue.complete(a)
        self.assertEqual(self.stamps(self.take_all()), [(1, 2), (1, 4), (1, 6)])

    def test_forgotten_behind_a_failure(self) -> None:
        """A failed batch is sent again before a later one that got UNKNOWN_PRODUCER_ID."""
        a, b = self.take_all(2)
        self.queue.requeue(a)
        self.assertTrue(self.queue.can_retry(b, UNKNOWN))
        self.queue.requeue(b)
        self.assertEqual(self.stamps([a, b]), [(0, 2), (0, 4)])
        self.assertEqual(self.take_all(), [a])
        self.assertTrue(self.queue.can_retry(a, UNKNOWN))
        self.queue.requeue(a)
        self.assertEqual(self.stamps([a, b]), [(1, 0), (1, 2)])

    def test_forgotten_for_good(self) -> None:
        """A broker that also rejects the first batch of a new epoch always will: the error is final."""
        (a,) = self.take_all(1)
        self.queue.can_retry(a, UNKNOWN)
        self.queue.requeue(a)
        self.take_all()
        self.assertFalse(self.queue.can_retry(a, UNKNOWN))

    def test_forgotten_too_late(self) -> None:
        """UNKNOWN_PRODUCER_ID is final for a batch if a later one is in the log, as order would break."""
        a, b = self.take_all(2)
        self.queue.requeue(a)
        self.queue.complete(b)
        self.take_all()
        self.assertFalse(self.queue.can_retry(a, UNKNOWN))

    def test_expired_in_flight(self) -> None:
        """A batch that expires in flight is reported once, and keeps its place until the response."""
        a, b = self.take_all(2)
        a.deadline_s = 5.0
        self.assertEqual(self.queue.expire(6.0), [a])
        self.assertEqual(self.queue.expire(7.0), [])
        self.assertEqual(self.queue.deadline_s(), 10.0)
        self.queue.requeue(a)
        self.queue.requeue(b)
        self.assertEqual(self.take_all(), [b])

    def test_expired_waiting(self) -> None:
        """A batch that expires before it was sent leaves no gap."""
        self.queue.waiting.clear()
        self.put(1, 5.0)
        self.put(1)
        self.assertEqual(len(self.queue.expire(5.0)), 1)
        self.assertEqual(self.stamps(self.take_all()), [(0, 2)])

    def test_epochs_used_up(self) -> None:
        """No batch is sent after the last epoch until there is a new producer id; all are stamped again."""
        self.queue.waiting.clear()
        self.queue.set_producer_id(ProducerIdAndEpoch(7, LAST_EPOCH))
        self.put(3)
        self.queue.complete(self.queue.take())
        a, b = self.take_all()
        self.queue.fail(a)
        self.queue.requeue(b)
        self.assertIsNone(self.queue.id_and_epoch)
        self.assertFalse(self.queue.sendable(5))
        self.queue.set_producer_id(ProducerIdAndEpoch(9, 0))
        (again,) = self.take_all()
        self.assertIs(again, b)
        self.assertEqual(parse_header(b.data).producer_id, 9)
        self.assertEqual(self.stamps([b]), [(0, 0)])

    def test_not_idempotent(self) -> None:
        """Batches have no sequences without a producer id, and a refusal changes nothing."""
        self.queue = PartitionQueue("t", 0, NOT_IDEMPOTENT)
        self.put(3)
        (a,) = self.take_all(1)
        self.queue.fail(a)
        self.assertEqual(self.stamps(self.take_all(2)), [(-1, -1), (-1, -1)])

    def test_cut(self) -> None:
        """The halves of a split batch take its place, after all responses, one by one."""
        a, b = self.take_all(2)
        split = self.queue.split(a)
        self.assertFalse(self.queue.sendable(5))
        self.queue.requeue(b)
        self.assertEqual(list(self.queue.waiting)[:3], [*split, b])
        self.assertEqual(self.take_all(), split[:1])
        self.assertEqual(self.stamps(split), [(0, 2), (0, 3)])
        self.assertEqual(self.queue.max_bytes, len(split[0].data))

    def test_abandon(self) -> None:
        """Every batch is abandoned once."""
        a, *_ = self.take_all(2)
        a.deadline_s = 1.0
        self.queue.expire(2.0)
        self.assertEqual(len(self.queue.abandon()), 3)
        self.assertTrue(self.queue.empty)
